//! Where a job's data is checked, or its files are locked: what comes between its own requests, and what comes of it.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::{Io, Op};
use iostrata_spec::ErrorKind;

use super::core::{Core, Plan, Slot};
use super::feed::{Dry, Planned};
use crate::clock::Clock;
use crate::error::RunError;
use crate::verify::{Block, Next};

/// How long a worker that has requests in flight waits before it looks again whether a file is free.
const DOOR_LOOK_NS: u64 = 100_000;

/// A request that is planned and cannot be issued yet.
#[derive(Clone, Copy)]
pub(super) struct Held {
    planned: Planned,
    due_ns: u64,
    /// It reads back what was written.
    check: bool,
}

fn block(planned: &Planned) -> Block {
    Block { file: planned.file, offset: planned.offset, len: planned.len }
}

impl<C: Clock> Core<'_, C> {
    /// As [`Core::plan_next`], where data is checked or others are kept away from the files.
    pub(super) fn plan_with_care(&mut self, now_ns: u64) -> Plan {
        if self.keys.is_none() {
            return self.plan_with_checks(now_ns);
        }
        let (planned, due_ns) = match self.at_door.take() {
            Some(waiting) => waiting,
            None => {
                match if self.verifier.is_some() { self.plan_with_checks(now_ns) } else { self.plan_work(now_ns) } {
                    Plan::Io(planned, due_ns) => (planned, due_ns),
                    nothing => return nothing,
                }
            }
        };
        let goes_in = match &mut self.keys {
            Some(keys) if planned.len > 0 => keys.enter(planned.file, planned.op),
            _ => true,
        };
        if goes_in {
            return Plan::Io(planned, due_ns);
        }
        self.at_door = Some((planned, due_ns));
        // What is in flight comes back, or the wait is over.
        Plan::NotBefore(if self.live.in_flight.load(Relaxed) > 0 {
            now_ns.saturating_add(DOOR_LOOK_NS)
        } else {
            now_ns
        })
    }

    /// A request is over: others may go to its file.
    #[inline]
    pub(super) fn leave_file(&mut self, io: &Io, asked_len: u32) {
        if let Some(keys) = &mut self.keys
            && asked_len > 0
        {
            keys.leave(io.file, io.op);
        }
    }

    /// Where data is checked: checks come between, no request overtakes one of the same bytes.
    fn plan_with_checks(&mut self, now_ns: u64) -> Plan {
        let held = match self.held.take() {
            Some(held) => held,
            None => match self.plan_or_check(now_ns) {
                Ok(held) => held,
                Err(nothing) => return nothing,
            },
        };
        let Held { planned, due_ns, check } = held;
        if let Some(verifier) = &self.verifier
            && verifier.must_wait(planned.op, check, block(&planned))
        {
            self.held = Some(held);
            // Only a completion helps.
            return Plan::NotBefore(u64::MAX);
        }
        Plan::Io(planned, due_ns)
    }

    fn plan_or_check(&mut self, now_ns: u64) -> Result<Held, Plan> {
        loop {
            let next = self.verifier.as_mut().map_or(Next::Work, |verifier| verifier.next());
            match next {
                Next::Check(Block { file, offset, len }) => {
                    let planned = Planned { offset, len, file, op: Op::Read };
                    return Ok(Held { planned, due_ns: 0, check: true });
                }
                Next::Trim(Block { file, offset, len }) => {
                    let planned = Planned { offset, len, file, op: Op::Trim };
                    return Ok(Held { planned, due_ns: 0, check: false });
                }
                Next::Dry => return Err(Plan::Dry(Dry::Limit)),
                Next::Work => {}
            }
            let (planned, due_ns) = match self.plan_work(now_ns) {
                Plan::Io(planned, due_ns) => (planned, due_ns),
                nothing => return Err(nothing),
            };
            let verifier = self.verifier.as_mut();
            if !verifier.is_some_and(|verifier| verifier.leaves_out(planned.op, block(&planned))) {
                return Ok(Held { planned, due_ns, check: !self.job.workload.writes });
            }
        }
    }

    /// Checks the data of a request that has completed, or forgets what it was to write.
    #[cold]
    pub(super) fn check(&mut self, slot: &Slot, whole: bool) {
        let Some(verifier) = &mut self.verifier else { return };
        let Slot { io, .. } = slot;
        if !whole {
            verifier.fail(io.slot);
        } else if let Some(fault) = self.arena.with_bytes(io.slot, |bytes| verifier.complete(io.slot, io.op, bytes)) {
            self.note_wrong_data(fault);
        }
    }

    /// Data were not what was written.
    #[cold]
    fn note_wrong_data(&mut self, fault: String) {
        let goes_on = !self.job.verify.fatal && self.job.errors.pass_over(ErrorKind::Verify, libc::EILSEQ);
        if goes_on {
            self.live.pass_over(libc::EILSEQ);
            self.live.say(format!("job {}: verify: {fault}", self.job.name));
            return;
        }
        self.error.get_or_insert_with(|| RunError::job_errno(self.job, libc::EILSEQ, format!("verify: {fault}")));
        self.stopping = true;
    }

    /// After a pass: whether what it wrote is to be read back now.
    pub(super) fn begin_check(&mut self) -> bool {
        self.verifier.as_mut().is_some_and(|verifier| verifier.begin_check())
    }

    /// All that was read back is checked.
    pub(super) fn end_check(&mut self) {
        if let Some(fault) = self.verifier.as_mut().and_then(|verifier| verifier.end_check()) {
            self.note_wrong_data(fault);
        }
    }
}
