//! Makes the files that a job needs: missing ones are created, short ones grow. Existing bytes are never touched.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use iostrata_device::{Guard, OpenHow, SyncKind};
use iostrata_os::file::{self, Advice, Kind};
use iostrata_os::fill::{FillState, fill_random};
use iostrata_spec::{Fallocate, Job};

use crate::error::RunError;
use crate::plan::{FilePlan, WorkerPlan};

/// Bytes written at once while filling.
const CHUNK_BYTES: u64 = 1 << 20;
/// Threads that fill one file once its blocks are allocated.
const FILL_THREADS: u64 = 4;

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
pub(crate) fn needs_data(job: &Job) -> bool {
    job.workload.reads || job.overwrite || !job.workload.writes
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
            if needs_data(&plan.job) {
                need.fill_bytes += planned.file_bytes - existing_bytes;
            }
        }
    }
    need
}

/// Does it. `filled_bytes` counts as it goes; `stop` ends it early, and then nothing half-made is left: a new file is
/// removed, one that was there before gets its old length back.
pub(crate) fn lay_out(
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
    let made = make(job, planned, &target.fd, old_length, filled_bytes, stop);
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

/// fio makes missing folders of a file's name, for their owner only.
fn make_parents(job: &Job, path: &Path) -> Result<(), RunError> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(parent).map_err(|error| RunError::system(job, Some(parent), "mkdir", &error))
}

fn make(
    job: &Job,
    planned: &FilePlan,
    fd: &OwnedFd,
    old_bytes: u64,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let allocated = allocate(job, planned, fd)?;
    if needs_data(job) {
        if job.fallocate != Fallocate::Keep || !allocated {
            let truncate = file::truncate(fd, planned.file_bytes);
            truncate.map_err(|error| RunError::system(job, Some(&planned.path), "ftruncate", &error))?;
        }
        let span = old_bytes..planned.file_bytes;
        fill(fd, span, allocated, filled_bytes, stop)
            .map_err(|error| RunError::system(job, Some(&planned.path), "filling", &error))?;
        if job.create_fsync && !stop.load(Relaxed) {
            file::sync(fd).map_err(|error| RunError::system(job, Some(&planned.path), "fsync", &error))?;
        }
    }
    if job.invalidate {
        // Best effort: a file system without a page cache has nothing to drop.
        let _ = file::advise(fd, old_bytes, planned.file_bytes - old_bytes, Advice::DontNeed);
    }
    Ok(())
}

/// Preallocates as `fallocate=` says; whether the blocks are there now.
fn allocate(job: &Job, planned: &FilePlan, fd: &OwnedFd) -> Result<bool, RunError> {
    let length = planned.file_bytes;
    let loud = |call: &str, result: std::io::Result<()>| {
        result.map(|()| true).map_err(|error| RunError::system(job, Some(&planned.path), call, &error))
    };
    match job.fallocate {
        Fallocate::None => Ok(false),
        Fallocate::Native => match file::fallocate(fd, false, 0, length) {
            Ok(()) => Ok(true),
            // No room is no question of support: filling would fail after hours.
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => loud("fallocate", Err(error)),
            Err(_) => Ok(false),
        },
        Fallocate::Posix => loud("posix_fallocate", file::posix_fallocate(fd, 0, length)),
        Fallocate::Keep => loud("fallocate", file::fallocate(fd, true, 0, length)),
        Fallocate::Truncate => loud("ftruncate", file::truncate(fd, length)).map(|_| false),
    }
}

/// Writes random data over `span`, which holds none yet.
///
/// In parallel only where the blocks are allocated: else the threads would interleave the file's extents on disk.
fn fill(
    fd: &OwnedFd,
    span: std::ops::Range<u64>,
    allocated: bool,
    filled_bytes: &AtomicU64,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let length = span.end.saturating_sub(span.start);
    let threads = if allocated { FILL_THREADS.min(length.div_ceil(16 * CHUNK_BYTES)).max(1) } else { 1 };
    let next = AtomicU64::new(0);
    let work = |seed: u64| -> std::io::Result<()> {
        let mut state = FillState::new(seed);
        let mut buffer = vec![0; CHUNK_BYTES.min(length) as usize];
        loop {
            let at = next.fetch_add(CHUNK_BYTES, Relaxed);
            if at >= length || stop.load(Relaxed) {
                return Ok(());
            }
            let bytes = &mut buffer[..CHUNK_BYTES.min(length - at) as usize];
            fill_random(bytes, &mut state);
            file::write_all_at(fd, bytes, span.start + at)?;
            filled_bytes.fetch_add(bytes.len() as u64, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut result = work(0);
        for helper in helpers {
            let ended = helper.join().unwrap_or_else(|_| Err(std::io::Error::other("a filling thread panicked")));
            result = result.and(ended);
        }
        result
    })
}
