//! Huge pages on macOS: there are none that a program could ask for.

use std::io;
use std::os::fd::OwnedFd;

use rustix::mm::{MapFlags, ProtFlags};

use super::HugePages;

pub(super) fn huge_pages(_wanted: Option<u64>) -> Option<HugePages> {
    None
}

pub(super) fn huge_mapping(_wanted: Option<u64>) -> io::Result<(MapFlags, u64)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn huge_segment(_wanted: Option<u64>) -> io::Result<(libc::c_int, u64)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn huge_page_of_file(_fd: &OwnedFd) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Puts new pages in the place of those of a private mapping.
///
/// # Safety
/// They are whole pages of such a mapping of the caller's.
pub(super) unsafe fn renew(start: *mut std::ffi::c_void, len: usize) -> io::Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: the caller vouches for the pages, which are replaced by such as they were.
    unsafe { rustix::mm::mmap_anonymous(start, len, ProtFlags::READ | ProtFlags::WRITE, flags)? };
    Ok(())
}
