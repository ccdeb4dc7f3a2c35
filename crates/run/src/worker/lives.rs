//! `block_error_percentiles`: how many trims each block of a file has lived through, and what was done to it last.

use iostrata_engine::{Io, Op};
use iostrata_result::BlockLives;
use iostrata_spec::BlockSizes;

use crate::plan::WorkerPlan;

/// What was done to a block last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unwritten,
    Trimmed,
    Written,
    TrimFailed,
    WriteFailed,
}

/// The blocks of a worker's only file.
pub(super) struct Lives {
    start: u64,
    unit_bytes: u64,
    blocks: Vec<(State, u32)>,
}

impl Lives {
    /// Those of a job that wants them told; a block is as large as the smallest trim.
    pub(super) fn of(plan: &WorkerPlan) -> Option<Box<Lives>> {
        let [file] = &plan.files[..] else { return None };
        let unit_bytes = BlockSizes::min(&plan.job.block_sizes()[2]).max(1);
        let count = usize::try_from(file.region_bytes / unit_bytes).ok()?;
        let wanted = plan.job.reporting.block_lives;
        wanted
            .then(|| Box::new(Lives { start: file.region_start, unit_bytes, blocks: vec![Default::default(); count] }))
    }

    /// A request is over.
    pub(super) fn note(&mut self, io: &Io, asked_len: u32, succeeded: bool) {
        let state = match (io.op, succeeded) {
            (Op::Trim, true) => State::Trimmed,
            (Op::Trim, false) => State::TrimFailed,
            (Op::Write, true) => State::Written,
            (Op::Write, false) => State::WriteFailed,
            _ => return,
        };
        let from = (io.offset - u64::from(asked_len - io.len)).saturating_sub(self.start);
        let first = (from / self.unit_bytes) as usize;
        let end = (from + u64::from(asked_len)).div_ceil(self.unit_bytes) as usize;
        let end = end.min(self.blocks.len());
        for (last, trims) in &mut self.blocks[first.min(end)..end] {
            // What failed once is no good any more, whatever is done to it afterwards.
            if !matches!(last, State::TrimFailed | State::WriteFailed) {
                *last = state;
                *trims += u32::from(state == State::Trimmed);
            }
        }
    }

    pub(super) fn result(&self) -> BlockLives {
        let mut lives = BlockLives::default();
        for (state, trims) in &self.blocks {
            let count = match state {
                State::Unwritten => &mut lives.unwritten,
                State::Trimmed => &mut lives.trimmed,
                State::Written => &mut lives.written,
                State::TrimFailed => &mut lives.trim_failed,
                State::WriteFailed => &mut lives.write_failed,
            };
            *count += 1;
            if matches!(state, State::TrimFailed | State::WriteFailed) {
                lives.lifetimes.push(*trims);
            }
        }
        lives.lifetimes.sort_unstable();
        lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lives_from_trim_to_trim_until_something_fails() {
        let mut lives = Lives { start: 8192, unit_bytes: 4096, blocks: vec![Default::default(); 5] };
        let mut note = |op, block: u64, blocks: u32, succeeded| {
            let len = blocks * 4096;
            lives.note(&Io { offset: 8192 + block * 4096, len, ..Io::of(op) }, len, succeeded);
        };
        note(Op::Trim, 0, 1, true);
        note(Op::Write, 0, 2, true);
        note(Op::Trim, 0, 2, true);
        note(Op::Read, 4, 1, false);
        note(Op::Write, 0, 1, false);
        note(Op::Trim, 0, 1, true);
        note(Op::Write, 2, 1, true);
        note(Op::Trim, 3, 1, false);
        let wanted =
            BlockLives { unwritten: 1, trimmed: 1, written: 1, trim_failed: 1, write_failed: 1, lifetimes: vec![0, 2] };
        assert_eq!(lives.result(), wanted);
    }
}
