//! Where a job's data is checked: checks between its own requests, and what comes of them.

use iostrata_engine::Op;
use iostrata_spec::ErrorKind;

use super::core::{Core, Plan, Slot};
use super::feed::{Dry, Planned};
use crate::clock::Clock;
use crate::error::RunError;
use crate::verify::{Block, Next};

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
    /// As [`Core::plan_next`], where data is checked: checks come between, no request overtakes one of the same bytes.
    pub(super) fn plan_with_checks(&mut self, now_ns: u64) -> Plan {
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
