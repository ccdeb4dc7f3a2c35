//! Files, folders and nodes that need no permission of root.

use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use iostrata_device::{Guard, NodeKind, OpenError, OpenHow, SyncKind, Target, direct_mismatch, tree};
use rustix::io::Errno;

use crate::common::{has, must, skip};

fn target(path: &Path, destructive: bool) -> Target<'_> {
    Target { path, destructive, job: "j" }
}

fn admit(path: &Path) -> Result<Guard, String> {
    Guard::admit(&[target(path, true)], &[], false).map_err(|refusals| refusals[0].to_string())
}

fn made() -> OpenHow {
    OpenHow { write: true, create: true, ..OpenHow::default() }
}

fn errno(error: &OpenError) -> Errno {
    Errno::from_io_error(&io::Error::from_raw_os_error(error.errno())).unwrap()
}

#[test]
fn a_regular_file_is_made_with_its_mode_and_flags() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let guard = admit(&path).unwrap();
    let rows = [(SyncKind::None, "0", "0"), (SyncKind::Sync, "4010000", "4000000"), (SyncKind::DataSync, "10000", "0")];
    for (sync, bits, full) in rows {
        let open = guard.open(&path, &OpenHow { mode: 0o600, sync, ..made() }).unwrap();
        assert_eq!((open.facts.kind, open.facts.size_bytes), (NodeKind::Regular, 0));
        let fd = std::os::fd::AsRawFd::as_raw_fd(&open.fd);
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        let flags = u32::from_str_radix(flags, 8).unwrap();
        let octal = |text| u32::from_str_radix(text, 8).unwrap();
        assert_eq!(flags & 0o4_010_000, octal(bits), "{sync:?}: {flags:o}");
        assert_eq!(flags & 0o4_000_000, octal(full), "{sync:?}: {flags:o}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&path, [7; 5000]).unwrap();
    assert_eq!(guard.open(&path, &made()).unwrap().facts.size_bytes, 5000, "nothing is cut");
}

#[test]
fn no_file_is_made_among_the_devices() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    symlink("/dev/iostrata-no-such-disk", &link).unwrap();
    let dotted = dir.path().join("../../dev/iostrata-no-such-disk");
    for path in [Path::new("/dev/iostrata-no-such-disk"), Path::new("/dev/iostrata-no-bus/n1"), link.as_path(), &dotted]
    {
        // Whether a job only reads makes no difference: layout would make the file.
        for destructive in [true, false] {
            let refusals = Guard::admit(&[target(path, destructive)], &[], false).unwrap_err();
            assert!(refusals[0].to_string().contains("no regular file is ever made under /dev"), "{}", refusals[0]);
        }
        let guard = Guard::admit(&[], &[], false).unwrap();
        let error = guard.open(path, &made()).unwrap_err();
        assert!(error.to_string().contains("under /dev"), "{error}");
        assert!(!Path::new("/dev/iostrata-no-such-disk").exists());
    }
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        return skip("no_file_is_made_among_the_devices: no /dev/shm");
    }
    let file = tempfile::Builder::new().prefix("iostrata").tempfile_in(shm).unwrap().into_temp_path();
    std::fs::remove_file(&file).unwrap();
    let guard = admit(&file).unwrap();
    assert!(guard.open(&file, &made()).is_ok());
}

#[test]
fn a_folder_is_no_target() {
    let dir = tempfile::tempdir().unwrap();
    let text = admit(dir.path()).unwrap_err();
    assert!(text.contains("is a folder") && text.starts_with("job j: "), "{text}");
}

#[test]
fn every_refusal_of_a_run_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Path::new("/dev/iostrata-no-such-disk");
    let file = dir.path().join("fine");
    let targets = [missing, dir.path(), &file, missing].map(|path| target(path, true));
    assert_eq!(Guard::admit(&targets, &[], false).unwrap_err().len(), 2);
}

#[test]
fn nodes_that_swallow_everything_may_be_written_others_must_be_named() {
    for path in ["/dev/null", "/dev/zero", "/dev/full"] {
        let guard = admit(Path::new(path)).unwrap();
        assert!(guard.open(Path::new(path), &made()).is_ok(), "{path}");
    }
    let tty = Path::new("/dev/tty0");
    if !tty.exists() {
        return skip("nodes_that_swallow_everything…: no /dev/tty0");
    }
    let refusal = admit(tty).unwrap_err();
    assert!(refusal.contains("IOSTRATA_ALLOW_DESTROY=char-tty0"), "{refusal}");
    assert!(Guard::admit(&[target(tty, false)], &[], false).is_ok(), "reading is free");
    let guard = Guard::admit(&[], &[], false).unwrap();
    let error = guard.open(tty, &OpenHow { write: true, ..OpenHow::default() }).unwrap_err();
    assert_eq!(errno(&error), Errno::PERM);
}

#[test]
fn errors_name_path_operation_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let guard = Guard::admit(&[], &[], false).unwrap();
    let absent = dir.path().join("absent");
    let error = guard.open(&absent, &OpenHow::default()).unwrap_err();
    assert_eq!(errno(&error), Errno::NOENT);
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot open for reading {}: No such file", absent.display())), "{text}");
    assert!(!text.contains("os error"), "{text}");
    let error = guard.open(&absent.join("file"), &made()).unwrap_err();
    assert!(error.to_string().contains("the folder it should be made in does not exist"), "{error}");
    let error = guard.open(dir.path(), &OpenHow { write: true, ..OpenHow::default() }).unwrap_err();
    assert_eq!(errno(&error), Errno::ISDIR);
}

#[test]
fn refused_direct_io_says_by_whom() {
    // The kernel's own files under /proc take no O_DIRECT, whatever the kernel's version.
    let guard = Guard::admit(&[], &[], false).unwrap();
    let how = OpenHow { direct: true, ..OpenHow::default() };
    let error = guard.open(Path::new("/proc/version"), &how).unwrap_err();
    assert_eq!(errno(&error), Errno::INVAL);
    assert!(error.to_string().contains("O_DIRECT refused: this file system (proc) does not support it"), "{error}");
}

#[test]
fn misaligned_direct_requests_are_told_before_they_fail() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let guard = admit(&path).unwrap();
    let Ok(open) = guard.open(&path, &OpenHow { direct: true, ..made() }) else {
        return skip("misaligned_direct_requests_are_told_before_they_fail: no O_DIRECT in the temporary folder");
    };
    let Some(dio) = open.facts.dio.filter(|dio| dio.offset_bytes > 1) else {
        return skip("misaligned_direct_requests_are_told_before_they_fail: the kernel tells no alignment");
    };
    let (offset, memory) = (u64::from(dio.offset_bytes), u64::from(dio.memory_bytes));
    assert_eq!(direct_mismatch(&open.facts, offset * 8, memory * 8), None);
    let text = direct_mismatch(&open.facts, offset / 2, memory).unwrap();
    assert!(text.contains(&format!("offset alignment {offset}")), "{text}");
}

#[test]
fn the_tree_is_that_of_lsblk() {
    if !has("the_tree_is_that_of_lsblk", "lsblk") {
        return;
    }
    // Loop devices come and go while other tests run.
    let list = "lsblk -a -n -r -b -o NAME,MAJ:MIN,SIZE,RO,TYPE | grep -v ^loop | sort -u";
    let theirs = must("sh", &["-c", list]);
    let tree = tree().unwrap();
    let mut compared = 0;
    for line in theirs.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let Some(device) = tree.devices.iter().find(|d| d.name == words[0]) else { continue };
        assert_eq!(device.number.to_string(), words[1], "{line}");
        assert_eq!(device.size_bytes.to_string(), words[2], "{line}");
        assert_eq!(u8::from(device.read_only).to_string(), words[3], "{line}");
        assert_eq!(device.partition.is_some(), words[4] == "part", "{line}");
        compared += 1;
    }
    if compared == 0 {
        skip("the_tree_is_that_of_lsblk: no block device here");
    }
}
