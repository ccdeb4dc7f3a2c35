//! The clocks against each other on the machine the tests run on.

use super::*;

#[test]
fn every_nanosecond_count_survives_a_timespec() {
    for value in [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, u64::MAX / 4] {
        assert_eq!(ns(timespec(value)), value);
    }
}

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
fn the_chosen_clock_runs_with_the_monotonic_clock() {
    let clock = FastClock::detect();
    let (start_fast, start) = (clock.now_ns(), monotonic_ns());
    assert_eq!(sleep_until_ns(start + 50_000_000), Slept::Done);
    let (fast, slow) = (clock.now_ns() - start_fast, monotonic_ns() - start);
    // 1 ms for a preemption between the two readings; the rate itself is far better.
    assert!(fast.abs_diff(slow) < 1_000_000, "{fast} against {slow}");
    // drift_ns takes the narrowest of its tries: what is left is the rate's error and the reading's own.
    let allowed = 50_000 + (slow as f64 * 500e-6) as u64;
    assert!(clock.drift_ns().unsigned_abs() < allowed, "{clock:?} drifts {} ns", clock.drift_ns());
}

#[test]
fn stamps_never_run_backwards_on_a_thread() {
    for clock in [FastClock::detect(), FastClock::system()] {
        let mut last = clock.now_ns();
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last, "{} went from {last} to {now}", clock.name());
            last = now;
        }
    }
}

#[test]
fn a_stamp_turns_into_a_deadline_of_the_system_clock() {
    let system = FastClock::system();
    assert_eq!(system.to_monotonic_ns(12_345), 12_345);
    let mut wrong = FastClock::detect();
    if let Some(line) = &mut wrong.line {
        // A clock that has drifted a whole hour ahead still gives deadlines the system understands.
        line.anchor_ns += 3600 * NS_PER_S;
        let deadline = wrong.to_monotonic_ns(wrong.now_ns());
        assert!(deadline.abs_diff(monotonic_ns()) < NS_PER_S);
    }
}

#[test]
fn a_sleep_reaches_its_deadline_and_a_past_one_returns() {
    assert_eq!(sleep_until_ns(0), Slept::Done);
    let deadline = monotonic_ns() + 2_000_000;
    assert_eq!(sleep_until_ns(deadline), Slept::Done);
    assert!(monotonic_ns() >= deadline);
}

#[test]
fn wall_time_is_after_this_was_written() {
    assert!(unix_ms() > 1_700_000_000_000);
}
