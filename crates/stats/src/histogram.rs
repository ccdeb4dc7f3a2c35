//! fio's histogram layout carried to 64 bits: 59 groups of 64 bins.
//!
//! Values below 128 have a bin each. Above, every power of two is cut into 64 bins of equal width, so a bin is never wider
//! than 1/64 of its values. fio's own layout is the same with 29 groups.

use crate::live::LiveCounter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Bits of a value that its bin keeps below the leading one.
pub const MANTISSA_BITS: u32 = 6;
/// Bins of one power of two.
pub const GROUP_BINS: usize = 1 << MANTISSA_BITS;
/// Bins in all.
pub const BINS: usize = 59 * GROUP_BINS;
/// Bins of fio's own histogram; it counts everything larger in its last one.
pub const FIO_BINS: usize = 29 * GROUP_BINS;

/// The bin of a value.
#[inline(always)]
pub const fn bin_of(value: u64) -> usize {
    // With the bit of the first group's width set, small values need no branch: their shift is 0.
    let shift = (63 - MANTISSA_BITS) - (value | GROUP_BINS as u64).leading_zeros();
    ((shift << MANTISSA_BITS) as usize) + (value >> shift) as usize
}

/// Smallest and largest value of a bin.
///
/// # Panics
/// When `bin` is not below [`BINS`].
pub const fn bin_range(bin: usize) -> RangeInclusive<u64> {
    assert!(bin < BINS);
    let shift = (bin / GROUP_BINS).saturating_sub(1);
    let first = ((bin - shift * GROUP_BINS) as u64) << shift;
    first..=first + ((1 << shift) - 1)
}

/// The value that stands for a bin in reports: its middle, rounded up between two integers as fio does.
///
/// # Panics
/// When `bin` is not below [`BINS`].
pub const fn bin_value(bin: usize) -> u64 {
    let range = bin_range(bin);
    let width = *range.end() - *range.start();
    *range.start() + width.div_ceil(2)
}

/// A finished histogram: the non-empty bins only, ascending, as `(bin index, count)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramBins(pub Vec<(u16, u64)>);

impl HistogramBins {
    /// The histogram of some values.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let mut bins = Vec::new();
        for chunk in values.chunk_by(|&left, &right| bin_of(left) == bin_of(right)) {
            bins.push((bin_of(chunk[0]) as u16, chunk.len() as u64));
        }
        Self(bins)
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let mut merged: Vec<(u16, u64)> = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(l), Some(r)) if r.0 < l.0 => right.next(),
                (Some(_), _) => left.next(),
                (None, _) => right.next(),
            };
            let Some(&(bin, count)) = next else { break };
            match merged.last_mut() {
                Some(last) if last.0 == bin => last.1 = last.1.saturating_add(count),
                _ => merged.push((bin, count)),
            }
        }
        self.0 = merged;
    }

    /// What came in since `earlier`, an older copy of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut old = earlier.0.iter().peekable();
        let newer = self.0.iter().filter_map(|&(bin, count)| {
            while old.next_if(|&&(old_bin, _)| old_bin < bin).is_some() {}
            let before = old.next_if(|&&(old_bin, _)| old_bin == bin).map_or(0, |&(_, before)| before);
            let count = count.saturating_sub(before);
            (count > 0).then_some((bin, count))
        });
        Self(newer.collect())
    }

    /// The percentile `p` (0 < p ≤ 100) by fio's rule: the middle of the first bin at which the cumulative count reaches
    /// p/100 of all. With `max`, the largest value that was recorded, the answer is never above it. `None` when the
    /// histogram is empty.
    pub fn percentile(&self, p: f64, max: Option<u64>) -> Option<u64> {
        let wanted = rank(p, self.count());
        let mut cumulative = 0u64;
        let reached = self.0.iter().find(|&&(_, count)| {
            cumulative = cumulative.saturating_add(count);
            cumulative >= wanted
        });
        let &(bin, _) = reached.or(self.0.last())?;
        let value = bin_value(bin.into());
        Some(max.map_or(value, |max| value.min(max)))
    }

    /// The non-empty bins as `(value reported, count)`, ascending.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|&(bin, count)| (bin_value(bin.into()), count))
    }
}

/// How many of `count` values make `p` percent of them: the smallest k ≥ 1 with k ≥ p/100·count.
fn rank(p: f64, count: u64) -> u64 {
    ((p / 100.0 * count as f64).ceil() as u64).clamp(1, count.max(1))
}

/// A histogram in the making: one thread records, any may look.
#[derive(Debug)]
pub struct LiveHistogram(Box<[LiveCounter; BINS]>);

impl Default for LiveHistogram {
    fn default() -> Self {
        let bins: Box<[LiveCounter]> = (0..BINS).map(|_| LiveCounter::default()).collect();
        match bins.try_into() {
            Ok(bins) => Self(bins),
            Err(_) => unreachable!("collected BINS cells"),
        }
    }
}

impl LiveHistogram {
    /// Takes in one value. Only for the writer.
    #[inline(always)]
    pub fn record(&self, value: u64) {
        self.0[bin_of(value)].add(1);
    }

    /// Forgets everything. Only for the writer.
    pub fn reset(&self) {
        self.0.iter().for_each(|bin| bin.set(0));
    }

    /// A copy. The bins belong to one moment only inside [`SeqLock::read`](crate::SeqLock::read).
    pub fn snapshot(&self) -> HistogramBins {
        let counts = self.0.iter().map(LiveCounter::get).zip(0u16..);
        HistogramBins(counts.filter(|&(count, _)| count > 0).map(|(count, bin)| (bin, count)).collect())
    }
}
