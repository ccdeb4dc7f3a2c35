//! The loop for engines that do one request at a time in the calling thread.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::{Io, SyncOp};

use super::common::op_of;
use super::core::{Core, Outcome, PassEnd, Plan, Slot};
use super::feed::Dry;
use super::think::After;
use crate::clock::Clock;
use crate::generate::Direction;
use crate::live::Live;

/// The only slot.
const SLOT: u32 = 0;

/// One pass over the files.
pub(super) fn pass<C: Clock>(core: &mut Core<'_, C>, engine: &mut dyn SyncOp) -> PassEnd {
    let common = core.common().planned;
    let mut now_ns = core.clock.now_ns();
    loop {
        if core.must_stop(now_ns) {
            return PassEnd::Stop;
        }
        if core.attends
            && let Some(interlude) = core.interlude(&mut now_ns)
        {
            // One at a time is the only depth here.
            if let After::End = core.perform(interlude) {
                return PassEnd::Stop;
            }
            now_ns = core.clock.now_ns();
            continue;
        }
        if let Some(direction) = common {
            match common_ios(core, engine, direction, now_ns) {
                Some(Dry::Pass) if core.wrap(|| engine.release()) => {}
                Some(_) => return PassEnd::Pass,
                None => {}
            }
            now_ns = core.clock.now_ns();
            continue;
        }
        let (planned, due_ns) = match core.plan_next(now_ns) {
            Plan::Io(planned, due_ns) => (planned, due_ns),
            Plan::NotBefore(due_ns) => {
                core.rest_until(due_ns);
                now_ns = core.clock.now_ns();
                continue;
            }
            Plan::Dry(Dry::Pass) if core.wrap(|| engine.release()) => continue,
            Plan::Dry(_) => return PassEnd::Pass,
        };
        if core.files.in_between() {
            if core.files.by_name() {
                engine.release();
            } else if !core.fetch(planned.file) {
                continue;
            }
            now_ns = core.clock.now_ns();
        }
        let mut slot = Core::<C>::place(SLOT, planned, due_ns, now_ns);
        if core.fills() || due_ns > 0 {
            core.fill(&slot.io, now_ns);
            slot.start_ns = core.clock.now_ns();
            slot.issue_ns = slot.start_ns;
        }
        if let Some(recording) = &mut core.recording {
            recording.io(&slot.io, slot.issue_ns);
        }
        now_ns = carry_out(core, engine, &mut slot);
    }
}

/// The I/Os of a common job, until it must stop (None) or the feed is dry.
fn common_ios<C: Clock>(
    core: &mut Core<'_, C>,
    engine: &mut dyn SyncOp,
    direction: Direction,
    mut now_ns: u64,
) -> Option<Dry> {
    let (live, fills, most_ns) = (core.live, core.fills(), core.most_ns[direction.index()]);
    let Some(counting) = core.counting(direction) else { return Some(Dry::Limit) };
    let mut io = Io { slot: SLOT, ..Io::of(op_of(direction)) };
    live.note_current(&io);
    while !core.must_stop(now_ns) {
        (io.offset, io.len) = match core.feed.one(direction) {
            Ok(block) => (block.offset, block.len),
            Err(dry) => return Some(dry),
        };
        let mut start_ns = now_ns;
        if fills {
            core.fill(&io, now_ns);
            start_ns = core.clock.now_ns();
        }
        live.note_offset(io.offset);
        live.in_flight.store(1, Relaxed);
        let result = engine.call(&io);
        now_ns = core.clock.now_ns();
        let latency_ns = now_ns.saturating_sub(start_ns);
        if result == io.len as i32 && latency_ns <= most_ns {
            let _batch = live.lock.write();
            counting.one(io.len, [0, latency_ns, latency_ns]);
            count_alone(live);
            live.in_flight.store(0, Relaxed);
        } else {
            let mut slot = Slot { io, asked_len: io.len, start_ns, issue_ns: start_ns, due_ns: 0 };
            now_ns = finish(core, engine, &mut slot, result, now_ns);
        }
    }
    None
}

/// Makes a request, again and again until all of it is done or the job stops; returns the time then.
fn carry_out<C: Clock>(core: &mut Core<'_, C>, engine: &mut dyn SyncOp, slot: &mut Slot) -> u64 {
    core.live.note_current(&slot.io);
    core.live.in_flight.store(1, Relaxed);
    let result = engine.call(&slot.io);
    let now_ns = core.clock.now_ns();
    finish(core, engine, slot, result, now_ns)
}

/// Accounts for a request that came back at `now_ns`, and makes what is left of it; returns the time at its end.
fn finish<C: Clock>(
    core: &mut Core<'_, C>,
    engine: &mut dyn SyncOp,
    slot: &mut Slot,
    mut result: i32,
    mut now_ns: u64,
) -> u64 {
    let live = core.live;
    loop {
        {
            let _batch = live.lock.write();
            if core.account(slot, result, now_ns) == Outcome::Done {
                core.leave_file(&slot.io, slot.asked_len);
                count_alone(live);
                break;
            }
        }
        if live.stop.load(Relaxed) {
            break;
        }
        result = engine.call(&slot.io);
        now_ns = core.clock.now_ns();
    }
    live.in_flight.store(0, Relaxed);
    now_ns
}

/// A request that went down and came up alone.
#[inline]
fn count_alone(live: &Live) {
    live.depth_counts[0].add(1);
    live.submit_counts[1].add(1);
    live.complete_counts[1].add(1);
}
