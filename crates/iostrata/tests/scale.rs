//! Stories about very many jobs and files: what they cost by count, not by time.

#![cfg(target_os = "linux")]

use std::path::Path;

use iostrata_testkit::compare::differences;
use iostrata_testkit::lines::Check;
use iostrata_testkit::{Folder, alone, fio, iostrata, measure, run, which};

/// A program that runs ours so that it may have 64 files open, and nobody can raise that.
fn held_to_64(folder: &Folder) -> String {
    let script = folder.path().join("held");
    let text = format!("#!/bin/sh\nulimit -n 64 && exec {} \"$@\"\n", iostrata());
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("chmod");
    script.display().to_string()
}

#[test]
fn where_few_files_may_be_open_many_are_worked_on_all_the_same() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    let tools = Folder::new("scale-tools");
    let held = held_to_64(&tools);
    for line in [
        "--ioengine=psync --rw=randread --nrfiles=1000 --size=8000k",
        "--ioengine=psync --rw=write --nrfiles=1000 --size=8000k --file_service_type=sequential --end_fsync=1",
        "--ioengine=io_uring --rw=write --iodepth=8 --nrfiles=300 --size=2400k",
        // Every seventh write, whoever's file it is in. (fio's io_uring syncs two or three times as often.)
        "--ioengine=psync --rw=write --fsync=7 --nrfiles=300 --size=2400k",
        "--ioengine=io_uring --rw=read --iodepth=8 --nrfiles=300 --size=2400k --registerfiles=1 --loops=2",
        "--ioengine=sync --rw=randwrite --numjobs=3 --nrfiles=100 --size=1600k",
        "--ioengine=mmap --rw=read --numjobs=2 --nrfiles=100 --openfiles=60 --size=800k",
    ] {
        let words: Vec<&str> = ["--name=j", "--bs=4k"].into_iter().chain(line.split_whitespace()).collect();
        let [theirs, ours] =
            [fio.as_path(), Path::new(&held)].map(|program| measure(program, &words, Folder::new("scale").path()));
        let found = differences(Check::Exact, &theirs, &ours);
        assert!(found.is_empty(), "{line}: {found:?}");
        let notes = ours.json.as_ref().map_or(String::new(), |json| json["iostrata"]["notes"].to_string());
        assert!(notes.contains("can be open at a time"), "{notes}");
    }
}

#[test]
fn no_open_is_refused_for_want_of_descriptors_and_too_many_jobs_are_told_of_the_limit() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("counting refused opens", "apt-get install strace");
    }
    let folder = Folder::new("scale-opens");
    let held = held_to_64(&folder);
    let words =
        ["--name=j", "--rw=write", "--bs=4k", "--nrfiles=200", "--size=1600k", "--numjobs=2", "--ioengine=psync"];
    let traced = ["-f", "-qq", "-e", "trace=open,openat", "-o", "calls", held.as_str()];
    let output = run("strace", &[&traced[..], &words[..]].concat(), folder.path());
    assert!(output.status.success(), "{output:?}");
    let calls = std::fs::read_to_string(folder.path().join("calls")).expect("calls");
    assert!(calls.matches("j.1.").count() >= 200 && !calls.contains("EMFILE"), "{calls}");

    let words = ["--name=j", "--rw=write", "--bs=4k", "--size=4k", "--numjobs=100", "--ioengine=psync"];
    let output = run(&held, &words, folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("RLIMIT_NOFILE") && text.contains("ulimit -Hn"), "{text}");
}

/// System calls of a run of so many jobs, of all its threads.
fn calls_of(jobs: u32, folder: &Folder) -> u64 {
    let numjobs = format!("--numjobs={jobs}");
    let words = ["-f", "-c", "-qq", "-o", "sum", iostrata(), "--name=j", "--ioengine=null", "--rw=read", "--bs=4k"];
    let output = run("strace", &[&words[..], &["--size=16k", &numjobs, "--group_reporting"]].concat(), folder.path());
    assert!(output.status.success(), "{output:?}");
    let sum = std::fs::read_to_string(folder.path().join("sum")).expect("a sum");
    let total = sum.lines().find(|line| line.trim_end().ends_with(" total")).expect("a total");
    total.split_whitespace().filter_map(|word| word.parse().ok()).max().expect("a number")
}

#[test]
fn four_times_as_many_jobs_make_about_four_times_as_many_system_calls() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("counting system calls", "apt-get install strace");
    }
    let folder = Folder::new("scale-calls");
    let [one, few, many] = [1, 100, 400].map(|jobs| calls_of(jobs, &folder));
    assert!(many - one < 5 * (few - one), "{one}, {few}, {many} system calls of 1, 100 and 400 jobs");
}

/// Of a run over 2000 small files: how often each of these calls was made, and by how many threads.
fn calls_by_name(folder: &Folder, names: [&str; 2], words: &[&str]) -> [(usize, usize); 2] {
    let trace = format!("trace={}", names.join(","));
    let job = ["--name=j", "--rw=randread", "--bs=4k", "--nrfiles=2000", "--size=8000k", "--openfiles=10"];
    let traced = ["-f", "-qq", "-e", &trace, "-e", "signal=none", "-o", "calls", iostrata()];
    let output = run("strace", &[&traced[..], &job[..], words].concat(), folder.path());
    assert!(output.status.success(), "{output:?}");
    let calls = std::fs::read_to_string(folder.path().join("calls")).expect("calls");
    names.map(|name| {
        let mut threads = std::collections::BTreeSet::new();
        let begins = format!(" {name}(");
        let of_files =
            calls.lines().filter(|line| line.contains(&begins) && (name != "statx" || line.contains("j.0.")));
        let count = of_files.inspect(|line| _ = threads.insert(line.split(' ').next())).count();
        (count, threads.len())
    })
}

#[test]
fn many_small_files_are_synced_side_by_side_and_not_looked_at_again_and_again() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("counting system calls", "apt-get install strace");
    }
    let folder = Folder::new("scale-small");
    let [(syncs, threads), _] = calls_by_name(&folder, ["fsync", "statx"], &["--create_only=1"]);
    assert_eq!(syncs, 2000, "each file is on the medium when it has been made");
    assert!(threads > 4, "{threads} threads: each waits for the medium by itself");
    for file in 0..2000 {
        let metadata = std::fs::metadata(folder.path().join(format!("j.0.{file}"))).expect("a file");
        assert_eq!(metadata.len(), 4096, "file {file}");
    }
    let [(looks, _), (syncs, _)] = calls_by_name(&folder, ["statx", "fsync"], &["--number_ios=10"]);
    assert!((2000..=4100).contains(&looks), "{looks} looks at 2000 files: one for the plan, one by the guard");
    assert_eq!(syncs, 0, "what is there is not made again");
}

#[test]
fn ten_thousand_names_are_ten_thousand_files() {
    let _alone = alone();
    let folder = Folder::new("scale-names");
    let names: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
    let names = format!("--filename={}", names.join(":"));
    let words = ["--name=j", "--rw=randwrite", "--bs=4k", "--size=40000k", "--create_fsync=0", &names];
    let output = run(iostrata(), &[&words[..], &["--output-format=json"]].concat(), folder.path());
    assert!(output.status.success(), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(json["jobs"][0]["write"]["total_ios"], 10_000);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 10_000);
}
