//! Data-path system calls without a C library's wrapper: no cancellation point, no `errno` in thread-local storage.
//!
//! Every call answers as the kernel does: 0 or more is success, below 0 is `-errno`. A wrapper that is also a
//! cancellation point costs tens of nanoseconds per call, which is a tenth of a cached 4 KiB read.

use std::os::fd::RawFd;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("offsets are passed in one register: a 64-bit target is needed");

#[cfg(target_os = "linux")]
#[path = "io/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "io/macos.rs"]
mod system;

/// The system call instruction itself, for the interfaces that only one engine uses.
#[cfg(target_os = "linux")]
pub use system::syscall;

/// The most bytes that one read or write moves on Linux, whatever was asked (`MAX_RW_COUNT` of 4 KiB pages).
pub const MAX_TRANSFER_BYTES: u32 = 0x7fff_f000;

/// Reads up to `len` bytes at `offset` into `buffer`: bytes read, 0 at the end of the file, or `-errno`.
///
/// # Safety
/// `buffer` must be valid for writes of `len` bytes, and nothing else may use these bytes during the call.
#[inline]
pub unsafe fn pread(fd: RawFd, buffer: *mut u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { system::pread(fd, buffer, len, offset) }
}

/// Writes up to `len` bytes from `buffer` at `offset`: bytes written, or `-errno`.
///
/// # Safety
/// `buffer` must be valid for reads of `len` bytes, and nothing may write these bytes during the call.
#[inline]
pub unsafe fn pwrite(fd: RawFd, buffer: *const u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { system::pwrite(fd, buffer, len, offset) }
}

/// Reads up to `len` bytes at the file's position: bytes read, 0 at the end of the file, or `-errno`.
///
/// # Safety
/// As for [`pread`].
#[inline]
pub unsafe fn read(fd: RawFd, buffer: *mut u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { system::read(fd, buffer, len) }
}

/// Writes up to `len` bytes at the file's position: bytes written, or `-errno`.
///
/// # Safety
/// As for [`pwrite`].
#[inline]
pub unsafe fn write(fd: RawFd, buffer: *const u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { system::write(fd, buffer, len) }
}

/// Sets the file's position: the position, or `-errno`.
#[inline]
pub fn seek_to(fd: RawFd, offset: u64) -> i64 {
    system::lseek(fd, offset as i64, libc::SEEK_SET)
}

/// The file's position, or `-errno` (`ESPIPE` for a pipe).
#[inline]
pub fn position(fd: RawFd) -> i64 {
    system::lseek(fd, 0, libc::SEEK_CUR)
}

/// Flushes data and metadata of the file to the device: 0 or `-errno`.
#[inline]
pub fn fsync(fd: RawFd) -> i32 {
    system::fsync(fd)
}

/// Flushes the file's data, and of its metadata only what is needed to find them: 0 or `-errno`.
#[inline]
pub fn fdatasync(fd: RawFd) -> i32 {
    system::fdatasync(fd)
}

/// Tells a block device that `len` bytes at `offset` are no longer needed: 0 or `-errno`; `ENOTTY` on what is no block
/// device. What the page cache holds of them is written first where the kernel would not drop it.
pub fn discard(fd: RawFd, offset: u64, len: u64) -> i32 {
    system::discard(fd, offset, len)
}

/// Resets the zones of a zoned block device that lie in `len` bytes from `offset` on: 0 or `-errno`.
pub fn reset_zones(fd: RawFd, offset: u64, len: u64) -> i32 {
    system::reset_zones(fd, offset, len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// A file without a name.
    fn nameless(tag: &str) -> std::fs::File {
        let path = std::env::temp_dir().join(format!("iostrata-os-io-{}-{tag}", std::process::id()));
        let file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).expect("create");
        std::fs::remove_file(&path).expect("unlink");
        file
    }

    #[test]
    fn what_is_written_at_an_offset_is_read_there_and_short_at_the_end() {
        let file = nameless("rw");
        let fd = file.as_raw_fd();
        let data = *b"0123456789";
        // SAFETY: `data` is a live local of 10 bytes.
        assert_eq!(unsafe { pwrite(fd, data.as_ptr(), data.len(), 5) }, 10);
        let mut back = [0u8; 32];
        // SAFETY: `back` is a live local of 32 bytes.
        assert_eq!(unsafe { pread(fd, back.as_mut_ptr(), back.len(), 8) }, 7);
        assert_eq!(&back[..7], b"3456789");
        // SAFETY: as above.
        assert_eq!(unsafe { pread(fd, back.as_mut_ptr(), back.len(), 15) }, 0);
    }

    #[test]
    fn position_moves_with_read_and_write() {
        let file = nameless("seek");
        let fd = file.as_raw_fd();
        assert_eq!(position(fd), 0);
        // SAFETY: a live literal of 4 bytes.
        assert_eq!(unsafe { write(fd, b"abcd".as_ptr(), 4) }, 4);
        assert_eq!(position(fd), 4);
        assert_eq!(seek_to(fd, 2), 2);
        let mut back = [0u8; 8];
        // SAFETY: `back` is a live local of 8 bytes.
        assert_eq!(unsafe { read(fd, back.as_mut_ptr(), 8) }, 2);
        assert_eq!(&back[..2], b"cd");
    }

    #[test]
    fn errors_are_negative_error_numbers() {
        let mut byte = [0u8];
        // SAFETY: one live byte.
        assert_eq!(unsafe { pread(-1, byte.as_mut_ptr(), 1, 0) }, -libc::EBADF as isize);
        assert_eq!(fsync(-1), -libc::EBADF);
        assert_eq!(fdatasync(-1), -libc::EBADF);
        assert_eq!(seek_to(-1, 0), -i64::from(libc::EBADF));
    }

    #[test]
    fn a_regular_file_can_be_flushed_but_not_discarded() {
        let file = nameless("sync");
        let fd = file.as_raw_fd();
        assert_eq!(fsync(fd), 0);
        assert_eq!(fdatasync(fd), 0);
        assert!(discard(fd, 0, 4096) < 0);
        #[cfg(target_os = "linux")]
        assert_eq!(discard(fd, 0, 4096), -libc::ENOTTY);
    }
}
