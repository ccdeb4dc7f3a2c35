//! The random map: which units of a region were taken, for jobs whose directions have different block sizes.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::Direction;
use super::offsets::{Block, OffsetSpec};
use super::permutation::pass_key;
use super::random::{below, generator};

/// A bit per unit in words of 64, and above it levels in which a bit says that a whole word below is taken, up to one
/// word: the next free unit is found in a few steps however full the map is.
#[derive(Debug)]
pub(super) struct Bits {
    levels: Vec<Vec<u64>>,
}

impl Bits {
    pub(super) fn new(units: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = units;
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words as usize]);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let mut map = Bits { levels };
        map.clear(units);
        map
    }

    /// Bytes that a map of this many units takes.
    pub(super) fn bytes(units: u64) -> u64 {
        let mut total = 0;
        let mut words = units.div_ceil(64);
        while words > 1 {
            total += 8 * words;
            words = words.div_ceil(64);
        }
        total + 8 * words
    }

    /// Frees every unit; bits past the last are taken for good, on every level.
    pub(super) fn clear(&mut self, units: u64) {
        let mut bits = units;
        for level in &mut self.levels {
            level.fill(0);
            if !bits.is_multiple_of(64)
                && let Some(last) = level.last_mut()
            {
                *last = u64::MAX << (bits % 64);
            }
            bits = level.len() as u64;
        }
    }

    pub(super) fn is_taken(&self, unit: u64) -> bool {
        self.levels[0][(unit / 64) as usize] >> (unit % 64) & 1 == 1
    }

    pub(super) fn take(&mut self, unit: u64) {
        let mut bit = unit;
        for level in &mut self.levels {
            let word = &mut level[(bit / 64) as usize];
            *word |= 1 << (bit % 64);
            if *word != u64::MAX {
                break;
            }
            bit /= 64;
        }
    }

    /// The first free unit at or after `unit`: up until a level has a free bit further right, then down along it.
    pub(super) fn free_from(&self, unit: u64) -> Option<u64> {
        let mut bit = unit;
        for height in 0..self.levels.len() {
            let word = *self.levels[height].get((bit / 64) as usize)?;
            let free = !word & (u64::MAX << (bit % 64));
            if free != 0 {
                let mut found = bit / 64 * 64 + u64::from(free.trailing_zeros());
                for level in self.levels[..height].iter().rev() {
                    found = found * 64 + u64::from((!level[found as usize]).trailing_zeros());
                }
                return Some(found);
            }
            bit = bit / 64 + 1;
        }
        None
    }
}

/// Random blocks of different sizes, each unit of the region once. A drawn block whose first unit is taken is replaced
/// by the next free unit, upward and then from the start; an I/O ends at the first taken unit, and at the end of its
/// own block, so a partly taken block is shortened.
#[derive(Debug)]
pub(super) struct Coverage {
    region_start: u64,
    unit_bytes: u64,
    units: u64,
    free: u64,
    block_units: [u64; 3],
    bits: Bits,
    rng: Xoshiro256PlusPlus,
    key: u64,
    pass: u64,
}

impl Coverage {
    pub(super) fn new(spec: &OffsetSpec) -> Self {
        let unit_bytes = unit_bytes(spec);
        let units = units(spec);
        let mut coverage = Coverage {
            region_start: spec.region_start,
            unit_bytes,
            units,
            free: 0,
            block_units: spec.block_bytes.map(|bytes| bytes / unit_bytes),
            bits: Bits::new(units),
            rng: generator(0),
            key: spec.key,
            pass: 0,
        };
        coverage.restart(true);
        coverage
    }

    pub(super) fn planned_bytes(spec: &OffsetSpec) -> u64 {
        Bits::bytes(units(spec))
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        Bits::bytes(self.units)
    }

    pub(super) fn restart(&mut self, repeat: bool) {
        self.pass += u64::from(!repeat);
        self.rng = generator(pass_key(self.key, self.pass));
        self.bits.clear(self.units);
        self.free = self.units;
    }

    pub(super) fn next(&mut self, direction: Direction) -> Option<Block> {
        let block_units = self.block_units[direction.index()];
        let blocks = self.units.checked_div(block_units)?;
        if self.free == 0 || blocks == 0 {
            return None;
        }
        let drawn = below(&mut self.rng, blocks) * block_units;
        let first = if self.bits.is_taken(drawn) {
            self.bits.free_from(drawn).or_else(|| self.bits.free_from(0))?
        } else {
            drawn
        };
        let block_end = (first - first % block_units + block_units).min(self.units);
        let mut end = first;
        while end < block_end && !self.bits.is_taken(end) {
            self.bits.take(end);
            end += 1;
        }
        self.free -= end - first;
        Some(Block {
            offset: self.region_start + first * self.unit_bytes,
            len: ((end - first) * self.unit_bytes) as u32,
        })
    }
}

/// The largest size of which every block size in use is a multiple.
fn unit_bytes(spec: &OffsetSpec) -> u64 {
    spec.block_bytes.into_iter().fold(0, greatest_common_divisor).max(1)
}

fn units(spec: &OffsetSpec) -> u64 {
    spec.region_bytes / unit_bytes(spec)
}

pub(super) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
