//! What was written and is to be read back.

use std::collections::{BTreeMap, VecDeque};

/// Stands for the number of a write where the block was trimmed afterwards.
pub(super) const TRIMMED: u64 = u64::MAX;

/// A block that was written: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Its place in the file.
    pub(super) offset: u64,
    /// The number of the write, or [`TRIMMED`].
    pub(super) number: u64,
    /// Its length.
    pub(super) len: u32,
    /// The file.
    pub(super) file: u32,
}

/// The blocks that hold what their last write put there.
pub(super) enum Record {
    /// For jobs that write no byte twice between two checks: in the order of writing.
    InOrder(VecDeque<Written>),
    /// For others: by place, the last writer wins.
    ByPlace(BTreeMap<(u32, u64), Written>),
}

impl Record {
    /// An empty record, with room for `blocks` where that is known to be all.
    pub(super) fn new(overlaps: bool, blocks: usize) -> Self {
        if overlaps { Record::ByPlace(BTreeMap::new()) } else { Record::InOrder(VecDeque::with_capacity(blocks)) }
    }

    /// Takes a block down. Blocks that it overlaps are forgotten: part of them is no longer theirs.
    pub(super) fn add(&mut self, written: Written) {
        match self {
            Record::InOrder(blocks) => blocks.push_back(written),
            Record::ByPlace(blocks) => {
                forget(blocks, written.file, written.offset, written.len);
                blocks.insert((written.file, written.offset), written);
            }
        }
    }

    /// Forgets what lies in a range of which nobody knows any more what it holds.
    pub(super) fn forget(&mut self, file: u32, offset: u64, len: u32) {
        match self {
            Record::InOrder(blocks) => blocks.retain(|block| !overlap(block, file, offset, len)),
            Record::ByPlace(blocks) => forget(blocks, file, offset, len),
        }
    }

    /// The next block to read back: the oldest, or the one that comes first in its file.
    pub(super) fn take(&mut self) -> Option<Written> {
        match self {
            Record::InOrder(blocks) => blocks.pop_front(),
            Record::ByPlace(blocks) => blocks.pop_first().map(|(_, written)| written),
        }
    }

    /// Whether a block still holds what this write put there. (Known of records by place.)
    pub(super) fn holds(&self, written: &Written) -> bool {
        match self {
            Record::InOrder(blocks) => blocks.contains(written),
            Record::ByPlace(blocks) => blocks.get(&(written.file, written.offset)) == Some(written),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        match self {
            Record::InOrder(blocks) => blocks.len() as u64,
            Record::ByPlace(blocks) => blocks.len() as u64,
        }
    }
}

fn overlap(block: &Written, file: u32, offset: u64, len: u32) -> bool {
    block.file == file && block.offset < offset + u64::from(len) && offset < block.offset + u64::from(block.len)
}

fn forget(blocks: &mut BTreeMap<(u32, u64), Written>, file: u32, offset: u64, len: u32) {
    let end = offset + u64::from(len);
    // Blocks in the record do not overlap: of those that begin before `offset` only the last can reach into it.
    while let Some((&place, block)) = blocks.range((file, 0)..(file, end)).next_back() {
        if !overlap(block, file, offset, len) {
            break;
        }
        blocks.remove(&place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(offset: u64, len: u32, number: u64) -> Written {
        Written { offset, number, len, file: 0 }
    }

    fn drain(mut record: Record) -> Vec<(u64, u32, u64)> {
        std::iter::from_fn(|| record.take()).map(|block| (block.offset, block.len, block.number)).collect()
    }

    #[test]
    fn a_job_without_overlaps_is_read_back_in_the_order_of_its_writes() {
        let mut record = Record::new(false, 3);
        for (number, offset) in [8192, 0, 4096].into_iter().enumerate() {
            record.add(written(offset, 4096, number as u64));
        }
        assert_eq!(record.len(), 3);
        record.forget(0, 100, 1);
        assert_eq!(drain(record), [(8192, 4096, 0), (4096, 4096, 2)]);
    }

    #[test]
    fn the_last_writer_wins_and_what_it_cuts_is_forgotten() {
        let mut record = Record::new(true, 0);
        record.add(written(0, 4096, 0));
        record.add(written(4096, 4096, 1));
        record.add(written(16384, 4096, 2));
        record.add(written(4096, 4096, 3));
        record.add(written(2048, 1024, 4));
        assert_eq!(drain(record), [(2048, 1024, 4), (4096, 4096, 3), (16384, 4096, 2)]);
    }

    #[test]
    fn the_record_is_a_model_of_the_disk() {
        // Against a model: for each byte the number of its last writer.
        let mut disk = [None; 256];
        let mut record = Record::new(true, 0);
        let mut random = 1u64;
        for number in 0..500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (offset, len) = ((random >> 33) % 200, (random >> 50) % 50 + 1);
            disk[offset as usize..(offset + len) as usize].fill(Some(number));
            record.add(written(offset, len as u32, number));
        }
        let blocks = drain(record);
        assert!(!blocks.is_empty());
        for (offset, len, number) in blocks {
            let bytes = &disk[offset as usize..offset as usize + len as usize];
            assert!(bytes.iter().all(|&last| last == Some(number)), "{offset} {len} {number}");
        }
    }
}
