//! Whether the files that a run makes have room, before anything is made.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use iostrata_os::file::{Kind, facts_at, free_bytes_at};
use iostrata_spec::{BlockSizes, Job};

use crate::error::RunError;
use crate::layout::needs_data;
use crate::plan::WorkerPlan;

/// What a run makes that is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToMake {
    /// New files, and those that grow.
    pub files: u64,
    /// Bytes that they have more than now.
    pub bytes: u64,
    /// Files among them that stay when the run is over.
    pub kept_files: u64,
}

/// A file that is made or grows.
struct Growing<'a> {
    folder: &'a Path,
    job: &'a Job,
    /// Bytes that it gets.
    grown_bytes: u64,
    /// Of these, bytes that will be written whatever happens.
    sure_bytes: u64,
}

/// What the workers' files need, and a fault for each file system that cannot hold what is sure to be written to it.
/// What may end before (a `runtime`, a device to be filled) or may take less room than it has bytes (data that
/// compress) is not counted as sure.
pub(crate) fn survey(workers: &[Arc<WorkerPlan>]) -> (ToMake, Vec<RunError>) {
    let growing = growing(workers);
    let to_make = ToMake {
        files: growing.len() as u64,
        bytes: growing.iter().fold(0, |sum, one| sum.saturating_add(one.grown_bytes)),
        kept_files: growing.iter().filter(|one| !one.job.unlink && !one.job.unlink_each_loop).count() as u64,
    };
    (to_make, lacking(&growing))
}

fn lacking(growing: &[Growing<'_>]) -> Vec<RunError> {
    let mut folders: Vec<(&Growing<'_>, u64)> = Vec::new();
    let mut places: HashMap<&Path, usize> = HashMap::new();
    for one in growing.iter().filter(|one| one.sure_bytes > 0) {
        let place = *places.entry(one.folder).or_insert(folders.len());
        match folders.get_mut(place) {
            Some((_, bytes)) => *bytes = bytes.saturating_add(one.sure_bytes),
            None => folders.push((one, one.sure_bytes)),
        }
    }
    let mut disks: Vec<(_, &Path, &Job, u64)> = Vec::new();
    for (one, bytes) in folders {
        let there = one.folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
        let Ok(disk) = facts_at(there).map(|facts| facts.device) else { continue };
        match disks.iter_mut().find(|(known, ..)| *known == disk) {
            Some((.., sum_bytes)) => *sum_bytes = sum_bytes.saturating_add(bytes),
            None => disks.push((disk, there, one.job, bytes)),
        }
    }
    let lacking = disks.into_iter().filter_map(|(_, folder, job, bytes)| {
        let free_bytes = free_bytes_at(folder).ok().flatten().filter(|free_bytes| bytes > *free_bytes)?;
        let text = format!(
            "the files of this run need {bytes} bytes more on the disk of {}, and {free_bytes} bytes are free there: \
             free space or give a smaller size=; fill_device=1 writes until nothing is left",
            folder.display()
        );
        Some(RunError::job_errno(job, libc::ENOSPC, text))
    });
    lacking.collect()
}

/// The files that do not have their size yet, each once.
fn growing(workers: &[Arc<WorkerPlan>]) -> Vec<Growing<'_>> {
    let mut all: Vec<Growing<'_>> = Vec::new();
    let mut places: HashMap<&Path, usize> = HashMap::new();
    let ends_together = workers.iter().any(|worker| worker.job.order.exit_all);
    for worker in workers.iter().filter(|worker| worker.fault.is_none() && worker.engine.caps.lays_out()) {
        let mut left_bytes = if ends_together { 0 } else { sure_to_write(worker) };
        for file in worker.files.iter().filter(|_| !worker.job.fill_device) {
            // What the plan saw is enough: to look again at a million files takes seconds.
            if !matches!(file.kind, None | Some(Kind::Regular)) {
                continue;
            }
            let grown_bytes = file.file_bytes.saturating_sub(file.there_bytes);
            let written_bytes = left_bytes.min(file.region_bytes);
            left_bytes -= written_bytes;
            if grown_bytes == 0 {
                continue;
            }
            let laid_out = needs_data(&worker.job, worker.engine) && !worker.job.create_on_open;
            // What is written below the old end needs no new room.
            let overwritten_bytes = file.there_bytes.saturating_sub(file.region_start);
            let sure_bytes = if laid_out { grown_bytes } else { written_bytes.saturating_sub(overwritten_bytes) };
            let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let place = *places.entry(&file.path).or_insert(all.len());
            match all.get_mut(place) {
                Some(known) => {
                    known.grown_bytes = known.grown_bytes.max(grown_bytes);
                    known.sure_bytes = known.sure_bytes.max(sure_bytes);
                }
                None => {
                    let folder = folder.unwrap_or(Path::new("."));
                    all.push(Growing { folder, job: &worker.job, grown_bytes, sure_bytes });
                }
            }
        }
    }
    all
}

/// Bytes that the worker's writes alone are sure to put into new blocks.
fn sure_to_write(worker: &WorkerPlan) -> u64 {
    let job = &worker.job;
    let [_, write, _] = job.block_sizes();
    let one_size = matches!(write, BlockSizes::One(_));
    let may_end = job.runtime_ns > 0 || job.number_ios.is_some() || job.steady.duration_ns > 0 || job.unlink;
    let may_repeat = job.workload.random && job.no_random_map || job.workload.modifier.is_some() || !one_size;
    let may_shrink = job.buffers.zero || job.buffers.compress_percent > 0 || job.buffers.dedupe_percent.is_some();
    let only_writes = job.workload.writes && !job.workload.reads && !job.workload.trims;
    if !only_writes || may_end || may_repeat || may_shrink { 0 } else { worker.io_bytes }
}
