//! Makes the files that a job needs: missing ones are created, short ones grow. Existing bytes are never touched.

use std::collections::{HashSet, VecDeque};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

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
/// Threads that make files, where these are small: each waits for the medium in its file's `fsync` most of the time,
/// and those that wait together share one commit of the file system's journal.
const MAKING_THREADS: usize = 16;
/// Files of a job above this size on average are made one after another: the medium is busy with one.
const SMALL_FILE_BYTES: u64 = CHUNK_BYTES;
/// Files that each of these threads has to make at least.
const FILES_PER_THREAD: usize = 16;
/// Chunks of each thread that may be on their way to the medium, where the file is synced in the end. An `fsync` cannot
/// be ended by a signal: it must never have much to do.
const UNSYNCED_CHUNKS: usize = 8;

/// What a worker's layout has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LayoutNeed {
    files: Vec<Wanted>,
    /// Bytes that these files will have together.
    total_bytes: u64,
    /// Bytes to be written.
    fill_bytes: u64,
}

/// A file that is missing or short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    /// Its position in the worker's plan.
    index: u32,
    /// Whether it is there.
    exists: bool,
}

/// Whether the job's files must hold data before it starts (else a write creates it).
pub(crate) fn needs_data(job: &Job, engine: &EngineSpec) -> bool {
    job.workload.reads || job.overwrite || !job.workload.writes || !engine.caps.extends
}

/// Whether the worker's engine works on folders instead of files.
pub(crate) fn folders(plan: &WorkerPlan) -> bool {
    plan.engine.caps.names.is_some_and(|names| names.folders)
}

/// What is to be done for a worker, by what is on disk now. Files that exist in full, devices and engines without
/// files need nothing. A raised `stop` ends it.
fn layout_need(plan: &WorkerPlan, stop: &AtomicBool) -> LayoutNeed {
    let mut need = LayoutNeed::default();
    for (index, planned) in plan.files.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        // Nothing before its jobs makes a file shorter: to look again at a million files takes seconds.
        if planned.there_bytes >= planned.file_bytes && planned.kind.is_some() {
            continue;
        }
        let existing = file::facts_at(&planned.path).ok();
        if existing.as_ref().is_some_and(|facts| facts.kind != Kind::Regular) {
            continue;
        }
        let existing_bytes = existing.as_ref().map_or(0, |facts| facts.size_bytes);
        if existing_bytes < planned.file_bytes {
            need.files.push(Wanted { index: index as u32, exists: existing.is_some() });
            if folders(plan) {
                continue;
            }
            need.total_bytes += planned.file_bytes;
            if needs_data(&plan.job, plan.engine) {
                need.fill_bytes += planned.file_bytes - existing_bytes;
            }
        }
    }
    need
}

/// What a layout tells while it goes on.
pub(crate) enum Made {
    /// A worker's files are made now.
    Begins {
        /// Its position in the plan.
        worker: usize,
        /// How many files.
        files: usize,
        /// Their sizes together.
        total_bytes: u64,
        /// A folder that is missing and will be made.
        folder: Option<String>,
    },
    /// A worker's files could not be made; that of others goes on.
    Failed {
        /// Its position in the plan.
        worker: usize,
        /// Why.
        error: RunError,
    },
    /// It is done, or was stopped.
    All,
}

/// How far the files of a worker are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// Files made.
    pub files: u64,
    /// Files to be made.
    pub files_in_all: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Bytes to be written; 0 if the files hold no data.
    pub bytes_in_all: u64,
}

/// [`Laid`], while it goes on.
#[derive(Default)]
struct LiveLaid {
    files: AtomicU64,
    files_in_all: AtomicU64,
    bytes: AtomicU64,
    bytes_in_all: AtomicU64,
}

/// The layout of all workers, in a thread of its own; the coordinator watches it, and can leave it behind.
pub(crate) struct Making {
    /// Ends it early. Nothing half-made is left then: a new file is removed, one that was there before gets its old
    /// length back.
    pub(crate) stop: Arc<AtomicBool>,
    so_far: Arc<LiveLaid>,
    told: Receiver<Made>,
}

impl Making {
    /// Starts the thread; `notify` is called whenever there is something to be told.
    pub(crate) fn begin(
        workers: &[Arc<WorkerPlan>],
        guard: Arc<Guard>,
        notify: impl Fn() + Send + 'static,
    ) -> std::io::Result<Making> {
        let (tell, told) = channel();
        let making = Making { stop: Arc::default(), so_far: Arc::default(), told };
        let makes =
            |plan: &WorkerPlan| plan.engine.caps.lays_out() && !plan.job.create_on_open && !plan.files.is_empty();
        let workers: Vec<_> = workers
            .iter()
            .enumerate()
            .filter(|(_, plan)| makes(plan))
            .map(|(at, plan)| (at, Arc::clone(plan)))
            .collect();
        if workers.is_empty() {
            return Ok(making);
        }
        let (stop, so_far) = (Arc::clone(&making.stop), Arc::clone(&making.so_far));
        let work = move || {
            signals::block_in_this_thread();
            // The coordinator may have left it behind.
            let say = |made: Made| {
                let _ = tell.send(made);
                notify();
            };
            for (worker, plan) in workers {
                if stop.load(Relaxed) {
                    break;
                }
                let made = catch_unwind(AssertUnwindSafe(|| lay_out(worker, &plan, &guard, &so_far, &stop, &say)));
                let made = made.unwrap_or_else(|_| {
                    let text = "a fault in iostrata itself ended the layout; please report it";
                    Err(RunError::job_errno(&plan.job, libc::EFAULT, text.into()))
                });
                if let Err(error) = made {
                    say(Made::Failed { worker, error });
                }
            }
            say(Made::All);
        };
        std::thread::Builder::new().name("layout".into()).spawn(work)?;
        Ok(making)
    }

    /// What has not been heard yet, if there is anything.
    pub(crate) fn told(&self) -> Option<Made> {
        match self.told.try_recv() {
            Ok(made) => Some(made),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Made::All),
        }
    }

    /// How far the files of the current worker are.
    pub(crate) fn so_far(&self) -> Laid {
        let LiveLaid { files, files_in_all, bytes, bytes_in_all } = &*self.so_far;
        let [files, files_in_all, bytes, bytes_in_all] =
            [files, files_in_all, bytes, bytes_in_all].map(|count| count.load(Relaxed));
        Laid { files, files_in_all, bytes, bytes_in_all }
    }
}

fn lay_out(
    worker: usize,
    plan: &WorkerPlan,
    guard: &Guard,
    so_far: &LiveLaid,
    stop: &AtomicBool,
    say: &dyn Fn(Made),
) -> Result<(), RunError> {
    let need = layout_need(plan, stop);
    if need.files.is_empty() {
        return Ok(());
    }
    let (files, total_bytes) = (need.files.len(), need.total_bytes);
    so_far.files.store(0, Relaxed);
    so_far.bytes.store(0, Relaxed);
    so_far.files_in_all.store(files as u64, Relaxed);
    so_far.bytes_in_all.store(need.fill_bytes, Relaxed);
    let folder = missing_folder(plan, &need).map(|folder| folder.display().to_string());
    say(Made::Begins { worker, files, total_bytes, folder });
    let small = need.total_bytes / files as u64 <= SMALL_FILE_BYTES;
    let threads = if small { (files / FILES_PER_THREAD).clamp(1, MAKING_THREADS) } else { 1 };
    let shared = &Files { plan, need: &need, guard, so_far, stop, next: AtomicUsize::new(0) };
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().name("layout".into()).spawn_scoped(scope, || make_files(shared));
        // Where no more threads can be had, those that there are make all of the files.
        let helpers: Vec<_> = (1..threads).map_while(|number| start(number).ok()).collect();
        let mut result = make_files(shared);
        for helper in helpers {
            result = result.and(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        result
    })
}

/// The files that a worker's layout makes, as its threads share them.
struct Files<'a> {
    plan: &'a WorkerPlan,
    need: &'a LayoutNeed,
    guard: &'a Guard,
    so_far: &'a LiveLaid,
    stop: &'a AtomicBool,
    /// Position of the next.
    next: AtomicUsize,
}

/// Makes one file after another, until none is left or one cannot be made.
fn make_files(shared: &Files<'_>) -> Result<(), RunError> {
    let made = make_each(shared);
    if made.is_err() {
        shared.next.store(usize::MAX / 2, Relaxed);
    }
    made
}

fn make_each(shared: &Files<'_>) -> Result<(), RunError> {
    let &Files { plan, need, guard, so_far, stop, .. } = shared;
    let mut folder = None;
    while let Some(&wanted) = need.files.get(shared.next.fetch_add(1, Relaxed)) {
        let planned = &plan.files[wanted.index as usize];
        if stop.load(Relaxed) {
            break;
        }
        if !wanted.exists && !plan.job.allow_create {
            let path = planned.path.display();
            let text = format!("{path} does not exist, and allow_file_create=0 forbids to create it");
            return Err(RunError::job_errno(&plan.job, libc::ENOENT, text));
        }
        // Files of one folder mostly follow each other.
        if folder.replace(planned.path.parent()) != Some(planned.path.parent()) {
            make_parents(&plan.job, &planned.path)?;
        }
        if folders(plan) {
            make_folder(&plan.job, &planned.path)?;
        } else {
            lay_out_file(plan, planned, wanted.exists, guard, &so_far.bytes, stop)?;
        }
        so_far.files.fetch_add(1, Relaxed);
    }
    Ok(())
}

fn lay_out_file(
    plan: &WorkerPlan,
    planned: &FilePlan,
    exists: bool,
    guard: &Guard,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let (job, path) = (&plan.job, &planned.path);
    let how = OpenHow { read: false, write: true, create: true, direct: false, sync: SyncKind::None, mode: 0o644 };
    let target = guard.open(path, &how).map_err(|error| RunError::job_errno(job, error.errno(), error.to_string()))?;
    let old_bytes = target.facts.size_bytes;
    let made = make(plan, planned, &target.fd, old_bytes.min(planned.file_bytes), filled_bytes, stop);
    if made.is_err() || stop.load(Relaxed) {
        let undone = if exists { file::truncate(&target.fd, old_bytes) } else { file::unlink(path) };
        if made.is_ok() {
            undone.map_err(|error| RunError::system(job, Some(path), "undoing the layout of", &error))?;
        }
    }
    made
}

/// The first folder that this layout will make.
fn missing_folder<'a>(plan: &'a WorkerPlan, need: &LayoutNeed) -> Option<&'a Path> {
    let mut last = None;
    let folders = need.files.iter().filter_map(|wanted| plan.files[wanted.index as usize].path.parent());
    // Files of one folder mostly follow each other: one look for all of them.
    let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty() && last.replace(*folder) != Some(*folder));
    folders.find(|folder| !folder.exists())
}

/// fio makes missing folders of a file's name, for their owner only.
pub(crate) fn make_parents(job: &Job, path: &Path) -> Result<(), RunError> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) else {
        return Ok(());
    };
    make_folder(job, parent)
}

/// Makes a folder, and those above it that are missing; one that is there is no fault.
fn make_folder(job: &Job, folder: &Path) -> Result<(), RunError> {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|error| RunError::system(job, Some(folder), "mkdir", &error))
}

/// Makes the folders that names lie in which the job itself will make; what is among these is left to it.
pub(crate) fn make_places(plan: &WorkerPlan) -> Result<(), RunError> {
    let own: HashSet<&Path> = plan.files.iter().map(|file| file.path.as_path()).collect();
    let mut last = None;
    for file in &plan.files {
        // Names of one folder mostly follow each other.
        if last.replace(file.path.parent()) == Some(file.path.parent()) {
            continue;
        }
        if !file.path.ancestors().skip(1).any(|above| own.contains(above)) {
            make_parents(&plan.job, &file.path)?;
        }
    }
    Ok(())
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
        // The job itself is to meet the end of the room.
        Fallocate::Native if job.fill_device => Ok(false),
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
