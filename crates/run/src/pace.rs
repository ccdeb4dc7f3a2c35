//! When the next I/O is due under `rate` and `rate_iops`: a fixed schedule from a start, one lane per direction.
//!
//! With a rate of R units a second (bytes, or I/Os) an I/O is due when the units issued before it have had their time,
//! at `start + units · 10^9 / R` nanoseconds. Whole nanoseconds and the remainder of the division are carried on apart,
//! so that no rounding ever adds up. The schedule does not move when an I/O is late: the lane catches up, and the time
//! from due to done is what the latency from the intended start is measured by.

use std::num::NonZeroU64;

use iostrata_spec::job::{Job, PerDirection};

use crate::generate::Direction;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// How fast one direction may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// `rate`: bytes per second.
    Bytes(NonZeroU64),
    /// `rate_iops`: I/Os per second, whatever their sizes.
    Iops(NonZeroU64),
}

/// One direction's part in the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The job issues no I/O of this direction.
    Unused,
    /// As fast as it goes.
    Free,
    /// Not faster than this.
    Rated(Rate),
}

/// The schedule of one worker.
#[derive(Clone, Debug)]
pub struct Pacer {
    start_ns: u64,
    used: [bool; 3],
    schedules: [Option<Schedule>; 3],
}

impl Pacer {
    /// A schedule that begins at `start_ns`, with a lane for each direction in the order of [`Direction::index`].
    pub fn new(lanes: [Lane; 3], start_ns: u64) -> Self {
        let schedules = lanes.map(|lane| match lane {
            Lane::Rated(rate) => Some(Schedule::new(rate)),
            Lane::Unused | Lane::Free => None,
        });
        Pacer { start_ns, used: lanes.map(|lane| lane != Lane::Unused), schedules }
    }

    /// The job's schedule; None if no direction that it uses has a rate.
    pub fn for_job(job: &Job, start_ns: u64) -> Option<Self> {
        let used = [job.workload.reads, job.workload.writes, job.workload.trims];
        let rates = |per: PerDirection<Option<u64>>| per.to_array().map(|rate| rate.and_then(NonZeroU64::new));
        let (bytes, iops) = (rates(job.rate_bytes), rates(job.rate_iops));
        let lanes = [0, 1, 2].map(|direction: usize| {
            let rate = bytes[direction].map(Rate::Bytes).or(iops[direction].map(Rate::Iops));
            match rate {
                _ if !used[direction] => Lane::Unused,
                Some(rate) => Lane::Rated(rate),
                None => Lane::Free,
            }
        });
        lanes.iter().any(|lane| matches!(lane, Lane::Rated(_))).then(|| Pacer::new(lanes, start_ns))
    }

    /// The intended start of the next I/O of this direction; None if the direction has no rate. A slow rate puts it far
    /// away (at most `u64::MAX`): a waiter must also watch the job's end.
    #[inline]
    pub fn due_ns(&self, direction: Direction) -> Option<u64> {
        let schedule = self.schedules[direction.index()].as_ref()?;
        Some(self.start_ns.saturating_add(schedule.due_ns))
    }

    /// An I/O of this many bytes was issued: the next one's turn comes that much later.
    #[inline]
    pub fn issued(&mut self, direction: Direction, bytes: u32) {
        if let Some(schedule) = &mut self.schedules[direction.index()] {
            schedule.advance(if schedule.counts_ios { 1 } else { bytes });
        }
    }

    /// Begins the schedule anew, without debts (the end of `ramp_time`).
    pub fn restart(&mut self, at_ns: u64) {
        self.start_ns = at_ns;
        for schedule in self.schedules.iter_mut().flatten() {
            (schedule.due_ns, schedule.remainder) = (0, 0);
        }
    }

    /// How long ago the next I/O of this direction was due; 0 if it is not late or has no rate.
    #[inline]
    pub fn behind_ns(&self, direction: Direction, now_ns: u64) -> u64 {
        self.due_ns(direction).map_or(0, |due| now_ns.saturating_sub(due))
    }

    /// Which direction goes now when the mix asks for `wanted`: that one if it is due, else the one due first. So each
    /// direction keeps its own rate, whatever the mix (as in fio).
    #[inline]
    pub fn choose(&self, wanted: Direction, now_ns: u64) -> Direction {
        let due = |direction| self.due_ns(direction).unwrap_or(0);
        if due(wanted) <= now_ns {
            return wanted;
        }
        let others = Direction::ALL.into_iter().filter(|direction| self.used[direction.index()]);
        others.fold(wanted, |first, other| if due(other) < due(first) { other } else { first })
    }

    /// How many I/Os of this direction, `block_bytes` each, were due before `end_ns` and were not issued.
    pub fn unissued(&self, direction: Direction, end_ns: u64, block_bytes: u32) -> u64 {
        let elapsed_ns = end_ns.saturating_sub(self.start_ns);
        self.schedules[direction.index()].as_ref().map_or(0, |schedule| schedule.unissued(elapsed_ns, block_bytes))
    }
}

/// One lane: where the next I/O stands, relative to the start.
#[derive(Clone, Debug)]
struct Schedule {
    units_per_second: u64,
    counts_ios: bool,
    /// Whole nanoseconds to the next I/O.
    due_ns: u64,
    /// What the division left over so far, in `1 / units_per_second` nanoseconds; less than one nanosecond.
    remainder: u64,
    /// The step of the last size seen, so that equal sizes are divided once.
    step: Step,
}

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    units: u32,
    whole_ns: u64,
    remainder: u64,
}

impl Schedule {
    fn new(rate: Rate) -> Self {
        let (units_per_second, counts_ios) = match rate {
            Rate::Bytes(bytes) => (bytes.get(), false),
            Rate::Iops(ios) => (ios.get(), true),
        };
        Schedule { units_per_second, counts_ios, due_ns: 0, remainder: 0, step: Step::default() }
    }

    #[inline]
    fn advance(&mut self, units: u32) {
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

    /// The smallest count j for which `due + j · step ≥ elapsed`, in exact arithmetic: I/Os that begin before the end.
    fn unissued(&self, elapsed_ns: u64, block_bytes: u32) -> u64 {
        let units = if self.counts_ios { 1 } else { block_bytes.max(1) };
        let step = u128::from(units) * u128::from(NS_PER_SECOND);
        let late_ns = u128::from(elapsed_ns.saturating_sub(self.due_ns));
        let late = (late_ns * u128::from(self.units_per_second)).saturating_sub(u128::from(self.remainder));
        u64::try_from(late.div_ceil(step)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iops(rate: u64) -> Lane {
        Lane::Rated(Rate::Iops(NonZeroU64::new(rate).unwrap()))
    }

    fn bytes(rate: u64) -> Lane {
        Lane::Rated(Rate::Bytes(NonZeroU64::new(rate).unwrap()))
    }

    fn reads(lane: Lane, start_ns: u64) -> Pacer {
        Pacer::new([lane, Lane::Unused, Lane::Unused], start_ns)
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
        let now_ns = 50_000_000;
        let mut burst = 0;
        while pacer.due_ns(Direction::Read).unwrap() <= now_ns {
            assert_eq!(pacer.behind_ns(Direction::Read, now_ns), (50 - burst) * 1_000_000);
            pacer.issued(Direction::Read, 4096);
            burst += 1;
        }
        assert_eq!(burst, 51);
        assert_eq!(pacer.due_ns(Direction::Read), Some(51_000_000));
        assert_eq!(pacer.behind_ns(Direction::Read, now_ns), 0);
    }

    #[test]
    fn the_end_of_a_ramp_forgives_debts_and_credits() {
        for issued_in_ramp in [0, 10, 5000] {
            let mut pacer = reads(iops(1000), 0);
            (0..issued_in_ramp).for_each(|_| pacer.issued(Direction::Read, 4096));
            pacer.restart(1_000_000_000);
            let mut due = 0;
            while pacer.due_ns(Direction::Read).unwrap() < 1_100_000_000 {
                pacer.issued(Direction::Read, 4096);
                due += 1;
            }
            assert_eq!(due, 100, "after {issued_in_ramp} in the ramp");
        }
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
        assert_eq!(reads(Lane::Free, 7).unissued(Direction::Read, end_ns, 4096), 0);
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
        assert_eq!(pacer.behind_ns(Direction::Read, u64::MAX), 0);
        assert_eq!(pacer.unissued(Direction::Read, u64::MAX, 4096), 0);
    }

    #[test]
    fn each_direction_keeps_its_rate_whatever_the_mix_wants() {
        // The mix wants reads nine times of ten, the rates say one read for four writes.
        let mut pacer = Pacer::new([iops(256), iops(1024), Lane::Unused], 0);
        let mut counts = [0, 0];
        for turn in 0.. {
            let wanted = if turn % 10 == 9 { Direction::Write } else { Direction::Read };
            let now_ns = [Direction::Read, Direction::Write].into_iter().filter_map(|d| pacer.due_ns(d)).min().unwrap();
            if now_ns >= NS_PER_SECOND {
                break;
            }
            let direction = pacer.choose(wanted, now_ns);
            assert!(pacer.due_ns(direction).unwrap() <= now_ns);
            pacer.issued(direction, 4096);
            counts[direction.index()] += 1;
        }
        assert_eq!(counts, [256, 1024]);
    }

    #[test]
    fn a_direction_without_a_rate_goes_when_the_other_must_wait() {
        let mut pacer = Pacer::new([Lane::Free, iops(1), Lane::Unused], 0);
        assert_eq!(pacer.choose(Direction::Write, 5), Direction::Write);
        pacer.issued(Direction::Write, 4096);
        assert_eq!(pacer.choose(Direction::Write, 5), Direction::Read);
        assert_eq!(pacer.due_ns(Direction::Read), None);
        // Alone, it stays the choice although it must wait.
        let mut alone = Pacer::new([Lane::Unused, iops(1), Lane::Unused], 0);
        alone.issued(Direction::Write, 4096);
        assert_eq!(alone.choose(Direction::Write, 5), Direction::Write);
    }
}
