//! Huge pages on Linux.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::mm::MapFlags;

use super::HugePages;

/// `HUGETLBFS_MAGIC` of linux/magic.h.
const HUGETLBFS: i64 = 0x9584_58f6;
/// Where the size of a page stands in the flags of `mmap` and `shmget`: its logarithm.
const SIZE_SHIFT: u32 = 26;

/// The system's own size, bytes.
fn default_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Hugepagesize:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

fn folder(page_bytes: u64) -> PathBuf {
    PathBuf::from(format!("/sys/kernel/mm/hugepages/hugepages-{}kB", page_bytes >> 10))
}

/// The size of page that a request for `wanted` uses, and whether it must be asked for by name.
fn page_size(wanted: Option<u64>) -> io::Result<(u64, bool)> {
    let default = default_bytes().ok_or(io::ErrorKind::Unsupported)?;
    let other = wanted.filter(|&bytes| bytes != default && folder(bytes).is_dir());
    Ok((other.unwrap_or(default), other.is_some()))
}

pub(super) fn huge_pages(wanted: Option<u64>) -> Option<HugePages> {
    let (page_bytes, named) = page_size(wanted).ok()?;
    let number = |name| std::fs::read_to_string(folder(page_bytes).join(name)).ok()?.trim().parse().ok();
    Some(HugePages { page_bytes, total: number("nr_hugepages")?, free: number("free_hugepages")?, default: !named })
}

/// Flags for a size of page, and what lengths are multiples of: a size that the system does not have counts as well.
fn huge(wanted: Option<u64>) -> io::Result<(u32, u64)> {
    let (page_bytes, named) = page_size(wanted)?;
    let size = if named { page_bytes.trailing_zeros() << SIZE_SHIFT } else { 0 };
    Ok((size, wanted.unwrap_or(0).max(page_bytes)))
}

pub(super) fn huge_mapping(wanted: Option<u64>) -> io::Result<(MapFlags, u64)> {
    huge(wanted).map(|(size, unit)| (MapFlags::HUGETLB | MapFlags::from_bits_retain(size), unit))
}

pub(super) fn huge_segment(wanted: Option<u64>) -> io::Result<(libc::c_int, u64)> {
    huge(wanted).map(|(size, unit)| (libc::SHM_HUGETLB | size as libc::c_int, unit))
}

/// The size of the huge pages that a file is made of, if it is.
pub(super) fn huge_page_of_file(fd: &OwnedFd) -> io::Result<Option<u64>> {
    let facts = rustix::fs::fstatfs(fd)?;
    Ok((facts.f_type as i64 == HUGETLBFS).then_some(facts.f_bsize as u64))
}

/// Takes pages of a private mapping away; zeroed ones come when they are touched.
///
/// # Safety
/// They are whole pages of such a mapping of the caller's.
pub(super) unsafe fn renew(start: *mut std::ffi::c_void, len: usize) -> io::Result<()> {
    // SAFETY: the caller vouches for the pages.
    unsafe { rustix::mm::madvise(start, len, rustix::mm::Advice::LinuxDontNeed) }.map_err(io::Error::from)
}
