//! Consistent copies of live recorders without slowing their writer down.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Copies tried before the reader asks the writer to hold still.
const OPTIMISTIC_TRIES: u32 = 8;
/// Turns of the spin loop that a writer grants a reader which asked it to hold still (some tens of microseconds,
/// several times what a copy of all histograms of a worker takes). Without optimization a copy takes a millisecond.
const HOLD_SPINS: u32 = if cfg!(debug_assertions) { 1 << 17 } else { 1 << 12 };
/// Turns of the spin loop before a waiting reader gives its processor away.
const READER_SPINS: u32 = 1 << 8;

/// A sequence lock for one writer and any number of readers.
///
/// The writer brackets a batch of updates with [`write`](Self::write); that costs it one load and two stores, no
/// fence instruction on x86. A reader copies with [`read`](Self::read) and repeats when a batch came in between. A
/// writer that does nothing but write would starve a reader whose copy takes longer than the writer's pauses;
/// therefore a reader that failed a few times raises a flag, and the writer waits for it, for a bounded time, before
/// it begins its next batch.
#[derive(Debug, Default)]
pub struct SeqLock {
    /// Odd while a batch is being written.
    sequence: AtomicU64,
    /// Readers that ask the writer to hold still.
    holds: AtomicU32,
}

/// A batch of updates in the making; it ends when this is dropped, also by a panic.
#[derive(Debug)]
#[must_use = "the batch ends when the guard is dropped"]
pub struct WriteGuard<'a> {
    lock: &'a SeqLock,
    sequence: u64,
}

impl SeqLock {
    /// Begins a batch. Only for the one writer, and not again before the guard is dropped.
    #[inline(always)]
    pub fn write(&self) -> WriteGuard<'_> {
        if self.holds.load(Ordering::Relaxed) != 0 {
            self.wait_for_readers();
        }
        let sequence = self.sequence.load(Ordering::Relaxed);
        debug_assert!(sequence.is_multiple_of(2), "a batch was begun inside a batch");
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // No update of the batch may become visible before the odd number is.
        fence(Ordering::Release);
        WriteGuard { lock: self, sequence }
    }

    /// Runs `copy` until no batch overlapped it. `copy` must only read; what it returned in a failed try is dropped.
    pub fn read<T>(&self, mut copy: impl FnMut() -> T) -> T {
        for _ in 0..OPTIMISTIC_TRIES {
            if let Some(value) = self.try_read(&mut copy) {
                return value;
            }
            spin_loop();
        }
        self.holds.fetch_add(1, Ordering::SeqCst);
        let _release = ReleaseHold(self);
        let mut spins = 0;
        loop {
            if let Some(value) = self.try_read(&mut copy) {
                return value;
            }
            spins += 1;
            if spins < READER_SPINS {
                spin_loop();
            } else {
                // The writer was preempted inside a batch: let it run.
                std::thread::yield_now();
            }
        }
    }

    fn try_read<T>(&self, copy: &mut impl FnMut() -> T) -> Option<T> {
        let before = self.sequence.load(Ordering::Acquire);
        if !before.is_multiple_of(2) {
            return None;
        }
        let value = copy();
        // The copy's loads must be done before the number is looked at again.
        fence(Ordering::Acquire);
        (self.sequence.load(Ordering::Relaxed) == before).then_some(value)
    }

    #[cold]
    #[inline(never)]
    fn wait_for_readers(&self) {
        for _ in 0..HOLD_SPINS {
            if self.holds.load(Ordering::Acquire) == 0 {
                return;
            }
            spin_loop();
        }
    }
}

impl Drop for WriteGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.sequence.store(self.sequence.wrapping_add(2), Ordering::Release);
    }
}

/// Takes a reader's wish back, also when its copy panics.
struct ReleaseHold<'a>(&'a SeqLock);

impl Drop for ReleaseHold<'_> {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LiveCounter;
    use std::sync::atomic::AtomicBool;

    /// In a report of a running run bytes and I/Os do not fit each other. Here a copy is whole, although the writer is
    /// almost always inside a batch and the copy much longer than its pauses: all 512 cells are equal.
    #[test]
    fn bug_b136() {
        let lock = SeqLock::default();
        let cells: Vec<LiveCounter> = (0..512).map(|_| LiveCounter::default()).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _batch = lock.write();
                    cells.iter().for_each(|cell| cell.add(1));
                }
            });
            for _ in 0..200 {
                let copy = lock.read(|| cells.iter().map(LiveCounter::get).collect::<Vec<_>>());
                assert!(copy.iter().all(|&cell| cell == copy[0]), "torn copy");
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(lock.holds.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_panic_inside_a_batch_does_not_lock_readers_out() {
        let lock = SeqLock::default();
        let cell = LiveCounter::default();
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _batch = lock.write();
            cell.add(1);
            std::panic::resume_unwind(Box::new("the worker's error"));
        }));
        assert!(died.is_err());
        assert_eq!(lock.read(|| cell.get()), 1);
    }

    #[test]
    fn a_copy_that_a_batch_overlapped_is_made_again() {
        let lock = SeqLock::default();
        let cell = LiveCounter::default();
        let mut tries = 0;
        let seen = lock.read(|| {
            tries += 1;
            let early = cell.get();
            if tries == 1 {
                let _batch = lock.write();
                cell.add(1);
            }
            early
        });
        assert_eq!((seen, tries), (1, 2));
    }
}
