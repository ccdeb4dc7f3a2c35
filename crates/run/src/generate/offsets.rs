//! Which block of a file comes next.

use iostrata_spec::job::Job;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Direction;
use super::coverage::Coverage;
use super::permutation::{Cursor, Permutation, pass_key};
use super::precondition::Preconditioning;
use super::random::{below, derive, generator};
use super::sequential::Sequential;
use super::shaped::{Shape, Shaped};

/// One I/O's place in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// What decides the offsets of one worker in one file. [`OffsetSpec::for_job`] fills it from a job.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetSpec {
    /// Where the region begins in the file (`offset`).
    pub region_start: u64,
    /// Bytes in the region (`size`, `filesize`); blocks lie wholly inside it, but the last of a sequence ends behind it
    /// where the file goes on.
    pub region_bytes: u64,
    /// Size of the whole file or device: a sequence with holes (`rw=read:N`) whose next position is at or past it
    /// begins again at the region's start, while one that only leaves the region ends the pass. At least the region's
    /// end.
    pub file_bytes: u64,
    /// Block size per direction; 0 for a direction that the job does not use. One above `u32::MAX` fits nowhere.
    pub block_bytes: [u64; 3],
    /// Random offsets are multiples of this, counted from the region's start; 0 stands for the block size.
    pub align_bytes: [u64; 3],
    /// Random, else sequential.
    pub random: bool,
    /// The number in `rw=KIND:N`: I/Os per random offset, or bytes skipped after each sequential I/O.
    pub modifier: Option<i64>,
    /// `norandommap`: offsets are drawn without regard to those drawn before.
    pub no_map: bool,
    /// `trimwrite`, `randtrimwrite`: the writes take the blocks of the trims, in the same order.
    pub paired: bool,
    /// Seed of the order: [`Streams::file_offsets`](super::Streams::file_offsets), so seed, worker and file are in it.
    pub key: u64,
    /// What is not plain about the pattern; then the block sizes above only say which directions are used.
    pub shape: Option<Box<Shape>>,
}

impl OffsetSpec {
    /// The offsets of a job's worker in a file of `file_bytes`, of which it uses the region.
    pub fn for_job(job: &Job, region_start: u64, region_bytes: u64, file_bytes: u64, key: u64) -> Self {
        let kind = job.workload;
        let used = [kind.reads, kind.writes, kind.trims];
        let paired = kind.trims && kind.writes;
        let mut block_bytes = job.block_sizes().map(|sizes| sizes.min());
        for (bytes, used) in block_bytes.iter_mut().zip(used) {
            *bytes *= u64::from(used);
        }
        if paired {
            block_bytes[Direction::Write.index()] = block_bytes[Direction::Trim.index()];
        }
        OffsetSpec {
            region_start,
            region_bytes,
            file_bytes,
            block_bytes,
            align_bytes: job.shape.align.map(Option::unwrap_or_default),
            random: kind.random,
            modifier: kind.modifier,
            no_map: job.no_random_map,
            paired,
            key,
            shape: Shape::of(job),
        }
    }

    /// Bytes of memory that [`Offsets::new`] will take for these: known before, so that a map too large is refused in
    /// a sentence. Only directions with different block sizes need a map; its unit is their greatest common divisor.
    pub fn memory_bytes(&self) -> u64 {
        if let Some(shape) = &self.shape {
            return shape.memory_bytes(self);
        }
        match self.order() {
            RandomOrder::Map if self.random => Coverage::planned_bytes(self),
            _ => 0,
        }
    }

    pub(super) fn region_end(&self) -> u64 {
        self.region_start.saturating_add(self.region_bytes)
    }

    fn align(&self, direction: usize) -> u64 {
        match self.align_bytes[direction] {
            0 => self.block_bytes[direction],
            align => align,
        }
    }

    /// fio turns the map off when blocks may overlap by their alignment.
    fn order(&self) -> RandomOrder {
        let used = || (0..3).filter(|&direction| self.block_bytes[direction] > 0);
        if self.no_map || used().any(|direction| self.align(direction) != self.block_bytes[direction]) {
            return RandomOrder::Uniform;
        }
        let mut sizes = used().map(|direction| self.block_bytes[direction]);
        match sizes.next() {
            Some(first) if sizes.any(|bytes| bytes != first) => RandomOrder::Map,
            _ => RandomOrder::Permutation,
        }
    }
}

enum RandomOrder {
    Uniform,
    Permutation,
    Map,
}

/// The offsets of one worker in one file, pass after pass.
#[derive(Debug)]
pub struct Offsets {
    kind: Kind,
}

/// What is large has a place of its own: there may be a million files.
#[derive(Debug)]
enum Kind {
    Sequential(Sequential),
    Permuted(Box<Permuted>),
    Uniform(Box<Uniform>),
    Map(Box<Coverage>),
    Runs(Box<Runs>),
    Shaped(Box<Shaped>),
    Preconditioning(Box<Preconditioning>),
}

impl Offsets {
    /// At the first pass's first block.
    pub fn new(spec: &OffsetSpec) -> Self {
        let block_bytes = spec.block_bytes.map(|bytes| if bytes > u64::from(u32::MAX) { 0 } else { bytes });
        let spec = &OffsetSpec { block_bytes, ..spec.clone() };
        if let Some(rules) = spec.shape.as_ref().and_then(|shape| shape.precondition)
            && let Some(order) = Preconditioning::new(spec, &rules)
        {
            return Offsets { kind: Kind::Preconditioning(Box::new(order)) };
        }
        if let Some(shape) = &spec.shape {
            return Offsets { kind: Kind::Shaped(Box::new(Shaped::new(spec, shape))) };
        }
        if !spec.random {
            return Offsets { kind: Kind::Sequential(Sequential::new(spec)) };
        }
        let kind = match spec.order() {
            RandomOrder::Uniform => Kind::Uniform(Box::new(Uniform::new(spec))),
            RandomOrder::Permutation => Kind::Permuted(Box::new(Permuted::new(spec))),
            RandomOrder::Map => Kind::Map(Box::new(Coverage::new(spec))),
        };
        match spec.modifier {
            Some(length) if length > 1 => {
                Offsets { kind: Kind::Runs(Box::new(Runs::new(Offsets { kind }, length as u64, spec))) }
            }
            _ => Offsets { kind },
        }
    }

    /// The next block of this direction; None when this pass has none left for it. (When a job as a whole is finished
    /// is decided by its bytes.) None at once after [`Offsets::restart`] means that no block fits the region.
    #[inline]
    pub fn next(&mut self, direction: Direction) -> Option<Block> {
        match &mut self.kind {
            Kind::Sequential(sequence) => sequence.next(direction),
            Kind::Permuted(blocks) => blocks.next(direction),
            Kind::Uniform(blocks) => blocks.next(direction),
            Kind::Map(map) => map.next(direction),
            Kind::Runs(runs) => runs.next(direction),
            Kind::Shaped(blocks) => blocks.next(direction, u64::MAX),
            Kind::Preconditioning(order) => order.next(direction),
        }
    }

    /// Whether the length of the next block depends on how much may still be moved: then blocks must not be planned
    /// ahead.
    pub fn drawn_lengths(&self) -> bool {
        matches!(self.kind, Kind::Shaped(_))
    }

    /// Whether the next block is the same whatever direction asks for it: then blocks may be planned ahead of that.
    pub fn shares_order(&self) -> bool {
        matches!(&self.kind, Kind::Permuted(blocks) if !blocks.paired)
    }

    /// [`Offsets::next`] where `room` bytes may still be moved: a length that is drawn keeps to it.
    #[inline]
    pub fn next_within(&mut self, direction: Direction, room: u64) -> Option<Block> {
        match &mut self.kind {
            Kind::Shaped(blocks) => blocks.next(direction, room),
            _ => self.next(direction),
        }
    }

    /// The next blocks of this direction, at most `out.len()`; returns how many. The same blocks as that many calls of
    /// [`Offsets::next`], faster. Fewer than asked means that the pass has no more.
    #[inline]
    pub fn plan(&mut self, direction: Direction, out: &mut [Block]) -> usize {
        match &mut self.kind {
            Kind::Sequential(sequence) => sequence.plan(direction, out),
            Kind::Permuted(blocks) => blocks.plan(direction, out),
            Kind::Uniform(blocks) => blocks.plan(direction, out),
            Kind::Map(map) => plan_one_by_one(out, || map.next(direction)),
            Kind::Runs(runs) => plan_one_by_one(out, || runs.next(direction)),
            Kind::Shaped(blocks) => plan_one_by_one(out, || blocks.next(direction, u64::MAX)),
            Kind::Preconditioning(order) => plan_one_by_one(out, || order.next(direction)),
        }
    }

    /// Begins a new pass: where each block comes once, in the same random order again (`loops`, or `io_size` above
    /// `size`, with `randrepeat`), or in another one. What is drawn without memory is drawn on, as in fio.
    pub fn restart(&mut self, repeat: bool) {
        match &mut self.kind {
            Kind::Sequential(sequence) => sequence.restart(),
            Kind::Permuted(blocks) => blocks.restart(repeat),
            Kind::Uniform(_) => {}
            Kind::Map(map) => map.restart(repeat),
            Kind::Runs(runs) => runs.restart(repeat),
            Kind::Shaped(blocks) => blocks.restart(repeat),
            Kind::Preconditioning(order) => order.restart(repeat),
        }
    }

    /// Begins again where one direction came to its end while time is left (`time_based`): a sequence in that
    /// direction only, as the others have places of their own; random blocks, which all directions share, in a new
    /// order.
    pub fn wrap(&mut self, direction: Direction) {
        match &mut self.kind {
            Kind::Sequential(sequence) => sequence.wrap(direction),
            Kind::Shaped(blocks) => blocks.wrap(direction),
            _ => self.restart(false),
        }
    }

    /// A sequence of this direction goes on at `offset`; random blocks have no such place.
    pub fn go_on_at(&mut self, direction: Direction, offset: u64) {
        match &mut self.kind {
            Kind::Sequential(sequence) => sequence.go_on_at(direction, offset),
            Kind::Shaped(blocks) => blocks.go_on_at(direction, offset),
            _ => {}
        }
    }

    /// Bytes of memory that remember the order or what was taken; all else is of constant size.
    pub fn memory_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Sequential(_) | Kind::Uniform(_) => 0,
            Kind::Permuted(blocks) => blocks.permutation.memory_bytes(),
            Kind::Map(map) => map.memory_bytes(),
            Kind::Runs(runs) => runs.starts.memory_bytes(),
            Kind::Shaped(blocks) => blocks.memory_bytes(),
            Kind::Preconditioning(order) => order.memory_bytes(),
        }
    }
}

/// Fills `out` by single steps until there are no more.
pub(super) fn plan_one_by_one(out: &mut [Block], mut next: impl FnMut() -> Option<Block>) -> usize {
    for (count, place) in out.iter_mut().enumerate() {
        match next() {
            Some(block) => *place = block,
            None => return count,
        }
    }
    out.len()
}

/// Every block once in random order; reads and writes share them, or walk the same order each (paired).
#[derive(Debug)]
struct Permuted {
    region_start: u64,
    block_bytes: u64,
    used: [bool; 3],
    permutation: Permutation,
    cursors: [Cursor; 3],
    paired: bool,
    key: u64,
    pass: u64,
}

impl Permuted {
    fn new(spec: &OffsetSpec) -> Self {
        let block_bytes = spec.block_bytes.into_iter().max().unwrap_or(0);
        let blocks = spec.region_bytes.checked_div(block_bytes).unwrap_or(0);
        Permuted {
            region_start: spec.region_start,
            block_bytes,
            used: spec.block_bytes.map(|bytes| bytes > 0),
            permutation: Permutation::new(blocks, pass_key(spec.key, 0)),
            cursors: [Cursor::default(); 3],
            paired: spec.paired,
            key: spec.key,
            pass: 0,
        }
    }

    #[inline]
    fn next(&mut self, direction: Direction) -> Option<Block> {
        let mut block = [Block::default()];
        (self.plan(direction, &mut block) == 1).then_some(block[0])
    }

    #[inline]
    fn plan(&mut self, direction: Direction, out: &mut [Block]) -> usize {
        if !self.used[direction.index()] {
            return 0;
        }
        let (region_start, block_bytes) = (self.region_start, self.block_bytes);
        let cursor = &mut self.cursors[if self.paired { direction.index() } else { 0 }];
        self.permutation.walk(cursor, out.len(), |place, numbers| {
            for (block, &number) in out[place..].iter_mut().zip(numbers) {
                let offset = region_start.wrapping_add(number.wrapping_mul(block_bytes));
                *block = Block { offset, len: block_bytes as u32 };
            }
        })
    }

    fn restart(&mut self, repeat: bool) {
        self.cursors = [Cursor::default(); 3];
        if !repeat {
            self.pass += 1;
            self.permutation.rekey(pass_key(self.key, self.pass));
        }
    }
}

/// Blocks drawn without memory. Each direction has a stream of its own, so that planning ahead in one does not change
/// the other; paired directions have equal streams.
#[derive(Debug)]
struct Uniform {
    region_start: u64,
    align_bytes: [u64; 3],
    block_bytes: [u64; 3],
    choices: [u64; 3],
    rngs: [Xoshiro256PlusPlus; 3],
}

impl Uniform {
    fn new(spec: &OffsetSpec) -> Self {
        let align_bytes = [0, 1, 2].map(|direction| spec.align(direction));
        let choices = [0, 1, 2].map(|direction| {
            let room = spec.region_bytes.checked_sub(spec.block_bytes[direction]);
            room.and_then(|bytes| bytes.checked_div(align_bytes[direction])).map_or(0, |steps| steps + 1)
        });
        let key = pass_key(spec.key, 0);
        let stream = |direction| generator(if spec.paired { key } else { derive(key, direction) });
        let rngs = [0, 1, 2].map(stream);
        Uniform { region_start: spec.region_start, align_bytes, block_bytes: spec.block_bytes, choices, rngs }
    }

    #[inline]
    fn next(&mut self, direction: Direction) -> Option<Block> {
        let mut block = [Block::default()];
        (self.plan(direction, &mut block) == 1).then_some(block[0])
    }

    #[inline]
    fn plan(&mut self, direction: Direction, out: &mut [Block]) -> usize {
        let d = direction.index();
        let (choices, align_bytes, len) = (self.choices[d], self.align_bytes[d], self.block_bytes[d] as u32);
        if choices == 0 || len == 0 {
            return 0;
        }
        let rng = &mut self.rngs[d];
        for block in out.iter_mut() {
            *block = Block { offset: self.region_start + below(rng, choices) * align_bytes, len };
        }
        out.len()
    }
}

/// `randread:N`: N blocks in sequence from each random start. As in fio only the starts are drawn by the map, what
/// follows them is not looked up; a sequence that comes to the region's end goes on at a new start.
#[derive(Debug)]
struct Runs {
    starts: Offsets,
    length: u64,
    region_end: u64,
    block_bytes: [u64; 3],
    /// I/Os of the current run left.
    left: [u64; 3],
    position: [u64; 3],
}

impl Runs {
    fn new(starts: Offsets, length: u64, spec: &OffsetSpec) -> Self {
        Runs {
            starts,
            length,
            region_end: spec.region_end(),
            block_bytes: spec.block_bytes,
            left: [0; 3],
            position: [0; 3],
        }
    }

    fn next(&mut self, direction: Direction) -> Option<Block> {
        let d = direction.index();
        let fits = self.region_end.saturating_sub(self.position[d]) >= self.block_bytes[d];
        let block = if self.left[d] > 0 && fits {
            Block { offset: self.position[d], len: self.block_bytes[d] as u32 }
        } else {
            let start = self.starts.next(direction)?;
            if self.left[d] == 0 {
                self.left[d] = self.length;
            }
            start
        };
        self.left[d] -= 1;
        self.position[d] = block.offset + u64::from(block.len);
        Some(block)
    }

    fn restart(&mut self, repeat: bool) {
        self.starts.restart(repeat);
        self.left = [0; 3];
    }
}
