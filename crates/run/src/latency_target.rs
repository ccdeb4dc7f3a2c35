//! `latency_target`: the search for the largest depth at which a latency is kept.
//!
//! It begins at depth 1. A depth is judged by the I/Os of one window: enough of them must have kept the target. While
//! no depth has failed the depth doubles, afterwards it halves the distance between the largest that passed and the
//! smallest that failed. Where it no longer moves it is found.

use iostrata_spec::LatencySearch;

/// What a window led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The same depth goes on.
    Stay,
    /// What is in flight must come back, then this depth is tried.
    Try(u32),
    /// The depth is found: what is in flight must come back, then one more window is measured at it.
    Found(u32),
    /// That window is over.
    Done,
}

/// Where the search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Searching,
    /// One window is measured at the depth that was found.
    Measuring,
    /// It goes on: depths are left only for smaller ones.
    Running,
}

/// A search.
#[derive(Clone, Debug)]
pub(crate) struct DepthSearch {
    rules: LatencySearch,
    most: u32,
    depth: u32,
    /// Largest depth that passed, 0 for none.
    passed: u32,
    /// Smallest depth that failed.
    failed: Option<u32>,
    phase: Phase,
    /// I/Os of this window that took too long.
    late: u64,
    /// I/Os that were done when the window began.
    done_before: u64,
    window_end_ns: u64,
}

impl DepthSearch {
    /// A search up to the depth `most`; the first window begins with [`DepthSearch::begin_window`].
    pub(crate) fn new(rules: LatencySearch, most: u32) -> Self {
        DepthSearch {
            rules,
            most: most.max(1),
            depth: 1,
            passed: 0,
            failed: None,
            phase: Phase::Searching,
            late: 0,
            done_before: 0,
            window_end_ns: u64::MAX,
        }
    }

    /// The depth that is tried, or was found.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// When the window is to be judged.
    pub(crate) fn next_ns(&self) -> u64 {
        self.window_end_ns
    }

    /// A window begins; so many I/Os were done before.
    pub(crate) fn begin_window(&mut self, now_ns: u64, done: u64) {
        self.late = 0;
        self.done_before = done;
        self.window_end_ns = now_ns.saturating_add(self.rules.window_ns);
    }

    /// Whether one late I/O is enough: all of them must keep the target.
    fn strict(&self) -> bool {
        self.rules.percentile >= 100.0
    }

    /// An I/O took longer than the target. True if that cannot be: all must keep it, and no depth is smaller.
    pub(crate) fn note_late(&mut self) -> bool {
        if self.window_end_ns == u64::MAX {
            // It belongs to the depth before.
            return false;
        }
        self.late += 1;
        if self.strict() && self.phase != Phase::Measuring {
            // Judged at the next look.
            self.window_end_ns = 0;
            return self.depth == 1;
        }
        false
    }

    /// Judges the window if it is over, `done` I/Os being done by now.
    pub(crate) fn judge(&mut self, now_ns: u64, done: u64) -> Verdict {
        if now_ns < self.window_end_ns {
            return Verdict::Stay;
        }
        let all = done.saturating_sub(self.done_before).max(self.late);
        if all == 0 {
            // Nothing came back in time to judge by.
            self.window_end_ns = now_ns.saturating_add(self.rules.window_ns);
            return Verdict::Stay;
        }
        let kept = 100.0 * (all - self.late) as f64 / all as f64 >= self.rules.percentile;
        let verdict = match self.phase {
            Phase::Measuring => Verdict::Done,
            Phase::Running if kept => Verdict::Stay,
            Phase::Running => self.fall_below(),
            Phase::Searching => self.search(kept),
        };
        match verdict {
            Verdict::Stay => self.begin_window(now_ns, done),
            // The next window begins when nothing is in flight any more.
            Verdict::Try(_) | Verdict::Found(_) | Verdict::Done => self.window_end_ns = u64::MAX,
        }
        verdict
    }

    fn search(&mut self, kept: bool) -> Verdict {
        let next = if kept {
            self.passed = self.depth;
            match self.failed {
                None => self.depth.saturating_mul(2).min(self.most),
                Some(failed) => (self.depth + failed) / 2,
            }
        } else {
            self.failed = Some(self.depth);
            ((self.passed + self.depth) / 2).max(1)
        };
        if next != self.depth {
            self.depth = next;
            // Back at a depth that passed already: nothing between it and the one that failed is left.
            return if next == self.passed { self.found() } else { Verdict::Try(next) };
        }
        // A depth of 1 that fails has nothing below it: the job goes on as it is, in the hope of better times.
        if kept { self.found() } else { Verdict::Stay }
    }

    fn found(&mut self) -> Verdict {
        if self.rules.keep_running {
            self.phase = Phase::Running;
            return Verdict::Try(self.depth);
        }
        self.phase = Phase::Measuring;
        Verdict::Found(self.depth)
    }

    /// The depth that was found no longer keeps the target: a search among smaller ones.
    fn fall_below(&mut self) -> Verdict {
        self.phase = Phase::Searching;
        self.passed = 0;
        self.search(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW_NS: u64 = 1_000;

    fn rules(percentile: f64, keep_running: bool) -> LatencySearch {
        LatencySearch { target_ns: 50, window_ns: WINDOW_NS, percentile, keep_running }
    }

    /// Runs a search on a device whose I/Os are late in this many percent of cases at a depth; the depths that were
    /// tried, and how it ended.
    fn run(rules: LatencySearch, most: u32, late_percent: impl Fn(u32) -> u64) -> (Vec<u32>, Verdict) {
        let mut search = DepthSearch::new(rules, most);
        let (mut now_ns, mut done, mut tried) = (0, 0, vec![1]);
        search.begin_window(now_ns, done);
        for _ in 0..100 {
            let late = late_percent(search.depth());
            let impossible = (0..late).filter(|_| search.note_late()).count() > 0;
            if impossible {
                return (tried, Verdict::Stay);
            }
            (now_ns, done) = (now_ns + WINDOW_NS, done + 100);
            match search.judge(now_ns, done) {
                Verdict::Stay => return (tried, Verdict::Stay),
                Verdict::Done => return (tried, Verdict::Done),
                Verdict::Try(depth) | Verdict::Found(depth) => {
                    assert_eq!(depth, search.depth());
                    tried.push(depth);
                    search.begin_window(now_ns, done);
                }
            }
        }
        panic!("no end: {tried:?}");
    }

    #[test]
    fn the_depth_doubles_until_it_fails_and_then_halves_its_way() {
        for kept_up_to in 1..=32 {
            let late = |depth| if depth <= kept_up_to { 10 } else { 11 };
            let (tried, end) = run(rules(90.0, false), 32, late);
            assert_eq!((tried.last(), end), (Some(&kept_up_to), Verdict::Done), "{tried:?}");
            assert!(tried.len() <= 12, "{tried:?}");
        }
        let (tried, _) = run(rules(90.0, false), 32, |depth| if depth <= 11 { 10 } else { 11 });
        assert_eq!(tried, [1, 2, 4, 8, 16, 12, 10, 11, 11], "the last is the window that is measured");
    }

    #[test]
    fn where_depth_1_fails_the_job_goes_on_at_depth_1() {
        assert_eq!(run(rules(90.0, false), 32, |_| 50), (vec![1], Verdict::Stay));
    }

    #[test]
    fn where_all_must_keep_it_one_late_io_decides_at_once() {
        let mut search = DepthSearch::new(rules(100.0, false), 8);
        search.begin_window(0, 0);
        assert_eq!(search.judge(WINDOW_NS, 9), Verdict::Try(2));
        search.begin_window(WINDOW_NS, 9);
        assert!(!search.note_late(), "a smaller depth is left");
        assert_eq!(search.judge(WINDOW_NS + 1, 10), Verdict::Found(1), "long before the window's end");
        search.begin_window(WINDOW_NS + 1, 10);
        assert!(!search.note_late(), "the search is over");
        assert_eq!(search.judge(WINDOW_NS + 2, 11), Verdict::Stay);
        assert_eq!(search.judge(2 * WINDOW_NS + 1, 11), Verdict::Done);
        let mut search = DepthSearch::new(rules(100.0, false), 8);
        search.begin_window(0, 0);
        assert!(search.note_late(), "nothing is below depth 1");
    }

    #[test]
    fn a_window_without_any_io_is_judged_later() {
        let mut search = DepthSearch::new(rules(90.0, false), 8);
        search.begin_window(0, 0);
        assert_eq!(search.judge(WINDOW_NS, 0), Verdict::Stay);
        assert_eq!(search.judge(WINDOW_NS + 1, 5), Verdict::Stay, "the window was prolonged");
        assert_eq!(search.judge(2 * WINDOW_NS, 5), Verdict::Try(2));
    }

    #[test]
    fn with_latency_run_it_goes_on_and_goes_down_when_the_target_is_lost() {
        let mut search = DepthSearch::new(rules(90.0, true), 4);
        let mut now_ns = 0;
        let mut window = |late: u64| {
            search.begin_window(now_ns, 0);
            for _ in 0..late {
                search.note_late();
            }
            now_ns += WINDOW_NS;
            search.judge(now_ns, 100)
        };
        assert_eq!([window(0), window(0)], [Verdict::Try(2), Verdict::Try(4)]);
        assert_eq!([window(0), window(0), window(5)], [Verdict::Try(4), Verdict::Stay, Verdict::Stay]);
        assert_eq!([window(50), window(0)], [Verdict::Try(2), Verdict::Try(3)]);
        assert_eq!([window(50), window(0)], [Verdict::Try(2), Verdict::Stay]);
    }
}
