//! The guard against real disks: loop devices with what `mkfs` and its kin put on them.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{self, Loop, Mount, Swap, can_loop, has, image, must, run};
use iostrata_device::{Guard, NodeKind, OpenHow, Refusal, Target};

const MIB: u64 = 1 << 20;

fn writes(path: &Path) -> Target<'_> {
    Target { path, destructive: true, job: "w" }
}

fn reads(path: &Path) -> Target<'_> {
    Target { destructive: false, ..writes(path) }
}

fn refused(path: &Path, allow: &[String]) -> Refusal {
    let mut refusals = Guard::admit(&[writes(path)], allow, false).expect_err("was admitted");
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    refusals.remove(0)
}

fn identity(refusal: &Refusal) -> String {
    refusal.remedy.as_deref().and_then(|r| r.strip_prefix("--allow-destroy=")).expect("no remedy").to_string()
}

fn for_writing() -> OpenHow {
    OpenHow { write: true, ..OpenHow::default() }
}

#[test]
fn an_empty_device_is_admitted_claimed_and_let_go() {
    if !can_loop("an_empty_device_is_admitted_claimed_and_let_go") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let device = Loop::on(&image(dir.path(), "empty", 64 * MIB));
    let node = device.node.to_str().unwrap();
    let guard = Guard::admit(&[writes(&device.node), writes(&device.node)], &[], false).unwrap();
    assert_eq!(guard.claimed(), 1);
    assert!(guard.notes()[0].contains(dir.path().to_str().unwrap()), "{:?}", guard.notes());

    let open = guard.open(&device.node, &OpenHow { direct: true, ..for_writing() }).unwrap();
    assert_eq!((open.facts.kind, open.facts.size_bytes), (NodeKind::Block, 64 * MIB));
    std::fs::File::from(open.fd).flush().unwrap();

    // The claim holds against mkfs and against a second run of ours, and says why.
    assert!(run("mkfs.ext4", &["-q", node]).is_none(), "mkfs went through the claim");
    let second = refused(&device.node, &[]);
    assert!(second.reason.contains("holds it exclusively"), "{second}");
    drop(guard);
    must("mkfs.ext4", &["-q", node]);
}

#[test]
fn idle_content_is_named_with_the_remedy_and_given_up_on_demand() {
    if !can_loop("idle_content_is_named_with_the_remedy_and_given_up_on_demand") {
        return;
    }
    let makers: [(&str, &[&str], u64); 4] = [
        ("ext4", &["mkfs.ext4", "-q", "-L", "precious"], 16 * MIB),
        ("xfs", &["mkfs.xfs", "-q", "-L", "precious"], 320 * MIB),
        ("btrfs", &["mkfs.btrfs", "-q", "-L", "precious"], 128 * MIB),
        ("swap", &["mkswap", "-L", "precious"], 16 * MIB),
    ];
    for (name, maker, bytes) in makers {
        if !has(name, maker[0]) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let file = image(dir.path(), name, bytes);
        must(maker[0], &[&maker[1..], &[file.to_str().unwrap()]].concat());
        let device = Loop::on(&file);
        let refusal = refused(&device.node, &[]);
        let uuid = must("blkid", &["-p", "-o", "value", "-s", "UUID", device.node.to_str().unwrap()]);
        assert!(refusal.reason.contains(name) && refusal.reason.contains("\"precious\""), "{refusal}");
        assert_eq!(identity(&refusal), format!("{name}-{}", uuid.trim()));
        assert!(refusal.to_string().contains("IOSTRATA_ALLOW_DESTROY="), "{refusal}");

        assert!(Guard::admit(&[reads(&device.node)], &[], false).is_ok(), "reading needs no permission");
        assert!(Guard::admit(&[writes(&device.node)], &["ext4-0".into()], false).is_err(), "another name opened it");
        let guard = Guard::admit(&[writes(&device.node)], &[identity(&refusal)], false).unwrap();
        assert!(guard.notes()[0].contains("gives up its"), "{:?}", guard.notes());
    }
}

#[test]
fn what_is_mounted_stays_whatever_is_allowed() {
    if !can_loop("what_is_mounted_stays_whatever_is_allowed") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = image(dir.path(), "fs", 32 * MIB);
    must("mkfs.ext4", &["-q", file.to_str().unwrap()]);
    let device = Loop::on(&file);
    let id = identity(&refused(&device.node, &[]));
    let at = dir.path().join("a mount");
    let mount = Mount::new(&device.node, &at);

    let link = dir.path().join("link");
    symlink(&device.node, &link).unwrap();
    let other = dir.path().join("other-node");
    let number = must("stat", &["-c", "%Hr %Lr", device.node.to_str().unwrap()]);
    let (major, minor) = number.trim().split_once(' ').unwrap();
    must("mknod", &[other.to_str().unwrap(), "b", major, minor]);
    for path in [&device.node, &link, &other] {
        let refusal = refused(path, std::slice::from_ref(&id));
        assert!(refusal.reason.contains("in use: it is mounted at") && refusal.remedy.is_none(), "{refusal}");
        assert!(refusal.reason.contains(at.to_str().unwrap()), "{refusal}");
    }
    let refusals = Guard::admit(&[writes(&link)], std::slice::from_ref(&id), true).unwrap_err();
    assert!(refusals[0].reason.contains("allow_mounted_write"), "{}", refusals[0]);
    drop(mount);
    assert!(Guard::admit(&[writes(&link)], &[id], false).is_ok());
}

#[test]
fn a_partition_in_use_protects_its_disk_but_not_its_neighbour() {
    let test = "a_partition_in_use_protects_its_disk_but_not_its_neighbour";
    if !can_loop(test) || !has(test, "sfdisk") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = image(dir.path(), "disk", 64 * MIB);
    let script = dir.path().join("script");
    std::fs::write(&script, "label: gpt\nsize=16MiB, name=one\nsize=16MiB, name=two\n").unwrap();
    must("sh", &["-c", &format!("sfdisk -q {} < {}", file.display(), script.display())]);
    let device = Loop::partitioned(&file);
    let (one, two) = (device.partition(1), device.partition(2));
    must("mkfs.ext4", &["-q", one.to_str().unwrap()]);

    let idle = refused(&device.node, &[]);
    assert!(idle.reason.contains("gpt partition table") && idle.reason.contains("2 partitions"), "{idle}");
    assert!(idle.reason.contains("\"one\" Linux, ext4 file system"), "{idle}");
    let id = identity(&idle);
    assert!(id.starts_with("gpt-"), "{id}");
    assert!(identity(&refused(&one, &[])).starts_with("ext4-"));

    let mount = Mount::new(&one, &dir.path().join("mnt"));
    let used = refused(&device.node, std::slice::from_ref(&id));
    assert!(used.reason.contains(&format!("its partition {}p1 is mounted", device.name())), "{used}");
    let guard = Guard::admit(&[writes(&two)], &[], false).unwrap();
    assert!(guard.open(&two, &for_writing()).is_ok());
    assert_eq!(guard.open(&device.node, &for_writing()).unwrap_err().errno(), 1, "the disk was not admitted");
    drop((guard, mount));

    // A disk and its partition in one run: one claim.
    let guard = Guard::admit(&[writes(&two), writes(&device.node)], &[id], false).unwrap();
    assert_eq!(guard.claimed(), 1);
    assert!(guard.open(&two, &for_writing()).is_ok() && guard.open(&device.node, &for_writing()).is_ok());
}

#[test]
fn active_swap_and_what_is_behind_a_loop_device_are_in_use() {
    if !can_loop("active_swap_and_what_is_behind_a_loop_device_are_in_use") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = image(dir.path(), "swap", 16 * MIB);
    must("mkswap", &[file.to_str().unwrap()]);
    let device = Loop::on(&file);
    let id = identity(&refused(&device.node, &[]));
    let swap = Swap::on(&device.node);
    let refusal = refused(&device.node, std::slice::from_ref(&id));
    assert!(refusal.reason.contains("it is active swap space"), "{refusal}");
    drop(swap);

    let upper = Loop::on(&device.node);
    let refusal = refused(&device.node, std::slice::from_ref(&id));
    assert!(refusal.reason.contains(&format!("is what {} reads and writes", upper.name())), "{refusal}");
    assert!(Guard::admit(&[writes(&upper.node)], &[id], false).is_ok(), "the upper one is free to use");
}

#[test]
fn a_mounted_btrfs_protects_all_its_devices() {
    let test = "a_mounted_btrfs_protects_all_its_devices";
    if !can_loop(test) || !has(test, "mkfs.btrfs") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a", "b"].map(|name| Loop::on(&image(dir.path(), name, 128 * MIB)));
    let nodes = devices.each_ref().map(|device| device.node.to_str().unwrap());
    must("mkfs.btrfs", &["-q", "-d", "single", "-m", "raid1", nodes[0], nodes[1]]);
    must("btrfs", &["device", "scan", nodes[0], nodes[1]]);
    let _mount = Mount::new(&devices[0].node, &dir.path().join("mnt"));
    for device in &devices {
        let refusal = refused(&device.node, &[]);
        assert!(refusal.reason.contains("belongs to the mounted btrfs"), "{refusal}");
    }
}

#[test]
fn the_root_disk_is_safe() {
    let tree = iostrata_device::tree().unwrap();
    let mounted = |d: &&iostrata_device::Device| {
        d.uses.iter().any(|u| matches!(u, iostrata_device::Use::Mounted { at } if at == Path::new("/")))
    };
    let Some(root) = tree.devices.iter().find(mounted) else {
        return common::skip("the_root_disk_is_safe: / is not on a block device here");
    };
    let refusal = refused(&Path::new("/dev").join(&root.name), &[]);
    assert!(refusal.reason.contains("is mounted at /") || refusal.reason.contains("cannot be opened"), "{refusal}");
}
