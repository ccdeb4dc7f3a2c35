//! Checks that a device gives back what was written to it.
//!
//! Writes carry a header and a checksum (or a pattern); what was written is taken down once it completed; at the end of
//! each pass, or as soon as enough has come together (`verify_backlog`), it is read back and checked. Jobs that only
//! read check what an earlier run wrote. No write is issued while another one of the same bytes, or a check of them, is
//! in flight: what a block must hold is always known, whatever the order of completion.

mod checker;
mod dump;
mod header;
mod pattern;
mod pool;
mod record;
mod state;
mod sums;
mod trims;

pub use sums::checksum;

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use iostrata_engine::{FileId, Io, Op, SlotId};
use iostrata_spec::{Distribution, Job, VerifyMethod, ZoneMode};

use self::checker::{Checker, Place};
use self::pool::Pool;
use self::record::{Record, TRIMMED, Written};
use self::state::{Done, State};
use self::trims::Trims;
pub(crate) use self::trims::trims_written;
use crate::error::RunError;
use crate::plan::WorkerPlan;

/// Whether a job reads back what it writes.
pub(crate) fn reads_back(job: &Job) -> bool {
    job.verify.on() && job.verify.read_back && job.workload.writes
}

/// The part of a file that somebody writes: first byte, one past the last, and who.
type Region = (u64, u64, usize);

/// Sets [`WorkerPlan::shares_blocks`]: workers of one stage that write the same bytes of a file.
pub(crate) fn find_shared_blocks(workers: &mut [Arc<WorkerPlan>]) {
    if !workers.iter().any(|worker| worker.job.verify.on()) {
        return;
    }
    // For each file of a stage: region and worker of everybody who writes there.
    let mut writers: HashMap<(u32, &Path), Vec<Region>> = HashMap::new();
    for (index, worker) in workers.iter().enumerate() {
        if worker.job.workload.writes || worker.job.workload.trims {
            for file in &worker.files {
                let region = (file.region_start, file.region_start + file.region_bytes, index);
                writers.entry((worker.stage, file.path.as_path())).or_default().push(region);
            }
        }
    }
    let sharing: BTreeSet<usize> = writers.values_mut().flat_map(|regions| overlapping(regions)).collect();
    for index in sharing {
        Arc::make_mut(&mut workers[index]).shares_blocks = true;
    }
}

/// The owners of regions that overlap another one.
fn overlapping(regions: &mut [Region]) -> Vec<usize> {
    regions.sort_unstable();
    let mut owners = Vec::new();
    // The one that reaches furthest so far: who begins before its end overlaps it.
    let mut furthest: Option<(u64, usize)> = None;
    for &(start, end, owner) in regions.iter() {
        if let Some((furthest_end, other)) = furthest
            && start < furthest_end
        {
            owners.extend([owner, other]);
        }
        furthest = furthest.max(Some((end, owner)));
    }
    owners
}

/// What a slot holds while it is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Free,
    Write,
    Check,
    Trim,
    /// Of a block that is read back afterwards.
    CheckedTrim,
    Other,
}

/// A slot in flight.
#[derive(Clone, Copy, Debug)]
struct Mark {
    r#use: Use,
    place: Place,
    len: u32,
}

/// What a worker is to do next.
pub(crate) enum Next {
    /// Its own work.
    Work,
    /// Read this block and check it.
    Check(Block),
    /// Trim this block, which was written.
    Trim(Block),
    /// Nothing: all is checked.
    Dry,
}

/// A block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) file: FileId,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// The checking of one worker's data.
pub(crate) struct Verifier {
    checker: Arc<Checker>,
    pool: Option<Pool>,
    /// What is to be read back; none if nothing is.
    record: Option<Record>,
    marks: Vec<Mark>,
    /// Written blocks that are trimmed before they are read back.
    trims: Option<Trims>,
    /// What was trimmed is read back, and must be zeroes.
    trimmed_is_zero: bool,
    /// The number of the write that the next check, or trim of a written block, is of.
    expected: Option<u64>,
    /// The pass that reads back is on.
    checking: bool,
    backlog: u64,
    batch: u64,
    batch_left: u64,
    /// Writes numbered so far.
    issued: u64,
    /// Reads of the job are checked.
    checks_reads: bool,
    /// Writes are left out.
    only: bool,
    method: VerifyMethod,
    /// Writes that an earlier run completed; others are not checked.
    limit: Option<Done>,
    /// Writes that failed.
    failed: BTreeSet<u64>,
    /// What was complete when the last flush that has completed began.
    flushed: Done,
    flushing: Option<Done>,
}

impl Verifier {
    /// The verifier of a worker with so many slots; none if its job checks nothing. `stream` is the seed of its data.
    /// Files that accompany the run go to `folder`.
    pub(crate) fn for_worker(
        plan: &WorkerPlan,
        slots: u32,
        stream: u64,
        folder: &Path,
    ) -> Result<Option<Box<Self>>, RunError> {
        let (job, verify) = (&*plan.job, &plan.job.verify);
        if !verify.on() {
            return Ok(None);
        }
        let checker = Arc::new(Checker::new(plan, stream, folder));
        let pool = (verify.threads > 0)
            .then(|| Pool::start(&checker, verify.threads, &verify.thread_cpus))
            .transpose()
            .map_err(|error| RunError::system(job, None, "starting the threads of verify_async", &error))?;
        let limit = verify.load_state.then(|| State::load(plan, folder)).transpose();
        let limit = limit.map_err(|(errno, text)| RunError::job_errno(job, errno, text))?;
        let free = Mark { r#use: Use::Free, place: Place::default(), len: 0 };
        let backlog = if reads_back(job) { verify.backlog } else { 0 };
        Ok(Some(Box::new(Verifier {
            checker,
            pool,
            record: reads_back(job).then(|| Record::new(may_overlap(job), blocks(plan))),
            marks: vec![free; slots as usize],
            trims: trims_written(job).then(|| Trims::new(verify, stream)),
            trimmed_is_zero: verify.trimmed_is_zero,
            expected: None,
            checking: false,
            backlog,
            batch: if verify.backlog_batch > 0 { verify.backlog_batch.into() } else { backlog },
            batch_left: 0,
            issued: 0,
            checks_reads: !job.workload.writes,
            only: verify.only,
            method: checker::method(plan),
            limit,
            failed: BTreeSet::new(),
            flushed: Done::default(),
            flushing: None,
        })))
    }

    /// What comes next: the worker's own work, or a check.
    #[inline]
    pub(crate) fn next(&mut self) -> Next {
        let Some(record) = &mut self.record else { return Next::Work };
        if let Some(trims) = &mut self.trims
            && let Some(Written { offset, number, len, file }) = trims.take(record, self.checking)
        {
            self.expected = Some(number);
            return Next::Trim(Block { file, offset, len });
        }
        if !self.checking {
            if self.batch_left == 0 && self.backlog > 0 && record.len() >= self.backlog {
                self.batch_left = self.batch;
            }
            if self.batch_left == 0 {
                return Next::Work;
            }
            self.batch_left -= 1;
        }
        match record.take() {
            Some(written) => {
                self.expected = Some(written.number);
                Next::Check(Block { file: written.file, offset: written.offset, len: written.len })
            }
            None if self.checking => Next::Dry,
            None => {
                self.batch_left = 0;
                Next::Work
            }
        }
    }

    /// Whether a planned request of the job is left out: a write of `verify_only`, or a read of what was never written.
    #[inline]
    pub(crate) fn leaves_out(&mut self, op: Op, block: Block) -> bool {
        let number = self.issued;
        let done = |limit: &Option<Done>| limit.as_ref().is_none_or(|done| done.has(number));
        match op {
            Op::Write if self.only => {
                self.issued += 1;
                if done(&self.limit)
                    && let Some(record) = &mut self.record
                {
                    record.add(Written { offset: block.offset, number, len: block.len, file: block.file });
                }
                true
            }
            Op::Read if self.checks_reads => {
                self.issued += 1;
                !done(&self.limit)
            }
            _ => false,
        }
    }

    /// Whether a request has to wait for one in flight.
    #[inline]
    pub(crate) fn must_wait(&self, op: Op, check: bool, block: Block) -> bool {
        let hinders = |mark: &Mark| match op {
            Op::Write | Op::Trim => matches!(mark.r#use, Use::Write | Use::Check | Use::Trim | Use::CheckedTrim),
            Op::Read if check => matches!(mark.r#use, Use::Write | Use::Trim | Use::CheckedTrim),
            Op::Read | Op::Sync | Op::DataSync => false,
        };
        let end = block.offset + u64::from(block.len);
        self.marks.iter().any(|mark| {
            hinders(mark)
                && mark.place.file == block.file
                && mark.place.offset < end
                && block.offset < mark.place.offset + u64::from(mark.len)
        })
    }

    /// Takes a request down that is about to be issued, and puts header and checksum into its data.
    pub(crate) fn begin(&mut self, io: &Io, bytes: &mut [u8], now_ns: u64) {
        let mut place = Place { file: io.file, offset: io.offset, number: None };
        let r#use = match io.op {
            Op::Write => {
                place.number = Some(self.issued);
                self.checker.seal(&mut bytes[..io.len as usize], io.offset, self.issued, now_ns);
                self.issued += 1;
                Use::Write
            }
            Op::Read => {
                place.number = self.expected.take();
                if place.number.is_some() || self.checks_reads { Use::Check } else { Use::Other }
            }
            Op::Trim => {
                self.forget(io.file, io.offset, io.len);
                place.number = self.expected.take();
                if place.number.is_some() { Use::CheckedTrim } else { Use::Trim }
            }
            Op::Sync | Op::DataSync => {
                self.flushing = Some(self.done());
                Use::Other
            }
        };
        self.marks[io.slot as usize] = Mark { r#use, place, len: io.len };
    }

    fn forget(&mut self, file: FileId, offset: u64, len: u32) {
        if let Some(record) = &mut self.record {
            record.forget(file, offset, len);
        }
    }

    /// A request has completed, whole. What is wrong with its data, if anything is.
    pub(crate) fn complete(&mut self, slot: SlotId, op: Op, bytes: &mut [u8]) -> Option<String> {
        let mark = &mut self.marks[slot as usize];
        let Mark { r#use, place, len } = *mark;
        mark.r#use = Use::Free;
        match r#use {
            Use::Write => {
                if let (Some(record), Some(number)) = (&mut self.record, place.number) {
                    let written = Written { offset: place.offset, number, len, file: place.file };
                    record.add(written);
                    if let Some(trims) = &mut self.trims {
                        trims.note(written);
                    }
                }
                None
            }
            Use::CheckedTrim => {
                if let Some(record) = self.record.as_mut().filter(|_| self.trimmed_is_zero) {
                    record.add(Written { offset: place.offset, number: TRIMMED, len, file: place.file });
                }
                // For a run that checks later it is as if the write had not been.
                self.failed.extend(place.number);
                None
            }
            Use::Check if place.number == Some(TRIMMED) => self.checker.check_trimmed(&bytes[..len as usize], place),
            Use::Check => {
                let bytes = &mut bytes[..len as usize];
                match &self.pool {
                    Some(pool) if self.method != VerifyMethod::Null => {
                        if !pool.give(bytes, place) {
                            return self.checker.check(bytes, place);
                        }
                        pool.fault()
                    }
                    _ => self.checker.check(bytes, place),
                }
            }
            Use::Other if matches!(op, Op::Sync | Op::DataSync) => {
                self.flushed = self.flushing.take().unwrap_or_default();
                None
            }
            Use::Free | Use::Trim | Use::Other => None,
        }
    }

    /// A request has failed: what its bytes hold now is unknown.
    pub(crate) fn fail(&mut self, slot: SlotId) {
        let mark = &mut self.marks[slot as usize];
        let Mark { r#use, place, len } = *mark;
        mark.r#use = Use::Free;
        if r#use == Use::Write {
            self.failed.extend(place.number);
            self.forget(place.file, place.offset, len);
        }
    }

    /// Whether the data of writes is made here, not from the job's buffers.
    pub(crate) fn makes_data(&self) -> bool {
        self.checker.makes_data()
    }

    /// Whether there is something to read back now.
    pub(crate) fn begin_check(&mut self) -> bool {
        self.batch_left = 0;
        self.checking = self.record.as_ref().is_some_and(|record| record.len() > 0);
        self.checking
    }

    /// The pass that reads back is over, and all of it is checked. What the threads found wrong, if anything.
    pub(crate) fn end_check(&mut self) -> Option<String> {
        self.checking = false;
        let pool = self.pool.as_ref()?;
        pool.wait();
        pool.fault()
    }

    /// Writes that completed.
    fn done(&self) -> Done {
        let in_flight = self.marks.iter().filter(|mark| mark.r#use == Use::Write).filter_map(|mark| mark.place.number);
        Done { issued: self.issued, missing: self.failed.iter().copied().chain(in_flight).collect() }
    }

    /// Saves the state of a job that wrote, for a run that checks later.
    pub(crate) fn save_state(&self, plan: &WorkerPlan, folder: &Path) -> Result<(), String> {
        if !plan.job.verify.save_state || !plan.job.workload.writes {
            return Ok(());
        }
        State { completed: self.done(), flushed: self.flushed.clone() }.save(plan, folder)
    }
}

/// Whether a byte may be written twice between two checks.
fn may_overlap(job: &Job) -> bool {
    let shape = &job.shape;
    let by_law = shape.distribution != Distribution::Random || shape.random_percent.iter().flatten().any(|&p| p < 100);
    let overlaps = shape.identical || shape.zone_mode == ZoneMode::Strided || shape.align.iter().any(Option::is_some);
    let several = job.time_based || job.loops > 1 && job.io_size.is_some() || job.verify.trim_percent > 0;
    job.no_random_map || several || job.workload.modifier.is_some() || job.workload.trims || by_law || overlaps
}

/// The writes of a pass at most, to have room for them; not more room than for a million.
fn blocks(plan: &WorkerPlan) -> usize {
    (plan.io_bytes / plan.job.block_limits().0.max(1)).min(1 << 20) as usize
}

#[cfg(test)]
mod tests {
    use super::{Region, overlapping};

    #[test]
    fn regions_that_overlap_are_found_whatever_their_order() {
        let found = |regions: &[Region]| {
            let mut owners = overlapping(&mut regions.to_vec());
            owners.sort_unstable();
            owners.dedup();
            owners
        };
        assert!(found(&[(0, 10, 0), (10, 20, 1), (20, 30, 2)]).is_empty());
        assert_eq!(found(&[(20, 30, 2), (0, 100, 0), (40, 50, 1)]), [0, 1, 2]);
        assert_eq!(found(&[(0, 10, 0), (9, 12, 1), (12, 13, 2)]), [0, 1]);
        assert_eq!(found(&[(0, 10, 7), (0, 10, 7)]), [7], "one file named twice");
    }
}
