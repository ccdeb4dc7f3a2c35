//! The x86 time stamp counter: whether it can be trusted, and at what rate it counts.

use std::arch::x86_64::{__cpuid, __cpuid_count, _rdtsc};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{FastClock, NS_PER_S, monotonic_ns};

/// How long a measurement of the rate lasts.
const MEASURE_NS: u64 = 1_500_000;
/// Tries to catch counter and clock at the same moment.
const PAIR_TRIES: u32 = 24;
/// A rate that is stated but differs by more than this from the measured one is not believed: well above the error of
/// a short measurement and the steering of NTP (at most 500 ppm), well below what a wrong nominal frequency shows.
const BELIEVABLE_PPB: u64 = 1_000_000;

/// The time stamp counter and its line onto `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Counter and clock at the same moment.
    anchor_ticks: u64,
    anchor_ns: u64,
    /// Nanoseconds per tick times 2^64; below 2^64 because only counters faster than 1 GHz are taken.
    ns_per_tick_q64: u64,
}

impl Line {
    /// The clock now.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.at(ticks())
    }

    /// The clock at `ticks`; a counter that reads before the anchor is taken as at the anchor.
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        let elapsed = ticks.saturating_sub(self.anchor_ticks);
        self.anchor_ns.wrapping_add(((u128::from(elapsed) * u128::from(self.ns_per_tick_q64)) >> 64) as u64)
    }
}

/// The counter now. Not serialising: it can read a few nanoseconds early, within the stated error.
#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 CPU and Linux does not forbid it to user space unless prctl(PR_SET_TSC) was
    // called; `detect` is the only way to a clock that comes here and the kernel's clock source (read in the vDSO by
    // the same instruction) is the counter itself.
    unsafe { _rdtsc() }
}

/// Counter and clock at the same moment, to within `width_ns`.
#[derive(Clone, Copy)]
struct Pair {
    ticks: u64,
    ns: u64,
    width_ns: u64,
}

/// A rate, its source's name and its error bound.
struct Rate {
    ticks_per_s: f64,
    source: &'static str,
    error_ppb: f64,
}

pub(super) fn detect() -> Option<FastClock> {
    if !kernel_counts_by_tsc() || !invariant() {
        return None;
    }
    let first = pair();
    let stated = from_kernel().or_else(from_cpuid);
    // The measurement guards against a stated rate that is wrong, too; it costs the same 1.5 ms either way.
    let measured = measure(first)?;
    let rate = match stated {
        Some(rate) if difference_ppb(rate.ticks_per_s, measured.ticks_per_s) <= BELIEVABLE_PPB => rate,
        _ => measured,
    };
    let anchor = pair();
    let ns_per_tick = NS_PER_S as f64 / rate.ticks_per_s;
    if ns_per_tick >= 1.0 {
        return None;
    }
    Some(FastClock {
        line: Some(Line {
            anchor_ticks: anchor.ticks,
            anchor_ns: anchor.ns,
            // 2^64 times a fraction with 53 significant bits: exact to 1e-16, and below 2^64.
            ns_per_tick_q64: (ns_per_tick * 2f64.powi(64)) as u64,
        }),
        rate_source: rate.source,
        error_ns: (anchor.width_ns.div_ceil(2) + 1).min(u32::MAX.into()) as u32,
        rate_error_ppb: rate.error_ppb.ceil() as u32,
    })
}

/// Whether the kernel keeps its own time by the counter; it watches it and leaves it when it misbehaves.
fn kernel_counts_by_tsc() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| name.trim() == "tsc")
}

/// Whether the CPU says that the counter's rate never changes (Intel SDM vol. 3, "Invariant TSC"; AMD APM vol. 3,
/// Fn8000_0007 EDX bit 8).
fn invariant() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

fn difference_ppb(a: f64, b: f64) -> u64 {
    ((a / b - 1.0).abs() * 1e9) as u64
}

/// The narrowest of several tries to read counter and clock at once.
fn pair() -> Pair {
    let mut best = Pair { ticks: 0, ns: 0, width_ns: u64::MAX };
    for _ in 0..PAIR_TRIES {
        let before = monotonic_ns();
        let ticks = ticks();
        let after = monotonic_ns();
        if after - before < best.width_ns {
            best = Pair { ticks, ns: before + (after - before) / 2, width_ns: after - before };
        }
    }
    best
}

/// The rate between `first` and a moment at least [`MEASURE_NS`] later.
fn measure(first: Pair) -> Option<Rate> {
    while monotonic_ns() < first.ns + MEASURE_NS {
        std::hint::spin_loop();
    }
    let last = pair();
    let (ticks, ns) = (last.ticks.checked_sub(first.ticks)?, last.ns - first.ns);
    Some(Rate {
        ticks_per_s: ticks as f64 / ns as f64 * NS_PER_S as f64,
        source: "measured",
        error_ppb: (first.width_ns + last.width_ns) as f64 / 2.0 / ns as f64 * 1e9,
    })
}

/// The rate that CPU (leaf 0x15: crystal frequency and ratio) or hypervisor (leaf 0x4000_0010: kHz) states.
///
/// Leaf 0x16 holds a nominal frequency in MHz only, off by up to a percent from what is counted: not used.
fn from_cpuid() -> Option<Rate> {
    let rate = |ticks_per_s: f64, error_ppb| Rate { ticks_per_s, source: "cpuid", error_ppb };
    if __cpuid(0).eax >= 0x15 {
        let leaf = __cpuid_count(0x15, 0);
        if leaf.eax != 0 && leaf.ebx != 0 && leaf.ecx != 0 {
            // The crystal itself may be off by its tolerance, which the kernel's clock shares.
            return Some(rate(f64::from(leaf.ecx) * f64::from(leaf.ebx) / f64::from(leaf.eax), 1.0));
        }
    }
    let hypervisor = __cpuid(1).ecx & (1 << 31) != 0;
    if hypervisor && __cpuid(0x4000_0000).eax >= 0x4000_0010 {
        let khz = f64::from(__cpuid(0x4000_0010).eax);
        if khz > 0.0 {
            return Some(rate(khz * 1e3, 0.5 / khz * 1e9));
        }
    }
    None
}

/// The rate by which the kernel itself turns ticks into time, from the page that a perf event shares with user space
/// (perf_event_open(2), `cap_user_time`), times the steering that NTP has set (adjtimex(2)).
fn from_kernel() -> Option<Rate> {
    let (time_mult, time_shift) = perf_time_conversion()?;
    let rate = rate_of_conversion(time_mult, time_shift)?;
    Some(Rate { ticks_per_s: rate.ticks_per_s / steering(), ..rate })
}

/// The rate behind `ns = ticks * time_mult >> time_shift`.
fn rate_of_conversion(time_mult: u32, time_shift: u16) -> Option<Rate> {
    if time_mult == 0 || time_shift >= 64 {
        return None;
    }
    Some(Rate {
        ticks_per_s: NS_PER_S as f64 * 2f64.powi(time_shift.into()) / f64::from(time_mult),
        source: "kernel",
        error_ppb: (0.5e9 / f64::from(time_mult)).max(1.0),
    })
}

/// `CLOCK_MONOTONIC`'s rate as a multiple of the unsteered clock's.
fn steering() -> f64 {
    // SAFETY: `timex` is plain integers, for which zero is valid; with `modes` 0 the call only reads.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is a valid, exclusively borrowed `timex`.
    if unsafe { libc::adjtimex(&mut state) } < 0 {
        return 1.0;
    }
    // `tick`: µs per 1/100 s, 10000 unless changed by hand; `freq`: ppm times 2^16.
    (state.tick as f64 / 1e4) * (1.0 + state.freq as f64 / 65536.0 / 1e6)
}

/// `time_mult` and `time_shift` of a software event of our own, if the kernel offers them.
fn perf_time_conversion() -> Option<(u32, u16)> {
    /// The first published size of `struct perf_event_attr`, which every kernel takes.
    const ATTR_BYTES: u32 = 64;
    const TYPE_SOFTWARE: u32 = 1;
    const COUNT_SW_DUMMY: u64 = 9;
    const FLAGS_DISABLED_NO_KERNEL_NO_HV: u64 = 1 | 1 << 5 | 1 << 6;
    const OPEN_CLOEXEC: libc::c_ulong = 1 << 3;
    // Byte offsets in `struct perf_event_mmap_page`.
    const CAPABILITIES: usize = 40;
    const TIME_SHIFT: usize = 50;
    const TIME_MULT: usize = 52;
    const CAP_USER_TIME: u64 = 1 << 3;

    let mut attr = [0u64; ATTR_BYTES as usize / 8];
    attr[0] = u64::from(TYPE_SOFTWARE) | u64::from(ATTR_BYTES) << 32;
    attr[1] = COUNT_SW_DUMMY;
    attr[5] = FLAGS_DISABLED_NO_KERNEL_NO_HV;
    // SAFETY: `attr` is a perf_event_attr of the size it names; the other arguments are plain integers.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attr.as_ptr(), 0, -1, -1, OPEN_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the call returned a new descriptor that nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let page_bytes = rustix::param::page_size();
    // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is replaced.
    let page =
        unsafe { libc::mmap(std::ptr::null_mut(), page_bytes, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the page is mapped readable and longer than every offset read; the fields are aligned to their size
    // there, and the kernel may change them meanwhile, hence volatile. Afterwards nothing refers to the page.
    unsafe {
        let base = page.cast::<u8>().cast_const();
        let capabilities = base.add(CAPABILITIES).cast::<u64>().read_volatile();
        let conversion =
            (base.add(TIME_MULT).cast::<u32>().read_volatile(), base.add(TIME_SHIFT).cast::<u16>().read_volatile());
        libc::munmap(page, page_bytes);
        (capabilities & CAP_USER_TIME != 0).then_some(conversion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_maps_ticks_without_overflow_and_never_before_its_anchor() {
        // 2.5 GHz: 0.4 ns per tick.
        let line = Line { anchor_ticks: 1000, anchor_ns: 77, ns_per_tick_q64: (0.4 * 2f64.powi(64)) as u64 };
        assert_eq!(line.at(1000), 77);
        assert_eq!(line.at(0), 77, "a counter that reads early is at the anchor");
        // 0.4 is no binary fraction: the product may fall 1 short of the exact value.
        assert!((1_000_000_076..=1_000_000_077).contains(&line.at(1000 + 2_500_000_000)));
        let century_ticks = 100 * 365 * 86_400 * 2_500_000_000u64;
        assert!(line.at(century_ticks).abs_diff(century_ticks / 5 * 2) < 1000, "a century on, still right to 1 µs");
    }

    #[test]
    fn a_clock_that_has_drifted_an_hour_still_gives_deadlines_the_system_understands() {
        let mut clock = FastClock::detect();
        let Some(line) = &mut clock.line else { return };
        line.anchor_ns += 3600 * NS_PER_S;
        assert!(clock.drift_ns().abs_diff(3_600_000_000_000) < 1_000_000_000);
        let deadline = clock.to_monotonic_ns(clock.now_ns());
        assert!(deadline.abs_diff(monotonic_ns()) < 60 * NS_PER_S);
    }

    /// Whatever source the rate is taken from, it is that of the counter.
    #[test]
    fn stated_rates_agree_with_the_measured_one() {
        if !kernel_counts_by_tsc() || !invariant() {
            return;
        }
        let measured = measure(pair()).unwrap();
        for stated in [from_kernel(), from_cpuid()].into_iter().flatten() {
            let difference = difference_ppb(stated.ticks_per_s, measured.ticks_per_s);
            assert!(difference <= BELIEVABLE_PPB, "{} is {difference} ppb off", stated.source);
        }
    }

    #[test]
    fn the_kernels_conversion_is_read_as_it_is_meant() {
        // 2.5 GHz as Linux writes it: 0.4 ns per tick, times 2^32.
        let rate = rate_of_conversion(1_717_986_918, 32).unwrap();
        assert!(difference_ppb(rate.ticks_per_s, 2.5e9) <= 1);
        assert_eq!(rate.error_ppb, 1.0);
        assert!(rate_of_conversion(0, 32).is_none() && rate_of_conversion(1, 64).is_none());
    }

    #[test]
    fn time_is_steered_by_a_few_hundred_ppm_at_most() {
        assert!((steering() - 1.0).abs() < 0.01, "{}", steering());
    }
}
