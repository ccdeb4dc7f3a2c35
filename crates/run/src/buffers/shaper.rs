//! Data that compresses so much, and repeats so often, as a job asks.

use iostrata_os::fill::{FillState, fill_random};
use iostrata_spec::job::{Buffers, DedupeMode};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{BufferFacts, fill_pattern};
use crate::generate::random::{below, derive, generator};

/// Makes blocks, each from a seed of its own: equal seeds are equal blocks.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    /// Of each chunk so much is random, percent.
    random_percent: u64,
    chunk_bytes: usize,
    /// What stands in the rest of a chunk; empty for zeroes.
    rest: Vec<u8>,
    /// The unit in which data repeats, bytes.
    block_bytes: usize,
    repeat: Option<Repeat>,
    /// Seed of new blocks; each takes the next name under it.
    seed: u64,
    blocks: u64,
}

/// Which blocks repeat earlier ones.
#[derive(Clone, Debug)]
struct Repeat {
    percent: u64,
    /// Tosses, and picks from the set.
    rng: Xoshiro256PlusPlus,
    source: Source,
}

/// Where a repeated block is taken from.
#[derive(Clone, Debug)]
enum Source {
    /// The block before.
    Last { seed: u64 },
    /// A set of blocks, named 0 to `blocks` under `seed`; it takes no memory.
    Set { seed: u64, blocks: u64 },
}

impl Shaper {
    pub(super) fn new(buffers: &Buffers, facts: &BufferFacts) -> Shaper {
        let block_bytes = facts.block_bytes.max(1);
        let repeat = buffers.dedupe_percent.filter(|percent| *percent > 0).map(|percent| {
            let set_seed = if buffers.dedupe_global { derive(facts.common_seed, 2) } else { derive(facts.seed, 2) };
            let set_bytes = u128::from(facts.job_bytes) * u128::from(buffers.dedupe_set_percent) / 100;
            let source = match buffers.dedupe_mode {
                DedupeMode::Repeat => Source::Last { seed: derive(facts.seed, 3) },
                DedupeMode::WorkingSet => {
                    let blocks = (set_bytes / u128::from(block_bytes)).max(1);
                    Source::Set { seed: set_seed, blocks: u64::try_from(blocks).unwrap_or(u64::MAX) }
                }
            };
            Repeat { percent: percent.into(), rng: generator(derive(facts.seed, 1)), source }
        });
        Shaper {
            random_percent: 100 - u64::from(buffers.compress_percent.min(100)),
            chunk_bytes: usize::try_from(buffers.compress_chunk_bytes).unwrap_or(usize::MAX).max(1),
            rest: buffers.pattern.as_ref().map_or_else(Vec::new, |pattern| pattern.bytes.clone()),
            block_bytes: usize::try_from(block_bytes).unwrap_or(usize::MAX),
            repeat,
            seed: derive(facts.seed, 4),
            blocks: 0,
        }
    }

    /// Makes the bytes of one write.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for block in bytes.chunks_mut(self.block_bytes) {
            let seed = self.next_seed();
            self.block(block, seed);
        }
    }

    fn next_seed(&mut self) -> u64 {
        let new = derive(self.seed, self.blocks);
        self.blocks += 1;
        let Some(repeat) = &mut self.repeat else { return new };
        let again = below(&mut repeat.rng, 100) < repeat.percent;
        match &mut repeat.source {
            Source::Last { seed } => {
                if !again {
                    *seed = new;
                }
                *seed
            }
            Source::Set { seed, blocks } if again => derive(*seed, below(&mut repeat.rng, *blocks)),
            Source::Set { .. } => new,
        }
    }

    fn block(&self, block: &mut [u8], seed: u64) {
        let mut state = FillState::new(seed);
        if self.random_percent == 100 {
            return fill_random(block, &mut state);
        }
        for chunk in block.chunks_mut(self.chunk_bytes) {
            let random_bytes = (chunk.len() as u64 * self.random_percent / 100) as usize;
            let (random, rest) = chunk.split_at_mut(random_bytes);
            fill_random(random, &mut state);
            fill_pattern(rest, &self.rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use iostrata_spec::job::Pattern;

    use super::*;

    const BLOCK: usize = 4096;
    const WRITES: usize = 1000;

    fn facts(seed: u64) -> BufferFacts {
        BufferFacts { seed, common_seed: 7, block_bytes: BLOCK as u64, job_bytes: (WRITES * BLOCK) as u64 }
    }

    /// What a job writes in all.
    fn data(asked: &Buffers, seed: u64, write_bytes: usize) -> Vec<u8> {
        let mut shaper = Shaper::new(asked, &facts(seed));
        let mut bytes = vec![0; WRITES * BLOCK];
        bytes.chunks_mut(write_bytes).for_each(|write| shaper.fill(write));
        bytes
    }

    fn unique_percent(bytes: &[u8]) -> usize {
        bytes.chunks(BLOCK).collect::<HashSet<_>>().len() * 100 / WRITES
    }

    fn deflated_percent(bytes: &[u8]) -> usize {
        miniz_oxide::deflate::compress_to_vec(bytes, 1).len() * 100 / bytes.len()
    }

    #[test]
    fn so_much_of_the_data_is_left_by_a_compressor() {
        for (percent, chunk, left) in [(50, 512, 50), (70, 4096, 30), (25, 2048, 75), (66, 4096, 34), (100, 512, 0)] {
            let asked = Buffers { compress_percent: percent, compress_chunk_bytes: chunk, ..Buffers::default() };
            let bytes = data(&asked, 1, BLOCK);
            // fio's data for the same options is left with one percent more than asked: it cannot be less.
            let got = deflated_percent(&bytes[..1 << 18]);
            assert!(got.abs_diff(left) <= 2, "{percent}% in chunks of {chunk}: {got}% are left");
            assert!(percent == 100 || unique_percent(&bytes) == 100, "no write is like another");
        }
    }

    #[test]
    fn a_pattern_stands_where_zeroes_would() {
        let pattern = Some(Pattern { bytes: b"xyz".to_vec(), offsets: Vec::new() });
        let asked = Buffers { compress_percent: 50, pattern, ..Buffers::default() };
        let bytes = data(&asked, 1, BLOCK);
        assert!(bytes.chunks(512).all(|chunk| chunk[256..].starts_with(b"xyzxyz") && chunk[511] == b'x'));
    }

    #[test]
    fn so_many_blocks_repeat_the_one_before() {
        for percent in [0, 40, 100] {
            let asked = Buffers { dedupe_percent: Some(percent), ..Buffers::default() };
            // 1000 tosses: three standard deviations are 4.7 percent; the seed is fixed.
            let got = unique_percent(&data(&asked, 1, BLOCK));
            assert!(got.abs_diff(100 - percent as usize) <= 5, "{percent}% repeated, {got}% unique");
        }
    }

    #[test]
    fn a_large_write_repeats_in_units_of_the_smallest() {
        let asked = Buffers { dedupe_percent: Some(40), ..Buffers::default() };
        assert_eq!(data(&asked, 1, BLOCK), data(&asked, 1, 16 * BLOCK));
    }

    #[test]
    fn repeated_blocks_come_from_a_set_of_the_size_asked() {
        let working_set = Buffers {
            dedupe_percent: Some(60),
            dedupe_mode: DedupeMode::WorkingSet,
            dedupe_set_percent: 5,
            ..Buffers::default()
        };
        // 40% are new, and each of the 50 blocks of the set is met.
        let bytes = data(&working_set, 1, BLOCK);
        assert!(unique_percent(&bytes).abs_diff(45) <= 5, "{}%", unique_percent(&bytes));
        let empty = Buffers { dedupe_set_percent: 0, ..working_set };
        assert!(unique_percent(&data(&empty, 1, BLOCK)).abs_diff(40) <= 5, "one block at least");
    }

    #[test]
    fn jobs_meet_in_a_global_set_only() {
        let shared = |global: bool| {
            let asked = Buffers {
                dedupe_percent: Some(50),
                dedupe_mode: DedupeMode::WorkingSet,
                dedupe_global: global,
                ..Buffers::default()
            };
            let (first, second) = (data(&asked, 1, BLOCK), data(&asked, 2, BLOCK));
            let first: HashSet<&[u8]> = first.chunks(BLOCK).collect();
            let second: HashSet<&[u8]> = second.chunks(BLOCK).collect();
            first.intersection(&second).count()
        };
        assert_eq!(shared(false), 0);
        assert!(shared(true) > 45, "of a set of 50");
    }
}
