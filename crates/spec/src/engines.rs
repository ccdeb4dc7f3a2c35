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
    /// Why this program has no such engine, if it has none.
    pub absent: Option<Absent>,
}

/// Why there is no engine of a name that fio knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The reason, as the end of a sentence that begins with the engine.
    pub why: &'static str,
    /// What reaches the same storage.
    pub instead: &'static str,
}

const fn engine(name: &'static str, summary: &'static str) -> EngineName {
    EngineName { name, summary, absent: None }
}

const fn absent(name: &'static str, summary: &'static str, why: &'static str, instead: &'static str) -> EngineName {
    EngineName { name, summary, absent: Some(Absent { why, instead }) }
}

const LATER: &str = "is not carried out yet";
const MOUNTED: &str = "mount the file system and use ioengine=io_uring on its files";
const ON_FILES: &str = "use ioengine=mmap on a file of a DAX file system";

/// Every engine of fio, and ours.
pub const ENGINES: &[EngineName] = &[
    engine("cpuio", "burns CPU time, moves no data"),
    absent("dev-dax", "persistent memory as a character device", "needs libpmem and a DAX device", ON_FILES),
    absent("dfs", "DAOS file system", "needs DAOS's libdfs", MOUNTED),
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
    absent("gfapi", "GlusterFS without a mount", "needs GlusterFS's libgfapi", MOUNTED),
    absent("gfapi_async", "GlusterFS without a mount, asynchronous", "needs GlusterFS's libgfapi", MOUNTED),
    absent("http", "objects over WebDAV, Swift or S3", LATER, "mount the bucket and use ioengine=psync on its files"),
    absent("ime_aio", "IME, asynchronous", "needs DDN's libim_client", MOUNTED),
    absent("ime_psync", "IME, synchronous", "needs DDN's libim_client", MOUNTED),
    absent("ime_psyncv", "IME, vectored", "needs DDN's libim_client", MOUNTED),
    engine("io_uring", "Linux's shared submission and completion rings"),
    engine("io_uring_cmd", "NVMe commands over io_uring"),
    engine("libaio", "Linux's kernel AIO"),
    absent("libblkio", "block devices by libblkio", "needs libblkio", "use ioengine=io_uring on the block device"),
    absent(
        "libcufile",
        "GPUDirect storage",
        "needs NVIDIA's libcufile and a GPU",
        "use ioengine=io_uring with direct=1: without the GPU, the same storage",
    ),
    absent("libhdfs", "Hadoop file system", "needs Hadoop's libhdfs", MOUNTED),
    absent(
        "libhipfile",
        "ROCm's GPU storage",
        "needs AMD's hipFile and a GPU",
        "use ioengine=io_uring with direct=1: without the GPU, the same storage",
    ),
    absent(
        "libiscsi",
        "iSCSI without a device",
        "needs libiscsi",
        "log in with iscsiadm and use ioengine=io_uring on the device",
    ),
    absent("libpmem", "persistent memory in a DAX file system", "needs libpmem", ON_FILES),
    absent("libzbc", "zoned block devices by libzbc", "needs libzbc", "use zonemode=zbd on the block device"),
    engine("mmap", "copies from and to a mapping"),
    absent("mtd", "raw flash", LATER, "use ioengine=psync on /dev/mtdblockN"),
    engine("nbd", "network block devices"),
    engine("net", "socket to socket"),
    engine("netsplice", "socket to socket by splice"),
    absent("nfs", "NFS without a mount", LATER, MOUNTED),
    engine("null", "completes at once, moves no data"),
    engine("page_fault", "touches pages of anonymous memory"),
    absent(
        "pmemblk",
        "atomic blocks in persistent memory",
        "needs PMDK's libpmemblk, which its makers have given up",
        ON_FILES,
    ),
    engine("posixaio", "the platform's POSIX AIO"),
    engine("psync", "pread and pwrite"),
    engine("pvsync", "preadv and pwritev"),
    engine("pvsync2", "preadv2 and pwritev2"),
    engine("rados", "Ceph objects"),
    engine("rbd", "Ceph block device without a mapping"),
    absent("rdma", "remote memory", "needs librdmacm and an RDMA device", "use ib_write_bw of the perftest package"),
    engine("sg", "SCSI generic"),
    engine("sim", "a seeded model of a device, in virtual time"),
    absent("solarisaio", "Solaris's AIO", "is an interface of Solaris", "use ioengine=io_uring, or ioengine=posixaio"),
    engine("splice", "splice through a pipe"),
    engine("sync", "lseek, read and write"),
    engine("vsync", "neighbouring I/Os joined to one readv or writev"),
    absent(
        "windowsaio",
        "Windows's overlapped I/O",
        "is an interface of Windows",
        "use ioengine=io_uring, or ioengine=posixaio",
    ),
    absent("xnvme", "NVMe by xNVMe", "needs libxnvme", "use ioengine=io_uring on the block device of the namespace"),
];

/// The engine's main name (`aio` and `linuxaio` are libaio), or none for a word that is no engine.
pub fn resolve(word: &str) -> Option<&'static str> {
    let word = match word {
        "aio" | "linuxaio" => "libaio",
        other => other,
    };
    ENGINES.iter().map(|e| e.name).find(|name| *name == word)
}

/// Why there is no engine of this main name, if there is none.
pub fn absent_engine(name: &str) -> Option<Absent> {
    ENGINES.iter().find(|engine| engine.name == name)?.absent
}

/// Whether this engine changes what is there even where a job only reads: it makes or removes names, or gives a file
/// blocks.
pub(crate) fn reading_changes(name: &str) -> bool {
    matches!(name, "filecreate" | "filedelete" | "dircreate" | "dirdelete" | "falloc")
}
