//! Time: the system's monotonic and wall clocks, a cheap stamp for hot loops, and a sleep that a signal ends.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod no_counter;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tsc;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use no_counter as counter;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use tsc as counter;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a second.
pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC`, in nanoseconds since a moment that is the same for every thread of this machine until reboot.
#[inline]
pub fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// Wall-clock time, in milliseconds since 1970-01-01 UTC.
pub fn unix_ms() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// What the clock with this number of `clock_gettime` shows, milliseconds; `None` if there is no such clock.
pub fn clock_ms(id: i32) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure or fails.
    let answer = unsafe { libc::clock_gettime(id as libc::clockid_t, &raw mut now) };
    (answer == 0).then_some(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000)
}

/// A non-negative time as nanoseconds; 64 bits hold 584 years.
pub(crate) fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// The inverse of [`ns`]: every `u64` has a representation.
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ }
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The deadline is reached.
    Done,
    /// A signal to this thread ended the sleep early.
    Interrupted,
}

/// Sleeps until [`monotonic_ns`] reaches `deadline_ns`, or until a signal is handled on this thread.
///
/// A deadline in the past returns [`Slept::Done`] at once. A signal that arrives just before the call does not end
/// it: whoever wakes a sleeper signals again until the sleeper has answered.
pub fn sleep_until_ns(deadline_ns: u64) -> Slept {
    // Beyond this (146 years) kernels may refuse the time; nobody waits to see the difference.
    system::sleep_until_ns(deadline_ns.min(u64::MAX / 4))
}

/// A clock to stamp I/Os with: the CPU's time stamp counter where it can be trusted, else `clock_gettime`.
///
/// Plain data; copies agree with each other on every thread. Stamps are on the scale of [`monotonic_ns`]; they follow
/// the rate that clock had at [`FastClock::detect`], so that they part from it slowly when time is being steered by
/// NTP. Latencies come from two stamps of the same clock; a deadline for a system call goes through
/// [`FastClock::to_monotonic_ns`].
///
/// ```
/// let clock = iostrata_os::clock::FastClock::detect();
/// let start_ns = clock.now_ns();
/// let latency_ns = clock.now_ns() - start_ns;
/// println!("{latency_ns} ns by {}, to within {} ns", clock.name(), clock.error_ns());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FastClock {
    line: Option<counter::Line>,
    rate_source: &'static str,
    error_ns: u32,
    rate_error_ppb: u32,
}

impl FastClock {
    /// Chooses and calibrates the clock; takes at most about 2 ms beyond a few system calls.
    ///
    /// The counter is taken only if the kernel itself keeps time by it and the CPU says that it never stops or changes
    /// its rate. The rate is the kernel's own, else the CPU's, else measured.
    pub fn detect() -> FastClock {
        counter::detect().unwrap_or_else(FastClock::system)
    }

    /// The clock that asks the system each time.
    pub fn system() -> FastClock {
        FastClock { line: None, rate_source: "clock_gettime", error_ns: call_ns(monotonic_ns), rate_error_ppb: 0 }
    }

    /// Nanoseconds on the scale of [`monotonic_ns`].
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match &self.line {
            Some(line) => line.now_ns(),
            None => monotonic_ns(),
        }
    }

    /// `tsc` or `clock_gettime`.
    pub fn name(&self) -> &'static str {
        if self.line.is_some() { "tsc" } else { "clock_gettime" }
    }

    /// Where the rate comes from: `kernel`, `cpuid`, `measured`, or `clock_gettime` where no rate is needed.
    pub fn rate_source(&self) -> &'static str {
        self.rate_source
    }

    /// The most by which a stamp can differ from [`monotonic_ns`] at the moment it was asked for, directly after
    /// [`FastClock::detect`]; what a wrong rate adds over time is measured by [`FastClock::drift_ns`].
    pub fn error_ns(&self) -> u32 {
        self.error_ns
    }

    /// Bound on the rate's own error at the start, in parts per billion: a latency of 1 s is wrong by at most this many
    /// nanoseconds. A rate that the kernel or the CPU states counts as exact to the digits it is given with.
    pub fn rate_error_ppb(&self) -> u32 {
        self.rate_error_ppb
    }

    /// How far this clock is ahead of [`monotonic_ns`] now.
    pub fn drift_ns(&self) -> i64 {
        // The system clock is read on both sides of the stamp; of a few tries the narrowest counts, since a
        // preemption between the readings would look like drift.
        let tries = (0..5).map(|_| {
            let before = monotonic_ns();
            let stamp = self.now_ns();
            let after = monotonic_ns();
            (after - before, stamp.wrapping_sub(before + (after - before) / 2) as i64)
        });
        tries.min_by_key(|&(width, _)| width).map_or(0, |(_, drift)| drift)
    }

    /// A stamp of this clock as a time of [`monotonic_ns`], for a system call that waits until then. Where the thread
    /// is kept from its CPU meanwhile the answer is early by that time, never late: whoever waits looks again.
    pub fn to_monotonic_ns(&self, stamp_ns: u64) -> u64 {
        match &self.line {
            Some(line) => {
                let system_ns = monotonic_ns();
                system_ns.saturating_add_signed(stamp_ns.wrapping_sub(line.now_ns()) as i64)
            }
            None => stamp_ns,
        }
    }
}

/// What one call of `clock` takes when nothing disturbs it, in nanoseconds, rounded up to at least 1.
fn call_ns(clock: impl Fn() -> u64) -> u32 {
    let fastest = (0..16).map(|_| {
        let before = clock();
        clock().saturating_sub(before)
    });
    fastest.min().unwrap_or(0).clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests;
