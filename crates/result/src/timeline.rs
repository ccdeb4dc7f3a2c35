//! What a run did over time, in windows: raw integers, merged until they are few.

use iostrata_stats::HistogramBins;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the jobs of a run did over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Length of a window, nanoseconds; the first and the last of a job may be shorter, and any may be longer when the
    /// machine was too busy to look in time.
    pub window_ns: u64,
    /// One entry a job (its clones together), in their order; those that did not begin are missing.
    pub jobs: Vec<JobTimeline>,
}

/// One job over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobTimeline {
    /// Position of the job in the run, from 0.
    pub index: u32,
    /// Its name.
    pub job: String,
    /// Its windows, one after the other.
    pub points: Vec<TimelinePoint>,
}

/// What a job did in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePoint {
    /// When the window began, nanoseconds since the run did.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Reads, if the job had any to do.
    pub read: Option<PointDirection>,
    /// Writes, if the job had any to do.
    pub write: Option<PointDirection>,
    /// Trims, if the job had any to do.
    pub trim: Option<PointDirection>,
}

/// What was done in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointDirection {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Completion latency, or total latency where that alone is measured, nanoseconds; empty where neither is, and in
    /// runs of very many jobs.
    pub latency: HistogramBins,
}

impl Timeline {
    /// Joins windows in pairs: half as many, twice as long.
    pub fn halve(&mut self) {
        self.window_ns = self.window_ns.saturating_mul(2);
        for job in &mut self.jobs {
            let pairs = job.points.chunks(2);
            job.points = pairs.map(|pair| pair[1..].iter().fold(pair[0].clone(), TimelinePoint::joined)).collect();
        }
    }

    /// Windows of the job that has the most.
    pub fn longest(&self) -> usize {
        self.jobs.iter().map(|job| job.points.len()).max().unwrap_or(0)
    }
}

impl TimelinePoint {
    /// Reads, writes and trims.
    pub fn directions(&self) -> [Option<&PointDirection>; 3] {
        [self.read.as_ref(), self.write.as_ref(), self.trim.as_ref()]
    }

    /// How long the window is, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// This window and the next as one.
    pub fn joined(mut self, next: &TimelinePoint) -> TimelinePoint {
        self.end_ns = next.end_ns;
        let pairs = [(&mut self.read, &next.read), (&mut self.write, &next.write), (&mut self.trim, &next.trim)];
        for (own, other) in pairs {
            if let Some(other) = other {
                own.get_or_insert_default().merge(other);
            }
        }
        self
    }

    /// Bytes per second of a direction.
    pub fn bytes_per_second(&self, direction: &PointDirection) -> f64 {
        per_second(direction.bytes, self.length_ns())
    }

    /// I/Os per second of a direction.
    pub fn ios_per_second(&self, direction: &PointDirection) -> f64 {
        per_second(direction.ios, self.length_ns())
    }
}

impl PointDirection {
    /// Takes in all of `other`.
    pub fn merge(&mut self, other: &PointDirection) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latency.merge(&other.latency);
    }
}

fn per_second(count: u64, length_ns: u64) -> f64 {
    if length_ns == 0 { 0.0 } else { count as f64 * 1e9 / length_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(second: u64, latencies_ns: &[u64]) -> TimelinePoint {
        let latency = HistogramBins::of(latencies_ns.iter().copied());
        let read = PointDirection { ios: latency.count(), bytes: latency.count() * 4096, latency };
        TimelinePoint { start_ns: second, end_ns: second + 1, read: Some(read), ..TimelinePoint::default() }
    }

    #[test]
    fn halving_loses_nothing_and_keeps_an_odd_last_window() {
        let points = vec![point(0, &[5, 9]), point(1, &[]), point(2, &[7])];
        let job = JobTimeline { index: 0, job: "j".into(), points };
        let mut timeline = Timeline { window_ns: 1, jobs: vec![job] };
        timeline.halve();
        assert_eq!((timeline.window_ns, timeline.longest()), (2, 2));
        let points = &timeline.jobs[0].points;
        assert_eq!((points[0].start_ns, points[0].end_ns, points[1].start_ns), (0, 2, 2));
        assert_eq!(points[0].read, point(0, &[5, 9]).read);
        assert_eq!(points[1].read, point(2, &[7]).read);
    }

    #[test]
    fn a_window_of_no_length_has_no_rate() {
        let point = TimelinePoint { read: Some(PointDirection { ios: 4, ..Default::default() }), ..Default::default() };
        assert_eq!(point.ios_per_second(point.read.as_ref().expect("reads")), 0.0);
    }
}
