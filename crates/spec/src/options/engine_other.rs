//! Options of the other engines; those of engines that are not there are known, and refused with what they would do.

use super::{MAX32, merged};
use crate::job::{CpuMode, LookUp, NetProtocol, NvmeWrite, ScsiWrite};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Choice, Kind, TimeUnit, Value};

type Engines = &'static [&'static str];

const fn row(engines: Engines, name: &'static str, kind: Kind, summary: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Engine, summary, summary).engines(engines)
}

const COUNT: Kind = Kind::Int { min: 0, max: MAX32 };
const BYTES: Kind = Kind::Bytes { min: 0, max: u64::MAX };
const CMDPRIO: Engines = &["libaio", "io_uring", "io_uring_cmd"];
/// Engines with metadata that do not carry them yet.
const ELSEWHERE: Engines = &["io_uring", "xnvme"];
const HALF: Kind = Kind::Int { min: 0, max: 0xffff };
const CEPH: Engines = &["rbd", "rados"];
const SOCKET: Engines = &["net", "netsplice"];
const GLUSTER: Engines = &["gfapi", "gfapi_async"];
const CMD: Engines = &["io_uring_cmd"];
const SCSI: Engines = &["sg"];
const PROTOCOLS: &[Choice] = words!["tcp": "TCP", "tcpv6": "TCP over IPv6", "udp": "UDP", "udpv6": "UDP over IPv6",
    "unix": "a Unix socket", "vsock": "a VM socket"];

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(&["libaio"], "userspace_reap", Kind::Flag, "reap completions from the mapped ring")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.userspace_reap)),
    row(&["libaio", "pvsync2"], "nowait", Kind::Bool, "fail rather than wait")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.nowait)),
    row(&["libaio"], "libaio_vectored", Kind::Bool, "vectored reads and writes")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.vectored_aio)),
    row(CMDPRIO, "cmdprio_percentage", Kind::PerDirection { min: 0, max: 100 }, "share of I/Os with a priority")
        .linux_only()
        .access(each!(job.engine_options.command_priority.percent)),
    row(CMDPRIO, "cmdprio_class", Kind::PerDirection { min: 0, max: 3 }, "class of that priority")
        .linux_only()
        .access(each!(job.engine_options.command_priority.class)),
    row(CMDPRIO, "cmdprio", Kind::PerDirection { min: 0, max: 7 }, "level of that priority")
        .linux_only()
        .access(each!(job.engine_options.command_priority.level)),
    row(CMDPRIO, "cmdprio_hint", Kind::PerDirection { min: 0, max: 1023 }, "hint of that priority")
        .linux_only()
        .access(each!(job.engine_options.command_priority.hint)),
    row(CMDPRIO, "cmdprio_bssplit", Kind::Priorities, "share of prioritised I/Os by block size").linux_only().access((
        |d, v| {
            if let Value::Priorities(new) = v {
                let split = &mut d.job.engine_options.command_priority.split;
                *split = merged(split, new);
            }
        },
        |d| {
            let split = &d.job.engine_options.command_priority.split;
            (*split != [None, None, None]).then(|| Value::Priorities(split.clone()))
        },
    )),
    row(CMD, "md_per_io_size", Kind::Bytes { min: 0, max: 1 << 30 }, "size of the separate metadata buffer of an I/O")
        .default("0")
        .linux_only()
        .access(plain!(Bytes, job.engine_options.nvme.metadata_bytes)),
    row(ELSEWHERE, "md_per_io_size", BYTES, "size of the separate metadata buffer of an I/O").harmless(&["0"]),
    row(CMD, "pi_act", Kind::Bool, "the device makes and takes off protection information")
        .default("1")
        .linux_only()
        .access(flag!(job.engine_options.nvme.protection_action)),
    row(ELSEWHERE, "pi_act", Kind::Bool, "the device makes and takes off protection information").default("1"),
    row(
        CMD,
        "pi_chk",
        Kind::Words(words!["GUARD": "the check of the data", "REFTAG": "the block's number",
        "APPTAG": "the application's tag"]),
        "which protection fields are checked",
    )
    .linux_only()
    .access(plain!(some Text, job.engine_options.nvme.protection_checks)),
    row(ELSEWHERE, "pi_chk", Kind::Text, "which protection fields are checked"),
    row(CMD, "apptag", HALF, "application tag of protection information")
        .default("0x1234")
        .linux_only()
        .access(int!(job.engine_options.nvme.application_tag)),
    row(ELSEWHERE, "apptag", HALF, "application tag of protection information").default("0x1234"),
    row(CMD, "apptag_mask", HALF, "mask of the application tag")
        .default("0xffff")
        .linux_only()
        .access(int!(job.engine_options.nvme.application_mask)),
    row(ELSEWHERE, "apptag_mask", HALF, "mask of the application tag").default("0xffff"),
    row(CMD, "cmd_type", Kind::Choice(words!["nvme": "NVMe", "sg": "SCSI generic"]), "kind of pass-through command")
        .default("nvme")
        .harmless(&["nvme"]),
    row(CMD, "cdb_len", COUNT, "length of the SCSI command block"),
    row(
        CMD,
        "write_mode",
        Kind::Choice(words!["write": "write", "uncor": "mark unreadable", "zeroes": "write zeroes",
        "verify": "verify"]),
        "command sent for a write",
    )
    .default("write")
    .linux_only()
    .access(choice!(
        job.engine_options.nvme.write,
        "write" => NvmeWrite::Write,
        "uncor" => NvmeWrite::Uncorrectable,
        "zeroes" => NvmeWrite::Zeroes,
        "verify" => NvmeWrite::Verify,
    )),
    row(CMD, "deac", Kind::Bool, "deallocate with write zeroes")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.nvme.deallocate)),
    row(CMD, "read_mode", Kind::Choice(words!["read": "read", "verify": "verify"]), "command sent for a read")
        .default("read")
        .linux_only()
        .access(choice!(job.engine_options.nvme.verifies, "read" => false, "verify" => true)),
    row(CMD, "verify_mode", Kind::Choice(words!["read": "read", "compare": "compare"]), "command sent for a check")
        .default("read")
        .harmless(&["read"]),
    row(CMD, "verify_bytchk", COUNT, "how SCSI verify compares"),
    row(CMD, "readfua", Kind::Bool, "reads bypass the device's cache")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.nvme.read_through)),
    row(CMD, "writefua", Kind::Bool, "writes bypass the device's cache")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.nvme.write_through)),
    row(SCSI, "readfua", Kind::Bool, "reads bypass the device's cache")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.scsi.read_fua)),
    row(SCSI, "writefua", Kind::Bool, "writes bypass the device's cache")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.scsi.write_fua)),
    row(CMD, "fixedbufs", Kind::Flag, "register buffers with the kernel")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.fixed_buffers)),
    row(CMD, "registerfiles", Kind::Flag, "register files with the kernel")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.register_files)),
    row(CMD, "sqthread_poll", Kind::Flag, "a kernel thread submits")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.sq_poll)),
    row(&["xnvme"], "sqthread_poll", Kind::Flag, "a kernel thread submits").harmless(&["0"]),
    row(CMD, "sqthread_poll_cpu", Kind::Int { min: 0, max: 65_535 }, "CPU of that thread")
        .linux_only()
        .access(int!(some job.engine_options.sq_poll_cpu)),
    row(CMD, "nonvectored", Kind::Int { min: -1, max: 1 }, "commands without vectors")
        .default("1")
        .linux_only()
        .access((
            |d, v| {
                if let Value::Int(n) = v {
                    d.job.engine_options.vectored = n == 0
                }
            },
            |d| Some(Value::Int(i64::from(!d.job.engine_options.vectored))),
        )),
    row(CMD, "force_async", COUNT, "every Nth command through a kernel worker")
        .default("0")
        .linux_only()
        .access(int!(job.engine_options.force_async)),
    row(SCSI, "hipri", Kind::Flag, "poll for completions").linux_only().access(flag!(job.engine_options.polled)),
    row(CMD, "hipri", Kind::Flag, "poll for completions").linux_only().access(flag!(job.engine_options.polled)),
    row(&["xnvme", "libblkio"], "hipri", Kind::Flag, "poll for completions").harmless(&["0"]),
    row(&["pvsync2"], "hipri", Kind::Flag, "poll for completions")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.polled)),
    row(&["pvsync2"], "hipri_percentage", Kind::Int { min: 0, max: 100 }, "share of I/Os that are polled for")
        .default("100")
        .linux_only()
        .access(int!(job.engine_options.polled_percent)),
    row(&["pvsync2"], "uncached", Kind::Bool, "leave nothing in the page cache")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.uncached)),
    row(&["mmap"], "thp", Kind::Bool, "ask for huge pages")
        .default("0")
        .linux_only()
        .access(flag!(job.engine_options.huge_pages))
        .status(Status::Differs(
            "fio maps the file privately then, so that nothing that is written reaches it; here it is shared",
        )),
    row(&["cpuio"], "cpuload", Kind::Int { min: 0, max: 100 }, "percent of a CPU to burn")
        .access(int!(job.engine_options.cpu.percent)),
    row(&["cpuio"], "cpuchunks", Kind::Time(TimeUnit::Microseconds), "length of one burn")
        .default("50000us")
        .access(plain!(Nanos, job.engine_options.cpu.chunk_ns)),
    row(&["cpuio"], "cpumode", Kind::Choice(words!["noop": "an empty loop", "qsort": "sorting"]), "how CPU is burned")
        .default("noop")
        .access(choice!(job.engine_options.cpu.mode, "noop" => CpuMode::Noop, "qsort" => CpuMode::Qsort)),
    row(&["cpuio"], "exit_on_io_done", Kind::Bool, "end when the jobs with I/O end")
        .default("0")
        .access(flag!(job.engine_options.cpu.ends_with_io)),
    row(&["exec"], "program", Kind::Text, "program to run")
        .access(plain!(some Text, job.engine_options.exec.program))
        .status(Status::Differs(
            "the job ends with its program, of which one that fails is the job's error, and the whole run is one \
             I/O; in fio it goes on to the end of runtime, each 50 ms are an I/O, and a failure is not told",
        )),
    row(&["exec"], "arguments", Kind::Text, "its arguments")
        .access(plain!(some Text, job.engine_options.exec.arguments)),
    row(&["exec"], "grace_time", Kind::Time(TimeUnit::Seconds), "time before it is killed")
        .default("1s")
        .access(plain!(Nanos, job.engine_options.exec.grace_ns)),
    row(&["exec"], "std_redirect", Kind::Bool, "its output goes to files")
        .default("1")
        .access(flag!(job.engine_options.exec.redirect)),
    row(
        &["filestat", "dirstat"],
        "stat_type",
        Kind::Choice(words!["stat": "stat", "lstat": "lstat",
        "statx": "statx"]),
        "call that looks a name up",
    )
    .default("stat")
    .access(choice!(job.engine_options.look_up, "stat" => LookUp::Stat, "lstat" => LookUp::Lstat,
        "statx" => LookUp::Statx)),
    row(&["rdma"], "hostname", Kind::Text, "host to connect to"),
    row(&["rdma"], "port", Kind::Int { min: 1, max: 65_535 }, "port"),
    row(SOCKET, "hostname", Kind::Text, "host to connect to, or address of a group")
        .access(plain!(some Text, job.engine_options.net.host)),
    row(SOCKET, "port", Kind::Int { min: 1, max: 65_535 }, "port of the first clone")
        .access(int!(some job.engine_options.net.port)),
    row(SOCKET, "protocol", Kind::Choice(PROTOCOLS), "protocol of the socket").alias(&["proto"]).default("tcp").access(
        choice!(job.engine_options.net.protocol, "tcp" => NetProtocol::Tcp, "tcpv6" => NetProtocol::TcpV6,
            "udp" => NetProtocol::Udp, "udpv6" => NetProtocol::UdpV6, "unix" => NetProtocol::Unix,
            "vsock" => NetProtocol::Vsock),
    ),
    row(SOCKET, "listen", Kind::Flag, "wait for the other side").access(flag!(job.engine_options.net.listen)),
    row(SOCKET, "pingpong", Kind::Flag, "answer each message").access(flag!(job.engine_options.net.ping_pong)),
    row(SOCKET, "nodelay", Kind::Bool, "TCP_NODELAY").default("0").access(flag!(job.engine_options.net.no_delay)),
    row(SOCKET, "interface", Kind::Text, "address of the interface for a group")
        .access(plain!(some Text, job.engine_options.net.interface)),
    row(SOCKET, "ttl", COUNT, "time to live of what goes to a group")
        .default("1")
        .access(int!(job.engine_options.net.ttl)),
    row(SOCKET, "window_size", BYTES, "size of socket buffers")
        .default("0")
        .access(plain!(Bytes, job.engine_options.net.window_bytes)),
    row(SOCKET, "mss", COUNT, "largest TCP segment").default("0").access(int!(job.engine_options.net.segment_bytes)),
    row(&["rdma"], "bindname", Kind::Text, "local address"),
    row(
        &["rdma"],
        "verb",
        Kind::Choice(words!["write": "RDMA write", "read": "RDMA read", "send": "send",
        "recv": "receive"]),
        "RDMA operation",
    )
    .alias(&["proto"])
    .default("write"),
    row(
        &["sg"],
        "sg_write_mode",
        Kind::Choice(words!["write": "write", "verify": "write and verify",
        "same": "write same", "write_same": "write same", "write_same_ndob": "write same, no data out",
        "write_and_verify": "write and verify", "verify_bytchk_00": "verify the medium",
        "verify_bytchk_01": "verify data", "verify_bytchk_11": "verify one block",
        "stream": "write to a stream"]),
        "command sent for a write",
    )
    .default("write")
    .linux_only()
    .access(choice!(job.engine_options.scsi.write, "write" => ScsiWrite::Write,
        "verify" => ScsiWrite::WriteAndVerify, "write_and_verify" => ScsiWrite::WriteAndVerify,
        "same" => ScsiWrite::Same, "write_same" => ScsiWrite::Same, "write_same_ndob" => ScsiWrite::SameNoData,
        "verify_bytchk_00" => ScsiWrite::VerifyMedium, "verify_bytchk_01" => ScsiWrite::VerifyData,
        "verify_bytchk_11" => ScsiWrite::VerifyBlock, "stream" => ScsiWrite::Stream)),
    row(&["sg"], "stream_id", Kind::Int { min: 0, max: 0xffff }, "stream to write to")
        .default("0")
        .linux_only()
        .access(int!(job.engine_options.scsi.stream)),
    row(&["e4defrag"], "donorname", Kind::Text, "file whose blocks are taken")
        .linux_only()
        .access(plain!(some Text, job.engine_options.donor)),
    row(&["e4defrag"], "inplace", Kind::Int { min: 0, max: 1 }, "when the donor's blocks are allocated")
        .default("0")
        .linux_only()
        .access((
            |d, value| d.job.engine_options.in_place = value == Value::Int(1),
            |d| Some(Value::Int(d.job.engine_options.in_place.into())),
        )),
    row(&["mtd"], "skip_bad", Kind::Bool, "pass over bad blocks").default("0"),
    row(CEPH, "clustername", Kind::Text, "name of the Ceph cluster")
        .access(plain!(some Text, job.engine_options.ceph.cluster)),
    row(CEPH, "clientname", Kind::Text, "Ceph user").access(plain!(some Text, job.engine_options.ceph.client)),
    row(CEPH, "pool", Kind::Text, "pool").access(plain!(some Text, job.engine_options.ceph.pool)),
    row(&["dfs"], "pool", Kind::Text, "pool"),
    row(&["rbd"], "rbdname", Kind::Text, "image").access(plain!(some Text, job.engine_options.ceph.image)),
    row(&["rbd"], "rbd_encryption_format", Kind::Text, "encryption of the image"),
    row(&["rbd"], "rbd_encryption_passphrase", Kind::Text, "passphrase of the image"),
    row(CEPH, "busy_poll", Kind::Bool, "spin for completions")
        .default("0")
        .access(flag!(job.engine_options.ceph.busy_poll)),
    row(&["rados"], "conf", Kind::Text, "configuration file")
        .default("/etc/ceph/ceph.conf")
        .access(plain!(Text, job.engine_options.ceph.conf)),
    row(&["rados"], "touch_objects", Kind::Bool, "create objects first")
        .default("1")
        .access(flag!(job.engine_options.ceph.touch_objects)),
    row(&["http"], "http_host", Kind::Text, "host").default("localhost"),
    row(&["http"], "http_user", Kind::Text, "user"),
    row(&["http"], "http_pass", Kind::Text, "password"),
    row(
        &["http"],
        "https",
        Kind::Choice(words!["off": "no", "on": "yes", "insecure": "without checking the server"]),
        "encrypt",
    )
    .default("off"),
    row(&["http"], "http_mode", Kind::Choice(words!["webdav": "WebDAV", "swift": "Swift", "s3": "S3"]), "protocol")
        .default("webdav"),
    row(&["http"], "http_s3_region", Kind::Text, "S3 region").default("us-east-1"),
    row(&["http"], "http_s3_key", Kind::Text, "S3 secret key"),
    row(&["http"], "http_s3_keyid", Kind::Text, "S3 key identifier"),
    row(&["http"], "http_s3_security_token", Kind::Text, "S3 session token"),
    row(&["http"], "http_s3_sse_customer_key", Kind::Text, "S3 customer key"),
    row(&["http"], "http_s3_sse_customer_algorithm", Kind::Text, "S3 customer algorithm").default("AES256"),
    row(&["http"], "http_s3_storage_class", Kind::Text, "S3 storage class").default("STANDARD"),
    row(&["http"], "http_swift_auth_token", Kind::Text, "Swift token"),
    row(&["http"], "http_verbose", COUNT, "print requests").default("0"),
    row(
        &["http"],
        "http_object_mode",
        Kind::Choice(words!["block": "an object for each block",
        "range": "ranges of one object"]),
        "what an object is",
    )
    .default("block"),
    row(&["nbd"], "uri", Kind::Text, "address of the export").access(plain!(some Text, job.engine_options.uri)),
    row(&["dfs"], "cont", Kind::Text, "container"),
    row(&["dfs", "libhdfs"], "chunk_size", BYTES, "size of a chunk"),
    row(&["dfs"], "object_class", Kind::Text, "class of objects"),
    row(&["dfs"], "svcl", Kind::Text, "service ranks"),
    row(&["nfs"], "nfs_url", Kind::Text, "address of the export"),
    row(GLUSTER, "volume", Kind::Text, "volume"),
    row(GLUSTER, "brick", Kind::Text, "host"),
    row(GLUSTER, "single-instance", Kind::Bool, "one connection for all clones").default("1"),
    row(&["libhdfs"], "namenode", Kind::Text, "host").alias(&["hostname"]).default("localhost"),
    row(&["libhdfs"], "port", Kind::Int { min: 1, max: 65_535 }, "port").default("9000"),
    row(&["libhdfs"], "hdfsdirectory", Kind::Text, "directory").default("/"),
    row(&["libhdfs"], "single_instance", Kind::Bool, "one connection for all clones").default("1"),
    row(&["libhdfs"], "hdfs_use_direct", Kind::Bool, "direct reads").default("0"),
    row(&["xnvme"], "xnvme_be", Kind::Text, "backend"),
    row(&["xnvme"], "xnvme_mem", Kind::Text, "memory backend"),
    row(&["xnvme"], "xnvme_async", Kind::Text, "asynchronous interface"),
    row(&["xnvme"], "xnvme_sync", Kind::Text, "synchronous interface"),
    row(&["xnvme"], "xnvme_admin", Kind::Text, "admin interface"),
    row(&["xnvme"], "xnvme_dev_nsid", COUNT, "namespace"),
    row(&["xnvme"], "xnvme_dev_subnqn", Kind::Text, "subsystem"),
    row(&["xnvme"], "xnvme_iovec", Kind::Flag, "vectored commands").harmless(&["0"]),
    row(&["libblkio"], "libblkio_driver", Kind::Text, "driver"),
    row(&["libblkio"], "libblkio_path", Kind::Text, "device"),
    row(&["libblkio"], "libblkio_pre_connect_props", Kind::Text, "properties set before connecting"),
    row(&["libblkio"], "libblkio_pre_start_props", Kind::Text, "properties set before starting"),
    row(&["libblkio"], "libblkio_num_entries", COUNT, "entries of a queue"),
    row(&["libblkio"], "libblkio_queue_size", COUNT, "size of a queue"),
    row(&["libblkio"], "libblkio_vectored", Kind::Flag, "vectored requests").harmless(&["0"]),
    row(&["libblkio"], "libblkio_write_zeroes_on_trim", Kind::Flag, "write zeroes for a trim").harmless(&["0"]),
    row(
        &["libblkio"],
        "libblkio_wait_mode",
        Kind::Choice(words!["block": "block", "eventfd": "by eventfd",
        "loop": "spin"]),
        "how completions are waited for",
    )
    .default("block"),
    row(&["libblkio"], "libblkio_force_enable_completion_eventfd", Kind::Flag, "always make an eventfd")
        .harmless(&["0"]),
    row(&["libcufile", "libhipfile"], "gpu_dev_ids", Kind::Text, "GPUs"),
    row(
        &["libcufile"],
        "cuda_io",
        Kind::Choice(words!["cufile": "GPUDirect", "posix": "by way of memory"]),
        "how data reach the GPU",
    )
    .default("cufile"),
    row(
        &["libhipfile"],
        "rocm_io",
        Kind::Choice(words!["hipfile": "directly", "posix": "by way of memory"]),
        "how data reach the GPU",
    )
    .default("hipfile"),
    row(&["libiscsi"], "initiator", Kind::Text, "name of the initiator").default("iqn.2019-04.org.fio:fio"),
    row(&["windowsaio"], "no_completion_thread", Kind::Flag, "no thread for completions").harmless(&["0"]),
];
