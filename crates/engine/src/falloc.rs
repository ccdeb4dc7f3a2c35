//! `falloc`: no data, but where they would lie: one `fallocate` for each I/O.

use std::sync::Arc;

use iostrata_os::io::syscall;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::{self, whole};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "falloc",
    caps: Caps { moves_data: false, writes_to_read: true, ..Caps::SYNCHRONOUS },
    doc: "fallocate: a read keeps the length, a write may extend it, a trim punches a hole",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Sync(Box::new(Falloc { files: FileTable::default() }))),
};

struct Falloc {
    files: FileTable,
}

impl SyncOp for Falloc {
    fn attach(&mut self, files: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        self.files = files.clone();
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let fd = blocking::descriptor(&self.files, io.file);
        let mode = match io.op {
            Op::Read => libc::FALLOC_FL_KEEP_SIZE,
            Op::Write => 0,
            Op::Trim => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
            Op::Sync | Op::DataSync => return blocking::without_data(fd, io, self.files.trim),
        };
        let arguments = [fd as usize, mode as usize, io.offset as usize, io.len as usize, 0, 0];
        // SAFETY: a descriptor and plain integers.
        match unsafe { syscall(libc::SYS_fallocate, arguments) } {
            0 => whole(io.len),
            error => error as i32,
        }
    }
}
