//! macOS: system calls have no stable numbers there, so the C library makes them.

use std::os::fd::RawFd;

/// `-errno` of the call that has just failed.
fn failure() -> i32 {
    -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The kernel's word from a C library's result.
fn word(result: isize) -> isize {
    if result < 0 { failure() as isize } else { result }
}

pub(super) unsafe fn pread(fd: RawFd, buffer: *mut u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    word(unsafe { libc::pread(fd, buffer.cast(), len, offset as libc::off_t) })
}

pub(super) unsafe fn pwrite(fd: RawFd, buffer: *const u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    word(unsafe { libc::pwrite(fd, buffer.cast(), len, offset as libc::off_t) })
}

pub(super) unsafe fn read(fd: RawFd, buffer: *mut u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    word(unsafe { libc::read(fd, buffer.cast(), len) })
}

pub(super) unsafe fn write(fd: RawFd, buffer: *const u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    word(unsafe { libc::write(fd, buffer.cast(), len) })
}

pub(super) fn lseek(fd: RawFd, offset: i64, whence: i32) -> i64 {
    // SAFETY: no pointer is passed.
    word(unsafe { libc::lseek(fd, offset as libc::off_t, whence) } as isize) as i64
}

pub(super) fn fsync(fd: RawFd) -> i32 {
    // SAFETY: no pointer is passed.
    word(unsafe { libc::fsync(fd) } as isize) as i32
}

/// macOS declares no `fdatasync`: the whole `fsync` is what POSIX allows in its place.
pub(super) fn fdatasync(fd: RawFd) -> i32 {
    fsync(fd)
}

/// Discards go through an ioctl of the disk driver that the system keeps for its own file systems.
pub(super) fn discard(_fd: RawFd, _offset: u64, _len: u64) -> i32 {
    -libc::EOPNOTSUPP
}

/// There are no zoned block devices.
pub(super) fn reset_zones(_fd: RawFd, _offset: u64, _len: u64) -> i32 {
    -libc::EOPNOTSUPP
}
