//! Sleeping on macOS, which knows no absolute sleep.

use rustix::thread::{NanosleepRelativeResult, nanosleep};

use super::{Slept, monotonic_ns, timespec};

pub(super) fn sleep_until_ns(deadline_ns: u64) -> Slept {
    let left_ns = deadline_ns.saturating_sub(monotonic_ns());
    if left_ns == 0 {
        return Slept::Done;
    }
    match nanosleep(&timespec(left_ns)) {
        NanosleepRelativeResult::Interrupted(_) => Slept::Interrupted,
        _ => Slept::Done,
    }
}
