//! What only macOS does this way.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::OFlags;

use crate::open::DirectAlignment;

/// No flag of `open(2)` passes the cache here; `F_NOCACHE` follows.
pub(crate) const DIRECT_FLAG: OFlags = OFlags::empty();

/// `F_NOCACHE`: what is read or written leaves no pages behind; pages already cached are still used.
pub(crate) fn after_open_direct(fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::fcntl_nocache(fd, true)
}

/// Bytes on a block device.
pub(crate) fn block_size_bytes(device: &File) -> io::Result<u64> {
    let _ = device;
    Ok(0)
}

/// macOS has no alignment to tell.
pub(crate) fn direct_alignment(_file: &File) -> Option<DirectAlignment> {
    None
}

/// The name of the file system a file lies in.
pub(crate) fn file_system_name(file: &File) -> Option<String> {
    let facts = rustix::fs::fstatfs(file).ok()?;
    let name: Vec<u8> = facts.f_fstypename.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8(name).ok()
}
