//! What fio prints as one job: a worker, or with `group_reporting` the merged members of a group.

use super::direction::{Direction, Kind, Sum};
use super::latency::Latency;
use super::{group, percent, shares};
use crate::model::{
    BlockLives, DirectionResult, JobFacts, LatencyTarget, RunResult, SteadyState, Tolerated, WorkerResult,
};
use iostrata_stats::{LatencyBuckets, LatencySummary};

/// One entry of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<'a> {
    /// The workers it stands for, in the order of the run; the first gives name, description, options and pid.
    pub members: &'a [WorkerResult],
    /// What the first was asked to do.
    pub job: &'a JobFacts,
    /// Reporting group.
    pub group: u32,
    /// Number of workers.
    pub jobs: u32,
    /// Thread id of the first.
    pub pid: u32,
    /// When the first started, milliseconds since the epoch, or on the clock that its job names.
    pub job_start_ms: i64,
    /// First error of any member, one that was gone on after if there is no other; 0 for none.
    pub error: i32,
    /// The sentence about it.
    pub error_text: Option<&'a str>,
    /// Seconds that the last member still needs; `None` when that is not known.
    pub eta_s: Option<u64>,
    /// Seconds from the start of the run to this document, rounded up.
    pub elapsed_s: u64,
    /// The rows, in fio's order: read, write, trim; or mixed alone; or all four.
    pub directions: Vec<Direction>,
    /// How many syncs were done.
    pub sync_ios: u64,
    /// Their latency.
    pub sync: Latency,
    /// Measured time of all members added up, milliseconds.
    pub job_runtime_ms: u64,
    /// User CPU time in percent of the measured time.
    pub user_cpu_percent: f64,
    /// System CPU time in percent of the measured time.
    pub system_cpu_percent: f64,
    /// Zones reset; `None` without zones.
    pub zone_resets: Option<u64>,
    /// Context switches.
    pub context_switches: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// Share of I/Os by depth at issue, percent: 1, 2, 4, 8, 16, 32, 64 and above. They add up to 100. (fio counts
    /// syncs in the parts and not in the whole, so that its shares may exceed 100.)
    pub depth_shares: [f64; 7],
    /// Share of I/Os by size of the submit call, percent: 0, 4, 8, 16, 32, 64, above.
    pub submit_shares: [f64; 7],
    /// Share of I/Os by size of the reap, percent.
    pub complete_shares: [f64; 7],
    /// Share of I/Os by completion latency below 1 µs, percent; the three tables add up to 100.
    pub latency_ns_shares: [f64; 10],
    /// … from 1 µs to 1 ms.
    pub latency_us_shares: [f64; 10],
    /// … from 1 ms.
    pub latency_ms_shares: [f64; 12],
    /// Errors that members went on after.
    pub tolerated: Tolerated,
    /// The latency target; without one target and window are 0, the percentile is 100 and the depth the job's.
    pub latency_target: LatencyTarget,
    /// The search for steady state, if there was one; see [`Steadiness::of`](super::Steadiness::of).
    pub steady_state: Option<&'a SteadyState>,
    /// What became of the members' blocks, with `block_error_percentiles`.
    pub block_lives: Option<BlockLives>,
    /// I/Os that were due under a rate and never issued.
    pub due_not_issued: u64,
    /// I/Os that had not come back when their worker was given up: the percentiles are lower bounds then.
    pub censored: u64,
}

impl BlockLives {
    /// The trims that so many percent of the failed blocks lived through at most; `None` if none failed.
    pub fn lifetime(&self, percentile: f64) -> Option<u32> {
        let place = (percentile / 100.0 * self.lifetimes.len() as f64).ceil() as usize;
        self.lifetimes.get(place.saturating_sub(1)).or(self.lifetimes.last()).copied()
    }
}

impl Report<'_> {
    /// The row of a kind, if the report has one.
    pub fn direction(&self, kind: Kind) -> Option<&Direction> {
        self.directions.iter().find(|direction| direction.kind == kind)
    }

    /// Nothing was moved and nothing tried: fio's text does not print such an entry.
    pub fn is_empty(&self) -> bool {
        self.directions.iter().all(Direction::is_empty)
    }
}

/// All entries of a run, in fio's order.
///
/// A worker joins the entry before it when its job has `group_reporting` and is of the same group. So, as in fio, a
/// job without it begins an entry that later jobs with it join. Workers of a job with `stats=0` are left out.
pub fn reports(run: &RunResult) -> Vec<Report<'_>> {
    let joins = |before: &WorkerResult, next: &WorkerResult| {
        let hidden = |worker: &WorkerResult| worker.job.reporting.hidden;
        next.job.reporting.group && next.group == before.group && hidden(next) == hidden(before)
    };
    let elapsed_ms = u64::try_from(run.taken_unix_ms.saturating_sub(run.started_unix_ms)).unwrap_or(0);
    let elapsed_s = elapsed_ms.div_ceil(1000).max(1);
    let shown = run.workers.chunk_by(joins).filter(|members| !members[0].job.reporting.hidden);
    let mut reports: Vec<Report<'_>> = shown.map(|members| report_of(members, elapsed_s)).collect();
    group::set_shares(&mut reports);
    reports
}

fn report_of(members: &[WorkerResult], elapsed_s: u64) -> Report<'_> {
    let first = &members[0];
    let job = &first.job;
    let measured_ns = sum(members, |worker| worker.measured_ns) as f64;
    let buckets = latency_buckets(members);
    let (latency_ns_shares, latency_us_shares, latency_ms_shares) = latency_shares(&buckets);
    let failed = members.iter().find(|worker| worker.error != 0);
    let tolerated = tolerated(members);
    let mut sync = LatencySummary::default();
    members.iter().for_each(|worker| sync.merge(&worker.sync));
    let percentiles = job.reporting.clat_percentiles || job.reporting.lat_percentiles;
    Report {
        members,
        job,
        group: first.group,
        jobs: members.len() as u32,
        pid: first.pid,
        job_start_ms: first.started_clock_ms.unwrap_or(first.started_unix_ms),
        error: failed.map_or(tolerated.first_error, |worker| worker.error),
        error_text: failed.and_then(|worker| worker.error_text.as_deref()),
        eta_s: members.iter().map(|worker| worker.eta_s).try_fold(0, |eta, next| Some(eta.max(next?))),
        elapsed_s,
        directions: directions(members),
        sync_ios: sum(members, |worker| worker.sync_ios),
        sync: Latency::new(sync, percentiles.then_some(job.reporting.percentiles.as_slice())),
        job_runtime_ms: sum(members, |worker| worker.measured_ns / 1_000_000),
        user_cpu_percent: percent(sum(members, |worker| worker.user_cpu_ns) as f64, measured_ns),
        system_cpu_percent: percent(sum(members, |worker| worker.system_cpu_ns) as f64, measured_ns),
        context_switches: sum(members, |worker| worker.context_switches),
        major_faults: sum(members, |worker| worker.major_faults),
        minor_faults: sum(members, |worker| worker.minor_faults),
        depth_shares: shares(&sums(members, |worker| &worker.depth_counts)),
        submit_shares: shares(&sums(members, |worker| &worker.submit_counts)),
        complete_shares: shares(&sums(members, |worker| &worker.complete_counts)),
        latency_ns_shares,
        latency_us_shares,
        latency_ms_shares,
        tolerated,
        latency_target: first.latency_target.unwrap_or(LatencyTarget {
            target_ns: 0,
            window_us: 0,
            percentile: 100.0,
            depth: job.depth,
        }),
        steady_state: members.iter().find_map(|worker| worker.steady_state.as_ref()),
        block_lives: block_lives(members),
        zone_resets: members.iter().filter_map(|worker| worker.zone_resets).reduce(u64::saturating_add),
        due_not_issued: sum(members, |worker| worker.due_not_issued),
        censored: sum(members, |worker| worker.censored),
    }
}

fn sum(members: &[WorkerResult], field: impl Fn(&WorkerResult) -> u64) -> u64 {
    members.iter().map(field).fold(0, u64::saturating_add)
}

fn sums<const N: usize>(members: &[WorkerResult], field: impl Fn(&WorkerResult) -> &[u64; N]) -> [u64; N] {
    members.iter().fold([0; N], |mut sums, worker| {
        sums.iter_mut().zip(field(worker)).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        sums
    })
}

fn latency_buckets(members: &[WorkerResult]) -> LatencyBuckets {
    let mut buckets = LatencyBuckets::default();
    members.iter().for_each(|worker| buckets.merge(&worker.latency_buckets));
    buckets
}

/// The three tables of latency shares over their common whole.
fn latency_shares(buckets: &LatencyBuckets) -> ([f64; 10], [f64; 10], [f64; 12]) {
    let total = buckets.count() as f64;
    // Divided first, as in fio: the order decides how a tie rounds (2111 of 4000 is 52.78% then, not 52.77%).
    let share = |count: u64| if total > 0.0 { count as f64 / total * 100.0 } else { 0.0 };
    (buckets.ns.map(share), buckets.us.map(share), buckets.ms.map(share))
}

fn block_lives(members: &[WorkerResult]) -> Option<BlockLives> {
    let mut all: Option<BlockLives> = None;
    for lives in members.iter().filter_map(|worker| worker.block_lives.as_ref()) {
        let all = all.get_or_insert_default();
        all.unwritten += lives.unwritten;
        all.trimmed += lives.trimmed;
        all.written += lives.written;
        all.trim_failed += lives.trim_failed;
        all.write_failed += lives.write_failed;
        all.lifetimes.extend(&lives.lifetimes);
        all.lifetimes.sort_unstable();
    }
    all
}

fn tolerated(members: &[WorkerResult]) -> Tolerated {
    members.iter().fold(Tolerated::default(), |all, worker| Tolerated {
        allowed: all.allowed || worker.tolerated.allowed,
        total: all.total.saturating_add(worker.tolerated.total),
        first_error: if all.first_error != 0 { all.first_error } else { worker.tolerated.first_error },
    })
}

/// The rows that the first member's job asks for.
fn directions(members: &[WorkerResult]) -> Vec<Direction> {
    let reporting = &members[0].job.reporting;
    let measured = Kind::MEASURED.map(|kind| (kind, sum_of(members, kind)));
    let mut mixed = Sum::default();
    measured.iter().for_each(|(_, sum)| mixed.merge(sum));
    let mut rows = Vec::with_capacity(4);
    if reporting.unified != "mixed" {
        rows.extend(measured.map(|(kind, sum)| sum.finish(kind, reporting)));
    }
    if reporting.unified != "none" {
        rows.push(mixed.finish(Kind::Mixed, reporting));
    }
    rows
}

fn sum_of(members: &[WorkerResult], kind: Kind) -> Sum {
    let several = several_priorities(members);
    let mut sum = Sum::default();
    for worker in members {
        let by_priority = several.then_some((worker.job.io_priority, &members[0].job.reporting));
        if let Some(result) = result_of(worker, kind) {
            sum.merge(&Sum::of(result, by_priority));
        }
    }
    sum
}

/// Whether I/Os of more than one priority may be among theirs.
fn several_priorities(members: &[WorkerResult]) -> bool {
    let own = members[0].job.io_priority;
    let apart = |worker: &WorkerResult| {
        let rows = Kind::MEASURED.iter().filter_map(|kind| result_of(worker, *kind));
        worker.job.io_priority != own || rows.into_iter().any(|row| !row.priorities.is_empty())
    };
    members.iter().any(apart)
}

fn result_of(worker: &WorkerResult, kind: Kind) -> Option<&DirectionResult> {
    match kind {
        Kind::Read => worker.read.as_ref(),
        Kind::Write => worker.write.as_ref(),
        Kind::Trim => worker.trim.as_ref(),
        Kind::Mixed => None,
    }
}
