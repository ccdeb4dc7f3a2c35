//! Checking of data: every change on the disk is found, and nothing else is.

#![cfg(target_os = "linux")]

use std::os::unix::fs::FileExt;
use std::path::Path;

use iostrata_testkit::faults::Small;
use iostrata_testkit::{Folder, Outcome, fio, iostrata, measure};

/// The number on Linux of the error that wrong data are.
const EILSEQ: i64 = 84;

const BLOCK: u64 = 4096;

fn run(folder: &Folder, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

/// Error, reads and writes of the only job.
fn counts(outcome: &Outcome) -> (i64, u64, u64) {
    let job = &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0];
    let ios = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
    (job["error"].as_i64().unwrap(), ios("read"), ios("write"))
}

/// Writes and reads back without a fault: this many reads and writes.
fn passes(name: &str, words: &str, reads: u64, writes: u64) {
    let folder = Folder::new(name);
    let outcome = run(&folder, words);
    assert_eq!(counts(&outcome), (0, reads, writes), "{words}: {}", outcome.stderr);
    assert_eq!(outcome.code, 0, "{words}");
}

fn flip(file: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// Writes that overlapped in flight were checked against the wrong one of them.
#[test]
fn bug_b50() {
    let folder = Folder::new("b50");
    let outcome = run(
        &folder,
        "--name=t --filename=f --rw=randrw --norandommap --verify=md5 --bs=4k --size=1M --iodepth=32 --ioengine=libaio \
         --direct=1 --io_size=4M",
    );
    let (error, reads, writes) = counts(&outcome);
    assert_eq!((outcome.code, error), (0, 0), "{}", outcome.stderr);
    assert!(reads > writes / 4 && writes > 100, "{reads} reads, {writes} writes");
}

/// Runs of sequential blocks from random places overlap; the number of the wrong write was expected.
#[test]
fn bug_b51() {
    let folder = Folder::new("b51");
    let outcome = run(&folder, "--name=t --filename=f --rw=randwrite:4 --verify=xxhash --bs=4k --size=4M");
    let (error, reads, writes) = counts(&outcome);
    assert_eq!((outcome.code, error, writes), (0, 0, 1024), "{}", outcome.stderr);
    assert!(reads < writes, "{reads}: each block once, however often it was written");
}

/// Runs of sequential writes that go on over one another failed the check on good storage.
#[test]
fn bug_b52() {
    let folder = Folder::new("b52");
    let outcome = run(
        &folder,
        "--name=t --filename=f --rw=randwrite:8 --rw_sequencer=sequential --verify=crc64 --bs=4k --size=4M \
         --iodepth=16 --ioengine=libaio --direct=1",
    );
    let (error, reads, writes) = counts(&outcome);
    assert_eq!((outcome.code, error, writes), (0, 0, 1024), "{}", outcome.stderr);
    assert!(reads > 100, "{reads}");
}

/// A write cut short made verify look for headers at odd offsets. Here only whole blocks are checked.
#[test]
fn bug_b56() {
    if !iostrata_testkit::is_root() {
        iostrata_testkit::skip!("a file system that fills up", "run as root: it mounts");
    }
    let folder = Folder::new("b56");
    // 4 MiB are 87 blocks of 48 KiB and a rest of 16 KiB: the 88th write is cut short.
    for (end, code, error) in [("--fill_device=1", 0, 0), ("--runtime=60", 1, 28)] {
        let small = Small::new("b56", 4);
        let words = format!(
            "--name=t --directory={} --size=8M --bs=48k --rw=write --verify=crc32c {end}",
            small.path().display()
        );
        let outcome = run(&folder, &words);
        assert_eq!((outcome.code, counts(&outcome).0), (code, error), "{end}: {}", outcome.stderr);
        let bytes = outcome.counts()[0].bytes();
        assert!(bytes > 3 << 20 && bytes.is_multiple_of(48 << 10), "{end}: {bytes} bytes in whole blocks");
        // What was written can be checked later.
        let words = words.replace("--rw=write", "--rw=read").replace("8M", &bytes.to_string()).replace(end, "");
        let checked = run(&folder, &words);
        assert_eq!((checked.code, counts(&checked)), (0, (0, bytes / (48 << 10), 0)), "{end}: {}", checked.stderr);
    }
}

/// Reading back what was written counted against io_size, so that half of the work was left out.
#[test]
fn bug_b53() {
    passes("b53", "--name=t --filename=f --bs=512 --rw=write --size=512 --io_size=1k --verify=xxhash", 2, 2);
}

/// A pattern of numbers, text and offsets meant one thing in a job file and another in a shell.
#[test]
fn bug_b59() {
    let folder = Folder::new("b59");
    let line = measure(
        iostrata(),
        &["--name=t", "--filename=f", "--size=64k", "--rw=write", "--verify_pattern=0xff%o\"abcd\"-12"],
        folder.path(),
    );
    assert_eq!(counts(&line), (0, 16, 16), "{}", line.stderr);
    let job = "[t]\nfilename=f\nsize=64k\nrw=read\nverify_pattern=0xff%o\"abcd\"-12\n";
    std::fs::write(folder.path().join("job.fio"), job).unwrap();
    assert_eq!(counts(&run(&folder, "job.fio")), (0, 16, 0));

    let wrong =
        measure(iostrata(), &["--name=t", "--size=64k", "--rw=write", "--verify_pattern=0xff%x"], folder.path());
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("%o") && wrong.stderr.contains('^'), "{}", wrong.stderr);
}

/// A job that checks in between (verify_backlog) went on for a day beyond its runtime.
#[test]
fn bug_b60() {
    let folder = Folder::new("b60");
    let outcome = run(
        &folder,
        "--name=t --filename=f --rw=randrw --verify=crc32c --verify_backlog=16 --bs=4k --size=1M --time_based \
         --runtime=1",
    );
    let job = &outcome.json.as_ref().unwrap()["jobs"][0];
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let reads_ms = job["read"]["runtime"].as_u64().unwrap();
    assert!((1000..3000).contains(&reads_ms), "{reads_ms} ms");
    assert!(job["write"]["total_ios"].as_u64().unwrap() > 256, "it goes round");
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is_whatever_the_method() {
    let methods = [
        "md5",
        "crc64",
        "crc32",
        "crc32c",
        "crc32c-intel",
        "crc16",
        "crc7",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "xxhash",
        "pattern",
        "pattern_hdr",
    ];
    for (number, method) in methods.iter().enumerate() {
        let folder = Folder::new("flipped");
        let pattern = if method.starts_with("pattern") { "--verify_pattern=0xdeadbeef" } else { "" };
        let common = format!("--name=t --filename=f --size=64k --bs=4k --verify={method} {pattern}");
        let written = run(&folder, &format!("{common} --rw=randwrite"));
        assert_eq!(counts(&written), (0, 16, 16), "{method}: {}", written.stderr);
        // Another place of another block for each method: header, checksum and data come all under them.
        let block = number as u64 % 16;
        let place = [0, 5, 20, 48, 49, 200, 1000, 4095][number % 8];
        flip(&folder.path().join("f"), block * BLOCK + place);
        let read = run(&folder, &format!("{common} --rw=read --verify_dump=1"));
        assert_eq!((read.code, counts(&read)), (1, (EILSEQ, block + 1, 0)), "{method}: {}", read.stderr);
        assert!(read.stderr.contains(&format!("f, offset {}, length 4096", block * BLOCK)), "{}", read.stderr);
        let dumped = ["received", "hdr_fail"].map(|kind| folder.path().join(format!("f.{}.{kind}", block * BLOCK)));
        let dumped = dumped.iter().find_map(|path| std::fs::read(path).ok()).expect("a dump");
        let disk = std::fs::read(folder.path().join("f")).unwrap();
        assert_eq!(dumped, disk[(block * BLOCK) as usize..][..BLOCK as usize], "{method}");

        let checked = run(&folder, &format!("{common} --rw=randwrite --verify_only --verify_state_save=0"));
        let (error, reads, writes) = counts(&checked);
        assert_eq!((checked.code, error, writes), (1, EILSEQ, 0), "{method}: {}", checked.stderr);
        assert!((1..=16).contains(&reads));
    }
}

#[test]
fn a_job_may_go_on_after_wrong_data_unless_that_is_fatal() {
    let folder = Folder::new("goes-on");
    let common = "--name=t --filename=f --size=64k --bs=4k --verify=md5";
    assert_eq!(counts(&run(&folder, &format!("{common} --rw=write"))), (0, 16, 16));
    flip(&folder.path().join("f"), 9000);
    flip(&folder.path().join("f"), 30_000);
    let on = run(&folder, &format!("{common} --rw=read --continue_on_error=verify"));
    assert_eq!(counts(&on).1, 16, "{}", on.stderr);
    assert_eq!(on.json.as_ref().unwrap()["jobs"][0]["total_err"], 2);
    assert!(on.stderr.contains("f, offset 8192") && on.stderr.contains("f, offset 28672"), "{}", on.stderr);
    let fatal = run(&folder, &format!("{common} --rw=read --continue_on_error=verify --verify_fatal=1"));
    assert_eq!(counts(&fatal), (EILSEQ, 3, 0), "{}", fatal.stderr);
}

#[test]
fn what_was_expected_is_known_where_the_data_are_made_from_the_seed_in_the_header() {
    let folder = Folder::new("expected");
    let file = folder.path().join("f");
    let common = "--name=t --filename=f --size=32k --bs=16k --verify=sha256 --verify_interval=4k --verify_offset=64";
    assert_eq!(counts(&run(&folder, &format!("{common} --rw=write"))), (0, 2, 2));
    let written = std::fs::read(&file).unwrap();
    flip(&file, 16384 + 4096 + 3000);
    let read = run(&folder, &format!("{common} --rw=read --verify_dump=1"));
    assert_eq!(counts(&read), (EILSEQ, 2, 0), "{}", read.stderr);
    let expected = std::fs::read(folder.path().join("f.20480.expected")).unwrap();
    assert!(expected == written[20480..24576], "as it was before the change");
}

#[test]
fn each_write_has_data_of_its_own() {
    let folder = Folder::new("fresh");
    let file = folder.path().join("f");
    let common = "--name=t --filename=f --size=64k --bs=4k --rw=write --verify=md5 --do_verify=0";
    assert_eq!(counts(&run(&folder, common)), (0, 0, 16));
    let before = std::fs::read(&file).unwrap();
    assert_eq!(counts(&run(&folder, &format!("{common} --loops=2"))), (0, 0, 32));
    let after = std::fs::read(&file).unwrap();
    assert!(before.chunks(4096).zip(after.chunks(4096)).all(|(a, b)| a[64..] != b[64..]));
}

#[test]
fn what_fio_wrote_is_checked() {
    let Some(fio) = fio() else { iostrata_testkit::skip!("reading what fio wrote", "apt-get install fio") };
    let methods =
        ["md5", "crc64", "crc32", "crc32c", "crc16", "crc7", "sha1", "sha3-224", "sha3-512", "xxhash", "meta"];
    for method in methods {
        let folder = Folder::new("of-fio");
        let common = format!("--name=t --filename=f --size=64k --bs=8k --verify={method} --verify_interval=2k");
        let words = format!("{common} --rw=randwrite --do_verify=0");
        let written = measure(&fio, &words.split_whitespace().collect::<Vec<_>>(), folder.path());
        assert_eq!(written.code, 0, "{}", written.stderr);
        let read = run(&folder, &format!("{common} --rw=randread"));
        assert_eq!(counts(&read), (0, 8, 0), "{method}: {}", read.stderr);
        flip(&folder.path().join("f"), 10_000 / 2048 * 2048 + 2);
        assert_eq!(counts(&run(&folder, &format!("{common} --rw=read"))), (EILSEQ, 2, 0), "{method}");
    }
}

#[test]
fn a_state_that_was_saved_limits_what_is_checked_later() {
    let folder = Folder::new("state");
    let common = "--name=t --filename=f --size=256k --bs=4k --rw=randwrite --verify=crc32c";
    assert_eq!(counts(&run(&folder, &format!("{common} --number_ios=10 --do_verify=0"))), (0, 0, 10));
    let state = std::fs::read_to_string(folder.path().join("local-t-0-verify.state")).unwrap();
    assert!(state.contains("issued 10\n"), "{state}");
    let load = "--verify_only --verify_state_load=1 --verify_state_save=0";
    assert_eq!(counts(&run(&folder, &format!("{common} {load}"))), (0, 10, 0));
    // Without it, blocks that were never written are looked for.
    assert_eq!(counts(&run(&folder, &format!("{common} --verify_only --verify_state_save=0"))).0, EILSEQ);
    std::fs::remove_file(folder.path().join("local-t-0-verify.state")).unwrap();
    let missing = run(&folder, &format!("{common} {load}"));
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("verify_state_save"), "{}", missing.stderr);
}

#[test]
fn threads_of_verify_async_find_what_the_worker_would() {
    let folder = Folder::new("async");
    let common = "--name=t --filename=f --size=1M --bs=4k --verify=sha1 --ioengine=libaio --iodepth=16";
    assert_eq!(counts(&run(&folder, &format!("{common} --rw=randwrite --verify_async=2"))), (0, 256, 256));
    flip(&folder.path().join("f"), 1_040_000);
    let read = run(&folder, &format!("{common} --rw=read --verify_async=2"));
    assert_eq!((read.code, counts(&read).0), (1, EILSEQ), "{}", read.stderr);
    assert!(read.stderr.contains("offset 1036288"), "{}", read.stderr);
}

/// Writes have their own time and the check at the end has its own, as in fio: neither lowers the other's bandwidth.
#[test]
fn what_is_written_is_not_timed_with_what_is_read_back() {
    let times = |words: &str| {
        let outcome = run(&Folder::new("verify-times"), words);
        let job = &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0];
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        (number(&job["read"]["runtime"]), number(&job["write"]["runtime"]), number(&job["job_runtime"]))
    };
    let common = "--name=v --bs=4k --size=4m --verify=crc32c --verify_state_save=0";
    for more in ["--rw=write", "--rw=randwrite --loops=2", "--rw=write --ioengine=libaio --iodepth=4"] {
        let (read, write, all) = times(&format!("{common} {more}"));
        // Each is rounded up to a millisecond, the whole is rounded down.
        assert!(
            read > 0 && write > 0 && (all..=all + 3).contains(&(read + write)),
            "{more}: {read} + {write} of {all}"
        );
    }
    let (read, write, all) = times(&format!("{common} --rw=randrw --size=16m"));
    assert!(write < read && read.abs_diff(all) <= 1, "reads go on all the time: {read}, {write} of {all}");
    // Here they go on beside the writes: fio times only those at the end, and shows gigabytes a second.
    let (read, _, all) = times(&format!("{common} --rw=write --verify_backlog=16"));
    assert!(read.abs_diff(all) <= 1, "{read} of {all}");
}
