//! One row of a report: reads, writes, trims, or all of them mixed.

use super::latency::Latency;
use super::{per_second, percent};
use crate::model::{DirectionResult, PriorityResult, Reporting};
use iostrata_stats::{LatencySummary, Moments};

/// What a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All three together (`unified_rw_reporting`).
    Mixed,
}

impl Kind {
    /// The three that are measured.
    pub const MEASURED: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    /// fio's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Mixed => "mixed",
        }
    }
}

/// Samples taken once a window. In a merged report minimum, maximum and mean are sums over members.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// How many.
    pub count: u64,
    /// Squared distances from the member's own mean, summed.
    squares: f64,
}

impl Samples {
    /// Of one worker, counted in units of `unit`.
    fn of(moments: &Moments, unit: u64) -> Self {
        let scale = unit as f64;
        Self {
            min: moments.min / unit,
            max: moments.max / unit,
            mean: moments.mean() / scale,
            count: moments.count,
            squares: moments.variance() * moments.count.saturating_sub(1) as f64 / (scale * scale),
        }
    }

    /// Adds a member that ran at the same time.
    fn merge(&mut self, other: &Self) {
        self.min = self.min.saturating_add(other.min);
        self.max = self.max.saturating_add(other.max);
        self.mean += other.mean;
        self.count = self.count.saturating_add(other.count);
        self.squares += other.squares;
    }

    /// Sample standard deviation within the members; 0 for fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

/// The I/Os of a row that went down under one priority.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityLatency {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u16,
    /// Level within the class, 0 the highest.
    pub level: u16,
    /// Hint.
    pub hint: u16,
    /// Whether `latency` is total latency, else completion latency.
    pub total: bool,
    /// Their latency.
    pub latency: Latency,
    /// Their share of the row's I/Os, percent.
    pub share: f64,
}

/// One row of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// What it counts.
    pub kind: Kind,
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
    /// Time in which the direction was active, milliseconds: the longest of the members.
    pub runtime_ms: u64,
    /// Submission latency.
    pub slat: Latency,
    /// Completion latency.
    pub clat: Latency,
    /// Total latency.
    pub lat: Latency,
    /// Latency from the intended start, under a rate.
    pub lat_intended: Option<Latency>,
    /// The tool's own lateness, under a rate.
    pub issue_lag: Option<Latency>,
    /// Latency by priority, where I/Os of two or more were done.
    pub priorities: Vec<PriorityLatency>,
    /// Samples of bandwidth, KiB/s.
    pub bandwidth_kib: Samples,
    /// Samples of I/Os per second.
    pub iops_samples: Samples,
    /// Mean of the bandwidth samples in percent of what the whole group moved in this direction, at most 100.
    pub bandwidth_share: f64,
}

impl Direction {
    /// The latency that stands for the row where there is room for one, and its name: completion, or total where that
    /// alone was measured.
    pub fn chief_latency(&self) -> (&'static str, &Latency) {
        if self.clat.count() > 0 || self.lat.count() == 0 { ("completion", &self.clat) } else { ("total", &self.lat) }
    }

    /// I/Os issued: completed or failed. (fio's "total_ios" and "issued rwts" count so.)
    pub fn issued_ios(&self) -> u64 {
        self.ios.saturating_add(self.failed_ios)
    }

    /// Bytes per second.
    pub fn bw_bytes(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    /// KiB per second.
    pub fn bw_kib(&self) -> u64 {
        self.bw_bytes() / 1024
    }

    /// Bytes in whole KiB.
    pub fn kib(&self) -> u64 {
        self.bytes / 1024
    }

    /// Completed I/Os per second. (fio's count those that failed too.)
    pub fn iops(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { 1000.0 * self.ios as f64 / self.runtime_ms as f64 }
    }

    /// Completed I/Os per second, rounded down.
    pub fn iops_whole(&self) -> u64 {
        per_second(self.ios, self.runtime_ms)
    }

    /// Nothing was moved and nothing tried: such a row is not printed.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 && self.issued_ios() == 0
    }

    /// Sets [`bandwidth_share`](Self::bandwidth_share) from the bandwidth of the group. fio takes the mean without
    /// its fraction.
    pub(super) fn set_share(&mut self, group_bw_bytes: u64) {
        let share = percent(self.bandwidth_kib.mean.trunc(), group_bw_bytes as f64 / 1024.0);
        self.bandwidth_share = share.min(100.0);
    }
}

/// The sums from which a row is made; members and directions are added alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// What can be added as it is. Its priorities are filled only where they are wanted.
    counts: DirectionResult,
    runtime_ms: u64,
    bandwidth_kib: Samples,
    iops: Samples,
}

impl Sum {
    /// Of one direction of one worker. `by_priority`: the job's own priority and how its numbers are shown, where
    /// latencies are kept apart by priority.
    pub(super) fn of(result: &DirectionResult, by_priority: Option<(u16, &Reporting)>) -> Self {
        let mut counts = result.clone();
        if let (Some((word, reporting)), true) = (by_priority, result.priorities.is_empty()) {
            let latency = if reporting.lat_percentiles { &result.lat } else { &result.clat };
            counts.priorities = vec![PriorityResult { word, latency: latency.clone() }];
        }
        Self {
            counts,
            runtime_ms: result.runtime_ns.div_ceil(1_000_000),
            bandwidth_kib: Samples::of(&result.bandwidth_samples, 1024),
            iops: Samples::of(&result.iops_samples, 1),
        }
    }

    /// Adds a member or another direction.
    pub(super) fn merge(&mut self, other: &Self) {
        let (to, from) = (&mut self.counts, &other.counts);
        to.bytes = to.bytes.saturating_add(from.bytes);
        to.ios = to.ios.saturating_add(from.ios);
        to.short_ios = to.short_ios.saturating_add(from.short_ios);
        to.dropped_ios = to.dropped_ios.saturating_add(from.dropped_ios);
        to.failed_ios = to.failed_ios.saturating_add(from.failed_ios);
        to.slat.merge(&from.slat);
        to.clat.merge(&from.clat);
        to.lat.merge(&from.lat);
        merge_optional(&mut to.lat_intended, &from.lat_intended);
        merge_optional(&mut to.issue_lag, &from.issue_lag);
        for priority in &from.priorities {
            match to.priorities.iter_mut().find(|known| known.word == priority.word) {
                Some(known) => known.latency.merge(&priority.latency),
                None => to.priorities.push(priority.clone()),
            }
        }
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.bandwidth_kib.merge(&other.bandwidth_kib);
        self.iops.merge(&other.iops);
    }

    /// The row, its share of the group still open.
    pub(super) fn finish(self, kind: Kind, reporting: &Reporting) -> Direction {
        let Self { counts, runtime_ms, bandwidth_kib, iops } = self;
        let list = |wanted: bool| wanted.then_some(reporting.percentiles.as_slice());
        let ours = |summary: LatencySummary| Latency::new(summary, list(true));
        Direction {
            kind,
            bytes: counts.bytes,
            ios: counts.ios,
            short_ios: counts.short_ios,
            dropped_ios: counts.dropped_ios,
            failed_ios: counts.failed_ios,
            runtime_ms,
            slat: Latency::new(counts.slat, list(reporting.slat_percentiles)),
            clat: Latency::new(counts.clat, list(reporting.clat_percentiles)),
            lat: Latency::new(counts.lat, list(reporting.lat_percentiles)),
            lat_intended: counts.lat_intended.map(ours),
            issue_lag: counts.issue_lag.map(ours),
            priorities: priorities(counts.priorities, reporting),
            bandwidth_kib,
            iops_samples: iops,
            bandwidth_share: 0.0,
        }
    }
}

/// Those of which there were I/Os; none where that is but one.
fn priorities(mut all: Vec<PriorityResult>, reporting: &Reporting) -> Vec<PriorityLatency> {
    all.retain(|priority| priority.latency.moments.count > 0);
    if all.len() < 2 {
        return Vec::new();
    }
    let count: u64 = all.iter().map(|priority| priority.latency.moments.count).sum();
    let total = reporting.lat_percentiles;
    let list = (total || reporting.clat_percentiles).then_some(reporting.percentiles.as_slice());
    let one = |PriorityResult { word, latency }: PriorityResult| PriorityLatency {
        class: word >> 13,
        level: word & 7,
        hint: word >> 3 & 0x3ff,
        total,
        share: percent(latency.moments.count as f64, count as f64),
        latency: Latency::new(latency, list),
    };
    all.into_iter().map(one).collect()
}

fn merge_optional(to: &mut Option<LatencySummary>, from: &Option<LatencySummary>) {
    if let Some(from) = from {
        to.get_or_insert_default().merge(from);
    }
}
