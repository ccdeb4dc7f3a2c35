//! The open files of a worker: opened through the guard, with fio's advice to the kernel.

use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_device::{Guard, OpenHow, SyncKind};
use iostrata_engine::{EngineSpec, FileId, FileTable, Io, Op};
use iostrata_os::file::{self, Advice};
use iostrata_spec::{FadviseHint, Job, SyncFlag};

use super::durable::hint_life;
use crate::error::RunError;
use crate::layout::make_parents;
use crate::live::Live;
use crate::plan::WorkerPlan;
use crate::zones::trim_means;

/// Bytes read at once ahead of the job.
const PRE_READ_BYTES: usize = 1 << 20;

/// One open file and the region that the cache hints cover.
struct OpenFile {
    fd: OwnedFd,
    region_start: u64,
    region_bytes: u64,
    block_device: bool,
}

/// All open files of a worker; empty for engines without files.
#[derive(Default)]
pub(super) struct OpenFiles {
    /// Position of the first open one among the worker's files.
    first: usize,
    files: Vec<OpenFile>,
}

impl OpenFiles {
    /// Opens the files at these positions in order, as far as there are so many, each followed by the cache drop and
    /// the access hint that its job asks for.
    pub(super) fn open(plan: &WorkerPlan, which: Range<usize>, guard: &Guard) -> Result<Self, RunError> {
        let mut files = OpenFiles { first: which.start, files: Vec::new() };
        if plan.engine.caps.diskless {
            return Ok(files);
        }
        let job = &plan.job;
        for file in plan.files.iter().take(which.end).skip(which.start) {
            if job.create_on_open && job.allow_create {
                make_parents(job, &file.path)?;
            }
            let target = guard
                .open(&file.path, &how(job, plan.engine))
                .map_err(|error| RunError::job_errno(job, error.errno(), error.to_string()))?;
            let block_device = target.facts.kind == iostrata_device::NodeKind::Block;
            let open = OpenFile {
                fd: target.fd,
                region_start: file.region_start,
                region_bytes: file.region_bytes,
                block_device,
            };
            if job.invalidate {
                open.drop_cache();
            }
            open.hint(job);
            hint_life(&open.fd, job.write_hint)
                .map_err(|error| RunError::system(job, Some(&file.path), "write_hint for", &error))?;
            files.files.push(open);
        }
        Ok(files)
    }

    /// Reads the regions into the page cache, if the job wants them there. A raised `stop` ends it.
    pub(super) fn pre_read(&self, plan: &WorkerPlan, stop: &AtomicBool) -> Result<(), RunError> {
        if !plan.job.pre_read {
            return Ok(());
        }
        let mut buffer = vec![0; PRE_READ_BYTES];
        for (file, facts) in self.files.iter().zip(&plan.files[self.first..]) {
            let mut offset = file.region_start;
            let end = file.region_start.saturating_add(file.region_bytes);
            while offset < end && !stop.load(Relaxed) {
                let length = (end - offset).min(PRE_READ_BYTES as u64) as usize;
                let read = file::read_at(&file.fd, &mut buffer[..length], offset)
                    .map_err(|error| RunError::system(&plan.job, Some(&facts.path), "pre_read", &error))?;
                if read < length {
                    break;
                }
                offset += read as u64;
            }
        }
        Ok(())
    }

    /// The descriptors for the engine.
    pub(super) fn table(&self, plan: &WorkerPlan) -> FileTable {
        let mut descriptors = vec![-1; plan.files.len()];
        for (descriptor, file) in descriptors[self.first..].iter_mut().zip(&self.files) {
            *descriptor = file.fd.as_raw_fd();
        }
        FileTable { descriptors, direct: plan.job.direct, trim: trim_means(plan) }
    }

    /// Why a request of this file was refused with EINVAL, if it is direct I/O that does not fit what the system asks.
    pub(super) fn direct_mismatch(&self, file: FileId, unit_bytes: u64, memory_bytes: u64) -> Option<String> {
        let facts = file::facts(&self.files.get((file as usize).checked_sub(self.first)?)?.fd).ok()?;
        iostrata_device::direct_mismatch(&facts, unit_bytes, memory_bytes)
    }

    /// The descriptor of a file that is open.
    pub(super) fn descriptor(&self, file: FileId) -> Option<&OwnedFd> {
        Some(&self.files.get((file as usize).checked_sub(self.first)?)?.fd)
    }

    /// A descriptor of a file that stays open when this table is closed and opened anew.
    pub(super) fn duplicate(&self, file: FileId) -> std::io::Result<OwnedFd> {
        let missing = || std::io::Error::from_raw_os_error(libc::EBADF);
        self.descriptor(file).ok_or_else(missing)?.try_clone()
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Drops the page cache of all of them.
    pub(super) fn drop_cache(&self) {
        for file in &self.files {
            file.drop_cache();
        }
    }

    /// `fsync` of each: the job's `end_fsync` or `fsync_on_close`.
    pub(super) fn sync(&self, plan: &WorkerPlan, live: &Live) -> Result<(), RunError> {
        for (index, (file, facts)) in self.files.iter().zip(&plan.files[self.first..]).enumerate() {
            let io =
                Io { offset: 0, slot_offset: 0, len: 0, slot: 0, file: (self.first + index) as FileId, op: Op::Sync };
            live.note_current(&io);
            file::sync(&file.fd).map_err(|error| RunError::system(&plan.job, Some(&facts.path), "fsync", &error))?;
        }
        Ok(())
    }
}

impl OpenFile {
    /// Best effort, as in fio: a file system that has no cache to drop has nothing to complain of.
    fn drop_cache(&self) {
        let _ = if self.block_device {
            file::flush_block_cache(&self.fd)
        } else {
            file::advise(&self.fd, self.region_start, self.region_bytes, Advice::DontNeed)
        };
    }

    fn hint(&self, job: &Job) {
        // A hint that is not understood changes nothing that is measured wrongly.
        if let Some(advice) = advice(job) {
            let _ = file::advise(&self.fd, self.region_start, self.region_bytes, advice);
        }
    }
}

/// How the kernel is told that the job will use its files.
pub(super) fn advice(job: &Job) -> Option<Advice> {
    match job.fadvise {
        FadviseHint::None => None,
        FadviseHint::ByWorkload if job.workload.random => Some(Advice::Random),
        FadviseHint::ByWorkload => Some(Advice::Sequential),
        FadviseHint::Random => Some(Advice::Random),
        FadviseHint::Sequential => Some(Advice::Sequential),
        FadviseHint::NoReuse => Some(Advice::NoReuse),
    }
}

/// The flags that a job's files are opened with.
fn how(job: &Job, engine: &EngineSpec) -> OpenHow {
    let writes = job.workload.writes || job.workload.trims || engine.caps.writes_to_read;
    OpenHow {
        read: true,
        write: writes,
        create: writes && job.allow_create,
        direct: job.direct,
        sync: match job.sync_flag {
            SyncFlag::None => SyncKind::None,
            SyncFlag::Sync => SyncKind::Sync,
            SyncFlag::DataSync => SyncKind::DataSync,
        },
        mode: 0o600,
    }
}

/// Removes a worker's files; those that are gone already are no fault.
pub(super) fn unlink(plan: &WorkerPlan) -> Result<(), RunError> {
    for file in &plan.files {
        match file::unlink(&file.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(RunError::system(&plan.job, Some(Path::new(&file.path)), "unlink", &error));
            }
            _ => {}
        }
    }
    Ok(())
}
