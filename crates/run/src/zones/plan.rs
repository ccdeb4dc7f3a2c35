//! Zones before a run: how large they are, which parts of a file are whole zones, and what cannot be.

use std::path::Path;
use std::sync::Arc;

use iostrata_engine::{EngineSpec, TrimMeans};
use iostrata_os::block::Sysfs;
use iostrata_os::file::{Kind, facts_at};
use iostrata_os::zoned::ZonedFacts;
use iostrata_spec::{Job, SimZones, Size, ZoneMode};

use super::ZoneTables;
use crate::error::RunError;
use crate::plan::{FilePlan, WorkerPlan};

/// Zones of a model: each takes some memory. The largest zoned disks have some hundred thousand.
pub(super) const MOST_MODEL_ZONES: u64 = 4 << 20;

/// What a zoned block device tells of itself; `None` for anything else.
pub(crate) fn device_facts(engine: &EngineSpec, path: &Path) -> Option<ZonedFacts> {
    if engine.caps.diskless {
        return None;
    }
    let facts = facts_at(path).ok().filter(|facts| facts.kind == Kind::Block)?;
    Sysfs::default().zoned(facts.device)
}

/// The zones of a `sim` job's device, if it has any.
pub(super) fn simulated_zones<'a>(job: &'a Job, engine: &EngineSpec) -> Option<&'a SimZones> {
    Some(&job.engine_options.sim.zones).filter(|zones| engine.caps.virtual_time && zones.size_bytes > 0)
}

/// What a trim of the worker's files is.
pub(crate) fn trim_means(plan: &WorkerPlan) -> TrimMeans {
    if plan.job.shape.zone_mode != ZoneMode::Zoned {
        return TrimMeans::Discard;
    }
    let real = plan.files.first().is_some_and(|file| device_facts(plan.engine, &file.path).is_some());
    if real { TrimMeans::ResetZones } else { TrimMeans::Nothing }
}

/// Bytes of a zone: what the device tells, else what the job says. 0 for a job without zones.
pub(crate) fn zone_bytes(job: &Job, engine: &EngineSpec, path: &Path) -> Result<u64, RunError> {
    let asked = job.shape.zones.size_bytes;
    if job.shape.zone_mode != ZoneMode::Zoned {
        return Ok(asked);
    }
    let told = match simulated_zones(job, engine) {
        Some(zones) => zones.size_bytes,
        None => device_facts(engine, path).map_or(0, |facts| facts.zone_bytes),
    };
    let shown = path.display();
    match (told, asked) {
        (0, 0) => Err(RunError::job(
            job,
            format!("{shown} tells no zones: give zonesize=, and its zones are a model of a zoned device"),
        )),
        (0, asked) => Ok(asked),
        (told, asked) if asked > 0 && asked != told => {
            Err(RunError::job(job, format!("zonesize={asked}: the zones of {shown} have {told} bytes")))
        }
        (told, _) => Ok(told),
    }
}

/// Bytes that a sequence leaves out after each zone.
pub(super) fn skip_bytes(job: &Job, zone_bytes: u64) -> u64 {
    match job.shape.zones.skip {
        Size::Zones(count) => count.saturating_mul(zone_bytes),
        Size::Bytes(bytes) => bytes.next_multiple_of(zone_bytes.max(1)),
        Size::Percent(_) => 0,
    }
}

/// The region from `start` on, of `length` bytes, cut to whole zones.
///
/// # Errors
/// Not one whole zone is left; blocks do not fit into zones.
pub(crate) fn round_to_zones(job: &Job, zone_bytes: u64, start: u64, length: u64) -> Result<(u64, u64), RunError> {
    let largest = job.block_limits().1;
    let [_, _, trim] = job.block_sizes();
    if job.workload.trims && (trim.min(), trim.max()) != (zone_bytes, zone_bytes) {
        let text = format!("a trim is the reset of a zone: give bs={zone_bytes} for trims, not {}", trim.min());
        // As in fio such a job does not begin, and has no errno.
        return Err(RunError::job_errno(job, 0, text));
    }
    if !job.workload.trims && largest > zone_bytes {
        return Err(RunError::job(job, format!("blocks of {largest} bytes do not fit into zones of {zone_bytes}")));
    }
    let first = start.checked_next_multiple_of(zone_bytes).unwrap_or(u64::MAX);
    let end = start.saturating_add(length) / zone_bytes * zone_bytes;
    if end <= first {
        let text = format!("there is no whole zone of {zone_bytes} bytes in the {length} bytes from offset {start} on");
        return Err(RunError::job(job, text));
    }
    if end / zone_bytes > MOST_MODEL_ZONES {
        let text = format!(
            "{} zones of {zone_bytes} bytes are more than the {MOST_MODEL_ZONES} that are kept in memory: give a \
             larger zonesize= or a smaller size=",
            end / zone_bytes
        );
        return Err(RunError::job(job, text));
    }
    Ok((first, end - first))
}

/// How many zones may be open, by the job and by the device; 0 for no limit.
pub(super) fn open_limit(plan: &WorkerPlan, file: &FilePlan, tables: &ZoneTables) -> Result<u32, RunError> {
    let job = &*plan.job;
    let disk = tables.disk(&file.path);
    let facts = disk.map(|disk| disk.facts()).or_else(|| device_facts(plan.engine, &file.path));
    let asked = job.shape.zoned.max_open;
    let Some(facts) = facts else { return Ok(asked) };
    if disk.is_none() && job.workload.writes && !job.direct {
        let text = "writes to a zoned device must not wait in the page cache, which keeps no order: add direct=1";
        return Err(RunError::job(job, text.into()));
    }
    let device = [facts.max_open, facts.max_active].into_iter().filter(|limit| *limit > 0).min().unwrap_or(0);
    if job.shape.zoned.ignore_limits || device == 0 {
        return Ok(asked);
    }
    if asked > device {
        return Err(RunError::job(
            job,
            format!(
                "max_open_zones={asked}: {} takes {device} open zones; ignore_zone_limits=1 passes over that",
                file.path.display()
            ),
        ));
    }
    Ok(if asked == 0 { device } else { asked })
}

/// As in fio a job whose trims are no zones keeps itself and every later job with zones from beginning.
pub(crate) fn refuse_with_bad_trims(workers: &mut [Arc<WorkerPlan>]) {
    let zoned = |worker: &&mut Arc<WorkerPlan>| worker.job.shape.zone_mode == ZoneMode::Zoned;
    let mut bad: Option<RunError> = None;
    for worker in workers.iter_mut().filter(zoned) {
        let own = worker.fault.clone().filter(|fault| fault.errno == 0);
        match (&bad, own) {
            (None, own) => bad = own,
            (Some(fault), None) => {
                let text = format!("it does not begin, because an earlier job on zones does not ({fault})");
                let error = RunError::job_errno(&worker.job, 0, text);
                Arc::make_mut(worker).fault.get_or_insert(error);
            }
            (Some(_), Some(_)) => {}
        }
    }
}
