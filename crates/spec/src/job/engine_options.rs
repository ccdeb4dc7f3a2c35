//! The options that belong to engines, as typed values.

use super::{CommandPriority, SimLaw};

/// `stat_type`: the call that looks a name up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookUp {
    /// `stat`.
    #[default]
    Stat,
    /// `lstat`: a link is looked at itself.
    Lstat,
    /// `statx`.
    Statx,
}

/// cpuio `cpumode`: how a CPU is burned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuMode {
    /// An empty loop.
    #[default]
    Noop,
    /// Sorting.
    Qsort,
}

/// The options of cpuio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLoad {
    /// `cpuload`: percent of a CPU; 0 where it is not given.
    pub percent: u32,
    /// `cpuchunks`: the length of a piece of work.
    pub chunk_ns: u64,
    /// `cpumode`.
    pub mode: CpuMode,
    /// `exit_on_io_done`: it ends with the last job that does I/O.
    pub ends_with_io: bool,
}

impl Default for CpuLoad {
    fn default() -> Self {
        CpuLoad { percent: 0, chunk_ns: 50_000_000, mode: CpuMode::Noop, ends_with_io: false }
    }
}

/// The options of exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOptions {
    /// `program`.
    pub program: Option<String>,
    /// `arguments`, as written.
    pub arguments: Option<String>,
    /// `grace_time`: from SIGTERM to SIGKILL.
    pub grace_ns: u64,
    /// `std_redirect`: what it prints goes to files.
    pub redirect: bool,
}

impl Default for ExecOptions {
    fn default() -> Self {
        ExecOptions { program: None, arguments: None, grace_ns: 1_000_000_000, redirect: true }
    }
}

/// sg `sg_write_mode`: the command that a write is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScsiWrite {
    /// `WRITE`.
    #[default]
    Write,
    /// `WRITE AND VERIFY`.
    WriteAndVerify,
    /// `WRITE SAME` with the first block of the data.
    Same,
    /// `WRITE SAME` without data: zeroes.
    SameNoData,
    /// `VERIFY`: the disk looks at its medium.
    VerifyMedium,
    /// `VERIFY` of the medium against the data.
    VerifyData,
    /// `VERIFY` of each block of the medium against the first one of the data.
    VerifyBlock,
    /// `WRITE STREAM`.
    Stream,
}

/// The options of sg.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScsiOptions {
    /// `readfua`: reads go past the disk's cache.
    pub read_fua: bool,
    /// `writefua`: writes go past the disk's cache.
    pub write_fua: bool,
    /// `sg_write_mode`.
    pub write: ScsiWrite,
    /// `stream_id`.
    pub stream: u16,
}

/// `protocol` of net.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetProtocol {
    /// TCP.
    #[default]
    Tcp,
    /// TCP over IPv6.
    TcpV6,
    /// UDP.
    Udp,
    /// UDP over IPv6.
    UdpV6,
    /// A Unix socket.
    Unix,
    /// A socket between a machine and its virtual machines.
    Vsock,
}

impl NetProtocol {
    /// Whether it is of IPv6.
    pub fn is_v6(self) -> bool {
        matches!(self, NetProtocol::TcpV6 | NetProtocol::UdpV6)
    }

    /// Whether it knows datagrams, and no connections.
    pub fn is_udp(self) -> bool {
        matches!(self, NetProtocol::Udp | NetProtocol::UdpV6)
    }
}

/// The options of net and netsplice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetOptions {
    /// `hostname`.
    pub host: Option<String>,
    /// `port`: that of the first clone.
    pub port: Option<u32>,
    /// `protocol`.
    pub protocol: NetProtocol,
    /// `listen`: the other side connects.
    pub listen: bool,
    /// `pingpong`: each message is answered.
    pub ping_pong: bool,
    /// `nodelay`.
    pub no_delay: bool,
    /// `interface`, for a group.
    pub interface: Option<String>,
    /// `ttl`, for a group.
    pub ttl: u32,
    /// `window_size`: the size of socket buffers, bytes; 0 for the system's.
    pub window_bytes: u64,
    /// `mss`: the largest TCP segment, bytes; 0 for the system's.
    pub segment_bytes: u32,
}

impl Default for NetOptions {
    fn default() -> Self {
        NetOptions {
            host: None,
            port: None,
            protocol: NetProtocol::Tcp,
            listen: false,
            ping_pong: false,
            no_delay: false,
            interface: None,
            ttl: 1,
            window_bytes: 0,
            segment_bytes: 0,
        }
    }
}

/// The options of rados and rbd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CephOptions {
    /// `clustername`.
    pub cluster: Option<String>,
    /// `clientname`.
    pub client: Option<String>,
    /// `pool`.
    pub pool: Option<String>,
    /// rbd `rbdname`.
    pub image: Option<String>,
    /// `busy_poll`: a wait keeps a CPU busy.
    pub busy_poll: bool,
    /// rados `conf`.
    pub conf: String,
    /// rados `touch_objects`: objects are made before the run.
    pub touch_objects: bool,
}

impl Default for CephOptions {
    fn default() -> Self {
        CephOptions {
            cluster: None,
            client: None,
            pool: None,
            image: None,
            busy_poll: false,
            conf: "/etc/ceph/ceph.conf".into(),
            touch_objects: true,
        }
    }
}

/// io_uring_cmd `write_mode`: the command that is sent for a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NvmeWrite {
    /// Write.
    #[default]
    Write,
    /// Write Uncorrectable.
    Uncorrectable,
    /// Write Zeroes.
    Zeroes,
    /// Verify.
    Verify,
}

/// io_uring_cmd: how NVMe commands look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeOptions {
    /// `write_mode`.
    pub write: NvmeWrite,
    /// `deac`: Write Zeroes may deallocate.
    pub deallocate: bool,
    /// `read_mode=verify`: Verify is sent for a read.
    pub verifies: bool,
    /// `readfua`.
    pub read_through: bool,
    /// `writefua`.
    pub write_through: bool,
    /// `md_per_io_size`, bytes.
    pub metadata_bytes: u64,
    /// `pi_act`: the controller makes protection information and takes it off.
    pub protection_action: bool,
    /// `pi_chk`: words, with commas between.
    pub protection_checks: Option<String>,
    /// `apptag`.
    pub application_tag: u16,
    /// `apptag_mask`.
    pub application_mask: u16,
}

impl NvmeOptions {
    /// Whether `pi_chk` has this word.
    pub fn checks(&self, word: &str) -> bool {
        self.protection_checks.iter().any(|list| list.split(',').any(|one| one.trim() == word))
    }
}

impl Default for NvmeOptions {
    fn default() -> Self {
        NvmeOptions {
            write: NvmeWrite::Write,
            deallocate: false,
            verifies: false,
            read_through: false,
            write_through: false,
            metadata_bytes: 0,
            protection_action: true,
            protection_checks: None,
            application_tag: 0x1234,
            application_mask: 0xffff,
        }
    }
}

/// Options that engines own.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineOptions {
    /// io_uring `fixedbufs`.
    pub fixed_buffers: bool,
    /// io_uring `registerfiles`.
    pub register_files: bool,
    /// io_uring `sqthread_poll`.
    pub sq_poll: bool,
    /// io_uring `sqthread_poll_cpu`.
    pub sq_poll_cpu: Option<u32>,
    /// `hipri`: completions are polled for.
    pub polled: bool,
    /// pvsync2 `hipri_percentage`: of so many I/Os in a hundred.
    pub polled_percent: u32,
    /// `nowait`: an I/O that would wait fails.
    pub nowait: bool,
    /// `uncached`: what was moved leaves the page cache.
    pub uncached: bool,
    /// mmap `thp`: huge pages are asked for.
    pub huge_pages: bool,
    /// filestat and dirstat `stat_type`.
    pub look_up: LookUp,
    /// cpuio.
    pub cpu: CpuLoad,
    /// exec.
    pub exec: ExecOptions,
    /// sg.
    pub scsi: ScsiOptions,
    /// e4defrag `donorname`.
    pub donor: Option<String>,
    /// e4defrag `inplace`: the donor gets its blocks for each I/O, not before the first.
    pub in_place: bool,
    /// `atomic`: a write is done whole or not at all.
    pub atomic: bool,
    /// io_uring `nonvectored` (fio's default is 1).
    pub vectored: bool,
    /// rados and rbd.
    pub ceph: CephOptions,
    /// net and netsplice.
    pub net: NetOptions,
    /// nbd `uri`: where the export is.
    pub uri: Option<String>,
    /// libaio `libaio_vectored`: reads and writes take vectors.
    pub vectored_aio: bool,
    /// libaio `userspace_reap`: completions are taken from the kernel's ring, without a call.
    pub userspace_reap: bool,
    /// io_uring `force_async`: every so many-th I/O goes to a kernel worker at once; 0 for none.
    pub force_async: u32,
    /// `cmdprio_*`: I/Os that go down under a priority of their own.
    pub command_priority: CommandPriority,
    /// io_uring_cmd.
    pub nvme: NvmeOptions,
    /// `sim`'s law.
    pub sim: SimLaw,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            fixed_buffers: false,
            register_files: false,
            sq_poll: false,
            sq_poll_cpu: None,
            polled: false,
            polled_percent: 100,
            nowait: false,
            uncached: false,
            huge_pages: false,
            look_up: LookUp::Stat,
            cpu: CpuLoad::default(),
            exec: ExecOptions::default(),
            scsi: ScsiOptions::default(),
            donor: None,
            in_place: false,
            atomic: false,
            vectored: false,
            ceph: CephOptions::default(),
            net: NetOptions::default(),
            uri: None,
            vectored_aio: false,
            userspace_reap: false,
            force_async: 0,
            command_priority: CommandPriority::default(),
            nvme: NvmeOptions::default(),
            sim: SimLaw::default(),
        }
    }
}
