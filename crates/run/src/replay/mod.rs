//! Recordings of I/O: fio's text (versions 2 and 3) and the kernel's block traces.
//!
//! Before a run each recording is read once: only then it is known which files it uses and how large its I/Os are. In
//! one piece it stays in memory, 32 bytes an entry; with `read_iolog_chunked` it is read again, piece by piece, while
//! the job runs.

mod blktrace;
mod fault;
mod log;
mod merge;
mod record;
mod survey;
mod text;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use iostrata_engine::{FileId, Op};
use iostrata_spec::{Job, ReplaySkip};

pub(crate) use self::fault::LogFault;
pub(crate) use self::log::Log;
pub use self::merge::merge_traces;
pub(crate) use self::record::Recording;
pub(crate) use self::survey::{Replayer, Surveys};

/// One thing that a recording asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// When, nanoseconds after the first I/O.
    pub(crate) at_ns: u64,
    /// Where; 0 for what moves no data.
    pub(crate) offset: u64,
    /// How many bytes.
    pub(crate) len: u32,
    /// Which of the recording's files.
    pub(crate) file: FileId,
    /// What.
    pub(crate) action: Action,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The file is opened.
    Open,
    /// The file is closed.
    Close,
    /// A request.
    Io(Op),
}

/// Where a recording is, and what a job makes of it.
#[derive(Clone, Debug)]
pub(crate) struct LogSpec {
    /// `-` is standard input.
    pub(crate) path: PathBuf,
    /// Everything goes to this file.
    redirect: Option<PathBuf>,
    scale: u64,
    align_bytes: u64,
    speed_percent: u32,
    skip: ReplaySkip,
}

impl LogSpec {
    fn new(job: &Job, path: &str) -> LogSpec {
        let replay = &job.replay;
        LogSpec {
            path: path.into(),
            redirect: replay.redirect.as_ref().map(PathBuf::from),
            scale: u64::from(replay.scale),
            align_bytes: replay.align_bytes,
            speed_percent: replay.speed_percent,
            skip: replay.skip,
        }
    }
}

/// What a worker replays.
#[derive(Clone)]
pub(crate) struct ReplayPlan {
    /// Where its entries come from.
    pub(crate) source: Source,
    /// The recording opens and closes its files itself; else all are open from the start.
    pub(crate) opens_files: bool,
}

/// Where entries come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// Memory.
    Whole(Arc<[Entry]>),
    /// A file, read once more.
    Again(LogSpec),
    /// A pipe or socket, of which the beginning was read: those entries, and the rest. One worker takes it.
    Stream(Arc<Mutex<Option<Streamed>>>),
}

/// A recording that cannot be read twice.
pub(crate) struct Streamed {
    pub(crate) read: Vec<Entry>,
    pub(crate) rest: Log,
}
