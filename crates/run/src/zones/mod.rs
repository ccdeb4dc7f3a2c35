//! `zonemode=zbd`: requests go where the zones of a device take them.
//!
//! The pattern of a job says which zone; the zone says where in it. Write pointers, resets, and the limit of open
//! zones are kept in a [`Table`](table::Table) that the workers on a device share. A worker never waits for another
//! with the lock held: what cannot go now is planned again a little later.

mod device;
mod place;
mod plan;
mod table;

use std::io;
use std::sync::Arc;

use iostrata_engine::{FileId, Io, Op};
use iostrata_os::file::facts_at;
use iostrata_os::zoned::{Zone, ZoneCommand};
use iostrata_spec::{Job, ZoneMode};

use self::device::{Kernel, Model, Simulated, ZoneDevice};
use self::table::{SharedTable, lock};
use crate::error::RunError;
use crate::generate::{Block, Direction};
use crate::plan::{FilePlan, WorkerPlan};

pub(crate) use self::plan::{device_facts, refuse_with_bad_trims, round_to_zones, trim_means, zone_bytes};
pub(crate) use self::table::ZoneTables;

/// How long until a request that a zone could not take is planned again, nanoseconds.
pub(crate) const WAIT_NS: u64 = 20_000;
/// So often in a row a failed write is made again before it counts as failed.
const MOST_RETRIES: u32 = 8;

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Here. With `then` the sequence goes on there.
    At { direction: Direction, block: Block, then: Option<u64> },
    /// There is nothing that it could be done to.
    Nothing,
    /// Another request must end first.
    Wait,
}

/// A zone could not be looked at, or did not take a command.
#[derive(Debug)]
pub(crate) struct ZoneFault {
    pub(crate) file: FileId,
    pub(crate) what: &'static str,
    pub(crate) start: u64,
    pub(crate) error: io::Error,
}

/// What of a job matters here.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Offsets follow one another.
    sequence: bool,
    /// A read that finds nothing may be a write.
    writes: bool,
    /// Smallest block written, bytes.
    smallest: u64,
    read_beyond: bool,
    write_remainder: bool,
    recover: bool,
    /// A zone has one write in flight: what the system makes of several is not their order.
    one_at_a_time: bool,
    job_max_open: u32,
    /// From this share of data on, so many writes make one reset; 0: none.
    threshold: f64,
    period: u64,
}

impl Rules {
    fn of(job: &Job, plan: &WorkerPlan) -> Rules {
        let zoned = &job.shape.zoned;
        let frequency = zoned.reset_frequency.unwrap_or(0.0);
        Rules {
            sequence: !job.workload.random,
            writes: job.workload.writes,
            smallest: job.block_sizes()[Direction::Write.index()].min().max(1),
            read_beyond: zoned.read_beyond,
            write_remainder: zoned.write_remainder,
            recover: zoned.recover,
            one_at_a_time: zoned.recover || plan.engine.caps.helper_threads || plan.offloads(),
            job_max_open: zoned.job_max_open,
            threshold: zoned.reset_threshold.unwrap_or(0.0),
            period: if frequency > 0.0 { (1.0 / frequency) as u64 } else { 0 },
        }
    }
}

/// One file of a worker.
struct FileZones {
    table: SharedTable,
    device: Box<dyn ZoneDevice>,
    /// The zones that the job works on.
    first: usize,
    end: usize,
    /// Bytes that a sequence leaves out after each zone.
    skip_bytes: u64,
}

/// A worker's view of its zones.
pub(crate) struct Zoning {
    files: Vec<FileZones>,
    rules: Rules,
    worker: u32,
    /// Writes of this pass that count towards the next reset.
    counted_writes: u64,
    resets: u64,
    retries: u32,
    fault: Option<ZoneFault>,
}

impl Zoning {
    /// Of a worker whose files are open; `None` for a job without zones. `descriptor` gives a file's descriptor anew.
    pub(crate) fn of(
        plan: &WorkerPlan,
        tables: &ZoneTables,
        descriptor: impl Fn(FileId) -> io::Result<std::os::fd::OwnedFd>,
    ) -> Result<Option<Box<Zoning>>, RunError> {
        let job = &*plan.job;
        if job.shape.zone_mode != ZoneMode::Zoned {
            return Ok(None);
        }
        let mut files = Vec::with_capacity(plan.files.len());
        for (number, file) in plan.files.iter().enumerate() {
            let fail = |call: &str, error| RunError::system(job, Some(&file.path), call, &error);
            let device = open_device(plan, file, tables, || descriptor(number as FileId))
                .map_err(|error| fail("opening", error))?;
            let zones = device.zones().map_err(|error| fail("reporting the zones of", error))?;
            files.push(file_zones(plan, file, tables, device, &zones)?);
        }
        Ok(Some(Box::new(Zoning {
            files,
            rules: Rules::of(job, plan),
            worker: plan.thread_number,
            counted_writes: 0,
            resets: 0,
            retries: 0,
            fault: None,
        })))
    }

    /// Another pass begins.
    pub(crate) fn begin_pass(&mut self) {
        self.counted_writes = 0;
    }

    /// Zones reset since this was asked last.
    pub(crate) fn take_resets(&mut self) -> u64 {
        std::mem::take(&mut self.resets)
    }

    /// What went wrong with a zone, once.
    pub(crate) fn take_fault(&mut self) -> Option<ZoneFault> {
        self.fault.take()
    }

    /// Where a request goes that the job's pattern wants at `block`.
    pub(crate) fn place(&mut self, file: FileId, direction: Direction, block: Block) -> Result<Placed, ZoneFault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        match direction {
            Direction::Read => self.place_read(file, block),
            Direction::Write => self.place_write(file, block),
            Direction::Trim => self.place_trim(file, block),
        }
    }

    /// A request that was placed has ended.
    pub(crate) fn done(&mut self, io: &Io, failed: bool) {
        if !matches!(io.op, Op::Write | Op::Trim) {
            return;
        }
        let Some(file) = self.files.get(io.file as usize) else { return };
        let mut table = lock(&file.table);
        let index = table.index(io.offset);
        let Some(zone) = table.zones.get_mut(index).filter(|zone| zone.sequential) else { return };
        zone.in_flight = zone.in_flight.saturating_sub(1);
        zone.trimming = false;
        if failed {
            zone.stale |= !file.device.is_model();
            return;
        }
        self.retries = 0;
        let (left, in_flight, start, len) = (zone.left(), zone.in_flight, zone.start, zone.len);
        let too_little = left < self.rules.smallest && !(self.rules.write_remainder && left > 0);
        if in_flight > 0 || !too_little {
            return;
        }
        if left > 0 {
            // The device has resources for it until it is full.
            let finished = file.device.command(ZoneCommand::Finish, start, len);
            if let Err(error) = finished {
                self.fault = Some(ZoneFault { file: io.file, what: "finishing the zone at", start, error });
            }
            table.zones[index].finished = true;
        }
        table.close(index);
    }

    /// `recover_zbd_write_error`: where a write that failed can be made again, if that is to be tried.
    pub(crate) fn recover(&mut self, io: &Io) -> Option<u64> {
        let file = self.files.get(io.file as usize)?;
        if !self.rules.recover || io.op != Op::Write || self.retries >= MOST_RETRIES || file.device.is_model() {
            return None;
        }
        let mut table = lock(&file.table);
        let index = table.index(io.offset);
        let start = table.zones.get(index).filter(|zone| zone.sequential)?.start;
        let zone = file.device.zone_at(start).ok()?;
        let in_flight = table.zones[index].in_flight;
        table.refresh(index, &zone);
        if table.zones[index].left() < u64::from(io.len) {
            return None;
        }
        self.retries += 1;
        let (offset, written) = (table.zones[index].write_pointer(), table.zones[index].written);
        table.set_written(index, written + u64::from(io.len));
        table.zones[index].in_flight = in_flight;
        Some(offset)
    }
}

impl Drop for Zoning {
    fn drop(&mut self) {
        for file in &self.files {
            lock(&file.table).leave(self.worker, file.device.is_model());
        }
    }
}

/// The device behind a file.
fn open_device(
    plan: &WorkerPlan,
    file: &FilePlan,
    tables: &ZoneTables,
    descriptor: impl FnOnce() -> io::Result<std::os::fd::OwnedFd>,
) -> io::Result<Box<dyn ZoneDevice>> {
    let job = &*plan.job;
    if let Some(disk) = tables.disk(&file.path) {
        return Ok(Box::new(Simulated(Arc::clone(disk))));
    }
    if device_facts(plan.engine, &file.path).is_some() {
        return Ok(Box::new(Kernel(descriptor()?)));
    }
    let there = if plan.engine.caps.diskless { 0 } else { facts_at(&file.path).map_or(0, |facts| facts.size_bytes) };
    let zone_bytes = job.shape.zones.size_bytes.max(1);
    let capacity = job.shape.zoned.capacity_bytes;
    Ok(Box::new(Model {
        zone_bytes,
        capacity_bytes: if capacity == 0 { zone_bytes } else { capacity },
        // What lies behind so many zones is none of them.
        file_bytes: file.file_bytes.max(there).min(plan::MOST_MODEL_ZONES.saturating_mul(zone_bytes)),
    }))
}

/// Joins a worker to the table of its file.
fn file_zones(
    plan: &WorkerPlan,
    file: &FilePlan,
    tables: &ZoneTables,
    device: Box<dyn ZoneDevice>,
    zones: &[Zone],
) -> Result<FileZones, RunError> {
    let job = &*plan.job;
    let shared = tables.table(&file.path);
    let zone_bytes = zones.first().map_or(1, |zone| zone.len);
    let limit = plan::open_limit(plan, file, tables)?;
    let (first, end) = {
        let mut table = lock(&shared);
        table.extend(zones);
        table.limit_open(limit);
        table.counts_open |= table.open_limit > 0 || job.shape.zoned.job_max_open > 0;
        let first = table.index(file.region_start);
        let end = table.index(file.region_start.saturating_add(file.region_bytes)).min(table.zones.len());
        table.test(first, end);
        (first, end)
    };
    Ok(FileZones { table: shared, device, first, end, skip_bytes: plan::skip_bytes(job, zone_bytes) })
}

#[cfg(test)]
mod tests;
