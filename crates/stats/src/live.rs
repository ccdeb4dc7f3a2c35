//! The cell that all live recorders are made of.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that one thread writes and any thread may read.
///
/// An update is a load, an addition and a store, not an atomic read-modify-write: a second writer would lose counts.
/// Reads are never torn, but two cells read one after the other may be of different moments; where that matters the
/// writer brackets its updates with a [`SeqLock`](crate::SeqLock).
#[derive(Debug, Default, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct LiveCounter(AtomicU64);

impl LiveCounter {
    /// A counter that stands at `value`.
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// The number now.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Replaces the number. Only for the writer.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds, wrapping at 2^64. Only for the writer.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
}

/// A 128-bit sum out of two cells. Only a reader inside a sequence lock sees both halves of one moment.
#[derive(Debug, Default)]
pub(crate) struct LiveSum {
    low: LiveCounter,
    high: LiveCounter,
}

impl LiveSum {
    #[inline(always)]
    pub(crate) fn get(&self) -> u128 {
        u128::from(self.high.get()) << 64 | u128::from(self.low.get())
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: u128) {
        self.low.set(value as u64);
        self.high.set((value >> 64) as u64);
    }

    /// Adds; stays at `u128::MAX` once that is exceeded.
    #[inline(always)]
    pub(crate) fn add(&self, value: u128) {
        let (low, carry) = self.low.get().overflowing_add(value as u64);
        self.low.set(low);
        let high = ((value >> 64) as u64).wrapping_add(u64::from(carry));
        if high != 0 {
            self.add_high(high);
        }
    }

    /// Rare: sums of nanoseconds carry once in centuries, their squares once in billions or for a latency of seconds.
    #[cold]
    #[inline(never)]
    fn add_high(&self, high: u64) {
        match self.high.get().checked_add(high) {
            Some(high) => self.high.set(high),
            None => self.set(u128::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_sum_carries_and_then_stays_at_its_limit() {
        let sum = LiveSum::default();
        let mut expected = 0u128;
        let steps =
            [1, u128::from(u64::MAX), u128::MAX >> 2, u128::from(u64::MAX) << 1, u128::MAX >> 1, u128::MAX >> 2];
        for value in steps.into_iter().chain([1, 1 << 64, 0]) {
            sum.add(value);
            expected = expected.saturating_add(value);
            assert_eq!(sum.get(), expected, "after {value}");
        }
        assert_eq!(expected, u128::MAX);
    }
}
