//! Offsets in ascending order, with holes, or backward: a position for each direction.

use super::Direction;
use super::offsets::{Block, OffsetSpec};

/// A position per direction: `rw=rw` is two sequences, each from the start of the region.
#[derive(Debug)]
pub(super) struct Sequential {
    region_start: u64,
    region_end: u64,
    /// At least the region's end.
    file_bytes: u64,
    /// Bytes skipped after each I/O; negative: backward.
    hole_bytes: i64,
    block_bytes: [u64; 3],
    /// Offset of the next I/O; the region's end (where no block fits) when the pass is finished.
    position: [u64; 3],
}

impl Sequential {
    pub(super) fn new(spec: &OffsetSpec) -> Self {
        let mut sequence = Sequential {
            region_start: spec.region_start,
            region_end: spec.region_end(),
            file_bytes: spec.file_bytes,
            hole_bytes: spec.modifier.unwrap_or(0),
            block_bytes: spec.block_bytes,
            position: [0; 3],
        };
        sequence.restart();
        sequence
    }

    pub(super) fn restart(&mut self) {
        self.position = [self.first(); 3];
    }

    pub(super) fn wrap(&mut self, direction: Direction) {
        self.position[direction.index()] = self.first();
    }

    pub(super) fn go_on_at(&mut self, direction: Direction, offset: u64) {
        self.position[direction.index()] = offset;
    }

    /// Where a pass begins. Backward it is fio's rule, odd as it is (seen in 3.33 and 3.42): at the very start of the
    /// file if the region lies there; else at the offset (region size − N) of the file if that is inside the region;
    /// else N before the region's end, which is also where later wraps land.
    fn first(&self) -> u64 {
        if self.hole_bytes >= 0 || self.region_start == 0 {
            return self.region_start;
        }
        let region_bytes = self.region_end - self.region_start;
        match region_bytes.checked_add_signed(self.hole_bytes) {
            Some(offset) if offset >= self.region_start => offset,
            _ => self.last_start(),
        }
    }

    /// N before the region's end, where a backward sequence that fell off the start goes on; nowhere if the step is
    /// longer than the region.
    fn last_start(&self) -> u64 {
        let start = self.region_end.checked_add_signed(self.hole_bytes);
        start.filter(|&offset| offset >= self.region_start).unwrap_or(self.region_end)
    }

    /// The position after an I/O that ended at `end`.
    fn after(&self, end: u64) -> u64 {
        if self.hole_bytes == 0 || end >= self.region_end {
            return end;
        }
        let next = end.checked_add_signed(self.hole_bytes);
        if self.hole_bytes > 0 {
            // Past the file's end it begins again; inside the file but outside the region the pass is over.
            return next.filter(|&offset| offset < self.file_bytes).unwrap_or(self.region_start);
        }
        next.filter(|&offset| offset >= self.region_start).unwrap_or_else(|| self.last_start())
    }

    /// As in fio a block that begins in the region may end behind it, where the file goes on.
    fn fits(&self, position: u64, block_bytes: u64) -> bool {
        let end = position.checked_add(block_bytes);
        block_bytes > 0 && position < self.region_end && end.is_some_and(|end| end <= self.file_bytes)
    }

    #[inline]
    pub(super) fn next(&mut self, direction: Direction) -> Option<Block> {
        let (offset, block_bytes) = (self.position[direction.index()], self.block_bytes[direction.index()]);
        if !self.fits(offset, block_bytes) {
            return None;
        }
        self.position[direction.index()] = self.after(offset + block_bytes);
        Some(Block { offset, len: block_bytes as u32 })
    }

    #[inline]
    pub(super) fn plan(&mut self, direction: Direction, out: &mut [Block]) -> usize {
        if self.hole_bytes != 0 {
            return super::offsets::plan_one_by_one(out, || self.next(direction));
        }
        let (mut offset, block_bytes) = (self.position[direction.index()], self.block_bytes[direction.index()]);
        if block_bytes == 0 {
            return 0;
        }
        let in_file = self.file_bytes.saturating_sub(offset) / block_bytes;
        let left = self.region_end.saturating_sub(offset).div_ceil(block_bytes).min(in_file);
        let count = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        for block in &mut out[..count] {
            *block = Block { offset, len: block_bytes as u32 };
            offset += block_bytes;
        }
        self.position[direction.index()] = offset;
        count
    }
}
