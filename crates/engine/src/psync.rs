//! `psync`: `pread` and `pwrite`, one at a time.

use std::sync::Arc;

use crate::api::{Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, SyncOp};
use crate::arena::SlotArena;
use crate::blocking;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "psync",
    caps: Caps::SYNCHRONOUS,
    doc: "pread and pwrite, one at a time",
    availability: || Availability::Here,
    make,
};

fn make(_: &EngineConfig) -> Result<Instance, EngineError> {
    Ok(Instance::Sync(Box::new(Psync { attached: None })))
}

struct Psync {
    attached: Option<(FileTable, Arc<SlotArena>)>,
}

impl SyncOp for Psync {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        self.attached = Some((files.clone(), slots));
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    #[inline]
    fn call(&mut self, io: &Io) -> i32 {
        match &self.attached {
            Some((files, slots)) => blocking::call(files, io, slots),
            None => -libc::EBADF,
        }
    }
}
