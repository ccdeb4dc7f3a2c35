//! `page_fault`: no file, but as much memory of the program's own. A read looks at a byte of each page of its block, a
//! write changes one, and the first to come there is a fault; a trim gives the pages back.

use std::sync::Arc;

use iostrata_os::memory::Mapping;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::whole;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "page_fault",
    caps: Caps { diskless: true, moves_data: false, ..Caps::SYNCHRONOUS },
    doc: "touches pages of memory of the program's own; each pass finds them gone again",
    availability: || Availability::Here,
    make,
};

/// Pages are at least so large: touching one twice costs next to nothing.
const PAGE_BYTES: u64 = 4096;

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let map = |bytes: &u64| {
        let bytes = usize::try_from(*bytes).map_err(|_| libc::ENOMEM);
        bytes.and_then(|bytes| Mapping::new(bytes).map_err(|error| error.raw_os_error().unwrap_or(libc::ENOMEM)))
    };
    let mapped: Result<Vec<_>, i32> = config.file_sizes.iter().map(map).collect();
    let memory = mapped.map_err(|errno| EngineError::System { call: "mmap", errno })?;
    Ok(Instance::Sync(Box::new(PageFault { memory })))
}

struct PageFault {
    /// By file.
    memory: Vec<Mapping>,
}

impl SyncOp for PageFault {
    fn attach(&mut self, _: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let Some(memory) = self.memory.get(io.file as usize) else { return -libc::EBADF };
        let end = io.offset.saturating_add(io.len.into());
        if end > memory.len() as u64 {
            return -libc::EFAULT;
        }
        match io.op {
            Op::Read | Op::Write => touch(memory, io.offset, end, io.op == Op::Write),
            Op::Trim => {
                if let Err(error) = memory.give_back(io.offset as usize, io.len as usize) {
                    return -error.raw_os_error().unwrap_or(libc::EIO);
                }
            }
            Op::Sync | Op::DataSync => return 0,
        }
        whole(io.len)
    }

    fn release(&mut self) {
        for memory in &self.memory {
            // What cannot be given back stays: the next pass is faster, and touches it all the same.
            let _ = memory.give_back(0, memory.len());
        }
    }
}

/// One byte of each page between two places that lie within the memory.
fn touch(memory: &Mapping, start: u64, end: u64, write: bool) {
    let mut at = start;
    while at < end {
        // SAFETY: the byte lies within the mapping, which nobody else uses; no slice of it is ever made.
        unsafe {
            let byte = memory.as_ptr().add(at as usize);
            // A page that is read first faults once more when it is written.
            if write {
                byte.write_volatile(1);
            } else {
                byte.read_volatile();
            }
        }
        at = at - at % PAGE_BYTES + PAGE_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use iostrata_os::thread::thread_usage;

    use super::*;

    fn io(op: Op, offset: u64, len: u32) -> Io {
        Io { offset, slot_offset: 0, len, slot: 0, file: 0, op, priority: 0 }
    }

    #[test]
    fn pages_are_touched_once_each_and_are_gone_after_a_pass_and_a_trim() {
        const BYTES: u32 = 1 << 20;
        let mut engine = PageFault { memory: vec![Mapping::new(BYTES as usize).expect("memory")] };
        let value = |engine: &PageFault, at: usize| engine.memory[0].as_slice()[at];
        let before = thread_usage().minor_faults;
        assert_eq!(engine.call(&io(Op::Write, 100, BYTES - 100)), BYTES as i32 - 100);
        if cfg!(target_os = "linux") {
            // Huge pages make it fewer.
            assert!(thread_usage().minor_faults > before);
        }
        assert_eq!([0, 100, 4096, 8192, BYTES as usize - 4096].map(|at| value(&engine, at)), [0, 1, 1, 1, 1]);
        assert_eq!(engine.call(&io(Op::Read, 0, BYTES)), BYTES as i32);
        assert_eq!(value(&engine, 4096), 1);
        assert_eq!(engine.call(&io(Op::Trim, 4096, 4096)), 4096);
        assert_eq!([value(&engine, 4096), value(&engine, 8192)], [0, 1]);
        engine.release();
        assert_eq!(value(&engine, 8192), 0);
        assert_eq!(engine.call(&io(Op::Read, u64::from(BYTES), 1)), -libc::EFAULT);
        assert_eq!(engine.call(&Io { file: 1, ..io(Op::Read, 0, 1) }), -libc::EBADF);
    }
}
