//! `sg` on a SCSI disk in memory (`modprobe scsi_debug`), beside fio. For `cargo xtask soak --stage hardware`.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use iostrata_testkit::{Folder, Outcome, alone, fio, iostrata, is_root, measure};

fn ours(folder: &Folder, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

/// The disk of `scsi_debug`, by its block device and by its other name; made if that can be.
struct Disk {
    block: String,
    generic: String,
    made: bool,
}

impl Disk {
    /// `None`, and said, where there is none.
    fn new() -> Option<Disk> {
        let loaded = Path::new("/sys/bus/pseudo/drivers/scsi_debug").exists();
        let made = !loaded && is_root() && run_ok("modprobe", &["scsi_debug", "dev_size_mb=64", "lbpu=1"]);
        let disk = find(made);
        if disk.is_none() {
            iostrata_testkit::say_skipped("sg on a SCSI disk", "as root on a kernel with the module scsi_debug");
        }
        disk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.made {
            run_ok("rmmod", &["scsi_debug"]);
        }
    }
}

fn run_ok(program: &str, words: &[&str]) -> bool {
    std::process::Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

fn find(made: bool) -> Option<Disk> {
    let folders = std::fs::read_dir("/sys/class/scsi_generic").ok()?.filter_map(Result::ok);
    let of_ours = |folder: &PathBuf| {
        std::fs::read_to_string(folder.join("device/model")).is_ok_and(|model| model.trim() == "scsi_debug")
    };
    let folder = folders.map(|entry| entry.path()).find(of_ours)?;
    let block = std::fs::read_dir(folder.join("device/block")).ok()?.next()?.ok()?;
    let name = |name: &std::ffi::OsStr| format!("/dev/{}", name.to_string_lossy());
    Some(Disk { block: name(&block.file_name()), generic: name(folder.file_name()?), made })
}

#[test]
fn each_command_does_what_it_does_in_fio() {
    let _alone = alone();
    let Some(disk) = Disk::new() else { return };
    let folder = Folder::new("scsi");
    for device in [&disk.generic, &disk.block] {
        for how in [
            "--rw=write",
            "--rw=randread --readfua=1",
            "--rw=write --writefua=1 --fsync=3",
            "--rw=write --sg_write_mode=same",
            "--rw=write --sg_write_mode=write_same_ndob",
            "--rw=write --sg_write_mode=verify_bytchk_00",
            "--rw=write --sg_write_mode=verify_bytchk_01",
            "--rw=write --sg_write_mode=verify",
            "--rw=trim",
            "--rw=read --hipri",
            "--rw=randwrite --verify=crc32c --verify_state_save=0",
        ] {
            let words = format!("--name=j --ioengine=sg --filename={device} --size=64k --bs=8k {how}");
            let mine = ours(&folder, &words);
            let Some(fio) = fio() else { continue };
            let theirs = measure(fio, &words.split_whitespace().collect::<Vec<_>>(), folder.path());
            assert_eq!(mine.code, theirs.code, "{words}: {}", mine.stderr);
            assert_eq!(mine.counts()[0].done, theirs.counts()[0].done, "{words}");
        }
        let pattern = format!("--name=j --ioengine=sg --filename={device} --size=64k --bs=8k --rw=write");
        let written = ours(&folder, &format!("{pattern} --buffer_pattern=0xabcd"));
        assert_eq!(written.code, 0, "{}", written.stderr);
        run_ok("blockdev", &["--flushbufs", &disk.block]);
        let read = std::fs::File::open(&disk.block).and_then(|file| {
            let mut bytes = vec![0; 65536];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).map(|()| bytes)
        });
        assert!(read.unwrap().chunks(2).all(|pair| pair == [0xab, 0xcd]), "{device}");
        let whole = ours(&folder, &format!("--name=j --ioengine=sg --filename={device} --rw=read --bs=1m"));
        assert_eq!(whole.counts()[0].done[0], (64 << 20, 64), "all of the disk: {}", whole.stderr);
        let odd = ours(&folder, &pattern.replace("--bs=8k", "--bs=1000"));
        assert_eq!(odd.code, 1, "blocks of the disk are 512 bytes");
    }
}
