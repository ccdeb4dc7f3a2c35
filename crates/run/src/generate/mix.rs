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
