//! What is measured, reported and logged.

use super::MAX32;
use crate::job::{Unified, WindowValue};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Measure, summary, doc)
}

/// How compression differs.
const STREAMED: Status = Status::Differs(
    "a log is written while it grows and never held in memory; only what `log_store_compressed` writes is compressed",
);

/// What compressed files hold.
const STORED: Status =
    Status::Differs("histogram logs stay text: what fio 3.33 stores of them are addresses in its own memory");

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "write_bw_log",
        Kind::Text,
        "log of bandwidth",
        "The beginning of the file's name; the job's name unless given.",
    )
    .bare()
    .access(plain!(some Text, job.logs.bandwidth)),
    row(
        "write_lat_log",
        Kind::Text,
        "logs of latency",
        "The beginning of the files' names; the job's name unless given.",
    )
    .bare()
    .access(plain!(some Text, job.logs.latency)),
    row(
        "write_iops_log",
        Kind::Text,
        "log of I/Os per second",
        "The beginning of the file's name; the job's name unless given.",
    )
    .bare()
    .access(plain!(some Text, job.logs.iops)),
    row(
        "write_hist_log",
        Kind::Text,
        "log of latency histograms",
        "The beginning of the file's name; the job's name unless given.",
    )
    .bare()
    .access(plain!(some Text, job.logs.histogram)),
    row("log_avg_msec", Kind::Int { min: 0, max: MAX32 }, "window of logs", "Milliseconds; 0 logs every I/O.")
        .default("0")
        .access(int!(job.logs.window_ms)),
    row("log_hist_msec", Kind::Int { min: 0, max: MAX32 }, "window of histogram logs", "Milliseconds.")
        .default("0")
        .access(int!(job.logs.histogram_window_ms)),
    row("log_hist_coarseness", Kind::Int { min: 0, max: 6 }, "bins to join in histogram logs", "2 to this power.")
        .default("0")
        .access(int!(job.logs.coarseness)),
    row(
        "log_window_value",
        Kind::Choice(words!["avg": "the mean", "max": "the largest", "both": "both",
        "0": "as avg", "1": "as max"]),
        "what a log's window shows",
        "With `log_avg_msec`.",
    )
    .alias(&["log_max_value"])
    .default("avg")
    .access(choice!(job.logs.window_value, "avg" => WindowValue::Mean, "max" => WindowValue::Largest,
            "both" => WindowValue::Both, "0" => WindowValue::Mean, "1" => WindowValue::Largest)),
    row("log_offset", Kind::Bool, "offsets in logs", "One more column.").default("0").access(flag!(job.logs.offset)),
    row("log_prio", Kind::Bool, "priorities in logs", "In the last column.").default("0").access(flag!(job.logs.prio)),
    row("log_issue_time", Kind::Bool, "issue times in logs", "One more column.")
        .default("0")
        .access(flag!(job.logs.issue_time)),
    row("log_entries", Kind::Int { min: 0, max: MAX32 }, "first size of a log in memory", "Entries.")
        .default("1024")
        .status(Status::NoEffect("logs grow as they need")),
    row(
        "log_compression",
        Kind::Bytes { min: 1024, max: 512 << 20 },
        "bytes that are compressed together",
        "Of the records of a log that `log_store_compressed` writes; 256 KiB unless given.",
    )
    .status(STREAMED)
    .access(plain!(some Bytes, job.logs.compressed_bytes)),
    row("log_compression_cpus", Kind::Cpus, "CPUs that compress", "A list such as `0,2-5`.")
        .linux_only()
        .status(STREAMED)
        .access(plain!(Cpus, job.logs.compression_cpus)),
    row(
        "log_store_compressed",
        Kind::Bool,
        "write logs compressed",
        "The files end in `.log.fz` and hold the records of fio 3.33, which `--inflate-log=FILE` (fio's too) turns \
        into lines. They have no room for `log_issue_time` and `log_window_value=both`.",
    )
    .default("0")
    .status(STORED)
    .access(flag!(job.logs.compressed)),
    row("log_alternate_epoch", Kind::Bool, "clock time in logs", "Instead of time since the job's start.")
        .alias(&["log_unix_epoch"])
        .default("0")
        .access(flag!(job.logs.clock_time)),
    row("log_alternate_epoch_clock_id", Kind::Int { min: 0, max: 64 }, "which clock", "A clock number.")
        .default("0")
        .access(int!(job.logs.clock_id)),
    row("per_job_logs", Kind::Bool, "a log for each clone", "Off: one file for all.")
        .default("1")
        .access(flag!(job.logs.per_job)),
    row("bwavgtime", Kind::Int { min: 1, max: MAX32 }, "window of bandwidth samples", "Milliseconds.")
        .default("500")
        .access(int!(job.measure.bw_window_ms)),
    row("iopsavgtime", Kind::Int { min: 1, max: MAX32 }, "window of IOPS samples", "Milliseconds.")
        .default("500")
        .access(int!(job.measure.iops_window_ms)),
    row("clat_percentiles", Kind::Bool, "percentiles of completion latency", "From submission to completion.")
        .default("1")
        .access(flag!(job.reporting.clat_percentiles)),
    row("lat_percentiles", Kind::Bool, "percentiles of total latency", "From the start of an I/O to its completion.")
        .default("0")
        .access(flag!(job.reporting.lat_percentiles)),
    row(
        "slat_percentiles",
        Kind::Bool,
        "percentiles of submission latency",
        "From the start of an I/O to its \
        submission.",
    )
    .default("0")
    .access(flag!(job.reporting.slat_percentiles)),
    row(
        "percentile_list",
        Kind::Floats { most: 20, above: 0.0, max: 100.0 },
        "which percentiles",
        "Numbers with \
        colons between; the one with the most decimals says how many are shown.",
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
    .access(plain!(Floats, job.reporting.percentiles)),
    row(
        "significant_figures",
        Kind::Int { min: 1, max: 10 },
        "digits of numbers in the report",
        "Of the normal \
        format.",
    )
    .default("4")
    .access(int!(job.reporting.significant_figures)),
    row(
        "block_error_percentiles",
        Kind::Bool,
        "life of blocks by trim cycles",
        "For wear tests of one file or device: after how many trims a block failed, in blocks of a trim's size, and \
         what state the others are in.",
    )
    .default("0")
    .status(Status::Differs("fio 3.33 is ended by an assertion as soon as a block was trimmed"))
    .access(flag!(job.reporting.block_lives)),
    row(
        "unified_rw_reporting",
        Kind::Choice(words!["none": "directions apart", "mixed": "directions merged",
        "both": "both", "0": "as none", "1": "as mixed", "2": "as both"]),
        "merge directions in the report",
        "Reads, \
        writes and trims.",
    )
    .default("none")
    .access(choice!(job.reporting.unified, "none" => Unified::None, "mixed" => Unified::Mixed,
            "both" => Unified::Both, "0" => Unified::None, "1" => Unified::Mixed, "2" => Unified::Both)),
    row("stats", Kind::Bool, "report this job", "Off for jobs in the background.")
        .default("1")
        .status(Status::Differs("fio's JSON may end with an entry without a name for a job that is left out"))
        .access(flag!(not job.reporting.hidden)),
    row("disk_util", Kind::Bool, "report what the disks did", "From the kernel's counters.")
        .default("1")
        .access(flag!(job.reporting.disk_util)),
    row("gtod_reduce", Kind::Bool, "measure less", "Turns off latencies, their percentiles and the samples.")
        .default("0")
        .access((
            |d, v| {
                if let Value::Flag(on) = v {
                    let m = &mut d.job.measure;
                    (m.gtod_reduce, m.lat, m.clat, m.slat, m.samples) = (on, !on, !on, !on, !on);
                    if on {
                        let r = &mut d.job.reporting;
                        (r.clat_percentiles, r.lat_percentiles, r.slat_percentiles) = (false, false, false);
                    }
                }
            },
            |d| Some(Value::Flag(d.job.measure.gtod_reduce)),
        )),
    row("gtod_cpu", Kind::Int { min: 0, max: MAX32 }, "CPU that keeps the time", "For all jobs.")
        .status(Status::NoEffect("reading the clock is cheap here")),
    row("disable_lat", Kind::Bool, "do not measure total latency", "Nor show it.")
        .default("0")
        .access(flag!(not job.measure.lat)),
    row("disable_clat", Kind::Bool, "do not measure completion latency", "Nor show it.")
        .default("0")
        .access(flag!(not job.measure.clat)),
    row("disable_slat", Kind::Bool, "do not measure submission latency", "Nor show it.")
        .default("0")
        .access(flag!(not job.measure.slat)),
    row("disable_bw_measurement", Kind::Bool, "do not sample bandwidth and IOPS", "Nor show the samples.")
        .alias(&["disable_bw"])
        .default("0")
        .access(flag!(not job.measure.samples)),
    row(
        "kb_base",
        Kind::Choice(words!["1024": "k is 1024 and kib is 1000, as ever in fio", "1000": "k is 1000 and kib \
        is 1024"]),
        "what the suffixes mean",
        "And in which units the report is.",
    )
    .default("1024")
    .access(choice!(job.reporting.kb_base, "1024" => 1024, "1000" => 1000)),
    row(
        "unit_base",
        Kind::Choice(words!["0": "by itself", "8": "bytes", "1": "bits"]),
        "bytes or bits in the report",
        "Of bandwidth.",
    )
    .default("0")
    .access(choice!(job.reporting.unit_base, "0" => 0, "8" => 8, "1" => 1)),
];
