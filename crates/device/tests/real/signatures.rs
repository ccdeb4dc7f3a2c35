//! The signature reader against `blkid`, on images that each format's own tool makes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::{Loop, can_loop, has, image, must, run};
use iostrata_device::{Medium, Signature, SignatureKind, signatures};

const MIB: u64 = 1 << 20;

struct Image(File);

impl Medium for Image {
    fn size_bytes(&self) -> u64 {
        self.0.metadata().unwrap().len()
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact_at(buffer, at)
    }
}

fn ours(path: &Path) -> Vec<Signature> {
    signatures(&Image(File::open(path).unwrap())).unwrap()
}

/// One value of `blkid -p`.
fn blkid(path: &Path, key: &str) -> Option<String> {
    let text = run("blkid", &["-p", "-o", "value", "-s", key, path.to_str().unwrap()])?;
    Some(text.trim_end().to_string()).filter(|text| !text.is_empty())
}

/// What makes an image: the program, its arguments before the image's path, the size.
type Maker = (&'static str, &'static [&'static str], u64);

#[test]
fn type_label_and_uuid_are_those_of_blkid() {
    let makers: [Maker; 17] = [
        ("mkfs.ext2", &["-q", "-L", "my label"], 4 * MIB),
        ("mkfs.ext3", &["-q", "-L", "three"], 16 * MIB),
        ("mkfs.ext4", &["-q", "-L", "0123456789abcdef"], 16 * MIB),
        ("mkfs.ext4", &["-q", "-O", "^has_journal,^extent,^64bit,^flex_bg,^metadata_csum"], 16 * MIB),
        ("mke2fs", &["-q", "-O", "journal_dev", "-L", "log"], 8 * MIB),
        ("mkfs.xfs", &["-q", "-L", "twelve chars"], 320 * MIB),
        ("mkfs.btrfs", &["-q", "-L", "a longer name, with a comma"], 128 * MIB),
        ("mkswap", &["-L", "pages"], 8 * MIB),
        ("mkswap", &["-p", "65536", "-L", "big pages"], 8 * MIB),
        ("mkfs.vfat", &["-n", "FATTY"], 16 * MIB),
        ("mkfs.vfat", &["-F", "32"], 64 * MIB),
        ("mkfs.ntfs", &["-q", "-F"], 16 * MIB),
        ("mkfs.exfat", &[], 16 * MIB),
        ("mkfs.f2fs", &["-q", "-l", "flash"], 64 * MIB),
        ("mkfs.jfs", &["-q", "-L", "journal"], 32 * MIB),
        ("cryptsetup", &["luksFormat", "-q", "--type", "luks1", "--pbkdf-force-iterations", "1000"], 8 * MIB),
        ("cryptsetup", &["luksFormat", "-q", "--type", "luks2", "--label", "vault", "--pbkdf", "pbkdf2"], 32 * MIB),
    ];
    if !has("type_label_and_uuid_are_those_of_blkid", "blkid") {
        return;
    }
    for (program, args, bytes) in makers {
        if !has("type_label_and_uuid_are_those_of_blkid", program) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = image(dir.path(), "image", bytes);
        let key = image(dir.path(), "key", 16);
        let (path_text, key) = (path.to_str().unwrap(), key.to_str().unwrap());
        let tail: &[&str] = if program == "cryptsetup" { &[path_text, key] } else { &[path_text] };
        must(program, &[args, tail].concat());
        let found = ours(&path);
        assert_eq!(found.len(), 1, "{program} {args:?}: {found:?}");
        assert_eq!(Some(found[0].name.to_string()), blkid(&path, "TYPE"), "{program} {args:?}");
        assert_eq!(found[0].label, blkid(&path, "LABEL"), "{program} {args:?}");
        // A journal device's own identifier is called LOGUUID.
        let uuid = blkid(&path, "UUID").or_else(|| blkid(&path, "LOGUUID"));
        assert_eq!(found[0].uuid, uuid, "{program} {args:?}");
    }
}

#[test]
fn read_only_images_are_known_too() {
    let test = "read_only_images_are_known_too";
    let makers: [(&str, &str); 3] = [
        ("mksquashfs", "mksquashfs SRC OUT -quiet -no-progress"),
        ("mkfs.erofs", "mkfs.erofs OUT SRC"),
        ("genisoimage", "genisoimage -quiet -V DISC -o OUT SRC"),
    ];
    for (program, line) in makers {
        if !has(test, program) || !has(test, "blkid") {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let (src, out) = (dir.path().join("src"), dir.path().join("out"));
        std::fs::create_dir(&src).unwrap();
        std::fs::write(src.join("file"), "content").unwrap();
        must("sh", &["-c", &line.replace("SRC", src.to_str().unwrap()).replace("OUT", out.to_str().unwrap())]);
        let found = ours(&out);
        assert_eq!(Some(found[0].name.to_string()), blkid(&out, "TYPE"), "{line}");
        assert_eq!((&found[0].uuid, &found[0].label), (&blkid(&out, "UUID"), &blkid(&out, "LABEL")), "{line}");
    }
}

#[test]
fn an_lvm_member_has_the_identifier_that_lvm_gave_it() {
    let test = "an_lvm_member_has_the_identifier_that_lvm_gave_it";
    if !can_loop(test) || !has(test, "pvcreate") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = image(dir.path(), "pv", 16 * MIB);
    let device = Loop::on(&path);
    must("pvcreate", &["-q", "-y", "--config", "devices{use_devicesfile=0}", device.node.to_str().unwrap()]);
    must("sync", &[]);
    let found = ours(&path);
    assert_eq!((found[0].name, found[0].kind), ("LVM2_member", SignatureKind::Member));
    assert_eq!(found[0].uuid, blkid(&device.node, "UUID"));
}

#[test]
fn partition_tables_are_those_of_sfdisk() {
    let test = "partition_tables_are_those_of_sfdisk";
    if !has(test, "sfdisk") || !has(test, "blkid") {
        return;
    }
    let gpt = "label: gpt\nsize=3MiB, name=boot, type=uefi\nsize=5MiB, type=swap\n";
    let dos = "label: dos\nsize=3MiB, bootable\nsize=20MiB, type=extended\nsize=4MiB\nsize=5MiB, type=swap\n";
    for (label, script, starts) in [("gpt", gpt, 2), ("dos", dos, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let path = image(dir.path(), "disk", 48 * MIB);
        let file = dir.path().join("script");
        std::fs::write(&file, script).unwrap();
        must("sh", &["-c", &format!("sfdisk -q {} < {}", path.display(), file.display())]);
        let found = ours(&path);
        assert_eq!((found.len(), found[0].name, found[0].partitions.len()), (1, label, starts), "{found:?}");
        assert_eq!(found[0].uuid, blkid(&path, "PTUUID"));
        let dump = must("sfdisk", &["-d", path.to_str().unwrap()]);
        for partition in &found[0].partitions {
            let start = format!("start={:>12}", partition.start_bytes / 512);
            let size = format!("size={:>12}", partition.size_bytes / 512);
            let of = |line: &&str| line.starts_with(&format!("{}{} :", path.display(), partition.number));
            let line = dump.lines().find(of).unwrap_or_else(|| panic!("no {} in {dump}", partition.number));
            assert!(line.contains(&start) && line.contains(&size), "{partition:?} is not {line}");
        }
    }
}

/// A file system in a partition is found through the disk.
#[test]
fn partitions_are_looked_into() {
    let test = "partitions_are_looked_into";
    if !has(test, "sfdisk") || !has(test, "mkfs.ext4") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = image(dir.path(), "disk", 48 * MIB);
    must("sh", &["-c", &format!("echo ', 16MiB' | sfdisk -q -X gpt {}", path.display())]);
    must("mkfs.ext4", &["-q", "-E", "offset=1048576", "-L", "inner", path.to_str().unwrap(), "16M"]);
    let found = ours(&path);
    let inner = &found[0].partitions[0].contents[0];
    assert_eq!((inner.name, inner.label.as_deref()), ("ext4", Some("inner")));
}
