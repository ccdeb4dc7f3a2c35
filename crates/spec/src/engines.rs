//! Names of engines: which words `ioengine=` knows. Whether an engine can run here is the engine registry's answer.

/// The engine of a job that names none.
pub const DEFAULT: &str = "psync";

/// A name that `ioengine=` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineName {
    /// The name.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
}

const fn engine(name: &'static str, summary: &'static str) -> EngineName {
    EngineName { name, summary }
}

/// Every engine of fio, and ours.
pub const ENGINES: &[EngineName] = &[
    engine("cpuio", "burns CPU time, moves no data"),
    engine("dev-dax", "persistent memory as a character device"),
    engine("dfs", "DAOS file system"),
    engine("dircreate", "creates directories"),
    engine("dirdelete", "removes directories"),
    engine("dirstat", "looks directories up"),
    engine("e4defrag", "moves extents of an ext4 file"),
    engine("exec", "runs a program"),
    engine("falloc", "preallocates and punches holes"),
    engine("filecreate", "creates files"),
    engine("filedelete", "removes files"),
    engine("filestat", "looks files up"),
    engine("ftruncate", "sets the length of files"),
    engine("gfapi", "GlusterFS without a mount"),
    engine("gfapi_async", "GlusterFS without a mount, asynchronous"),
    engine("http", "objects over WebDAV, Swift or S3"),
    engine("ime_aio", "IME, asynchronous"),
    engine("ime_psync", "IME, synchronous"),
    engine("ime_psyncv", "IME, vectored"),
    engine("io_uring", "Linux's shared submission and completion rings"),
    engine("io_uring_cmd", "NVMe pass-through over io_uring"),
    engine("libaio", "Linux's kernel AIO"),
    engine("libblkio", "block devices by libblkio"),
    engine("libcufile", "GPUDirect storage"),
    engine("libhdfs", "Hadoop file system"),
    engine("libhipfile", "ROCm's GPU storage"),
    engine("libiscsi", "iSCSI without a device"),
    engine("libpmem", "persistent memory in a DAX file system"),
    engine("libzbc", "zoned block devices by libzbc"),
    engine("mmap", "copies from and to a mapping"),
    engine("mtd", "raw flash"),
    engine("nbd", "network block device"),
    engine("net", "socket to socket"),
    engine("netsplice", "socket to socket by splice"),
    engine("nfs", "NFS without a mount"),
    engine("null", "completes at once, moves no data"),
    engine("page_fault", "touches pages of anonymous memory"),
    engine("pmemblk", "atomic blocks in persistent memory"),
    engine("posixaio", "the platform's POSIX AIO"),
    engine("psync", "pread and pwrite"),
    engine("pvsync", "preadv and pwritev"),
    engine("pvsync2", "preadv2 and pwritev2"),
    engine("rados", "Ceph objects"),
    engine("rbd", "Ceph block device without a mapping"),
    engine("rdma", "remote memory"),
    engine("sg", "SCSI generic"),
    engine("sim", "a seeded model of a device, in virtual time"),
    engine("solarisaio", "Solaris's AIO"),
    engine("splice", "splice through a pipe"),
    engine("sync", "lseek, read and write"),
    engine("vsync", "neighbouring I/Os joined to one readv or writev"),
    engine("windowsaio", "Windows's overlapped I/O"),
    engine("xnvme", "NVMe by xNVMe"),
];

/// The engine's main name (`aio` and `linuxaio` are libaio), or none for a word that is no engine.
pub fn resolve(word: &str) -> Option<&'static str> {
    let word = match word {
        "aio" | "linuxaio" => "libaio",
        other => other,
    };
    ENGINES.iter().map(|e| e.name).find(|name| *name == word)
}
