//! A job as everything below the language sees it: typed, validated, defaults filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;

mod engine_options;
mod logs;
mod placement;
mod priority;
mod replay;
mod sim;
mod values;
mod zones;

pub use engine_options::*;
pub use logs::*;
pub use placement::*;
pub use priority::*;
pub use replay::*;
pub use sim::*;
pub use values::*;
pub use zones::*;

pub use crate::durable::{RangeSync, Syncs, WriteHint};
pub use crate::memory::{FileLock, Memory, MemoryKind};
pub use crate::pace::{
    LatencySearch, RateProcess, Rates, SteadyCriterion, SteadyMeasure, SteadyState, ThinkCount, ThinkTime,
};
pub use crate::process::*;
pub use crate::service::FileService;
pub use crate::verify::{Verify, VerifyMethod, VerifyPolicy};

/// A value for each data direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Copy> PerDirection<T> {
    /// The same value for all three.
    pub const fn all(value: T) -> Self {
        PerDirection { read: value, write: value, trim: value }
    }

    /// As `[read, write, trim]`.
    pub fn to_array(self) -> [T; 3] {
        [self.read, self.write, self.trim]
    }
}

impl<T> From<[T; 3]> for PerDirection<T> {
    fn from([read, write, trim]: [T; 3]) -> Self {
        PerDirection { read, write, trim }
    }
}

/// `rw=`: what is done and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Reads are issued.
    pub reads: bool,
    /// Writes are issued.
    pub writes: bool,
    /// Trims are issued.
    pub trims: bool,
    /// Offsets are random (else sequential).
    pub random: bool,
    /// The number after the colon: I/Os per new random offset, or bytes skipped after each sequential I/O.
    pub modifier: Option<i64>,
}

/// A size that may be a share of the file or device, or a number of its zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file or device, 0 to 100.
    Percent(u32),
    /// Zones of a device whose zone size is not known yet.
    Zones(u64),
}

/// `fallocate=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Do not preallocate.
    None,
    /// `fallocate()`, and nothing where the file system cannot.
    #[default]
    Native,
    /// `posix_fallocate()`.
    Posix,
    /// `fallocate()` that keeps the file's size.
    Keep,
    /// `ftruncate()` only.
    Truncate,
}

/// `fadvise_hint=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FadviseHint {
    /// No advice.
    None,
    /// Sequential or random, as the workload is.
    #[default]
    ByWorkload,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}

/// `sync=`: the flag that files are opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncFlag {
    /// None.
    #[default]
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    DataSync,
}

/// `cpus_allowed_policy=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuPolicy {
    /// Every clone may use all of the CPUs.
    #[default]
    Shared,
    /// One CPU per clone, in turn.
    Split,
}

/// `unified_rw_reporting=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Directions are reported apart.
    #[default]
    None,
    /// Directions are merged.
    Mixed,
    /// Both.
    Both,
}

/// `percentile_list=` as written: the values and the most decimals that any of them had.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentiles {
    /// The percentiles, each in (0, 100], ascending.
    pub values: Vec<f64>,
    /// Decimals shown.
    pub precision: u32,
}

impl Default for Percentiles {
    fn default() -> Self {
        Percentiles {
            values: vec![
                1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
            ],
            precision: 2,
        }
    }
}

/// Where the seed of the random streams comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// `randrepeat=1`: the same every run.
    Repeat,
    /// `randseed=N`.
    Fixed(u64),
    /// `randrepeat=0`: another one each run.
    Fresh,
}

/// How a job's numbers are to be shown; carried along, used by the report only.
#[derive(Clone, Debug, PartialEq)]
pub struct Reporting {
    /// `group_reporting`.
    pub group: bool,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base`: 0 (automatic), 8 (bytes) or 1 (bits).
    pub unit_base: u32,
    /// `percentile_list`.
    pub percentiles: Percentiles,
    /// `clat_percentiles`.
    pub clat_percentiles: bool,
    /// `lat_percentiles`.
    pub lat_percentiles: bool,
    /// `slat_percentiles`.
    pub slat_percentiles: bool,
    /// `significant_figures`.
    pub significant_figures: u32,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `disk_util`.
    pub disk_util: bool,
    /// `block_error_percentiles`.
    pub block_lives: bool,
    /// `stats` off: reports leave the job out.
    pub hidden: bool,
    /// Sizes whose units do not mean here what they say elsewhere, by option.
    pub odd_sizes: BTreeMap<&'static str, OddSize>,
}

/// What is measured; all on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Total latency (`disable_lat` off).
    pub lat: bool,
    /// Completion latency (`disable_clat` off).
    pub clat: bool,
    /// Submission latency (`disable_slat` off).
    pub slat: bool,
    /// Samples of bandwidth and IOPS (`disable_bw_measurement` off).
    pub samples: bool,
    /// `gtod_reduce`.
    pub gtod_reduce: bool,
    /// `bwavgtime`, milliseconds.
    pub bw_window_ms: u32,
    /// `iopsavgtime`, milliseconds.
    pub iops_window_ms: u32,
}

/// How a job's write data is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// `zero_buffers`.
    pub zero: bool,
    /// `refill_buffers`; what compresses or repeats is made anew for each write unless this was switched off.
    pub refill: bool,
    /// `scramble_buffers`.
    pub scramble: bool,
    /// `buffer_pattern`.
    pub pattern: Option<Pattern>,
    /// `buffer_compress_percentage`: so much of each chunk is no random data.
    pub compress_percent: u32,
    /// `buffer_compress_chunk`, bytes.
    pub compress_chunk_bytes: u64,
    /// `dedupe_percentage`: so many of a hundred blocks repeat data; also 0 asks for new data in all others.
    pub dedupe_percent: Option<u32>,
    /// `dedupe_mode`.
    pub dedupe_mode: DedupeMode,
    /// `dedupe_working_set_percentage`: of the job's size.
    pub dedupe_set_percent: u32,
    /// `dedupe_global`: jobs take what they repeat from one set.
    pub dedupe_global: bool,
}

/// `dedupe_mode=`: which data a write repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DedupeMode {
    /// That of the write before.
    #[default]
    Repeat,
    /// One of a set.
    WorkingSet,
}

/// A size whose unit does not mean here what it says elsewhere (`1GiB` is 10^9 bytes with `kb_base=1024`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddSize {
    /// As written.
    pub text: String,
    /// What it comes to: bytes, or a list of them.
    pub bytes: String,
}

/// `option = value` as the person wrote it, for the result and the JSON's `job options`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionWord {
    /// The option's name, aliases resolved.
    pub name: String,
    /// The value as typed; empty for a bare flag.
    pub value: String,
}

/// One job: a section of a job file, or what follows a `--name`. `numjobs` clones of it run.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Shown name (`name=`, else the section's).
    pub name: String,
    /// The section's name, from which file names are made.
    pub section: String,
    /// `description`.
    pub description: Option<String>,
    /// Options as written in this job (globals apart, see [`crate::Invocation`]).
    pub words: Vec<OptionWord>,

    /// `numjobs`.
    pub clones: u32,
    /// `thread` was given (changes only what the banner would say under fio).
    pub thread: bool,
    /// `stonewall`: wait for all earlier jobs; opens a group.
    pub stonewall: bool,
    /// `new_group`: opens a group.
    pub new_group: bool,
    /// `startdelay`, nanoseconds: a range from which one value is drawn.
    pub start_delay_ns: (u64, u64),
    /// `wait_for`, `exitall` and its kin.
    pub order: Order,
    /// `flow` and its kin.
    pub flow: Flow,
    /// `continue_on_error` and its kin.
    pub errors: ErrorRules,
    /// Rights, priorities and placement of the thread, commands before and after.
    pub process: Process,
    /// `cpus_allowed` (empty: all).
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy`.
    pub cpu_policy: CpuPolicy,

    /// `ioengine`.
    pub engine: String,
    /// Options of the engine.
    pub engine_options: EngineOptions,
    /// `rw`.
    pub workload: Workload,
    /// `bs`.
    pub block_size: PerDirection<u64>,
    /// What is not plain about the pattern.
    pub shape: IoShape,
    /// `rwmixread`, percent.
    pub mix_read_percent: u32,
    /// `iodepth`.
    pub depth: u32,
    /// `iodepth_batch`: None when not given (DESIGN 4: then at most 8 a call from freed slots).
    pub batch_submit: Option<u32>,
    /// `iodepth_batch_complete_min`: None when not given.
    pub batch_complete_min: Option<u32>,
    /// `iodepth_batch_complete_max`: None when not given.
    pub batch_complete_max: Option<u32>,
    /// `iodepth_low`.
    pub depth_low: Option<u32>,
    /// `io_submit_mode`.
    pub submit_mode: SubmitMode,
    /// `serialize_overlap`.
    pub serialize_overlap: bool,

    /// `filename`, split at `:`; empty when files are generated.
    pub filenames: Vec<String>,
    /// `directory`, split at `:`.
    pub directories: Vec<PathBuf>,
    /// `filename_format`.
    pub filename_format: Option<String>,
    /// `nrfiles`.
    pub files: u32,
    /// `openfiles`: so many files are open at a time (None: all).
    pub open_files: Option<u32>,
    /// `file_service_type`.
    pub file_service: FileService,
    /// `filesize`: a range, bytes.
    pub file_size: Option<(u64, u64)>,
    /// `size`.
    pub size: Option<Size>,
    /// `io_size`.
    pub io_size: Option<Size>,
    /// `offset`.
    pub offset: Size,
    /// `offset_align`: what an offset in percent is rounded up to, bytes; 0 stands for the smallest block.
    pub offset_align_bytes: u64,
    /// `offset_increment`.
    pub offset_increment: Size,
    /// `number_ios`.
    pub number_ios: Option<u64>,
    /// `loops`.
    pub loops: u32,
    /// `runtime`, nanoseconds (0 = none).
    pub runtime_ns: u64,
    /// `time_based`.
    pub time_based: bool,
    /// `ramp_time`, nanoseconds.
    pub ramp_ns: u64,
    /// `ramp_size`, bytes (0 = none).
    pub ramp_bytes: u64,
    /// `job_start_clock_id`: the clock of the start in fio's JSON (0: the wall clock).
    pub start_clock: u32,
    /// `steadystate` and its kin.
    pub steady: SteadyState,

    /// `direct`.
    pub direct: bool,
    /// `sync`.
    pub sync_flag: SyncFlag,
    /// `invalidate`.
    pub invalidate: bool,
    /// `fadvise_hint`.
    pub fadvise: FadviseHint,
    /// `fallocate`.
    pub fallocate: Fallocate,
    /// `overwrite`.
    pub overwrite: bool,
    /// `create_serialize`.
    pub create_serialize: bool,
    /// `create_fsync`.
    pub create_fsync: bool,
    /// `create_on_open`.
    pub create_on_open: bool,
    /// `create_only`.
    pub create_only: bool,
    /// `allow_file_create`.
    pub allow_create: bool,
    /// `opendir`: all files below this folder are used.
    pub open_directory: Option<String>,
    /// `pre_read`.
    pub pre_read: bool,
    /// `fill_device`: no space left is the job's end, and no error.
    pub fill_device: bool,
    /// `unlink_each_loop`: the files are removed between loops.
    pub unlink_each_loop: bool,
    /// `unlink`.
    pub unlink: bool,
    /// `lockfile`.
    pub file_lock: FileLock,
    /// `fsync` and its kin.
    pub syncs: Syncs,
    /// `file_append`: the job begins where the file ends.
    pub append: bool,
    /// `write_hint`.
    pub write_hint: WriteHint,

    /// `norandommap`.
    pub no_random_map: bool,
    /// `randrepeat`, `randseed`.
    pub seed: Seed,
    /// `rate` and its kin.
    pub rate: Rates,
    /// `max_latency`, nanoseconds.
    pub max_latency_ns: PerDirection<Option<u64>>,
    /// `latency_target` and its kin.
    pub latency_search: LatencySearch,
    /// `thinktime` and its kin.
    pub think: ThinkTime,
    /// Buffers.
    pub buffers: Buffers,
    /// Where they lie.
    pub memory: Memory,
    /// The checking of data.
    pub verify: Verify,

    /// What is measured.
    pub measure: Measure,
    /// How it is shown.
    pub reporting: Reporting,
    /// Logs over time.
    pub logs: Logs,
    /// `write_iolog`: what is done is written down here.
    pub record: Option<String>,
    /// `read_iolog` and its kin.
    pub replay: Replay,
}

impl Job {
    /// The block sizes of reads, writes and trims. `bssplit` comes before `bsrange`, that before `bs`, as in fio. With
    /// `bs_is_seq_rand` those of writes are for random I/O, those of reads for I/O in sequence.
    pub fn block_sizes(&self) -> [BlockSizes; 3] {
        let sizes = self.sizes_by_direction();
        if !self.shape.sizes_by_order {
            return sizes;
        }
        let [sequential, random, _] = sizes;
        let held = if self.workload.random { random } else { sequential };
        [held.clone(), held.clone(), held]
    }

    /// The sizes of those I/Os of a random job that follow one another, where these are others.
    pub fn sequence_sizes(&self) -> Option<BlockSizes> {
        let [sequential, ..] = self.sizes_by_direction();
        (self.shape.sizes_by_order && self.workload.random).then_some(sequential)
    }

    fn sizes_by_direction(&self) -> [BlockSizes; 3] {
        let bytes = self.block_size.to_array();
        [0, 1, 2].map(|direction| match (&self.shape.block_split[direction], self.shape.block_range[direction]) {
            (Some(shares), _) if !shares.is_empty() => BlockSizes::Split(shares.clone()),
            (_, Some((min, max))) if min < max => BlockSizes::Range { min, max, unaligned: self.shape.unaligned },
            (_, Some((min, _))) => BlockSizes::One(min),
            _ => BlockSizes::One(bytes[direction]),
        })
    }

    /// Whether reads, writes and trims are done.
    pub fn directions(&self) -> [bool; 3] {
        [self.workload.reads, self.workload.writes, self.workload.trims]
    }

    /// The smallest and the largest block of the directions in use, bytes.
    pub fn block_limits(&self) -> (u64, u64) {
        let sizes = self.block_sizes();
        let sequence = self.sequence_sizes();
        let by_direction = || sizes.iter().zip(self.directions()).filter(|(_, used)| *used).map(|(sizes, _)| sizes);
        let used = || by_direction().chain(&sequence);
        (used().map(BlockSizes::min).min().unwrap_or(1), used().map(BlockSizes::max).max().unwrap_or(4096))
    }
}
