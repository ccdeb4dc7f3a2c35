//! Rates, pauses, limits of latency.

use super::MAX32;
use crate::job::PerDirection;
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

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "rate",
        Kind::PerDirection { min: 0, max: u64::MAX },
        "cap on bandwidth",
        "Bytes per second, for reads, writes \
        and trims. I/Os that came late are caught up on.",
    )
    .access((
        |d, v| {
            if let Value::PerDirection(new) = v {
                d.job.rate_bytes = merge(d.job.rate_bytes, new)
            }
        },
        |d| read_back(d.job.rate_bytes),
    )),
    row("rate_min", Kind::PerDirection { min: 0, max: u64::MAX }, "lowest bandwidth", "The job fails below it.")
        .alias(&["ratemin"])
        .harmless(&["0"]),
    row(
        "rate_iops",
        Kind::PerDirection { min: 0, max: u32::MAX as u64 },
        "cap on I/Os per second",
        "For reads, \
        writes and trims. Not together with `rate`.",
    )
    .access((
        |d, v| {
            if let Value::PerDirection(new) = v {
                d.job.rate_iops = merge(d.job.rate_iops, new)
            }
        },
        |d| read_back(d.job.rate_iops),
    )),
    row(
        "rate_iops_min",
        Kind::PerDirection { min: 0, max: u32::MAX as u64 },
        "lowest I/Os per second",
        "The job fails \
        below it.",
    )
    .harmless(&["0"]),
    row(
        "rate_process",
        Kind::Choice(words!["linear": "evenly", "poisson": "by a Poisson process"]),
        "how I/Os arrive under a rate",
        "Evenly spaced, or at random with the same mean.",
    )
    .default("linear")
    .harmless(&["linear"]),
    row("rate_cycle", Kind::Int { min: 0, max: MAX32 }, "window of rate_min", "Milliseconds.")
        .alias(&["ratecycle"])
        .default("1000"),
    row("rate_ignore_thinktime", Kind::Bool, "pauses are no arrears", "What a pause cost is not caught up on.")
        .harmless(&["0"]),
    row("thinktime", Kind::Time(TimeUnit::Microseconds), "pause between I/Os", "After every `thinktime_blocks` I/Os.")
        .default("0s")
        .access(plain!(Nanos, job.think_ns)),
    row(
        "thinktime_spin",
        Kind::Time(TimeUnit::Microseconds),
        "part of the pause spent spinning",
        "The CPU is kept \
        busy for it, then sleeps for the rest.",
    )
    .default("0s")
    .access(plain!(Nanos, job.think_spin_ns)),
    row("thinkcycles", Kind::Int { min: 0, max: MAX32 }, "cycles burned after each I/O", "Whatever `thinktime` says.")
        .default("0")
        .harmless(&["0"]),
    row("thinktime_blocks", Kind::Int { min: 1, max: MAX32 }, "I/Os between pauses", "With `thinktime`.")
        .default("1")
        .access((
            |d, v| {
                if let Value::Int(n) = v {
                    d.job.think_blocks = n.unsigned_abs()
                }
            },
            |d| i64::try_from(d.job.think_blocks).ok().map(Value::Int),
        )),
    row(
        "thinktime_blocks_type",
        Kind::Choice(words!["complete": "completed", "issue": "issued"]),
        "which I/Os count for thinktime_blocks",
        "Those completed, or those issued.",
    )
    .default("complete")
    .harmless(&["complete"]),
    row(
        "thinktime_iotime",
        Kind::Time(TimeUnit::Seconds),
        "I/O time between pauses",
        "As `thinktime_blocks`, by time.",
    )
    .default("0s")
    .harmless(&["0"]),
    row(
        "max_latency",
        Kind::PerDirectionTime(TimeUnit::Microseconds),
        "fail on a slower I/O",
        "The job ends with \
        ETIMEDOUT.",
    )
    .harmless(&["0"]),
    row(
        "latency_target",
        Kind::Time(TimeUnit::Microseconds),
        "find the depth that meets a latency",
        "The highest \
        depth at which it is kept.",
    )
    .harmless(&["0"]),
    row(
        "latency_window",
        Kind::Time(TimeUnit::Microseconds),
        "sample window of latency_target",
        "With \
        `latency_target`.",
    )
    .harmless(&["0"]),
    row(
        "latency_percentile",
        Kind::Floats { most: 1, above: 0.0, max: 100.0 },
        "share that must meet latency_target",
        "Percent of the I/Os.",
    )
    .default("100")
    .harmless(&["100"]),
    row("latency_run", Kind::Bool, "go on after the depth is found", "With `latency_target`.")
        .default("0")
        .harmless(&["0"]),
];
