//! Files and devices: what they are, and the calls on them that no engine makes in its hot path.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// What a path or descriptor leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// Anything else: a symbolic link that was not followed, a kind this program does not know.
    Other,
}

impl Kind {
    fn from_type(file_type: FileType) -> Kind {
        match file_type {
            FileType::RegularFile => Kind::Regular,
            FileType::BlockDevice => Kind::Block,
            FileType::CharacterDevice => Kind::Char,
            FileType::Directory => Kind::Directory,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            _ => Kind::Other,
        }
    }
}

/// A device's number, written `8:16`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver's part.
    pub major: u32,
    /// The device's part.
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What direct I/O on a file must be aligned to. Both are 0 where the system says that it refuses direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DioAlign {
    /// Alignment of the memory address, in bytes.
    pub memory_bytes: u32,
    /// Alignment of the offset in the file and of the length, in bytes.
    pub offset_bytes: u32,
}

/// What the system knows about a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// Length of a regular file, capacity of a block device; 0 where neither makes sense.
    pub size_bytes: u64,
    /// The device itself for a block or character device, else the device that the file system is on. Major 0 is a
    /// file system without a device of its own.
    pub device: DeviceNumber,
    /// Number of the file (of the node, for a device) in its file system.
    pub inode: u64,
    /// Space allocated to it.
    pub blocks_bytes: u64,
    /// Alignment for direct I/O; `None` where the system does not say.
    pub dio: Option<DioAlign>,
}

/// The facts about an open file or device.
///
/// # Errors
/// As `statx`, or for a block device the ioctl that tells its size.
pub fn facts(fd: impl AsFd) -> io::Result<Facts> {
    system::facts(fd.as_fd())
}

/// The facts about a path, following symbolic links. A device is not opened.
///
/// # Errors
/// As `statx`: `ENOENT`, `EACCES`, …
pub fn facts_at(path: &Path) -> io::Result<Facts> {
    system::facts_at(path)
}

/// How to open a file. At least one of `read` and `write` must be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// To read.
    pub read: bool,
    /// To write.
    pub write: bool,
    /// Create it if it does not exist.
    pub create: bool,
    /// With `create`: it must not exist. On a block device of Linux, without `create`: it must not be in use.
    pub exclusive: bool,
    /// Cut it to length 0.
    pub truncate: bool,
    /// Every write goes to the end.
    pub append: bool,
    /// Past the page cache: `O_DIRECT`; on macOS `F_NOCACHE` after opening, which also asks nothing of alignment.
    pub direct: bool,
    /// Every write returns when data and metadata are on the medium: `O_SYNC`.
    pub sync: bool,
    /// Every write returns when data, and the metadata needed to read it, are on the medium: `O_DSYNC`.
    pub dsync: bool,
    /// Reading does not change the access time: `O_NOATIME`. Refused with `EPERM` on another user's file; without
    /// effect on macOS.
    pub no_atime: bool,
}

/// The smallest and the largest write that is done whole or not at all, bytes; `None` where there are none or the
/// system does not tell.
pub fn atomic_write_bytes(fd: impl AsFd) -> Option<(u32, u32)> {
    system::atomic_write_bytes(fd.as_fd())
}

/// Opens `path`; the descriptor is not passed on to programs that this one starts. `mode` is for a new file.
///
/// # Errors
/// As `open`; `EINVAL` when neither `read` nor `write` is set, or when direct I/O is not to be had.
pub fn open(path: &Path, flags: OpenFlags, mode: u32) -> io::Result<OwnedFd> {
    let access = match (flags.read, flags.write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (true, false) => OFlags::RDONLY,
        (false, false) => return Err(Errno::INVAL.into()),
    };
    let mut all = access | OFlags::CLOEXEC;
    all.set(OFlags::CREATE, flags.create);
    all.set(OFlags::EXCL, flags.exclusive);
    all.set(OFlags::TRUNC, flags.truncate);
    all.set(OFlags::APPEND, flags.append);
    // The C library's constants: rustix's Linux backend defines DSYNC as O_SYNC, which syncs more than was asked.
    all.set(OFlags::from_bits_retain(libc::O_SYNC as _), flags.sync);
    if flags.dsync {
        all |= OFlags::from_bits_retain(libc::O_DSYNC as _);
    }
    system::open(path, all, flags, Mode::from_raw_mode(mode as _))
}

/// Allocates space for `len_bytes` from `offset_bytes` without writing it; the file grows to hold it unless
/// `keep_size`. On macOS space is always added at the end of what is allocated already.
///
/// # Errors
/// `EOPNOTSUPP` where the file system cannot, `ENOSPC` when full.
pub fn fallocate(fd: impl AsFd, keep_size: bool, offset_bytes: u64, len_bytes: u64) -> io::Result<()> {
    system::fallocate(fd.as_fd(), keep_size, offset_bytes, len_bytes)
}

/// Allocates space as the C library's `posix_fallocate` does, which writes to every block where the file system cannot
/// allocate.
///
/// # Errors
/// As `posix_fallocate`; `Unsupported` on macOS.
pub fn posix_fallocate(fd: impl AsFd, offset_bytes: u64, len_bytes: u64) -> io::Result<()> {
    system::posix_fallocate(fd.as_fd(), offset_bytes, len_bytes)
}

/// Sets the file's length.
///
/// # Errors
/// As `ftruncate`.
pub fn truncate(fd: impl AsFd, len_bytes: u64) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::ftruncate(&fd, len_bytes))?)
}

/// Waits until the file's data and metadata are on the medium.
///
/// macOS: `F_FULLFSYNC`, because `fsync` there stops at the drive's volatile cache; plain `fsync` where the file
/// system does not know it.
///
/// # Errors
/// As `fsync`: `EIO` when earlier writes could not be carried out.
pub fn sync(fd: impl AsFd) -> io::Result<()> {
    system::sync(fd.as_fd())
}

/// Has the pages of a span written to the medium: begins it, or with `wait` also waits for its end. It is no [`sync`]:
/// metadata stays where it is, and nothing is flushed out of the device. macOS has no such call and does nothing.
///
/// # Errors
/// As `sync_file_range`: `EIO`, `ENOSPC` when the pages could not be written.
pub fn write_back(fd: impl AsFd, offset: u64, len: u64, wait: bool) -> io::Result<()> {
    system::write_back(fd.as_fd(), offset, len, wait)
}

/// `sync_file_range` of a span: waits for writes under way, begins to write, waits for the end, as each of the three
/// says.
///
/// # Errors
/// As `sync_file_range`; `Unsupported` on macOS.
pub fn sync_range(fd: impl AsFd, offset: u64, len: u64, before_write_after: [bool; 3]) -> io::Result<()> {
    system::sync_range(fd.as_fd(), offset, len, before_write_after)
}

/// `syncfs`: the whole file system that the file is on. macOS has no such call: all file systems there are told to
/// write.
///
/// # Errors
/// As `syncfs`.
pub fn sync_file_system(fd: impl AsFd) -> io::Result<()> {
    system::sync_file_system(fd.as_fd())
}

/// Tells how long data written to the file will live: a number of linux/fcntl.h, `RWH_WRITE_LIFE_NONE` being 1.
///
/// # Errors
/// `EINVAL` where the file system does not know it; `Unsupported` on macOS.
pub fn hint_write_life(fd: impl AsFd, life: u64) -> io::Result<()> {
    system::hint_write_life(fd.as_fd(), life)
}

/// As [`sync`], without the metadata that is not needed to read the data back. macOS: the same as [`sync`].
///
/// # Errors
/// As `fdatasync`.
pub fn data_sync(fd: impl AsFd) -> io::Result<()> {
    system::data_sync(fd.as_fd())
}

/// What is going to be done with a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing special.
    Normal,
    /// Read from front to back: read far ahead.
    Sequential,
    /// Read here and there: do not read ahead.
    Random,
    /// Not needed: clean pages of it leave the page cache.
    DontNeed,
    /// Used once only.
    NoReuse,
}

/// Advises the kernel about `len_bytes` (0: up to the end) from `offset_bytes`.
///
/// macOS: `Normal`, `Sequential` and `Random` switch read-ahead of the whole file; for `DontNeed` and `NoReuse` there
/// is no call.
///
/// # Errors
/// As `posix_fadvise`: `ESPIPE` on a pipe; `Unsupported` on macOS.
pub fn advise(fd: impl AsFd, offset_bytes: u64, len_bytes: u64, advice: Advice) -> io::Result<()> {
    system::advise(fd.as_fd(), offset_bytes, len_bytes, advice)
}

/// Writes a block device's dirty pages back and drops its pages from the cache.
///
/// # Errors
/// As the ioctl `BLKFLSBUF`: `EACCES` without the privilege, `ENOTTY` on what is no block device; `Unsupported` on
/// macOS.
pub fn flush_block_cache(fd: impl AsFd) -> io::Result<()> {
    system::flush_block_cache(fd.as_fd())
}

/// Writes all of `bytes` at `offset_bytes`.
///
/// # Errors
/// As `pwrite`; what was written before the error stays written.
pub fn write_all_at(fd: impl AsFd, mut bytes: &[u8], mut offset_bytes: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(&fd, bytes, offset_bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset_bytes += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads from `offset_bytes` until `buffer` is full or the file ends, and returns the bytes read.
///
/// # Errors
/// As `pread`.
pub fn read_at(fd: impl AsFd, buffer: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::pread(&fd, &mut buffer[filled..], offset_bytes + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// Removes a name of a file.
///
/// # Errors
/// As `unlink`.
pub fn unlink(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::unlink(path)?)
}

/// The name of the file system that the file is on (`ext4`, `xfs`, `tmpfs`, …). One that has no name here is given by
/// its magic number in hexadecimal. Linux: ext2 and ext3 share ext4's number and are named so.
///
/// # Errors
/// As `fstatfs`.
pub fn file_system_name(fd: impl AsFd) -> io::Result<String> {
    system::file_system_name(fd.as_fd())
}

/// Bytes that an unprivileged user can still write to the file system that the file is on.
///
/// # Errors
/// As `fstatvfs`.
pub fn free_bytes(fd: impl AsFd) -> io::Result<u64> {
    let stat = rustix::fs::fstatvfs(fd)?;
    Ok(stat.f_bavail * stat.f_frsize)
}

/// Bytes of a block of the file system that the file is on.
///
/// # Errors
/// As `fstatvfs`.
pub fn block_bytes(fd: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstatvfs(fd)?.f_bsize)
}

/// As [`free_bytes`], of the file system at a path; `None` where it does not say how large it is (ramfs).
///
/// # Errors
/// As `statvfs`.
pub fn free_bytes_at(path: &Path) -> io::Result<Option<u64>> {
    let stat = rustix::fs::statvfs(path)?;
    Ok((stat.f_blocks > 0).then_some(stat.f_bavail * stat.f_frsize))
}

#[cfg(test)]
mod tests;
