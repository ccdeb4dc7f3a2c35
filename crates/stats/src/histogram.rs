//! fio's histogram layout carried to 64 bits: 59 groups of 64 bins.
//!
//! Values below 128 have a bin each. Above, every power of two is cut into 64 bins of equal width, so a bin is never
//! wider than 1/64 of its values. fio's own layout is the same with 29 groups.

use crate::live::LiveCounter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use thiserror::Error;

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
    // At most 57 · 64 + 127: nothing to check.
    ((shift << MANTISSA_BITS) as usize).wrapping_add((value >> shift) as usize)
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

/// A finished histogram: the non-empty bins only, ascending, as `(bin index, count)`. Other lists are refused when a
/// document is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<(u16, u64)>")]
pub struct HistogramBins(pub Vec<(u16, u64)>);

/// A list of bins that is no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("histogram bins must ascend, lie below {BINS} and not be empty: bin {0} does not")]
pub struct NotAHistogram(u16);

impl TryFrom<Vec<(u16, u64)>> for HistogramBins {
    type Error = NotAHistogram;

    fn try_from(bins: Vec<(u16, u64)>) -> Result<Self, NotAHistogram> {
        let mut next = 0;
        for &(bin, count) in &bins {
            if bin < next || usize::from(bin) >= BINS || count == 0 {
                return Err(NotAHistogram(bin));
            }
            next = bin + 1;
        }
        Ok(Self(bins))
    }
}

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

    /// The percentile `p` (0 < p ≤ 100) by fio's rule: the middle of the first bin at which the cumulative count
    /// reaches p/100 of all. With `max`, the largest value that was recorded, the answer is never above it. `None`
    /// when the histogram is empty.
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

/// How many of `count` values make `p` percent of them: the smallest k ≥ 1 with k ≥ p/100·count, exactly for the
/// number that the double `p` is. (So 99.9 % of 1000 are 1000 values: the double next to 99.9 lies above it. fio has
/// it so too.)
fn rank(p: f64, count: u64) -> u64 {
    if !(p > 0.0 && p < 100.0) {
        return if p >= 100.0 { count } else { 1 };
    }
    // p = mantissa / 2^scale; a double below 100 has at least 46 bits after the point.
    let bits = p.to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | u64::from(p.is_normal()) << 52;
    let scale = 1075 - ((bits >> 52) as u32).max(1);
    let hundredths = (u128::from(mantissa) * u128::from(count)).div_ceil(100);
    if scale >= u128::BITS {
        return 1;
    }
    (hundredths.div_ceil(1 << scale) as u64).max(1)
}

/// A histogram in the making: one thread records, any may look.
#[derive(Debug)]
pub struct LiveHistogram(Box<[LiveCounter; BINS]>);

impl Default for LiveHistogram {
    /// Fresh memory is not written to: of 30 KiB only the pages become real whose bins are counted in.
    fn default() -> Self {
        Self(bytemuck::zeroed_box())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first, the middle and the last value of every bin lead to it, and the bins follow each other without a gap.
    #[test]
    fn bins_tile_all_values() {
        let mut next = 0u64;
        for bin in 0..BINS {
            let range = bin_range(bin);
            assert_eq!(*range.start(), next, "bin {bin}");
            for value in [*range.start(), bin_value(bin), *range.end()] {
                assert_eq!(bin_of(value), bin, "{value}");
                assert!(range.contains(&value));
            }
            next = range.end().wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends at u64::MAX");
    }

    /// Values that fio 3.42 printed as keys of "bins", each with a latency of its own that it stands for.
    #[test]
    fn bins_stand_for_the_values_that_fio_prints() {
        for (latency, printed) in [(904, 908), (911, 908), (2304, 2320), (53_760, 54_016), (54_271, 54_016), (127, 127)]
        {
            assert_eq!(bin_value(bin_of(latency)), printed, "{latency}");
        }
    }

    /// Ranks that fio 3.33 was seen to take, where the percentile meets a value's share exactly.
    #[test]
    fn ranks_are_exact_for_the_double_that_a_percentile_is() {
        for (p, count, expected) in [
            (99.9, 1000, 1000),
            (99.9, 2000, 1999),
            (99.7, 2000, 1995),
            (0.1, 1000, 2),
            (50.0, 1000, 500),
            (90.0, 1000, 900),
            (99.5, 1000, 995),
            (100.0, 7, 7),
            (1.0, 7, 1),
            (f64::MIN_POSITIVE / 2.0, u64::MAX, 1),
            (50.0, u64::MAX, 1 << 63),
            (f64::NAN, 5, 1),
        ] {
            assert_eq!(rank(p, count), expected, "{p} of {count}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        assert_eq!(HistogramBins::default().percentile(50.0, None), None);
    }

    #[test]
    fn a_percentile_is_never_above_the_largest_value() {
        let bins = HistogramBins::of([1_000_000, u64::MAX]);
        assert_eq!(bins.percentile(50.0, None), Some(bin_value(bin_of(1_000_000))));
        assert_eq!(bins.percentile(50.0, Some(1_000_000)), Some(1_000_000));
    }

    #[test]
    fn since_leaves_only_what_came_in_between() {
        let early = HistogramBins::of([1, 5, 5, 9]);
        let late = HistogramBins::of([1, 3, 5, 5, 5, 9, 12]);
        assert_eq!(late.since(&early), HistogramBins::of([3, 5, 12]));
        assert_eq!(late.since(&HistogramBins::default()), late);
        assert!(late.since(&late).is_empty());
    }
}
