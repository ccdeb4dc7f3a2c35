//! `io_uring_cmd`: NVMe commands through a ring, past the block layer, to generic character devices (`/dev/ngXnY`).

use std::cell::UnsafeCell;
use std::sync::Arc;

use io_uring::{cqueue, opcode, squeue, types};
use iostrata_spec::{EngineOptions, NvmeOptions, NvmeWrite};

use super::attached::{Attached, Carrier};
use super::nvme::{self, Command, Namespace};
use super::protection::{self, Tags};
use super::ring::{Ring, Wish};
use super::{availability, register_buffers, register_files, setup_error};
use crate::api::{
    Caps, Completions, Deadline, Devices, Engine, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance,
    Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::descriptor;
use crate::flight::Flight;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "io_uring_cmd",
    caps: Caps { descriptors: 2, extends: false, devices: Some(Devices::Nvme), ..Caps::ASYNCHRONOUS },
    doc: "NVMe commands over io_uring, to /dev/ngXnY",
    availability,
    make: |config: &EngineConfig| {
        Ok(Instance::Async(Box::new(UringCommand { options: config.options.clone(), attached: None })))
    },
};

struct UringCommand {
    options: EngineOptions,
    attached: Option<Attached<Commands>>,
}

/// A request in flight, as far as its end needs it.
#[derive(Clone, Copy)]
struct Asked {
    io: Io,
    address: *mut u8,
}

/// Makes commands.
struct Commands {
    files: FileTable,
    registered_files: bool,
    /// By file.
    namespaces: Vec<Namespace>,
    options: NvmeOptions,
    tags: Tags,
    /// Data goes by a vector of one.
    vectors: Option<Box<[UnsafeCell<libc::iovec>]>>,
    /// Registered buffers have so many slots each; 0 without.
    slots_per_buffer: u32,
    asked: Box<[Asked]>,
    /// The range of a slot's dataset management: attributes, blocks, first block.
    ranges: Box<[UnsafeCell<[u32; 4]>]>,
    /// Metadata of each slot, one behind the other.
    metadata: Box<[UnsafeCell<u8>]>,
    metadata_bytes: usize,
    force_async: u32,
    since_forced: u32,
    /// The entry that was made last.
    made: squeue::Entry128,
}

impl Commands {
    fn space(&self, io: &Io) -> Option<&Namespace> {
        self.namespaces.get(io.file as usize)
    }

    /// First block and blocks of an I/O; `None` where it does not cover whole blocks, or its metadata have no room.
    fn blocks(&self, io: &Io) -> Option<(u64, u32)> {
        let space = self.space(io)?;
        let block = space.block_bytes();
        if block == 0 || !io.offset.is_multiple_of(block.into()) || !io.len.is_multiple_of(block) || io.len == 0 {
            return None;
        }
        let blocks = io.len / block;
        let fits = !self.has_metadata_apart(space) || (blocks * space.metadata_bytes) as usize <= self.metadata_bytes;
        (fits && blocks <= 1 << 16).then(|| (io.offset / u64::from(block), blocks))
    }

    /// Whether metadata go between us and the device in a buffer of their own.
    fn has_metadata_apart(&self, space: &Namespace) -> bool {
        needs_metadata(space, &self.options) && !space.extended
    }

    /// Where the metadata of a slot are.
    fn metadata_of(&self, slot: SlotId) -> *mut u8 {
        self.metadata.get(slot as usize * self.metadata_bytes).map_or(std::ptr::null_mut(), UnsafeCell::get)
    }

    /// Bits of dword 12 and the tags of dwords 14 and 15 that protection information wants.
    fn protect(&self, space: &Namespace, first: u64, command: &mut Command) {
        if space.protection == 0 {
            return;
        }
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        // Type 3 has no number of the block.
        let reference = self.tags.reference && space.protection != 3;
        // Verify takes nothing off, and Write Uncorrectable has none.
        if command.opcode == nvme::WRITE_UNCORRECTABLE {
            return;
        }
        let acts = self.options.protection_action && command.opcode != nvme::VERIFY;
        command.dwords[2] |= bit(acts, nvme::PROTECTION_ACTION)
            | bit(self.tags.guard, nvme::CHECK_GUARD)
            | bit(self.tags.application_checked, nvme::CHECK_APPLICATION)
            | bit(reference, nvme::CHECK_REFERENCE);
        command.dwords[4] = if space.protection == 3 { 0 } else { first as u32 };
        command.dwords[5] = u32::from(self.tags.application) | u32::from(self.tags.mask) << 16;
    }

    /// The command of a read or write.
    fn transfer(&self, io: &Io, address: *mut u8, space: &Namespace, (first, blocks): (u64, u32)) -> Command {
        let write = io.op == Op::Write;
        let (opcode, carries_data) = match (write, self.options.write) {
            (false, _) if self.options.verifies => (nvme::VERIFY, false),
            (false, _) => (nvme::READ, true),
            (true, NvmeWrite::Write) => (nvme::WRITE, true),
            (true, NvmeWrite::Uncorrectable) => (nvme::WRITE_UNCORRECTABLE, false),
            (true, NvmeWrite::Zeroes) => (nvme::WRITE_ZEROES, false),
            (true, NvmeWrite::Verify) => (nvme::VERIFY, false),
        };
        let through = if write { self.options.write_through } else { self.options.read_through };
        let mut command = Command { opcode, namespace: space.id, ..Command::default() };
        command.dwords = [first as u32, (first >> 32) as u32, blocks - 1, 0, 0, 0];
        if through {
            command.dwords[2] |= nvme::FORCE_UNIT_ACCESS;
        }
        if opcode == nvme::WRITE_ZEROES && self.options.deallocate {
            command.dwords[2] |= nvme::DEALLOCATE;
        }
        self.protect(space, first, &mut command);
        if carries_data {
            (command.address, command.bytes) = (address as u64, io.len);
            if let Some(vectors) = &self.vectors {
                let vector = vectors[io.slot as usize].get();
                // SAFETY: the slot is not in flight, so the kernel does not look at its vector.
                unsafe { vector.write(libc::iovec { iov_base: address.cast(), iov_len: io.len as usize }) };
                (command.address, command.bytes) = (vector as u64, 1);
            }
            if self.has_metadata_apart(space) {
                command.metadata = self.metadata_of(io.slot) as u64;
                command.metadata_bytes = blocks * space.metadata_bytes;
            }
        }
        command
    }

    /// Goes through the protection information of an I/O's blocks; false if one of them is wrong.
    fn each_block(&self, asked: &Asked, mut each: impl FnMut(&[u8], &[u8], u64, &mut [u8]) -> bool) -> bool {
        let (Some(space), Some((first, blocks))) = (self.space(&asked.io), self.blocks(&asked.io)) else { return true };
        let (data_bytes, metadata_bytes) = (space.data_bytes as usize, space.metadata_bytes as usize);
        (0..blocks as usize).all(|number| {
            let data = asked.address.wrapping_add(number * space.block_bytes() as usize);
            let metadata = match space.extended {
                true => data.wrapping_add(data_bytes),
                false => self.metadata_of(asked.io.slot).wrapping_add(number * metadata_bytes),
            };
            // SAFETY: the request covers so many blocks, in a slot that is not in flight and in the slot's metadata,
            // which have room for them; neither is looked at by anybody else now.
            let (data, metadata) = unsafe {
                (std::slice::from_raw_parts(data, data_bytes), std::slice::from_raw_parts_mut(metadata, metadata_bytes))
            };
            if space.protection_first {
                let (place, _) = metadata.split_at_mut(protection::BYTES);
                return each(data, &[], first + number as u64, place);
            }
            let (before, place) = metadata.split_at_mut(metadata_bytes - protection::BYTES);
            each(data, before, first + number as u64, place)
        })
    }

    /// Whether protection information is made and checked here.
    fn protects_here(&self, io: &Io) -> bool {
        let of = |space: &Namespace| space.protection > 0 && space.metadata_bytes as usize >= protection::BYTES;
        !self.options.protection_action && self.space(io).is_some_and(of)
    }
}

/// Whether metadata go between us and the device at all: protection information alone may be the controller's matter.
fn needs_metadata(space: &Namespace, options: &NvmeOptions) -> bool {
    let only_protection = space.protection > 0 && space.metadata_bytes as usize == protection::BYTES;
    space.metadata_bytes > 0 && !(only_protection && options.protection_action)
}

impl Carrier for Commands {
    type Entry = squeue::Entry128;
    type Done = cqueue::Entry32;

    fn carries(&self, io: &Io, _: bool) -> bool {
        match io.op {
            Op::Read | Op::Write | Op::Trim => self.blocks(io).is_some(),
            Op::Sync | Op::DataSync => true,
        }
    }

    fn make(&mut self, io: &Io, address: *mut u8) -> &squeue::Entry128 {
        let space = self.space(io).copied().unwrap_or_default();
        let blocks = self.blocks(io).unwrap_or((0, 1));
        self.asked[io.slot as usize] = Asked { io: *io, address };
        let command = match io.op {
            Op::Sync | Op::DataSync => Command { opcode: nvme::FLUSH, namespace: space.id, ..Command::default() },
            Op::Trim => {
                let range = self.ranges[io.slot as usize].get();
                // SAFETY: the slot is not in flight, so the kernel does not look at its range.
                unsafe { range.write([0, blocks.1, blocks.0 as u32, (blocks.0 >> 32) as u32]) };
                let (opcode, dwords) = (nvme::DATASET_MANAGEMENT, [0, nvme::NOT_NEEDED, 0, 0, 0, 0]);
                let (namespace, bytes) = (space.id, size_of::<[u32; 4]>() as u32);
                Command { opcode, namespace, address: range as u64, bytes, dwords, ..Command::default() }
            }
            Op::Read | Op::Write => {
                if io.op == Op::Write && self.options.write == NvmeWrite::Write && self.protects_here(io) {
                    let tags = self.tags;
                    self.each_block(&Asked { io: *io, address }, |data, before, block, place| {
                        protection::make(&tags, data, before, block, place);
                        true
                    });
                }
                self.transfer(io, address, &space, blocks)
            }
        };
        let moves = matches!(io.op, Op::Read | Op::Write) && command.bytes > 0;
        let call = if moves && self.vectors.is_some() { nvme::URING_IO_VECTOR } else { nvme::URING_IO };
        let buffer = (moves && self.slots_per_buffer > 0).then(|| (io.slot / self.slots_per_buffer.max(1)) as u16);
        let entry = if self.registered_files {
            opcode::UringCmd80::new(types::Fixed(io.file), call).cmd(command.as_bytes()).buf_index(buffer).build()
        } else {
            let fd = types::Fd(descriptor(&self.files, io.file));
            opcode::UringCmd80::new(fd, call).cmd(command.as_bytes()).buf_index(buffer).build()
        };
        let mut flags = squeue::Flags::empty();
        if self.force_async > 0 {
            self.since_forced = (self.since_forced + 1) % self.force_async;
            flags.set(squeue::Flags::ASYNC, self.since_forced == 0);
        }
        self.made = entry.flags(flags).user_data(u64::from(io.slot));
        &self.made
    }

    fn aside(&self, _: &Io) -> i32 {
        -libc::EINVAL
    }

    fn result(&mut self, slot: SlotId, result: i32) -> i32 {
        let asked = self.asked[slot as usize];
        match (result, asked.io.op) {
            (..0, _) => result,
            (1.., _) => -nvme::errno_of(result as u32),
            (0, Op::Sync | Op::DataSync) => 0,
            (0, Op::Read) if !self.options.verifies && self.protects_here(&asked.io) => {
                let tags = self.tags;
                let holds = self.each_block(&asked, |data, before, block, place| {
                    protection::holds(&tags, data, before, block, place)
                });
                if holds { asked.io.len as i32 } else { -libc::EILSEQ }
            }
            (0, _) => asked.io.len as i32,
        }
    }
}

impl UringCommand {
    fn attach(
        &self,
        files: &FileTable,
        slots: Arc<SlotArena>,
        depth: u32,
    ) -> Result<(Attached<Commands>, Granted), EngineError> {
        let options = &self.options;
        let namespaces = namespaces(files)?;
        if let Some(space) = namespaces.iter().find(|space| needs_metadata(space, &options.nvme) && !space.extended)
            && options.nvme.metadata_bytes < space.metadata_bytes.into()
        {
            return Err(EngineError::Unsupported(format!(
                "the namespace keeps {} bytes of metadata beside each block of {}: give md_per_io_size=, so many for \
                 each block of an I/O",
                space.metadata_bytes, space.data_bytes
            )));
        }
        let wish =
            Wish { entries: depth, polled: options.polled, sq_poll: options.sq_poll, sq_poll_cpu: options.sq_poll_cpu };
        let (ring, mut used) = Ring::new(wish).map_err(|errno| setup_error(errno, wish))?;
        let registered_files = options.register_files || options.sq_poll;
        if registered_files {
            register_files(&ring, files)?;
            used.push("registered files".into());
        }
        let slots_per_buffer = if options.fixed_buffers { register_buffers(&ring, &slots)? } else { 0 };
        let metadata_bytes = options.nvme.metadata_bytes as usize;
        let count = slots.slots() as usize;
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let empty = Asked { io: Io::of(Op::Read), address: std::ptr::null_mut() };
        used.extend(namespaces.first().map(|space| format!("namespace of {}-byte blocks", space.data_bytes)));
        let granted = depth.min(ring.queues.params().sq_entries());
        let commands = Commands {
            files: files.clone(),
            registered_files,
            namespaces,
            options: options.nvme.clone(),
            tags: tags(&options.nvme),
            vectors: options.vectored.then(|| (0..count).map(|_| UnsafeCell::new(none)).collect()),
            slots_per_buffer,
            asked: vec![empty; count].into(),
            ranges: (0..count).map(|_| UnsafeCell::new([0; 4])).collect(),
            metadata: (0..count * metadata_bytes).map(|_| UnsafeCell::new(0)).collect(),
            metadata_bytes,
            force_async: options.force_async,
            since_forced: 0,
            made: opcode::Nop::new().build().into(),
        };
        let flight = Flight::new(slots);
        let attached = Attached { ring, flight, carrier: commands, poll_refused: false, cancel_any_refused: false };
        Ok((attached, Granted { depth: granted, used, notes: Vec::new() }))
    }
}

/// What stands behind each file.
fn namespaces(files: &FileTable) -> Result<Vec<Namespace>, EngineError> {
    if files.exchanges {
        return Err(EngineError::Unsupported("not all of its devices can be open at a time: raise openfiles=".into()));
    }
    let of = |fd| match Namespace::of(fd) {
        Ok(space) if space.data_bytes > 0 => Ok(space),
        Ok(_) => Err(EngineError::Unsupported("the namespace does not say how long its blocks are".into())),
        Err(libc::ENOTTY | libc::EINVAL) => Err(EngineError::Failed {
            text: "NVMe commands go to the generic device of a namespace: name /dev/ngXnY (nvme list shows them)"
                .into(),
            errno: libc::ENOTTY,
        }),
        Err(errno) => Err(EngineError::Failed { text: "asking the device for its namespace".into(), errno }),
    };
    files.descriptors().map(of).collect()
}

fn tags(options: &NvmeOptions) -> Tags {
    Tags {
        guard: options.checks("GUARD"),
        application_checked: options.checks("APPTAG"),
        reference: options.checks("REFTAG"),
        application: options.application_tag,
        mask: options.application_mask,
    }
}

impl Engine for UringCommand {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        let (attached, granted) = UringCommand::attach(self, files, slots, depth)?;
        self.attached = Some(attached);
        Ok(granted)
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        self.attached.as_mut().map_or(Ok(0), |attached| attached.submit(ios, done))
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.attached.as_mut().map_or(Ok(()), |attached| attached.reap(min, until, done))
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.quiesce(until, done))
    }
}

impl Drop for UringCommand {
    fn drop(&mut self) {
        let Some(mut attached) = self.attached.take() else { return };
        let until = attached.flight.drop_deadline();
        if attached.flight.count() > 0 && !attached.quiesce(until, &mut Vec::new()).slots.is_empty() {
            // The kernel still has them: the ring, metadata and ranges stay, as the buffers do.
            std::mem::forget(attached);
        }
    }
}
