//! Where the stories are told.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bench::BLOCK;
use crate::stories::{Target, tell_all};

/// A file that is removed when the test ends.
pub(crate) struct FileTarget {
    pub(crate) path: PathBuf,
}

impl FileTarget {
    /// A name of its own in `directory`.
    pub(crate) fn new(directory: impl AsRef<Path>) -> FileTarget {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("conformance-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        FileTarget { path: directory.as_ref().join(name) }
    }
}

impl Drop for FileTarget {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Opens for reading and writing; `None` where the file system refuses direct I/O.
pub(crate) fn open(path: &Path, direct: bool, create: bool) -> Option<File> {
    let flags = if direct { direct_flag() } else { 0 };
    match OpenOptions::new().read(true).write(true).create(create).truncate(false).custom_flags(flags).open(path) {
        Ok(file) => Some(file),
        Err(error) if direct && error.raw_os_error() == Some(libc::EINVAL) => {
            eprintln!("SKIP: {}: this file system has no direct I/O", path.display());
            None
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

#[cfg(target_os = "linux")]
fn direct_flag() -> i32 {
    libc::O_DIRECT
}

#[cfg(not(target_os = "linux"))]
fn direct_flag() -> i32 {
    0
}

/// Blocks of every target.
const BLOCKS: u64 = 256;

/// Tells the stories on a block device of 1 MiB, buffered and direct.
#[cfg(target_os = "linux")]
pub(crate) fn device(path: &Path) {
    for direct in [false, true] {
        let Some(file) = open(path, direct, false) else { continue };
        let name = format!("{} direct={}", path.display(), u8::from(direct));
        tell_all(&Target { name, file: &file, direct, blocks: BLOCKS, trim: BLOCK as i32 });
    }
}

/// Tells the stories on a file, buffered and direct.
pub(crate) fn for_each_manner(target: &FileTarget) {
    for direct in [false, true] {
        let Some(file) = open(&target.path, direct, true) else { continue };
        file.set_len(BLOCKS * BLOCK).expect("size");
        let name = format!("{} direct={}", target.path.display(), u8::from(direct));
        tell_all(&Target { name, file: &file, direct, blocks: BLOCKS, trim: NO_TRIM });
    }
}

/// What a trim of a regular file is answered with.
const NO_TRIM: i32 = if cfg!(target_os = "linux") { -libc::ENOTTY } else { -libc::EOPNOTSUPP };
