//! The loop for engines that do one request at a time in the calling thread.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::SyncOp;

use super::core::{Core, Outcome, PassEnd, Plan};
use super::feed::Dry;
use super::think::After;
use crate::clock::Clock;

/// The only slot.
const SLOT: u32 = 0;

/// One pass over the files.
pub(super) fn pass<C: Clock>(core: &mut Core<'_, C>, engine: &mut dyn SyncOp) -> PassEnd {
    let fills = core.fills();
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
        if fills || due_ns > 0 {
            core.fill(&slot.io, now_ns);
            slot.start_ns = core.clock.now_ns();
            slot.issue_ns = slot.start_ns;
        }
        core.live.note_current(&slot.io);
        if let Some(recording) = &mut core.recording {
            recording.io(&slot.io, slot.issue_ns);
        }
        core.live.in_flight.store(1, Relaxed);
        loop {
            let result = engine.call(&slot.io);
            now_ns = core.clock.now_ns();
            let _batch = core.live.lock.write();
            if core.account(&mut slot, result, now_ns) == Outcome::Done {
                core.leave_file(&slot.io, slot.asked_len);
                core.live.depth_counts[0].add(1);
                core.live.submit_counts[1].add(1);
                core.live.complete_counts[1].add(1);
                break;
            }
            if core.live.stop.load(Relaxed) {
                break;
            }
        }
        core.live.in_flight.store(0, Relaxed);
    }
}
