//! `trim_percentage` and its kin: some of the written blocks are trimmed before they are read back.

use std::collections::VecDeque;

use iostrata_spec::{Job, Verify};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::reads_back;
use super::record::{Record, Written};
use crate::generate::random::{below, derive, generator};

/// What keeps the draws apart from those of the data.
const STREAM: u64 = 0x7472_696d;

/// Whether a job trims what it wrote.
pub(crate) fn trims_written(job: &Job) -> bool {
    job.verify.trim_percent > 0 && reads_back(job)
}

/// Which blocks are to be trimmed, and when.
pub(super) struct Trims {
    percent: u64,
    draws: Xoshiro256PlusPlus,
    /// Blocks written between two rounds; 0: they are trimmed when all is written.
    backlog: u64,
    batch: u64,
    chosen: VecDeque<Written>,
    written: u64,
    left: u64,
}

impl Trims {
    pub(super) fn new(verify: &Verify, stream: u64) -> Self {
        Trims {
            percent: verify.trim_percent.into(),
            draws: generator(derive(stream, STREAM)),
            backlog: verify.trim_backlog,
            batch: if verify.trim_batch > 0 { verify.trim_batch.into() } else { verify.trim_backlog },
            chosen: VecDeque::new(),
            written: 0,
            left: 0,
        }
    }

    /// A block was written.
    pub(super) fn note(&mut self, written: Written) {
        self.written += 1;
        if below(&mut self.draws, 100) < self.percent {
            self.chosen.push_back(written);
        }
        if self.backlog > 0 && self.written.is_multiple_of(self.backlog) {
            self.left = self.batch;
        }
    }

    /// The next block to trim: one that still holds what was written. `all`: nothing more will be written.
    pub(super) fn take(&mut self, record: &Record, all: bool) -> Option<Written> {
        while all || self.left > 0 {
            let Some(written) = self.chosen.pop_front() else {
                self.left = 0;
                break;
            };
            if record.holds(&written) {
                self.left = self.left.saturating_sub(1);
                return Some(written);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: u64) -> Written {
        Written { offset: number * 4096, number, len: 4096, file: 0 }
    }

    fn verify(percent: u32, backlog: u64, batch: u32) -> Verify {
        Verify { trim_percent: percent, trim_backlog: backlog, trim_batch: batch, ..Verify::default() }
    }

    /// Numbers trimmed after each of so many writes, then those of the end.
    fn rounds(verify: &Verify, writes: u64) -> (Vec<Vec<u64>>, Vec<u64>) {
        let (mut trims, mut record) = (Trims::new(verify, 5), Record::new(true, 0));
        let all = |record: &mut Record, trims: &mut Trims, end| {
            let mut numbers = Vec::new();
            while let Some(block) = trims.take(record, end) {
                record.forget(block.file, block.offset, block.len);
                numbers.push(block.number);
            }
            numbers
        };
        let mut during = Vec::new();
        for number in 0..writes {
            record.add(written(number));
            trims.note(written(number));
            during.push(all(&mut record, &mut trims, false));
        }
        (during, all(&mut record, &mut trims, true))
    }

    #[test]
    fn a_round_comes_after_so_many_writes_and_takes_a_batch() {
        let (during, end) = rounds(&verify(100, 4, 0), 6);
        assert_eq!(during, [vec![], vec![], vec![], vec![0, 1, 2, 3], vec![], vec![]]);
        assert_eq!(end, [4, 5]);
        let (during, end) = rounds(&verify(100, 2, 1), 4);
        assert_eq!((during, end), (vec![vec![], vec![0], vec![], vec![1]], vec![2, 3]));
        assert_eq!(rounds(&verify(100, 0, 0), 3).1, [0, 1, 2], "without a backlog all come at the end");
    }

    #[test]
    fn the_share_is_kept() {
        let (during, end) = rounds(&verify(30, 10, 0), 10_000);
        let trimmed = during.iter().map(Vec::len).sum::<usize>() + end.len();
        // Five standard deviations of 10,000 draws.
        assert!(trimmed.abs_diff(3000) < 230, "{trimmed}");
    }

    #[test]
    fn a_block_that_was_written_again_or_read_back_is_left_alone() {
        let (mut trims, mut record) = (Trims::new(&verify(100, 0, 0), 5), Record::new(true, 0));
        trims.note(written(0));
        record.add(Written { number: 7, ..written(0) });
        trims.note(written(1));
        assert_eq!(trims.take(&record, true), None);
    }
}
