//! Where buffers lie, who is at a file, what is trimmed: what fio 3.33 cannot be asked, or does wrong.

#![cfg(target_os = "linux")]

use std::path::Path;

use iostrata_testkit::{Folder, HugePages, Loop, Outcome, iostrata, is_root, list, measure};
use serde_json::Value;

fn run(folder: &Folder, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

fn job(outcome: &Outcome) -> &Value {
    &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0]
}

/// Error, reads, writes and trims of the only job.
fn counts(outcome: &Outcome) -> (i64, u64, u64, u64) {
    let ios = |direction: &str| job(outcome)[direction]["total_ios"].as_u64().unwrap();
    (job(outcome)["error"].as_i64().unwrap(), ios("read"), ios("write"), ios("trim"))
}

#[test]
fn a_file_for_buffers_is_made_and_gone_and_one_that_holds_data_is_kept() {
    let folder = Folder::new("buffer-file");
    let shared = run(&folder, "--name=j --filename=data --rw=write --size=64k --numjobs=4 --mem=mmapshared:buffers");
    assert_eq!((shared.code, counts(&shared).0), (0, 0), "{}", shared.stderr);
    assert_eq!(shared.files, [("data".to_owned(), 64 << 10)], "fio 3.33 dies of a bus error here");

    std::fs::write(folder.path().join("kept"), [7; 100]).unwrap();
    for kind in ["mmap", "mmapshared"] {
        let refused = run(&folder, &format!("--name=j --filename=data --rw=write --size=64k --mem={kind}:kept"));
        assert!(refused.code == 1 && refused.stderr.contains("mem=kept: it holds data"), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read(folder.path().join("kept")).unwrap(), [7; 100], "fio 3.33 cuts or fills it");
}

#[test]
fn where_no_huge_pages_are_free_the_setting_is_named() {
    let folder = Folder::new("no-huge");
    for kind in ["mmaphuge", "shmhuge"] {
        let words = format!("--name=j --filename=data --rw=write --size=4g --bs=1g --iodepth=4096 --mem={kind}");
        let outcome = run(&folder, &format!("{words} --ioengine=libaio"));
        assert_eq!(counts(&outcome), (12, 0, 0, 0), "{}", outcome.stderr);
        let told = &outcome.stderr;
        assert!(told.contains("no memory in huge pages") && told.contains("sysctl vm.nr_hugepages="), "{told}");
    }
    let elsewhere = run(&folder, "--name=j --filename=data --rw=write --size=64k --mem=mmaphuge:buffers");
    assert!(elsewhere.stderr.contains("mount -t hugetlbfs"), "{}", elsewhere.stderr);
    let Some(_pages) = HugePages::reserve(8) else { return };
    let outcome = run(&folder, "--name=j --filename=data --rw=randwrite --size=64k --mem=mmaphuge --verify=md5");
    assert_eq!(counts(&outcome), (0, 16, 16, 0), "{}", outcome.stderr);
}

#[test]
fn atomic_writes_are_refused_with_the_reason() {
    let folder = Folder::new("atomic");
    let words = "--name=j --filename=data --rw=write --size=64k --atomic=1";
    let engine = run(&folder, words);
    assert!(
        engine.code == 1 && engine.stderr.contains("use ioengine=pvsync2, libaio or io_uring"),
        "{}",
        engine.stderr
    );
    for engine in ["pvsync2", "libaio", "io_uring"] {
        let outcome = run(&folder, &format!("{words} --ioengine={engine}"));
        // A disk that has them does them; others say so.
        let refused = counts(&outcome).0 == 95 && outcome.stderr.contains("atomic=1: data: ");
        assert!(counts(&outcome) == (0, 0, 16, 0) || refused, "{engine}: {}", outcome.stderr);
    }
}

#[test]
fn written_blocks_are_trimmed_and_read_back_as_zeroes() {
    if !is_root() {
        iostrata_testkit::skip!("trims on a device", "run as root: it makes a loop device");
    }
    let folder = Folder::new("trims");
    let trims = |words: &str| {
        let device = Loop::new("trims", 16);
        let base = "--name=j --verify=crc32c --size=4m";
        let outcome = run(&folder, &format!("{base} --filename={} {words}", device.device));
        let (error, reads, writes, trims) = counts(&outcome);
        assert_eq!((outcome.code, error, reads, writes), (0, 0, 1024, 1024), "{words}: {}", outcome.stderr);
        trims
    };
    // fio 3.33 ends by an assertion, or trims nothing.
    assert_eq!(trims("--rw=write --trim_percentage=100"), 1024);
    assert_eq!(trims("--rw=randwrite --trim_percentage=100 --trim_backlog=32 --ioengine=libaio --iodepth=16"), 1024);
    assert_eq!(trims("--rw=randwrite --trim_percentage=100 --trim_backlog=7 --verify_async=1 --direct=1"), 1024);
    // Five standard deviations.
    let some = trims("--rw=randwrite --trim_percentage=30 --trim_backlog=16 --trim_backlog_batch=4");
    assert!((234..=380).contains(&some), "{some}");
    let device = Loop::new("trims", 16);
    let words = "--name=j --verify=md5 --rw=write --size=1m --trim_percentage=100 --trim_verify_zero=0";
    let unread = run(&folder, &format!("{words} --filename={}", device.device));
    assert_eq!(counts(&unread), (0, 0, 256, 256), "{}", unread.stderr);
    let file = run(&folder, "--name=j --filename=data --rw=write --size=64k --verify=md5 --trim_percentage=100");
    assert!(counts(&file).0 == 25 && file.stderr.contains("not on files"), "{}", file.stderr);
}

#[test]
fn the_lives_of_blocks_are_told() {
    if !is_root() {
        iostrata_testkit::skip!("trims on a device", "run as root: it makes a loop device");
    }
    let (device, folder) = (Loop::new("lives", 16), Folder::new("lives"));
    let words = "--name=j --size=256k --block_error_percentiles=1 --rw=trimwrite --number_ios=48";
    let outcome = run(&folder, &format!("{words} --filename={}", device.device));
    assert_eq!(outcome.code, 0, "fio 3.33 ends by an assertion: {}", outcome.stderr);
    let lives = &outcome.json.as_ref().unwrap()["iostrata"]["jobs"][0]["block_lives"];
    let (unwritten, written) = (lives["unwritten"].as_u64().unwrap(), lives["written"].as_u64().unwrap());
    assert_eq!(unwritten + written + lives["trimmed"].as_u64().unwrap(), 64, "{lives}");
    assert!(unwritten > 0 && written > 0 && lives["lifetimes"].as_array().unwrap().is_empty(), "{lives}");
    let several = run(&folder, "--name=j --size=64k --rw=write --nrfiles=2 --block_error_percentiles=1");
    assert!(several.code == 1 && several.stderr.contains("has several"), "{}", several.stderr);
}

#[test]
fn a_job_that_is_not_to_be_reported_is_not() {
    let folder = Folder::new("stats");
    let outcome = run(&folder, "--rw=write --size=64k --name=a --stats=0 --name=b --stats=1");
    let jobs = outcome.json.as_ref().unwrap()["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), jobs[0]["jobname"].as_str()), (1, Some("b")));
    let text = iostrata_testkit::run(iostrata(), &["--rw=write", "--size=64k", "--name=a", "--stats=0"], folder.path());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(!text.contains("WRITE:") && !text.contains("a: (groupid="), "{text}");
}

#[test]
fn what_accompanies_a_check_goes_to_the_aux_path() {
    let folder = Folder::new("aux");
    let aux = folder.path().join("aux");
    std::fs::create_dir(&aux).unwrap();
    let aux = format!("--aux-path={}", aux.display());
    let write = run(&folder, &format!("{aux} --name=j --filename=data --rw=write --size=64k --verify=md5"));
    assert_eq!(write.code, 0, "{}", write.stderr);
    let names = || list(folder.path()).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(), ["aux/local-j-0-verify.state", "data"]);
    let data = std::fs::OpenOptions::new().write(true).open(folder.path().join("data")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&data, b"x", 5000).unwrap();
    let check = format!("{aux} --name=j --filename=data --rw=read --size=64k --verify=md5 --verify_dump=1");
    let check = run(&folder, &format!("{check} --verify_state_load=1"));
    assert_eq!(counts(&check).0, 84, "{}", check.stderr);
    let dumped: Vec<String> = names().into_iter().filter(|name| name.contains("4096")).collect();
    assert!(dumped.iter().all(|name| name.starts_with("aux/data.4096.")) && !dumped.is_empty(), "{dumped:?}");
}

#[test]
fn the_priority_of_a_job_is_in_its_logs() {
    let folder = Folder::new("log-prio");
    let last = |words: &str| {
        let base = "--name=j --filename=data --rw=write --size=16k --write_lat_log=l";
        let outcome = run(&folder, &format!("{base} {words}"));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let log = std::fs::read_to_string(folder.path().join("l_clat.1.log")).unwrap();
        log.lines().next().unwrap().rsplit(", ").next().unwrap().to_owned()
    };
    // As fio 3.33 has them.
    assert_eq!(last("--log_prio=1 --prio=3 --prioclass=2"), "0x4003");
    assert_eq!(last("--log_prio=1 --prio=3"), "0x4003");
    assert_eq!(last("--log_prio=1"), "0x0000");
    assert_eq!(last("--prio=3"), "0");
}

#[test]
fn an_exclusive_file_has_one_writer_at_a_time() {
    let folder = Folder::new("lockfile");
    let words = "--filename=data --size=256k --bs=64k --numjobs=4 --lockfile=exclusive";
    let trace = folder.path().join(".trace");
    // Each write lasts while the trace shows it between its entry and its return.
    let status = std::process::Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=pwrite64", "-o"])
        .arg(&trace)
        .arg(iostrata())
        .args("--name=j --rw=write --end_fsync=0".split_whitespace())
        .args(words.split_whitespace())
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        iostrata_testkit::skip!("looking at system calls", "apt-get install strace");
    }
    let (mut open, mut writes) = (0, 0);
    for line in std::fs::read_to_string(&trace).unwrap().lines().filter(|line| line.contains("pwrite64")) {
        let begins = line.contains("pwrite64(") && line.contains("65536");
        let resumed = line.contains("<... pwrite64 resumed>");
        if begins {
            assert_eq!(open, 0, "two at once: {line}");
            writes += 1;
            open += i32::from(line.contains("<unfinished"));
        } else if resumed && open > 0 {
            open -= 1;
        }
    }
    assert!(writes >= 16, "{writes}");
    assert!(Path::new(&trace).exists());
}
