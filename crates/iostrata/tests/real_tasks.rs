//! Engines without I/O: a CPU that is burned, a program that runs. Beside fio where both can be asked.

#![cfg(target_os = "linux")]

use std::path::Path;

use iostrata_testkit::{Folder, Outcome, alone, fio, iostrata, list, measure, run};
use serde_json::Value;

fn ours(folder: &Folder, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

fn job(outcome: &Outcome) -> &Value {
    &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0]
}

/// Pieces of work, the latencies of them that were measured, and bytes, of the first job.
fn counts(outcome: &Outcome) -> (u64, u64, u64) {
    let read = &job(outcome)["read"];
    let number = |value: &Value| value.as_u64().unwrap();
    (number(&read["total_ios"]), number(&read["clat_ns"]["N"]), number(&read["io_bytes"]))
}

#[test]
fn pieces_and_rests_are_fios() {
    let _alone = alone();
    let words = "--name=j --ioengine=cpuio --number_ios=5";
    for (how, mean_us) in [("--cpuload=50 --cpuchunks=20000", 20_000), ("--cpuload=20 --cpuchunks=4000", 4000)] {
        let folder = Folder::new("burn");
        let words = format!("{words} {how}");
        let mine = ours(&folder, &words);
        assert_eq!((mine.code, counts(&mine)), (0, (5, 5, 0)), "{}", mine.stderr);
        assert_eq!(mine.files, [], "no file is made");
        assert!(job(&mine)["read"]["clat_ns"]["min"].as_u64().unwrap() >= mean_us * 1000, "none ends early");
        let Some(fio) = fio() else { continue };
        let words: Vec<&str> = words.split_whitespace().collect();
        let theirs = measure(fio, &words, folder.path());
        assert_eq!(counts(&theirs), counts(&mine), "{how}");
        assert_eq!(job(&theirs)["iodepth_level"], job(&mine)["iodepth_level"], "{how}");
    }
}

#[test]
fn a_burner_ends_with_its_time_and_with_the_jobs_that_do_io() {
    let _alone = alone();
    let folder = Folder::new("burn");
    let long = ours(&folder, "--name=j --ioengine=cpuio --cpuload=10 --cpuchunks=1000s --runtime=1 --cpumode=qsort");
    assert_eq!((long.code, counts(&long)), (0, (1, 1, 0)), "the piece is cut short: {}", long.stderr);
    let words = "--name=j --ioengine=cpuio --cpuload=1 --cpuchunks=1000 --exit_on_io_done=1 --name=io --cpuload=0 \
                 --exit_on_io_done=0 --ioengine=psync --rw=write --size=64k";
    let beside = ours(&folder, &words.replace("--cpuload=0 --exit_on_io_done=0 ", ""));
    assert_eq!(beside.code, 0, "{}", beside.stderr);
    let jobs = beside.json.as_ref().unwrap()["jobs"].as_array().unwrap();
    assert_eq!(jobs[1]["write"]["total_ios"], 16);
}

#[test]
fn what_a_burner_and_a_program_lack_is_named() {
    let folder = Folder::new("lacking");
    for (words, told) in [
        ("--ioengine=cpuio", "cpuload= is missing"),
        ("--ioengine=cpuio --cpuload=0", "cpuload= is missing"),
        ("--ioengine=cpuio --cpuload=5 --cpuchunks=0", "cpuchunks=0 is no time"),
        ("--ioengine=cpuio --cpuload=101", "cpuload"),
        ("--ioengine=exec --runtime=1", "program= is missing"),
        ("--ioengine=exec --program=/nonexistent/x", "/nonexistent/x cannot be started: No such file"),
        ("--ioengine=exec --program=/dev/null", "/dev/null cannot be started: Permission denied"),
        ("--ioengine=exec --program=false", "false failed (exit status: 1); see j.stderr"),
        ("--ioengine=exec --program=false --std_redirect=0", "false failed (exit status: 1)"),
    ] {
        let outcome = ours(&folder, &format!("--name=j {words}"));
        let said = outcome.stderr.replace(", error=", ": ");
        assert!(outcome.code == 1 && said.contains(told), "{words}: {}", outcome.stderr);
    }
}

/// A program for the tests, made in the folder.
fn script(folder: &Folder, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path().join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_gets_its_words_and_what_it_prints_goes_to_files() {
    let _alone = alone();
    let folder = Folder::new("program");
    script(&folder, "for word in \"$@\"; do echo \"[$word]\"; done; echo trouble >&2");
    let words =
        ["--name=j", "--ioengine=exec", "--program=./program", "--arguments=\"a b\" %r-%n %%  $HOME", "--runtime=3"];
    let mine = measure(iostrata(), &words, folder.path());
    assert_eq!((mine.code, counts(&mine)), (0, (1, 1, 0)), "{}", mine.stderr);
    let printed = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (out, err) = (printed("j.stdout"), printed("j.stderr"));
    assert_eq!((out.as_str(), err.as_str()), ("[\"a]\n[b\"]\n[3-j]\n[%%]\n[$HOME]\n", "trouble\n"));
    if let Some(fio) = fio() {
        let theirs = measure(fio, &[&words[..4], &["--runtime=3", "--grace_time=1"]].concat(), folder.path());
        assert_eq!(theirs.code, 0, "{}", theirs.stderr);
        assert_eq!((printed("j.stdout"), printed("j.stderr")), (out, err));
    }
    let clones = measure(iostrata(), &[&words[..], &["--numjobs=2"]].concat(), folder.path());
    assert_eq!(clones.code, 0, "{}", clones.stderr);
    assert!(folder.path().join("j.1.stdout").is_file(), "clones do not share a file: {:?}", list(folder.path()));
}

#[test]
fn a_program_that_goes_on_is_told_to_end_and_then_ended() {
    let _alone = alone();
    let folder = Folder::new("endless");
    let ended = |folder: &Folder| std::fs::read_to_string(folder.path().join("j.stdout")).unwrap();
    script(&folder, "trap 'echo told; exit 0' TERM; echo begun; while :; do sleep 0.05; done");
    let gentle = ours(&folder, "--name=j --ioengine=exec --program=./program --runtime=1 --grace_time=100s");
    assert_eq!((gentle.code, counts(&gentle)), (0, (1, 1, 0)), "{}", gentle.stderr);
    assert_eq!(ended(&folder), "begun\ntold\n");
    // It hears nothing, and neither does what it has started.
    script(&folder, "trap '' TERM; echo begun; sh -c 'echo $$ > child; exec sleep 1000'");
    let stubborn = ours(&folder, "--name=j --ioengine=exec --program=./program --runtime=1 --grace_time=1s");
    assert_eq!((stubborn.code, counts(&stubborn)), (0, (1, 1, 0)), "{}", stubborn.stderr);
    let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
    let status = Path::new("/proc").join(child.trim()).join("status");
    // It was killed; that it is gone may take the system a moment more.
    let lives = || std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    let gone = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !lives()
    });
    assert!(gone, "what it started has ended with it");
}

#[test]
fn the_report_has_fios_lines_for_them() {
    let folder = Folder::new("lines");
    let words = "--name=c --ioengine=cpuio --cpuload=100 --cpuchunks=1000 --number_ios=2 --name=e \
                 --ioengine=exec --program=true --arguments=x";
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = run(iostrata(), &words, folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "Starting 2 threads\nc (noop): ioengine=cpuio, cpuload=100, cpucycle=1000\n",
        "e : program=true, arguments=x\ne : Saving output of true x : stdout=e.stdout stderr=e.stderr\n",
        "issued rwts: total=2,0,0,0",
        "issued rwts: total=1,0,0,0",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("READ: bw"), "what moves no bytes has no bandwidth: {text}");
}
