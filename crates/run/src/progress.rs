//! How far a run is, for the status line.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::live::{Live, State};
use crate::plan::{Plan, WorkerPlan};

/// One moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Bytes written and to be written, while files are laid out.
    pub layout: Option<(u64, u64)>,
    /// Workers that are not done.
    pub running: u32,
    /// Files open.
    pub open_files: u32,
    /// Where each worker stands, in order.
    pub states: Vec<State>,
    /// Share done, 0 to 1; `None` if nobody can tell.
    pub done: Option<f64>,
    /// Bytes per second of reads, writes, trims since the last look.
    pub bytes_per_second: [u64; 3],
    /// I/Os per second of reads, writes, trims since the last look.
    pub ios_per_second: [u64; 3],
    /// Seconds left; `None` if nobody can tell.
    pub seconds_left: Option<u64>,
    /// Directions that any job uses.
    pub used: [bool; 3],
}

impl Progress {
    pub(crate) fn of_layout(filled_bytes: u64, total_bytes: u64) -> Self {
        Progress { layout: Some((filled_bytes, total_bytes)), ..Progress::default() }
    }
}

/// Remembers the last look, to make rates of counts.
pub(crate) struct Rates {
    last_ns: u64,
    last: [(u64, u64); 3],
}

impl Rates {
    /// Nothing was done before `now_ns`.
    pub(crate) fn since(now_ns: u64) -> Self {
        Rates { last_ns: now_ns, last: [(0, 0); 3] }
    }

    /// Looks at all workers.
    pub(crate) fn progress(&mut self, plan: &Plan, lives: &[Arc<Live>], now_ns: u64) -> Progress {
        let mut totals = [(0, 0); 3];
        for live in lives {
            for (total, direction) in totals.iter_mut().zip(live.directions()) {
                if let Some(direction) = direction {
                    total.0 += direction.bytes.get();
                    total.1 += direction.ios.get();
                }
            }
        }
        let elapsed_ns = now_ns.saturating_sub(self.last_ns).max(1);
        // A ramp that ended between two looks makes the counts fall: such a look has no rate.
        let rate = |now: u64, before: u64| {
            (u128::from(now.saturating_sub(before)) * 1_000_000_000 / u128::from(elapsed_ns)) as u64
        };
        let per_second = |pick: fn((u64, u64)) -> u64| {
            std::array::from_fn(|index| rate(pick(totals[index]), pick(self.last[index])))
        };
        let shares: Vec<Option<(f64, Option<u64>)>> =
            plan.workers.iter().zip(lives).map(|(worker, live)| share_done(worker, live, now_ns)).collect();
        let all_known = shares.iter().all(Option::is_some);
        let slowest = shares.iter().flatten().map(|(share, _)| *share).fold(1.0_f64, f64::min);
        let left = shares.iter().flatten().filter_map(|(_, left)| *left).max();
        let progress = Progress {
            layout: None,
            running: lives.iter().filter(|live| !live.has_ended()).count() as u32,
            open_files: lives.iter().map(|live| live.open_files.load(Relaxed)).sum(),
            states: lives.iter().map(|live| live.state()).collect(),
            done: (all_known && !shares.is_empty()).then_some(slowest),
            bytes_per_second: per_second(|total| total.0),
            ios_per_second: per_second(|total| total.1),
            seconds_left: if all_known { left } else { None },
            used: std::array::from_fn(|index| lives.iter().any(|live| live.directions()[index].is_some())),
        };
        self.last = totals;
        self.last_ns = now_ns;
        progress
    }
}

/// Share of a worker's work that is done, and the seconds that the rest will take.
fn share_done(worker: &WorkerPlan, live: &Live, now_ns: u64) -> Option<(f64, Option<u64>)> {
    if live.has_ended() {
        return Some((1.0, Some(0)));
    }
    let started_ns = live.io_start_ns.load(Relaxed);
    if started_ns == 0 {
        return None;
    }
    let job = &worker.job;
    let elapsed_ns = now_ns.saturating_sub(started_ns) as f64;
    let by_time = (job.runtime_ns > 0).then(|| elapsed_ns / (job.ramp_ns.saturating_add(job.runtime_ns)) as f64);
    let bytes: u64 = live.directions().iter().flatten().map(|direction| direction.bytes.get()).sum();
    let asked = worker.io_bytes.saturating_mul(u64::from(job.loops));
    let by_bytes = (!job.time_based && asked > 0).then(|| bytes as f64 / asked as f64);
    let share = by_time.unwrap_or(0.0).max(by_bytes.unwrap_or(0.0)).min(1.0);
    let left = (share > 0.0).then(|| ((elapsed_ns / share - elapsed_ns) / 1e9).round() as u64);
    Some((share, left))
}
