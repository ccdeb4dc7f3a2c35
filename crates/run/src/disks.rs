//! What the kernel counts for the disks under the jobs' files, from start to end.

use std::path::{Path, PathBuf};

use iostrata_os::block::{DiskCounters, Sysfs};
use iostrata_os::file::{Kind, facts_at};
use iostrata_result::DiskUse;

use crate::plan::Plan;

/// The disks of a run and their counters at its start.
pub(crate) struct Disks {
    sysfs: Sysfs,
    start_ns: u64,
    disks: Vec<Watched>,
}

struct Watched {
    name: String,
    start: DiskCounters,
    members: Vec<(String, DiskCounters)>,
}

impl Disks {
    /// No disks: nothing has begun.
    pub(crate) fn none(now_ns: u64) -> Self {
        Disks { sysfs: Sysfs::default(), start_ns: now_ns, disks: Vec::new() }
    }

    /// Looks up the disks under all files of the plan and reads their counters.
    pub(crate) fn watch(plan: &Plan, now_ns: u64) -> Self {
        let sysfs = Sysfs::default();
        let mut names: Vec<String> = Vec::new();
        // Files of one folder mostly follow each other, and are on one disk.
        let mut last_folder = None;
        for worker in &plan.workers {
            if worker.engine.caps.diskless || !worker.job.reporting.disk_util {
                continue;
            }
            for file in &worker.files {
                let folder = Some(file.path.parent()).filter(|_| matches!(file.kind, None | Some(Kind::Regular)));
                if folder.is_some() && std::mem::replace(&mut last_folder, folder) == folder {
                    continue;
                }
                if let Some(name) = disk_under(&sysfs, &file.path)
                    && !names.contains(&name)
                {
                    names.push(name);
                }
            }
        }
        let disks = names.into_iter().filter_map(|name| Watched::new(&sysfs, name)).collect();
        Disks { sysfs, start_ns: now_ns, disks }
    }

    /// What was counted since.
    pub(crate) fn used(&self, now_ns: u64) -> Vec<DiskUse> {
        let window_ms = now_ns.saturating_sub(self.start_ns) / 1_000_000;
        let since = |name: &str, start: DiskCounters| {
            let now = self.sysfs.counters(name)?;
            Some(disk_use(name, now - start, window_ms))
        };
        self.disks
            .iter()
            .filter_map(|disk| {
                let members = disk.members.iter().filter_map(|(name, start)| since(name, *start)).collect();
                Some(DiskUse { members, ..since(&disk.name, disk.start)? })
            })
            .collect()
    }
}

impl Watched {
    fn new(sysfs: &Sysfs, name: String) -> Option<Self> {
        let start = sysfs.counters(&name)?;
        let members = sysfs.slaves(&name).into_iter().filter_map(|member| {
            let counters = sysfs.counters(&member)?;
            Some((member, counters))
        });
        Some(Watched { start, members: members.collect(), name })
    }
}

/// The whole disk that holds a file, or that a node is; a file that does not exist yet is on its folder's disk.
pub(crate) fn disk_under(sysfs: &Sysfs, path: &Path) -> Option<String> {
    let mut place = PathBuf::from(path);
    let facts = loop {
        match facts_at(if place.as_os_str().is_empty() { Path::new(".") } else { &place }) {
            Ok(facts) => break facts,
            Err(_) if place.pop() => {}
            Err(_) => return None,
        }
    };
    sysfs.disk_of(facts.device)
}

fn disk_use(name: &str, counted: DiskCounters, window_ms: u64) -> DiskUse {
    DiskUse {
        name: name.to_string(),
        ios: [counted.read_ios, counted.write_ios],
        sectors: [counted.read_sectors, counted.write_sectors],
        merges: [counted.read_merges, counted.write_merges],
        ticks_ms: [counted.read_ticks_ms, counted.write_ticks_ms],
        in_queue_ms: counted.in_queue_ms,
        busy_ms: counted.io_ticks_ms,
        window_ms,
        members: Vec::new(),
    }
}
