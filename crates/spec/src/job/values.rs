//! Values of a job that are lists or laws.

use super::{PerDirection, Placement, Precondition, ZoneMode, Zoned, Zones};

/// One block size of `bssplit=` and its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeShare {
    /// Block size, bytes.
    pub bytes: u64,
    /// Percent of the I/Os; all of a direction add to 100.
    pub percent: u32,
}

/// One zone of `random_distribution=zoned:` or `zoned_abs:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessZone {
    /// Percent of the accesses; all of a direction add to 100.
    pub percent: u32,
    /// How long the zone is: percent of the file (`zoned`) or bytes (`zoned_abs`).
    pub size: u64,
}

/// `random_distribution=`: where random I/O goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every block alike.
    #[default]
    Random,
    /// Zipf's law.
    Zipf {
        /// Its parameter; not 1.
        theta: f64,
        /// Where the most frequent block is, as a share of the file from 0 to 1; none: anywhere.
        center: Option<f64>,
    },
    /// Pareto's law.
    Pareto {
        /// Its parameter, between 0 and 1.
        power: f64,
        /// As for Zipf.
        center: Option<f64>,
    },
    /// The normal law.
    Normal {
        /// Standard deviation in percent of the file, below 100.
        deviation: f64,
        /// As for Zipf.
        center: Option<f64>,
    },
    /// Zones in percent of the file, one behind the other; a direction without zones is random.
    Zoned(PerDirection<Option<Vec<AccessZone>>>),
    /// Zones in bytes.
    ZonedAbs(PerDirection<Option<Vec<AccessZone>>>),
    /// These blocks in this order, again and again.
    Sequence(Vec<u64>),
}

/// Bytes that repeat, of `buffer_pattern=` and `verify_pattern=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// One period; zero where an offset stands. Never empty in a job, at most [`Pattern::MOST_BYTES`].
    pub bytes: Vec<u8>,
    /// Where in `bytes` the offset of the block stands: [`Pattern::OFFSET_BYTES`] bytes each, little-endian. Ascending.
    pub offsets: Vec<usize>,
}

impl Pattern {
    /// Bytes of a pattern at most, as in fio.
    pub const MOST_BYTES: usize = 512;
    /// Bytes that an offset takes.
    pub const OFFSET_BYTES: usize = 8;
}

/// The block sizes of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// All the same, bytes.
    One(u64),
    /// `bsrange`: each I/O draws one.
    Range {
        /// The smallest, bytes.
        min: u64,
        /// The largest, bytes.
        max: u64,
        /// `bs_unaligned`: any number of bytes, not only multiples of the smallest.
        unaligned: bool,
    },
    /// `bssplit`: each I/O draws one by share. Not empty.
    Split(Vec<SizeShare>),
}

impl BlockSizes {
    /// The smallest, bytes.
    pub fn min(&self) -> u64 {
        match self {
            BlockSizes::One(bytes) => *bytes,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
        }
    }

    /// The largest, bytes.
    pub fn max(&self) -> u64 {
        match self {
            BlockSizes::One(bytes) => *bytes,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
        }
    }
}

/// What is not plain about a job's pattern: sizes that are drawn, and where I/O goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoShape {
    /// `bsrange` for reads, writes, trims: smallest and largest.
    pub block_range: [Option<(u64, u64)>; 3],
    /// `bs_unaligned`.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: sizes of reads are for I/O in sequence, those of writes for random I/O.
    pub sizes_by_order: bool,
    /// `bssplit` for reads, writes, trims.
    pub block_split: [Option<Vec<SizeShare>>; 3],
    /// `ba`: what random offsets are multiples of; the smallest block unless given.
    pub align: [Option<u64>; 3],
    /// `percentage_random` for reads, writes, trims: of a random pattern so many I/Os are; the others follow in
    /// sequence. All of them unless given.
    pub random_percent: [Option<u64>; 3],
    /// `random_distribution`.
    pub distribution: Distribution,
    /// `random_sequence_stride`: each time round, the list of blocks is moved on by its length.
    pub sequence_stride: bool,
    /// `rw_sequencer=identical`: I/Os that follow a random offset are at the same offset.
    pub identical: bool,
    /// `zonemode`.
    pub zone_mode: ZoneMode,
    /// `zonesize`, `zonerange`, `zoneskip`.
    pub zones: Zones,
    /// What holds for zoned devices only.
    pub zoned: Zoned,
    /// `dataplacement` and its kin.
    pub placement: Placement,
    /// `sprandom` and its kin.
    pub precondition: Precondition,
}
