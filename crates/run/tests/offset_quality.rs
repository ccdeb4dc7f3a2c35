//! Whether random orders look random: each law is tested by χ² on fixed keys, so a test gives the same answer always.
//! With two rounds in place of its six the permutation fails five of the six tests, with four it still fails one.

mod common;

use common::{pass, spec};
use iostrata_run::generate::Direction::Read;
use iostrata_run::generate::{OffsetSpec, Offsets, Streams};

/// Blocks per pass: a shuffled table, the smallest network and its odd neighbour, a square, a prime.
const BOUNDS: [u64; 5] = [4095, 4096, 4097, 16_384, 20_011];

/// Standard deviations that χ² may lie above its mean. None of the fixed keys comes near.
const LIMIT: f64 = 5.0;

/// How many standard deviations χ² of these counts lies above its mean, for cells of these probabilities.
fn excess(counts: &[u64], probability: impl Fn(usize) -> f64) -> f64 {
    let total: u64 = counts.iter().sum();
    let term = |(cell, &count): (usize, &u64)| {
        let expected = probability(cell) * total as f64;
        assert!(expected > 5.0, "cell {cell} is too small for the test");
        (count as f64 - expected).powi(2) / expected
    };
    let freedom = (counts.len() - 1) as f64;
    (counts.iter().enumerate().map(term).sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
}

fn even(counts: &[u64]) -> f64 {
    excess(counts, |_| 1.0 / counts.len() as f64)
}

/// The block numbers of one pass, or of as many steps without a map.
fn order(bound: u64, key: u64, no_map: bool) -> Vec<u64> {
    let words = if no_map { "--rw=randread --bs=4k --norandommap" } else { "--rw=randread --bs=4k" };
    let spec = OffsetSpec { key, ..spec(words, 0, bound * 4096) };
    pass(&mut Offsets::new(&spec), Read, bound as usize).iter().map(|block| block.offset / 4096).collect()
}

/// The orders of a few keys, with what they are for the message of a failure.
fn orders() -> impl Iterator<Item = (String, u64, Vec<u64>)> {
    let kinds = BOUNDS.into_iter().flat_map(|bound| [(bound, false), (bound, true)]);
    kinds.flat_map(|(bound, no_map)| {
        (0..6).map(move |key| {
            let kind = if no_map { "without a map" } else { "each once" };
            (format!("{bound} blocks {kind}, key {key}"), bound, order(bound, key, no_map))
        })
    })
}

/// Counts in a square of cells: both numbers below `bound`, cut into `side` parts.
fn joint(pairs: impl Iterator<Item = (u64, u64)>, bound: u64, side: u64) -> Vec<u64> {
    let mut counts = vec![0; (side * side) as usize];
    pairs.for_each(|(a, b)| counts[(a * side / bound * side + b * side / bound) as usize] += 1);
    counts
}

#[test]
fn the_first_block_is_anywhere_over_keys() {
    for (bound, no_map) in [(100u64, false), (4096, false), (1 << 28, false), (1 << 28, true)] {
        let mut counts = [0; 50];
        for worker in 0..3000 {
            let key = Streams::new(0x89, worker).file_offsets(0);
            let words = if no_map { "--rw=randread --bs=4k --norandommap" } else { "--rw=randread --bs=4k" };
            let spec = OffsetSpec { key, region_bytes: bound * 4096, ..spec_once(words) };
            let first = Offsets::new(&spec).next(Read).unwrap().offset / 4096;
            counts[(first * 50 / bound) as usize] += 1;
        }
        let z = even(&counts);
        assert!(z < LIMIT, "{bound} blocks, no_map {no_map}: {z:.1}");
    }
}

/// The spec of these words, parsed once for each of them.
fn spec_once(words: &'static str) -> OffsetSpec {
    use std::sync::OnceLock;
    static SPECS: [OnceLock<OffsetSpec>; 2] = [OnceLock::new(), OnceLock::new()];
    SPECS[usize::from(words.contains("norandommap"))].get_or_init(|| spec(words, 0, 1 << 40)).clone()
}

#[test]
fn a_block_says_nothing_of_the_next_ones() {
    for (name, bound, order) in orders() {
        let root = bound.isqrt() as usize;
        for lag in [1, 2, 3, 64, root, root + 1, 2 * root] {
            let z = even(&joint(order.iter().copied().zip(order[lag..].iter().copied()), bound, 16));
            assert!(z < LIMIT, "{name}, lag {lag}: {z:.1}");
        }
    }
}

#[test]
fn seek_distances_follow_the_triangular_law() {
    for (name, bound, order) in orders() {
        let cells = 20;
        let mut counts = vec![0; cells];
        for pair in order.windows(2) {
            // |a − b| / n has the distribution function 1 − (1 − x)²: that of the distance is even over cells.
            let apart = pair[0].abs_diff(pair[1]) as f64 / bound as f64;
            counts[((1.0 - (1.0 - apart).powi(2)) * cells as f64) as usize] += 1;
        }
        let z = even(&counts);
        assert!(z < LIMIT, "{name}: {z:.1}");
    }
}

#[test]
fn no_distance_is_preferred() {
    // Over many keys of the smallest networks, every distance between successive blocks (modulo the bound) is as
    // frequent as any other. This is what too few rounds fail first.
    for bound in [4096u64, 4097] {
        let mut counts = vec![0; bound as usize];
        for key in 0..60 {
            for pair in order(bound, key, false).windows(2) {
                counts[((pair[1] + bound - pair[0]) % bound) as usize] += 1;
            }
        }
        assert_eq!(counts[0], 0, "no block twice");
        let z = even(&counts[1..]);
        assert!(z.abs() < LIMIT, "{bound} blocks: {z:.1}");
    }
}

#[test]
fn ascending_runs_are_as_long_as_those_of_random_numbers() {
    // Knuth, The Art of Computer Programming 2, 3.3.2: if the number after each run is left out, the runs' lengths are
    // independent and r is met with probability 1/r! − 1/(r+1)!; here 1 to 5, and longer.
    let law = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 8.0, 1.0 / 30.0, 1.0 / 144.0, 1.0 / 720.0];
    for bound in BOUNDS {
        for no_map in [false, true] {
            let mut counts = [0; 6];
            for key in 0..6 {
                let order = order(bound, key, no_map);
                let mut rest = &order[..];
                while !rest.is_empty() {
                    let run = rest.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
                    if run < rest.len() {
                        counts[run.min(6) - 1] += 1;
                    }
                    rest = rest.get(run + 1..).unwrap_or_default();
                }
            }
            let z = excess(&counts, |cell| law[cell]);
            assert!(z < LIMIT, "{bound} blocks, no_map {no_map}: {z:.1}");
        }
    }
}

#[test]
fn orders_of_other_keys_and_passes_are_independent() {
    for bound in BOUNDS {
        let spec = |worker, file| {
            let key = Streams::new(0x89, worker).file_offsets(file);
            OffsetSpec { key, ..spec("--rw=randread --bs=4k", 0, bound * 4096) }
        };
        let numbers = |offsets: &mut Offsets| -> Vec<u64> {
            pass(offsets, Read, bound as usize).iter().map(|block| block.offset / 4096).collect()
        };
        let mut first_worker = Offsets::new(&spec(1, 0));
        let base = numbers(&mut first_worker);
        first_worker.restart(false);
        let others = [
            ("pass", numbers(&mut first_worker)),
            ("worker", numbers(&mut Offsets::new(&spec(2, 0)))),
            ("file", numbers(&mut Offsets::new(&spec(1, 1)))),
        ];
        for (name, other) in others {
            for shift in [0, 1] {
                let z = even(&joint(base.iter().copied().zip(other[shift..].iter().copied()), bound, 16));
                assert!(z < LIMIT, "{bound} blocks, another {name}, shifted by {shift}: {z:.1}");
            }
        }
    }
}

/// Kinds of two orders that must know nothing of each other.
const KINDS: [&str; 4] = ["seed", "worker", "file", "pass"];

/// The `turn`-th pair of orders of these blocks that differ by this kind.
fn two_orders(spec: &OffsetSpec, kind: &str, turn: u64) -> [Vec<u64>; 2] {
    let bound = (spec.region_bytes / 4096) as usize;
    let numbers = |offsets: &mut Offsets| -> Vec<u64> {
        pass(offsets, Read, bound).iter().map(|block| block.offset / 4096).collect()
    };
    let begin = |seed, worker, file| {
        let key = Streams::new(seed, worker).file_offsets(file);
        Offsets::new(&OffsetSpec { key, ..spec.clone() })
    };
    let mut first = begin(turn, 0, 0);
    let base = numbers(&mut first);
    let other = match kind {
        "seed" => numbers(&mut begin(turn + (1 << 32), 0, 0)),
        "worker" => numbers(&mut begin(turn, 1, 0)),
        "file" => numbers(&mut begin(turn, 0, 1)),
        _ => {
            first.restart(false);
            numbers(&mut first)
        }
    };
    [base, other]
}

/// How often χ² with this even number of degrees of freedom is as large or larger.
fn chance(chi_square: f64, freedom: usize) -> f64 {
    let half = chi_square / 2.0;
    let terms = (0..freedom / 2).scan(1.0, |term, k| {
        let this = *term;
        *term *= half / (k + 1) as f64;
        Some(this)
    });
    (-half).exp() * terms.sum::<f64>()
}

#[test]
fn two_orders_agree_in_as_many_places_as_chance_has_it() {
    // The places where two random permutations agree are as many as a Poisson variable of mean 1, already from seven
    // numbers on. Significance 0.1% for all cells together, by Bonferroni.
    const PAIRS: u64 = 400;
    let bounds: [u64; 12] = [31, 33, 63, 65, 100, 101, 127, 129, 1021, 4095, 4096, 4097];
    let limit = 0.001 / (bounds.len() * KINDS.len()) as f64;
    let e = (-1.0f64).exp();
    let law = [e, e, e / 2.0, e / 6.0, 1.0 - e * (8.0 / 3.0)];
    for bound in bounds {
        let spec = spec("--rw=randread --bs=4k", 0, bound * 4096);
        for kind in KINDS {
            let mut counts = [0; 5];
            for turn in 0..PAIRS {
                let [base, other] = two_orders(&spec, kind, turn);
                let equal = base.iter().zip(&other).filter(|(a, b)| a == b).count();
                counts[equal.min(4)] += 1;
            }
            // `excess` is (χ² − 4) / √8.
            let p = chance(excess(&counts, |cell| law[cell]) * 8f64.sqrt() + 4.0, 4);
            assert!(p > limit, "{bound} blocks, another {kind}: {counts:?}, p = {p:.1e}");
        }
    }
}

/// The place of an order among all orders of so few numbers.
fn rank(order: &[u64]) -> usize {
    let smaller_later = |at: usize| order[at + 1..].iter().filter(|&&later| later < order[at]).count();
    (0..order.len()).fold(0, |rank, at| rank * (order.len() - at) + smaller_later(at))
}

#[test]
fn of_few_blocks_every_order_and_every_pair_of_orders_comes_as_often() {
    for (bound, orders, pairs) in [(1u64, 1usize, 20u64), (2, 2, 400), (3, 6, 2000), (5, 120, 6000), (7, 5040, 40_000)]
    {
        let spec = spec("--rw=randread --bs=4k", 0, bound * 4096);
        for kind in KINDS {
            let mut single = vec![0; orders];
            let mut joint = vec![0; if orders <= 6 { orders * orders } else { 0 }];
            for turn in 0..pairs {
                let ranks = two_orders(&spec, kind, turn).map(|order| rank(&order));
                single[ranks[1]] += 1;
                if let Some(count) = joint.get_mut(ranks[0] * orders + ranks[1]) {
                    *count += 1;
                }
            }
            for counts in [single, joint] {
                if counts.len() > 1 {
                    let z = even(&counts);
                    assert!(z < LIMIT, "{bound} blocks, another {kind}, {} cells: {z:.1}", counts.len());
                }
            }
        }
    }
}
