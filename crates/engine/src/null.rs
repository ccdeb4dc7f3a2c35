//! `null`: every request succeeds, whole, and no data move: what is left is the cost of the tool itself.

use std::sync::Arc;

use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::whole;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "null",
    caps: Caps { diskless: true, ..Caps::ASYNCHRONOUS },
    doc: "does nothing and succeeds: measures the tool itself",
    availability: || Availability::Here,
    make,
};

fn make(_: &EngineConfig) -> Result<Instance, EngineError> {
    Ok(Instance::Async(Box::new(Null { slots: None, in_flight: Vec::new() })))
}

/// Requests wait from `submit` to `reap` like in an engine that works.
struct Null {
    slots: Option<Arc<SlotArena>>,
    in_flight: Vec<Completion>,
}

impl Null {
    #[inline]
    fn answer_all(&mut self, done: &mut Completions) {
        if let Some(slots) = &self.slots {
            self.in_flight.iter().for_each(|io| slots.give_back(io.slot));
        }
        // Both lists hold as many as can be in flight: they change places.
        if done.is_empty() && done.capacity() >= self.in_flight.capacity() {
            std::mem::swap(done, &mut self.in_flight);
        } else {
            self.answer_after(done);
        }
    }

    #[cold]
    #[inline(never)]
    fn answer_after(&mut self, done: &mut Completions) {
        done.append(&mut self.in_flight);
    }
}

impl Engine for Null {
    fn attach(&mut self, _: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        self.slots = Some(slots);
        self.in_flight.reserve_exact(depth as usize);
        Ok(Granted { depth, used: Vec::new(), notes: Vec::new() })
    }

    fn submit(&mut self, ios: &[Io], _: &mut Completions) -> Result<usize, EngineError> {
        let room = self.in_flight.capacity() - self.in_flight.len();
        let taken = &ios[..ios.len().min(room)];
        if let Some(slots) = &self.slots {
            taken.iter().for_each(|io| slots.lend(io.slot));
        }
        self.in_flight.extend(taken.iter().map(|io| {
            let result = match io.op {
                Op::Read | Op::Write | Op::Trim => whole(io.len),
                Op::Sync | Op::DataSync => 0,
            };
            Completion { slot: io.slot, result }
        }));
        Ok(taken.len())
    }

    fn reap(&mut self, _: u32, _: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.answer_all(done);
        Ok(())
    }

    fn quiesce(&mut self, _: Deadline, done: &mut Completions) -> Stuck {
        self.answer_all(done);
        Stuck::default()
    }
}
