//! The zones of one device as the run knows them: write pointers, what is open, what is in flight.
//!
//! All workers on the device share the table, under a lock: a write pointer can belong to none of them alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostrata_engine::ZonedDisk;
use iostrata_os::zoned::{Zone, ZoneCondition, ZoneKind};
use iostrata_spec::SimZones;

use super::plan::simulated_zones;
use crate::plan::{Plan, WorkerPlan};

/// A zone that no worker at work has opened.
pub(super) const NOBODY: u32 = u32::MAX;

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) start: u64,
    /// To the beginning of the next.
    pub(super) len: u64,
    /// Bytes that can be written, from its start.
    pub(super) capacity: u64,
    /// Bytes that were written, from its start: the write pointer, counting what is planned.
    pub(super) written: u64,
    /// Takes writes at its write pointer only.
    pub(super) sequential: bool,
    /// Can be read and written.
    pub(super) usable: bool,
    /// No more is written into it, though there may be room.
    pub(super) finished: bool,
    /// Writes and trims in flight, and whose.
    pub(super) in_flight: u32,
    pub(super) owner: u32,
    /// What is in flight is a trim.
    pub(super) trimming: bool,
    /// Where its write pointer is, only the device knows.
    pub(super) stale: bool,
    /// Who opened it.
    pub(super) opener: u32,
    /// Belongs to what a job works on.
    tested: bool,
}

impl State {
    fn of(zone: &Zone) -> State {
        let mut state = State {
            start: zone.start,
            len: zone.len,
            capacity: zone.capacity.min(zone.len),
            written: 0,
            sequential: zone.kind != ZoneKind::Conventional,
            usable: true,
            finished: false,
            in_flight: 0,
            owner: NOBODY,
            trimming: false,
            stale: false,
            opener: NOBODY,
            tested: false,
        };
        state.stand_as(zone);
        state
    }

    fn stand_as(&mut self, zone: &Zone) {
        self.usable = !matches!(zone.condition, ZoneCondition::ReadOnly | ZoneCondition::Offline);
        self.finished = zone.condition == ZoneCondition::Full;
        self.written = match zone.condition {
            ZoneCondition::Empty => 0,
            ZoneCondition::Full => self.capacity,
            _ if !self.sequential => self.capacity,
            _ => zone.write_pointer.saturating_sub(zone.start).min(self.capacity),
        };
        self.stale = false;
    }

    /// Bytes that can still be written.
    pub(super) fn left(&self) -> u64 {
        if self.finished { 0 } else { self.capacity - self.written }
    }

    /// The end of what was written.
    pub(super) fn write_pointer(&self) -> u64 {
        self.start + self.written
    }
}

/// All zones of a device.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) zones: Vec<State>,
    pub(super) zone_bytes: u64,
    /// Positions of those that are open for writing.
    pub(super) open: Vec<usize>,
    /// As many may be; 0: any number.
    pub(super) open_limit: u32,
    /// Whether somebody needs to know which are open.
    pub(super) counts_open: bool,
    tested_bytes: u64,
    valid_bytes: u64,
}

impl Table {
    /// Takes in what the device says of zones that are not known yet.
    pub(super) fn extend(&mut self, zones: &[Zone]) {
        let Some(first) = zones.first() else { return };
        self.zone_bytes = first.len;
        for zone in zones.iter().skip(self.zones.len()) {
            let state = State::of(zone);
            if state.sequential && state.written > 0 && state.left() > 0 {
                self.open.push(self.zones.len());
            }
            self.zones.push(state);
        }
    }

    /// The smaller of the limits holds for all.
    pub(super) fn limit_open(&mut self, limit: u32) {
        if limit > 0 {
            self.open_limit = if self.open_limit == 0 { limit } else { self.open_limit.min(limit) };
        }
    }

    /// A job works on these.
    pub(super) fn test(&mut self, first: usize, end: usize) {
        let end = end.min(self.zones.len());
        for zone in self.zones[first.min(end)..end].iter_mut().filter(|zone| !zone.tested && zone.sequential) {
            zone.tested = true;
            self.tested_bytes += zone.capacity;
            self.valid_bytes += zone.written;
        }
    }

    /// Bytes with data, as a share of all that jobs work on.
    pub(super) fn valid_share(&self) -> f64 {
        if self.tested_bytes == 0 { 0.0 } else { self.valid_bytes as f64 / self.tested_bytes as f64 }
    }

    /// The zone in which `offset` lies.
    pub(super) fn index(&self, offset: u64) -> usize {
        usize::try_from(offset / self.zone_bytes.max(1)).unwrap_or(usize::MAX)
    }

    pub(super) fn is_open(&self, index: usize) -> bool {
        self.open.contains(&index)
    }

    /// How many are open, and how many of them `worker` opened.
    pub(super) fn open_counts(&self, worker: u32) -> (usize, usize) {
        (self.open.len(), self.open.iter().filter(|&&index| self.zones[index].opener == worker).count())
    }

    pub(super) fn open(&mut self, index: usize, worker: u32) {
        if self.counts_open && !self.is_open(index) {
            self.open.push(index);
            self.zones[index].opener = worker;
        }
    }

    pub(super) fn close(&mut self, index: usize) {
        self.open.retain(|&open| open != index);
        self.zones[index].opener = NOBODY;
    }

    /// What of the zone is written from now on.
    pub(super) fn set_written(&mut self, index: usize, written: u64) {
        let zone = &mut self.zones[index];
        if zone.tested {
            self.valid_bytes = self.valid_bytes + written - zone.written;
        }
        zone.written = written;
    }

    /// Empties a zone.
    pub(super) fn clear(&mut self, index: usize) {
        self.set_written(index, 0);
        self.zones[index].finished = false;
        self.close(index);
    }

    /// Takes a zone's state from the device.
    pub(super) fn refresh(&mut self, index: usize, zone: &Zone) {
        let before = self.zones[index].written;
        self.zones[index].stand_as(zone);
        let after = std::mem::replace(&mut self.zones[index].written, before);
        self.set_written(index, after);
        if self.zones[index].left() == 0 || after == 0 {
            self.close(index);
        }
    }

    /// A worker is gone: what it had in flight has ended or never began, what it opened is nobody's.
    pub(super) fn leave(&mut self, worker: u32, model: bool) {
        for zone in &mut self.zones {
            if zone.owner == worker && zone.in_flight > 0 {
                (zone.in_flight, zone.trimming, zone.stale) = (0, false, !model);
            }
            if zone.opener == worker {
                zone.opener = NOBODY;
            }
        }
    }
}

/// A table that workers share.
pub(super) type SharedTable = Arc<Mutex<Table>>;

pub(super) fn lock(table: &SharedTable) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tables of a run, and the disks of its `sim` jobs, by what they are of.
pub(crate) struct ZoneTables {
    tables: Mutex<HashMap<PathBuf, SharedTable>>,
    disks: HashMap<PathBuf, Arc<ZonedDisk>>,
}

impl ZoneTables {
    /// The table of a file; two names of one device are one.
    pub(super) fn table(&self, path: &Path) -> SharedTable {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry(path).or_default())
    }

    /// With the disks that the plan's `sim` jobs work on: each as large as the one that reaches farthest needs it.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut wanted: HashMap<&Path, (SimZones, u64)> = HashMap::new();
        let simulated = |worker: &&Arc<WorkerPlan>| simulated_zones(&worker.job, worker.engine).is_some();
        for worker in plan.workers.iter().filter(simulated) {
            for file in &worker.files {
                let zones = worker.job.engine_options.sim.zones;
                let (_, bytes) = wanted.entry(&file.path).or_insert((zones, 0));
                *bytes = file.file_bytes.max(*bytes);
            }
        }
        let disk = |(path, (zones, bytes)): (&Path, _)| (path.to_path_buf(), Arc::new(ZonedDisk::new(&zones, bytes)));
        ZoneTables { tables: Mutex::default(), disks: wanted.into_iter().map(disk).collect() }
    }

    /// The disk that a `sim` file is, if it has zones.
    pub(crate) fn disk(&self, path: &Path) -> Option<&Arc<ZonedDisk>> {
        self.disks.get(path)
    }
}
