//! The cell that all live recorders are made of.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that one thread writes and any thread may read.
///
/// An update is a load, an addition and a store, not an atomic read-modify-write: a second writer would lose counts.
/// Reads are never torn, but two cells read one after the other may be of different moments; where that matters the
/// writer brackets its updates with a [`SeqLock`](crate::SeqLock).
#[derive(Debug, Default)]
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
    pub(crate) fn get(&self) -> u128 {
        u128::from(self.high.get()) << 64 | u128::from(self.low.get())
    }

    pub(crate) fn set(&self, value: u128) {
        self.low.set(value as u64);
        self.high.set((value >> 64) as u64);
    }

    /// Adds; stays at `u128::MAX` once that is exceeded.
    #[inline(always)]
    pub(crate) fn add(&self, value: u128) {
        let (sum, overflow) = self.get().overflowing_add(value);
        self.set(sum);
        if overflow {
            self.saturate();
        }
    }

    #[cold]
    #[inline(never)]
    fn saturate(&self) {
        self.set(u128::MAX);
    }
}
