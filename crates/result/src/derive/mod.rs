//! The one place that computes numbers: rates, merges, percentiles, shares. Pure functions of a [`RunResult`].
//!
//! Formulas follow fio, so that the same raw facts give the same printed number; where one differs it says so.
//!
//! * A time is rounded up to whole milliseconds for a direction and down for a worker.
//! * A rate is 1000·n / ms, in integers for bytes, in floating point for I/Os.
//! * Latencies of several workers are pooled exactly. *Samples* of bandwidth and IOPS are added up instead, because
//!   the workers ran side by side: the minimum of a group is the sum of its members' minima, likewise maximum and mean;
//!   its spread is that within the members, their distance from each other left out.

mod direction;
mod disk;
mod group;
mod idle;
mod latency;
pub mod leaves;
mod report;
mod steady;

pub use direction::{Direction, Kind, PriorityLatency, Samples};
pub use disk::{Disk, DiskCounts, disks};
pub use group::{GroupRow, GroupSummary, groups};
pub use idle::Idleness;
pub use latency::{Latency, Percentile};
pub use report::{Report, reports};
pub use steady::Steadiness;

use crate::model::{End, RunResult};

/// Exit code of a run that a signal ended.
pub const EXIT_SIGNAL: u8 = 128;

/// fio's exit code: 128 when a signal ended the run, else the number of workers that failed (255 when there are more,
/// where fio would start again at 0). Errors that a job was told to go on after do not count.
pub fn exit_code(run: &RunResult) -> u8 {
    if matches!(run.end, End::Signal(_)) {
        return EXIT_SIGNAL;
    }
    // A worker that did not begin may have no errno, only a sentence.
    let failed = run.workers.iter().filter(|worker| worker.error != 0 || worker.error_text.is_some()).count();
    u8::try_from(failed).unwrap_or(u8::MAX)
}

/// Shares of a whole, percent: one common denominator, so they add up to 100 (or are all 0).
pub fn shares<const N: usize>(counts: &[u64; N]) -> [f64; N] {
    let total: u128 = counts.iter().map(|&count| u128::from(count)).sum();
    counts.map(|count| if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 })
}

/// A share as all of fio's formats show it: one that is not nothing is never shown as less than `least` percent.
pub fn shown_share(percent: f64, least: f64) -> f64 {
    if percent > 0.0 { percent.max(least) } else { percent }
}

/// [`shown_share`]'s least share of I/O depths and batch sizes.
pub const LEAST_DEPTH_SHARE: f64 = 0.1;
/// [`shown_share`]'s least share of latency buckets.
pub const LEAST_LATENCY_SHARE: f64 = 0.01;

/// `part` in percent of `whole`; 0 of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// `1000·count / ms`, 0 for no time.
fn per_second(count: u64, ms: u64) -> u64 {
    let rate = (u128::from(count) * 1000).checked_div(u128::from(ms)).unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}
