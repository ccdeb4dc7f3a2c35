//! The loop for engines that have no requests, but steps of their own (`cpuio`, `exec`).

use iostrata_engine::{EngineError, Io, Op, Step, Task};

use super::core::{Core, PassEnd, Slot};
use crate::clock::Clock;

/// How long to wait before a step that goes on is looked at again.
const LOOK_NS: u64 = 1_000_000;

/// All of the job. Each piece of work counts as a read of no bytes, as in fio.
pub(super) fn run<C: Clock>(core: &mut Core<'_, C>, task: &mut dyn Task) -> Result<PassEnd, EngineError> {
    let mut begun_ns = None;
    let result = steps(core, task, &mut begun_ns);
    task.end(&core.live.abandon);
    // What the end of the run cut short was work, too.
    if let (Ok(()), Some(since_ns)) = (&result, begun_ns) {
        count(core, since_ns, core.clock.now_ns());
    }
    result.map(|()| PassEnd::Stop)
}

fn steps<C: Clock>(core: &mut Core<'_, C>, task: &mut dyn Task, begun_ns: &mut Option<u64>) -> Result<(), EngineError> {
    let mut left = core.job.number_ios.unwrap_or(u64::MAX);
    while left > 0 {
        let now_ns = core.clock.now_ns();
        if core.must_stop(now_ns) {
            break;
        }
        let since_ns = *begun_ns.get_or_insert(now_ns);
        let step = task.step(&core.live.stop, core.timeline.end_ns())?;
        if step == Step::Busy {
            core.sleep_until(now_ns + LOOK_NS);
            continue;
        }
        *begun_ns = None;
        left -= 1;
        let done_ns = core.clock.now_ns();
        count(core, since_ns, done_ns);
        match step {
            Step::Done { rest_ns } if left > 0 => core.rest_until(done_ns.saturating_add(rest_ns)),
            _ => {}
        }
        if step == Step::Last {
            break;
        }
    }
    Ok(())
}

fn count<C: Clock>(core: &mut Core<'_, C>, since_ns: u64, done_ns: u64) {
    let io = Io { len: 0, op: Op::Read, ..Slot::EMPTY.io };
    let mut slot = Slot { io, start_ns: since_ns, issue_ns: since_ns, ..Slot::EMPTY };
    let live = core.live;
    let _batch = live.lock.write();
    core.account(&mut slot, 0, done_ns);
    live.depth_counts[0].add(1);
    live.submit_counts[1].add(1);
    live.complete_counts[1].add(1);
}
