//! Makes the files that a job needs: missing ones are created, short ones grow. Existing bytes are never touched.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use iostrata_device::{Guard, OpenHow, SyncKind};
use iostrata_engine::EngineSpec;
use iostrata_os::file::{self, Advice, Kind};
use iostrata_os::fill::{FillState, fill_random};
use iostrata_os::signals;
use iostrata_spec::{Fallocate, Job};

use crate::error::RunError;
use crate::plan::{FilePlan, WorkerPlan};

/// Bytes written at once while filling.
const CHUNK_BYTES: u64 = 1 << 20;
/// Threads that fill one file once its blocks are allocated.
const FILL_THREADS: u64 = 4;
/// Chunks of each thread that may be on their way to the medium, where the file is synced in the end. An `fsync` cannot
/// be ended by a signal: it must never have much to do.
const UNSYNCED_CHUNKS: usize = 8;

/// What a worker's layout has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LayoutNeed {
    /// Positions of the files in the worker's plan.
    pub files: Vec<usize>,
    /// Bytes that these files will have together.
    pub total_bytes: u64,
    /// Bytes to be written.
    pub fill_bytes: u64,
}

/// Whether the job's files must hold data before it starts (else a write creates it).
pub(crate) fn needs_data(job: &Job, engine: &EngineSpec) -> bool {
    job.workload.reads || job.overwrite || !job.workload.writes || !engine.caps.extends
}

/// What is to be done for a worker, by what is on disk now. Files that exist in full, devices and engines without
/// files need nothing.
pub(crate) fn layout_need(plan: &WorkerPlan) -> LayoutNeed {
    let mut need = LayoutNeed::default();
    if plan.engine.caps.diskless || plan.job.create_on_open {
        return need;
    }
    for (index, planned) in plan.files.iter().enumerate() {
        let existing = file::facts_at(&planned.path).ok();
        if existing.as_ref().is_some_and(|facts| facts.kind != Kind::Regular) {
            continue;
        }
        let existing_bytes = existing.map_or(0, |facts| facts.size_bytes);
        if existing_bytes < planned.file_bytes {
            need.files.push(index);
            need.total_bytes += planned.file_bytes;
            if needs_data(&plan.job, plan.engine) {
                need.fill_bytes += planned.file_bytes - existing_bytes;
            }
        }
    }
    need
}

/// A layout that goes on in a thread of its own; the coordinator watches it, and can leave it behind.
#[derive(Default)]
pub(crate) struct Making {
    /// Bytes written so far.
    pub(crate) filled_bytes: AtomicU64,
    /// Ends it early. Nothing half-made is left then: a new file is removed, one that was there before gets its old
    /// length back.
    pub(crate) stop: AtomicBool,
    /// There once it has ended.
    outcome: Mutex<Option<Result<(), RunError>>>,
}

impl Making {
    /// Starts the thread; `notify` is called when it has ended.
    pub(crate) fn begin(
        plan: WorkerPlan,
        need: LayoutNeed,
        guard: Arc<Guard>,
        notify: impl Fn() + Send + 'static,
    ) -> std::io::Result<Arc<Making>> {
        let making = Arc::new(Making::default());
        let maker = Arc::clone(&making);
        let work = move || {
            signals::block_in_this_thread();
            let made =
                catch_unwind(AssertUnwindSafe(|| lay_out(&plan, &need, &guard, &maker.filled_bytes, &maker.stop)));
            let made = made.unwrap_or_else(|_| {
                let text = "a fault in iostrata itself ended the layout; please report it";
                Err(RunError::job_errno(&plan.job, libc::EFAULT, text.into()))
            });
            *maker.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
            notify();
        };
        std::thread::Builder::new().name("layout".into()).spawn(work)?;
        Ok(making)
    }

    /// How it ended; `None` while it goes on.
    pub(crate) fn outcome(&self) -> Option<Result<(), RunError>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn lay_out(
    plan: &WorkerPlan,
    need: &LayoutNeed,
    guard: &Guard,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    for &index in &need.files {
        let planned = &plan.files[index];
        if stop.load(Relaxed) {
            return Ok(());
        }
        lay_out_file(plan, planned, guard, filled_bytes, stop)?;
    }
    Ok(())
}

fn lay_out_file(
    plan: &WorkerPlan,
    planned: &FilePlan,
    guard: &Guard,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let job = &plan.job;
    let path = &planned.path;
    let old_bytes = file::facts_at(path).map_or(None, |facts| Some(facts.size_bytes));
    if old_bytes.is_none() && !job.allow_create {
        let text = format!("{} does not exist, and allow_file_create=0 forbids to create it", path.display());
        return Err(RunError::job_errno(job, libc::ENOENT, text));
    }
    make_parents(job, path)?;
    let how = OpenHow { read: false, write: true, create: true, direct: false, sync: SyncKind::None, mode: 0o644 };
    let target = guard.open(path, &how).map_err(|error| RunError::job_errno(job, error.errno(), error.to_string()))?;
    let old_length = old_bytes.unwrap_or(0);
    let made = make(plan, planned, &target.fd, old_length, filled_bytes, stop);
    if made.is_err() || stop.load(Relaxed) {
        let undone = match old_bytes {
            None => file::unlink(path),
            Some(length) => file::truncate(&target.fd, length),
        };
        if made.is_ok() {
            undone.map_err(|error| RunError::system(job, Some(path), "undoing the layout of", &error))?;
        }
    }
    made
}

/// The first folder that this layout will make.
pub(crate) fn missing_folder<'a>(plan: &'a WorkerPlan, need: &LayoutNeed) -> Option<&'a Path> {
    let mut last = None;
    let folders = need.files.iter().filter_map(|&index| plan.files[index].path.parent());
    // Files of one folder mostly follow each other: one look for all of them.
    let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty() && last.replace(*folder) != Some(*folder));
    folders.find(|folder| !folder.exists())
}

/// fio makes missing folders of a file's name, for their owner only.
pub(crate) fn make_parents(job: &Job, path: &Path) -> Result<(), RunError> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(parent).map_err(|error| RunError::system(job, Some(parent), "mkdir", &error))
}

fn make(
    plan: &WorkerPlan,
    planned: &FilePlan,
    fd: &OwnedFd,
    old_bytes: u64,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let job = &plan.job;
    let allocated = allocate(plan, planned, fd)?;
    if needs_data(job, plan.engine) {
        file::truncate(fd, planned.file_bytes)
            .map_err(|error| RunError::system(job, Some(&planned.path), "ftruncate", &error))?;
        let span = old_bytes..planned.file_bytes;
        fill(&Filling { fd, span, allocated, synced: job.create_fsync, filled_bytes, stop })
            .map_err(|error| RunError::system(job, Some(&planned.path), "filling", &error))?;
        if job.create_fsync && !stop.load(Relaxed) {
            file::sync(fd).map_err(|error| RunError::system(job, Some(&planned.path), "fsync", &error))?;
        }
    }
    // Whatever `invalidate` says, as in fio. Best effort: a file system without a page cache has nothing to drop.
    let _ = file::advise(fd, old_bytes, planned.file_bytes - old_bytes, Advice::DontNeed);
    Ok(())
}

/// Preallocates as `fallocate=` says; whether the blocks are there now.
fn allocate(plan: &WorkerPlan, planned: &FilePlan, fd: &OwnedFd) -> Result<bool, RunError> {
    let job = &plan.job;
    let length = planned.file_bytes;
    let loud = |call: &str, result: std::io::Result<()>| {
        result.map(|()| true).map_err(|error| RunError::system(job, Some(&planned.path), call, &error))
    };
    match job.fallocate {
        Fallocate::None => Ok(false),
        Fallocate::Native => match file::fallocate(fd, false, 0, length) {
            Ok(()) => Ok(true),
            // No room is no question of support: filling would fail after hours. A job that only writes may end before
            // it needs all of its size.
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) && needs_data(job, plan.engine) => {
                loud("fallocate", Err(error))
            }
            Err(_) => Ok(false),
        },
        Fallocate::Posix => loud("posix_fallocate", file::posix_fallocate(fd, 0, length)),
        Fallocate::Keep => loud("fallocate", file::fallocate(fd, true, 0, length)),
        Fallocate::Truncate => loud("ftruncate", file::truncate(fd, length)).map(|_| false),
    }
}

/// Writing random data over a span that holds none yet.
struct Filling<'a> {
    fd: &'a OwnedFd,
    span: std::ops::Range<u64>,
    /// The blocks are there. Only then it is done in parallel: else the threads would interleave the file's extents.
    allocated: bool,
    /// An fsync follows.
    synced: bool,
    filled_bytes: &'a AtomicU64,
    stop: &'a AtomicBool,
}

fn fill(filling: &Filling<'_>) -> std::io::Result<()> {
    let length = filling.span.end.saturating_sub(filling.span.start);
    let threads = if filling.allocated { FILL_THREADS.min(length.div_ceil(16 * CHUNK_BYTES)).max(1) } else { 1 };
    let next = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|seed| scope.spawn(move || fill_chunks(filling, next, seed))).collect();
        let mut result = fill_chunks(filling, next, 0);
        for helper in helpers {
            let ended = helper.join().unwrap_or_else(|_| Err(std::io::Error::other("a filling thread panicked")));
            result = result.and(ended);
        }
        result
    })
}

/// Writes chunk after chunk; `next` is where the next one begins, for all threads.
fn fill_chunks(filling: &Filling<'_>, next: &AtomicU64, seed: u64) -> std::io::Result<()> {
    let length = filling.span.end.saturating_sub(filling.span.start);
    let mut state = FillState::new(seed);
    let mut buffer = vec![0; CHUNK_BYTES.min(length) as usize];
    let mut unsynced = VecDeque::with_capacity(UNSYNCED_CHUNKS + 1);
    loop {
        let at = next.fetch_add(CHUNK_BYTES, Relaxed);
        if at >= length || filling.stop.load(Relaxed) {
            return Ok(());
        }
        let bytes = &mut buffer[..CHUNK_BYTES.min(length - at) as usize];
        let offset = filling.span.start + at;
        fill_random(bytes, &mut state);
        file::write_all_at(filling.fd, bytes, offset)?;
        filling.filled_bytes.fetch_add(bytes.len() as u64, Relaxed);
        if filling.synced {
            write_back(filling.fd, offset, false)?;
            unsynced.push_back(offset);
            if unsynced.len() > UNSYNCED_CHUNKS
                && let Some(oldest) = unsynced.pop_front()
            {
                write_back(filling.fd, oldest, true)?;
            }
        }
    }
}

/// Has a chunk written to the medium. A file system that cannot be asked for this gets its fsync all the same.
fn write_back(fd: &OwnedFd, offset: u64, wait: bool) -> std::io::Result<()> {
    match file::write_back(fd, offset, CHUNK_BYTES, wait) {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT)) => Ok(()),
        written => written,
    }
}
