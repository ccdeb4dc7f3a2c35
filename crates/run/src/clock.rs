//! The two clocks a worker can live by.

use std::cell::Cell;
use std::sync::Arc;

use iostrata_engine::virtual_time::World;
use iostrata_os::clock::{FastClock, sleep_until_ns};

/// Time for a worker: nanoseconds on one scale for the whole run.
pub(crate) trait Clock {
    /// Now.
    fn now_ns(&self) -> u64;
    /// Waits until `at_ns`, or until a signal to this thread.
    fn sleep_until(&self, at_ns: u64);
}

/// Real time, on the scale of `CLOCK_MONOTONIC`.
#[derive(Clone)]
pub(crate) struct RealClock {
    fast: FastClock,
    /// How much late the kernel wakes this thread, as seen so far.
    late_ns: Cell<u64>,
}

/// A kernel timer wakes late: by some microseconds, by tens of them in a virtual machine. A sleep ends that much early
/// and the rest is spun away. How much that is, is learned: from this value on, by steps up when a sleep was longer
/// than expected and half as large steps down when it was not, which leads to what two of three sleeps keep.
const LATE_NS: u64 = 30_000;
const STEP_NS: u64 = 250;
/// Less is not worth a sleep, more would be mistrust of a busy machine.
const LATE_RANGE_NS: std::ops::RangeInclusive<u64> = 2_000..=60_000;

impl RealClock {
    /// Picks the time source of this machine.
    pub(crate) fn detect() -> Self {
        RealClock { fast: FastClock::detect(), late_ns: Cell::new(LATE_NS) }
    }

    /// The source that was picked.
    pub(crate) fn source(&self) -> FastClock {
        self.fast
    }
}

impl Clock for RealClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.fast.now_ns()
    }

    fn sleep_until(&self, at_ns: u64) {
        let late_ns = self.late_ns.get();
        let wake_ns = at_ns.saturating_sub(late_ns);
        if self.now_ns() < wake_ns {
            let slept = sleep_until_ns(wake_ns);
            if slept == iostrata_os::clock::Slept::Interrupted {
                return;
            }
            let longer = self.now_ns() > at_ns;
            let learned_ns = if longer { late_ns + 2 * STEP_NS } else { late_ns - STEP_NS };
            self.late_ns.set(learned_ns.clamp(*LATE_RANGE_NS.start(), *LATE_RANGE_NS.end()));
        }
        while self.now_ns() < at_ns {
            std::hint::spin_loop();
        }
    }
}

/// Virtual time: work costs nothing, only waits move it.
pub(crate) struct VirtualClock {
    world: Arc<World>,
    worker: u32,
}

impl VirtualClock {
    /// The clock of one worker in a world.
    pub(crate) fn new(world: Arc<World>, worker: u32) -> Self {
        VirtualClock { world, worker }
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.world.now_ns(self.worker)
    }

    fn sleep_until(&self, at_ns: u64) {
        self.world.wait_until(self.worker, at_ns);
    }
}
