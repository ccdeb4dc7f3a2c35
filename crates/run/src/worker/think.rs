//! Pauses: the `thinktime` family and `thinkcycles`.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_spec::{Job, ThinkCount};

use super::core::Core;
use crate::clock::Clock;
use crate::latency_target::Verdict;

/// So many I/Os nobody waits for, and more can be counted still.
const NEVER: u64 = u64::MAX / 2;

/// Where a job stands between two pauses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinking {
    /// I/Os completed, or issued, since the last pause.
    pub(super) since: u64,
    /// `thinktime_blocks`; out of reach where `thinktime_iotime` alone says when to pause.
    pub(super) blocks: u64,
    /// Nothing was issued since the last pause.
    pub(super) owes_io: bool,
    /// At the end of the last pause there were enough I/Os for the next one.
    had_enough: bool,
    /// I/Os that `thinkcycles` were burned for.
    burned_ios: u64,
}

impl Thinking {
    pub(super) fn of(job: &Job) -> Self {
        Thinking { since: 0, blocks: job.think.blocks.min(NEVER), owes_io: false, had_enough: false, burned_ios: 0 }
    }
}

/// What comes between two I/Os of a job that thinks, or that searches for its depth.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interlude {
    /// A pause.
    Think,
    /// The search decided something.
    Judge(Verdict),
}

/// How a loop goes on after that.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// As before.
    Go,
    /// With so many in flight at most.
    Depth(u32),
    /// Not at all.
    End,
}

impl<C: Clock> Core<'_, C> {
    /// What is to be done before the next I/O, if anything; nothing may be in flight then. Burns `thinkcycles`, which
    /// moves the time.
    pub(super) fn interlude(&mut self, now_ns: &mut u64) -> Option<Interlude> {
        if let Some(verdict) = self.verdict {
            return Some(Interlude::Judge(verdict));
        }
        if self.job.think.cycles > 0 {
            *now_ns = self.burn(*now_ns);
        }
        let thinks =
            self.job.think.pause_ns > 0 && self.thinking.since >= self.thinking.blocks && !self.thinking.owes_io;
        thinks.then(|| {
            self.begin_thinking();
            Interlude::Think
        })
    }

    /// Does it: how the loop goes on.
    pub(super) fn perform(&mut self, interlude: Interlude) -> After {
        match interlude {
            Interlude::Think => {
                self.think();
                After::Go
            }
            Interlude::Judge(verdict) => match self.follow(verdict, self.clock.now_ns()) {
                Some(depth) => After::Depth(depth),
                None => After::End,
            },
        }
    }

    /// How many I/Os may be issued before the next think time.
    #[inline]
    pub(super) fn think_room(&self) -> usize {
        if self.job.think.pause_ns == 0 {
            return usize::MAX;
        }
        match (self.thinking.blocks.saturating_sub(self.thinking.since), self.job.think.count) {
            (0, _) => 1,
            (left, ThinkCount::Issue) => usize::try_from(left).unwrap_or(usize::MAX),
            (_, ThinkCount::Complete) => usize::MAX,
        }
    }

    /// The count for the next think time begins. As in fio, what came back beyond the I/Os of this one, and what is
    /// still in flight, counts for the next; if it is enough already, one more I/O comes before that, and then the
    /// count begins at nothing.
    fn begin_thinking(&mut self) {
        self.thinking.since =
            if self.thinking.had_enough { 0 } else { self.thinking.since.saturating_sub(self.thinking.blocks) };
        self.watch.pauses();
    }

    /// Waits out the think time.
    fn think(&mut self) {
        let now_ns = self.clock.now_ns();
        let until_ns = now_ns.saturating_add(self.job.think.pause_ns).min(self.timeline.end_ns());
        let spin_until_ns = now_ns.saturating_add(self.job.think.spin_ns).min(until_ns);
        if self.job.think.spin_ns > 0 && !self.plan.engine.caps.virtual_time {
            while self.clock.now_ns() < spin_until_ns && !self.live.stop.load(Relaxed) {
                std::hint::spin_loop();
            }
        }
        self.sleep_until(until_ns);
        let after_ns = self.clock.now_ns();
        if let Some(pacer) = self.pacer.as_mut().filter(|_| self.job.rate.ignores_think) {
            pacer.postpone(after_ns.saturating_sub(now_ns));
        }
        self.thinking.owes_io = true;
        self.thinking.had_enough = self.thinking.since >= self.thinking.blocks;
        self.watch.paused(after_ns);
        self.timeline.watch_at(self.watch.next_ns());
    }

    /// Sleeps until the rate lets the next I/O go. That is no time of I/O for `thinktime_iotime`, as in fio.
    pub(super) fn rest_until(&mut self, due_ns: u64) {
        let left_ns = self.watch.hold(self.clock.now_ns());
        self.timeline.watch_at(self.watch.next_ns());
        self.sleep_until(due_ns);
        self.watch.resume(left_ns, self.clock.now_ns());
        self.timeline.watch_at(self.watch.next_ns());
    }

    /// Burns `thinkcycles` for each I/O that was done since the last time, and tells the time after it.
    fn burn(&mut self, now_ns: u64) -> u64 {
        let done = self.live.ios();
        // The end of a ramp makes the counts begin anew.
        let fresh = done.checked_sub(self.thinking.burned_ios).unwrap_or(done);
        self.thinking.burned_ios = done;
        if fresh == 0 || self.plan.engine.caps.virtual_time {
            return now_ns;
        }
        for cycle in 0..fresh.saturating_mul(self.job.think.cycles.into()) {
            std::hint::black_box(cycle);
        }
        self.clock.now_ns()
    }
}
