//! What a worker keeps an eye on besides its I/O: the lowest rates, the time between pauses, the search for a depth,
//! and what its group decides.

use std::sync::Arc;

use iostrata_spec::Job;

use crate::group::Group;
use crate::latency_target::DepthSearch;
use crate::live::Live;

/// From the start on, the lowest rates are not judged for so long, as in fio.
const SETTLE_NS: u64 = 2_000_000_000;

/// Everything that is watched. Nothing of it is touched by the loops until `next_ns` has come.
pub(super) struct Watch {
    /// When there is something to look at: the earliest of all that follows.
    next_ns: u64,
    lowest: Option<LowestRates>,
    /// When the next pause is due by `thinktime_iotime`.
    think_at_ns: u64,
    think_io_ns: u64,
    pub(super) group: Option<Arc<Group>>,
    pub(super) search: Option<DepthSearch>,
}

impl Watch {
    /// A job that starts at `start_ns`, at most at this depth.
    pub(super) fn new(job: &Job, group: Option<Arc<Group>>, depth: u32, start_ns: u64) -> Self {
        let search = (job.latency_search.target_ns > 0).then(|| DepthSearch::new(job.latency_search, depth));
        let think_io_ns = if job.think.pause_ns > 0 { job.think.io_ns } else { 0 };
        let mut watch = Watch {
            next_ns: u64::MAX,
            lowest: LowestRates::of(job),
            think_at_ns: u64::MAX,
            think_io_ns,
            group,
            search,
        };
        watch.paused(start_ns);
        watch
    }

    /// Measuring begins; what was counted before is forgotten.
    pub(super) fn measuring_begins(&mut self, live: &Live, now_ns: u64) {
        if let Some(lowest) = &mut self.lowest {
            lowest.next_ns = now_ns.saturating_add(SETTLE_NS);
            lowest.last = None;
        }
        if let Some(search) = &mut self.search {
            search.begin_window(now_ns, live.ios());
        }
        if let Some(group) = &self.group {
            group.measuring_begins(now_ns);
        }
        self.plan_next();
    }

    /// A pause begins: none is due in it.
    pub(super) fn pauses(&mut self) {
        self.think_at_ns = u64::MAX;
    }

    /// A rest begins that is no I/O: what is left of the time of I/O until the next pause. Nothing is due meanwhile.
    pub(super) fn hold(&mut self, now_ns: u64) -> u64 {
        let think_at_ns = std::mem::replace(&mut self.think_at_ns, u64::MAX);
        self.plan_next();
        think_at_ns.saturating_sub(now_ns)
    }

    /// The rest is over.
    pub(super) fn resume(&mut self, left_ns: u64, now_ns: u64) {
        if self.think_io_ns > 0 {
            self.think_at_ns = now_ns.saturating_add(left_ns);
        }
        self.plan_next();
    }

    /// A pause is over (or I/O begins): the next one is due by `thinktime_iotime` so much later.
    pub(super) fn paused(&mut self, now_ns: u64) {
        if self.think_io_ns > 0 {
            self.think_at_ns = now_ns.saturating_add(self.think_io_ns);
        }
        self.plan_next();
    }

    /// When there is something to look at.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Whether it is time to pause; says so once.
    pub(super) fn think_is_due(&mut self, now_ns: u64) -> bool {
        let due = now_ns >= self.think_at_ns;
        if due {
            self.think_at_ns = u64::MAX;
        }
        due
    }

    /// Looks at the rates and the group. A rate that is too low, as a sentence, ends the job.
    pub(super) fn look(&mut self, live: &Live, now_ns: u64) -> Option<String> {
        if let Some(group) = &self.group {
            group.look(now_ns);
        }
        self.lowest.as_mut().and_then(|lowest| lowest.look(live, now_ns))
    }

    /// To be called after the looks.
    pub(super) fn plan_next(&mut self) {
        let lowest_ns = self.lowest.as_ref().map_or(u64::MAX, |lowest| lowest.next_ns);
        let group_ns = self.group.as_ref().map_or(u64::MAX, |group| group.next_look_ns());
        let search_ns = self.search.as_ref().map_or(u64::MAX, DepthSearch::next_ns);
        self.next_ns = lowest_ns.min(group_ns).min(search_ns).min(self.think_at_ns);
    }
}

/// `rate_min` and `rate_iops_min`, judged over windows of `rate_cycle`.
struct LowestRates {
    bytes: [Option<u64>; 3],
    ios: [Option<u64>; 3],
    cycle_ns: u64,
    next_ns: u64,
    /// When the window began, and what was done then (bytes and I/Os of each direction).
    last: Option<(u64, [(u64, u64); 3])>,
}

impl LowestRates {
    fn of(job: &Job) -> Option<Self> {
        let (bytes, ios) = (job.rate.min_bytes.to_array(), job.rate.min_iops.to_array());
        let any = bytes.iter().chain(&ios).any(Option::is_some);
        let cycle_ns = u64::from(job.rate.cycle_ms) * 1_000_000;
        any.then_some(LowestRates { bytes, ios, cycle_ns, next_ns: u64::MAX, last: None })
    }

    fn look(&mut self, live: &Live, now_ns: u64) -> Option<String> {
        if now_ns < self.next_ns {
            return None;
        }
        let done = live.directions().each_ref().map(|direction| {
            direction.as_ref().map_or((0, 0), |direction| (direction.bytes.get(), direction.ios.get()))
        });
        let before = self.last.replace((now_ns, done));
        self.next_ns = now_ns.saturating_add(self.cycle_ns);
        let (since_ns, before) = before?;
        let per_second = |now: u64, before: u64| {
            let elapsed_ns = u128::from(now_ns.saturating_sub(since_ns).max(1));
            u128::from(now.saturating_sub(before)) * 1_000_000_000 / elapsed_ns
        };
        for direction in (0..3).filter(|&direction| live.directions()[direction].is_some()) {
            let (now, then) = (done[direction], before[direction]);
            let (bytes, ios) = (per_second(now.0, then.0), per_second(now.1, then.1));
            if let Some(least) = self.bytes[direction].filter(|&least| bytes < u128::from(least)) {
                return Some(format!("rate_min={least}B/s not met, got {bytes}B/s"));
            }
            if let Some(least) = self.ios[direction].filter(|&least| ios < u128::from(least)) {
                return Some(format!("rate_iops_min={least} not met, got {ios} IOPS"));
            }
        }
        None
    }
}
