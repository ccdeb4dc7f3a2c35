//! Which I/Os go down under a priority of their own (`cmdprio_*`).

use iostrata_spec::{CommandPriority, Prioritised};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Direction;
use super::random::{below, generator};

/// Draws the priority of each read and write.
pub(crate) struct Priorities {
    /// Of reads and writes.
    shares: [Vec<Prioritised>; 2],
    draws: Xoshiro256PlusPlus,
}

impl Priorities {
    /// `None` where no I/O has a priority of its own.
    pub(crate) fn of(asked: &CommandPriority, seed: u64) -> Option<Priorities> {
        asked.any().then(|| Priorities { shares: [0, 1].map(|at| asked.shares(at)), draws: generator(seed) })
    }

    /// The priority of an I/O of so many bytes, as the kernel takes it; 0 for that of its thread.
    pub(crate) fn draw(&mut self, direction: Direction, bytes: u32) -> u16 {
        let Some(shares) = self.shares.get(direction.index()) else { return 0 };
        if shares.is_empty() {
            return 0;
        }
        let mut drawn = below(&mut self.draws, 100) as u32;
        for share in shares.iter().filter(|share| share.block_bytes.is_none_or(|size| size == u64::from(bytes))) {
            match drawn.checked_sub(share.percent) {
                None => return share.word,
                Some(left) => drawn = left,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use iostrata_spec::PriorityShare;

    use super::*;

    fn counts(asked: &CommandPriority, direction: Direction, bytes: u32) -> Vec<(u16, u32)> {
        let Some(mut priorities) = Priorities::of(asked, 7) else { return Vec::new() };
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..10_000 {
            *counts.entry(priorities.draw(direction, bytes)).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Within five standard deviations of the binomial law.
    fn near(count: u32, percent: f64) -> bool {
        let (expected, share) = (percent * 100.0, percent / 100.0);
        (f64::from(count) - expected).abs() <= 5.0 * (10_000.0 * share * (1.0 - share)).sqrt()
    }

    #[test]
    fn shares_are_kept_by_direction_and_size() {
        let share = |percent, class, level| PriorityShare { block_bytes: 4096, percent, class, level, hint: None };
        let asked = CommandPriority {
            level: [Some(3), None, None],
            split: [
                Some(vec![share(20, Some(2), None), share(10, None, Some(4))]),
                Some(vec![share(100, None, None)]),
                None,
            ],
            ..CommandPriority::default()
        };
        let [(own, rest), (real_time, ten), (best_effort, twenty)] = counts(&asked, Direction::Read, 4096)[..] else {
            panic!("three priorities");
        };
        assert_eq!((own, real_time, best_effort), (0, 1 << 13 | 4, 2 << 13 | 3));
        assert!(near(rest, 70.0) && near(ten, 10.0) && near(twenty, 20.0), "{rest} {ten} {twenty}");
        assert_eq!(counts(&asked, Direction::Read, 8192), [(0, 10_000)]);
        assert_eq!(counts(&asked, Direction::Write, 4096), [(1 << 13, 10_000)]);
        assert_eq!(counts(&asked, Direction::Trim, 4096), [(0, 10_000)]);
    }

    #[test]
    fn without_shares_nothing_is_drawn() {
        let class_alone = CommandPriority { class: [Some(2); 3], ..CommandPriority::default() };
        let none = CommandPriority { percent: [Some(0); 3], ..CommandPriority::default() };
        assert!(!class_alone.any() && Priorities::of(&none, 1).is_none());
    }
}
