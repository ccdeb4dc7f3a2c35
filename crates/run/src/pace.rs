//! When the next I/O is due under `rate` and `rate_iops`: a schedule from a start, one lane for each direction.
//!
//! With a rate of R units a second (bytes, or I/Os) an I/O is due when the units issued before it have had their time,
//! at `start + units · 10^9 / R` nanoseconds. Whole nanoseconds and the remainder of the division are carried on apart,
//! so that no rounding ever adds up. Under `rate_process=poisson` each gap is multiplied by a draw from the exponential
//! distribution of mean 1. The schedule does not move when an I/O is late: the lane catches up, and the time from due
//! to done is what the latency from the intended start is measured by.

use std::num::NonZeroU64;

use iostrata_spec::job::{Job, PerDirection, RateProcess};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::generate::Direction;
use crate::generate::random::{derive, generator};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// How fast one direction may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// `rate`: bytes per second.
    Bytes(NonZeroU64),
    /// `rate_iops`: I/Os per second, whatever their sizes.
    Iops(NonZeroU64),
}

/// The schedule of one worker.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// One for each direction that has a rate, in the order of [`Direction::index`].
    schedules: [Option<Schedule>; 3],
}

impl Pacer {
    /// A schedule that begins at `start_ns`. With `gaps` I/Os arrive as a Poisson process by the stream of this seed,
    /// else evenly.
    pub fn new(rates: [Option<Rate>; 3], gaps: Option<u64>, start_ns: u64) -> Self {
        let schedule = |direction: usize| {
            let gaps = gaps.map(|seed| Box::new(generator(derive(seed, direction as u64))));
            rates[direction].map(|rate| Schedule::new(rate, gaps, start_ns))
        };
        Pacer { schedules: [0, 1, 2].map(schedule) }
    }

    /// The job's schedule; None if no direction that it uses has a rate. `seed` is that of the stream of gaps.
    pub fn for_job(job: &Job, seed: u64, start_ns: u64) -> Option<Self> {
        let used = [job.workload.reads, job.workload.writes, job.workload.trims];
        let of = |per: PerDirection<Option<u64>>| per.to_array().map(|rate| rate.and_then(NonZeroU64::new));
        let (bytes, iops) = (of(job.rate.bytes), of(job.rate.iops));
        let rates = [0, 1, 2].map(|direction: usize| {
            let rate = bytes[direction].map(Rate::Bytes).or(iops[direction].map(Rate::Iops));
            rate.filter(|_| used[direction])
        });
        let gaps = (job.rate.process == RateProcess::Poisson).then_some(seed);
        rates.iter().any(Option::is_some).then(|| Pacer::new(rates, gaps, start_ns))
    }

    /// The intended start of the next I/O of this direction; None if the direction has no rate. A slow rate puts it far
    /// away (at most `u64::MAX`): a waiter must also watch the job's end.
    #[inline]
    pub fn due_ns(&self, direction: Direction) -> Option<u64> {
        self.schedules[direction.index()].as_ref().map(|schedule| schedule.due_ns)
    }

    /// An I/O of this many bytes was issued: the next one's turn comes that much later.
    #[inline]
    pub fn issued(&mut self, direction: Direction, bytes: u32) {
        if let Some(schedule) = &mut self.schedules[direction.index()] {
            schedule.advance(if schedule.counts_ios { 1 } else { bytes });
        }
    }

    /// Forgives what is in arrears at `at_ns` (the end of the ramp): nothing was due before. What is not due yet stays
    /// where it is, so that the pace goes on as if nothing had happened.
    pub fn forgive(&mut self, at_ns: u64) {
        for schedule in self.schedules.iter_mut().flatten() {
            if schedule.due_ns < at_ns {
                (schedule.due_ns, schedule.remainder) = (at_ns, 0);
            }
        }
    }

    /// Moves the schedule by a pause that is not to be caught up on (`rate_ignore_thinktime`).
    pub fn postpone(&mut self, pause_ns: u64) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.due_ns = schedule.due_ns.saturating_add(pause_ns);
        }
    }

    /// How many I/Os of this direction, `block_bytes` each, were due before `end_ns` and were not issued; of a Poisson
    /// process, how many such I/Os there are on average.
    pub fn unissued(&self, direction: Direction, end_ns: u64, block_bytes: u32) -> u64 {
        self.schedules[direction.index()].as_ref().map_or(0, |schedule| schedule.unissued(end_ns, block_bytes))
    }
}

/// One lane.
#[derive(Clone, Debug)]
struct Schedule {
    units_per_second: u64,
    counts_ios: bool,
    /// When the next I/O is due, whole nanoseconds.
    due_ns: u64,
    /// What the division left over so far, in `1 / units_per_second` nanoseconds; less than one nanosecond.
    remainder: u64,
    /// The step of the last size seen, so that equal sizes are divided once.
    step: Step,
    /// The stream of the gaps of a Poisson process; evenly spaced without.
    gaps: Option<Box<Xoshiro256PlusPlus>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    units: u32,
    whole_ns: u64,
    remainder: u64,
}

impl Schedule {
    fn new(rate: Rate, gaps: Option<Box<Xoshiro256PlusPlus>>, start_ns: u64) -> Self {
        let (units_per_second, counts_ios) = match rate {
            Rate::Bytes(bytes) => (bytes.get(), false),
            Rate::Iops(ios) => (ios.get(), true),
        };
        Schedule { units_per_second, counts_ios, due_ns: start_ns, remainder: 0, step: Step::default(), gaps }
    }

    #[inline]
    fn advance(&mut self, units: u32) {
        if let Some(gaps) = &mut self.gaps {
            // Rounding to whole nanoseconds is fair, so it does not add up either.
            let mean_ns = f64::from(units) * NS_PER_SECOND as f64 / self.units_per_second as f64;
            let gap_ns = exponential(gaps) * mean_ns;
            self.due_ns = self.due_ns.saturating_add((gap_ns + 0.5) as u64);
            return;
        }
        if units != self.step.units {
            // At most 2^32 · 10^9, which is less than 2^62.
            let product = u64::from(units) * NS_PER_SECOND;
            let (whole_ns, remainder) = (product / self.units_per_second, product % self.units_per_second);
            self.step = Step { units, whole_ns, remainder };
        }
        let room = self.units_per_second - self.step.remainder;
        let carry = self.remainder >= room;
        self.remainder = if carry { self.remainder - room } else { self.remainder + self.step.remainder };
        self.due_ns = self.due_ns.saturating_add(self.step.whole_ns).saturating_add(u64::from(carry));
    }

    /// The smallest count j for which `due + j · step ≥ end`, in exact arithmetic: I/Os that begin before the end.
    fn unissued(&self, end_ns: u64, block_bytes: u32) -> u64 {
        let units = if self.counts_ios { 1 } else { block_bytes.max(1) };
        let step = u128::from(units) * u128::from(NS_PER_SECOND);
        let late_ns = u128::from(end_ns.saturating_sub(self.due_ns));
        let late = (late_ns * u128::from(self.units_per_second)).saturating_sub(u128::from(self.remainder));
        u64::try_from(late.div_ceil(step)).unwrap_or(u64::MAX)
    }
}

/// A draw from the exponential distribution of mean 1: `-ln(u)` of a uniform u in (0, 1].
fn exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    /// 2^53: a double holds every whole number up to it.
    const STEPS: f64 = (1u64 << 53) as f64;
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / STEPS;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iops(rate: u64) -> Option<Rate> {
        NonZeroU64::new(rate).map(Rate::Iops)
    }

    fn bytes(rate: u64) -> Option<Rate> {
        NonZeroU64::new(rate).map(Rate::Bytes)
    }

    fn reads(rate: Option<Rate>, start_ns: u64) -> Pacer {
        Pacer::new([rate, None, None], None, start_ns)
    }

    #[test]
    fn a_million_ios_do_not_drift_by_a_nanosecond() {
        for rate in [1, 3, 7, 999, 1280, 48_000, 333_333, 999_999_937, u64::MAX] {
            let mut pacer = reads(iops(rate), 500);
            for issued in 0..=1_000_000u64 {
                if issued % 99_991 < 2 {
                    let exact = u128::from(issued) * 1_000_000_000 / u128::from(rate);
                    assert_eq!(pacer.due_ns(Direction::Read), Some(500 + exact as u64), "{issued} at {rate}/s");
                }
                pacer.issued(Direction::Read, 4096);
            }
        }
    }

    #[test]
    fn bytes_of_changing_sizes_add_up_exactly() {
        let mut pacer = reads(bytes(1_234_567), 0);
        let mut total = 0u128;
        for issued in 0..200_000u32 {
            assert_eq!(pacer.due_ns(Direction::Read).map(u128::from), Some(total * 1_000_000_000 / 1_234_567));
            let len = 512 * (1 + issued % 7);
            pacer.issued(Direction::Read, len);
            total += u128::from(len);
        }
    }

    #[test]
    fn iops_count_ios_whatever_their_sizes() {
        let mut pacer = reads(iops(100), 0);
        for len in [512, 1 << 20, 4096, u32::MAX, 0] {
            pacer.issued(Direction::Read, len);
        }
        assert_eq!(pacer.due_ns(Direction::Read), Some(50_000_000));
    }

    #[test]
    fn lateness_does_not_move_the_schedule() {
        let mut pacer = reads(iops(1000), 0);
        // A stall of 50 ms: the 51 I/Os due until its end (both ends included) go out at once, then the pace is as
        // before.
        let mut burst = 0;
        while pacer.due_ns(Direction::Read).unwrap() <= 50_000_000 {
            pacer.issued(Direction::Read, 4096);
            burst += 1;
        }
        assert_eq!(burst, 51);
        assert_eq!(pacer.due_ns(Direction::Read), Some(51_000_000));
    }

    /// I/Os due from `from_ns` on and before `to_ns`; all of them are issued.
    fn due_between(pacer: &mut Pacer, from_ns: u64, to_ns: u64) -> u64 {
        let mut count = 0;
        while pacer.due_ns(Direction::Read).unwrap() < to_ns {
            count += u64::from(pacer.due_ns(Direction::Read).unwrap() >= from_ns);
            pacer.issued(Direction::Read, 4096);
        }
        count
    }

    #[test]
    fn the_end_of_a_ramp_forgives_arrears_and_keeps_the_pace() {
        // Far behind, in step, and a little ahead (the next I/O is due after the end of the ramp).
        for (issued_in_ramp, first_ns) in [(0, 1_000_000_000), (1000, 1_000_000_000), (1003, 1_003_000_000)] {
            let mut pacer = reads(iops(1000), 0);
            (0..issued_in_ramp).for_each(|_| pacer.issued(Direction::Read, 4096));
            pacer.forgive(1_000_000_000);
            assert_eq!(pacer.due_ns(Direction::Read), Some(first_ns));
            let due = due_between(&mut pacer, 0, 1_100_000_000);
            assert_eq!(due, (1_100_000_000 - first_ns) / 1_000_000, "after {issued_in_ramp} in the ramp");
        }
    }

    #[test]
    fn a_pause_that_is_ignored_moves_the_schedule() {
        let mut pacer = reads(iops(1000), 0);
        pacer.issued(Direction::Read, 4096);
        pacer.postpone(500_000_000);
        assert_eq!(pacer.due_ns(Direction::Read), Some(501_000_000));
    }

    fn poisson(rate: Option<Rate>, seed: u64) -> Pacer {
        Pacer::new([rate, rate, None], Some(seed), 0)
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_spread_of_one() {
        // 1000 windows with 20 I/Os each on average. Their counts have variance 20, so that the sum has standard
        // deviation √20000, and variance/mean is 1 ± √(2/1000).
        for rate in [iops(20), bytes(20 * 4096)] {
            let mut pacer = poisson(rate, 7);
            let counts: Vec<f64> =
                (0..1000).map(|second| due_between(&mut pacer, 0, (second + 1) * NS_PER_SECOND) as f64).collect();
            let sum: f64 = counts.iter().sum();
            assert!((sum - 20_000.0).abs() < 5.0 * 20_000f64.sqrt(), "{sum} I/Os");
            let mean = sum / 1000.0;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 999.0;
            assert!((variance / mean - 1.0).abs() < 5.0 * (2.0f64 / 1000.0).sqrt(), "variance {variance}");
        }
    }

    #[test]
    fn a_seed_repeats_its_gaps_and_directions_have_gaps_of_their_own() {
        let gaps = |seed, direction| {
            let mut pacer = poisson(iops(1000), seed);
            (0..50).map(|_| (pacer.issued(direction, 4096), pacer.due_ns(direction)).1).collect::<Vec<_>>()
        };
        assert_eq!(gaps(1, Direction::Read), gaps(1, Direction::Read));
        assert_ne!(gaps(1, Direction::Read), gaps(2, Direction::Read));
        assert_ne!(gaps(1, Direction::Read), gaps(1, Direction::Write));
    }

    #[test]
    fn what_was_due_before_the_end_and_not_issued_is_counted() {
        // 3 a second: due at 0, 333_333_333, 666_666_666 and (exactly) 10^9 ns, which is outside a run of one second.
        let mut pacer = reads(iops(3), 7);
        let end_ns = 7 + NS_PER_SECOND;
        for left in [3, 2, 1, 0, 0] {
            assert_eq!(pacer.unissued(Direction::Read, end_ns, 4096), left);
            pacer.issued(Direction::Read, 4096);
        }
        assert_eq!(reads(iops(3), 7).unissued(Direction::Read, 7, 4096), 0);
        assert_eq!(reads(iops(3), 7).unissued(Direction::Read, 8, 4096), 1);
        // Bytes: 1 MiB/s in blocks of 4 KiB are 256 in the second.
        assert_eq!(reads(bytes(1 << 20), 7).unissued(Direction::Read, end_ns, 4096), 256);
        assert_eq!(reads(None, 7).unissued(Direction::Read, end_ns, 4096), 0);
    }

    #[test]
    fn counting_agrees_with_issuing_one_by_one() {
        for rate in [1, 7, 999, 1280, 333_333] {
            let end_ns = 123_456_789;
            let counted = reads(iops(rate), 0).unissued(Direction::Read, end_ns, 1);
            // The whole part of the due time: a due time of 123_456_789.5 is not before the end, of 123_456_788.9 is.
            let mut pacer = reads(iops(rate), 0);
            let mut one_by_one = 0;
            while pacer.due_ns(Direction::Read).unwrap() < end_ns {
                pacer.issued(Direction::Read, 1);
                one_by_one += 1;
            }
            assert_eq!(counted, one_by_one, "{rate}/s");
        }
    }

    #[test]
    fn a_rate_of_less_than_a_block_a_day_is_due_far_away_and_overflows_nothing() {
        let mut pacer = reads(bytes(1), u64::MAX - 10);
        for _ in 0..10 {
            pacer.issued(Direction::Read, u32::MAX);
        }
        assert_eq!(pacer.due_ns(Direction::Read), Some(u64::MAX));
        assert_eq!(pacer.unissued(Direction::Read, u64::MAX, 4096), 0);
    }
}
