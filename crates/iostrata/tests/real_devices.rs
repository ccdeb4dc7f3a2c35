//! Engines that send commands to devices: what they say where there is no such device.

#![cfg(target_os = "linux")]

use iostrata_testkit::{Folder, iostrata, measure};

#[test]
fn what_takes_no_such_commands_is_refused_before_anything_is_made() {
    let folder = Folder::new("no-device");
    folder.give("file", 65536);
    let scsi: &[&str] = &["is no SCSI disk", "this machine has no SCSI device", "stat missing failed"];
    let nvme: &[&str] = &["is no generic device of an NVMe namespace", "stat missing failed"];
    for (engine, sentences) in [("sg", scsi), ("io_uring_cmd", nvme)] {
        for target in ["file", "missing", "/dev/null"] {
            let words = format!("--name=j --ioengine={engine} --filename={target} --rw=read --size=64k");
            let outcome = measure(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
            let said = sentences.iter().any(|sentence| outcome.stderr.contains(sentence));
            assert!(outcome.code == 1 && said, "{words}: {}", outcome.stderr);
            assert!(outcome.counts().iter().all(|job| job.ios() == 0));
        }
        assert!(!folder.path().join("missing").exists());
    }
}
