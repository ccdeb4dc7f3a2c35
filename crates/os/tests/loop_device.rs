//! A block device of our own: a loop device on a temporary file, made and detached here.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_os::block::Sysfs;
use iostrata_os::file::{self, Advice, Kind, OpenFlags};
use iostrata_os::memory::Mapping;

/// The smallest that mkfs.xfs takes; the file behind it is sparse.
const SIZE_BYTES: u64 = 320 << 20;

/// Detached, and its file removed, when the test ends.
struct LoopDevice {
    device: PathBuf,
    backing: PathBuf,
}

impl LoopDevice {
    /// `None`, with the reason on standard error, where this user or machine cannot make one.
    fn new(test: &str) -> Option<LoopDevice> {
        let backing = std::env::temp_dir().join(format!("iostrata-loop-{test}-{}", std::process::id()));
        std::fs::File::create(&backing).unwrap().set_len(SIZE_BYTES).unwrap();
        let output = Command::new("losetup").args(["--find", "--show", "--sector-size", "4096"]).arg(&backing).output();
        let device = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
        let Some(device) = device else {
            std::fs::remove_file(&backing).unwrap();
            skip(test, "root and loop devices (losetup)");
            return None;
        };
        let device = PathBuf::from(String::from_utf8(device).unwrap().trim());
        Some(LoopDevice { device, backing })
    }

    fn name(&self) -> &str {
        self.device.file_name().unwrap().to_str().unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
        let _ = std::fs::remove_file(&self.backing);
    }
}

#[allow(clippy::print_stderr)]
fn skip(test: &str, needs: &str) {
    eprintln!("SKIP: {test} needs {needs} (run the tests as root on a Linux with loop devices)");
}

#[test]
fn a_block_device_is_what_it_says_by_path_and_by_descriptor() {
    let Some(disk) = LoopDevice::new("facts") else { return };
    let fd = file::open(&disk.device, OpenFlags { read: true, ..OpenFlags::default() }, 0).unwrap();
    let facts = file::facts(&fd).unwrap();
    assert_eq!(facts, file::facts_at(&disk.device).unwrap());
    assert_eq!((facts.kind, facts.size_bytes), (Kind::Block, SIZE_BYTES));
    assert_eq!(facts.dio.unwrap().offset_bytes, 4096, "the sector size that it was made with");
    let sysfs = Sysfs::default();
    assert_eq!(sysfs.name_of(facts.device).as_deref(), Some(disk.name()));
    assert_eq!(sysfs.disk_of(facts.device).as_deref(), Some(disk.name()));
    assert_eq!(sysfs.logical_block_bytes(facts.device), Some(4096));
    assert!(sysfs.slaves(disk.name()).is_empty() && sysfs.holders(disk.name()).is_empty());
}

#[test]
fn direct_io_is_counted_and_must_be_aligned_as_told() {
    let Some(disk) = LoopDevice::new("direct") else { return };
    let flags = OpenFlags { read: true, write: true, direct: true, ..OpenFlags::default() };
    let fd = file::open(&disk.device, flags, 0).unwrap();
    let mut memory = Mapping::new(64 << 10).unwrap();
    memory.as_mut_slice().fill(0x5a);
    let sysfs = Sysfs::default();
    let before = sysfs.counters(disk.name()).unwrap();
    for block in 0..16 {
        file::write_all_at(&fd, &memory.as_slice()[..4096], block * 4096).unwrap();
    }
    let did = sysfs.counters(disk.name()).unwrap() - before;
    assert_eq!((did.write_ios, did.write_sectors), (16, 128));

    let refused = file::write_all_at(&fd, &memory.as_slice()[..512], 0).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(22), "half a sector is EINVAL");
    memory.as_mut_slice().fill(0);
    assert_eq!(file::read_at(&fd, memory.as_mut_slice(), 0).unwrap(), 64 << 10);
    assert!(memory.as_slice().iter().all(|&byte| byte == 0x5a));
}

#[test]
fn flushing_the_cache_makes_the_next_read_reach_the_device() {
    let Some(disk) = LoopDevice::new("flush") else { return };
    let fd = file::open(&disk.device, OpenFlags { read: true, ..OpenFlags::default() }, 0).unwrap();
    file::advise(&fd, 0, 0, Advice::Random).unwrap();
    let sysfs = Sysfs::default();
    let mut buffer = [0u8; 4096];
    let mut sectors_read = || {
        let before = sysfs.counters(disk.name()).unwrap();
        file::read_at(&fd, &mut buffer, 1 << 20).unwrap();
        (sysfs.counters(disk.name()).unwrap() - before).read_sectors
    };
    file::flush_block_cache(&fd).unwrap();
    assert!(sectors_read() >= 8);
    assert_eq!(sectors_read(), 0, "the second time it comes from the cache");
    file::flush_block_cache(&fd).unwrap();
    assert!(sectors_read() >= 8);
}

#[test]
fn an_exclusive_open_keeps_the_next_one_out() {
    let Some(disk) = LoopDevice::new("exclusive") else { return };
    let exclusive = OpenFlags { read: true, exclusive: true, ..OpenFlags::default() };
    let first = file::open(&disk.device, exclusive, 0).unwrap();
    let second = file::open(Path::new(&disk.device), exclusive, 0).unwrap_err();
    assert_eq!(second.kind(), std::io::ErrorKind::ResourceBusy);
    drop(first);
    file::open(&disk.device, exclusive, 0).unwrap();
}

/// A file system of our own on the device, unmounted at the end.
struct Mount<'a> {
    disk: &'a LoopDevice,
    dir: PathBuf,
}

impl<'a> Mount<'a> {
    /// `None` where the tools for this file system are missing.
    fn new(disk: &'a LoopDevice, kind: &str) -> Option<Mount<'a>> {
        let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
            Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
        };
        let force = if kind == "xfs" { "-f" } else { "-F" };
        if !run(&format!("mkfs.{kind}"), &["-q".as_ref(), force.as_ref(), disk.device.as_ref()]) {
            return None;
        }
        let dir = disk.backing.with_extension("mount");
        std::fs::create_dir(&dir).unwrap();
        let mount = Mount { disk, dir };
        run("mount", &[disk.device.as_ref(), mount.dir.as_ref()]).then_some(mount)
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.disk.device).output();
        let _ = std::fs::remove_dir(&self.dir);
    }
}

#[test]
fn a_file_on_a_mounted_disk_leads_back_to_the_disk() {
    let Some(disk) = LoopDevice::new("mounted") else { return };
    for kind in ["ext4", "xfs"] {
        let Some(mount) = Mount::new(&disk, kind) else {
            skip(&format!("a file on {kind}"), "mkfs for it, and the right to mount");
            continue;
        };
        let flags = OpenFlags { read: true, write: true, create: true, direct: true, ..OpenFlags::default() };
        let fd = file::open(&mount.dir.join("file"), flags, 0o600).unwrap();
        assert_eq!(file::file_system_name(&fd).unwrap(), kind);
        let facts = file::facts(&fd).unwrap();
        assert_eq!(Sysfs::default().disk_of(facts.device).as_deref(), Some(disk.name()));
        assert_eq!(facts.dio.unwrap().offset_bytes, 4096, "{kind} hands on the device's sector");
        assert!(file::free_bytes(&fd).unwrap() < SIZE_BYTES);
        file::fallocate(&fd, false, 0, 1 << 20).unwrap();
        let exclusive = OpenFlags { read: true, exclusive: true, ..OpenFlags::default() };
        let refused = file::open(&disk.device, exclusive, 0).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ResourceBusy, "a mounted disk is in use");
        let full = file::fallocate(&fd, false, 0, SIZE_BYTES).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }
}
