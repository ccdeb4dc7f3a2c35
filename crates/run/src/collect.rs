//! From the workers' counters to the document.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_result::{
    DirectionResult, JobFacts, LatencyTarget, Note, OptionWord, PriorityResult, Reporting, Tolerated, WorkerResult,
};
use iostrata_spec::{Job, Unified, ZoneMode};
use iostrata_stats::LiveLatency;

use crate::budget::reopened;
use crate::group::Group;
use crate::live::{Ending, Live, LiveDirection, State};
use crate::plan::WorkerPlan;

/// A worker together with its counters.
pub(crate) struct Collected {
    pub(crate) result: WorkerResult,
    pub(crate) notes: Vec<Note>,
}

/// Times that only the coordinator knows.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Start of the run on its clock.
    pub(crate) run_start_ns: u64,
    /// Start of the run, milliseconds since the epoch; `None` in virtual time.
    pub(crate) run_start_unix_ms: Option<i64>,
    /// Now.
    pub(crate) now_ns: u64,
}

/// Reads a worker's counters, all of one moment.
pub(crate) fn collect(plan: &WorkerPlan, live: &Live, group: Option<&Group>, times: Times) -> Collected {
    let ending = live.ending.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let ended = ending.is_some();
    let ending = ending.unwrap_or_default();
    let io_start_ns = live.io_start_ns.load(Relaxed);
    let measure_start_ns = live.measure_start_ns.load(Relaxed);
    let end_ns = match live.end_ns.load(Relaxed) {
        0 => times.now_ns,
        end_ns => end_ns,
    };
    let measured_ns = if measure_start_ns == 0 { 0 } else { end_ns.saturating_sub(measure_start_ns) };
    let mut result = live.lock.read(|| {
        let directions = live.directions();
        let active_ns = active_ns(plan, measured_ns, live.checked_ns(measure_start_ns, end_ns).min(measured_ns));
        let direction = |index: usize| Some(read_direction(directions[index].as_ref()?, active_ns[index]));
        WorkerResult {
            job: facts(plan, &ending),
            clone: plan.clone,
            group: plan.group,
            thread_number: plan.thread_number,
            pid: live.tid.load(Relaxed),
            started_unix_ms: 0,
            elapsed_ns: end_ns.saturating_sub(times.run_start_ns),
            measured_ns,
            error: ending.error.as_ref().map_or(0, |error| error.errno),
            error_text: ending.error.as_ref().map(ToString::to_string),
            tolerated: tolerated(plan, live),
            eta_s: ended.then_some(0),
            read: direction(0),
            write: direction(1),
            trim: direction(2),
            sync: live.sync.snapshot(),
            sync_ios: live.sync_ios.get(),
            user_cpu_ns: ending.usage.user_ns,
            system_cpu_ns: ending.usage.system_ns,
            context_switches: ending.usage.voluntary_switches + ending.usage.involuntary_switches,
            major_faults: ending.usage.major_faults,
            minor_faults: ending.usage.minor_faults,
            depth_counts: counts(&live.depth_counts),
            submit_counts: counts(&live.submit_counts),
            complete_counts: counts(&live.complete_counts),
            zone_resets: (plan.job.shape.zone_mode == ZoneMode::Zoned).then(|| live.zone_resets.get()),
            batch_stamp_error_ns: live.batch_stamp_error_ns.get(),
            latency_target: latency_target(plan, live),
            block_lives: ending.block_lives.clone(),
            steady_state: group.and_then(Group::steady_state),
            started_clock_ms: live.started_clock_ms.get().copied(),
            latency_buckets: live.buckets.snapshot(),
            engine_used: ending.engine_used.clone(),
            due_not_issued: ending.due_not_issued,
            censored: ending.censored,
        }
    });
    if let (Some(run_start), true) = (times.run_start_unix_ms, io_start_ns > 0) {
        result.started_unix_ms = run_start + (io_start_ns.saturating_sub(times.run_start_ns) / 1_000_000) as i64;
    }
    if plan.engine.caps.virtual_time {
        result.pid = plan.thread_number;
    }
    // Only a worker that had to be left behind is without an ending when the run has one.
    if !ended && live.state() != State::NotStarted {
        result.censored = u64::from(live.in_flight.load(Relaxed)).max(1);
    }
    let notes = notes(plan, &ending);
    Collected { result, notes }
}

fn latency_target(plan: &WorkerPlan, live: &Live) -> Option<LatencyTarget> {
    let search = plan.job.latency_search;
    (search.target_ns > 0).then(|| LatencyTarget {
        target_ns: search.target_ns,
        window_us: search.window_ns / 1000,
        percentile: search.percentile,
        depth: live.search_depth.load(Relaxed),
    })
}

fn tolerated(plan: &WorkerPlan, live: &Live) -> Tolerated {
    let (total, first_error) = live.passed_over();
    Tolerated { allowed: plan.job.errors.any(), total, first_error }
}

fn counts(counters: &[iostrata_stats::LiveCounter; 7]) -> [u64; 7] {
    std::array::from_fn(|index| counters[index].get())
}

/// How long reads, writes and trims went on: nothing is written while all is read back in the end, and a job that only
/// writes reads at no other time. What is read back in between (`verify_backlog`) goes on beside the writes.
fn active_ns(plan: &WorkerPlan, measured_ns: u64, checked_ns: u64) -> [u64; 3] {
    let job = &plan.job;
    let reads_apart = checked_ns > 0 && !job.workload.reads && job.verify.backlog == 0;
    let written_ns = measured_ns - checked_ns;
    [if reads_apart { checked_ns } else { measured_ns }, written_ns, written_ns]
}

fn read_direction(counted: &LiveDirection, active_ns: u64) -> DirectionResult {
    let ios = counted.ios.get();
    DirectionResult {
        bytes: counted.bytes.get(),
        ios,
        short_ios: counted.short_ios.get(),
        dropped_ios: 0,
        failed_ios: counted.failed_ios.get(),
        runtime_ns: if ios > 0 { active_ns } else { 0 },
        slat: counted.slat.snapshot(),
        clat: counted.clat.snapshot(),
        lat: counted.lat.snapshot(),
        lat_intended: counted.paced.as_ref().map(|paced| paced.lat_intended.snapshot()),
        issue_lag: counted.paced.as_ref().map(|paced| paced.issue_lag.snapshot()),
        priorities: priorities(counted),
        bandwidth_samples: counted.bandwidth_samples.snapshot(),
        iops_samples: counted.iops_samples.snapshot(),
    }
}

fn priorities(counted: &LiveDirection) -> Vec<PriorityResult> {
    let of = |(word, latency): &(u16, LiveLatency)| PriorityResult { word: *word, latency: latency.snapshot() };
    counted.priorities.iter().map(of).collect()
}

fn notes(plan: &WorkerPlan, ending: &Ending) -> Vec<Note> {
    let job = &plan.job;
    let note = |code: &str, text: String| Note { code: code.into(), job: Some(job.name.clone()), text };
    let mut notes: Vec<Note> = ending.notes.iter().map(|text| note("engine", text.clone())).collect();
    if ending.depth_granted > 0 && ending.depth_granted < job.depth {
        let why =
            if plan.engine.caps.synchronous { "a synchronous engine does one I/O at a time" } else { "the system" };
        notes.push(note(
            "depth-lowered",
            format!("iodepth={} was lowered to {}: {why}", job.depth, ending.depth_granted),
        ));
    }
    if ending.censored > 0 {
        notes.push(note(
            "censored",
            format!("{} I/Os never came back: latencies and percentiles are lower bounds", ending.censored),
        ));
    }
    if ending.ended_in_ramp {
        let text = "it was done before its ramp was over: all of it is counted, and nothing was warmed up before";
        notes.push(note("ended-in-ramp", text.into()));
    }
    if let Some(at_once) = ending.files_at_once {
        notes.push(note("files-reopened", reopened(plan, at_once)));
    }
    if ending.due_not_issued > 0 {
        notes.push(note(
            "rate-missed",
            format!("{} I/Os were due by the rate and not issued when time was over", ending.due_not_issued),
        ));
    }
    notes
}

/// What reports need of a job.
pub fn facts(plan: &WorkerPlan, ending: &Ending) -> JobFacts {
    let job = &plan.job;
    let synchronous = plan.engine.caps.synchronous && !plan.offloads();
    JobFacts {
        index: plan.job_index,
        name: job.name.clone(),
        description: job.description.clone(),
        options: words(&job.words),
        workload: workload_name(job).to_string(),
        engine: job.engine.clone(),
        depth: if synchronous { ending.depth_granted.max(1) } else { job.depth },
        depth_granted: ending.depth_granted,
        block_sizes: job.block_sizes().map(|sizes| (sizes.min(), sizes.max())),
        io_priority: job.process.io_priority_word(),
        asynchronous: !synchronous,
        reporting: reporting(job),
    }
}

/// Options as written, in the document's type.
pub(crate) fn words(words: &[iostrata_spec::OptionWord]) -> Vec<OptionWord> {
    words.iter().map(|word| OptionWord { name: word.name.clone(), value: word.value.clone() }).collect()
}

fn reporting(job: &Job) -> Reporting {
    let how = &job.reporting;
    let measure = job.measure;
    Reporting {
        group: how.group,
        kb_base: how.kb_base,
        unit_base: how.unit_base,
        percentiles: how.percentiles.values.clone(),
        percentile_precision: how.percentiles.precision,
        clat_percentiles: how.clat_percentiles,
        lat_percentiles: how.lat_percentiles,
        slat_percentiles: how.slat_percentiles,
        clat: measure.clat,
        lat: measure.lat,
        slat: measure.slat,
        samples: measure.samples,
        significant_figures: how.significant_figures,
        unified: match how.unified {
            Unified::None => "none",
            Unified::Mixed => "mixed",
            Unified::Both => "both",
        }
        .to_string(),
        disk_util: how.disk_util,
        hidden: how.hidden,
    }
}

/// The canonical name of a workload, as `rw=` takes it.
pub fn workload_name(job: &Job) -> &'static str {
    let kind = job.workload;
    match (kind.random, kind.reads, kind.writes, kind.trims) {
        (false, true, false, _) => "read",
        (false, false, true, false) => "write",
        (false, false, false, _) => "trim",
        (false, true, true, _) => "rw",
        (false, false, true, true) => "trimwrite",
        (true, true, false, _) => "randread",
        (true, false, true, false) => "randwrite",
        (true, false, false, _) => "randtrim",
        (true, true, true, _) => "randrw",
        (true, false, true, true) => "randtrimwrite",
    }
}
