//! Block devices in Linux's sysfs: counters, and who lies on whom. On macOS there is no sysfs: every answer is empty.

use std::fs;
use std::ops::Sub;
use std::path::PathBuf;

use crate::file::DeviceNumber;
use crate::zoned::ZonedFacts;

/// The tree under `/sys`, or one like it.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
}

impl Default for Sysfs {
    /// The running kernel's.
    fn default() -> Sysfs {
        Sysfs::at("/sys")
    }
}

/// A device's counters since it appeared (the kernel's Documentation/admin-guide/iostats.rst); sectors are 512 bytes
/// whatever the device's own are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads completed.
    pub read_ios: u64,
    /// Reads that were joined to one already queued.
    pub read_merges: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Time that all reads took, added up.
    pub read_ticks_ms: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Writes that were joined to one already queued.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// Time that all writes took, added up.
    pub write_ticks_ms: u64,
    /// Requests in flight now; the only field that is no counter.
    pub in_flight: u64,
    /// Time during which at least one request was in flight.
    pub io_ticks_ms: u64,
    /// Time that all requests took, added up.
    pub in_queue_ms: u64,
    /// Discards completed; 0 before Linux 4.18.
    pub discard_ios: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// Flushes completed; 0 before Linux 5.5.
    pub flush_ios: u64,
}

impl DiskCounters {
    /// From the text of a `stat` file: 11 numbers, 15 since Linux 4.18, 17 since 5.5; more may follow.
    fn parse(text: &str) -> Option<DiskCounters> {
        let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if numbers.len() < 11 {
            return None;
        }
        let later = |index: usize| numbers.get(index).copied().unwrap_or(0);
        Some(DiskCounters {
            read_ios: numbers[0],
            read_merges: numbers[1],
            read_sectors: numbers[2],
            read_ticks_ms: numbers[3],
            write_ios: numbers[4],
            write_merges: numbers[5],
            write_sectors: numbers[6],
            write_ticks_ms: numbers[7],
            in_flight: numbers[8],
            io_ticks_ms: numbers[9],
            in_queue_ms: numbers[10],
            discard_ios: later(11),
            discard_sectors: later(13),
            flush_ios: later(15),
        })
    }
}

impl Sub for DiskCounters {
    type Output = DiskCounters;

    /// What happened since `earlier`; `in_flight` stays as it is now. A device that was replaced gives 0.
    fn sub(self, earlier: DiskCounters) -> DiskCounters {
        DiskCounters {
            read_ios: self.read_ios.saturating_sub(earlier.read_ios),
            read_merges: self.read_merges.saturating_sub(earlier.read_merges),
            read_sectors: self.read_sectors.saturating_sub(earlier.read_sectors),
            read_ticks_ms: self.read_ticks_ms.saturating_sub(earlier.read_ticks_ms),
            write_ios: self.write_ios.saturating_sub(earlier.write_ios),
            write_merges: self.write_merges.saturating_sub(earlier.write_merges),
            write_sectors: self.write_sectors.saturating_sub(earlier.write_sectors),
            write_ticks_ms: self.write_ticks_ms.saturating_sub(earlier.write_ticks_ms),
            in_flight: self.in_flight,
            io_ticks_ms: self.io_ticks_ms.saturating_sub(earlier.io_ticks_ms),
            in_queue_ms: self.in_queue_ms.saturating_sub(earlier.in_queue_ms),
            discard_ios: self.discard_ios.saturating_sub(earlier.discard_ios),
            discard_sectors: self.discard_sectors.saturating_sub(earlier.discard_sectors),
            flush_ios: self.flush_ios.saturating_sub(earlier.flush_ios),
        }
    }
}

impl Sysfs {
    /// The tree whose top is `root`.
    pub fn at(root: impl Into<PathBuf>) -> Sysfs {
        Sysfs { root: root.into() }
    }

    /// The counters of a device or partition (`sda`, `nvme0n1p2`); `None` if there is no such device.
    pub fn counters(&self, name: &str) -> Option<DiskCounters> {
        DiskCounters::parse(&fs::read_to_string(self.class_dir(name).join("stat")).ok()?)
    }

    /// The name of a block device as under `/dev`; of a partition, its own.
    pub fn name_of(&self, device: DeviceNumber) -> Option<String> {
        dir_name(&self.device_dir(device)?)
    }

    /// The name of the whole disk that the device is, or is a partition of.
    pub fn disk_of(&self, device: DeviceNumber) -> Option<String> {
        dir_name(&self.disk_dir(device)?)
    }

    /// The names of the devices that this one is built of (RAID, device mapper); sorted.
    pub fn slaves(&self, name: &str) -> Vec<String> {
        names_in(self.class_dir(name).join("slaves"))
    }

    /// The names of the devices that are built on this one; sorted. Partitions are not among them.
    pub fn holders(&self, name: &str) -> Vec<String> {
        names_in(self.class_dir(name).join("holders"))
    }

    /// The capacity of a device or partition.
    pub fn size_bytes(&self, device: DeviceNumber) -> Option<u64> {
        // In sectors of 512 bytes whatever the device's own are.
        number_in(self.device_dir(device)?.join("size"))?.checked_mul(512)
    }

    /// The smallest unit that the device can address, in bytes.
    pub fn logical_block_bytes(&self, device: DeviceNumber) -> Option<u32> {
        number_in(self.disk_dir(device)?.join("queue/logical_block_size"))?.try_into().ok()
    }

    /// What a device tells of its zones; `None` for one without (`queue/zoned` says `none`, or is not there).
    pub fn zoned(&self, device: DeviceNumber) -> Option<ZonedFacts> {
        let queue = self.disk_dir(device)?.join("queue");
        let model = fs::read_to_string(queue.join("zoned")).ok()?;
        if !matches!(model.trim(), "host-managed" | "host-aware") {
            return None;
        }
        let limit = |name: &str| number_in(queue.join(name)).and_then(|limit| limit.try_into().ok()).unwrap_or(0);
        // In sectors of 512 bytes; of a zoned device it is the size of a zone.
        let zone_bytes = number_in(queue.join("chunk_sectors"))?.checked_mul(512).filter(|bytes| *bytes > 0)?;
        Some(ZonedFacts { zone_bytes, max_open: limit("max_open_zones"), max_active: limit("max_active_zones") })
    }

    /// The I/O scheduler of a disk, and those that it offers; `None` for a disk without a choice.
    pub fn schedulers(&self, disk: &str) -> Option<(String, Vec<String>)> {
        let text = fs::read_to_string(self.class_dir(disk).join("queue/scheduler")).ok()?;
        let current = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
        let offered = text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned());
        Some((current.to_owned(), offered.collect()))
    }

    /// Gives a disk another I/O scheduler.
    ///
    /// # Errors
    /// What the kernel said; `EINVAL` if it took the name and another scheduler is in force.
    pub fn set_scheduler(&self, disk: &str, scheduler: &str) -> std::io::Result<()> {
        fs::write(self.class_dir(disk).join("queue/scheduler"), scheduler)?;
        match self.schedulers(disk) {
            Some((current, _)) if current == scheduler => Ok(()),
            _ => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    fn class_dir(&self, name: &str) -> PathBuf {
        // Where a name under /dev has a slash (cciss/c0d0), sysfs writes "!".
        self.root.join("class/block").join(name.replace('/', "!"))
    }

    /// The device's real directory, behind the symbolic link.
    fn device_dir(&self, device: DeviceNumber) -> Option<PathBuf> {
        fs::canonicalize(self.root.join("dev/block").join(device.to_string())).ok()
    }

    /// The directory of the whole disk: a partition's lies in its disk's.
    fn disk_dir(&self, device: DeviceNumber) -> Option<PathBuf> {
        let mut dir = self.device_dir(device)?;
        if dir.join("partition").exists() {
            dir.pop();
        }
        Some(dir)
    }
}

/// Writes back the dirty pages of every file system, and waits (`sync`).
pub fn flush_all() {
    rustix::fs::sync();
}

fn dir_name(dir: &std::path::Path) -> Option<String> {
    Some(dir.file_name()?.to_str()?.replace('!', "/"))
}

fn names_in(dir: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| dir_name(&entry.path())).collect();
    names.sort();
    names
}

fn number_in(file: PathBuf) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
