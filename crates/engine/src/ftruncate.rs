//! `ftruncate`: no data, but the length of the file: one `ftruncate` to the offset of each write.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use iostrata_os::file;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::{self, whole};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "ftruncate",
    caps: Caps { moves_data: false, only_writes: true, ..Caps::SYNCHRONOUS },
    doc: "ftruncate: a write sets the length of the file to its offset",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Sync(Box::new(Ftruncate { files: FileTable::default() }))),
};

struct Ftruncate {
    files: FileTable,
}

impl SyncOp for Ftruncate {
    fn attach(&mut self, files: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        self.files = files.clone();
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let fd = blocking::descriptor(&self.files, io.file);
        match io.op {
            Op::Write if fd >= 0 => {
                // SAFETY: the worker keeps it open as long as a request of its file is in flight.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                match file::truncate(fd, io.offset) {
                    Ok(()) => whole(io.len),
                    Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
                }
            }
            Op::Write => -libc::EBADF,
            Op::Read | Op::Trim => -libc::EINVAL,
            Op::Sync | Op::DataSync => blocking::without_data(fd, io, self.files.trim),
        }
    }
}
