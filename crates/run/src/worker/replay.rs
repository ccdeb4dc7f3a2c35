//! A worker that replays: what the recording asks for next, and when.

use std::sync::{Arc, PoisonError};

use iostrata_engine::Op;

use super::core::{Core, Plan};
use super::feed::{Dry, Planned};
use super::files::OpenFiles;
use crate::clock::Clock;
use crate::error::RunError;
use crate::plan::WorkerPlan;
use crate::replay::{Action, Entry, Log, ReplayPlan, Source};

/// Entries read at once while the job runs.
const PIECE: usize = 4096;
/// Ending so much later than the recording is worth a note: a hundredth of its length, but at least this.
const LATE_WORTH_TELLING_NS: u64 = 10_000_000;

/// Where a replay stands.
pub(super) struct Replay {
    entries: Entries,
    /// Whether it waits for the time of each entry.
    stalls: bool,
    /// The run's clock at the recording's first I/O.
    base_ns: Option<u64>,
    /// When the I/O planned last was due, counted from the first, and how much later it was planned.
    last_due_ns: u64,
    late_ns: u64,
    files: usize,
    longest_bytes: u64,
}

/// What is still to come.
enum Entries {
    Whole { list: Arc<[Entry]>, next: usize },
    Pieces { log: Box<Log>, piece: Vec<Entry>, next: usize },
}

impl Entries {
    fn of(plan: &ReplayPlan, job: &iostrata_spec::Job) -> Result<Entries, RunError> {
        Ok(match &plan.source {
            Source::Whole(list) => Entries::Whole { list: Arc::clone(list), next: 0 },
            Source::Again(spec) => {
                let log = Log::open(spec).map_err(|fault| RunError::job(job, fault.to_string()))?;
                Entries::Pieces { log: Box::new(log), piece: Vec::with_capacity(PIECE), next: 0 }
            }
            Source::Stream(stream) => {
                let streamed = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                let streamed = streamed.ok_or_else(|| {
                    let text = "a recording that is read while the job runs has one reader: give each clone its own, \
                                or leave read_iolog_chunked out";
                    RunError::job(job, text.into())
                })?;
                Entries::Pieces { log: Box::new(streamed.rest), piece: streamed.read, next: 0 }
            }
        })
    }

    /// What comes next; it stays there until [`Entries::take`].
    #[inline]
    fn peek(&mut self) -> Result<Option<Entry>, String> {
        match self {
            Entries::Whole { list, next } => Ok(list.get(*next).copied()),
            Entries::Pieces { log, piece, next } => {
                if *next == piece.len() {
                    piece.clear();
                    *next = 0;
                    while piece.len() < PIECE
                        && let Some(entry) = log.next().map_err(|fault| fault.to_string())?
                    {
                        piece.push(entry);
                    }
                }
                Ok(piece.get(*next).copied())
            }
        }
    }

    #[inline]
    fn take(&mut self) {
        match self {
            Entries::Whole { next, .. } | Entries::Pieces { next, .. } => *next += 1,
        }
    }
}

impl Replay {
    pub(super) fn for_worker(plan: &WorkerPlan) -> Result<Option<Replay>, RunError> {
        let Some(replay) = &plan.replay else { return Ok(None) };
        Ok(Some(Replay {
            entries: Entries::of(replay, &plan.job)?,
            stalls: !plan.job.replay.no_stall,
            base_ns: None,
            last_due_ns: 0,
            late_ns: 0,
            files: plan.files.len(),
            longest_bytes: plan.job.block_limits().1,
        }))
    }

    /// When an entry is due; at once before the first I/O.
    fn due_ns(&self, entry: &Entry) -> u64 {
        match self.base_ns {
            Some(base_ns) if self.stalls => base_ns.saturating_add(entry.at_ns),
            _ => 0,
        }
    }

    /// What is to be done next.
    fn next(&mut self, now_ns: u64) -> Result<Plan, String> {
        let Some(entry) = self.entries.peek()? else { return Ok(Plan::Dry(Dry::Limit)) };
        let op = match entry.action {
            Action::Io(op) => {
                self.base_ns.get_or_insert(now_ns);
                Some(op)
            }
            Action::Open | Action::Close => None,
        };
        let due_ns = self.due_ns(&entry);
        if due_ns > now_ns {
            return Ok(Plan::NotBefore(due_ns));
        }
        // Files are opened and closed with nothing in flight.
        let Some(op) = op else { return Ok(Plan::Dry(Dry::Limit)) };
        if entry.file as usize >= self.files {
            return Err("the recording names files that it did not name before the run".into());
        }
        if matches!(op, Op::Read | Op::Write) && u64::from(entry.len) > self.longest_bytes {
            return Err(format!(
                "an I/O of {} bytes is larger than the {} bytes that a recording from a pipe may ask for: give \
                 bs={0}",
                entry.len, self.longest_bytes
            ));
        }
        self.entries.take();
        self.last_due_ns = entry.at_ns;
        self.late_ns = now_ns.saturating_sub(due_ns);
        Ok(Plan::Io(Planned { offset: entry.offset, len: entry.len, file: entry.file, op }, due_ns))
    }

    /// Whether files are to be opened or closed now.
    pub(super) fn changes_files(&mut self, now_ns: u64) -> bool {
        let next = self.entries.peek();
        next.is_ok_and(|entry| {
            entry.is_some_and(|entry| !matches!(entry.action, Action::Io(_)) && self.due_ns(&entry) <= now_ns)
        })
    }

    /// Opens and closes what is to be opened and closed now.
    pub(super) fn change_files(
        &mut self,
        files: &mut OpenFiles,
        plan: &WorkerPlan,
        now_ns: u64,
    ) -> Result<(), RunError> {
        while self.changes_files(now_ns) {
            let entry = self.entries.peek().map_err(|fault| RunError::job(&plan.job, fault))?;
            match entry {
                Some(Entry { action: Action::Open, file, .. }) => files.open_one(plan, file)?,
                Some(Entry { action: Action::Close, file, .. }) => files.close_one(file),
                _ => return Ok(()),
            }
            self.entries.take();
        }
        Ok(())
    }

    /// That it could not keep up, if it could not.
    fn note(&self) -> Option<String> {
        let late = self.stalls && self.late_ns > LATE_WORTH_TELLING_NS.max(self.last_due_ns / 100);
        late.then(|| {
            format!(
                "the replay ended {} ms later than the recording: what is tested, or iodepth=, does not keep up with \
                 it; latencies from the moment an I/O was due are beside the others",
                self.late_ns / 1_000_000
            )
        })
    }
}

impl<C: Clock> Core<'_, C> {
    /// Plans what the recording asks for.
    #[inline(never)]
    pub(super) fn plan_replay(&mut self, now_ns: u64) -> Plan {
        let Some(replay) = &mut self.replay else { return Plan::Dry(Dry::Limit) };
        match replay.next(now_ns) {
            Ok(plan) => {
                if let Plan::Io(planned, _) = plan {
                    self.count_issue(planned);
                }
                plan
            }
            Err(fault) => {
                self.error.get_or_insert_with(|| RunError::job(self.job, fault));
                self.stopping = true;
                Plan::Dry(Dry::Limit)
            }
        }
    }

    /// Whether the recording wants files opened or closed before it goes on.
    pub(super) fn replay_changes_files(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        self.replay.as_mut().is_some_and(|replay| replay.changes_files(now_ns))
    }

    /// The replay is over.
    pub(super) fn end_replay(&mut self) {
        let note = self.replay.as_ref().and_then(|replay| replay.note());
        self.notes.extend(note);
    }
}
