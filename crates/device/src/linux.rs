//! What only Linux does this way.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, OFlags, StatxFlags};

use crate::open::DirectAlignment;

/// The flag of `open(2)` that passes the page cache.
pub(crate) const DIRECT_FLAG: OFlags = OFlags::DIRECT;

/// What is left to do for direct I/O after opening: nothing here.
pub(crate) fn after_open_direct(_fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
    Ok(())
}

/// Bytes on a block device.
pub(crate) fn block_size_bytes(device: &File) -> io::Result<u64> {
    let mut device = device;
    let size = device.seek(SeekFrom::End(0))?;
    device.rewind()?;
    Ok(size)
}

/// `STATX_DIOALIGN` (Linux 6.1), which rustix has no name for.
const STATX_DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// What direct I/O on this file asks; `None` if the kernel does not tell or direct I/O does not work there.
pub(crate) fn direct_alignment(file: &File) -> Option<DirectAlignment> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_DIOALIGN).ok()?;
    let told = StatxFlags::from_bits_retain(facts.stx_mask).contains(STATX_DIOALIGN);
    let (memory_bytes, offset_bytes) = (facts.stx_dio_mem_align, facts.stx_dio_offset_align);
    (told && offset_bytes != 0).then_some(DirectAlignment { memory_bytes, offset_bytes })
}

/// The name of the file system a file lies in, as the mount table has it.
pub(crate) fn file_system_name(file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let number = crate::node::DeviceNumber::from_raw(file.metadata().ok()?.dev()).to_string();
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = table.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    line.split(" - ").nth(1)?.split(' ').next().map(str::to_string)
}
