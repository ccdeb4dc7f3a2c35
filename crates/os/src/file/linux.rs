//! Files on Linux.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, Statx, StatxFlags, statx};
use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, ioctl, opcode};

use super::{Advice, DeviceNumber, DioAlign, Facts, Kind, OpenFlags};
use crate::block::Sysfs;

/// `BLKGETSIZE64` of linux/fs.h.
const BLKGETSIZE64: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114);
/// `BLKFLSBUF` of linux/fs.h.
const BLKFLSBUF: rustix::ioctl::Opcode = opcode::none(0x12, 97);

pub(super) fn facts(fd: BorrowedFd<'_>) -> io::Result<Facts> {
    let mut facts = from_statx(&statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN)?);
    if facts.kind == Kind::Block {
        // SAFETY: BLKGETSIZE64 writes one u64.
        facts.size_bytes = unsafe { ioctl(fd, Getter::<BLKGETSIZE64, u64>::new())? };
        if facts.dio.is_none() {
            facts.dio = rustix::fs::ioctl_blksszget(fd).ok().map(sector_align);
        }
    }
    Ok(facts)
}

pub(super) fn facts_at(path: &Path) -> io::Result<Facts> {
    let mut facts = from_statx(&statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN)?);
    if facts.kind == Kind::Block {
        // Opening a device can have effects (a tape winds, a drive loads): sysfs tells the same.
        let sysfs = Sysfs::default();
        facts.size_bytes = sysfs.size_bytes(facts.device).unwrap_or(0);
        facts.dio = facts.dio.or_else(|| sysfs.logical_block_bytes(facts.device).map(sector_align));
    }
    Ok(facts)
}

/// `STATX_WRITE_ATOMIC` of linux/stat.h (6.11).
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x1_0000);

pub(super) fn atomic_write_bytes(fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    let stat = statx(fd, c"", AtFlags::EMPTY_PATH, WRITE_ATOMIC).ok()?;
    let told = stat.stx_mask & WRITE_ATOMIC.bits() != 0 && stat.stx_atomic_write_unit_max > 0;
    told.then_some((stat.stx_atomic_write_unit_min, stat.stx_atomic_write_unit_max))
}

/// Before the kernel told it by statx (6.1), direct I/O on a block device needed everything aligned to its sectors.
fn sector_align(sector_bytes: u32) -> DioAlign {
    DioAlign { memory_bytes: sector_bytes, offset_bytes: sector_bytes }
}

fn from_statx(stat: &Statx) -> Facts {
    let kind = Kind::from_type(FileType::from_raw_mode(stat.stx_mode.into()));
    let (major, minor) = match kind {
        Kind::Block | Kind::Char => (stat.stx_rdev_major, stat.stx_rdev_minor),
        _ => (stat.stx_dev_major, stat.stx_dev_minor),
    };
    let told = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    Facts {
        kind,
        size_bytes: if kind == Kind::Regular { stat.stx_size } else { 0 },
        device: DeviceNumber { major, minor },
        inode: stat.stx_ino,
        // statx(2): in units of 512 bytes.
        blocks_bytes: stat.stx_blocks * 512,
        dio: told.then_some(DioAlign { memory_bytes: stat.stx_dio_mem_align, offset_bytes: stat.stx_dio_offset_align }),
    }
}

pub(super) fn open(path: &Path, mut all: OFlags, flags: OpenFlags, mode: Mode) -> io::Result<OwnedFd> {
    all.set(OFlags::DIRECT, flags.direct);
    all.set(OFlags::NOATIME, flags.no_atime);
    Ok(rustix::io::retry_on_intr(|| rustix::fs::open(path, all, mode))?)
}

pub(super) fn fallocate(fd: BorrowedFd<'_>, keep_size: bool, offset: u64, len: u64) -> io::Result<()> {
    let mode = if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
    Ok(rustix::fs::fallocate(fd, mode, offset, len)?)
}

pub(super) fn posix_fallocate(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    let signed = |value: u64| i64::try_from(value).map_err(|_| Errno::FBIG);
    let (offset, len) = (signed(offset)?, signed(len)?);
    // SAFETY: an open descriptor and plain integers.
    match unsafe { libc::posix_fallocate(fd.as_raw_fd(), offset, len) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

pub(super) fn sync(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(fd))?)
}

pub(super) fn data_sync(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::fdatasync(fd))?)
}

pub(super) fn advise(fd: BorrowedFd<'_>, offset: u64, len: u64, advice: Advice) -> io::Result<()> {
    let advice = match advice {
        Advice::Normal => rustix::fs::Advice::Normal,
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Random => rustix::fs::Advice::Random,
        Advice::DontNeed => rustix::fs::Advice::DontNeed,
        Advice::NoReuse => rustix::fs::Advice::NoReuse,
    };
    Ok(rustix::fs::fadvise(fd, offset, NonZeroU64::new(len), advice)?)
}

pub(super) fn sync_file_system(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fd)?)
}

pub(super) fn hint_write_life(fd: BorrowedFd<'_>, life: u64) -> io::Result<()> {
    /// `F_SET_RW_HINT` of linux/fcntl.h.
    const F_SET_RW_HINT: libc::c_int = 1024 + 12;
    // SAFETY: an open descriptor; the call reads one u64, which outlives it.
    match unsafe { libc::fcntl(fd.as_raw_fd(), F_SET_RW_HINT, &raw const life) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn write_back(fd: BorrowedFd<'_>, offset: u64, len: u64, wait: bool) -> io::Result<()> {
    sync_range(fd, offset, len, [wait, true, wait])
}

pub(super) fn sync_range(fd: BorrowedFd<'_>, offset: u64, len: u64, before_write_after: [bool; 3]) -> io::Result<()> {
    let flags = [libc::SYNC_FILE_RANGE_WAIT_BEFORE, libc::SYNC_FILE_RANGE_WRITE, libc::SYNC_FILE_RANGE_WAIT_AFTER];
    let flags = flags.into_iter().zip(before_write_after).filter(|(_, on)| *on).fold(0, |all, (flag, _)| all | flag);
    // SAFETY: an open descriptor and plain integers.
    match unsafe { libc::sync_file_range(fd.as_raw_fd(), offset as i64, len as i64, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn flush_block_cache(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(fd, NoArg::<BLKFLSBUF>::new())? };
    Ok(())
}

pub(super) fn file_system_name(fd: BorrowedFd<'_>) -> io::Result<String> {
    let magic = rustix::fs::fstatfs(fd)?.f_type as u32;
    let known = FILE_SYSTEMS.iter().find(|(number, _)| *number == magic);
    Ok(known.map_or_else(|| format!("{magic:#x}"), |(_, name)| (*name).to_owned()))
}

/// Magic numbers from statfs(2) and linux/magic.h, and from each file system's own header where they lack it.
const FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_ef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x9584_58f6, "hugetlbfs"),
    (0x794c_7630, "overlay"),
    (0x0000_6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x6573_5546, "fuse"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
    (0x1983_0326, "beegfs"),
    (0x2003_013d, "orangefs"),
    (0x0000_4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x7366_746e, "ntfs3"),
    (0x3153_464a, "jfs"),
    (0x5265_4973, "reiserfs"),
    (0x0000_3434, "nilfs2"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0x0000_9660, "iso9660"),
    (0x1501_3346, "udf"),
    (0x0000_f15f, "ecryptfs"),
    (0x5a4f_4653, "zonefs"),
    (0x0000_1373, "devtmpfs"),
    (0x0000_9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6264_6576, "bdev"),
];
