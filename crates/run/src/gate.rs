//! The start line of a wave: workers wait until all of them are ready.
//!
//! Neither here nor at the end does a worker wake the coordinator for itself: with ten thousand of them that would be
//! ten thousand looks at ten thousand workers.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Opened once; the workers behind it then run.
pub(crate) struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
    /// Workers that are not ready yet.
    awaited: AtomicUsize,
}

impl Gate {
    /// For so many workers: it opens when they are ready.
    pub(crate) fn for_workers(count: usize) -> Arc<Gate> {
        Arc::new(Gate { open: Mutex::new(false), changed: Condvar::new(), awaited: AtomicUsize::new(count) })
    }

    /// Lets all workers through; those told to stop see that first.
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self, stop: &AtomicBool) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open && !stop.load(Relaxed) {
            open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        !stop.load(Relaxed)
    }
}

/// How many workers of a stage have not ended.
pub(crate) struct Roll {
    left: AtomicUsize,
    /// Whether the coordinator has something to do when any of them is ready or has ended.
    each_matters: bool,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl Roll {
    /// Of so many workers. `notify` wakes the coordinator: when the last has ended, or, if each matters, whenever one
    /// is ready or has ended.
    pub(crate) fn of(count: usize, each_matters: bool, notify: impl Fn() + Send + Sync + 'static) -> Arc<Roll> {
        Arc::new(Roll { left: AtomicUsize::new(count), each_matters, notify: Box::new(notify) })
    }
}

/// A worker's place at the gate and on the roll; dropped when the worker has ended, or could not begin.
pub(crate) struct Place {
    gate: Arc<Gate>,
    roll: Arc<Roll>,
    arrived: Cell<bool>,
}

impl Place {
    pub(crate) fn new(gate: &Arc<Gate>, roll: &Arc<Roll>) -> Self {
        Place { gate: Arc::clone(gate), roll: Arc::clone(roll), arrived: Cell::new(false) }
    }

    /// The worker is ready: waits for the others. False if `stop` was set instead.
    pub(crate) fn wait(&self, stop: &AtomicBool) -> bool {
        self.arrive();
        self.gate.wait(stop)
    }

    fn arrive(&self) {
        if self.arrived.replace(true) {
            return;
        }
        if self.gate.awaited.fetch_sub(1, AcqRel) == 1 {
            self.gate.open();
        }
        if self.roll.each_matters {
            (self.roll.notify)();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.arrive();
        if self.roll.left.fetch_sub(1, AcqRel) == 1 || self.roll.each_matters {
            (self.roll.notify)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_opens_with_the_last_that_is_ready_or_gone_and_only_the_last_end_wakes() {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        let (gate, never) = (Gate::for_workers(3), AtomicBool::new(false));
        let roll = Roll::of(3, false, move || _ = counter.fetch_add(1, Relaxed));
        let [first, second, third] = [0; 3].map(|_| Place::new(&gate, &roll));
        first.arrive();
        second.arrive();
        assert!(!*gate.open.lock().unwrap());
        drop(third);
        assert!(first.wait(&never) && second.wait(&never));
        assert_eq!(woken.load(Relaxed), 0);
        drop((first, second));
        assert_eq!(woken.load(Relaxed), 1);
    }

    #[test]
    fn where_each_end_matters_each_wakes() {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&woken);
        let gate = Gate::for_workers(3);
        let roll = Roll::of(3, true, move || _ = counter.fetch_add(1, Relaxed));
        (0..3).for_each(|_| drop(Place::new(&gate, &roll)));
        // Ready, and ended.
        assert_eq!(woken.load(Relaxed), 6);
    }
}
