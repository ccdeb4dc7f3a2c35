//! Files on macOS.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::ioctl::{Getter, ioctl, opcode};

use super::{Advice, DeviceNumber, DioAlign, Facts, Kind, OpenFlags};
use crate::unsupported;

/// `DKIOCGETBLOCKSIZE` of sys/disk.h: bytes per block.
const DKIOCGETBLOCKSIZE: rustix::ioctl::Opcode = opcode::read::<u32>(b'd', 24);
/// `DKIOCGETBLOCKCOUNT` of sys/disk.h: blocks of the device.
const DKIOCGETBLOCKCOUNT: rustix::ioctl::Opcode = opcode::read::<u64>(b'd', 25);

pub(super) fn facts(fd: BorrowedFd<'_>) -> io::Result<Facts> {
    let mut facts = from_stat(&rustix::fs::fstat(fd)?);
    if matches!(facts.kind, Kind::Block | Kind::Char) {
        // A raw disk (/dev/rdiskN) is a character device here; any other one refuses the ioctl and has no size.
        // SAFETY: the first writes one u32, the second one u64.
        let (block_bytes, blocks) = unsafe {
            (ioctl(fd, Getter::<DKIOCGETBLOCKSIZE, u32>::new()), ioctl(fd, Getter::<DKIOCGETBLOCKCOUNT, u64>::new()))
        };
        if let (Ok(block_bytes), Ok(blocks)) = (block_bytes, blocks) {
            facts.size_bytes = u64::from(block_bytes) * blocks;
            facts.dio = Some(DioAlign { memory_bytes: 1, offset_bytes: block_bytes });
        } else if facts.kind == Kind::Block {
            return Err(block_bytes.err().or(blocks.err()).unwrap_or(Errno::IO).into());
        }
    }
    Ok(facts)
}

/// A device's size is only told by an open descriptor here: without the right to open it for reading it is 0.
pub(super) fn atomic_write_bytes(_fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    None
}

pub(super) fn facts_at(path: &Path) -> io::Result<Facts> {
    let at_path = from_stat(&rustix::fs::stat(path)?);
    if at_path.kind == Kind::Block {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(fd) = rustix::fs::open(path, flags, Mode::empty()) {
            return facts(fd.as_fd());
        }
    }
    Ok(at_path)
}

fn from_stat(stat: &Stat) -> Facts {
    let kind = Kind::from_type(FileType::from_raw_mode(stat.st_mode));
    let number = if matches!(kind, Kind::Block | Kind::Char) { stat.st_rdev } else { stat.st_dev };
    Facts {
        kind,
        size_bytes: if kind == Kind::Regular { stat.st_size as u64 } else { 0 },
        // sys/types.h: eight bits of major above 24 of minor.
        device: DeviceNumber { major: (number as u32) >> 24, minor: number as u32 & 0x00ff_ffff },
        inode: stat.st_ino,
        blocks_bytes: stat.st_blocks as u64 * 512,
        // F_NOCACHE takes any alignment: what is not aligned goes through the cache.
        dio: (kind == Kind::Regular).then_some(DioAlign { memory_bytes: 1, offset_bytes: 1 }),
    }
}

pub(super) fn open(path: &Path, all: OFlags, flags: OpenFlags, mode: Mode) -> io::Result<OwnedFd> {
    let fd = rustix::io::retry_on_intr(|| rustix::fs::open(path, all, mode))?;
    if flags.direct {
        rustix::fs::fcntl_nocache(&fd, true)?;
    }
    Ok(fd)
}

pub(super) fn fallocate(fd: BorrowedFd<'_>, keep_size: bool, offset: u64, len: u64) -> io::Result<()> {
    let end = offset.checked_add(len).filter(|&end| end <= i64::MAX as u64).ok_or(Errno::FBIG)?;
    let stat = rustix::fs::fstat(fd)?;
    let missing = (end as i64) - stat.st_size.max(stat.st_blocks * 512);
    if missing > 0 {
        let mut request = libc::fstore_t {
            fst_flags: libc::F_ALLOCATEALL,
            fst_posmode: libc::F_PEOFPOSMODE,
            fst_offset: 0,
            fst_length: missing,
            fst_bytesalloc: 0,
        };
        // SAFETY: an open descriptor and a valid, exclusively borrowed request.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_PREALLOCATE, &raw mut request) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if !keep_size && end as i64 > stat.st_size {
        super::truncate(fd, end)?;
    }
    Ok(())
}

pub(super) fn posix_fallocate(_fd: BorrowedFd<'_>, _offset: u64, _len: u64) -> io::Result<()> {
    Err(unsupported("macOS has no posix_fallocate; its own preallocation is what fallocate=native uses"))
}

pub(super) fn sync(fd: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fcntl_fullfsync(fd)) {
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(fd))?),
        answer => Ok(answer?),
    }
}

pub(super) fn data_sync(fd: BorrowedFd<'_>) -> io::Result<()> {
    sync(fd)
}

pub(super) fn sync_file_system(_fd: BorrowedFd<'_>) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

pub(super) fn hint_write_life(_fd: BorrowedFd<'_>, _life: u64) -> io::Result<()> {
    Err(unsupported("macOS takes no hint on the life of written data"))
}

pub(super) fn sync_range(_fd: BorrowedFd<'_>, _offset: u64, _len: u64, _flags: [bool; 3]) -> io::Result<()> {
    Err(unsupported("macOS has no sync_file_range"))
}

pub(super) fn write_back(_fd: BorrowedFd<'_>, _offset: u64, _len: u64, _wait: bool) -> io::Result<()> {
    Ok(())
}

pub(super) fn advise(fd: BorrowedFd<'_>, _offset: u64, _len: u64, advice: Advice) -> io::Result<()> {
    let read_ahead = match advice {
        Advice::Normal | Advice::Sequential => 1,
        Advice::Random => 0,
        Advice::DontNeed => return Err(unsupported("macOS has no call to drop a file's pages from the cache")),
        Advice::NoReuse => return Err(unsupported("macOS has no advice for data that is used once")),
    };
    // SAFETY: an open descriptor and a plain integer.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_RDAHEAD, read_ahead) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

pub(super) fn flush_block_cache(_fd: BorrowedFd<'_>) -> io::Result<()> {
    Err(unsupported("macOS has no call to drop a disk's pages from the cache"))
}

pub(super) fn file_system_name(fd: BorrowedFd<'_>) -> io::Result<String> {
    let stat = rustix::fs::fstatfs(fd)?;
    // SAFETY: the kernel ends the name with a zero within its array.
    let name = unsafe { CStr::from_ptr(stat.f_fstypename.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}
