//! Lines for what holds a job to a time, a rate or a latency.

use crate::lines::{Check, Line};

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: &[], check }
}

/// Jobs that the clock ends or paces: their measured time is fio's.
pub const PACED: &[Line] = &[
    line("rate_process", "--rw=read --size=1m --rate_iops=200 --rate_process=poisson", Check::Time(30)),
    line("rate_iops_min", "--rw=read --size=1m --thinktime=20ms --rate_iops_min=100", Check::Time(10)),
    line("rate_min", "--rw=read --size=1m --thinktime=20ms --rate_min=1m", Check::Time(10)),
    line("rate_cycle", "--rw=read --size=1m --thinktime=20ms --rate_min=1m --rate_cycle=500", Check::Time(15)),
    line(
        "rate_ignore_thinktime",
        "--rw=read --size=256k --rate_iops=100 --thinktime=200ms --thinktime_blocks=16 --rate_ignore_thinktime=1",
        Check::Time(20),
    ),
    line(
        "rate and thinktime",
        "--rw=read --size=256k --rate_iops=50 --thinktime=200ms --thinktime_blocks=16",
        Check::Time(20),
    ),
    line(
        "thinktime_iotime",
        "--rw=read --size=512k --rate_iops=100 --thinktime=500ms --thinktime_iotime=1 --rate_ignore_thinktime=1",
        Check::Time(15),
    ),
    line(
        "thinktime_blocks_type",
        "--rw=randread --size=512k --ioengine=libaio --direct=1 --iodepth=8 --thinktime=30ms --thinktime_blocks=4 \
        --thinktime_blocks_type=issue",
        Check::Time(20),
    ),
    line(
        "thinktime at a depth",
        "--rw=randread --size=256k --ioengine=libaio --direct=1 --iodepth=8 --thinktime=20ms --thinktime_blocks=1",
        Check::Time(25),
    ),
    line(
        "steadystate",
        "--rw=read --size=1m --rate_iops=200 --steadystate=iops:20% --ss_dur=2 --time_based --runtime=20",
        Check::Time(20),
    ),
    line(
        "steadystate_ramp_time",
        "--rw=read --size=1m --rate_iops=200 --ss=bw_slope:20% --ss_dur=2 --ss_ramp=1 --time_based --runtime=20",
        Check::Time(40),
    ),
    line(
        "steadystate not attained",
        "--rw=read --size=1m --rate_iops=200 --ss=bw:0.001% --ss_dur=5 --time_based --runtime=1",
        Check::Time(10),
    ),
    line("steadystate_duration alone", "--rw=read --size=1m --steadystate_duration=1", Check::Exact),
    line(
        "latency_target",
        "--rw=randread --size=1m --ioengine=libaio --direct=1 --iodepth=4 --latency_target=2s --latency_window=200ms \
        --time_based --runtime=20",
        Check::Time(20),
    ),
    line(
        "latency_percentile",
        "--rw=randread --size=1m --latency_target=1us --latency_window=100ms --latency_percentile=90 --time_based \
        --runtime=1",
        Check::Time(10),
    ),
    line(
        "latency_run",
        "--rw=randread --size=1m --ioengine=libaio --direct=1 --iodepth=4 --latency_target=2s --latency_window=100ms \
        --latency_run=1 --time_based --runtime=1",
        Check::Time(10),
    ),
];

/// Jobs that end with an error, or do not begin.
pub const LIMITED: &[Line] = &[
    line("max_latency", "--rw=read --size=64k --max_latency=1us", Check::Ends),
    line("max_latency not reached", "--rw=read --size=64k --max_latency=100s", Check::Exact),
    line("max_latency of the other direction", "--rw=read --size=64k --max_latency=0,1us", Check::Exact),
    line(
        "latency_target that no depth keeps",
        "--rw=read --size=64k --latency_target=1us --latency_window=1s",
        Check::Ends,
    ),
    line("rate_min above rate", "--rw=read --size=64k --rate=20k --rate_min=10m", Check::Fails),
    line("rate_iops_min above rate_iops", "--rw=read --size=64k --rate_iops=100 --rate_iops_min=200", Check::Fails),
    line("rate_min and rate_iops_min", "--rw=read --size=64k --rate_min=1k --rate_iops_min=1", Check::Fails),
    line("steadystate without a limit", "--rw=read --size=64k --steadystate=iops --ss_dur=1", Check::Fails),
    line("steadystate of nothing known", "--rw=read --size=64k --steadystate=foo:5% --ss_dur=1", Check::Fails),
];
