//! What a job did can be written down and done again: by us, by the real fio, and what fio wrote down by us.

use std::path::Path;

use iostrata_testkit::strace::trace;
use iostrata_testkit::{Folder, Loop, fio, iostrata, is_root, measure, run, skip, which};

/// Jobs whose I/O is done again.
const RECORDED: &[&[&str]] = &[
    &[
        "--name=r",
        "--filename=d.dat",
        "--size=256k",
        "--rw=randrw",
        "--bsrange=4k-16k",
        "--fsync=5",
        "--create_fsync=0",
    ],
    &["--name=r", "--nrfiles=3", "--size=192k", "--rw=randwrite", "--loops=2", "--ioengine=libaio", "--iodepth=4"],
    &["--name=r", "--nrfiles=4", "--openfiles=2", "--size=64k", "--rw=write", "--end_fsync=1", "--fdatasync=3"],
];

/// Offsets and lengths in each data file, as strace saw them.
fn story(
    program: &Path,
    words: &[&str],
    folder: &Path,
) -> Vec<(String, Vec<iostrata_testkit::strace::Transfer>, usize)> {
    let seen = trace(program, words, folder, None);
    let data = seen.files.into_iter().filter(|(name, _)| name.ends_with(".dat") || name.starts_with("r."));
    data.map(|(name, story)| {
        let syncs = story.steps.iter().filter(|step| format!("{step:?}").contains("sync\"")).count();
        (name, story.transfers, syncs)
    })
    .collect()
}

/// However few or many are in flight, and whatever direction they have, every I/O is written down.
#[test]
fn a_recording_has_every_io() {
    let folder = Folder::new("replay-every");
    for engine in ["null", "psync", "libaio", "io_uring", "mmap", "posixaio"] {
        for (depth, workload) in [(1, "read"), (1, "write"), (1, "randrw"), (4, "write"), (16, "randread")] {
            let words = format!(
                "--name=r --filename=d --size=128k --bs=4k --ioengine={engine} --iodepth={depth} --rw={workload} \
                 --write_iolog=log --output=/dev/null"
            );
            let output = run(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
            assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
            let lines = folder.text("log").lines().filter(|line| line.ends_with(" 4096")).count();
            assert_eq!(lines, 32, "{words}");
            // Another recording would be added to it.
            folder.clear();
        }
    }
}

#[test]
fn a_recording_of_ours_is_done_again_by_us_and_by_fio_and_one_of_fios_by_us() {
    if which("strace").is_none() {
        skip!("the offsets of a replay", "strace is not installed");
    }
    let Some(fio) = fio() else { skip!("replays beside the real fio", "fio is not installed") };
    let ours = Path::new(iostrata());
    for job in RECORDED {
        for recorder in [ours, &fio] {
            let folder = Folder::new("replay");
            let recorded = story(recorder, &[job, &["--write_iolog=log"][..]].concat(), folder.path());
            assert!(recorded.iter().any(|(_, transfers, _)| !transfers.is_empty()), "{job:?}");
            for player in [ours, &fio] {
                let words = ["--name=again", "--read_iolog=log", "--replay_no_stall=1"];
                let played = story(player, &words, folder.path());
                // A file that was never used is not opened again.
                let used = recorded.iter().filter(|(_, transfers, _)| !transfers.is_empty());
                let same = used.clone().zip(&played).all(|(one, other)| one == other);
                assert!(
                    used.count() == played.len() && same,
                    "{job:?} recorded by {} and replayed by {}: {recorded:?} became {played:?}",
                    recorder.display(),
                    player.display()
                );
            }
        }
    }
}

/// Lines of recordings and options, with which both programs do the same.
const REPLAYED: &[(&str, &[&str])] = &[
    ("5 f write 4096 4096\n6 f read 4096 8192\n7 f sync 4096 0\n8 f datasync 0 0\n", &[]),
    ("5 f write 0 4096\n6 f read 0 4096\n", &["--readonly"]),
    ("5 f write 0 4096\n6 f read 0 4096\n", &["--rw=read", "--loops=3", "--number_ios=1"]),
    ("5 f write 4097 4097\n6 f read 8192 8192\n", &["--replay_scale=2", "--replay_align=1k"]),
    ("5 f write 0 4096\n5 f close\n6 f open\n7 f read 65536 512\n7 f close\n", &[]),
    ("5 f read 0 4096\n6 f read 9999999 4096\n", &[]),
    ("0 g add\n0 g open\n5 f read 0 512\n5 g read 512 512\n9 g close\n", &["--replay_redirect=f"]),
    ("5 f read 0 512\n6 f read 512 1024\n", &["--numjobs=3", "--read_iolog_chunked=1"]),
    ("5 f read 0 512\n6 f read 512 1024\n", &["--ioengine=null"]),
];

#[test]
fn a_recording_moves_what_it_moves_in_fio() {
    let Some(fio) = fio() else { skip!("replays beside the real fio", "fio is not installed") };
    for (lines, words) in REPLAYED {
        let folder = Folder::new("replayed");
        folder.give("f", 1 << 20);
        std::fs::write(folder.path().join("log"), format!("fio version 3 iolog\n0 f add\n0 f open\n{lines}")).unwrap();
        let words = [&["--name=r", "--read_iolog=log"], *words].concat();
        let [theirs, own] =
            [fio.as_os_str(), iostrata().as_ref()].map(|program| measure(program, &words, folder.path()));
        let counts = |outcome: &iostrata_testkit::Outcome| {
            let job = |job: iostrata_testkit::Counts| {
                // fio counts a read that failed.
                let done = if job.error == 0 { job.done } else { Default::default() };
                (job.name, job.error, done, job.syncs)
            };
            outcome.counts().into_iter().map(job).collect::<Vec<_>>()
        };
        assert_eq!((own.code, counts(&own)), (theirs.code, counts(&theirs)), "{lines}{words:?}: {}", own.stderr);
        assert_eq!(own.files, theirs.files, "{lines}{words:?}");
    }
}

/// Milliseconds that a replay takes in virtual time, where an I/O takes 1 ms.
fn length_ms(folder: &Folder, words: &[&str]) -> u64 {
    let sim = ["--name=r", "--ioengine=sim", "--sim_latency=1ms", "--sim_sigma=0", "--sim_bandwidth=0"];
    let outcome = measure(iostrata(), &[&sim[..], &["--read_iolog=log"], words].concat(), folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.counts()[0].runtime_ms
}

#[test]
fn the_times_of_a_recording_are_kept_or_not_as_asked() {
    let folder = Folder::new("replay-times");
    let text = "fio version 3 iolog\n0 f add\n0 f open\n70000 f read 0 4096\n100000 f read 0 4096\n\
                400000 f read 0 4096\n";
    std::fs::write(folder.path().join("log"), text).unwrap();
    assert_eq!(length_ms(&folder, &[]), 331, "the first one begins it");
    assert_eq!(length_ms(&folder, &["--replay_time_scale=300"]), 111);
    assert_eq!(length_ms(&folder, &["--replay_time_scale=50"]), 661);
    assert_eq!(length_ms(&folder, &["--replay_no_stall=1"]), 3);
    assert_eq!(length_ms(&folder, &["--read_iolog_chunked=1"]), 331);
    assert_eq!(length_ms(&folder, &["--runtime=200ms"]), 200, "what comes later is not done");
    let late = format!("{text}400001 f read 0 4096\n400002 f read 0 4096\n");
    std::fs::write(folder.path().join("log"), late).unwrap();
    assert_eq!(length_ms(&folder, &[]), 333, "what is late waits for nothing");
    assert_eq!(length_ms(&folder, &["--iodepth=4"]), 332, "beside one another");
}

#[test]
fn a_recording_that_makes_no_sense_is_refused_with_its_place_and_nothing_is_touched() {
    let folder = Folder::new("replay-wrong");
    let text = "fio version 3 iolog\n0 f add\n0 f open\n5 f write 0 4096\n6 f wite 4096 4096\n";
    std::fs::write(folder.path().join("log"), text).unwrap();
    for chunked in ["--read_iolog_chunked=0", "--read_iolog_chunked=1"] {
        let outcome = measure(iostrata(), &["--name=r", "--read_iolog=log", chunked], folder.path());
        assert_eq!(outcome.code, 1);
        assert!(outcome.stderr.contains("unknown action `wite`"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("log:5:") && outcome.stderr.contains("^^^^"), "{}", outcome.stderr);
        assert!(!folder.path().join("f").exists());
        assert_eq!(outcome.counts()[0].error, 22, "EINVAL");
    }
}

#[test]
fn a_recording_from_standard_input_is_read_once_and_in_pieces_names_its_files_first() {
    let folder = Folder::new("replay-stdin");
    folder.give("f", 64 << 10);
    let head = "fio version 3 iolog\n0 f add\n0 f open\n";
    let lines: String = (0..9000).map(|i| format!("{i} f read {} 512\n", i % 128 * 512)).collect();
    let log = folder.path().join("log");
    let play = |text: String, words: &str| {
        std::fs::write(&log, text).unwrap();
        let line = format!(
            "{} --name=r --read_iolog=- --replay_no_stall=1 {words} --output-format=json < log > out",
            iostrata()
        );
        let output = run("sh", &["-c", &line], folder.path());
        let document = std::fs::read_to_string(folder.path().join("out")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&document).unwrap();
        let reads = json["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
        (output.status.code(), reads, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for words in ["", "--read_iolog_chunked=1"] {
        assert_eq!(play(format!("{head}{lines}"), words), (Some(0), 9000, String::new()), "{words}");
    }
    let (code, reads, said) =
        play(format!("{head}{lines}9000 g add\n9000 g open\n9000 g read 0 512\n"), "--read_iolog_chunked=1");
    assert!(code == Some(1) && reads == 9000 && said.contains("did not name before"), "{code:?} {reads} {said}");
    let (code, _, said) = play(format!("{head}{lines}9000 f read 0 2097152\n"), "--read_iolog_chunked=1");
    assert!(code == Some(1) && said.contains("bs=2097152"), "{code:?} {said}");
}

#[test]
fn a_recording_is_complete_when_a_signal_ends_the_run_and_a_second_one_goes_behind_it() {
    let folder = Folder::new("replay-signal");
    let line = format!(
        "{} --name=r --filename=f --size=1m --rw=randrw --time_based --runtime=60 --rate_iops=4000 --write_iolog=log \
         --output-format=json --output=out & sleep 0.8; kill -INT $!; wait $!",
        iostrata()
    );
    let mut lines_before = 0;
    for runs in 1..=2 {
        run("sh", &["-c", &line], folder.path());
        let json = std::fs::read_to_string(folder.path().join("out")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let done: u64 = ["read", "write"].iter().map(|way| json["jobs"][0][way]["total_ios"].as_u64().unwrap()).sum();
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let requests = log.lines().filter(|line| line.contains(" read ") || line.contains(" write ")).count() as u64;
        assert!(done > 0 && requests - lines_before == done, "{requests} lines, {lines_before} before, {done} I/Os");
        lines_before = requests;
        assert_eq!(log.matches("fio version 3 iolog\n").count(), runs);
        assert!(log.ends_with(" f close\n"), "{}", &log[log.len() - 40..]);
        assert_eq!(iostrata_testkit::list(folder.path()).len(), 3, "no temporary file is left");
    }
    let outcome = measure(iostrata(), &["--name=r", "--read_iolog=log", "--replay_no_stall=1"], folder.path());
    assert_eq!((outcome.code, outcome.counts()[0].ios()), (0, lines_before), "{}", outcome.stderr);
}

/// One event of a block trace, as the kernel writes it: `struct blk_io_trace` and nothing after it.
fn event(at_ns: u64, offset: u64, len: u32, category: u32) -> Vec<u8> {
    const QUEUE: u32 = 1 << 4;
    let mut bytes = Vec::new();
    bytes.extend(0x6561_7407_u32.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend(at_ns.to_ne_bytes());
    bytes.extend((offset / 512).to_ne_bytes());
    for word in [len, (QUEUE | category) << 16 | 1, 4711, 7 << 20 | 1, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const DISCARD: u32 = 1 << 13;

fn block_trace() -> Vec<u8> {
    [
        event(10_000_000, 0, 4096, WRITE),
        event(11_000_000, 8192, 8192, READ),
        event(12_000_000, 0, 0, FLUSH | WRITE),
        event(13_000_000, 131_072, 65_536, DISCARD | WRITE),
        event(14_000_000, 512, 1024, READ),
    ]
    .concat()
}

#[test]
fn a_block_trace_does_on_a_device_what_it_does_in_fio() {
    if !is_root() {
        skip!("a block trace on a loop device", "it needs root");
    }
    let Some(fio) = fio() else { skip!("a block trace beside the real fio", "fio is not installed") };
    let device = Loop::new("replay-loop", 16);
    let folder = Folder::new("replay-trace");
    std::fs::write(folder.path().join("t.bin"), block_trace()).unwrap();
    let redirect = format!("--replay_redirect={}", device.device);
    for words in [&["--replay_scale=2"][..], &["--replay_align=4k"], &["--replay_skip=trim,sync"], &["--iodepth=2"]] {
        let words = [&["--name=r", "--read_iolog=t.bin", "--replay_no_stall=1", &redirect], words].concat();
        let [theirs, own] =
            [fio.as_os_str(), iostrata().as_ref()].map(|program| measure(program, &words, folder.path()));
        assert_eq!((own.code, theirs.code), (0, 0), "{words:?}: {}", own.stderr);
        let (theirs, own) = (&theirs.counts()[0], &own.counts()[0]);
        assert_eq!((own.done, own.syncs), (theirs.done, theirs.syncs), "{words:?}");
    }
}

#[test]
fn no_replay_writes_to_a_device_that_holds_something() {
    if !is_root() || which("mkfs.ext4").is_none() {
        skip!("the guard before a replay", "it needs root and mkfs.ext4");
    }
    let device = Loop::new("replay-guard", 16);
    iostrata_testkit::must("mkfs.ext4", &["-qF", &device.device]);
    let folder = Folder::new("replay-guarded");
    let path = &device.device;
    let text = format!("fio version 3 iolog\n0 {path} add\n0 {path} open\n5 {path} write 0 4096\n");
    std::fs::write(folder.path().join("named"), text).unwrap();
    std::fs::write(folder.path().join("t.bin"), block_trace()).unwrap();
    let redirect = format!("--replay_redirect={path}");
    for words in [
        &["--read_iolog=named"][..],
        &["--read_iolog=named", "--read_iolog_chunked=1"],
        &["--read_iolog=t.bin", &redirect],
    ] {
        let before = std::fs::read(path).unwrap();
        let outcome = measure(iostrata(), &[&["--name=r"], words].concat(), folder.path());
        assert!(outcome.code == 1 && outcome.stderr.contains("--allow-destroy="), "{words:?}: {}", outcome.stderr);
        assert!(std::fs::read(path).unwrap() == before, "{words:?}");
        let readonly = measure(iostrata(), &[&["--readonly", "--name=r"], words].concat(), folder.path());
        // The trace has reads, which are done; the text has nothing else.
        assert_eq!(readonly.code, i32::from(words[0] == "--read_iolog=named"), "{}", readonly.stderr);
    }
    let recording = format!("--write_iolog={path}");
    let outcome = run(iostrata(), &["--name=r", "--size=4k", "--rw=write", &recording], folder.path());
    assert!(!outcome.status.success() && String::from_utf8_lossy(&outcome.stderr).contains("no file"));
}

#[test]
fn merged_traces_are_one_and_with_merge_only_nothing_else_happens() {
    let folder = Folder::new("replay-merge");
    folder.give("f", 1 << 20);
    let write = |name: &str, events: &[Vec<u8>]| std::fs::write(folder.path().join(name), events.concat()).unwrap();
    write("a", &[event(0, 0, 4096, WRITE), event(9_000_000, 4096, 4096, WRITE)]);
    write("b", &[event(5_000_000, 8192, 512, READ)]);
    let words = ["--name=r", "--read_iolog=a:b", "--merge_blktrace_file=m", "--replay_redirect=f"];
    let merged = || std::fs::metadata(folder.path().join("m")).unwrap().len();
    let before = std::fs::read(folder.path().join("f")).unwrap();
    let only = run(iostrata(), &[&words[..], &["--merge-blktrace-only"]].concat(), folder.path());
    assert!(only.status.success() && only.stdout.is_empty() && only.stderr.is_empty(), "{only:?}");
    assert!(merged() == 3 * 48 && std::fs::read(folder.path().join("f")).unwrap() == before);
    let twice = measure(iostrata(), &[&words[..], &["--merge_blktrace_iters=2:1"]].concat(), folder.path());
    assert_eq!((twice.code, merged()), (0, 5 * 48), "{}", twice.stderr);
    assert_eq!(twice.counts()[0].done[..2], [(512, 1), (4 * 4096, 4)]);
}
