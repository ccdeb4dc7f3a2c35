//! The contract between the worker loop and an engine.

use std::ffi::CString;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use crate::arena::SlotArena;
use crate::zoned_disk::ZonedDisk;

/// What one request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read `len` bytes at `offset` into the slot.
    Read,
    /// Write `len` bytes at `offset` from the slot.
    Write,
    /// Discard `len` bytes at `offset`, or what [`FileTable::trim`] says.
    Trim,
    /// `fsync` of the file.
    Sync,
    /// `fdatasync` of the file.
    DataSync,
}

/// Index of a buffer slot in the worker's [`SlotArena`]; also the identity of a request in flight.
pub type SlotId = u32;

/// Index of a file in the worker's [`FileTable`].
pub type FileId = u32;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Byte offset in the file.
    pub offset: u64,
    /// Where in the slot the bytes start: above 0 only when the loop finishes a short transfer.
    pub slot_offset: u32,
    /// Bytes to transfer; 0 for the sync family.
    pub len: u32,
    /// The buffer, and the name of this request until it completes.
    pub slot: SlotId,
    /// The file.
    pub file: FileId,
    /// The operation.
    pub op: Op,
    /// Class, hint and level under which the request goes down, as the kernel takes them; 0 for those of the thread.
    /// Engines that cannot pass it on do not look at it.
    pub priority: u16,
}

impl Io {
    /// A request of this operation, with nothing to transfer, in slot 0 of file 0.
    pub const fn of(op: Op) -> Io {
        Io { offset: 0, slot_offset: 0, len: 0, slot: 0, file: 0, op, priority: 0 }
    }
}

/// The end of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's slot.
    pub slot: SlotId,
    /// Bytes transferred if 0 or more, `-errno` if negative.
    pub result: i32,
}

/// The result of a request that did not happen, because whoever is on the other side has ended: the job ends in order.
pub const ENDED: i32 = i32::MIN;

/// Completions handed back by an engine; its capacity is reserved once and never grows in the loop.
pub type Completions = Vec<Completion>;

/// How long [`Engine::reap`] may wait, on `CLOCK_MONOTONIC` (virtual time for `sim`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Do not wait.
    Now,
    /// Wait until this many nanoseconds of the run's clock.
    At(u64),
    /// Wait as long as it takes (a signal to the thread still ends the wait).
    Never,
}

/// What [`Op::Trim`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrimMeans {
    /// The device is told that the bytes are no longer needed (`BLKDISCARD`).
    #[default]
    Discard,
    /// The zones that lie in these bytes are reset (`BLKRESETZONE`).
    ResetZones,
    /// Nothing: the zones are a model in the program.
    Nothing,
}

/// The open files of one worker, by their [`FileId`]. Copies share their descriptors.
///
/// A descriptor stays open, and owned by the worker, for as long as a request of its file is in flight. All of them do
/// for as long as the engine lives, unless they are [exchanged](FileTable::exchanges).
#[derive(Clone, Debug, Default)]
pub struct FileTable {
    descriptors: Arc<[AtomicI32]>,
    /// Whether they were opened with `O_DIRECT` (or its like).
    pub direct: bool,
    /// What a trim of them is.
    pub trim: TrimMeans,
    /// Not all can be open at a time: a file may be closed, and later be open behind another descriptor. What an engine
    /// knows about a descriptor, such as its position, it must not rely on in the next request.
    pub exchanges: bool,
}

impl FileTable {
    /// The table of these descriptors; `-1` for a file that exists in name only (`null`, `sim`) or is not open.
    pub fn new(descriptors: Vec<RawFd>, direct: bool) -> Self {
        let descriptors = descriptors.into_iter().map(AtomicI32::new).collect();
        FileTable { descriptors, direct, ..FileTable::default() }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.descriptors.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// The descriptor of a file; -1 (the kernel answers `EBADF`) where there is none.
    #[inline]
    pub fn descriptor(&self, file: FileId) -> RawFd {
        self.descriptors.get(file as usize).map_or(-1, |descriptor| descriptor.load(Relaxed))
    }

    /// All of them.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.descriptors.iter().map(|descriptor| descriptor.load(Relaxed))
    }

    /// The file is open behind this descriptor from now on, or not at all (-1). No request of it is in flight. What
    /// hands requests to another thread orders this before them.
    pub fn set(&self, file: FileId, descriptor: RawFd) {
        if let Some(place) = self.descriptors.get(file as usize) {
            place.store(descriptor, Relaxed);
        }
    }
}

/// What an engine got from the system at [`Engine::attach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The depth that the engine can hold; at most the depth asked.
    pub depth: u32,
    /// Facts a reader of the result should know ("SINGLE_ISSUER", "registered ring", "fixed buffers").
    pub used: Vec<String>,
    /// Sentences about what was asked and could not be had.
    pub notes: Vec<String>,
}

/// Requests that did not come back by the deadline of [`Engine::quiesce`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Their slots. The memory of these slots is leaked, never freed.
    pub slots: Vec<SlotId>,
}

/// The engine itself is broken (an I/O that fails is a [`Completion`], not this).
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A system call of the engine failed.
    #[error("{call} failed: {}", std::io::Error::from_raw_os_error(*.errno))]
    System {
        /// The call's name.
        call: &'static str,
        /// Its errno.
        errno: i32,
    },
    /// An option has no value that makes sense, or what the engine was to carry out went wrong.
    #[error("{text}")]
    Failed {
        /// What, and what to do.
        text: String,
        /// The errno to report.
        errno: i32,
    },
    /// The engine cannot do what the job asks; the sentence says why and what to do.
    #[error("{0}")]
    Unsupported(String),
}

impl EngineError {
    /// The errno to report for the job; `EOPNOTSUPP` where no system call failed.
    pub fn errno(&self) -> i32 {
        match self {
            EngineError::System { errno, .. } | EngineError::Failed { errno, .. } => *errno,
            EngineError::Unsupported(_) => libc::EOPNOTSUPP,
        }
    }
}

impl EngineError {
    /// An option without which the engine cannot work.
    pub(crate) fn lacking(text: &str) -> Self {
        EngineError::Failed { text: text.into(), errno: libc::EINVAL }
    }
}

/// An engine that holds many requests in flight.
///
/// Made and used on its worker's own thread. No allocation after `attach`. Between `attach` and drop every request
/// taken by `submit` is answered exactly once, by `submit`, `reap` or `quiesce`. Dropping an engine with requests in
/// flight (also while unwinding) cancels and drains them first.
pub trait Engine {
    /// How large the target is that the options name, bytes: asked before anything is planned, of an engine that is not
    /// attached, where [`Caps::remote`] says so. It may have to connect. 0 where the job says how large it is.
    fn target_bytes(&mut self) -> Result<u64, EngineError> {
        Ok(0)
    }

    /// Gives the engine its files and buffers, and the depth that the job asks for.
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError>;

    /// Takes a prefix of `ios` and returns its length; completions already known go straight to `done`.
    ///
    /// The caller never holds more than the granted depth in flight. Returning 0 for a non-empty `ios` means that the
    /// system took none now; the caller reaps and tries again. An operation the engine cannot do in the background
    /// is carried out at once and answered in `done`.
    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError>;

    /// Waits for `min` completions, `until`, or a signal to this thread, whichever comes first. Everything that is
    /// known to be complete is appended to `done`, even beyond `min`. A `min` above what is in flight means all of it;
    /// with nothing in flight it returns at once.
    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError>;

    /// Cancels and drains; what is still in flight at `until` is named, never freed.
    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck;
}

/// An engine that does one request at a time, in the calling thread.
pub trait SyncOp {
    /// Gives the engine its files and buffers.
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError>;

    /// Carries out one request: bytes transferred, or `-errno`. `-EINTR` when a signal ended it before any byte moved.
    fn call(&mut self, io: &Io) -> i32;

    /// Lets go of what it holds of the files' contents, so that the page cache can drop them; the next request gets it
    /// back.
    fn release(&mut self) {}
}

/// What a step of a [`Task`] brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A piece of work is done; the next one is due after so many nanoseconds.
    Done {
        /// Until then the worker sleeps.
        rest_ns: u64,
    },
    /// A piece goes on: it is to be looked at again soon.
    Busy,
    /// The last piece is done.
    Last,
}

/// An engine without files and requests, which works in steps of its own (`cpuio`, `exec`).
pub trait Task {
    /// One step. It returns soon after `stop` is raised, and soon after `until_ns` of `CLOCK_MONOTONIC`.
    fn step(&mut self, stop: &AtomicBool, until_ns: u64) -> Result<Step, EngineError>;

    /// The job is over: what goes on is ended, at once when `hurry` is raised.
    fn end(&mut self, hurry: &AtomicBool) {
        let _ = hurry;
    }
}

/// A made engine, by its kind.
pub enum Instance {
    /// Many requests in flight.
    Async(Box<dyn Engine>),
    /// One request at a time.
    Sync(Box<dyn SyncOp>),
    /// No requests at all.
    Task(Box<dyn Task>),
}

/// What the names are of, for an engine that works on names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Folders; else files.
    pub folders: bool,
    /// They are there before the job begins; else it makes them.
    pub there: bool,
}

/// Devices that take commands past the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// SCSI disks, by their block device or `/dev/sgN` (`sg`).
    Scsi,
    /// NVMe namespaces, by `/dev/ngXnY` (`io_uring_cmd`).
    Nvme,
}

/// What an engine is like; constants, the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// One request at a time: the depth is capped at 1 and there is no submission latency.
    pub synchronous: bool,
    /// Works on no file at all: nothing is opened, laid out, invalidated or unlinked (`null`, `sim`).
    pub diskless: bool,
    /// The target is elsewhere, and like a device: it has a size ([`Engine::target_bytes`]) and keeps what is written.
    /// Such an engine is `diskless` too.
    pub remote: bool,
    /// A write may extend the file. Where it may not, the file has to be there in full before anything is written.
    pub extends: bool,
    /// Bytes go between memory and the file; else only what is about them (`falloc`).
    pub moves_data: bool,
    /// Even a read changes something about the file: it is opened for writing (`falloc`).
    pub writes_to_read: bool,
    /// Works on names: one I/O for each file, which is not opened for it (`filestat`). Lets go of what an I/O left
    /// behind at [`SyncOp::release`], which comes before the next.
    pub names: Option<Names>,
    /// It sends commands to devices of this kind, and works on nothing else.
    pub devices: Option<Devices>,
    /// There is nothing that it could read or trim (`ftruncate`).
    pub only_writes: bool,
    /// Bytes go to somebody else, or come from there, in their order; the other side may [end](ENDED) it (`net`).
    pub stream: bool,
    /// It has no files and no requests: it works in steps ([`Task`]).
    pub task: bool,
    /// Time in this engine is virtual (`sim`).
    pub virtual_time: bool,
    /// The I/O is done by threads that the engine's library starts; their CPU time belongs to the job (`posixaio`).
    pub helper_threads: bool,
    /// Descriptors that an instance keeps open for itself.
    pub descriptors: u32,
}

impl Caps {
    /// What most engines are like that do one request at a time.
    pub const SYNCHRONOUS: Caps = Caps {
        synchronous: true,
        diskless: false,
        remote: false,
        extends: true,
        moves_data: true,
        writes_to_read: false,
        names: None,
        devices: None,
        only_writes: false,
        stream: false,
        task: false,
        virtual_time: false,
        helper_threads: false,
        descriptors: 0,
    };
    /// What most engines are like that hold many requests in flight.
    pub const ASYNCHRONOUS: Caps = Caps { synchronous: false, ..Caps::SYNCHRONOUS };

    /// Whether what is written can be read back.
    pub fn keeps_data(&self) -> bool {
        self.moves_data && (self.remote || !self.diskless)
    }

    /// Whether the files of a job are opened for it.
    pub fn opens_files(&self) -> bool {
        !self.diskless && self.names.is_none()
    }

    /// Whether what a job works on is made before it begins, where it is missing.
    pub fn lays_out(&self) -> bool {
        !self.diskless && self.names.is_none_or(|names| names.there)
    }
}

/// Whether an engine can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Here,
    /// It cannot; the sentence says why and what would help.
    Missing(String),
}

/// What a [`Task`], or one side of a stream, has to know of its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFacts {
    /// Its name.
    pub name: String,
    /// Its name as that of a file, which its other clones do not have.
    pub file_name: String,
    /// Which of its clones this is, from 0.
    pub clone: u32,
    /// It reads.
    pub reads: bool,
    /// How long it may run, nanoseconds; 0 without such an end.
    pub runtime_ns: u64,
    /// Where files go that accompany a run.
    pub folder: PathBuf,
}

/// What a worker tells its engine at birth: typed values only.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The options that belong to engines.
    pub options: iostrata_spec::EngineOptions,
    /// How the files will be used, as `fadvise_hint=` tells the kernel: engines that map files pass it on.
    pub advice: Option<iostrata_os::file::Advice>,
    /// A seed for what an engine draws itself (`sim`).
    pub seed: u64,
    /// The sizes of the files, in bytes, by [`FileId`] (for `sim` and `null`; real engines ask the kernel).
    pub file_sizes: Vec<u64>,
    /// The names of the files, by [`FileId`], for engines that work on names, and for streams; else empty.
    pub names: Vec<CString>,
    /// The file of `donorname=`, open for writing.
    pub donor: Option<Arc<OwnedFd>>,
    /// What [`Task`]s and streams have to know of their job.
    pub job: JobFacts,
    /// The virtual world that the workers of a `sim` run share.
    pub world: Option<Arc<crate::virtual_time::World>>,
    /// This worker's number in that world, from 0.
    pub worker: u32,
    /// The disks of zones that `sim` has for the files, by [`FileId`]; empty without.
    pub zoned: Vec<Arc<ZonedDisk>>,
}

impl EngineConfig {
    /// For an engine that is alone, and is told nothing but its options.
    pub fn of(options: &iostrata_spec::EngineOptions) -> EngineConfig {
        EngineConfig {
            options: options.clone(),
            advice: None,
            seed: 1,
            file_sizes: Vec::new(),
            names: Vec::new(),
            donor: None,
            job: JobFacts::default(),
            world: None,
            worker: 0,
            zoned: Vec::new(),
        }
    }
}

/// One row of the registry.
#[derive(Clone, Copy)]
pub struct EngineSpec {
    /// The name as in `ioengine=`.
    pub name: &'static str,
    /// What it is like.
    pub caps: Caps,
    /// One line for `--enghelp`.
    pub doc: &'static str,
    /// Whether it can run here.
    pub availability: fn() -> Availability,
    /// Makes one, on the worker's thread.
    pub make: fn(&EngineConfig) -> Result<Instance, EngineError>,
}
