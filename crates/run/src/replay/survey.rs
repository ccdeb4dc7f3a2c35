//! What a recording needs, found out before anything begins.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use iostrata_engine::{EngineSpec, Op};
use iostrata_os::file::facts_at;
use iostrata_spec::{Job, Workload};

use super::log::is_stream;
use super::{Action, Entry, Log, LogFault, LogSpec, ReplayPlan, Source, Streamed};
use crate::error::RunError;
use crate::plan::FilePlan;
use crate::regions::Regions;

/// A stream's I/O is not known before: so long it may be, unless `bs` is larger.
const STREAM_BYTES: u64 = 1 << 20;

/// The recordings of one job: each is looked at once, however many clones take it.
#[derive(Default)]
pub(crate) struct Surveys(HashMap<String, Result<Survey, LogFault>>);

/// A worker of a job that replays.
pub(crate) struct Replayer {
    /// The job, with what the recording says about it.
    pub(crate) job: Arc<Job>,
    pub(crate) regions: Regions,
    pub(crate) replay: ReplayPlan,
}

impl Replayer {
    pub(crate) fn into_parts(self) -> (Arc<Job>, Regions, Option<ReplayPlan>) {
        (self.job, self.regions, Some(self.replay))
    }
}

/// What was found.
#[derive(Clone)]
struct Survey {
    plan: ReplayPlan,
    files: Vec<PathBuf>,
    found: Found,
}

/// What is done in it.
#[derive(Clone, Default)]
struct Found {
    ios: u64,
    bytes: u64,
    trims: bool,
    /// Where the last byte is that anything touches.
    end_bytes: u64,
    /// Lengths of reads and of writes, from the smallest to the largest.
    lengths: [Option<(u64, u64)>; 2],
}

impl Surveys {
    /// What a clone of the job replays.
    pub(crate) fn replayer(&mut self, job: &Job, clone: u32, engine: &EngineSpec) -> Result<Replayer, RunError> {
        let name = job.replay.recording(clone).unwrap_or_default();
        let survey = self.0.entry(name.to_owned()).or_insert_with(|| Survey::of(job, name));
        match survey {
            Ok(survey) => Ok(survey.replayer(job, engine)),
            Err(fault) => Err(RunError::job(job, fault.to_string())),
        }
    }
}

impl Survey {
    fn of(job: &Job, name: &str) -> Result<Survey, LogFault> {
        let spec = LogSpec::new(job, name);
        let mut log = Log::open(&spec)?;
        if job.replay.chunked && is_stream(&spec.path) {
            return Survey::of_stream(job, log, &spec);
        }
        let mut found = Found::default();
        let mut entries = Vec::new();
        while let Some(entry) = log.next()? {
            found.note(&entry);
            if !job.replay.chunked {
                entries.push(entry);
            }
        }
        if found.ios == 0 {
            let left_out = log.left_out;
            let why = if left_out > 0 { format!(" ({left_out} were left out)") } else { String::new() };
            return Err(LogFault::whole(&spec.path, &format!("there is no I/O in it to replay{why}")));
        }
        let source = if job.replay.chunked { Source::Again(spec) } else { Source::Whole(entries.into()) };
        let plan = ReplayPlan { source, opens_files: log.opens_files() };
        Ok(Survey { plan, files: log.files().to_vec(), found })
    }

    /// Only the beginning can be known: the files must be named there, so that they are looked at before the run.
    fn of_stream(job: &Job, mut log: Log, spec: &LogSpec) -> Result<Survey, LogFault> {
        let mut read = Vec::new();
        while let Some(entry) = log.next()? {
            read.push(entry);
            if matches!(entry.action, Action::Io(_)) {
                break;
            }
        }
        if log.files().is_empty() {
            return Err(LogFault::whole(&spec.path, "there is no I/O in it to replay"));
        }
        if !log.opens_files() && job.replay.redirect.is_none() {
            let text = "the devices of a block trace from a pipe are not known before: give replay_redirect=, or leave \
                        read_iolog_chunked out";
            return Err(LogFault::whole(&spec.path, text));
        }
        let (opens_files, files) = (log.opens_files(), log.files().to_vec());
        let most = |bytes: u64| Some((1, bytes.max(STREAM_BYTES)));
        let skip = job.replay.skip;
        let found = Found {
            ios: 0,
            bytes: 0,
            trims: !skip.trims,
            end_bytes: i64::MAX as u64,
            lengths: [
                most(job.block_size.read).filter(|_| !skip.reads),
                most(job.block_size.write).filter(|_| !skip.writes),
            ],
        };
        let source = Source::Stream(Arc::new(Mutex::new(Some(Streamed { read, rest: log }))));
        Ok(Survey { plan: ReplayPlan { source, opens_files }, files, found })
    }

    fn replayer(&self, job: &Job, engine: &EngineSpec) -> Replayer {
        let mut job = job.clone();
        let [reads, writes] = self.found.lengths;
        job.workload = Workload {
            reads: reads.is_some(),
            writes: writes.is_some(),
            trims: self.found.trims,
            random: false,
            modifier: None,
        };
        job.shape.block_range = [reads, writes, None];
        job.shape.block_split = Default::default();
        job.loops = 1;
        job.time_based = false;
        job.open_files = None;
        let file = |path: &PathBuf| {
            let facts = if engine.caps.diskless { None } else { facts_at(path).ok() };
            let there_bytes = facts.as_ref().map_or(0, |facts| facts.size_bytes);
            let kind = facts.map(|facts| facts.kind);
            // Real files are as large as they are.
            let file_bytes = if engine.caps.diskless { self.found.end_bytes } else { 0 };
            FilePlan { path: path.clone(), region_start: 0, region_bytes: 0, file_bytes, kind, there_bytes }
        };
        let regions = Regions { files: self.files.iter().map(file).collect(), io_bytes: self.found.bytes };
        Replayer { job: Arc::new(job), regions, replay: self.plan.clone() }
    }
}

impl Found {
    fn note(&mut self, entry: &Entry) {
        let Action::Io(op) = entry.action else { return };
        self.ios += 1;
        let len = u64::from(entry.len);
        self.end_bytes = self.end_bytes.max(entry.offset.saturating_add(len));
        let lengths = match op {
            Op::Read => &mut self.lengths[0],
            Op::Write => &mut self.lengths[1],
            Op::Trim => {
                self.trims = true;
                return;
            }
            Op::Sync | Op::DataSync => return,
        };
        self.bytes += len;
        let (low, high) = lengths.unwrap_or((len, len));
        *lengths = Some((low.min(len), high.max(len)));
    }
}
