//! Latency statistics of one kind.

use iostrata_stats::histogram::{BINS, FIO_BINS, bin_value};
use iostrata_stats::{LatencySummary, Moments};

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Which, in (0, 100].
    pub p: f64,
    /// Its value, nanoseconds.
    pub ns: u64,
}

/// Latencies of one kind (submission, completion, total …) of one direction of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Moments and bins, merged over the members.
    pub summary: LatencySummary,
    /// The percentiles that the job asked for: `None` when they are not wanted for this kind or no histogram was
    /// kept. None is above the largest latency (fio's may be: it shows the middle of a bin).
    pub percentiles: Option<Vec<Percentile>>,
}

impl Latency {
    /// With the percentiles of `list`, if they are wanted.
    pub(super) fn new(summary: LatencySummary, list: Option<&[f64]>) -> Self {
        let max = (summary.moments.count > 0).then_some(summary.moments.max);
        let list = list.filter(|_| !summary.bins.is_empty() || !summary.told.is_empty());
        let percentiles = list.map(|list| {
            if summary.bins.is_empty() {
                return summary
                    .told
                    .iter()
                    .map(|&(millionths, ns)| Percentile { p: millionths as f64 / 1e6, ns })
                    .collect();
            }
            let value = |&p: &f64| summary.bins.percentile(p, max).map(|ns| Percentile { p, ns });
            list.iter().filter_map(value).collect()
        });
        Self { summary, percentiles }
    }

    /// The percentile `p`: as it was asked for, or by the bins; `None` where neither tells it.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        let told = self.percentiles.iter().flatten().find(|percentile| (percentile.p - p).abs() < 1e-9);
        let max = (self.count() > 0).then(|| self.max_ns());
        told.map(|percentile| percentile.ns).or_else(|| self.summary.bins.percentile(p, max))
    }

    /// Count, sums, extremes.
    pub fn moments(&self) -> &Moments {
        &self.summary.moments
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.summary.moments.count
    }

    /// Smallest, nanoseconds; 0 when there is none.
    pub fn min_ns(&self) -> u64 {
        self.summary.moments.min
    }

    /// Largest, nanoseconds; 0 when there is none.
    pub fn max_ns(&self) -> u64 {
        self.summary.moments.max
    }

    /// Mean, nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.summary.moments.mean()
    }

    /// Sample standard deviation, nanoseconds.
    pub fn stddev_ns(&self) -> f64 {
        self.summary.moments.stddev()
    }

    /// The non-empty bins of fio's own histogram, as `(nanoseconds, count)`: what lies beyond its last bin is counted
    /// there.
    pub fn fio_bins(&self) -> Vec<(u64, u64)> {
        let mut bins: Vec<(u64, u64)> = Vec::with_capacity(self.summary.bins.0.len());
        for &(bin, count) in &self.summary.bins.0 {
            let value = bin_value(usize::from(bin).min(FIO_BINS - 1));
            match bins.last_mut() {
                Some(last) if last.0 == value => last.1 = last.1.saturating_add(count),
                _ => bins.push((value, count)),
            }
        }
        bins
    }

    /// Whether some latency lies beyond fio's histogram (above 17 s), so that [`fio_bins`](Self::fio_bins) shows it
    /// too small.
    pub fn exceeds_fio_bins(&self) -> bool {
        self.summary.bins.0.last().is_some_and(|&(bin, _)| (FIO_BINS..BINS).contains(&usize::from(bin)))
    }
}
