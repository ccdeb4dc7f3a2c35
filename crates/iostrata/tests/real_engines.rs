//! Engines that need a real ext4, or whose calls show what they do: beside fio where it has them and they work there.

#![cfg(target_os = "linux")]

use std::path::Path;

use iostrata_testkit::{Folder, Mount, Outcome, alone, fio, iostrata, is_root, measure, run, which};

fn ours(folder: &Path, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder)
}

/// Where the blocks of a file lie, as `filefrag` tells it.
fn extents(file: &Path) -> String {
    let told = run("filefrag", &["-v", file.to_str().unwrap()], Path::new("/"));
    String::from_utf8_lossy(&told.stdout).into_owned()
}

/// Bytes that no two places of a file share.
fn bytes(count: u32) -> Vec<u8> {
    (0..count / 4).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn extents_move_and_the_data_stay() {
    let _alone = alone();
    if !is_root() || which("filefrag").is_none() {
        iostrata_testkit::skip!("e4defrag on ext4", "run as root: it mounts; apt-get install e2fsprogs");
    }
    let ext4 = Mount::new("ext4");
    let (file, donor) = (ext4.path().join("f"), ext4.path().join("d"));
    let data = bytes(256 << 10);
    let words = "--name=j --ioengine=e4defrag --donorname=d --filename=f --size=256k --bs=16k";
    for how in [
        "--inplace=1 --rw=write",
        "--inplace=0 --rw=write",
        "--inplace=1 --rw=randwrite --loops=3",
        "--inplace=1 --rw=write --bs=5k --size=255k",
    ] {
        std::fs::write(&file, &data).unwrap();
        std::fs::File::open(&file).unwrap().sync_all().unwrap();
        let before = extents(&file);
        let words = format!("{words} {how}");
        let outcome = ours(ext4.path(), &words);
        assert_eq!(outcome.code, 0, "{how}: {}", outcome.stderr);
        assert_eq!(std::fs::read(&file).unwrap(), data, "{how}");
        assert_ne!(extents(&file), before, "{how}: the blocks are others");
        let in_place = how.contains("inplace=1");
        assert_eq!(donor.metadata().unwrap().len(), if in_place { 0 } else { 256 << 10 }, "{how}");
        // With inplace=0 fio 3.33 fails: it allocates no bytes.
        if let (Some(fio), true) = (fio(), in_place) {
            let words: Vec<&str> = words.split_whitespace().collect();
            let theirs = measure(fio, &words, ext4.path());
            assert_eq!(theirs.counts()[0].done, outcome.counts()[0].done, "{how}");
        }
        std::fs::remove_file(&donor).unwrap();
    }
    let refused = ours(ext4.path(), &words.replace("--donorname=d", "--donorname=/dev/shm --rw=write"));
    assert!(refused.code == 1 && refused.stderr.contains("donorname=: "), "{}", refused.stderr);
    let missing = ours(ext4.path(), &words.replace("--donorname=d", "--rw=write"));
    assert!(missing.code == 1 && missing.stderr.contains("donorname= is missing"), "{}", missing.stderr);
    let elsewhere = Folder::new("donor");
    let far = format!("--donorname={} --rw=write", elsewhere.path().join("d").display());
    let far = words.replace("--donorname=d", &far);
    let far = ours(ext4.path(), &far);
    assert!(far.code == 1 && far.stderr.contains("on the same file system as the job's files"), "{}", far.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), data, "nothing of what was refused touched it");
}

#[test]
fn other_file_systems_have_no_such_extents() {
    let _alone = alone();
    let folder = Folder::below(Path::new("/dev/shm"), "e4defrag");
    let words = "--name=j --ioengine=e4defrag --donorname=d --filename=f --size=64k --rw=write";
    let outcome = ours(folder.path(), words);
    assert!(outcome.code == 1 && outcome.stderr.contains("these are on tmpfs"), "{}", outcome.stderr);
}

/// How many bytes each call of this name moved, in order.
fn moved(trace: &Path, call: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(trace).unwrap();
    let lines = text.lines().filter(|line| line.contains(&format!("{call}(")));
    lines.map(|line| line.rsplit(" = ").next().unwrap().trim().parse().unwrap()).collect()
}

#[test]
fn vsync_joins_what_comes_down_together_as_fio_does() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("the calls of vsync", "apt-get install strace");
    }
    let words = "--ioengine=vsync --size=64k --bs=4k --iodepth=8 --name=j --filename=data";
    for (batch, rw, call, bytes) in [
        ("", "write", "writev", 4096),
        ("", "read", "readv", 4096),
        ("--iodepth_batch=2", "read", "readv", 8192),
        ("--iodepth_batch=4", "write", "writev", 16384),
    ] {
        for program in [Some(iostrata().into()), fio()].into_iter().flatten() {
            let folder = Folder::new("joined");
            folder.give("data", 64 << 10);
            let words = format!("-f -e trace={call} -s 1 -o trace {} --rw={rw} {words} {batch}", program.display());
            let words: Vec<&str> = words.split_whitespace().collect();
            let output = run("strace", &words, folder.path());
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            let calls = moved(&folder.path().join("trace"), call);
            assert_eq!(calls, vec![bytes; 65536 / bytes as usize], "{}", words.join(" "));
        }
    }
}

/// Minor faults and I/Os of the only job.
fn faults(outcome: &Outcome) -> (u64, u64) {
    let job = &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0];
    (job["minf"].as_u64().unwrap(), ["read", "write"].map(|way| job[way]["total_ios"].as_u64().unwrap()).iter().sum())
}

#[test]
fn each_pass_faults_on_each_page_anew() {
    let _alone = alone();
    let folder = Folder::new("pages");
    for how in ["--rw=read", "--rw=randwrite --loops=3", "--rw=write --loops=2 --bs=64k --nrfiles=4"] {
        let outcome = ours(folder.path(), &format!("--name=j --ioengine=page_fault --size=2m {how}"));
        let (minor, ios) = faults(&outcome);
        let bytes = if how.contains("64k") { 65536 } else { 4096 };
        let pages = ios * bytes / 4096;
        assert_eq!((outcome.code, pages % 512), (0, 0), "{}", outcome.stderr);
        // Pages around one that is read may come with it, and huge pages make it far fewer.
        let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if !huge.contains("[always]") {
            assert!(minor >= pages, "{how}: {minor} faults for {pages} pages");
        }
        assert_eq!(outcome.files, [], "no file is made");
    }
}
