//! A worker's side of its own recording: what it does goes out, in pieces, to whoever writes the file.

use std::ops::Range;

use iostrata_engine::{Io, Op};
use iostrata_result::series::{LogPiece, Recorded, RecordedAction};

use crate::plan::WorkerPlan;
use crate::recorder::{LogSender, send};

/// Lines in a piece.
const PIECE: usize = 1024;

/// Takes down what a worker does, from its birth on. Dropping it sends what is left, however the worker ends.
pub(crate) struct Recording {
    sender: LogSender,
    worker: usize,
    /// Times count from here.
    base_ns: u64,
    /// Where the last transfer was: a sync is recorded with that, as in fio.
    last_offset: u64,
    /// Files that are open.
    open: Range<usize>,
    lines: Vec<Recorded>,
    /// How long the worker had to wait for the writer.
    pub(crate) waited_ns: u64,
}

impl Recording {
    /// The recording of a worker whose job asks for one; its files are made known.
    pub(crate) fn begin(plan: &WorkerPlan, sender: Option<&LogSender>, now_ns: u64) -> Option<Recording> {
        plan.job.record.as_ref()?;
        let mut recording = Recording {
            sender: sender?.clone(),
            worker: plan.thread_number as usize - 1,
            base_ns: now_ns,
            last_offset: 0,
            open: 0..0,
            lines: Vec::with_capacity(PIECE),
            waited_ns: 0,
        };
        recording.files(0..plan.files.len(), RecordedAction::Add, now_ns);
        Some(recording)
    }

    /// These files are open from now on.
    pub(crate) fn opened(&mut self, files: Range<usize>, now_ns: u64) {
        self.files(files.clone(), RecordedAction::Open, now_ns);
        self.open = files;
    }

    /// None is open any more.
    pub(crate) fn closed(&mut self, now_ns: u64) {
        let open = std::mem::take(&mut self.open);
        self.files(open, RecordedAction::Close, now_ns);
    }

    /// All that are open are synced.
    pub(crate) fn synced(&mut self, now_ns: u64) {
        for file in self.open.clone() {
            self.io(&Io { file: file as u32, ..Io::of(Op::Sync) }, now_ns);
        }
    }

    fn files(&mut self, files: Range<usize>, action: RecordedAction, now_ns: u64) {
        for file in files {
            self.line(Recorded { at_ns: 0, offset: 0, bytes: 0, file: file as u32, action }, now_ns);
        }
    }

    /// A request is issued.
    pub(crate) fn io(&mut self, io: &Io, now_ns: u64) {
        let action = match io.op {
            Op::Read => RecordedAction::Read,
            Op::Write => RecordedAction::Write,
            Op::Trim => RecordedAction::Trim,
            Op::Sync => RecordedAction::Sync,
            Op::DataSync => RecordedAction::DataSync,
        };
        if !matches!(io.op, Op::Sync | Op::DataSync) {
            self.last_offset = io.offset;
        }
        self.line(Recorded { at_ns: 0, offset: self.last_offset, bytes: io.len, file: io.file, action }, now_ns);
    }

    fn line(&mut self, line: Recorded, now_ns: u64) {
        self.lines.push(Recorded { at_ns: now_ns.saturating_sub(self.base_ns), ..line });
        if self.lines.len() >= PIECE {
            self.send();
        }
    }

    #[cold]
    fn send(&mut self) {
        if !self.lines.is_empty() {
            let full = std::mem::replace(&mut self.lines, Vec::with_capacity(PIECE));
            self.waited_ns += send(&self.sender, (self.worker, LogPiece::Recorded(full)));
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.send();
    }
}
