//! The rules on a made-up machine: every row is one device, what is allowed, and what must come of it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use iostrata_os::file::{DeviceNumber, Kind};
use rustix::io::Errno;

use super::sysfs::Host;
use super::tables::number;
use crate::judge::{self, Allowed, Verdict};
use crate::signature::{Signature, SignatureKind};
use crate::tree::{Behind, Tree};

struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn file(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: PathBuf) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// A block device: where it lies below `/sys/devices`, its number, its other files.
    fn block(&self, place: &str, number: &str, files: &[(&str, &str)]) {
        let real = format!("sys/devices/{place}");
        self.file(&format!("{real}/dev"), number);
        self.file(&format!("{real}/size"), "2048\n");
        for (name, text) in files {
            self.file(&format!("{real}/{name}"), text);
        }
        let name = place.rsplit('/').next().unwrap();
        self.link(&format!("sys/class/block/{name}"), self.dir.path().join(real));
    }

    /// A character device of a class.
    fn char(&self, place: &str, number: &str, class: &str) {
        let real = format!("sys/devices/{place}");
        self.file(&format!("{real}/dev"), number);
        self.link(&format!("{real}/subsystem"), format!("/sys/class/{class}").into());
        self.link(&format!("sys/dev/char/{number}"), self.dir.path().join(real));
    }

    fn tree(&self) -> Tree {
        Host::at(self.dir.path()).tree().unwrap()
    }
}

const MOUNTS: &str = "\
22 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw
23 22 8:1 / /boot\\040dir rw shared:1 - vfat /dev/sda1 rw
24 22 0:30 /sub /data rw - btrfs /dev/sdd rw
25 22 0:31 / /cache rw - bcachefs /dev/sdj:/dev/sdk rw
26 22 0:32 / /old rw - reiser4 /dev/cciss/c0d0 rw
27 22 259:1 / /srv rw - xfs /dev/nvme0n2 rw
28 22 0:33 / /merged rw - overlay overlay rw,lowerdir=/a,upperdir=/b
29 22 0:34 / /tmp rw - tmpfs tmpfs rw
";

fn machine() -> Machine {
    let m = Machine { dir: tempfile::tempdir().unwrap() };
    m.block("sda", "8:0", &[("device/vpd_pg80", "\0\u{1}\0\u{4}Z1X2"), ("device/model", "SLOW  ")]);
    m.block("sda/sda1", "8:1", &[("partition", "1\n"), ("start", "2048\n")]);
    m.block("sda/sda2", "8:2", &[("partition", "2"), ("holders/dm-0", "")]);
    m.block("sda/sda3", "8:3", &[("partition", "3")]);
    m.block("virtual/dm-0", "253:0", &[("dm/uuid", "LVM-a1"), ("slaves/sda2", "")]);
    m.block("sdb", "8:16", &[]);
    m.block("sdb/sdb1", "8:17", &[("partition", "1")]);
    m.block("sdc", "8:32", &[("holders/md0", "")]);
    m.block("sdc/sdc1", "8:33", &[("partition", "1")]);
    m.block("virtual/md0", "9:0", &[]);
    m.block("sdd", "8:48", &[]);
    m.block("sde", "8:64", &[]);
    m.block("sdf", "8:80", &[]);
    m.block("virtual/loop0", "7:0", &[("loop/backing_file", "/dev/sdf\n")]);
    m.block("virtual/loop1", "7:1", &[("loop/backing_file", "/dev/sda\n")]);
    m.block("virtual/loop2", "7:2", &[("loop/backing_file", "/images/a b\n")]);
    m.block("virtual/loop3", "7:3", &[("loop/backing_file", "/dev/sdb1\n")]);
    m.block("sdg", "8:96", &[("device/wwid", "naa.5"), ("holders/dm-1", "")]);
    m.block("sdh", "8:112", &[("device/wwid", "naa.5\n")]);
    m.block("sdi", "8:128", &[("device/wwid", "naa.5"), ("size", "4096")]);
    m.block("sdj", "8:144", &[]);
    m.block("sdk", "8:160", &[]);
    m.block("cciss!c0d0", "104:0", &[]);
    let nvme = [("wwid", "eui.01 23"), ("device/serial", "S5,X"), ("queue/rotational", "0")];
    m.block("nvme0/nvme0n1", "259:0", &nvme);
    m.block("nvme0/nvme0n1/nvme0n1p1", "259:2", &[("partition", "1")]);
    m.block("nvme0/nvme0n2", "259:1", &[]);
    m.block("nvme-subsys1/nvme1n1", "259:3", &[]);
    m.block("vda", "254:0", &[("serial", "virt-7")]);
    m.file("run/udev/data/b8:16", "S:disk\nE:ID_SERIAL_SHORT=UDEV9\nE:ID_MODEL=Fast\n");

    m.char("host0/scsi_generic/sg0", "21:0", "scsi_generic");
    m.file("sys/devices/host0/scsi_generic/sg0/device/block/sda/dev", "8:0");
    m.char("host1/bsg/1:0:0:0", "247:1", "bsg");
    m.file("sys/devices/host1/bsg/1:0:0:0/device/block/sdb/dev", "8:16");
    m.char("host2/scsi_generic/sg2", "21:2", "scsi_generic");
    m.char("host3/scsi_tape/st0", "9:0", "scsi_tape");
    m.char("nvme0/ng0n1", "240:0", "nvme-generic");
    m.char("nvme0", "241:0", "nvme");
    m.char("nvme1", "241:1", "nvme");
    m.file("sys/devices/nvme-subsys1/nvme1/there", "");
    m.char("virtual/mem/mem", "1:1", "mem");

    m.file("sys/fs/btrfs/f00d/devices/sdd/dev", "");
    m.file("sys/fs/btrfs/f00d/devices/sde/dev", "");
    m.file("sys/fs/btrfs/features/raid56", "");
    m.file("proc/self/mountinfo", MOUNTS);
    m.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n/swapfile file 1 0 -3\n");
    m
}

fn nothing_allowed() -> Allowed<'static> {
    Allowed { destroy: &[], mounted_write: false }
}

#[test]
fn what_is_in_use_is_refused_for_its_reason() {
    let machine = machine();
    let tree = machine.tree();
    let rows = [
        ("8:0", "it is what loop1 reads and writes; its partition sda1 is mounted at /boot dir; its partition sda2 is"),
        ("8:1", "it is mounted at /boot dir"),
        ("8:2", "it is held by dm-0"),
        ("8:3", "sda, the disk that sda3 is on, is what loop1 reads and writes"),
        ("253:0", "it is mounted at /"),
        ("8:16", "its partition sdb1 is what loop3 reads and writes; its partition sdb1 is active swap space"),
        ("8:17", "it is what loop3 reads and writes; it is active swap space"),
        ("8:32", "it is held by md0"),
        ("8:33", "sdc, the disk that sdc1 is on, is held by md0"),
        ("9:0", ""),
        ("8:48", "it is mounted at /data; it belongs to the mounted btrfs f00d"),
        ("8:64", "it belongs to the mounted btrfs f00d"),
        ("8:80", "it is what loop0 reads and writes"),
        ("7:0", ""),
        ("7:1", "partition sda1 of sda is mounted at /boot dir; partition sda2 of sda is held by dm-0"),
        ("7:2", ""),
        ("7:3", "sdb1, which is behind it, is active swap space"),
        ("8:96", "it is held by dm-1"),
        ("8:112", "sdg, another path to it, is held by dm-1"),
        ("8:128", ""),
        ("8:144", "it is mounted at /cache"),
        ("8:160", "it is mounted at /cache"),
        ("104:0", "it is mounted at /old"),
        ("259:0", ""),
        ("259:1", "it is mounted at /srv"),
        ("259:2", ""),
        ("254:0", ""),
        ("99:99", ""),
    ];
    for (device, expected) in rows {
        let verdict = judge::use_of(&tree, number(device).unwrap(), false, &nothing_allowed());
        match (verdict, expected) {
            (Ok(()), "") => {}
            (Err(Verdict { reason, remedy: None }), expected) if !expected.is_empty() => {
                assert!(reason.starts_with("is in use: ") && reason.contains(expected), "{device}: {reason}");
            }
            (verdict, _) => panic!("{device}: {verdict:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_claim_held_elsewhere_is_a_use_even_if_nobody_tells_whose() {
    let tree = machine().tree();
    let verdict = judge::use_of(&tree, number("254:0").unwrap(), true, &nothing_allowed()).unwrap_err();
    assert!(verdict.reason.contains("holds it exclusively") && verdict.remedy.is_none(), "{verdict:?}");
    let told = judge::use_of(&tree, number("8:1").unwrap(), true, &nothing_allowed()).unwrap_err();
    assert!(!told.reason.contains("exclusively"), "{told:?}");
}

#[test]
fn character_devices_lead_to_their_disks() {
    let machine = machine();
    let tree = machine.tree();
    let host = Host::at(machine.dir.path());
    let disks = |numbers: &[&str]| Behind::Disks(numbers.iter().map(|n| number(n).unwrap()).collect());
    let unknown = |name: &str| Behind::Unknown(name.into());
    let rows = [
        ("1:3", Behind::Nothing),
        ("1:5", Behind::Nothing),
        ("1:7", Behind::Nothing),
        ("1:8", Behind::Nothing),
        ("1:9", Behind::Nothing),
        ("1:1", unknown("mem")),
        ("1:11", unknown("1:11")),
        ("21:0", disks(&["8:0"])),
        ("247:1", disks(&["8:16"])),
        ("21:2", unknown("sg2")),
        ("9:0", unknown("st0")),
        ("240:0", disks(&["259:0"])),
        ("241:0", disks(&["259:0", "259:1"])),
        ("241:1", disks(&["259:3"])),
    ];
    for (device, expected) in rows {
        assert_eq!(host.behind(&tree, number(device).unwrap()), expected, "{device}");
    }
    let verdict = judge::unknown("st0", &nothing_allowed()).unwrap_err();
    assert_eq!(verdict.remedy.as_deref(), Some("--allow-destroy=char-st0"));
    assert!(judge::unknown("st0", &Allowed { destroy: &["char-st0".into()], mounted_write: false }).is_ok());
}

fn ext4() -> io::Result<Vec<Signature>> {
    let uuid = Some("0AbC-1".into());
    Ok(vec![Signature { uuid, ..Signature::new(SignatureKind::FileSystem, "ext4") }])
}

fn bare() -> io::Result<Vec<Signature>> {
    Ok(vec![Signature::new(SignatureKind::FileSystem, "squashfs")])
}

fn unreadable() -> io::Result<Vec<Signature>> {
    Err(Errno::IO.into())
}

#[test]
fn idle_content_is_given_up_only_under_its_name() {
    let machine = machine();
    let tree = machine.tree();
    type Found = fn() -> io::Result<Vec<Signature>>;
    let empty: Found = || Ok(Vec::new());
    let unpermitted = |error| judge::content_of(&tree, number("254:0").unwrap(), 9, error, &nothing_allowed());
    let digest = unpermitted(bare()).unwrap_err().remedy.unwrap();
    let digest = digest.strip_prefix("--allow-destroy=").unwrap();
    assert!(digest.starts_with("squashfs-") && digest.len() == 25, "{digest}");
    // Device, what lies on it, what is allowed, and the remedy offered ("": none is; "ok": admitted).
    let rows: [(&str, Found, &[&str], &str); 17] = [
        ("254:0", empty, &[], "ok"),
        ("254:0", ext4, &[], "ext4-0AbC-1"),
        ("254:0", ext4, &["ext4-0AbC-1"], "ok"),
        ("254:0", ext4, &["other", " EXT4-0abc-1 "], "ok"),
        ("254:0", ext4, &["0AbC-1"], "ext4-0AbC-1"),
        ("254:0", ext4, &["vda"], "ext4-0AbC-1"),
        ("254:0", ext4, &["/dev/vda"], "ext4-0AbC-1"),
        ("254:0", ext4, &["serial-virt-7"], "ok"),
        ("8:0", ext4, &["serial-Z1X2"], "ok"),
        ("8:3", ext4, &["serial-Z1X2"], "ext4-0AbC-1"),
        ("8:3", ext4, &["serial-Z1X2-part3"], "ok"),
        ("8:16", ext4, &["serial-UDEV9"], "ok"),
        ("259:2", ext4, &["wwn-eui.01_23-part1"], "ok"),
        ("254:0", bare, &[digest], "ok"),
        ("8:48", unreadable, &[], ""),
        ("259:0", unreadable, &[], "wwn-eui.01_23"),
        ("259:0", unreadable, &["serial-S5_X"], "ok"),
    ];
    for (device, found, allow, expected) in rows {
        let destroy: Vec<String> = allow.iter().map(|id| (*id).to_string()).collect();
        let allowed = Allowed { destroy: &destroy, mounted_write: false };
        let verdict = judge::content_of(&tree, number(device).unwrap(), 9, found(), &allowed);
        let offered = match &verdict {
            Ok(_) => "ok",
            Err(verdict) => {
                verdict.remedy.as_deref().map_or("", |remedy| remedy.strip_prefix("--allow-destroy=").unwrap())
            }
        };
        assert_eq!(offered, expected, "{device} with {allow:?}: {verdict:?}");
    }
}

#[test]
fn a_disk_is_described_as_sysfs_tells() {
    let machine = machine();
    let tree = machine.tree();
    let get = |n: &str| tree.get(number(n).unwrap()).unwrap();
    let nvme = get("259:0");
    assert_eq!((nvme.size_bytes, nvme.rotational, nvme.serial.as_deref()), (1 << 20, Some(false), Some("S5,X")));
    assert_eq!(nvme.identities(&tree), ["wwn-eui.01_23", "serial-S5_X"]);
    assert_eq!((get("8:0").model.as_deref(), get("8:16").model.as_deref()), (Some("SLOW"), Some("Fast")));
    let part = get("8:1").partition.unwrap();
    assert_eq!((part.disk, part.number, part.start_bytes), (DeviceNumber { major: 8, minor: 0 }, 1, 1 << 20));
    assert_eq!(get("7:2").backing_file.as_deref(), Some("/images/a b".as_ref()));
    assert_eq!(tree.partitions(number("8:0").unwrap()).count(), 3);
    assert!(tree.disks().all(|disk| disk.partition.is_none()) && tree.disks().count() == 22);
}

#[test]
fn commands_are_sent_to_whole_scsi_disks_alone() {
    let m = machine();
    for name in ["sda", "sdb"] {
        m.file(&format!("sys/devices/{name}/device/scsi_level"), "7\n");
    }
    let host = Host::at(m.dir.path());
    let bytes = |kind, place| host.scsi_disk_bytes(kind, number(place).unwrap());
    let whole = Some(2048 * 512);
    for (kind, place, expected) in [
        (Kind::Block, "8:0", whole),
        (Kind::Char, "21:0", whole),
        (Kind::Char, "247:1", whole),
        // A partition, what a mapper makes, a loop device on such a disk, other disks, a changer, a file.
        (Kind::Block, "8:1", None),
        (Kind::Block, "253:0", None),
        (Kind::Block, "7:1", None),
        (Kind::Block, "259:0", None),
        (Kind::Block, "8:32", None),
        (Kind::Char, "21:2", None),
        (Kind::Char, "1:1", None),
        (Kind::Regular, "8:0", None),
    ] {
        assert_eq!(bytes(kind, place), expected, "{kind:?} {place}");
    }
}

#[test]
fn a_generic_device_is_as_long_as_its_namespace() {
    let m = machine();
    let host = Host::at(m.dir.path());
    let bytes = |kind, place| host.nvme_namespace_bytes(kind, number(place).unwrap());
    let namespace = bytes(Kind::Char, "240:0");
    assert_eq!(namespace, host.tree().unwrap().get(number("259:0").unwrap()).map(|disk| disk.size_bytes));
    // Its block device, a controller, a SCSI disk's other face, the null device.
    for (kind, place) in [(Kind::Block, "259:0"), (Kind::Char, "241:0"), (Kind::Char, "21:0"), (Kind::Char, "1:3")] {
        assert_eq!(bytes(kind, place), None, "{kind:?} {place}");
    }
}
