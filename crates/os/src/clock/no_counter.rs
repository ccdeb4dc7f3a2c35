//! Systems where the time stamp counter is not used: `clock_gettime` reads the CPU's timer there at about the same
//! cost.

use super::FastClock;

/// Never made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Line {}

impl Line {
    pub(super) fn now_ns(&self) -> u64 {
        match *self {}
    }
}

pub(super) fn detect() -> Option<FastClock> {
    None
}
