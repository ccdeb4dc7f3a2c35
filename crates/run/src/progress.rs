//! How far a run is, for the status line.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::Laid;
use crate::live::{Live, State};
use crate::plan::{Plan, WorkerPlan};

/// One moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How far the files are made, while they are laid out.
    pub layout: Option<Laid>,
    /// Workers that are not done.
    pub running: u32,
    /// Files open.
    pub open_files: u32,
    /// Where each worker stands, in order.
    pub states: Vec<State>,
    /// I/Os that each has in flight, in the same order.
    pub in_flight: Vec<u32>,
    /// Share done, 0 to 1; `None` if nobody can tell.
    pub done: Option<f64>,
    /// Bytes of reads, writes, trims that are counted so far.
    pub bytes: [u64; 3],
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
    pub(crate) fn of_layout(laid: Laid) -> Self {
        Progress { layout: Some(laid), ..Progress::default() }
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
            // To the nearest: looks are never exactly a second apart.
            let (done, elapsed_ns) = (u128::from(now.saturating_sub(before)), u128::from(elapsed_ns));
            ((done * 1_000_000_000 + elapsed_ns / 2) / elapsed_ns) as u64
        };
        let per_second = |pick: fn((u64, u64)) -> u64| {
            std::array::from_fn(|index| rate(pick(totals[index]), pick(self.last[index])))
        };
        let (done, seconds_left) = outlook(plan, lives, now_ns);
        let progress = Progress {
            layout: None,
            running: lives.iter().filter(|live| !live.has_ended()).count() as u32,
            open_files: lives.iter().map(|live| live.open_files.load(Relaxed)).sum(),
            states: lives.iter().map(|live| live.state()).collect(),
            in_flight: plan.workers.iter().zip(lives).map(|(worker, live)| in_flight(worker, live)).collect(),
            done,
            bytes: totals.map(|total| total.0),
            bytes_per_second: per_second(|total| total.0),
            ios_per_second: per_second(|total| total.1),
            seconds_left,
            used: std::array::from_fn(|index| lives.iter().any(|live| live.directions()[index].is_some())),
        };
        self.last = totals;
        self.last_ns = now_ns;
        progress
    }
}

/// A worker that does one I/O at a time does not count it.
fn in_flight(worker: &WorkerPlan, live: &Live) -> u32 {
    let one = worker.engine.caps.synchronous && !worker.offloads();
    let works = matches!(live.state(), State::Ramp | State::Running | State::Verifying);
    if one { u32::from(works) } else { live.in_flight.load(Relaxed) }
}

/// Share of the whole run that is done, and the seconds that it still needs. A stage takes as long as its slowest
/// worker; what nobody can tell stays unknown.
fn outlook(plan: &Plan, lives: &[Arc<Live>], now_ns: u64) -> (Option<f64>, Option<u64>) {
    // Virtual time has no now.
    if plan.workers.is_empty() || plan.virtual_time {
        return (None, None);
    }
    let mut left_by_stage = vec![Some(0.0_f64); plan.stages() as usize];
    for (worker, live) in plan.workers.iter().zip(lives) {
        let left = &mut left_by_stage[worker.stage as usize];
        *left = left.zip(seconds_left(worker, live, now_ns)).map(|(stage, worker)| stage.max(worker));
    }
    let Some(left) = left_by_stage.into_iter().try_fold(0.0, |sum, stage| Some(sum + stage?)) else {
        return (None, None);
    };
    let started_ns = lives.iter().map(|live| live.io_start_ns.load(Relaxed)).filter(|&start_ns| start_ns > 0).min();
    let elapsed = started_ns.map_or(0.0, |start_ns| now_ns.saturating_sub(start_ns) as f64 / 1e9);
    let whole = elapsed + left;
    (Some(if whole > 0.0 { elapsed / whole } else { 0.0 }), Some(left.round() as u64))
}

/// Seconds that a worker still needs: by its time, or as fast as so far.
fn seconds_left(worker: &WorkerPlan, live: &Live, now_ns: u64) -> Option<f64> {
    /// Less done than this tells nothing about the rest.
    const LEAST_SHARE: f64 = 1e-6;
    if live.has_ended() {
        return Some(0.0);
    }
    let job = &worker.job;
    // In seconds: no sum of times can be too large for that.
    let timed = (job.ramp_ns as f64 + job.runtime_ns as f64) / 1e9;
    let started_ns = live.io_start_ns.load(Relaxed);
    if started_ns == 0 {
        let known = job.runtime_ns > 0 && job.time_based;
        return known.then_some(job.start_delay_ns.1 as f64 / 1e9 + timed);
    }
    let elapsed = now_ns.saturating_sub(started_ns) as f64 / 1e9;
    let by_time = (job.runtime_ns > 0).then_some((timed - elapsed).max(0.0));
    let bytes: u64 = live.directions().iter().flatten().map(|direction| direction.bytes.get()).sum();
    let asked = worker.io_bytes.saturating_mul(u64::from(job.loops));
    let share = if job.time_based || asked == 0 { 0.0 } else { (bytes as f64 / asked as f64).min(1.0) };
    let by_bytes = (share > LEAST_SHARE).then(|| elapsed / share - elapsed);
    match (by_time, by_bytes) {
        (Some(time), Some(bytes)) => Some(time.min(bytes)),
        (time, bytes) => time.or(bytes),
    }
}
