//! The open files of a worker: opened through the guard, with fio's advice to the kernel.
//!
//! Where it may have fewer open than its job wants, a file is opened when its turn comes, and another one closed for
//! it.

use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_device::{Guard, OpenHow, SyncKind};
use iostrata_engine::{Devices, EngineSpec, FileId, FileTable, Io, Op};
use iostrata_os::file::{self, Advice, Kind};
use iostrata_spec::{FadviseHint, Job, SyncFlag};

use super::durable::hint_life;
use super::rota::Rota;
use crate::error::RunError;
use crate::layout::{folders, make_parents};
use crate::live::Live;
use crate::plan::{FilePlan, WorkerPlan};
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
    /// Position of the first among the worker's files.
    first: usize,
    /// The open ones: in their order, or where the rota says. None while one is exchanged for another.
    files: Vec<Option<OpenFile>>,
    table: FileTable,
    /// There where not all can be open.
    rota: Option<Box<Rota>>,
    guard: Option<Arc<Guard>>,
    /// The engine works on names, and opens what it opens itself.
    by_name: bool,
}

impl OpenFiles {
    /// Opens the files at these positions in order, as far as there are so many and at most `at_once`, each followed by
    /// the cache drop and the access hint that its job asks for.
    pub(super) fn open(
        plan: &WorkerPlan,
        which: Range<usize>,
        at_once: usize,
        guard: &Arc<Guard>,
    ) -> Result<Self, RunError> {
        let mut table = FileTable::new(vec![-1; plan.files.len()], plan.job.direct);
        table.trim = trim_means(plan);
        let mut files = Vec::new();
        let all = if !plan.engine.caps.opens_files() { 0..0 } else { which.start..which.end.min(plan.files.len()) };
        for index in all.clone().take(at_once) {
            match OpenFile::open(plan, index, guard, true) {
                Ok(open) => {
                    table.set(index as FileId, open.fd.as_raw_fd());
                    files.push(Some(open));
                }
                // Somebody else has taken descriptors: it must do with those that it has.
                Err(error) if error.errno == libc::EMFILE && index > all.start => break,
                Err(error) => return Err(error),
            }
        }
        table.exchanges = files.len() < all.len();
        let rota = table.exchanges.then(|| Box::new(Rota::new(all.clone(), files.len())));
        let by_name = plan.engine.caps.names.is_some();
        Ok(OpenFiles { first: all.start, files, table, rota, guard: Some(Arc::clone(guard)), by_name })
    }

    /// None is open: a recording says when each is ([`OpenFiles::open_one`]).
    pub(super) fn closed(plan: &WorkerPlan, guard: &Arc<Guard>) -> Self {
        let mut table = FileTable::new(vec![-1; plan.files.len()], plan.job.direct);
        table.trim = trim_means(plan);
        let files = plan.files.iter().map(|_| None).collect();
        OpenFiles { first: 0, files, table, rota: None, guard: Some(Arc::clone(guard)), by_name: false }
    }

    /// Opens a file that a recording names.
    pub(super) fn open_one(&mut self, plan: &WorkerPlan, file: FileId) -> Result<(), RunError> {
        if let (Some(guard), Some(place)) = (&self.guard, self.files.get_mut(file as usize))
            && plan.engine.caps.opens_files()
        {
            let open = OpenFile::open(plan, file as usize, guard, true)?;
            self.table.set(file, open.fd.as_raw_fd());
            *place = Some(open);
        }
        Ok(())
    }

    /// Closes it.
    pub(super) fn close_one(&mut self, file: FileId) {
        if let Some(place) = self.files.get_mut(file as usize) {
            self.table.set(file, -1);
            *place = None;
        }
    }

    /// Whether a file may have to be opened before an I/O ([`OpenFiles::fetch`]).
    #[inline]
    pub(super) fn in_parts(&self) -> bool {
        self.rota.is_some()
    }

    /// Whether something has to come before each I/O of an engine that does one at a time: [`OpenFiles::fetch`], or
    /// that it lets go of what the I/O before left open.
    #[inline]
    pub(super) fn in_between(&self) -> bool {
        self.rota.is_some() | self.by_name
    }

    /// Whether the engine opens what it opens itself.
    pub(super) fn by_name(&self) -> bool {
        self.by_name
    }

    /// Opens a file if it is not open. False if that has to wait until an I/O in flight has completed.
    pub(super) fn fetch(&mut self, plan: &WorkerPlan, file: FileId) -> Result<bool, RunError> {
        let (Some(rota), Some(guard)) = (&mut self.rota, &self.guard) else { return Ok(true) };
        // One of an earlier part (`openfiles`) is no concern of this one.
        if rota.touch(file) || !rota.files().contains(&(file as usize)) {
            return Ok(true);
        }
        loop {
            let Some((place, before)) = rota.vacate() else { return Ok(false) };
            self.table.set(before, -1);
            self.files[place] = None;
            match OpenFile::open(plan, file as usize, guard, !rota.is_used(file)) {
                Ok(open) => {
                    self.table.set(file, open.fd.as_raw_fd());
                    self.files[place] = Some(open);
                    rota.occupy(place, file);
                    return Ok(true);
                }
                // Others have taken what was ours: from now on it has one place less.
                Err(error) if error.errno == libc::EMFILE && rota.lose(place) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// An I/O goes down: its file must stay open.
    pub(super) fn pin(&mut self, file: FileId) {
        if let Some(rota) = &mut self.rota {
            rota.pin(file);
        }
    }

    /// An I/O has come up.
    pub(super) fn unpin(&mut self, file: FileId) {
        if let Some(rota) = &mut self.rota {
            rota.unpin(file);
        }
    }

    /// Carries out something on each file that is, or was, open in this pass. Nothing is in flight, and the engine gets
    /// another table afterwards.
    pub(super) fn for_each(
        &mut self,
        plan: &WorkerPlan,
        mut carry_out: impl FnMut(&FilePlan, FileId, &OwnedFd) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let all = self.rota.as_ref().map_or(self.first..self.first + self.files.len(), |rota| rota.files());
        for index in all {
            let file = index as FileId;
            if self.rota.as_ref().is_some_and(|rota| !rota.is_used(file)) {
                continue;
            }
            self.fetch(plan, file)?;
            if let Some(fd) = self.descriptor(file) {
                carry_out(&plan.files[index], file, fd)?;
            }
        }
        Ok(())
    }

    /// Reads the regions into the page cache, if the job wants them there. A raised `stop` ends it.
    pub(super) fn pre_read(&mut self, plan: &WorkerPlan, stop: &AtomicBool) -> Result<(), RunError> {
        if !plan.job.pre_read {
            return Ok(());
        }
        let all = self.rota.as_ref().map_or(0..0, |rota| rota.files());
        for index in all {
            self.fetch(plan, index as FileId)?;
        }
        let mut buffer = vec![0; PRE_READ_BYTES];
        self.for_each(plan, |file, _, fd| {
            let mut offset = file.region_start;
            let end = file.region_start.saturating_add(file.region_bytes);
            while offset < end && !stop.load(Relaxed) {
                let length = (end - offset).min(PRE_READ_BYTES as u64) as usize;
                let read = file::read_at(fd, &mut buffer[..length], offset)
                    .map_err(|error| RunError::system(&plan.job, Some(&file.path), "pre_read", &error))?;
                if read < length {
                    break;
                }
                offset += read as u64;
            }
            Ok(())
        })
    }

    /// The descriptors for the engine.
    pub(super) fn table(&self) -> FileTable {
        self.table.clone()
    }

    /// Why a request of this file was refused with EINVAL, if it is direct I/O that does not fit what the system asks.
    pub(super) fn direct_mismatch(&self, file: FileId, unit_bytes: u64, memory_bytes: u64) -> Option<String> {
        let facts = file::facts(self.descriptor(file)?).ok()?;
        iostrata_device::direct_mismatch(&facts, unit_bytes, memory_bytes)
    }

    /// The descriptor of a file that is open.
    pub(super) fn descriptor(&self, file: FileId) -> Option<&OwnedFd> {
        let place = match &self.rota {
            Some(rota) => rota.place_of(file)?,
            None => (file as usize).checked_sub(self.first)?,
        };
        Some(&self.files.get(place)?.as_ref()?.fd)
    }

    /// A descriptor of a file that stays open when this table is closed and opened anew.
    pub(super) fn duplicate(&self, file: FileId) -> std::io::Result<OwnedFd> {
        let missing = || std::io::Error::from_raw_os_error(libc::EBADF);
        self.descriptor(file).ok_or_else(missing)?.try_clone()
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.files.iter().flatten().count()
    }

    /// Drops the page cache of all of them; of one that is not open when it is opened again.
    pub(super) fn drop_cache(&mut self) {
        self.files.iter().flatten().for_each(OpenFile::drop_cache);
        if let Some(rota) = &mut self.rota {
            rota.begin_pass();
        }
    }

    /// `fsync` of each: the job's `end_fsync` or `fsync_on_close`.
    pub(super) fn sync(&mut self, plan: &WorkerPlan, live: &Live) -> Result<(), RunError> {
        self.for_each(plan, |facts, file, fd| {
            live.note_current(&Io { file, ..Io::of(Op::Sync) });
            file::sync(fd).map_err(|error| RunError::system(&plan.job, Some(&facts.path), "fsync", &error))
        })
    }
}

impl OpenFile {
    /// Opens one of a worker's files. What is in the cache of one that was open before is the job's own.
    fn open(plan: &WorkerPlan, index: usize, guard: &Guard, fresh: bool) -> Result<Self, RunError> {
        let (job, file) = (&plan.job, &plan.files[index]);
        if fresh && job.create_on_open && job.allow_create {
            make_parents(job, &file.path)?;
        }
        let target = guard
            .open(&file.path, &how(job, plan.engine))
            .map_err(|error| RunError::job_errno(job, error.errno(), error.to_string()))?;
        let block_device = target.facts.kind == iostrata_device::NodeKind::Block;
        let (region_start, region_bytes) = (file.region_start, file.region_bytes);
        let open = OpenFile { fd: target.fd, region_start, region_bytes, block_device };
        if fresh && job.invalidate {
            open.drop_cache();
        }
        open.hint(job);
        hint_life(&open.fd, job.write_hint)
            .map_err(|error| RunError::system(job, Some(&file.path), "write_hint for", &error))?;
        Ok(open)
    }

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
        // No cache is between us and a namespace, and its node cannot be opened so.
        direct: job.direct && engine.caps.devices != Some(Devices::Nvme),
        sync: match job.sync_flag {
            SyncFlag::None => SyncKind::None,
            SyncFlag::Sync => SyncKind::Sync,
            SyncFlag::DataSync => SyncKind::DataSync,
        },
        mode: 0o600,
    }
}

/// Removes a worker's files, or the folders that it works on; those that are gone already are no fault. The nodes of
/// devices stay.
pub(super) fn unlink(plan: &WorkerPlan) -> Result<(), RunError> {
    if folders(plan) {
        return remove_folders(plan);
    }
    for file in plan.files.iter().filter(|file| file.kind.is_none_or(|kind| kind == Kind::Regular)) {
        match file::unlink(&file.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(RunError::system(&plan.job, Some(Path::new(&file.path)), "unlink", &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The inner ones first: their names mostly come later.
fn remove_folders(plan: &WorkerPlan) -> Result<(), RunError> {
    for folder in plan.files.iter().rev() {
        match std::fs::remove_dir(&folder.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(RunError::system(&plan.job, Some(&folder.path), "rmdir", &error));
            }
            _ => {}
        }
    }
    Ok(())
}
