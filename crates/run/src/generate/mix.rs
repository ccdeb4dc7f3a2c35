//! Which direction comes next.

use iostrata_spec::job::Workload;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Direction;
use super::random::{below, derive, generator};

/// The sequence of directions of one worker.
#[derive(Clone, Debug)]
pub struct Mix {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Only(Direction),
    TrimThenWrite { trimmed: bool },
    Coin(Coin),
}

impl Mix {
    /// Reads and writes, `read_percent` (0 to 100) of them reads, by the stream of this seed.
    pub fn new(read_percent: u32, stream: u64) -> Self {
        Mix { kind: Kind::Coin(Coin::new(read_percent, stream)) }
    }

    /// What the workload asks for: one direction, trims and writes in turn, or a mix.
    pub fn for_workload(workload: &Workload, read_percent: u32, stream: u64) -> Self {
        match (workload.reads, workload.writes, workload.trims) {
            (true, true, _) => Mix::new(read_percent, stream),
            (_, true, true) => Mix { kind: Kind::TrimThenWrite { trimmed: false } },
            (_, true, false) => Mix { kind: Kind::Only(Direction::Write) },
            (_, false, true) => Mix { kind: Kind::Only(Direction::Trim) },
            (_, false, false) => Mix { kind: Kind::Only(Direction::Read) },
        }
    }

    /// The direction that all I/Os have, if it is one.
    pub fn only(&self) -> Option<Direction> {
        match self.kind {
            Kind::Only(direction) => Some(direction),
            _ => None,
        }
    }

    /// The next I/O's direction.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it has no end, so an Option would be in the way")]
    pub fn next(&mut self) -> Direction {
        match &mut self.kind {
            Kind::Only(direction) => *direction,
            Kind::TrimThenWrite { trimmed } => {
                *trimmed = !*trimmed;
                if *trimmed { Direction::Trim } else { Direction::Write }
            }
            Kind::Coin(coin) => coin.next(),
        }
    }

    /// Begins a new pass: with the same tosses again, or with others.
    pub fn restart(&mut self, repeat: bool) {
        match &mut self.kind {
            Kind::Only(_) => {}
            Kind::TrimThenWrite { trimmed } => *trimmed = false,
            Kind::Coin(coin) => coin.restart(repeat),
        }
    }
}

/// A coin tossed for each I/O, with fio's brake on long runs: after a change of direction it is tossed again only once
/// the new direction has had its share of what the other had had by then.
#[derive(Clone, Debug)]
struct Coin {
    read_percent: u64,
    stream: u64,
    pass: u64,
    rng: Xoshiro256PlusPlus,
    current: Direction,
    issued: [u64; 2],
    quota: u64,
}

impl Coin {
    fn new(read_percent: u32, stream: u64) -> Self {
        let mut coin = Coin {
            read_percent: u64::from(read_percent.min(100)),
            stream,
            pass: 0,
            rng: generator(stream),
            current: Direction::Read,
            issued: [0; 2],
            quota: 0,
        };
        coin.restart(true);
        coin
    }

    fn restart(&mut self, repeat: bool) {
        self.pass += u64::from(!repeat);
        self.rng = generator(derive(self.stream, self.pass));
        self.current = Direction::Read;
        self.issued = [0; 2];
        self.quota = 0;
    }

    #[inline]
    fn next(&mut self) -> Direction {
        if self.issued[self.current.index()] >= self.quota {
            let (tossed, share) = if below(&mut self.rng, 100) < self.read_percent {
                (Direction::Read, self.read_percent)
            } else {
                (Direction::Write, 100 - self.read_percent)
            };
            if tossed != self.current {
                self.quota = self.issued[self.current.index()] * share / 100;
                self.current = tossed;
            }
        }
        self.issued[self.current.index()] += 1;
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(mix: &mut Mix, count: usize) -> usize {
        (0..count).filter(|_| mix.next() == Direction::Read).count()
    }

    #[test]
    fn every_share_is_met_within_the_binomial_law() {
        for percent in 0..=100 {
            for stream in 0..4 {
                for count in [100, 10_000] {
                    let share = f64::from(percent) / 100.0;
                    let expected = share * count as f64;
                    let off = (reads(&mut Mix::new(percent, stream), count) as f64 - expected).abs();
                    let allowed = 5.0 * (expected * (1.0 - share)).sqrt();
                    assert!(off <= allowed, "{percent} %, stream {stream}, {count} I/Os: off by {off}");
                }
            }
        }
    }

    #[test]
    fn directions_change_as_often_as_a_coin_does() {
        let mut mix = Mix::new(50, 3);
        let tosses: Vec<Direction> = (0..10_000).map(|_| mix.next()).collect();
        let changes = tosses.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // 5000 expected, standard deviation 50.
        assert!((4750..5250).contains(&changes), "{changes}");
    }

    #[test]
    fn the_brake_holds_a_new_direction_until_it_has_its_share() {
        // A job of 10 % reads that met ten reads first: nine of the next writes follow without a toss.
        let mut coin = Coin::new(10, 1);
        (coin.current, coin.issued, coin.quota) = (Direction::Read, [10, 0], 0);
        while coin.next() == Direction::Read {}
        let reads = coin.issued[0];
        assert_eq!(coin.quota, reads * 90 / 100);
        for _ in 1..coin.quota {
            assert_eq!(coin.next(), Direction::Write);
        }
        assert_eq!(coin.issued, [reads, coin.quota]);
    }

    #[test]
    fn a_pass_can_be_repeated_or_tossed_anew() {
        let mut mix = Mix::new(70, 9);
        let mut passes = Vec::new();
        for repeat in [true, false, true] {
            passes.push((0..200).map(|_| mix.next()).collect::<Vec<_>>());
            mix.restart(repeat);
        }
        assert_eq!(passes[0], passes[1]);
        assert_ne!(passes[1], passes[2]);
    }

    #[test]
    fn workloads_of_one_direction_stay_in_it() {
        let kind = |reads, writes, trims| Workload { reads, writes, trims, random: true, modifier: None };
        for (workload, only) in [
            (kind(true, false, false), Some(Direction::Read)),
            (kind(false, true, false), Some(Direction::Write)),
            (kind(false, false, true), Some(Direction::Trim)),
            (kind(true, true, false), None),
            (kind(false, true, true), None),
        ] {
            let mut mix = Mix::for_workload(&workload, 50, 1);
            assert_eq!(mix.only(), only);
            if let Some(direction) = only {
                assert!((0..50).all(|_| mix.next() == direction));
            }
        }
        let mut pairs = Mix::for_workload(&kind(false, true, true), 50, 1);
        pairs.next();
        pairs.restart(true);
        assert_eq!([pairs.next(), pairs.next(), pairs.next()], [Direction::Trim, Direction::Write, Direction::Trim]);
    }
}
