//! The command line's own options, most of them beside the real fio.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Output;

use iostrata_testkit::compare::{close, differences};
use iostrata_testkit::lines::{Check, Line};
use iostrata_testkit::lines_flags::{AT_ONCE, LEFT_ALONE, PROFILES};
use iostrata_testkit::{Folder, fio, iostrata, list, measure, run, skip};
use serde_json::Value;

fn told(program: impl AsRef<std::ffi::OsStr>, folder: &Folder, words: &str) -> Output {
    run(program, &words.split_whitespace().collect::<Vec<_>>(), folder.path())
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs ours; it must succeed. Its standard output.
fn ours(folder: &Folder, words: &str) -> String {
    let output = told(iostrata(), folder, words);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", said(&output.stderr));
    said(&output.stdout)
}

fn beside_fio(lines: &[Line]) {
    let Some(fio) = fio() else { skip!("fio beside ours", "fio is not installed") };
    for line in lines {
        let one = |program: &Path| {
            let folder = Folder::new("flags");
            line.given.iter().for_each(|(name, bytes)| folder.give(name, *bytes));
            measure(program, &line.words(), folder.path())
        };
        let (theirs, mine) = (one(&fio), one(Path::new(iostrata())));
        let found = differences(line.check, &theirs, &mine);
        assert_eq!(found, Vec::<String>::new(), "{} ({})", line.about, line.arguments);
        if let Check::Time(percent) = line.check {
            for (fio, ours) in theirs.counts().iter().zip(&mine.counts()) {
                assert!(close(ours.runtime_ms, fio.runtime_ms, percent), "{}: {ours:?} for {fio:?}", line.about);
            }
        }
    }
}

#[test]
fn profiles_do_what_they_do_in_fio() {
    beside_fio(PROFILES);
}

#[test]
fn logs_and_reports_change_nothing_in_what_is_done() {
    beside_fio(LEFT_ALONE);
}

/// Tries of a command that fails now and then: fio's own test of clocks does on a busy machine.
const TRIES: usize = 5;

/// What a program said in its first good run, or in its last.
fn told_at_best(program: impl AsRef<std::ffi::OsStr>, folder: &Folder, words: &str) -> Output {
    let mut output = told(&program, folder, words);
    for _ in 1..TRIES {
        if output.status.success() {
            break;
        }
        output = told(&program, folder, words);
    }
    output
}

/// The same exit code, and where the layout is fio's the same first line.
#[test]
fn what_is_done_at_once_ends_and_begins_as_in_fio() {
    let Some(fio) = fio() else { skip!("fio beside ours", "fio is not installed") };
    let folder = Folder::new("flags");
    for (words, first_line) in AT_ONCE {
        let (theirs, mine) = (told_at_best(&fio, &folder, words), told_at_best(iostrata(), &folder, words));
        // Where fio never trusts the machine's clocks there is nothing to compare with.
        let codes = [theirs.status.code(), mine.status.code()];
        if *words == "--cpuclock-test" && codes == [Some(1), Some(0)] {
            continue;
        }
        assert_eq!(codes[1], codes[0], "{words}: {}", said(&mine.stderr));
        if *first_line {
            let first = |output: &Output| said(&output.stdout).lines().next().map(str::to_owned);
            assert_eq!(first(&mine), first(&theirs), "{words}");
        }
    }
}

/// tiobench's passes, in order, over its four files. fio 3.33 ignores the profile's options; here they count.
#[test]
fn tiobench_makes_four_passes_over_four_files() {
    let folder = Folder::new("flags");
    let words = "--profile=tiobench --size=1 --block=8192 --numruns=2 --output-format=json";
    let document: Value = serde_json::from_str(&ours(&folder, words)).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    let did: Vec<_> = jobs
        .iter()
        .map(|job| {
            let ios = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
            (job["jobname"].as_str().unwrap(), job["groupid"].as_u64().unwrap(), ios("read"), ios("write"))
        })
        .collect();
    assert_eq!(
        did,
        [("seqwrite", 0, 0, 256), ("randwrite", 1, 0, 256), ("seqread", 2, 256, 0), ("randread", 3, 256, 0)]
    );
    let files = [".fio.tio.1", ".fio.tio.2", ".fio.tio.3", ".fio.tio.4"].map(|name| (name.to_owned(), 262_144));
    assert_eq!(list(folder.path()), files);
}

/// Zeroes in order, then random blocks over all of it.
#[test]
fn act_prepares_a_device() {
    let folder = Folder::new("flags");
    folder.give("data", 2 << 20);
    let words = "--profile=act --device-names=data --prep --output-format=json";
    let document: Value = serde_json::from_str(&ours(&folder, words)).unwrap();
    let writes: Vec<_> = document["jobs"].as_array().unwrap().iter().map(|job| &job["write"]["total_ios"]).collect();
    assert_eq!(writes, [2, 512]);
}

const LOGGED: &str = "--name=x --ioengine=null --size=4m --bs=4k --rw=randrw --write_lat_log=l --write_bw_log=l \
                      --log_store_compressed=1 --log_compression=16k";

/// What the real fio makes of our compressed logs, and we of its, is what each makes of its own.
#[test]
fn compressed_logs_are_read_by_either_program() {
    let Some(fio) = fio() else { skip!("fio beside ours", "fio is not installed") };
    let columns = ["", "--log_offset=1", "--log_prio=1 --prio=3", "--log_offset=1 --log_prio=1 --prioclass=1"];
    for (writer, more) in [fio.as_path(), Path::new(iostrata())].into_iter().flat_map(|w| columns.map(|c| (w, c))) {
        let folder = Folder::new("flags");
        assert!(told(writer, &folder, &format!("{LOGGED} {more}")).status.success(), "{more}");
        for name in ["l_bw.1.log.fz", "l_clat.1.log.fz", "l_lat.1.log.fz"] {
            let words = format!("--inflate-log={name}");
            let theirs = said(&told(&fio, &folder, &words).stdout);
            assert_eq!(ours(&folder, &words), theirs, "{name} of {} with {more}", writer.display());
            assert_eq!(theirs.lines().count(), 1024, "{name} of {}", writer.display());
        }
    }
}

/// A compressed log holds the lines that the same job writes as text, and is far smaller.
#[test]
fn a_compressed_log_holds_the_lines_of_a_plain_one() {
    let folder = Folder::new("flags");
    let words = "--name=x --ioengine=sim --size=16m --bs=4k --rw=randrw --log_offset=1";
    ours(&folder, &format!("{words} --write_lat_log=plain"));
    ours(&folder, &format!("{words} --write_lat_log=packed --log_store_compressed=1"));
    let plain = std::fs::read_to_string(folder.path().join("plain_clat.1.log")).unwrap();
    assert_eq!(ours(&folder, "--inflate-log=packed_clat.1.log.fz"), plain);
    let bytes = std::fs::metadata(folder.path().join("packed_clat.1.log.fz")).unwrap().len();
    assert!(bytes * 2 < plain.len() as u64, "{bytes} of {}", plain.len());
}

#[test]
fn the_bandwidth_of_all_jobs_adds_up_to_their_bytes() {
    let folder = Folder::new("flags");
    let words = "--name=x --ioengine=null --rw=randrw --size=1g --rate=4m --time_based --runtime=1300ms --numjobs=2 \
                 --bandwidth-log=all --output-format=json";
    let document: Value = serde_json::from_str(&ours(&folder, words)).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    for (direction, name) in ["read", "write", "trim"].into_iter().enumerate() {
        let text = std::fs::read_to_string(folder.path().join(format!("all-{name}_bw.log"))).unwrap();
        let rows: Vec<Vec<u64>> =
            text.lines().map(|line| line.split(", ").map(|word| word.parse().unwrap()).collect()).collect();
        assert!(rows.len() >= 3 && rows.iter().all(|row| row[2..] == [direction as u64, 0, 0]), "{text}");
        let mut begin_ms = 0;
        let logged_kib: f64 = rows
            .iter()
            .map(|row| row[1] as f64 * (row[0] - std::mem::replace(&mut begin_ms, row[0])) as f64 / 1000.0)
            .sum();
        let kib: u64 = jobs.iter().map(|job| job[name]["io_kbytes"].as_u64().unwrap()).sum();
        // Times are cut to milliseconds, rates to KiB.
        assert!((logged_kib - kib as f64).abs() <= kib as f64 / 50.0, "{name}: {logged_kib} of {kib} KiB");
    }
}

#[test]
fn idleness_is_reported_in_fios_places() {
    let folder = Folder::new("flags");
    let words = "--name=x --ioengine=null --size=1g --rate=4m --time_based --runtime=300ms";
    let text = ours(&folder, &format!("{words} --idle-prof=percpu"));
    let at = text.find("\nCPU idleness:\n  system: ").unwrap();
    assert!(text[at..].contains("%\n  percpu: ") && text[at..].contains("\n  unit work: mean="), "{text}");
    let text = ours(&folder, &format!("{words} --idle-prof=system"));
    assert!(text.contains("CPU idleness:") && !text.contains("percpu"), "{text}");
    let words = format!("{words} --idle-prof=percpu --output-format=json");
    let document: Value = serde_json::from_str(&ours(&folder, &words)).unwrap();
    let idle = &document["cpu_idleness"];
    let number = |key: &str| idle[key].as_f64().unwrap_or_else(|| panic!("{key}: {idle}"));
    assert!((0.0..=100.0).contains(&number("system")) && number("unit_mean") > 0.0 && number("unit_stddev") >= 0.0);
    let cpus = idle.as_object().unwrap().keys().filter(|key| key.starts_with("cpu-")).count();
    assert_eq!(cpus, iostrata_os::host::online_cpus() as usize);
}

/// Each I/O has its line, of the job that was asked for; without --debug there is none.
#[test]
fn a_trace_has_the_lines_that_were_asked_for() {
    let folder = Folder::new("flags");
    let words = "--ioengine=null --size=16k --rw=write --name=a --name=b";
    let lines = |more: &str| -> Vec<String> {
        let text = ours(&folder, &format!("{words} {more}"));
        let topics = ["io ", "process ", "file ", "job ", "parse ", "random ", "mem ", "time "];
        text.lines().filter(|line| topics.iter().any(|topic| line.starts_with(topic))).map(str::to_owned).collect()
    };
    assert_eq!(lines(""), Vec::<String>::new());
    let traced = lines("--debug=io,job:2");
    let offsets: Vec<&str> = traced.iter().filter_map(|line| line.split("offset=").nth(1)?.split(' ').next()).collect();
    assert_eq!(offsets, ["0", "4096", "8192", "12288"], "{traced:?}");
    assert!(traced.iter().all(|line| line.contains("b: write")), "{traced:?}");
    let all = lines("--debug=all");
    for topic in ["process", "file", "io", "mem", "random", "parse", "job", "time"] {
        assert!(all.iter().any(|line| line.starts_with(topic)), "{topic}: {all:?}");
    }
    // With a document on standard output the lines go to standard error.
    let output = told(iostrata(), &folder, &format!("{words} --debug=io --output-format=json"));
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok() && said(&output.stderr).contains("offset=4096"));
}

#[test]
fn measurements_of_the_machine_have_fios_layout() {
    let folder = Folder::new("flags");
    let text = ours(&folder, "--crctest=crc7,sha3-224");
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("crc7:\t\t") && rows[1].starts_with("sha3-224:\t"), "{text}");
    assert!(rows.iter().all(|row| row.ends_with(" MiB/sec")), "{text}");
    let text = ours(&folder, "--memcpytest=hybrid");
    assert!(text.starts_with("hybrid\n\t8 bytes:\t") && text.lines().count() == 12, "{text}");
    let output = told(iostrata(), &folder, "--cpuclock-test");
    let text = said(&output.stdout);
    let passed = text.trim_end().ends_with("cs: Pass!");
    assert_eq!(passed, output.status.success(), "{text}");
}
