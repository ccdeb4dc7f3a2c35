//! The ring's entries: what a request looks like to the kernel.

use std::cell::UnsafeCell;

use io_uring::{opcode, squeue, types};
use iostrata_spec::EngineOptions;

use crate::api::{FileTable, Io, Op};
use crate::blocking::descriptor;
use crate::transfer_flags::TransferFlags;

/// `struct io_uring_sqe` of `linux/io_uring.h`, by what its fields mean to reads and writes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(super) struct Sqe {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    len: u32,
    transfer_flags: u32,
    user_data: u64,
    buffer_index: u16,
    personality: u16,
    splice_fd: i32,
    others: [u64; 2],
}

const _: () = assert!(
    size_of::<Sqe>() == size_of::<squeue::Entry>() && align_of::<Sqe>() >= align_of::<squeue::Entry>(),
    "an entry is 64 bytes, aligned for its words"
);

impl Sqe {
    fn of(entry: &squeue::Entry) -> Sqe {
        // SAFETY: both are the kernel's structure, of the same size and plain data.
        unsafe { std::ptr::from_ref(entry).cast::<Sqe>().read_unaligned() }
    }

    /// The same as the ring's own type.
    #[inline]
    pub(super) fn as_entry(&self) -> &squeue::Entry {
        // SAFETY: as above; the alignment is at least that of the ring's type.
        unsafe { &*std::ptr::from_ref(self).cast::<squeue::Entry>() }
    }
}

/// Makes entries.
pub(super) struct Entries {
    pub(super) files: FileTable,
    pub(super) registered_files: bool,
    pub(super) transfer: Transfer,
    /// What all reads have in common, and all writes.
    read: Sqe,
    write: Sqe,
    /// Every so many-th request goes to a kernel worker; 0 for none.
    force_async: u32,
    /// Requests since the last of those.
    since_forced: u32,
}

/// How reads and writes name their memory.
pub(super) enum Transfer {
    /// By address.
    Plain,
    /// By address in a vector of one, kept per slot until the request ends.
    Vectored(Box<[UnsafeCell<libc::iovec>]>),
    /// By registered buffer; each holds so many slots.
    Fixed { slots_per_buffer: u32 },
}

impl Entries {
    pub(super) fn new(
        options: &EngineOptions,
        files: FileTable,
        registered_files: bool,
        transfer: Transfer,
    ) -> Entries {
        let flags = TransferFlags::of(options);
        let (fd, nowhere) = (types::Fd(-1), std::ptr::null_mut());
        let (read, write) = match &transfer {
            Transfer::Plain => (opcode::Read::new(fd, nowhere, 0).build(), opcode::Write::new(fd, nowhere, 0).build()),
            Transfer::Fixed { .. } => {
                (opcode::ReadFixed::new(fd, nowhere, 0, 0).build(), opcode::WriteFixed::new(fd, nowhere, 0, 0).build())
            }
            Transfer::Vectored(_) => (
                opcode::Readv::new(fd, std::ptr::null(), 1).build(),
                opcode::Writev::new(fd, std::ptr::null(), 1).build(),
            ),
        };
        let common = |entry: squeue::Entry, transfer_flags| Sqe { transfer_flags, ..Sqe::of(&entry) };
        Entries {
            read: common(read.flags(file_flags(registered_files)), flags.each(false)),
            write: common(write.flags(file_flags(registered_files)), flags.each(true)),
            files,
            registered_files,
            transfer,
            force_async: options.force_async,
            since_forced: 0,
        }
    }

    /// The entry for a request whose bytes are at `address`.
    #[inline(always)]
    pub(super) fn entry(&mut self, io: &Io, address: *mut u8) -> Sqe {
        let fd = if self.registered_files { io.file as i32 } else { descriptor(&self.files, io.file) };
        let mut sqe = match io.op {
            Op::Read => Sqe { fd, ..self.read },
            Op::Write => Sqe { fd, ..self.write },
            Op::Sync | Op::Trim | Op::DataSync => self.sync(io.op, fd),
        };
        if matches!(io.op, Op::Read | Op::Write) {
            (sqe.offset, sqe.address, sqe.len) = (io.offset, address as u64, io.len);
            sqe.priority = io.priority;
            match &self.transfer {
                Transfer::Plain => {}
                // Most often one buffer holds all slots.
                Transfer::Fixed { slots_per_buffer } if io.slot < *slots_per_buffer => {}
                Transfer::Fixed { slots_per_buffer } => sqe.buffer_index = (io.slot / slots_per_buffer) as u16,
                Transfer::Vectored(vectors) => {
                    let vector = vectors[io.slot as usize].get();
                    // SAFETY: the slot is not in flight, so the kernel does not look at its vector.
                    unsafe { vector.write(libc::iovec { iov_base: address.cast(), iov_len: io.len as usize }) };
                    (sqe.address, sqe.len) = (vector as u64, 1);
                }
            }
        }
        if self.force_async > 0 && self.is_forced_async() {
            sqe.flags |= squeue::Flags::ASYNC.bits();
        }
        sqe.user_data = u64::from(io.slot);
        sqe
    }

    #[cold]
    fn sync(&self, op: Op, fd: i32) -> Sqe {
        let entry = opcode::Fsync::new(types::Fd(fd));
        let entry = if op == Op::DataSync { entry.flags(types::FsyncFlags::DATASYNC) } else { entry };
        Sqe::of(&entry.build().flags(file_flags(self.registered_files)))
    }

    /// `force_async`: whether it is the turn of a kernel worker.
    fn is_forced_async(&mut self) -> bool {
        self.since_forced += 1;
        let due = self.since_forced == self.force_async;
        if due {
            self.since_forced = 0;
        }
        due
    }
}

fn file_flags(registered: bool) -> squeue::Flags {
    if registered { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() }
}
