//! The clocks against each other on the machine the tests run on.

use super::*;

#[test]
fn every_nanosecond_count_survives_a_timespec() {
    for value in [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, u64::MAX / 4] {
        assert_eq!(ns(timespec(value)), value);
    }
}

#[test]
fn the_chosen_clock_runs_with_the_monotonic_clock() {
    let clock = FastClock::detect();
    // Each stamp lies between two readings of the system clock, however long this thread was kept waiting between.
    let around_start = (monotonic_ns(), clock.now_ns(), monotonic_ns());
    assert_eq!(sleep_until_ns(around_start.2 + 50_000_000), Slept::Done);
    let around_end = (monotonic_ns(), clock.now_ns(), monotonic_ns());
    let at_least = (around_end.0 - around_start.2) as f64;
    let at_most = (around_end.2 - around_start.0) as f64;
    // NTP steers by 500 ppm at most, and a measured rate is better than that.
    let passed = (around_end.1 - around_start.1) as f64;
    assert!((at_least * 0.999..=at_most * 1.001).contains(&passed), "{clock:?}: {at_least} {passed} {at_most}");
    assert!(clock.drift_ns().unsigned_abs() < (at_most * 0.001) as u64, "{clock:?} drifts {} ns", clock.drift_ns());
}

#[test]
fn what_a_clock_says_of_itself_is_consistent() {
    let system = FastClock::system();
    assert_eq!((system.name(), system.rate_source(), system.rate_error_ppb()), ("clock_gettime", "clock_gettime", 0));
    assert!(system.error_ns() >= 1);
    let chosen = FastClock::detect();
    match chosen.name() {
        "tsc" => assert!(["kernel", "cpuid", "measured"].contains(&chosen.rate_source())),
        name => assert_eq!((name, chosen.rate_source()), ("clock_gettime", "clock_gettime")),
    }
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
fn a_stamp_of_the_system_clock_is_a_deadline_as_it_is() {
    assert_eq!(FastClock::system().to_monotonic_ns(12_345), 12_345);
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
