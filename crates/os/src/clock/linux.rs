//! Sleeping on Linux.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;

use super::{Slept, timespec};

pub(super) fn sleep_until_ns(deadline_ns: u64) -> Slept {
    match clock_nanosleep_absolute(ClockId::Monotonic, &timespec(deadline_ns)) {
        Err(rustix::io::Errno::INTR) => Slept::Interrupted,
        _ => Slept::Done,
    }
}
