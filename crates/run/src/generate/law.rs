//! Laws of where random I/O goes, over the blocks of a region or over files.
//!
//! Zipf's, Pareto's and the normal law say how often the first, the second, … most frequent block comes. Which block
//! that is, is drawn from the key, so that the hot blocks are spread over the region; with a `center` they lie around
//! it.

use iostrata_spec::{AccessZone, Distribution, PerDirection};
use rand_core::Rng;
use rand_distr::{Distribution as _, Normal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::permutation::Permutation;
use super::random::below;

/// A law over so many blocks.
#[derive(Debug)]
pub(super) struct Law {
    blocks: u64,
    kind: Kind,
    place: Place,
}

#[derive(Debug)]
enum Kind {
    Zipf(Zipf<f64>),
    /// Of the blocks' ranks, scaled to 0 to 1, the first x come with probability x to this power.
    Pareto(f64),
    Normal(Normal<f64>),
    /// By direction: each zone with its share of the accesses up to its end.
    Zones([Vec<Zone>; 3]),
    Sequence {
        list: Vec<u64>,
        /// By direction: draws so far.
        drawn: [u64; 3],
        /// Each time round the list is moved on by its length.
        strides: bool,
    },
}

/// A run of blocks, and the percentage of accesses that go to it or to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    percent_until: u64,
    first: u64,
    blocks: u64,
}

/// Which block a rank stands for.
#[derive(Debug)]
enum Place {
    /// The block of this number.
    Itself,
    Scattered(Permutation),
    /// Ranks lie on both sides of here.
    Around(u64),
}

impl Law {
    /// `None` where every block is alike.
    pub(super) fn new(distribution: &Distribution, blocks: u64, block_bytes: u64, key: u64) -> Option<Law> {
        let ranks = blocks.max(1) as f64;
        let near = |center: Option<f64>| match center {
            Some(center) => Place::Around(((ranks * center) as u64).min(blocks.saturating_sub(1))),
            None => Place::Scattered(Permutation::new(blocks, key)),
        };
        let (kind, place) = match distribution {
            Distribution::Random => return None,
            // The rules let no parameter through that these refuse.
            Distribution::Zipf { theta, center } => (Kind::Zipf(Zipf::new(ranks, *theta).ok()?), near(*center)),
            Distribution::Pareto { power, center } => (Kind::Pareto((1.0 - power).ln() / power.ln()), near(*center)),
            Distribution::Normal { deviation, center } => {
                let mean = ranks * center.unwrap_or(0.5);
                let normal = Normal::new(mean, ranks * deviation / 100.0).ok()?;
                let place = if center.is_some() { Place::Itself } else { near(None) };
                (Kind::Normal(normal), place)
            }
            Distribution::Zoned(zones) => {
                let share = |zone: &AccessZone, before: u64| {
                    let until = |percent: u64| (u128::from(blocks) * u128::from(percent) / 100) as u64;
                    until(before + zone.size) - until(before)
                };
                (Kind::Zones(by_direction(zones, blocks, share)), Place::Itself)
            }
            Distribution::ZonedAbs(zones) => {
                let share = |zone: &AccessZone, before: u64| {
                    (before + zone.size) / block_bytes.max(1) - before / block_bytes.max(1)
                };
                (Kind::Zones(by_direction(zones, blocks, share)), Place::Itself)
            }
            Distribution::Sequence(list) => {
                (Kind::Sequence { list: list.clone(), drawn: [0; 3], strides: false }, Place::Itself)
            }
        };
        Some(Law { blocks, kind, place })
    }

    /// With `strides`, a list of blocks is moved on by its length each time round.
    pub(super) fn striding(mut self, on: bool) -> Law {
        if let Kind::Sequence { strides, .. } = &mut self.kind {
            *strides = on;
        }
        self
    }

    /// The block of the next I/O of a direction, below the number of blocks.
    pub(super) fn draw(&mut self, rng: &mut Xoshiro256PlusPlus, direction: usize) -> u64 {
        let last = self.blocks.saturating_sub(1);
        let rank = match &mut self.kind {
            Kind::Zipf(zipf) => zipf.sample(rng) as u64 - 1,
            Kind::Pareto(power) => (unit(rng).powf(1.0 / *power) * self.blocks as f64) as u64,
            Kind::Normal(normal) => loop {
                let at = normal.sample(rng);
                if at >= 0.0 && at < self.blocks as f64 {
                    break at as u64;
                }
            },
            Kind::Zones(zones) => zoned(&zones[direction], self.blocks, rng),
            Kind::Sequence { list, drawn, strides } => {
                let (at, length) = (drawn[direction], list.len().max(1) as u64);
                drawn[direction] += 1;
                let block = list.get((at % length) as usize).copied().unwrap_or(0);
                let moved = if *strides { at / length * length } else { 0 };
                // Moved on beyond the end it goes on at the beginning.
                if moved == 0 { block } else { block.saturating_add(moved) % self.blocks.max(1) }
            }
        };
        let rank = rank.min(last);
        match &self.place {
            Place::Itself => rank,
            Place::Scattered(permutation) => permutation.at(rank),
            Place::Around(center) => around(*center, rank, self.blocks),
        }
    }
}

/// From 0, never 1.
fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// The block that is the `rank`-th nearest to the center.
fn around(center: u64, rank: u64, blocks: u64) -> u64 {
    let (below, above) = (center, blocks.saturating_sub(1) - center);
    let both = below.min(above);
    if rank <= 2 * both {
        return if rank % 2 == 1 { center + rank.div_ceil(2) } else { center - rank / 2 };
    }
    // One side is used up.
    if below > above { center - (rank - both) } else { center + (rank - both) }
}

fn by_direction(
    zones: &PerDirection<Option<Vec<AccessZone>>>,
    blocks: u64,
    length: impl Fn(&AccessZone, u64) -> u64,
) -> [Vec<Zone>; 3] {
    [&zones.read, &zones.write, &zones.trim].map(|list| {
        let (mut percent_until, mut before, mut first) = (0, 0, 0);
        let zone = |zone: &AccessZone| {
            let blocks_here = length(zone, before).min(blocks - first);
            percent_until += u64::from(zone.percent);
            let made = Zone { percent_until, first, blocks: blocks_here };
            before += zone.size;
            first += blocks_here;
            made
        };
        list.iter().flatten().map(zone).collect()
    })
}

fn zoned(zones: &[Zone], blocks: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
    let percent = below(rng, 100);
    // A zone smaller than a block has none: whoever is sent there goes where all go.
    match zones.iter().find(|zone| percent < zone.percent_until).filter(|zone| zone.blocks > 0) {
        Some(zone) => zone.first + below(rng, zone.blocks),
        None => below(rng, blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::generator;
    use super::*;

    const BLOCKS: u64 = 1000;
    const DRAWS: usize = 1_000_000;

    /// How often each block came in a million draws, from a fixed seed.
    fn counts(distribution: &Distribution) -> Vec<u64> {
        let mut law = Law::new(distribution, BLOCKS, 4096, 7).unwrap();
        let mut rng = generator(11);
        let mut counts = vec![0; BLOCKS as usize];
        (0..DRAWS).for_each(|_| counts[law.draw(&mut rng, 0) as usize] += 1);
        counts
    }

    /// The largest distance between the measured and the wanted share of the blocks up to each (Kolmogorov and
    /// Smirnov); a million draws of the right law stay below 0.0019 in 999 of 1000 cases.
    fn distance(counts: &[u64], wanted: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0;
        let shares = counts.iter().enumerate().map(|(block, count)| {
            sum += count;
            (sum as f64 / DRAWS as f64 - wanted(block + 1)).abs()
        });
        shares.fold(0.0, f64::max)
    }

    fn by_rank(mut counts: Vec<u64>) -> Vec<u64> {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn zipf_gives_each_rank_its_share_wherever_its_block_is() {
        let theta: f64 = 1.2;
        let until = |rank: usize| (1..=rank).map(|k| (k as f64).powf(-theta)).sum::<f64>();
        let whole = until(BLOCKS as usize);
        let scattered = counts(&Distribution::Zipf { theta, center: None });
        // Ranks as they were measured are a little more uneven than the law.
        assert!(distance(&by_rank(scattered.clone()), |rank| until(rank) / whole) < 0.004);
        let hottest = scattered.iter().enumerate().max_by_key(|(_, count)| **count).unwrap().0;
        assert!(hottest > 10, "the hot block is not at the start: {hottest}");
        let around = counts(&Distribution::Zipf { theta, center: Some(0.25) });
        assert_eq!(around.iter().enumerate().max_by_key(|(_, count)| **count).unwrap().0, 250);
        assert!(around[251] > around[260] && around[249] > around[240]);
    }

    #[test]
    fn pareto_sends_four_fifths_to_one_fifth() {
        let counts = by_rank(counts(&Distribution::Pareto { power: 0.2, center: None }));
        let top: u64 = counts[..BLOCKS as usize / 5].iter().sum();
        assert!((top as f64 / DRAWS as f64 - 0.8).abs() < 0.005, "{top}");
        let wanted = |rank: usize| (rank as f64 / BLOCKS as f64).powf(0.8f64.ln() / 0.2f64.ln());
        assert!(distance(&counts, wanted) < 0.005);
    }

    #[test]
    fn the_normal_law_lies_around_its_center() {
        let counts = counts(&Distribution::Normal { deviation: 5.0, center: Some(0.6) });
        let within = |blocks: std::ops::Range<usize>| counts[blocks].iter().sum::<u64>() as f64 / DRAWS as f64;
        assert!((within(550..650) - 0.6827).abs() < 0.003, "one deviation");
        assert!((within(500..700) - 0.9545).abs() < 0.003, "two");
        assert!((within(0..600) - 0.5).abs() < 0.003);
    }

    #[test]
    fn zones_get_their_share_of_the_accesses_evenly() {
        let zone = |percent, size| AccessZone { percent, size };
        let zones =
            PerDirection { read: Some(vec![zone(60, 10), zone(30, 20), zone(10, 70)]), write: None, trim: None };
        let wanted = |block: usize| match block {
            0..=100 => 0.6 * block as f64 / 100.0,
            101..=300 => 0.6 + 0.3 * (block - 100) as f64 / 200.0,
            _ => 0.9 + 0.1 * (block - 300) as f64 / 700.0,
        };
        assert!(distance(&counts(&Distribution::Zoned(zones)), wanted) < 0.0019);
        let zones =
            PerDirection { read: Some(vec![zone(75, 400 << 10), zone(25, 400 << 10)]), write: None, trim: None };
        let counts = counts(&Distribution::ZonedAbs(zones));
        assert!(counts[200..].iter().all(|count| *count == 0));
        let first: u64 = counts[..100].iter().sum();
        assert!((first as f64 / DRAWS as f64 - 0.75).abs() < 0.002);
    }

    #[test]
    fn a_list_of_blocks_is_gone_through_again_and_again() {
        let mut law = Law::new(&Distribution::Sequence(vec![5, 1, 7]), BLOCKS, 4096, 7).unwrap();
        let mut rng = generator(1);
        let drawn: Vec<u64> = (0..7).map(|_| law.draw(&mut rng, 0)).collect();
        assert_eq!(drawn, [5, 1, 7, 5, 1, 7, 5]);
        assert_eq!(law.draw(&mut rng, 1), 5, "each direction for itself");
    }

    #[test]
    fn a_list_that_strides_is_moved_on_by_its_length_each_time_round() {
        let mut law = Law::new(&Distribution::Sequence(vec![5, 1, 7]), 10, 4096, 7).unwrap().striding(true);
        let mut rng = generator(1);
        let drawn: Vec<u64> = (0..8).map(|_| law.draw(&mut rng, 0)).collect();
        assert_eq!(drawn, [5, 1, 7, 8, 4, 0, 1, 7]);
    }

    #[test]
    fn ranks_around_a_center_name_every_block_once() {
        for center in [0, 3, 8, 9] {
            let mut blocks: Vec<u64> = (0..10).map(|rank| around(center, rank, 10)).collect();
            assert_eq!(blocks[0], center);
            blocks.sort_unstable();
            assert_eq!(blocks, (0..10).collect::<Vec<_>>(), "center {center}");
        }
    }
}
