//! Public reports about sizes, offsets and how much is done: what happens here in their place.

#![cfg(target_os = "linux")]

use iostrata_testkit::faults::Small;
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
    let outcome =
        run_with(&folder, &[("g", 64 * K)], "--name=t --filename=g --rw=read --offset=40802189312 --size=256M");
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("ends before offset 40802189312"), "{}", outcome.stderr);
    assert_eq!(std::fs::metadata(folder.path().join("g")).unwrap().len(), 64 * K, "it is not made longer");
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

/// A file system fills up with the files of all clones, and they stay. Here it is said before the run what will be
/// made, and nothing is begun that has no room; `unlink=1` removes them.
#[test]
fn bug_b95() {
    let folder = Folder::new("b95");
    let made = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let output = iostrata_testkit::run(iostrata(), &words, folder.path());
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let clones = "--name=t --directory=. --rw=write --size=1M --numjobs=3";
    let (code, text) = made(clones);
    assert!(code == Some(0) && text.contains("Making 3 files, 3145728 bytes; kept afterwards"), "{text}");
    let (_, text) = made(clones);
    assert!(!text.contains("Making"), "they are there now: {text}");
    folder.clear();
    let (code, text) = made(&format!("{clones} --unlink=1"));
    assert!(code == Some(0) && text.contains("Making 3 files, 3145728 bytes; removed afterwards"), "{text}");
    assert_eq!(iostrata_testkit::list(folder.path()), []);
    if !is_root() {
        iostrata_testkit::skip!("a small file system", "run as root: it mounts");
    }
    let small = Small::new("b95", 2);
    for rw in ["write", "read", "randwrite", "randrw"] {
        let words = format!("--name=t --directory={} --rw={rw} --size=1M --numjobs=3", small.path().display());
        let (code, text) = made(&words);
        assert!(code == Some(1) && text.contains("need 3145728 bytes more"), "{rw}: {text}");
        assert!(text.contains("2097152 bytes are free there"), "{rw}: {text}");
        assert_eq!(iostrata_testkit::list(small.path()), [], "{rw}");
    }
    let fits = format!("--name=t --directory={} --rw=write --size=512k --numjobs=4", small.path().display());
    assert_eq!(made(&fits).0, Some(0));
    // What has its size already needs no more.
    assert_eq!(made(&fits.replace("rw=write", "rw=randrw")).0, Some(0));
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

/// Files found by opendir, an offset in percent, sizes of which one has no share: nobody could say what is read. Here
/// as in fio the region begins at the next block after 98% of each file; only blocks that fit are drawn.
#[test]
fn bug_b99() {
    let folder = Folder::new("b99");
    let words = "--name=test --opendir=. --rw=randread:8 --bssplit=4k/25:512k --offset=98% --io_size=4M \
                 --file_service_type=sequential";
    let outcome = run_with(&folder, &[("f", 16 << 20)], words);
    assert_eq!((outcome.code, bytes_of(&outcome)), (0, vec![4 << 20]), "{}", outcome.stderr);
    assert_eq!(outcome.counts()[0].ios(), 1024, "512 KiB do not fit behind 98% of 16 MiB");
    let outcome = run_with(&folder, &[], &words.replace("98%", "50%"));
    assert!((4 << 20..5 << 20).contains(&bytes_of(&outcome)[0]), "{}", outcome.stderr);
    assert!(outcome.counts()[0].ios() < 200, "here they fit");
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
    if iostrata_testkit::which("strace").is_none() {
        iostrata_testkit::skip!("how often files are opened", "apt-get install strace");
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    let trace = iostrata_testkit::strace::trace(iostrata().as_ref(), &words, folder.path(), None);
    for file in 0..4 {
        let steps = &trace.files[&format!("t.0.{file}")].steps;
        let opens = steps.iter().filter(|step| format!("{step:?}").contains("open")).count();
        assert_eq!(opens, 1, "{steps:?}");
    }
}

/// A device that fills up is what fill_device is for: the job ends well with what fits, and without it the job fails.
#[test]
fn a_full_device_is_the_end_of_fill_device_and_a_fault_of_other_jobs() {
    if !is_root() {
        iostrata_testkit::skip!("filling a file system", "run as root: it mounts");
    }
    let beside = Folder::new("beside");
    // With a runtime it may end before all is written: only then it is begun.
    for (words, code) in [("--fill_device=1 --size=64m", 0), ("--fill_device=1", 0), ("--size=64m --runtime=60", 1)] {
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
