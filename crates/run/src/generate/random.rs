//! Seeds and draws.
//!
//! Every random stream of a run has a 64-bit seed of its own, derived from the run's seed by a chain of
//! `derive` over the numbers that name the stream: worker, purpose, file, pass. Streams whose names differ in any
//! of these are independent; the same names give the same stream in every run and on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's 13th set of constants): a bijection in
/// which each bit of the input changes each bit of the output with probability close to one half.
#[inline]
pub(crate) const fn mix64(value: u64) -> u64 {
    let mut z = value;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of the stream that `name` picks under `seed`: the output of SplitMix64 number `name` from a state to which
/// `seed` was mixed, so that neither consecutive names nor consecutive seeds meet.
#[inline]
pub(crate) const fn derive(seed: u64, name: u64) -> u64 {
    mix64(mix64(seed.wrapping_add(GOLDEN)).wrapping_add(name.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// A generator for the stream of this seed.
pub(crate) fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// An unbiased number below `bound`: the high word of `bound` times a random word, drawn again in the rare case that
/// would favour some results (Lemire 2019). 0 if `bound` is 0.
#[inline]
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let floor = bound.wrapping_neg() % bound;
        while (product as u64) < floor {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

/// The seeds of one worker's independent random streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Offsets; see [`Streams::file_offsets`] for one file's.
    pub offsets: u64,
    /// The choice between reads and writes.
    pub mix: u64,
    /// The contents of buffers.
    pub buffers: u64,
    /// Times of thinking, and delays at the start.
    pub think: u64,
    /// The choice of the next file, and sizes drawn for files.
    pub files: u64,
}

impl Streams {
    /// The streams of worker number `worker` (unique in the run: a clone of a job is a worker) under the run's seed.
    pub const fn new(seed: u64, worker: u64) -> Self {
        let own = derive(seed, worker);
        Streams {
            offsets: derive(own, 1),
            mix: derive(own, 2),
            buffers: derive(own, 3),
            think: derive(own, 4),
            files: derive(own, 5),
        }
    }

    /// The key of the offsets in file number `file` of this worker, for [`OffsetSpec::key`](super::OffsetSpec::key).
    pub const fn file_offsets(&self, file: u64) -> u64 {
        derive(self.offsets, file)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_streams_of_many_workers_seeds_and_files_share_a_seed() {
        let mut seen = HashSet::new();
        let mut count = 0;
        for seed in [0, 1, 2, 0x89, u64::MAX] {
            for worker in 0..200 {
                let s = Streams::new(seed, worker);
                let files = (0..8).map(|file| s.file_offsets(file));
                for value in [s.offsets, s.mix, s.buffers, s.think, s.files].into_iter().chain(files) {
                    seen.insert(value);
                    count += 1;
                }
            }
        }
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn neighbouring_names_flip_half_of_the_bits() {
        let flipped: u32 = (0..1000).map(|n| (derive(7, n) ^ derive(7, n + 1)).count_ones()).sum();
        let mean = f64::from(flipped) / 1000.0;
        // 64 fair bits: mean 32, standard error 4/√1000.
        assert!((mean - 32.0).abs() < 5.0 * 4.0 / 1000f64.sqrt(), "{mean}");
    }

    #[test]
    fn draws_below_a_bound_are_even_and_stay_below_it() {
        let mut rng = generator(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 40.0, "χ² with 6 degrees of freedom is {chi}");
        // A bound just above 2^63 rejects about half of the draws: the loop ends and the result is below it.
        let bound = (1 << 63) + 1;
        assert!((0..1000).all(|_| below(&mut rng, bound) < bound));
        assert_eq!(below(&mut rng, 1), 0);
    }
}
