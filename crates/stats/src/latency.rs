//! Latencies: moments, and a histogram where one is kept.

use crate::{HistogramBins, LiveHistogram, LiveMoments, Moments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latencies: the moments, and the histogram where one was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Count, sum, sum of squares, extremes; nanoseconds.
    pub moments: Moments,
    /// Bins; empty when no histogram was kept.
    pub bins: HistogramBins,
    /// Percentiles that another program told without its bins: which one, in millionths of a percent, and nanoseconds.
    /// Merging drops them: those of parts say nothing of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<(u64, u64)>,
}

impl LatencySummary {
    /// The summary of some values, with a histogram.
    pub fn of(values_ns: impl IntoIterator<Item = u64>) -> Self {
        let mut moments = Moments::default();
        let bins = HistogramBins::of(values_ns.into_iter().inspect(|&value| moments.add(value)));
        Self { moments, bins, told: Vec::new() }
    }

    /// Takes in all of `other`.
    pub fn merge(&mut self, other: &Self) {
        match (self.moments.count, other.moments.count) {
            (_, 0) => {}
            (0, _) => self.told.clone_from(&other.told),
            _ => self.told.clear(),
        }
        self.moments.merge(&other.moments);
        self.bins.merge(&other.bins);
    }
}

/// A [`LatencySummary`] in the making: one thread records, any may look.
#[derive(Debug, Default)]
pub struct LiveLatency {
    /// Count, sum, sum of squares, extremes; nanoseconds.
    pub moments: LiveMoments,
    /// Bins, if a histogram is wanted.
    pub bins: Option<LiveHistogram>,
}

impl LiveLatency {
    /// Moments only, or with a histogram (30 KiB) too.
    pub fn new(histogram: bool) -> Self {
        Self { moments: LiveMoments::default(), bins: histogram.then(LiveHistogram::default) }
    }

    /// Takes in one latency. Only for the writer.
    #[inline(always)]
    pub fn record(&self, ns: u64) {
        self.moments.record(ns);
        if let Some(bins) = &self.bins {
            bins.record(ns);
        }
    }

    /// Takes in some latencies; the same as [`record`](Self::record) for each. Only for the writer.
    #[inline]
    pub fn record_all(&self, ns: impl ExactSizeIterator<Item = u64> + Clone) {
        self.moments.record_all(ns.clone());
        if let Some(bins) = &self.bins {
            ns.for_each(|ns| bins.record(ns));
        }
    }

    /// Forgets everything. Only for the writer.
    pub fn reset(&self) {
        self.moments.reset();
        if let Some(bins) = &self.bins {
            bins.reset();
        }
    }

    /// A copy. Its parts belong together only inside [`SeqLock::read`](crate::SeqLock::read).
    pub fn snapshot(&self) -> LatencySummary {
        let bins = self.bins.as_ref().map(LiveHistogram::snapshot).unwrap_or_default();
        LatencySummary { moments: self.moments.snapshot(), bins, told: Vec::new() }
    }
}
