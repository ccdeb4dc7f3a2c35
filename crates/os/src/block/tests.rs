//! A made-up sysfs tree, and the running kernel's.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

/// A directory that is removed at the end.
struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Tree {
    fn new(test: &str) -> Tree {
        let dir = std::env::temp_dir().join(format!("iostrata-sysfs-{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Tree(dir)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(Path::new(to), path).unwrap();
    }

    /// A device as the kernel lays it out: its directory, and the links to it by name and by number.
    fn device(&self, dir: &str, number: &str) {
        let name = dir.rsplit('/').next().unwrap();
        self.file(&format!("devices/{dir}/size"), "2048\n");
        self.link(&format!("class/block/{name}"), &format!("../../devices/{dir}"));
        self.link(&format!("dev/block/{number}"), &format!("../../devices/{dir}"));
    }
}

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

/// A disk `sda` with a partition `sda1` that carries `dm-0`, as LVM does.
fn disk_with_volume(test: &str) -> (Tree, Sysfs) {
    let tree = Tree::new(test);
    tree.device("pci/block/sda", "8:0");
    tree.device("pci/block/sda/sda1", "8:1");
    tree.file("devices/pci/block/sda/sda1/partition", "1\n");
    tree.file("devices/pci/block/sda/queue/logical_block_size", "4096\n");
    tree.device("virtual/block/dm-0", "253:0");
    tree.link("devices/virtual/block/dm-0/slaves/sda1", "../../../../pci/block/sda/sda1");
    tree.link("devices/pci/block/sda/sda1/holders/dm-0", "../../../../../virtual/block/dm-0");
    let sysfs = Sysfs::at(&tree.0);
    (tree, sysfs)
}

#[test]
fn a_partition_belongs_to_its_disk() {
    let (_tree, sysfs) = disk_with_volume("partition");
    assert_eq!(sysfs.name_of(number(8, 1)).as_deref(), Some("sda1"));
    assert_eq!(sysfs.disk_of(number(8, 1)).as_deref(), Some("sda"));
    assert_eq!(sysfs.disk_of(number(8, 0)).as_deref(), Some("sda"));
    assert_eq!(sysfs.disk_of(number(253, 0)).as_deref(), Some("dm-0"));
    assert_eq!(sysfs.disk_of(number(0, 42)), None, "a file system without a device");
}

#[test]
fn slaves_and_holders_point_at_each_other() {
    let (_tree, sysfs) = disk_with_volume("stack");
    assert_eq!(sysfs.slaves("dm-0"), ["sda1"]);
    assert_eq!(sysfs.holders("sda1"), ["dm-0"]);
    assert!(sysfs.slaves("sda").is_empty());
    assert!(sysfs.holders("nosuch").is_empty());
}

#[test]
fn sizes_count_512_bytes_and_the_block_is_the_disks() {
    let (_tree, sysfs) = disk_with_volume("sizes");
    assert_eq!(sysfs.size_bytes(number(8, 1)), Some(1 << 20));
    assert_eq!(sysfs.logical_block_bytes(number(8, 1)), Some(4096), "a partition has its disk's");
    assert_eq!(sysfs.logical_block_bytes(number(253, 0)), None);
}

#[test]
fn a_slash_in_a_device_name_is_written_otherwise_in_sysfs() {
    let tree = Tree::new("slash");
    tree.device("pci/block/cciss!c0d0", "104:0");
    tree.file("devices/pci/block/cciss!c0d0/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
    let sysfs = Sysfs::at(&tree.0);
    assert_eq!(sysfs.name_of(number(104, 0)).as_deref(), Some("cciss/c0d0"));
    assert_eq!(sysfs.counters("cciss/c0d0").unwrap().in_queue_ms, 11);
}

#[test]
fn a_scheduler_is_read_with_its_rivals_and_a_refusal_is_seen() {
    let (tree, sysfs) = disk_with_volume("scheduler");
    assert_eq!(sysfs.schedulers("sda"), None);
    tree.file("devices/pci/block/sda/queue/scheduler", "none [mq-deadline] bfq\n");
    let offered = ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec();
    assert_eq!(sysfs.schedulers("sda"), Some(("mq-deadline".to_owned(), offered)));
    // A plain file keeps what is written: no scheduler is marked as the one in force.
    assert!(sysfs.set_scheduler("sda", "bfq").is_err());
    assert!(sysfs.set_scheduler("nowhere", "bfq").is_err());
}

#[test]
fn counters_of_every_kernel_age_are_read() {
    let old = DiskCounters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
    assert_eq!((old.read_ios, old.write_ticks_ms, old.in_queue_ms, old.discard_ios), (1, 8, 11, 0));
    let new = DiskCounters::parse("  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
    assert_eq!((new.discard_ios, new.discard_sectors, new.flush_ios), (12, 14, 16));
    assert_eq!(DiskCounters::parse("1 2 3"), None);
    assert_eq!(DiskCounters::parse(""), None);
}

#[test]
fn a_difference_keeps_what_is_in_flight_and_never_wraps() {
    let earlier = DiskCounters { read_ios: 10, write_ios: 5, in_flight: 3, ..DiskCounters::default() };
    let later = DiskCounters { read_ios: 12, write_ios: 1, in_flight: 2, ..DiskCounters::default() };
    let between = later - earlier;
    assert_eq!((between.read_ios, between.write_ios, between.in_flight), (2, 0, 2));
}

#[cfg(target_os = "linux")]
#[test]
fn the_running_kernel_is_understood() {
    let sysfs = Sysfs::default();
    for entry in fs::read_dir("/sys/class/block").unwrap().flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("dev")) else { continue };
        let (major, minor) = text.trim().split_once(':').unwrap();
        let device = number(major.parse().unwrap(), minor.parse().unwrap());
        let seen = (sysfs.name_of(device), sysfs.counters(&entry.file_name().to_string_lossy()).is_some());
        let block_bytes = sysfs.logical_block_bytes(device);
        if !entry.path().exists() {
            continue; // Taken away meanwhile by somebody else.
        }
        assert_eq!(device.to_string(), text.trim());
        assert_eq!(seen, (entry.file_name().into_string().ok().map(|name| name.replace('!', "/")), true));
        assert!(block_bytes.is_some_and(|bytes| bytes >= 512), "{device}: {block_bytes:?}");
    }
}

#[test]
fn a_zoned_disk_tells_its_zones_and_a_plain_one_none() {
    let (tree, sysfs) = disk_with_volume("zoned");
    assert_eq!(sysfs.zoned(number(8, 0)), None);
    tree.file("devices/pci/block/sda/queue/zoned", "none\n");
    tree.file("devices/pci/block/sda/queue/chunk_sectors", "524288\n");
    assert_eq!(sysfs.zoned(number(8, 0)), None);
    tree.file("devices/pci/block/sda/queue/zoned", "host-managed\n");
    tree.file("devices/pci/block/sda/queue/max_open_zones", "14\n");
    let told = ZonedFacts { zone_bytes: 256 << 20, max_open: 14, max_active: 0 };
    assert_eq!(sysfs.zoned(number(8, 1)), Some(told), "a partition's are its disk's");
    tree.file("devices/pci/block/sda/queue/max_active_zones", "28\n");
    assert_eq!(sysfs.zoned(number(8, 0)), Some(ZonedFacts { max_active: 28, ..told }));
}
