//! Opening a target, and saying what went wrong when that fails.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::node::{DeviceNumber, NodeKind};
use crate::platform;

/// Whether each write is also on the medium when it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncKind {
    /// No.
    #[default]
    None,
    /// `O_SYNC`: data and all metadata.
    Sync,
    /// `O_DSYNC`: data and the metadata needed to read it.
    DataSync,
}

/// How a target is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenHow {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Make a regular file where nothing is.
    pub create: bool,
    /// Past the page cache: `O_DIRECT`; on macOS `F_NOCACHE`.
    pub direct: bool,
    /// Synchronous writes.
    pub sync: SyncKind,
    /// Permissions of a file that is made (cut by the umask).
    pub mode: u32,
}

impl Default for OpenHow {
    fn default() -> Self {
        Self { read: true, write: false, create: false, direct: false, sync: SyncKind::None, mode: 0o644 }
    }
}

impl OpenHow {
    /// The flags of `open(2)`.
    fn flags(&self) -> OFlags {
        let access = match (self.read, self.write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        let sync = match self.sync {
            SyncKind::None => OFlags::empty(),
            SyncKind::Sync => OFlags::SYNC,
            SyncKind::DataSync => OFlags::DSYNC,
        };
        let create = if self.create { OFlags::CREATE } else { OFlags::empty() };
        let direct = if self.direct { platform::DIRECT_FLAG } else { OFlags::empty() };
        access | sync | create | direct | OFlags::CLOEXEC
    }

    /// What is being done, for a sentence.
    fn operation(&self) -> &'static str {
        match (self.create, self.write) {
            (true, _) => "open or create",
            (false, true) => "open for writing",
            (false, false) => "open for reading",
        }
    }
}

/// What direct I/O asks of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Buffers start at multiples of this, bytes.
    pub memory_bytes: u32,
    /// Offsets and lengths are multiples of this, bytes.
    pub offset_bytes: u32,
}

/// What an open target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Its kind.
    pub kind: NodeKind,
    /// Bytes in the file or on the device; 0 for pipes and character devices.
    pub size_bytes: u64,
    /// For a device its own number, else that of the file system the file lies in.
    pub device: DeviceNumber,
    /// The node's number in its file system.
    pub inode: u64,
    /// What direct I/O asks, where the kernel tells (Linux 6.1, and only if direct I/O works there at all).
    pub direct: Option<DirectAlignment>,
}

impl TargetFacts {
    /// Why direct I/O with these requests will be refused with `EINVAL`, as a sentence; `None` if nothing speaks
    /// against it, or the kernel does not tell.
    pub fn direct_mismatch(&self, request_unit_bytes: u64, memory_align_bytes: u64) -> Option<String> {
        let needed = self.direct?;
        let fits = |given: u64, needed: u32| needed == 0 || given.is_multiple_of(u64::from(needed));
        let (offset, memory) = (needed.offset_bytes, needed.memory_bytes);
        if fits(request_unit_bytes, offset) && fits(memory_align_bytes, memory) {
            return None;
        }
        Some(format!(
            "direct I/O here needs offsets and lengths in multiples of {offset} bytes and buffers aligned to {memory} \
             bytes; given are multiples of {request_unit_bytes} and buffers aligned to {memory_align_bytes}"
        ))
    }
}

/// A target, open.
#[derive(Debug)]
pub struct OpenTarget {
    /// The descriptor; closing it is all the clean-up there is.
    pub fd: OwnedFd,
    /// What it is.
    pub facts: TargetFacts,
}

/// A target that could not be opened. Its `Display` names path and operation, and says what to do.
#[derive(Debug, thiserror::Error)]
pub struct OpenError {
    /// The path as the job names it.
    pub path: PathBuf,
    /// What was being done ("open for writing").
    pub operation: &'static str,
    /// What the system said.
    errno: Errno,
    /// What it means here and what to do; may be empty.
    hint: String,
}

impl OpenError {
    pub(crate) fn new(path: &Path, how: &OpenHow, errno: Errno, hint: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), operation: how.operation(), errno, hint: hint.into() }
    }

    /// The system's error number.
    pub fn errno(&self) -> i32 {
        self.errno.raw_os_error()
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.operation, self.path.display(), errno_text(self.errno))?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

/// The system's words for an error number, without Rust's "(os error N)".
pub(crate) fn errno_text(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// The error number in an I/O error; `EIO` if there is none.
pub(crate) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Opens `path` and looks at what it got.
pub(crate) fn open_target(path: &Path, how: &OpenHow) -> Result<OpenTarget, OpenError> {
    let fail = |errno| OpenError::new(path, how, errno, hint(path, how, errno));
    let fd = retry(|| rustix::fs::open(path, how.flags(), Mode::from_raw_mode(how.mode as _))).map_err(fail)?;
    if how.direct {
        platform::after_open_direct(fd.as_fd()).map_err(fail)?;
    }
    let file = File::from(fd);
    let facts = facts(&file, how.direct).map_err(|e| fail(errno_of(&e)))?;
    Ok(OpenTarget { fd: file.into(), facts })
}

/// Opening a slow device can be interrupted by a signal.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// What an open file is.
fn facts(file: &File, direct: bool) -> io::Result<TargetFacts> {
    let stat = file.metadata()?;
    let kind = NodeKind::of(stat.file_type());
    let size_bytes = match kind {
        NodeKind::File => stat.len(),
        NodeKind::Block => platform::block_size_bytes(file)?,
        NodeKind::Char | NodeKind::Directory | NodeKind::Pipe => 0,
    };
    let device = matches!(kind, NodeKind::Block | NodeKind::Char);
    let device = DeviceNumber::from_raw(if device { stat.rdev() } else { stat.dev() });
    let direct = if direct { platform::direct_alignment(file) } else { None };
    Ok(TargetFacts { kind, size_bytes, device, inode: stat.ino(), direct })
}

/// What an error means for this target and what to do.
fn hint(path: &Path, how: &OpenHow, errno: Errno) -> String {
    match errno {
        Errno::INVAL if how.direct => direct_hint(path),
        Errno::NOENT if how.create => "the folder it should be made in does not exist".into(),
        Errno::NOENT => "it does not exist and this job does not make it".into(),
        Errno::ACCESS | Errno::PERM => "choose a file this user may use, or run as a user who may".into(),
        Errno::ROFS => "its file system is mounted read-only".into(),
        Errno::NOSPC => "its file system has no room left".into(),
        Errno::DQUOT => "the user's quota on its file system is used up".into(),
        Errno::MFILE => "this process has too many open files: raise `ulimit -n` or use fewer files (`nrfiles`, \
                         `numjobs`, `openfiles`)"
            .into(),
        Errno::NFILE => "the whole system has too many open files".into(),
        Errno::TXTBSY => "it is a running program or an active swap file".into(),
        Errno::NXIO | Errno::NODEV => "no device answers there".into(),
        Errno::BUSY => "another program or the kernel holds it exclusively".into(),
        Errno::ISDIR => "it is a folder; name a file in it".into(),
        Errno::LOOP => "its symbolic links lead in a circle".into(),
        _ => String::new(),
    }
}

/// `O_DIRECT` was refused: by which file system, and what it would take.
fn direct_hint(path: &Path) -> String {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = File::open(path).or_else(|_| File::open(folder));
    let name = file.as_ref().ok().and_then(platform::file_system_name);
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    match file.ok().as_ref().and_then(platform::direct_alignment) {
        Some(needed) => format!(
            "O_DIRECT refused by this file system{name}, though it states offset alignment {} and memory alignment {}; \
             use direct=0",
            needed.offset_bytes, needed.memory_bytes
        ),
        None => format!("O_DIRECT refused: this file system{name} does not support it; use direct=0"),
    }
}
