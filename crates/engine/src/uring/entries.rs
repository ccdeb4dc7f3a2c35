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
    read: Common,
    write: Common,
    /// One entry per slot: what a slot's requests have in common stays in it.
    slots: Box<[Sqe]>,
    /// The entry of a request that is neither a read nor a write.
    other: Sqe,
    /// Flags of requests, and of those that go to a kernel worker.
    plain_flags: u8,
    forced_flags: u8,
    /// Every so many-th request goes to a kernel worker; 0 for none.
    force_async: u32,
    /// Requests since the last of those.
    since_forced: u32,
}

/// What all requests of a kind have in common.
#[derive(Clone, Copy)]
struct Common {
    opcode: u8,
    transfer_flags: u32,
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
        slots: u32,
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
        let common = |entry: &squeue::Entry, transfer_flags| Common { opcode: Sqe::of(entry).opcode, transfer_flags };
        let (common_read, common_write) = (common(&read, flags.each(false)), common(&write, flags.each(true)));
        let template = Sqe::of(&read);
        let file_flags = if registered_files { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() };
        let of_slot = |slot: u32| {
            let buffer = if let Transfer::Fixed { slots_per_buffer } = transfer { slot / slots_per_buffer } else { 0 };
            Sqe { user_data: u64::from(slot), buffer_index: buffer as u16, ..template }
        };
        Entries {
            read: common_read,
            write: common_write,
            slots: (0..slots).map(of_slot).collect(),
            other: template,
            plain_flags: file_flags.bits(),
            forced_flags: (file_flags | squeue::Flags::ASYNC).bits(),
            files,
            registered_files,
            transfer,
            force_async: options.force_async,
            since_forced: 0,
        }
    }

    /// The entry for a request whose bytes are at `address`.
    #[inline(always)]
    pub(super) fn entry(&mut self, io: &Io, address: *mut u8) -> &Sqe {
        let fd = if self.registered_files { io.file as i32 } else { descriptor(&self.files, io.file) };
        let common = match io.op {
            Op::Read => self.read,
            Op::Write => self.write,
            Op::Sync | Op::Trim | Op::DataSync => return self.sync(io, fd),
        };
        let forced = self.force_async > 0 && self.is_forced_async();
        let sqe = &mut self.slots[io.slot as usize];
        (sqe.opcode, sqe.transfer_flags) = (common.opcode, common.transfer_flags);
        (sqe.fd, sqe.priority, sqe.offset) = (fd, io.priority, io.offset);
        (sqe.address, sqe.len) = (address as u64, io.len);
        if let Transfer::Vectored(vectors) = &self.transfer {
            let vector = vectors[io.slot as usize].get();
            // SAFETY: the slot is not in flight, so the kernel does not look at its vector.
            unsafe { vector.write(libc::iovec { iov_base: address.cast(), iov_len: io.len as usize }) };
            (sqe.address, sqe.len) = (vector as u64, 1);
        }
        sqe.flags = if forced { self.forced_flags } else { self.plain_flags };
        sqe
    }

    #[cold]
    fn sync(&mut self, io: &Io, fd: i32) -> &Sqe {
        let entry = opcode::Fsync::new(types::Fd(fd));
        let entry = if io.op == Op::DataSync { entry.flags(types::FsyncFlags::DATASYNC) } else { entry };
        let forced = self.force_async > 0 && self.is_forced_async();
        self.other = Sqe {
            flags: if forced { self.forced_flags } else { self.plain_flags },
            user_data: u64::from(io.slot),
            ..Sqe::of(&entry.build())
        };
        &self.other
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
