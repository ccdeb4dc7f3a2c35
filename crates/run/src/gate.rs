//! The start line of a stage: workers wait until all of them are ready.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

/// Opened once; the workers behind it then run.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Waits for the gate; false if `stop` was set instead.
    pub(crate) fn wait(&self, stop: &AtomicBool) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open && !stop.load(Relaxed) {
            open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        !stop.load(Relaxed)
    }

    /// Lets all workers through; those told to stop see that first.
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}
