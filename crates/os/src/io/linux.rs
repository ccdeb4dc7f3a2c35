//! Linux: the system call instruction.

use std::os::fd::RawFd;

/// `_IO(0x12, 119)` of `linux/fs.h`; the argument is `u64[2]`: offset and length in bytes.
const BLKDISCARD: usize = 0x1277;
/// `_IOW(0x12, 131, struct blk_zone_range)` of `linux/blkzoned.h`; the argument is `u64[2]`: sectors of 512 bytes.
const BLKRESETZONE: usize = 0x4010_1283;

/// Makes system call `number` with six arguments and answers the kernel's word: below 0 is `-errno`.
///
/// # Safety
/// Arguments that are pointers must be valid for what the kernel does with them, also after the call where the
/// interface keeps them.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn syscall(number: libc::c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 Linux calling convention; the kernel clobbers rcx and r11 and touches no stack of ours. The
    // caller vouches for the arguments.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes system call `number` with six arguments and answers the kernel's word: below 0 is `-errno`.
///
/// # Safety
/// Arguments that are pointers must be valid for what the kernel does with them, also after the call where the
/// interface keeps them.
#[cfg(target_arch = "aarch64")]
#[inline]
pub unsafe fn syscall(number: libc::c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the AArch64 Linux calling convention; only x0 changes. The caller vouches for the arguments.
    unsafe {
        std::arch::asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") args[0] => result,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            options(nostack),
        );
    }
    result
}

/// Makes system call `number` with six arguments and answers the kernel's word: below 0 is `-errno`.
///
/// # Safety
/// Arguments that are pointers must be valid for what the kernel does with them, also after the call where the
/// interface keeps them.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub unsafe fn syscall(number: libc::c_long, args: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the arguments.
    let result = unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) };
    if result == -1 {
        -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize)
    } else {
        result as isize
    }
}

/// A descriptor as the register holds it: sign-extended, so that -1 stays -1.
const fn register(fd: RawFd) -> usize {
    fd as isize as usize
}

#[inline]
pub(super) unsafe fn pread(fd: RawFd, buffer: *mut u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { syscall(libc::SYS_pread64, [register(fd), buffer as usize, len, offset as usize, 0, 0]) }
}

#[inline]
pub(super) unsafe fn pwrite(fd: RawFd, buffer: *const u8, len: usize, offset: u64) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { syscall(libc::SYS_pwrite64, [register(fd), buffer as usize, len, offset as usize, 0, 0]) }
}

#[inline]
pub(super) unsafe fn read(fd: RawFd, buffer: *mut u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { syscall(libc::SYS_read, [register(fd), buffer as usize, len, 0, 0, 0]) }
}

#[inline]
pub(super) unsafe fn write(fd: RawFd, buffer: *const u8, len: usize) -> isize {
    // SAFETY: the caller vouches for the buffer.
    unsafe { syscall(libc::SYS_write, [register(fd), buffer as usize, len, 0, 0, 0]) }
}

#[inline]
pub(super) fn lseek(fd: RawFd, offset: i64, whence: i32) -> i64 {
    // SAFETY: no pointer is passed.
    unsafe { syscall(libc::SYS_lseek, [register(fd), offset as usize, whence as usize, 0, 0, 0]) as i64 }
}

#[inline]
pub(super) fn fsync(fd: RawFd) -> i32 {
    // SAFETY: no pointer is passed.
    unsafe { syscall(libc::SYS_fsync, [register(fd), 0, 0, 0, 0, 0]) as i32 }
}

#[inline]
pub(super) fn fdatasync(fd: RawFd) -> i32 {
    // SAFETY: no pointer is passed.
    unsafe { syscall(libc::SYS_fdatasync, [register(fd), 0, 0, 0, 0, 0]) as i32 }
}

pub(super) fn discard(fd: RawFd, offset: u64, len: u64) -> i32 {
    let range = [offset, len];
    let discard = || {
        // SAFETY: `range` is the two words that BLKDISCARD reads, and lives through the call.
        unsafe { syscall(libc::SYS_ioctl, [register(fd), BLKDISCARD, range.as_ptr() as usize, 0, 0, 0]) as i32 }
    };
    let discarded = discard();
    if discarded != -libc::EBUSY {
        return discarded;
    }
    // Somebody has the device to himself (we do, by another descriptor, so that nobody else takes it), and then the
    // kernel drops no cached blocks that are not written yet.
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let arguments = [register(fd), offset as usize, len as usize, all as usize, 0, 0];
    // SAFETY: no pointer is passed.
    match unsafe { syscall(libc::SYS_sync_file_range, arguments) as i32 } {
        0 => discard(),
        error => error,
    }
}

pub(super) fn reset_zones(fd: RawFd, offset: u64, len: u64) -> i32 {
    let range = [offset / 512, len / 512];
    // SAFETY: `range` is the two words that BLKRESETZONE reads, and lives through the call.
    unsafe { syscall(libc::SYS_ioctl, [register(fd), BLKRESETZONE, range.as_ptr() as usize, 0, 0, 0]) as i32 }
}
