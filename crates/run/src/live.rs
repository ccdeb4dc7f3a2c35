//! What a worker counts while it runs: written by that worker only, readable by any thread at any time.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use iostrata_engine::{FileId, Io};
use iostrata_os::thread::{Usage, Waker};
use iostrata_result::BlockLives;
use iostrata_spec::{Job, RangeSync};
use iostrata_stats::{LiveBuckets, LiveCounter, LiveLatency, LiveMoments, SeqLock};

use crate::error::RunError;
use crate::generate::Direction;
use crate::plan::WorkerPlan;
use crate::verify::{reads_back, trims_written};

/// Where a worker stands; the letter is the one of fio's status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Its stage has not begun.
    NotStarted = b'P',
    /// It opens its files.
    SettingUp = b'I',
    /// It is ready and waits for its stage, or for its start delay.
    Ready = b'C',
    /// It does I/O that is not measured yet.
    Ramp = b'/',
    /// It does I/O.
    Running = b'R',
    /// It reads back what it wrote.
    Verifying = b'V',
    /// It waits for a final fsync.
    Syncing = b'F',
    /// It puts things away.
    Finishing = b'f',
    /// It has ended.
    Ended = b'_',
    /// It has ended with an error.
    Failed = b'X',
}

impl State {
    fn from_u8(value: u8) -> Self {
        match value {
            b'P' => State::NotStarted,
            b'I' => State::SettingUp,
            b'C' => State::Ready,
            b'/' => State::Ramp,
            b'R' => State::Running,
            b'V' => State::Verifying,
            b'F' => State::Syncing,
            b'f' => State::Finishing,
            b'X' => State::Failed,
            _ => State::Ended,
        }
    }
}

/// Counters of one data direction.
pub(crate) struct LiveDirection {
    /// Bytes transferred.
    pub bytes: LiveCounter,
    /// I/Os completed.
    pub ios: LiveCounter,
    /// I/Os that came back shorter than asked.
    pub short_ios: LiveCounter,
    /// I/Os that failed.
    pub failed_ios: LiveCounter,
    /// Submission latency.
    pub slat: LiveLatency,
    /// Completion latency.
    pub clat: LiveLatency,
    /// Total latency.
    pub lat: LiveLatency,
    /// Latency from the intended start and the tool's lateness; under a rate only.
    pub paced: Option<LivePaced>,
    /// Latency by priority, the job's own first; empty where I/Os have none of their own.
    pub priorities: Vec<(u16, LiveLatency)>,
    /// One sample a window, bytes per second.
    pub bandwidth_samples: LiveMoments,
    /// One sample a window, I/Os per second.
    pub iops_samples: LiveMoments,
}

/// The two further series of a job under a rate.
pub(crate) struct LivePaced {
    /// Completion minus intended start.
    pub lat_intended: LiveLatency,
    /// Actual minus intended start.
    pub issue_lag: LiveLatency,
}

impl LiveDirection {
    /// Counts the latency of an I/O that went down under this priority; 0 is the job's own.
    pub(crate) fn record_priority(&self, word: u16, latency_ns: u64) {
        let found = self.priorities.iter().skip(1).find(|(known, _)| *known == word).or(self.priorities.first());
        if let Some((_, latency)) = found {
            latency.record(latency_ns);
        }
    }
}

/// Counters for the priorities that a direction's I/Os may have.
fn priorities(job: &Job, direction: usize) -> Vec<(u16, LiveLatency)> {
    let asked = &job.engine_options.command_priority;
    if !asked.any() {
        return Vec::new();
    }
    let mut words = vec![job.process.io_priority_word()];
    for share in asked.shares(direction) {
        if share.word > 0 && !words.contains(&share.word) {
            words.push(share.word);
        }
    }
    let with_bins = job.reporting.lat_percentiles || job.reporting.clat_percentiles;
    words.into_iter().map(|word| (word, LiveLatency::new(with_bins))).collect()
}

/// How a worker ended; the figures that only its own thread can read.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// CPU time, switches and faults since measuring began.
    pub usage: Usage,
    /// The same over the whole life of the thread.
    pub life_usage: Usage,
    /// First error.
    pub error: Option<RunError>,
    /// What the engine was granted.
    pub engine_used: Vec<String>,
    /// Sentences about what the engine could not get, or what the loop noticed.
    pub notes: Vec<String>,
    /// Depth granted.
    pub depth_granted: u32,
    /// I/Os due under a rate and not issued.
    pub due_not_issued: u64,
    /// I/Os that never came back.
    pub censored: u64,
    /// What became of its blocks.
    pub block_lives: Option<BlockLives>,
    /// It was done before its ramp was over.
    pub ended_in_ramp: bool,
    /// How many of its files it could have open at a time, where that was less than it wanted.
    pub files_at_once: Option<usize>,
}

/// One worker's shared state.
pub(crate) struct Live {
    /// Brackets each batch of changes, so that a reader's copy is of one moment.
    pub lock: SeqLock,
    directions: [Option<LiveDirection>; 3],
    /// Latency of the sync family.
    pub sync: LiveLatency,
    /// Syncs done.
    pub(crate) sync_ios: LiveCounter,
    /// I/Os by the depth at which they were issued.
    pub depth_counts: [LiveCounter; 7],
    /// Submit calls by how many I/Os they took.
    pub submit_counts: [LiveCounter; 7],
    /// Reaps by how many I/Os they returned.
    pub complete_counts: [LiveCounter; 7],
    /// Zones reset, by writes into full ones and by trims.
    pub zone_resets: LiveCounter,
    /// The longest submit call that took several I/Os, nanoseconds: how far the stamp of an issue can be off.
    pub batch_stamp_error_ns: LiveCounter,
    /// I/Os by total latency.
    pub buckets: LiveBuckets,
    /// I/Os in flight.
    pub in_flight: AtomicU32,
    /// Files open.
    pub open_files: AtomicU32,
    /// Kernel thread id.
    pub tid: AtomicU32,
    state: AtomicU8,
    /// Set by the coordinator: issue no more.
    pub stop: AtomicBool,
    /// Set by the coordinator: give up what is in flight.
    pub abandon: AtomicBool,
    /// The request that a worker makes, or made last: its offset, and its file and operation packed; see
    /// [`Live::current_place`].
    current_offset: AtomicU64,
    current_file_op: AtomicU64,
    /// When measuring began (after the ramp), nanoseconds of the run's clock; 0 before.
    pub measure_start_ns: AtomicU64,
    /// When I/O began.
    pub io_start_ns: AtomicU64,
    /// When I/O ended; 0 while it goes on.
    pub end_ns: AtomicU64,
    /// Time spent reading back what was written, at the end of passes that are over, nanoseconds.
    pub check_ns: LiveCounter,
    /// When the present reading back began; 0 while there is none.
    pub check_since_ns: AtomicU64,
    /// The depth that `latency_target` tries, or found.
    pub search_depth: AtomicU32,
    /// The clock that `job_start_clock_id` names, milliseconds, when I/O began.
    pub started_clock_ms: OnceLock<i64>,
    /// Wakes the worker out of a system call; there once it runs.
    pub waker: Mutex<Option<Waker>>,
    /// There once it has ended.
    pub ending: Mutex<Option<Ending>>,
    /// Errors that it went on after, and the errno of the first.
    tolerated: LiveCounter,
    first_tolerated: AtomicI32,
    /// What it wants to have said at once; the coordinator fetches it.
    sayings: Mutex<Vec<String>>,
}

/// Most sayings that wait to be fetched: a device that fails at a million I/Os a second must not fill the memory.
const MOST_SAYINGS: usize = 1_000;

impl Live {
    /// The counters for a worker: only what its job can touch is allocated.
    pub(crate) fn new(plan: &WorkerPlan) -> Self {
        let job = &plan.job;
        let rated = job.rate.bytes.to_array().iter().chain(&job.rate.iops.to_array()).any(Option::is_some);
        // A recording says when each I/O is due.
        let paced = if plan.replay.is_some() { !job.replay.no_stall } else { rated };
        let percentiles = &job.reporting;
        let direction = |at: usize, used: bool| {
            used.then(|| LiveDirection {
                bytes: LiveCounter::default(),
                ios: LiveCounter::default(),
                short_ios: LiveCounter::default(),
                failed_ios: LiveCounter::default(),
                slat: LiveLatency::new(job.measure.slat && percentiles.slat_percentiles),
                clat: LiveLatency::new(job.measure.clat && percentiles.clat_percentiles),
                lat: LiveLatency::new(job.measure.lat && percentiles.lat_percentiles),
                paced: (paced && job.measure.lat)
                    .then(|| LivePaced { lat_intended: LiveLatency::new(true), issue_lag: LiveLatency::new(true) }),
                priorities: priorities(job, at),
                bandwidth_samples: LiveMoments::default(),
                iops_samples: LiveMoments::default(),
            })
        };
        let workload = job.workload;
        Live {
            lock: SeqLock::default(),
            directions: [
                direction(0, workload.reads || reads_back(job)),
                direction(1, workload.writes),
                direction(2, workload.trims || trims_written(job)),
            ],
            sync: LiveLatency::new(
                plan.replay.is_some()
                    || job.syncs.every > 0
                    || job.syncs.data_every > 0
                    || job.syncs.range != RangeSync::default(),
            ),
            sync_ios: LiveCounter::default(),
            depth_counts: Default::default(),
            submit_counts: Default::default(),
            complete_counts: Default::default(),
            zone_resets: LiveCounter::default(),
            batch_stamp_error_ns: LiveCounter::default(),
            buckets: LiveBuckets::default(),
            in_flight: AtomicU32::new(0),
            open_files: AtomicU32::new(0),
            tid: AtomicU32::new(0),
            state: AtomicU8::new(State::NotStarted as u8),
            stop: AtomicBool::new(false),
            abandon: AtomicBool::new(false),
            current_offset: AtomicU64::new(0),
            current_file_op: AtomicU64::new(0),
            measure_start_ns: AtomicU64::new(0),
            io_start_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(0),
            check_ns: LiveCounter::default(),
            check_since_ns: AtomicU64::new(0),
            search_depth: AtomicU32::new(1),
            started_clock_ms: OnceLock::new(),
            waker: Mutex::new(None),
            ending: Mutex::new(None),
            tolerated: LiveCounter::default(),
            first_tolerated: AtomicI32::new(0),
            sayings: Mutex::new(Vec::new()),
        }
    }

    /// Counts an error that the worker goes on after.
    pub(crate) fn pass_over(&self, errno: i32) {
        self.tolerated.add(1);
        let _ = self.first_tolerated.compare_exchange(0, errno, Relaxed, Relaxed);
    }

    /// How many errors it went on after, and the errno of the first.
    pub(crate) fn passed_over(&self) -> (u64, i32) {
        (self.tolerated.get(), self.first_tolerated.load(Relaxed))
    }

    /// Has a sentence said by the coordinator.
    pub(crate) fn say(&self, sentence: String) {
        let mut sayings = self.sayings.lock().unwrap_or_else(PoisonError::into_inner);
        if sayings.len() < MOST_SAYINGS {
            sayings.push(sentence);
        }
    }

    /// What is to be said, once.
    pub(crate) fn take_sayings(&self) -> Vec<String> {
        std::mem::take(&mut self.sayings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The counters of a direction, if the job can do it.
    #[inline]
    pub(crate) fn direction(&self, direction: Direction) -> Option<&LiveDirection> {
        self.directions[direction.index()].as_ref()
    }

    /// All three, in the order read, write, trim.
    pub(crate) fn directions(&self) -> &[Option<LiveDirection>; 3] {
        &self.directions
    }

    /// I/Os done, of all directions.
    pub(crate) fn ios(&self) -> u64 {
        self.directions.iter().flatten().map(|direction| direction.ios.get()).sum()
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> State {
        State::from_u8(self.state.load(Relaxed))
    }

    /// Moves on; called by the worker.
    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Relaxed);
    }

    /// Whether the worker has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state(), State::Ended | State::Failed)
    }

    /// Says which request the worker is about to make.
    #[inline]
    pub(crate) fn note_current(&self, io: &Io) {
        self.current_offset.store(io.offset, Relaxed);
        self.current_file_op.store((u64::from(io.file) << 8) | (io.op as u64 + 1), Relaxed);
    }

    /// Says that the request which the worker is about to make is like the last one, but for its offset.
    #[inline]
    pub(crate) fn note_offset(&self, offset: u64) {
        self.current_offset.store(offset, Relaxed);
    }

    /// The request that the worker made last: operation, file, offset.
    pub(crate) fn current_place(&self) -> Option<(&'static str, FileId, u64)> {
        let packed = self.current_file_op.load(Relaxed);
        let names = ["read", "write", "trim", "fsync", "fdatasync"];
        let name = names.get((packed & 0xff).checked_sub(1)? as usize)?;
        Some((name, (packed >> 8) as FileId, self.current_offset.load(Relaxed)))
    }

    /// Counts requests by the depth at which each is issued: `more` after another, where `in_flight` are already. Only
    /// for the worker.
    #[inline]
    pub(crate) fn count_depths(&self, in_flight: u32, more: u32) {
        let last = in_flight.wrapping_add(more);
        let mut below = in_flight;
        while below < last {
            let row = depth_row(below.wrapping_add(1));
            // Depths of a row end below the next power of two, those of the last row never.
            let row_end = if row + 1 < self.depth_counts.len() { (2u32 << row).wrapping_sub(1) } else { u32::MAX };
            let end = last.min(row_end);
            self.depth_counts[row].add(u64::from(end.wrapping_sub(below)));
            below = end;
        }
    }

    /// How long an ended worker was measured, and how long it did I/O (with the ramp), nanoseconds.
    pub(crate) fn windows_ns(&self) -> (u64, u64) {
        let end_ns = self.end_ns.load(Relaxed);
        let since = |start: &AtomicU64| match start.load(Relaxed) {
            0 => 0,
            start_ns => end_ns.saturating_sub(start_ns),
        };
        (since(&self.measure_start_ns), since(&self.io_start_ns))
    }

    /// How much of the measured time was spent reading back what was written, nanoseconds.
    pub(crate) fn checked_ns(&self, measure_start_ns: u64, end_ns: u64) -> u64 {
        let present_ns = match self.check_since_ns.load(Relaxed) {
            0 => 0,
            since_ns => end_ns.saturating_sub(since_ns.max(measure_start_ns)),
        };
        self.check_ns.get().saturating_add(present_ns)
    }

    /// Forgets all that was counted: the end of the ramp. Called by the worker.
    pub(crate) fn reset(&self) {
        let _batch = self.lock.write();
        for direction in self.directions.iter().flatten() {
            for counter in [&direction.bytes, &direction.ios, &direction.short_ios, &direction.failed_ios] {
                counter.set(0);
            }
            for latency in [&direction.slat, &direction.clat, &direction.lat] {
                latency.reset();
            }
            if let Some(paced) = &direction.paced {
                paced.lat_intended.reset();
                paced.issue_lag.reset();
            }
            direction.priorities.iter().for_each(|(_, latency)| latency.reset());
            direction.bandwidth_samples.reset();
            direction.iops_samples.reset();
        }
        self.sync.reset();
        self.sync_ios.set(0);
        for counter in self.depth_counts.iter().chain(&self.submit_counts).chain(&self.complete_counts) {
            counter.set(0);
        }
        self.zone_resets.set(0);
        self.check_ns.set(0);
        self.batch_stamp_error_ns.set(0);
        self.buckets.reset();
    }
}

/// Row of the depth table for a depth: 1, 2, 4, 8, 16, 32, 64 and above.
#[inline]
pub(crate) fn depth_row(depth: u32) -> usize {
    (depth.max(1).ilog2() as usize).min(6)
}

/// Row of the submit and complete tables for a number of I/Os: 0, ≤4, ≤8, ≤16, ≤32, ≤64, above.
#[inline]
pub(crate) fn batch_row(count: u32) -> usize {
    match count {
        0 => 0,
        1..=4 => 1,
        _ => ((count - 1).ilog2() as usize).min(6),
    }
}

#[cfg(test)]
mod tests {
    use super::{batch_row, depth_row};

    #[test]
    fn rows_follow_the_edges_of_the_report() {
        let depths: Vec<usize> = [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 1000].map(depth_row).to_vec();
        assert_eq!(depths, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        let batches: Vec<usize> = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 4096].map(batch_row).to_vec();
        assert_eq!(batches, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }
}
