//! Public reports about what fio's language silently takes for something else: what happens here in their place.

#![cfg(target_os = "linux")]

use iostrata_testkit::strace::Step;
use iostrata_testkit::{Folder, Loop, Outcome, iostrata, is_root, measure, run, skip, which};
use serde_json::Value;

/// What every job here has: no data moves.
const JOB: [&str; 3] = ["--name=t", "--ioengine=null", "--size=1m"];

/// Exit code of a check of the job with these words, and what was said.
fn check(words: &[&str]) -> (i32, String) {
    let all: Vec<&str> = ["--parse-only"].into_iter().chain(JOB).chain(words.iter().copied()).collect();
    said(&all)
}

fn said(words: &[&str]) -> (i32, String) {
    let folder = Folder::new("bugs-grammar");
    let output = run(iostrata(), words, folder.path());
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The job is refused and does not run, and each of the words stands in what is said.
fn refused(words: &[&str], say: &[&str]) {
    let all: Vec<&str> = JOB.into_iter().chain(words.iter().copied()).collect();
    let folder = Folder::new("bugs-grammar-refused");
    let output = run(iostrata(), &all, folder.path());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{words:?}: {text}");
    for word in say {
        assert!(text.contains(word), "{words:?}, {word}: {text}");
    }
}

/// A run of the job in which the report begins with what was said.
fn ran(words: &[&str]) -> (Value, String) {
    let all: Vec<&str> = JOB.into_iter().chain(words.iter().copied()).collect();
    let folder = Folder::new("bugs-grammar-run");
    let Outcome { code, json, stderr, .. } = measure(iostrata(), &all, folder.path());
    assert_eq!(code, 0, "{words:?}: {stderr}");
    let plain = run(iostrata(), &all, folder.path());
    (json.unwrap(), String::from_utf8_lossy(&plain.stderr).into_owned())
}

/// I/Os of reads, writes and trims.
fn ios(json: &Value) -> [u64; 3] {
    ["read", "write", "trim"].map(|direction| json["jobs"][0][direction]["total_ios"].as_u64().unwrap())
}

/// A job file with this text: exit code of its check, and what was said.
fn file(text: &str) -> (i32, String) {
    let folder = Folder::new("bugs-grammar-file");
    std::fs::write(folder.path().join("j.fio"), text).unwrap();
    let output = run(iostrata(), &["--parse-only", "j.fio"], folder.path());
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// nice=-20 is taken for a range, refused as out of it, and the job runs all the same. Here it is a number, and one
/// beyond the limits stops the run.
#[test]
fn bug_b71() {
    assert_eq!(check(&["--nice=-20"]), (0, String::new()));
    refused(&["--nice=20"], &["20 is above the largest value, 19", "--nice=20"]);
    refused(&["--nice=-21"], &["-21 is below the smallest value, -20"]);
}

/// Switches take 0 and 1 only, and the message does not say so. Here true, yes and on are understood, with a warning.
#[test]
fn bug_b72() {
    let (json, text) = ran(&["--direct=true"]);
    assert_eq!(ios(&json), [256, 0, 0]);
    assert!(text.contains("`direct` is taken as `1`; fio refuses it"), "{text}");
    assert!(text.contains("^^^^"), "{text}");
    refused(&["--direct=maybe"], &["a switch takes 0 or 1"]);
}

/// A switch with a size is accepted silently. Here a warning says what it is taken for.
#[test]
fn bug_b73() {
    let (_, text) = ran(&["--direct=1G"]);
    assert!(text.contains("`direct` is taken as `1`"), "{text}");
    refused(&["--direct=1G", "--strict"], &["error: `direct` is taken as `1`"]);
}

/// A fraction of a unit is cut to its whole part, 4.5k to 4 bytes; a range where one value is wanted is read as reads
/// and writes; a size of a few bytes is refused without a reason. Here: what was meant, with a warning; errors that say
/// what is wrong.
#[test]
fn bug_b79() {
    let (json, text) = ran(&["--bs=4.5k", "--size=9k"]);
    assert_eq!(ios(&json), [2, 0, 0]);
    assert!(text.contains("`bs` is taken as `4608`; fio takes `4`"), "{text}");
    refused(&["--bs=1-16k"], &["`1-16k` is a range, and one value is wanted", "bsrange"]);
    refused(&["--size=10"], &["a size of 10 bytes is smaller than the block size, 4096 bytes"]);
}

/// Of sync_file_range=wait_before,write:8 only the last word counted. Here all of them do: after each eight writes.
#[test]
fn bug_b74() {
    if which("strace").is_none() {
        skip!("the flags of sync_file_range", "apt-get install strace");
    }
    let folder = Folder::new("bugs-grammar-sync");
    let words = ["--name=t", "--filename=f", "--rw=write", "--size=68k", "--sync_file_range=wait_before,write:8"];
    let trace = iostrata_testkit::strace::trace(iostrata().as_ref(), &words, folder.path(), None);
    let calls: Vec<&Step> =
        trace.files["f"].steps.iter().filter(|step| format!("{step:?}").contains("_range")).collect();
    assert_eq!(calls.len(), 2, "17 writes, and none after the last: {calls:?}");
    for call in calls {
        let text = format!("{call:?}");
        assert!(text.contains("SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE"), "{text}");
        assert!(!text.contains("WAIT_AFTER"), "{text}");
    }
}

/// Zones for each direction (`…/,…`) cannot be parsed, though the manual shows them. Here each direction has its own.
#[test]
fn bug_b75() {
    let folder = Folder::new("bugs-grammar-zones");
    let words = "--name=t --ioengine=sim --rw=randrw --bs=4k --size=4m --io_size=32m --norandommap \
                 --random_distribution=zoned:50/5:30/15:20/,50/10:50/90 --write_lat_log=l --log_offset=1";
    let words: Vec<&str> = words.split_whitespace().collect();
    let outcome = measure(iostrata(), &words, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let log = std::fs::read_to_string(folder.path().join("l_lat.1.log")).unwrap();
    let rows: Vec<Vec<u64>> =
        log.lines().map(|line| line.split(',').map(|field| field.trim().parse().unwrap()).collect()).collect();
    let share = |direction: u64, percent: std::ops::Range<u64>| {
        let all: Vec<u64> = rows.iter().filter(|row| row[2] == direction).map(|row| row[4]).collect();
        let zone = percent.start * (4 << 20) / 100..percent.end * (4 << 20) / 100;
        all.iter().filter(|offset| zone.contains(offset)).count() as f64 / all.len() as f64
    };
    // 4096 I/Os of each direction: a share is known to ± 0.04 (five standard deviations).
    for (direction, zone, wanted) in
        [(0, 0..5, 0.5), (0, 5..20, 0.3), (0, 20..100, 0.2), (1, 0..10, 0.5), (1, 10..100, 0.5)]
    {
        let found = share(direction, zone.clone());
        assert!((found - wanted).abs() < 0.04, "direction {direction}, {zone:?} percent: {found}");
    }
}

/// Commas where bssplit wants colons are read as one size each for reads, writes and trims, silently. Here the list is
/// what was plainly meant, with a warning that names what fio takes.
#[test]
fn bug_b76() {
    let list = "--bssplit=512/10,1536/10,2560/10,3584/10";
    let (json, text) = ran(&["--rw=randread", "--norandommap", "--io_size=4m", list]);
    assert!(text.contains("; fio takes `512/100,1536/100,2560/100`") && text.contains("^^^^"), "{text}");
    // The largest has what is missing to 100: 10% of 512, 1536 and 2560, 70% of 3584 are 2970 bytes on average.
    let mean = 4194304.0 / ios(&json)[0] as f64;
    assert!((2850.0..3090.0).contains(&mean), "{mean} bytes");
    refused(&["--rw=randread", list, "--strict"], &["error: `bssplit` is taken as"]);
    let (json, text) = ran(&["--rw=randread", list, "--fio-exact"]);
    assert_eq!((ios(&json), text), ([2048, 0, 0], String::new()));
}

/// Shares of bssplit that add to 110 or 90 percent are accepted silently. Here more than 100 is refused, and of less it
/// is said which size has the rest.
#[test]
fn bug_b77() {
    refused(&["--rw=randread", "--bssplit=4k/50:8k/60"], &["the shares add to 110 percent", "^^^"]);
    let (_, text) = ran(&["--rw=randread", "--bssplit=4k/50:8k/40"]);
    assert!(text.contains("`bssplit` is taken as `4096/60:8192/40`"), "{text}");
    let (_, text) = ran(&["--rw=randread", "--bssplit=4k/50:8k/"]);
    assert_eq!(text, "", "the rest is for the one without a share");
}

/// kb_base counts on a command line only from where it stands, so 4k is 4096 or 4000 bytes by its place. Here it counts
/// for all, fio's value is named, and the banner says the bytes.
#[test]
fn bug_b78() {
    for words in [["--kb_base=1000", "--bs=4k"], ["--bs=4k", "--kb_base=1000"]] {
        let all: Vec<&str> = JOB.into_iter().chain(words).collect();
        let output = run(iostrata(), &all, Folder::new("bugs-grammar-base").path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("bs=(R) 4000B-4000B"), "{words:?}: {text}");
        let warned = String::from_utf8_lossy(&output.stderr).contains("`bs` is taken as `4000`; fio takes `4096`");
        assert_eq!(warned, words[0] == "--bs=4k", "{words:?}");
    }
    let all: Vec<&str> = JOB.into_iter().chain(["--bs=4KiB"]).collect();
    let output = run(iostrata(), &all, Folder::new("bugs-grammar-base").path());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("k is 1024 and KiB 1000: bs=4KiB is 4000 (sizes in bytes)"), "{text}");
}

/// Blanks round the equals sign work for some options and fail for those with words. Here they work for all.
#[test]
fn bug_b80() {
    let text = "[j]\nioengine = null\nrw = randread\nbs = 8k\nsync = 0\nsize = 64k\nverify = 0\n";
    assert_eq!(file(text), (0, String::new()));
    let (code, text) = file("[j]\nioengine=null\nsize=1m\nrw = raed\n");
    assert!(code == 1 && text.contains("did you mean `read`?"), "{text}");
}

/// An option shortened to what several begin with is refused, a clear one is taken, on the command line only.
#[test]
fn bug_b81() {
    refused(&["--buffer=1"], &["option `buffer` is ambiguous", "--buffered"]);
    assert_eq!(check(&["--loop=2"]).0, 0);
    let (code, text) = file("[j]\nioengine=null\nsize=1m\nloop=2\n");
    assert!(code == 1 && text.contains("unknown option `loop`"), "{text}");
}

/// A doubled equals sign is refused without its place. Here the file, the line and the value are shown.
#[test]
fn bug_b82() {
    let (code, text) = file("[j]\nioengine=null\nsize=1m\nrandseed==42\n");
    assert_eq!(code, 1);
    assert!(text.contains("j.fio:4") && text.contains("`=42` is no number"), "{text}");
}

/// A misspelt option in a job file: the nearest name, and where it stands.
#[test]
fn bug_b83() {
    let (code, text) = file("[j]\nio_engine=libaio\n");
    assert_eq!(code, 1);
    assert!(text.contains("j.fio:2:1") && text.contains("did you mean `ioengine`?"), "{text}");
}

/// An option of another version drops its job and the others run. Here nothing runs, and all that is wrong is said.
#[test]
fn bug_b84() {
    let text = "[a]\nioengine=null\nsize=1m\nnext_years_option=1\n[b]\nioengine=null\nsize=1m\nanother_one=2\n";
    let folder = Folder::new("bugs-grammar-unknown");
    std::fs::write(folder.path().join("j.fio"), text).unwrap();
    let outcome = measure(iostrata(), &["j.fio"], folder.path());
    assert_eq!((outcome.code, outcome.json), (1, None));
    for name in ["next_years_option", "another_one"] {
        assert!(outcome.stderr.contains(&format!("unknown option `{name}`")), "{}", outcome.stderr);
    }
}

/// A device named at the end of a command line is read as a job file. Here it is said what it is, and nothing runs.
#[test]
fn bug_b86() {
    let (code, text) = said(&["--name=t", "--ioengine=null", "--size=1m", "/dev/zero"]);
    assert_eq!(code, 1);
    assert!(text.contains("it is a device, and no job file") && text.contains("--filename=/dev/zero"), "{text}");
    if !is_root() {
        skip!("a block device as a job file", "needs root for a loop device");
    }
    let device = Loop::new("bugs-grammar-device", 1);
    let (code, text) = said(&["--name=t", "--ioengine=null", "--size=1m", &device.device]);
    assert_eq!(code, 1);
    assert!(text.contains("it is a block device, and no job file"), "{text}");
}

/// A percentage of a file that is not there asks for a size. Here it says that a percentage is of what is there.
#[test]
fn bug_b87() {
    for size in ["--size=80%", "--size=100%%"] {
        let folder = Folder::new("bugs-grammar-percent");
        let words = ["--name=t", "--ioengine=psync", size, "--filename=missing"];
        let outcome = run(iostrata(), &words, folder.path());
        assert_eq!(outcome.status.code(), Some(1), "{size}");
        let text = String::from_utf8_lossy(&[outcome.stdout, outcome.stderr].concat()).into_owned();
        assert!(text.contains("a percentage is of what is there already, and missing holds nothing"), "{text}");
    }
}

/// [global] after jobs, and again: it counts for the jobs that follow.
#[test]
fn bug_b88() {
    let folder = Folder::new("bugs-grammar-globals");
    let text = "[global]\nioengine=null\nsize=64k\n[a]\n[global]\nbs=8k\n[b]\n[global]\nbs=16k\n[c]\n";
    std::fs::write(folder.path().join("j.fio"), text).unwrap();
    let json = measure(iostrata(), &["j.fio"], folder.path()).json.unwrap();
    let ios: Vec<u64> = (0..3).map(|job| json["jobs"][job]["read"]["total_ios"].as_u64().unwrap()).collect();
    assert_eq!(ios, [16, 8, 4]);
}

/// A comment directly after a value, and a size put together of the environment and a unit.
#[test]
fn bug_b89() {
    let folder = Folder::new("bugs-grammar-comment");
    let text = "[j]\nioengine=null\nbs=${BLOCK_SIZE}; bytes of a block\nsize=${SIZE_GIB}Ki# all\n";
    std::fs::write(folder.path().join("j.fio"), text).unwrap();
    let output = std::process::Command::new(iostrata())
        .args(["j.fio", "--output-format=json"])
        .envs([("BLOCK_SIZE", "8k"), ("SIZE_GIB", "64")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), ios(&json)), (Some(0), [8, 0, 0]));
    assert_eq!(json["jobs"][0]["read"]["io_bytes"], 64 << 10);
}

/// numjobs=0 is an error, and the run goes on. Here it stops.
#[test]
fn bug_b89b() {
    refused(&["--numjobs=0"], &["0 is below the smallest value, 1"]);
}
