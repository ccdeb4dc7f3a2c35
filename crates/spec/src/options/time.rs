//! When a job ends.

use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, TimeUnit};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Time, summary, doc)
}

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "runtime",
        Kind::Time(TimeUnit::Seconds),
        "end after this time",
        "Counted from the end of `ramp_time`. A job \
        that has done all earlier ends earlier, unless `time_based` is given.",
    )
    .alias(&["timeout"])
    .default("0s")
    .access(plain!(Nanos, job.runtime_ns)),
    row("time_based", Kind::Flag, "go on until runtime", "The job begins again when it is done.")
        .default("0")
        .access(flag!(job.time_based)),
    row("ramp_time", Kind::Time(TimeUnit::Seconds), "warm up before measuring", "I/O is done and not counted.")
        .default("0s")
        .access(plain!(Nanos, job.ramp_ns)),
    row("ramp_size", Kind::Bytes { min: 1, max: u64::MAX }, "warm up by bytes", "As `ramp_time`, by amount."),
    row(
        "clocksource",
        Kind::Choice(words!["gettimeofday": "the wall clock", "clock_gettime": "the monotonic clock",
        "cpu": "the CPU's time stamp counter"]),
        "clock for time stamps",
        "The CPU's counter is used where it is sound, \
        else the monotonic clock; the result says which.",
    )
    .status(Status::NoEffect("the soundest clock of the machine is taken, and named in the result")),
    row("job_start_clock_id", Kind::Int { min: 0, max: 64 }, "clock of job_start in JSON", "A clock number."),
    row(
        "steadystate",
        Kind::ChoiceWith(words!["iops": "spread of IOPS", "iops_slope": "slope of IOPS",
        "bw": "spread of bandwidth", "bw_slope": "slope of bandwidth", "lat": "spread of latency",
        "lat_slope": "slope of latency"]),
        "end when performance is steady",
        "`criterion:limit` or \
        `criterion:limit%`.",
    )
    .alias(&["ss"]),
    row("steadystate_duration", Kind::Time(TimeUnit::Seconds), "window of steadystate", "0 is off.")
        .alias(&["ss_dur"])
        .default("0s")
        .harmless(&["0"]),
    row("steadystate_ramp_time", Kind::Time(TimeUnit::Seconds), "time before steadystate looks", "With `steadystate`.")
        .alias(&["ss_ramp"])
        .default("0s")
        .harmless(&["0"]),
    row(
        "steadystate_check_interval",
        Kind::Time(TimeUnit::Seconds),
        "time between steadystate's looks",
        "A second or \
        more.",
    )
    .alias(&["ss_interval"])
    .default("1s"),
];
