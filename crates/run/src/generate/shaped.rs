//! The general case: block sizes that are drawn, laws of where random I/O goes, patterns that are random only in part,
//! strided zones, and any mix of these. The plain patterns have faster generators of their own.
//!
//! Random blocks cover the region, each byte once, where nothing asks for another law: then a map of units remembers
//! what was taken, and a block that meets a taken unit ends before it, as in fio. With `norandommap`, a law,
//! `percentage_random` or an alignment of its own, blocks come as they are drawn.

use iostrata_spec::{BlockSizes, Distribution, Job, Precondition, Size, ZoneMode, Zones};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Direction;
use super::coverage::{Bits, greatest_common_divisor};
use super::law::Law;
use super::offsets::{Block, OffsetSpec};
use super::permutation::pass_key;
use super::random::{below, derive, generator};

/// How often a size that does not fit is drawn again before the largest that fits is taken.
const DRAWS: usize = 64;
/// Units of a map at most; above it blocks come as they are drawn.
const MOST_UNITS: u64 = 1 << 36;

/// What a job asks for besides plain offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Of reads, writes, trims.
    pub sizes: [BlockSizes; 3],
    /// Of a random pattern so many I/Os in a hundred are.
    pub random_percent: [u32; 3],
    /// Where random I/O goes.
    pub distribution: Distribution,
    /// Sizes of those I/Os of a random pattern that follow one another, where these are others.
    pub sequence_sizes: Option<BlockSizes>,
    /// A list of blocks is moved on by its length each time round.
    pub stride: bool,
    /// What follows a random offset is at the same one.
    pub identical: bool,
    /// The order that brings an SSD into steady state, instead of all else.
    pub precondition: Option<Precondition>,
    /// Strided zones.
    pub strided: Option<Zones>,
}

impl Shape {
    /// `None` for a job whose pattern is plain.
    pub fn of(job: &Job) -> Option<Box<Shape>> {
        let random_percent =
            job.shape.random_percent.map(|percent| percent.map_or(100, |percent| percent.min(100) as u32));
        let partly = random_percent != [100; 3] || job.workload.modifier.is_some_and(|length| length > 1);
        let sizes = job.block_sizes();
        let shape = Shape {
            sequence_sizes: job.sequence_sizes().filter(|sequence| partly && *sequence != sizes[0]),
            stride: job.shape.sequence_stride,
            sizes,
            random_percent,
            distribution: job.shape.distribution.clone(),
            identical: job.shape.identical,
            precondition: Some(job.shape.precondition).filter(|rules| rules.on),
            strided: (job.shape.zone_mode == ZoneMode::Strided).then_some(job.shape.zones),
        };
        let one = |(sizes, used): (&BlockSizes, bool)| !used || matches!(sizes, BlockSizes::One(_));
        let plain_sizes = shape.sizes.iter().zip(job.directions()).all(one);
        let random = job.workload.random;
        let plain_places = !random
            || (shape.random_percent == [100; 3] && shape.distribution == Distribution::Random && !shape.identical);
        (!(plain_sizes
            && plain_places
            && shape.precondition.is_none()
            && shape.strided.is_none()
            && shape.sequence_sizes.is_none()))
        .then(|| Box::new(shape))
    }

    /// Bytes of which a map remembers what was taken: the region, or one turn of a strided zone; none where blocks come
    /// as they are drawn.
    fn mapped_bytes(&self, spec: &OffsetSpec) -> Option<u64> {
        let aligned = (0..3).all(|direction| {
            matches!(spec.align_bytes[direction], 0) || spec.align_bytes[direction] == self.sizes[direction].min()
        });
        let by_law = self.random_percent != [100; 3] || self.distribution != Distribution::Random;
        let mapped_bytes = self.strided.map_or(spec.region_bytes, |zones| zone_bytes(&zones).min(spec.file_bytes));
        let once = spec.random && !spec.no_map && !spec.paired && aligned && !by_law;
        (once && mapped_bytes / self.unit_bytes(spec) <= MOST_UNITS).then_some(mapped_bytes)
    }

    /// The largest number of bytes of which every size in use is a multiple.
    fn unit_bytes(&self, spec: &OffsetSpec) -> u64 {
        let used = self.sizes.iter().zip(spec.block_bytes).filter(|(_, bytes)| *bytes > 0);
        let unit = used.fold(0, |unit, (sizes, _)| match sizes {
            BlockSizes::One(bytes) => greatest_common_divisor(unit, *bytes),
            BlockSizes::Range { min, max, unaligned: false } => {
                greatest_common_divisor(greatest_common_divisor(unit, *min), *max)
            }
            // Lengths are rounded up to whole units of the smallest.
            BlockSizes::Range { min, .. } => greatest_common_divisor(unit, *min),
            BlockSizes::Split(shares) => {
                shares.iter().fold(unit, |unit, share| greatest_common_divisor(unit, share.bytes))
            }
        });
        unit.max(1)
    }

    /// Bytes of memory that the map will take.
    pub(super) fn memory_bytes(&self, spec: &OffsetSpec) -> u64 {
        self.mapped_bytes(spec).map_or(0, |bytes| Bits::bytes(bytes / self.unit_bytes(spec)))
    }
}

/// Bytes of a zone within which offsets lie.
fn zone_bytes(zones: &Zones) -> u64 {
    if zones.range_bytes == 0 { zones.size_bytes } else { zones.range_bytes }
}

/// The units of the region, or of a zone, that were not taken yet.
#[derive(Debug)]
struct Map {
    unit_bytes: u64,
    units: u64,
    free: u64,
    bits: Bits,
}

impl Map {
    fn new(bytes: u64, unit_bytes: u64) -> Map {
        let units = bytes / unit_bytes;
        Map { unit_bytes, units, free: units, bits: Bits::new(units) }
    }

    fn clear(&mut self) {
        self.bits.clear(self.units);
        self.free = self.units;
    }

    /// Takes up to `len` bytes at a drawn place in the first `space` bytes, a multiple of `step` bytes; from the next
    /// free unit on if that one is taken. Where they begin, and how many they are; `None` if no unit is free.
    fn take(&mut self, rng: &mut Xoshiro256PlusPlus, space: u64, step: u64, len: u64) -> Option<(u64, u64)> {
        let units = self.units.min(space / self.unit_bytes);
        let (step, wanted) = ((step / self.unit_bytes).max(1), len.div_ceil(self.unit_bytes));
        let steps = units / step;
        if self.free == 0 || steps == 0 {
            return None;
        }
        let drawn = below(rng, steps) * step;
        let free_from = |from: u64| self.bits.free_from(from).filter(|&unit| unit < units);
        let first = if self.bits.is_taken(drawn) { free_from(drawn).or_else(|| free_from(0))? } else { drawn };
        let mut end = first;
        while end < units && end - first < wanted && !self.bits.is_taken(end) {
            self.bits.take(end);
            end += 1;
        }
        self.free -= end - first;
        Some((first * self.unit_bytes, len.min((end - first) * self.unit_bytes)))
    }
}

/// The generator.
#[derive(Debug)]
pub(super) struct Shaped {
    spec: OffsetSpec,
    shape: Box<Shape>,
    map: Option<Map>,
    law: Option<Law>,
    sizes: [Xoshiro256PlusPlus; 3],
    places: [Xoshiro256PlusPlus; 3],
    choices: [Xoshiro256PlusPlus; 3],
    /// Where a sequence goes on.
    position: [u64; 3],
    /// I/Os of the current run left, and its block.
    run_left: [u64; 3],
    last: [Block; 3],
    zone_start: u64,
    zone_used: u64,
    pass: u64,
}

impl Shaped {
    pub(super) fn new(spec: &OffsetSpec, shape: &Shape) -> Self {
        let map = shape.mapped_bytes(spec).map(|bytes| Map::new(bytes, shape.unit_bytes(spec)));
        let mut shaped = Shaped {
            spec: spec.clone(),
            shape: Box::new(shape.clone()),
            map,
            law: None,
            sizes: [0, 1, 2].map(generator),
            places: [0, 1, 2].map(generator),
            choices: [0, 1, 2].map(generator),
            position: [0; 3],
            run_left: [0; 3],
            last: [Block::default(); 3],
            zone_start: 0,
            zone_used: 0,
            pass: 0,
        };
        let smallest = (0..3).filter(|&d| spec.block_bytes[d] > 0).map(|d| shaped.align(d)).min().unwrap_or(1).max(1);
        if spec.random {
            // The law does not change with the pass: what is hot stays hot.
            shaped.law = Law::new(&shape.distribution, spec.region_bytes / smallest, smallest, spec.key)
                .map(|law| law.striding(shape.stride));
        }
        shaped.seed();
        shaped.go_to_start();
        shaped
    }

    /// Random offsets are multiples of this.
    fn align(&self, direction: usize) -> u64 {
        match self.spec.align_bytes[direction] {
            0 => self.shape.sizes[direction].min(),
            bytes => bytes,
        }
        .max(1)
    }

    fn largest(&self, direction: usize) -> u64 {
        self.shape.sizes[direction].max().max(self.shape.sequence_sizes.as_ref().map_or(0, BlockSizes::max))
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.map.as_ref().map_or(0, |map| Bits::bytes(map.units))
    }

    /// Begins again: what is drawn once in a pass in the same order (`repeat`) or another; draws that nothing
    /// remembers go on.
    pub(super) fn restart(&mut self, repeat: bool) {
        self.go_to_start();
        if self.spec.random && (self.map.is_none() || self.shape.strided.is_some()) {
            return;
        }
        self.pass += u64::from(!repeat);
        self.seed();
    }

    fn seed(&mut self) {
        let key = pass_key(self.spec.key, self.pass);
        let paired = self.spec.paired;
        let stream =
            |what: u64| [0, 1, 2].map(|direction| generator(derive(key, what + if paired { 0 } else { direction })));
        (self.sizes, self.places, self.choices) = (stream(0), stream(3), stream(6));
    }

    fn go_to_start(&mut self) {
        if let Some(map) = &mut self.map {
            map.clear();
        }
        self.position = [self.spec.region_start; 3];
        self.run_left = [0; 3];
        (self.zone_start, self.zone_used) = (self.spec.region_start, 0);
    }

    /// A sequence begins again in this direction; random blocks in a new order.
    pub(super) fn wrap(&mut self, direction: Direction) {
        if self.spec.random || self.shape.strided.is_some() {
            self.restart(false);
        } else {
            self.position[direction.index()] = self.spec.region_start;
        }
    }

    pub(super) fn go_on_at(&mut self, direction: Direction, offset: u64) {
        self.position[direction.index()] = offset;
    }

    /// The next block; `room` bytes may still be moved.
    pub(super) fn next(&mut self, direction: Direction, room: u64) -> Option<Block> {
        let d = direction.index();
        if self.spec.block_bytes[d] == 0 || self.largest(d) > u64::from(u32::MAX) {
            return None;
        }
        let block = if self.shape.strided.is_some() {
            self.next_in_zone(d, room)
        } else if !self.spec.random {
            self.next_in_sequence(d, room)
        } else {
            self.next_random(d, room)
        }?;
        self.last[d] = block;
        Some(block)
    }

    fn next_random(&mut self, d: usize, room: u64) -> Option<Block> {
        if self.run_left[d] > 0 {
            self.run_left[d] -= 1;
            if self.shape.identical {
                return Some(self.last[d]);
            }
            if let Some(block) = self.next_in_sequence(d, room) {
                return Some(block);
            }
        } else {
            self.run_left[d] = self.spec.modifier.map_or(0, |length| (length - 1).max(0) as u64);
        }
        let percent = u64::from(self.shape.random_percent[d]);
        if percent < 100
            && below(&mut self.choices[d], 100) >= percent
            && let Some(block) = self.next_in_sequence(d, room)
        {
            return Some(block);
        }
        let block = if self.map.is_some() { self.next_in_map(d, room) } else { self.next_anywhere(d, room) }?;
        self.position[d] = block.offset + u64::from(block.len);
        Some(block)
    }

    /// The block after the last one of this direction; `None` at the end of the region.
    fn next_in_sequence(&mut self, d: usize, room: u64) -> Option<Block> {
        let offset = self.position[d];
        let rest = self.spec.region_end().saturating_sub(offset);
        let len = self.length_of(d, rest, room, self.spec.random)?;
        let hole = if self.spec.random { 0 } else { self.spec.modifier.unwrap_or(0) };
        let next = (offset + len).checked_add_signed(hole).filter(|next| *next >= self.spec.region_start);
        // A backward sequence that falls off the start goes on at the end.
        let last = self.spec.region_end().saturating_sub(self.shape.sizes[d].max());
        self.position[d] = next.unwrap_or(last);
        Some(Block { offset, len: len as u32 })
    }

    fn next_in_map(&mut self, d: usize, room: u64) -> Option<Block> {
        let len = self.length(d, self.spec.region_bytes, room)?;
        let smallest = self.shape.sizes[d].min();
        let region_bytes = self.spec.region_bytes;
        let (at, len) = self.map.as_mut()?.take(&mut self.places[d], region_bytes, smallest, len)?;
        Some(Block { offset: self.spec.region_start + at, len: len as u32 })
    }

    fn next_anywhere(&mut self, d: usize, room: u64) -> Option<Block> {
        let len = self.length(d, self.spec.region_bytes, room)?;
        let align = self.align(d);
        // The last offset at which it still fits.
        let last = (self.spec.region_bytes - len) / align;
        let block = match &mut self.law {
            Some(law) => law.draw(&mut self.places[d], d).min(last),
            None => below(&mut self.places[d], last + 1),
        };
        Some(Block { offset: self.spec.region_start + block * align, len: len as u32 })
    }

    fn next_in_zone(&mut self, d: usize, room: u64) -> Option<Block> {
        let zones = self.shape.strided?;
        let skip = if let Size::Bytes(bytes) = zones.skip { bytes } else { 0 };
        let range = zone_bytes(&zones);
        if self.zone_used >= zones.size_bytes {
            self.begin_zone(self.zone_start.saturating_add(range).saturating_add(skip), d);
        }
        let smallest = self.shape.sizes[d].min();
        if self.zone_start.saturating_add(smallest) > self.spec.file_bytes {
            self.begin_zone(self.spec.region_start, d);
        }
        let zone_end = self.zone_start.saturating_add(range).min(self.spec.file_bytes);
        let zone_bytes = zone_end.saturating_sub(self.zone_start);
        let len = self.length(d, zone_bytes, room)?;
        let (offset, len) = if self.spec.random {
            let (at, len) = self.place_in_zone(d, zone_bytes, len)?;
            (self.zone_start + at, len)
        } else if self.position[d] + len <= zone_end {
            (self.position[d], len)
        } else {
            (self.zone_start, len)
        };
        self.zone_used += len;
        self.position[d] = offset + len;
        Some(Block { offset, len: len as u32 })
    }

    fn begin_zone(&mut self, start: u64, d: usize) {
        (self.zone_start, self.zone_used) = (start, 0);
        self.position[d] = start;
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// A random place in the zone, and its length; each once in a turn, and again when all were taken.
    fn place_in_zone(&mut self, d: usize, zone_bytes: u64, len: u64) -> Option<(u64, u64)> {
        let align = self.align(d);
        let rng = &mut self.places[d];
        let Some(map) = &mut self.map else {
            return Some((below(rng, (zone_bytes - len) / align + 1) * align, len));
        };
        let taken = map.take(rng, zone_bytes, align, len);
        taken.or_else(|| {
            map.clear();
            map.take(rng, zone_bytes, align, len)
        })
    }

    /// The length of the next block, drawn again while it does not fit into `space`, or while a drawn size is more than
    /// `room`; `None` if even the smallest does not fit into the space.
    fn length(&mut self, d: usize, space: u64, room: u64) -> Option<u64> {
        self.length_of(d, space, room, false)
    }

    /// The same for a block that follows another one (`follows`) in a random pattern.
    fn length_of(&mut self, d: usize, space: u64, room: u64, follows: bool) -> Option<u64> {
        let sizes = self.shape.sequence_sizes.as_ref().filter(|_| follows).unwrap_or(&self.shape.sizes[d]);
        if sizes.min() > space {
            return None;
        }
        let most = space.min(room).max(sizes.min());
        let rng = &mut self.sizes[d];
        if let BlockSizes::One(bytes) = sizes {
            return Some(*bytes);
        }
        let drawn = (0..DRAWS).map(|_| draw(sizes, rng)).find(|bytes| *bytes <= most);
        Some(drawn.unwrap_or_else(|| largest_up_to(sizes, most)))
    }
}

/// A size by the job's law; what is drawn above the largest is cut, as in fio.
fn draw(sizes: &BlockSizes, rng: &mut Xoshiro256PlusPlus) -> u64 {
    match sizes {
        BlockSizes::One(bytes) => *bytes,
        BlockSizes::Range { min, max, unaligned } => {
            let bytes = min.saturating_add(below(rng, *max));
            let bytes = if *unaligned { bytes } else { bytes - bytes % min.max(&1) };
            bytes.min(*max)
        }
        BlockSizes::Split(shares) => {
            let mut percent = below(rng, 100);
            let share = shares.iter().find(|share| {
                let here = percent < u64::from(share.percent);
                percent = percent.saturating_sub(share.percent.into());
                here
            });
            // Rounded percentages may leave a rest.
            share.or(shares.last()).map_or(0, |share| share.bytes)
        }
    }
}

fn largest_up_to(sizes: &BlockSizes, most: u64) -> u64 {
    match sizes {
        BlockSizes::One(bytes) => *bytes,
        BlockSizes::Range { min, max, unaligned } => {
            let most = most.min(*max);
            if *unaligned { most } else { most - most % min.max(&1) }
        }
        BlockSizes::Split(shares) => {
            shares.iter().map(|share| share.bytes).filter(|bytes| *bytes <= most).max().unwrap_or_else(|| sizes.min())
        }
    }
}
