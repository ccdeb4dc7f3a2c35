//! Public reports about sizes, offsets and how much is done: what happens here in their place.

#![cfg(target_os = "linux")]

use iostrata_testkit::{Folder, Outcome, iostrata, is_root, measure};

const K: u64 = 1024;

/// A run with these files in its folder.
fn run_with(folder: &Folder, given: &[(&str, u64)], words: &str) -> Outcome {
    for (name, bytes) in given {
        folder.give(name, *bytes);
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

fn bytes_of(outcome: &Outcome) -> Vec<u64> {
    outcome.counts().iter().map(|job| job.bytes()).collect()
}

/// filesize=30K with blocks of 4 KiB does 28 KiB and leaves the tail. So it is here: only whole blocks are done, and
/// the file has its 30 KiB.
#[test]
fn bug_b90() {
    let folder = Folder::new("b90");
    let outcome = run_with(&folder, &[], "--name=r --rw=read --bs=4k --filesize=30K --nrfiles=1");
    assert_eq!((outcome.code, bytes_of(&outcome)), (0, vec![28 * K]), "{}", outcome.stderr);
    assert_eq!(std::fs::metadata(folder.path().join("r.0.0")).unwrap().len(), 30 * K);
}

/// A size in percent with an offset was counted from what is left behind the offset. Here it is a share of the whole
/// file.
#[test]
fn bug_b92() {
    let folder = Folder::new("b92");
    let words = "--stonewall --filename=f --rw=read --name=q1 --size=25% --name=q2 --size=25% --offset=25% \
                 --name=q3 --size=25% --offset=50%";
    let outcome = run_with(&folder, &[("f", 64 * K)], words);
    assert_eq!((outcome.code, bytes_of(&outcome)), (0, vec![16 * K; 3]), "{}", outcome.stderr);
}

/// A large absolute offset becomes one far beyond the target. Here a job that begins behind the end of a file of given
/// size is an error that names the offset, and nothing is made.
#[test]
fn bug_b93() {
    let folder = Folder::new("b93");
    let outcome = run_with(&folder, &[], "--name=t --filename=f --rw=read --filesize=64k --offset=40802189312");
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("ends before offset 40802189312"), "{}", outcome.stderr);
    assert!(!folder.path().join("f").exists());
}

/// rw=rw reads and writes `size` together, where some expect as much of each. The meaning stays; the split is the same
/// in every run unless another one is asked for.
#[test]
fn bug_b94() {
    let split = || {
        let folder = Folder::new("b94");
        let outcome = run_with(&folder, &[], "--name=t --filename=f --rw=rw --bs=4k --size=1M");
        assert_eq!((outcome.code, bytes_of(&outcome)), (0, vec![1024 * K]), "{}", outcome.stderr);
        outcome.json.expect("a report")["jobs"][0]["read"]["io_bytes"].as_u64().unwrap()
    };
    let first = split();
    assert!(first > 0 && first < 1024 * K, "{first}");
    assert_eq!(split(), first);
}

/// A file smaller than a block was read in pieces of 16 bytes. Here no I/O is ever smaller than a block: the job fails
/// or does none.
#[test]
fn bug_b96() {
    let folder = Folder::new("b96");
    let outcome = run_with(&folder, &[("f", 16)], "--name=t --filename=f --rw=read --bs=4k");
    assert_eq!(bytes_of(&outcome).iter().sum::<u64>(), 0);
    let outcome = run_with(&folder, &[], "--name=t --filename=g --rw=read --bs=4k --size=16");
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("smaller than the block size"), "{}", outcome.stderr);
}

/// openfiles below nrfiles made jobs slow: a file was closed and opened around its I/Os. Here each file is opened once
/// in a pass: the next ones when those before are done.
#[test]
fn bug_b97() {
    let folder = Folder::new("b97");
    let words = "--name=t --rw=write --bs=4k --size=64k --nrfiles=4 --openfiles=2";
    let outcome = run_with(&folder, &[], words);
    assert_eq!((outcome.code, bytes_of(&outcome)), (0, vec![64 * K]), "{}", outcome.stderr);
    let sizes: Vec<u64> =
        (0..4).map(|file| std::fs::metadata(folder.path().join(format!("t.0.{file}"))).unwrap().len()).collect();
    assert_eq!(sizes, [16 * K; 4]);
}

/// A device that fills up is what fill_device is for: the job ends well with what fits, and without it the job fails.
#[test]
fn a_full_device_is_the_end_of_fill_device_and_a_fault_of_other_jobs() {
    if !is_root() {
        iostrata_testkit::skip!("filling a file system", "run as root: it mounts");
    }
    let beside = Folder::new("beside");
    for (words, code) in [("--fill_device=1 --size=64m", 0), ("--fill_device=1", 0), ("--size=64m", 1)] {
        let small = iostrata_testkit::Mount::new("tmpfs");
        let words = format!("--name=t --directory={} --rw=write --bs=1m {words}", small.path().display());
        let words: Vec<&str> = words.split_whitespace().collect();
        let room = std::process::Command::new("mount")
            .args(["-o", "remount,size=8m"])
            .arg(small.path())
            .status()
            .expect("mount is there");
        assert!(room.success());
        let outcome = measure(iostrata(), &words, beside.path());
        assert_eq!((outcome.code, bytes_of(&outcome)), (code, vec![8 << 20]), "{words:?}: {}", outcome.stderr);
    }
}
