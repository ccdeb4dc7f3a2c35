//! The document.

pub use iostrata_stats::{HistogramBins, LatencyBuckets, LatencySummary as LatencyResult, Moments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the document that this build writes. Within a version fields are only added.
pub const FORMAT_VERSION: u32 = 1;

/// Everything that a run measured: raw integers, no derived number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of iostrata.
    pub tool_version: String,
    /// When the run started, milliseconds since the epoch.
    pub started_unix_ms: i64,
    /// When this document was made, milliseconds since the epoch.
    pub taken_unix_ms: i64,
    /// The machine.
    pub host: Host,
    /// The arguments, the program's name left out.
    pub command_line: Vec<String>,
    /// Options of `[global]`, as written.
    pub global_options: Vec<OptionWord>,
    /// One entry a worker (each clone of each job), in the order of their thread numbers.
    pub workers: Vec<WorkerResult>,
    /// What the kernel counted for the disks under the jobs' files.
    pub disks: Vec<DiskUse>,
    /// How idle the CPUs were, where that was asked for.
    #[serde(default)]
    pub cpu_idleness: Option<CpuIdleness>,
    /// What the jobs did over time, of virtual time for `sim`; `None` in documents of older versions.
    #[serde(default)]
    pub timeline: Option<crate::timeline::Timeline>,
    /// What a reader of the numbers should know.
    pub notes: Vec<Note>,
    /// Why the run ended.
    pub end: End,
}

/// How idle the CPUs were while the jobs ran, by the kernel's counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuIdleness {
    /// Each CPU is to be shown, not only all together.
    pub per_cpu: bool,
    /// The window that the counts cover, nanoseconds.
    pub window_ns: u64,
    /// The CPUs that were there all the time.
    pub cpus: Vec<CpuIdle>,
    /// How long a unit of work took on each CPU that the program may use, nanoseconds.
    pub units_ns: Vec<u64>,
}

/// One CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuIdle {
    /// Its number.
    pub cpu: u32,
    /// How long it had nothing to do, nanoseconds.
    pub idle_ns: u64,
}

/// The machine that ran it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and release.
    pub os: String,
    /// Processor architecture.
    pub arch: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Where the time stamps come from ("tsc", "clock_gettime", "virtual").
    pub clock: String,
    /// The largest error that one time stamp can have, nanoseconds.
    pub clock_error_ns: u64,
}

/// `option = value` as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionWord {
    /// The option.
    pub name: String,
    /// Its value; empty for a bare flag.
    pub value: String,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It has not (a snapshot).
    Running,
    /// All jobs did what they were asked.
    Finished,
    /// A signal asked it to end.
    Signal(i32),
}

/// A sentence about a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// A stable word for programs ("differs-from-fio", "depth-lowered", "censored", …).
    pub code: String,
    /// The job it is about, if one.
    pub job: Option<String>,
    /// The sentence.
    pub text: String,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerResult {
    /// What it was asked to do, as far as a report needs it.
    pub job: JobFacts,
    /// Which of the `numjobs` clones it is, from 0.
    pub clone: u32,
    /// Its reporting group.
    pub group: u32,
    /// Its number in the run, from 1.
    pub thread_number: u32,
    /// Kernel thread id.
    pub pid: u32,
    /// When it started, milliseconds since the epoch; 0 if it never did.
    pub started_unix_ms: i64,
    /// From the start of the run to its end, nanoseconds.
    pub elapsed_ns: u64,
    /// From the start of measuring (end of the ramp) to its end, nanoseconds.
    pub measured_ns: u64,
    /// The error that ended it: an errno, 0 for none.
    pub error: i32,
    /// The sentence about that error: job, file, offset, operation, what to do.
    pub error_text: Option<String>,
    /// Errors that it went on after (`continue_on_error`).
    #[serde(default)]
    pub tolerated: Tolerated,
    /// Whole seconds that it still needs, as far as it can tell; 0 when it has ended, `None` when it cannot tell.
    #[serde(default)]
    pub eta_s: Option<u64>,
    /// Reads, if it had any to do.
    pub read: Option<DirectionResult>,
    /// Writes, if it had any to do.
    pub write: Option<DirectionResult>,
    /// Trims, if it had any to do.
    pub trim: Option<DirectionResult>,
    /// Latency of fsync and its kin, nanoseconds.
    pub sync: LatencyResult,
    /// How many of them were done, with or without their latency being measured.
    #[serde(default)]
    pub sync_ios: u64,
    /// User CPU time, nanoseconds.
    pub user_cpu_ns: u64,
    /// System CPU time, nanoseconds.
    pub system_cpu_ns: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// I/Os by the depth at which they were issued: 1, 2, 4, 8, 16, 32, 64 and above.
    pub depth_counts: [u64; 7],
    /// I/Os by the size of the submit call that took them: 0, ≤4, ≤8, ≤16, ≤32, ≤64, above 64.
    pub submit_counts: [u64; 7],
    /// I/Os by the size of the reap that returned them, same edges.
    pub complete_counts: [u64; 7],
    /// The largest error that the stamp of an issue can have because a submit call took several I/Os: the longest such
    /// call, nanoseconds. slat and clat share it, lat does not have it.
    #[serde(default)]
    pub batch_stamp_error_ns: u64,
    /// I/Os by completion latency on fio's own edges.
    pub latency_buckets: LatencyBuckets,
    /// What the search for a latency target found, if there was one.
    #[serde(default)]
    pub latency_target: Option<LatencyTarget>,
    /// What the search for steady state saw, if there was one; the members of a group share it.
    #[serde(default)]
    pub steady_state: Option<SteadyState>,
    /// What became of its blocks, with `block_error_percentiles`.
    #[serde(default)]
    pub block_lives: Option<BlockLives>,
    /// The clock that `job_start_clock_id` names, milliseconds, when it started; `None` for the wall clock.
    #[serde(default)]
    pub started_clock_ms: Option<i64>,
    /// Zones reset, by writes into full ones and by trims; `None` without zones.
    #[serde(default)]
    pub zone_resets: Option<u64>,
    /// What the engine was granted ("registered ring", …).
    pub engine_used: Vec<String>,
    /// I/Os that were due under a rate and never issued.
    pub due_not_issued: u64,
    /// I/Os that had not come back when the worker was given up; their latencies are missing above.
    pub censored: u64,
}

/// Errors that a worker passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerated {
    /// Whether the job was asked to go on after errors at all.
    pub allowed: bool,
    /// How many there were.
    pub total: u64,
    /// The errno of the first; 0 when there was none.
    pub first_error: i32,
}

/// A search for the depth at which a latency target is met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTarget {
    /// The latency to keep, nanoseconds.
    pub target_ns: u64,
    /// The window over which it is judged, microseconds.
    pub window_us: u64,
    /// The share of I/Os that must keep it, percent.
    pub percentile: f64,
    /// The depth that the search ended at.
    pub depth: u32,
}

/// What steady state is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyMeasure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

/// A search for steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// The series that is judged.
    pub measure: SteadyMeasure,
    /// By its slope, else by its largest deviation from its mean.
    pub slope: bool,
    /// Steady is what is below this: I/Os or bytes per second or nanoseconds, or percent of the mean.
    pub limit: f64,
    /// The limit is a percentage.
    pub percent: bool,
    /// Length of the window, nanoseconds.
    pub duration_ns: u64,
    /// Samples in the window.
    pub window: u64,
    /// Performance was steady, and the job ended for it.
    pub attained: bool,
    /// The last window's samples, oldest first.
    pub samples: Vec<SteadySample>,
}

/// What all jobs that are judged together did in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteadySample {
    /// Length of the interval, nanoseconds.
    pub elapsed_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Their completion latencies added up, nanoseconds.
    pub clat_sum_ns: u64,
}

/// What a report needs to know of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobFacts {
    /// Position of the job in the run, from 0.
    pub index: u32,
    /// Shown name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Options as written.
    pub options: Vec<OptionWord>,
    /// `rw=` by its canonical name ("randrw").
    pub workload: String,
    /// Engine.
    pub engine: String,
    /// Depth asked.
    pub depth: u32,
    /// Depth that the engine granted.
    pub depth_granted: u32,
    /// Smallest and largest block for read, write, trim, bytes.
    pub block_sizes: [(u64, u64); 3],
    /// The I/O priority of its threads, as [`PriorityResult::word`]; 0 if none was asked for.
    #[serde(default)]
    pub io_priority: u16,
    /// Whether the engine has a submission of its own (then slat means something).
    pub asynchronous: bool,
    /// How its numbers are shown.
    pub reporting: Reporting,
}

/// How a job's numbers are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reporting {
    /// Clones and neighbours of one group are reported as one.
    pub group: bool,
    /// 1024 or 1000.
    pub kb_base: u32,
    /// 0 automatic, 8 bytes, 1 bits.
    pub unit_base: u32,
    /// Percentiles to show, each in (0, 100].
    pub percentiles: Vec<f64>,
    /// Decimals of the percentiles.
    pub percentile_precision: u32,
    /// Percentiles of completion latency are shown.
    pub clat_percentiles: bool,
    /// Percentiles of total latency are shown.
    pub lat_percentiles: bool,
    /// Percentiles of submission latency are shown.
    pub slat_percentiles: bool,
    /// Completion latency was measured.
    pub clat: bool,
    /// Total latency was measured.
    pub lat: bool,
    /// Submission latency was measured.
    pub slat: bool,
    /// Samples of bandwidth and IOPS were taken.
    pub samples: bool,
    /// Digits in the text report.
    pub significant_figures: u32,
    /// "none", "mixed" or "both".
    pub unified: String,
    /// Disk statistics are shown.
    pub disk_util: bool,
    /// Reports leave it out (`stats=0`).
    #[serde(default)]
    pub hidden: bool,
}

/// What became of the blocks that a job trims and writes, in units of a trim's size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLives {
    /// Nothing was done to them.
    pub unwritten: u64,
    /// Trimmed last.
    pub trimmed: u64,
    /// Written last.
    pub written: u64,
    /// A trim of them failed.
    pub trim_failed: u64,
    /// A write of them failed.
    pub write_failed: u64,
    /// For each of those that failed: trims before it did, ascending.
    pub lifetimes: Vec<u32>,
}

/// One direction of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// I/Os that transferred less than asked.
    pub short_ios: u64,
    /// I/Os dropped.
    pub dropped_ios: u64,
    /// I/Os that failed (not in `ios`).
    pub failed_ios: u64,
    /// Time in which this direction was active, nanoseconds.
    pub runtime_ns: u64,
    /// Submission latency, nanoseconds.
    pub slat: LatencyResult,
    /// Completion latency, nanoseconds.
    pub clat: LatencyResult,
    /// Total latency, nanoseconds.
    pub lat: LatencyResult,
    /// Latency from the intended start, under a rate, nanoseconds.
    pub lat_intended: Option<LatencyResult>,
    /// The tool's own lateness under a rate, nanoseconds.
    pub issue_lag: Option<LatencyResult>,
    /// Latency by priority, where I/Os have priorities of their own: total latency if `lat_percentiles` is set, else
    /// completion latency. The first is that of I/Os with the job's priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityResult>,
    /// Samples of bandwidth, bytes per second, one a window.
    pub bandwidth_samples: Moments,
    /// Samples of I/Os per second, one a window.
    pub iops_samples: Moments,
}

/// The I/Os that went down under one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityResult {
    /// Class (upper 3 bits), hint (10 bits) and level (lower 3 bits), as the kernel takes them.
    pub word: u16,
    /// Their latency, nanoseconds.
    pub latency: LatencyResult,
}

/// What the kernel counted for one block device between start and end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads and writes completed.
    pub ios: [u64; 2],
    /// 512-byte sectors read and written.
    pub sectors: [u64; 2],
    /// Merges.
    pub merges: [u64; 2],
    /// Milliseconds spent reading and writing.
    pub ticks_ms: [u64; 2],
    /// Weighted milliseconds in the queue.
    pub in_queue_ms: u64,
    /// Milliseconds with I/O in flight.
    pub busy_ms: u64,
    /// The window that all this covers, milliseconds.
    pub window_ms: u64,
    /// The devices it is made of (md, dm, partitions' disks), each counted likewise.
    pub members: Vec<DiskUse>,
}
