//! The two clocks a worker can live by.

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
#[derive(Clone, Copy)]
pub(crate) struct RealClock {
    fast: FastClock,
}

/// A sleep ends this much early and the rest is spun away: a kernel timer wakes tens of microseconds late.
const SPIN_NS: u64 = 30_000;

impl RealClock {
    /// Picks the time source of this machine.
    pub(crate) fn detect() -> Self {
        RealClock { fast: FastClock::detect() }
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
        if self.now_ns() + SPIN_NS < at_ns {
            let slept = sleep_until_ns(at_ns - SPIN_NS);
            if slept == iostrata_os::clock::Slept::Interrupted {
                return;
            }
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
