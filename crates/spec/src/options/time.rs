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
    row(
        "time_based",
        Kind::Flag,
        "go on until runtime",
        "The job begins again when it is \
        done. What is done each time round counts, so more may be written than the files hold.",
    )
    .default("0")
    .access(flag!(job.time_based)),
    row("ramp_time", Kind::Time(TimeUnit::Seconds), "warm up before measuring", "I/O is done and not counted.")
        .default("0s")
        .access(plain!(Nanos, job.ramp_ns)),
    row(
        "ramp_size",
        Kind::Bytes { min: 0, max: u64::MAX },
        "warm up by bytes",
        "As `ramp_time`, by amount. With `group_reporting` the amounts of the group's jobs count together. Given with \
        `ramp_time`, both must be over.",
    )
    .default("0")
    .access(plain!(Bytes, job.ramp_bytes)),
    row(
        "clocksource",
        Kind::Choice(words!["gettimeofday": "the wall clock", "clock_gettime": "the monotonic clock",
        "cpu": "the CPU's time stamp counter"]),
        "clock for time stamps",
        "The CPU's counter is used where it is sound, \
        else the monotonic clock; the result says which.",
    )
    .status(Status::NoEffect("the soundest clock of the machine is taken, and named in the result")),
    row(
        "job_start_clock_id",
        Kind::Int { min: 0, max: 64 },
        "clock of job_start in JSON",
        "The number of a system clock; 0 is the wall clock, 1 the monotonic one.",
    )
    .default("0")
    .access(int!(job.start_clock)),
    row(
        "steadystate",
        Kind::Steady(words!["iops": "spread of IOPS", "iops_slope": "slope of IOPS",
        "bw": "spread of bandwidth", "bw_slope": "slope of bandwidth", "lat": "spread of latency",
        "lat_slope": "slope of latency"]),
        "end when performance is steady",
        "`criterion:limit` or `criterion:limit%`: the job ends as soon as the criterion, over the last \
        `steadystate_duration`, is below the limit; percent are of the mean. A spread is the largest deviation from \
        the mean, a slope that of the least-squares line, for each sample. With `group_reporting` the jobs of a group \
        are judged, and end, together. Without any I/O in the window nothing is steady.",
    )
    .alias(&["ss"])
    .default("iops_slope:0.01%")
    .access(plain!(Steady, job.steady.criterion)),
    row(
        "steadystate_duration",
        Kind::Time(TimeUnit::Seconds),
        "window of steadystate",
        "The earliest end is `steadystate_ramp_time` and this after the start of measuring. 0 is off.",
    )
    .alias(&["ss_dur"])
    .default("0s")
    .access(plain!(Nanos, job.steady.duration_ns)),
    row(
        "steadystate_ramp_time",
        Kind::Time(TimeUnit::Seconds),
        "time before steadystate looks",
        "Counted from the end of `ramp_time`.",
    )
    .alias(&["ss_ramp"])
    .default("0s")
    .access(plain!(Nanos, job.steady.ramp_ns)),
    row(
        "steadystate_check_interval",
        Kind::Time(TimeUnit::Seconds),
        "time between steadystate's looks",
        "A sample is taken, and the window judged, so often.",
    )
    .alias(&["ss_interval"])
    .default("1s")
    .status(Status::Differs("intervals below a second are kept"))
    .access(plain!(Nanos, job.steady.interval_ns)),
];
