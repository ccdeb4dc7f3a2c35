//! Rates, pauses, limits of latency.

use super::MAX32;
use crate::job::{PerDirection, RateProcess, ThinkCount};
use crate::table::{Category, OptionSpec};
use crate::value::{Kind, TimeUnit, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Pacing, summary, doc)
}

/// What was given replaces what was; a rate of 0 is no limit.
fn merge(old: PerDirection<Option<u64>>, new: [Option<u64>; 3]) -> PerDirection<Option<u64>> {
    let one = |old: Option<u64>, new: Option<u64>| new.map_or(old, |n| (n > 0).then_some(n));
    PerDirection { read: one(old.read, new[0]), write: one(old.write, new[1]), trim: one(old.trim, new[2]) }
}

fn read_back(rates: PerDirection<Option<u64>>) -> Option<Value> {
    let three = rates.to_array();
    (three != [None; 3]).then_some(Value::PerDirection(three))
}

/// Reads and writes a limit for each direction; 0 is none.
macro_rules! three {
    ($($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| {
                if let Value::PerDirection(new) = v {
                    d.$($field).+ = merge(d.$($field).+, new)
                }
            },
            |d: &crate::draft::Draft| read_back(d.$($field).+),
        )
    };
}

const RATE_MINIMUM: &str = "A window of `rate_cycle` in which less is done ends the job with EIO; the first begins two \
                            seconds after the start.";

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "rate",
        Kind::PerDirection { min: 0, max: u64::MAX },
        "cap on bandwidth",
        "Bytes per second, for reads, writes and trims. I/Os that came late are caught up on. In a mixed job each \
        direction keeps its own rate, whatever `rwmixread` says.",
    )
    .access(three!(job.rate.bytes)),
    row("rate_min", Kind::PerDirection { min: 0, max: u64::MAX }, "lowest bandwidth", RATE_MINIMUM)
        .alias(&["ratemin"])
        .access(three!(job.rate.min_bytes)),
    row(
        "rate_iops",
        Kind::PerDirection { min: 0, max: u32::MAX as u64 },
        "cap on I/Os per second",
        "For reads, writes and trims. Not together with `rate`. At a low rate the latency of each I/O may well be \
        higher than at a high one: processor and device fall asleep between them. What the tool itself adds is told \
        apart: under a rate the result has `issue_lag_ns`, how late I/Os were issued, and `lat_intended_ns`, the \
        latency from the moment at which an I/O was due.",
    )
    .access(three!(job.rate.iops)),
    row("rate_iops_min", Kind::PerDirection { min: 0, max: u32::MAX as u64 }, "lowest I/Os per second", RATE_MINIMUM)
        .access(three!(job.rate.min_iops)),
    row(
        "rate_process",
        Kind::Choice(words!["linear": "evenly", "poisson": "by a Poisson process"]),
        "how I/Os arrive under a rate",
        "Evenly spaced, or at random with the same mean: the gaps are exponential, and the seed repeats them.",
    )
    .default("linear")
    .access(choice!(job.rate.process, "linear" => RateProcess::Linear, "poisson" => RateProcess::Poisson)),
    row("rate_cycle", Kind::Int { min: 1, max: MAX32 }, "window of rate_min", "Milliseconds.")
        .alias(&["ratecycle"])
        .default("1000")
        .access(int!(job.rate.cycle_ms)),
    row("rate_ignore_thinktime", Kind::Bool, "pauses are no arrears", "What a pause cost is not caught up on.")
        .default("0")
        .access(flag!(job.rate.ignores_think)),
    row("thinktime", Kind::Time(TimeUnit::Microseconds), "pause between I/Os", "After every `thinktime_blocks` I/Os.")
        .default("0s")
        .access(plain!(Nanos, job.think.pause_ns)),
    row(
        "thinktime_spin",
        Kind::Time(TimeUnit::Microseconds),
        "part of the pause spent spinning",
        "The CPU is kept \
        busy for it, then sleeps for the rest.",
    )
    .default("0s")
    .access(plain!(Nanos, job.think.spin_ns)),
    row(
        "thinkcycles",
        Kind::Int { min: 0, max: MAX32 },
        "cycles burned after each I/O",
        "The CPU is kept busy for about so many cycles before the next I/O, whatever `thinktime` says.",
    )
    .default("0")
    .access(int!(job.think.cycles)),
    row("thinktime_blocks", Kind::Int { min: 1, max: MAX32 }, "I/Os between pauses", "With `thinktime`.")
        .default("1")
        .access((
            |d, v| {
                if let Value::Int(n) = v {
                    d.job.think.blocks = n.unsigned_abs()
                }
            },
            |d| i64::try_from(d.job.think.blocks).ok().map(Value::Int),
        )),
    row(
        "thinktime_blocks_type",
        Kind::Choice(words!["complete": "completed", "issue": "issued"]),
        "which I/Os count for thinktime_blocks",
        "Those completed, or those issued.",
    )
    .default("complete")
    .access(choice!(job.think.count, "complete" => ThinkCount::Complete, "issue" => ThinkCount::Issue)),
    row(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        "I/O time between pauses",
        "The pause comes after so much time of I/O, waits for a rate left out; where `thinktime_blocks` is given too, \
        after what comes first.",
    )
    .default("0s")
    .access(plain!(Nanos, job.think.io_ns)),
    row(
        "max_latency",
        Kind::PerDirectionTime(TimeUnit::Microseconds),
        "fail on a slower I/O",
        "An I/O that takes longer ends the job with ETIMEDOUT.",
    )
    .access(three!(job.max_latency_ns)),
    row(
        "latency_target",
        Kind::Time(TimeUnit::Microseconds),
        "find the depth that meets a latency",
        "The search begins at depth 1 and doubles it while `latency_percentile` percent of the I/Os of a \
        `latency_window` keep the target, then halves its way to the highest depth that does. One more window is \
        measured there, and the job ends. With `latency_percentile=100` a single slower I/O judges a depth, and at \
        depth 1 it ends the job with ETIMEDOUT. A job with which depth 1 fails goes on at depth 1.",
    )
    .default("0s")
    .access(plain!(Nanos, job.latency_search.target_ns)),
    row(
        "latency_window",
        Kind::Time(TimeUnit::Microseconds),
        "sample window of latency_target",
        "With `latency_target`.",
    )
    .default("0s")
    .access(plain!(Nanos, job.latency_search.window_ns)),
    row(
        "latency_percentile",
        Kind::Floats { most: 1, above: 0.0, max: 100.0 },
        "share that must meet latency_target",
        "Percent of the I/Os.",
    )
    .default("100")
    .access((
        |d, v| {
            if let Value::Floats(list) = v
                && let Some(percentile) = list.values.first()
            {
                d.job.latency_search.percentile = *percentile
            }
        },
        |d| Some(Value::number(d.job.latency_search.percentile)),
    )),
    row("latency_run", Kind::Bool, "go on after the depth is found", "With `latency_target`.")
        .default("0")
        .access(flag!(job.latency_search.keep_running)),
];
