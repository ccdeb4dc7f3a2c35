//! `sync`: `lseek`, then `read` or `write`.

use std::os::fd::RawFd;
use std::sync::Arc;

use iostrata_os::io;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "sync",
    caps: Caps::SYNCHRONOUS,
    doc: "lseek (where the position is another), then read or write",
    availability: || Availability::Here,
    make,
};

fn make(_: &EngineConfig) -> Result<Instance, EngineError> {
    let table = FileTable::default();
    Ok(Instance::Sync(Box::new(Sync { files: Vec::new(), table, slots: None })))
}

struct Sync {
    files: Vec<Positioned>,
    table: FileTable,
    slots: Option<Arc<SlotArena>>,
}

/// A file and where its position is.
struct Positioned {
    fd: RawFd,
    /// `None` when it is not known: nothing is said about it after an error.
    position: Option<u64>,
}

impl SyncOp for Sync {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        let known = |fd: RawFd| Positioned { fd, position: u64::try_from(io::position(fd)).ok() };
        self.files = files.descriptors().map(known).collect();
        self.table = files.clone();
        self.slots = Some(slots);
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let (Some(slots), Some(file)) = (&self.slots, self.files.get_mut(io.file as usize)) else {
            return -libc::EBADF;
        };
        if self.table.exchanges {
            *file = Positioned { fd: self.table.descriptor(io.file), position: None };
        }
        match io.op {
            Op::Read | Op::Write => file.transfer(io, slots),
            Op::Trim | Op::Sync | Op::DataSync => blocking::without_data(file.fd, io, self.table.trim),
        }
    }
}

impl Positioned {
    fn transfer(&mut self, io: &Io, slots: &SlotArena) -> i32 {
        // Like fio, no seek where the last transfer has left the position right.
        if self.position != Some(io.offset) {
            let at = io::seek_to(self.fd, io.offset);
            if at < 0 {
                self.position = None;
                return at as i32;
            }
        }
        let (buffer, len) = (blocking::buffer(slots, io), io.len as usize);
        slots.lend(io.slot);
        // SAFETY: the bytes lie within the slot, which is lent to this call and to nobody else.
        let moved = unsafe {
            if io.op == Op::Write { io::write(self.fd, buffer, len) } else { io::read(self.fd, buffer, len) }
        };
        slots.give_back(io.slot);
        self.position = u64::try_from(moved).ok().map(|moved| io.offset + moved);
        moved as i32
    }
}
