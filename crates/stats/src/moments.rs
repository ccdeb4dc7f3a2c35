//! Count, sum, sum of squares and extremes of integers.

use crate::decimal::{self, Decimal};
use crate::live::{LiveCounter, LiveSum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exact moments of a set of `u64`; merging is exact too (the sums stay at `u128::MAX` once they exceed it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// Smallest; 0 when there is none.
    pub min: u64,
    /// Largest; 0 when there is none.
    pub max: u64,
    /// Sum.
    #[serde(with = "decimal")]
    #[schemars(with = "Decimal")]
    pub sum: u128,
    /// Sum of squares.
    #[serde(with = "decimal")]
    #[schemars(with = "Decimal")]
    pub sum_squares: u128,
}

impl Moments {
    /// Takes in one value.
    pub fn add(&mut self, value: u64) {
        let squares = u128::from(value) * u128::from(value);
        self.merge(&Self { count: 1, min: value, max: value, sum: value.into(), sum_squares: squares });
    }

    /// Takes in all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }

    /// Arithmetic mean; 0 when there is no value.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        // Whole part and remainder apart: the remainder is not lost below a large sum.
        let count = u128::from(self.count);
        (self.sum / count) as f64 + (self.sum % count) as f64 / self.count as f64
    }

    /// Sample variance (divided by count − 1); 0 for fewer than two values.
    ///
    /// The squares are taken about the whole part q of the mean, in integers: Σ(x−q)² = Σx² − n·q² − 2·q·r with Σx =
    /// n·q + r. So a small spread about a large mean keeps all its digits. Only what is left of the mean, r/n < 1, is
    /// corrected in floating point.
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let about_whole = whole
            .checked_mul(whole)
            .and_then(|square| square.checked_mul(count))
            .and_then(|squares| squares.checked_add(whole.checked_mul(2)?.checked_mul(rest)?))
            .and_then(|squares| self.sum_squares.checked_sub(squares));
        // Nothing is left only when a sum had reached its limit: then the spread is not known.
        let about_whole = about_whole.unwrap_or(0) as f64;
        let (rest, count) = (rest as f64, self.count as f64);
        ((about_whole - rest * (rest / count)) / (count - 1.0)).max(0.0)
    }

    /// Sample standard deviation; 0 for fewer than two values.
    pub fn stddev(&self) -> f64 {
        self.variance().sqrt()
    }
}

/// So many values below [`MOST_SUMMED`] neither exceed 64 bits in their sum nor 128 in that of their squares.
const MOST_TOGETHER: usize = 1 << 16;
const MOST_SUMMED: u64 = 1 << 48;

/// [`Moments`] in the making: one thread records, any may look.
#[derive(Debug)]
pub struct LiveMoments {
    count: LiveCounter,
    min: LiveCounter,
    max: LiveCounter,
    sum: LiveSum,
    sum_squares: LiveSum,
}

impl Default for LiveMoments {
    fn default() -> Self {
        Self {
            count: LiveCounter::default(),
            min: LiveCounter::new(u64::MAX),
            max: LiveCounter::default(),
            sum: LiveSum::default(),
            sum_squares: LiveSum::default(),
        }
    }
}

impl LiveMoments {
    /// Takes in one value. Only for the writer.
    #[inline(always)]
    pub fn record(&self, value: u64) {
        self.count.add(1);
        self.sum.add(u128::from(value));
        self.sum_squares.add(u128::from(value) * u128::from(value));
        if value < self.min.get() {
            self.min.set(value);
        }
        if value > self.max.get() {
            self.max.set(value);
        }
    }

    /// Takes in some values; the same as [`record`](Self::record) for each, with one update for all. Only for the
    /// writer.
    #[inline]
    pub fn record_all(&self, values: impl ExactSizeIterator<Item = u64> + Clone) {
        let (mut sum, mut sum_squares) = (0u64, 0u128);
        let (mut min, mut max) = (self.min.get(), self.max.get());
        for value in values.clone() {
            sum = sum.wrapping_add(value);
            sum_squares = sum_squares.wrapping_add(u128::from(value) * u128::from(value));
            min = min.min(value);
            max = max.max(value);
        }
        if values.len() > MOST_TOGETHER || max >= MOST_SUMMED {
            return values.for_each(|value| self.record(value));
        }
        self.count.add(values.len() as u64);
        self.sum.add(u128::from(sum));
        self.sum_squares.add(sum_squares);
        self.min.set(min);
        self.max.set(max);
    }

    /// Forgets everything. Only for the writer.
    pub fn reset(&self) {
        self.count.set(0);
        self.min.set(u64::MAX);
        self.max.set(0);
        self.sum.set(0);
        self.sum_squares.set(0);
    }

    /// How many values so far; needs no sequence lock.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// A copy. The fields belong to one moment only inside [`SeqLock::read`](crate::SeqLock::read).
    pub fn snapshot(&self) -> Moments {
        let count = self.count.get();
        Moments {
            count,
            min: if count == 0 { 0 } else { self.min.get() },
            max: self.max.get(),
            sum: self.sum.get(),
            sum_squares: self.sum_squares.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few and many, small and beyond what is summed up together: the same as one by one, whatever came before.
    #[test]
    fn together_is_the_same_as_one_by_one() {
        let (together, apart) = (LiveMoments::default(), LiveMoments::default());
        let rows: [&[u64]; 6] =
            [&[], &[7], &[900, 3, 12_000], &[u64::MAX, 0, 1 << 48], &[(1 << 48) - 1; 300], &[5; 64]];
        for row in rows {
            together.record_all(row.iter().copied());
            row.iter().for_each(|&value| apart.record(value));
            assert_eq!(together.snapshot(), apart.snapshot(), "after {} values", row.len());
        }
        let many = vec![MOST_SUMMED - 1; MOST_TOGETHER + 1];
        together.record_all(many.iter().copied());
        many.iter().for_each(|&value| apart.record(value));
        assert_eq!(together.snapshot(), apart.snapshot());
    }
}
