//! The loop's way of the common job: rows of requests, and rounds of one at depth 1.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::{Engine, EngineError, Io};

use super::super::common::op_of;
use super::super::core::{Core, Plan, Slot};
use super::{AsyncLoop, deadline};
use crate::clock::Clock;
use crate::generate::Direction;

impl AsyncLoop {
    /// Plans the next requests of a common job, all at once.
    #[inline]
    pub(super) fn plan_row<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        direction: Direction,
        room: usize,
    ) -> Result<(), Plan> {
        let (op, ready_ns, room) = (op_of(direction), self.ready_ns, room.min(self.free.len()));
        while self.batch.len() < room {
            let blocks = match core.feed.row(direction, room - self.batch.len()) {
                Ok(blocks) => blocks,
                Err(_) if !self.batch.is_empty() => break,
                Err(dry) => return Err(Plan::Dry(dry)),
            };
            let (first, slots) = (self.free.len() - blocks.len(), &mut self.slots);
            self.batch.extend(blocks.iter().zip(self.free[first..].iter().rev()).map(|(block, &slot)| {
                let io = Io { offset: block.offset, len: block.len, slot, ..Io::of(op) };
                // Its stamps come with the call.
                let place = &mut slots[slot as usize];
                (place.io, place.asked_len, place.due_ns) = (io, block.len, 0);
                io
            }));
            self.free.truncate(first);
        }
        self.stamped_each = core.fills();
        if self.stamped_each {
            let mut start_ns = ready_ns;
            for io in &self.batch {
                core.fill(io, start_ns);
                start_ns = core.clock.now_ns();
                self.slots[io.slot as usize].start_ns = start_ns;
            }
            self.ready_ns = start_ns;
        }
        Ok(())
    }

    /// The direction of a common job at depth 1, if nothing is under way.
    pub(super) fn alone(&self) -> Option<Direction> {
        let idle = self.in_flight == 0 && self.again.is_empty() && self.completions.is_empty();
        self.common.planned.filter(|_| self.rules.depth == 1 && self.rules.reap_min == 1 && idle)
    }

    /// Rounds of a single request each: what the general loop does, without its lists. Ends, and says when, where
    /// something is not as usual; the general loop finds its lists as it would have left them itself. None if there is
    /// nothing more to plan.
    pub(super) fn pass_alone<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        engine: &mut dyn Engine,
        direction: Direction,
        mut now_ns: u64,
    ) -> Result<Option<u64>, EngineError> {
        let (live, fills, most_ns) = (core.live, core.fills(), core.most_ns[direction.index()]);
        let (Some(&id), Some(counting)) = (self.free.last(), core.counting(direction)) else { return Ok(None) };
        let mut io = Io { slot: id, ..Io::of(op_of(direction)) };
        live.note_current(&io);
        while !core.must_stop(now_ns) {
            let Ok(block) = core.feed.one(direction) else { return Ok(None) };
            (io.offset, io.len) = (block.offset, block.len);
            let mut start_ns = now_ns;
            if fills {
                core.fill(&io, now_ns);
                start_ns = core.clock.now_ns();
            }
            live.note_offset(io.offset);
            let taken = engine.submit(std::slice::from_ref(&io), &mut self.completions)?;
            let issue_ns = core.clock.now_ns();
            let slot = Slot { io, asked_len: io.len, start_ns, issue_ns, due_ns: 0 };
            if taken == 0 {
                self.hold_alone(slot, 0);
                (self.ready_ns, self.stamped_each, self.repeats) = (start_ns, fills, false);
                self.batch.push(io);
                return self.submit(core, engine).map(Some);
            }
            live.in_flight.store(1, Relaxed);
            if self.completions.is_empty()
                && let Err(error) = engine.reap(1, deadline(core.timeline.end_ns()), &mut self.completions)
            {
                self.hold_alone(slot, 1);
                return Err(error);
            }
            now_ns = core.clock.now_ns();
            let latencies = slot.latencies_ns(now_ns);
            let whole = matches!(self.completions[..], [completion] if completion.result == io.len as i32);
            let usual = whole && latencies[2] <= most_ns;
            let _batch = live.lock.write();
            live.submit_counts[1].add(1);
            live.depth_counts[0].add(1);
            if !usual {
                self.hold_alone(slot, 1);
                return Ok(Some(now_ns));
            }
            self.completions.clear();
            live.complete_counts[1].add(1);
            counting.one(io.len, latencies);
            live.in_flight.store(0, Relaxed);
        }
        Ok(Some(now_ns))
    }

    /// Notes a request that was planned alone where the general loop looks for it.
    #[cold]
    fn hold_alone(&mut self, slot: Slot, in_flight: u32) {
        self.slots[slot.io.slot as usize] = slot;
        self.free.clear();
        self.in_flight = in_flight;
    }
}
