//! Opening a target, and saying what went wrong when that fails.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use iostrata_os::file::{self, DioAlign, Facts, OpenFlags};
use rustix::io::Errno;

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
    fn flags(&self) -> OpenFlags {
        OpenFlags {
            // What is opened for neither is opened for looking at.
            read: self.read || !self.write,
            write: self.write,
            create: self.create,
            direct: self.direct,
            sync: self.sync == SyncKind::Sync,
            dsync: self.sync == SyncKind::DataSync,
            ..OpenFlags::default()
        }
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

/// Why direct I/O with these requests will be refused with `EINVAL`, as a sentence; `None` if nothing speaks against
/// it, or the system does not tell. Requests lie at multiples of `unit_bytes`, buffers at multiples of `memory_bytes`.
pub fn direct_mismatch(facts: &Facts, unit_bytes: u64, memory_bytes: u64) -> Option<String> {
    let DioAlign { memory_bytes: memory, offset_bytes: offset } = facts.dio?;
    if offset == 0 {
        return Some("the file system says that it does not support direct I/O here; use direct=0".into());
    }
    let fits = |given: u64, needed: u32| needed == 0 || given.is_multiple_of(u64::from(needed));
    if fits(unit_bytes, offset) && fits(memory_bytes, memory) {
        return None;
    }
    Some(format!(
        "direct I/O here needs offset alignment {offset}, memory alignment {memory} (bytes); given are offsets and \
         lengths in multiples of {unit_bytes} and buffers at multiples of {memory_bytes}"
    ))
}

/// A target, open.
#[derive(Debug)]
pub struct OpenTarget {
    /// The descriptor; closing it is all the clean-up there is.
    pub fd: OwnedFd,
    /// What it is.
    pub facts: Facts,
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
    let fail = |e: io::Error| OpenError::new(path, how, errno_of(&e), hint(path, how, errno_of(&e)));
    let fd = file::open(path, how.flags(), how.mode).map_err(fail)?;
    let facts = file::facts(&fd).map_err(fail)?;
    Ok(OpenTarget { fd, facts })
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

/// `O_DIRECT` was refused: by which file system, and what it would take. Looked at through the folder if the file
/// itself cannot be opened.
fn direct_hint(path: &Path) -> String {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(open) = File::open(path).or_else(|_| File::open(folder)) else { return "use direct=0".into() };
    let name = file::file_system_name(&open).unwrap_or_else(|_| "unknown".into());
    match file::facts(&open).ok().and_then(|facts| facts.dio).filter(|dio| dio.offset_bytes != 0) {
        Some(needed) => format!(
            "O_DIRECT refused by the file system ({name}), which asks for offset alignment {} and memory alignment {}; \
             use direct=0",
            needed.offset_bytes, needed.memory_bytes
        ),
        None => format!("O_DIRECT refused: this file system ({name}) does not support it; use direct=0"),
    }
}
