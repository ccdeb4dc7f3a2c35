//! Operations carried out in the calling thread, shared by the engines that have no background form of them.

use std::os::fd::RawFd;

use iostrata_os::io;

use crate::api::{FileId, FileTable, Io, Op, TrimMeans};
use crate::arena::SlotArena;

/// The descriptor of a file; -1 (the kernel answers `EBADF`) where there is none.
#[inline]
pub(crate) fn descriptor(files: &FileTable, file: FileId) -> RawFd {
    files.descriptor(file)
}

/// The result of a request of `len` bytes that moved them all, within what a result can hold.
#[inline]
pub(crate) fn whole(len: u32) -> i32 {
    len.min(io::MAX_TRANSFER_BYTES) as i32
}

/// Where a request's bytes are.
///
/// # Panics
/// If they do not lie within the slot: the kernel would write over the neighbours.
#[inline]
pub(crate) fn buffer(slots: &SlotArena, io: &Io) -> *mut u8 {
    let end = io.slot_offset as usize + io.len as usize;
    assert!(end <= slots.slot_bytes(), "request of {end} bytes in a slot of {}", slots.slot_bytes());
    // SAFETY: the offset lies within the slot, just checked.
    unsafe { slots.ptr(io.slot).add(io.slot_offset as usize) }
}

/// A positioned read or write.
#[inline]
pub(crate) fn positioned(fd: RawFd, io: &Io, slots: &SlotArena, write: bool) -> i32 {
    let (buffer, len) = (buffer(slots, io), io.len as usize);
    slots.lend(io.slot);
    // SAFETY: the bytes lie within the slot, which is lent to this call and to nobody else.
    let moved =
        unsafe { if write { io::pwrite(fd, buffer, len, io.offset) } else { io::pread(fd, buffer, len, io.offset) } };
    slots.give_back(io.slot);
    moved as i32
}

/// Any request, start to end: bytes moved (the sync family: 0) or `-errno`.
#[inline]
pub(crate) fn call(files: &FileTable, io: &Io, slots: &SlotArena) -> i32 {
    let fd = descriptor(files, io.file);
    match io.op {
        Op::Read => positioned(fd, io, slots, false),
        Op::Write => positioned(fd, io, slots, true),
        Op::Trim | Op::Sync | Op::DataSync => without_data(fd, io, files.trim),
    }
}

/// The operations that move no bytes.
///
/// A trim goes to the block layer (`BLKDISCARD`) as fio's does, so a regular file answers `ENOTTY`.
pub(crate) fn without_data(fd: RawFd, io: &Io, trim: TrimMeans) -> i32 {
    match io.op {
        Op::Sync => io::fsync(fd),
        Op::DataSync => io::fdatasync(fd),
        Op::Trim => {
            let (offset, len) = (io.offset, u64::from(io.len));
            let result = match trim {
                TrimMeans::Discard => discard(fd, offset, len),
                TrimMeans::ResetZones => io::reset_zones(fd, offset, len),
                TrimMeans::Nothing => 0,
            };
            if result == 0 { whole(io.len) } else { result }
        }
        Op::Read | Op::Write => -libc::EINVAL,
    }
}

fn discard(fd: RawFd, offset: u64, len: u64) -> i32 {
    match io::discard(fd, offset, len) {
        // A device that is claimed (the guard does so) keeps its dirty pages: they go to the medium first.
        error if error == -libc::EBUSY && io::fdatasync(fd) == 0 => io::discard(fd, offset, len),
        result => result,
    }
}
