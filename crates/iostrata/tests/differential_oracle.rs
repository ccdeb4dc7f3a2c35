//! What iostrata and the real fio do to their files, seen by neither of them: by strace, and by bpftrace where no
//! system call shows a request.
//!
//! Left out of the comparison, all deliberate: fio unlinks a file before it makes it anew and opens it with O_TRUNC
//! (our layout never destroys: it appends), fio opens a block device once more to look at it, and with O_NOATIME, we
//! open it once more to claim it and to read what is on it; between two loops fio opens the files once more for the
//! syncs of end_fsync and fsync_on_close, without any I/O.

use std::path::{Path, PathBuf};

use iostrata_testkit::lines::{AMOUNTS, Check, FILES, JOBS, Line, TIMED};
use iostrata_testkit::strace::{Step, Story, Trace, Transfer, by_file, trace};
use iostrata_testkit::{Folder, Loop, alone, fio, iostrata, is_root, run, some_at_once, which};

/// Both under strace, each in a fresh folder.
fn both(given: &[(&str, u64)], words: &[&str], device: Option<&str>) -> (Trace, Trace) {
    let one = |program: &Path| {
        let folder = Folder::new("traced");
        given.iter().for_each(|(name, bytes)| folder.give(name, *bytes));
        trace(program, words, folder.path(), device)
    };
    (one(&fio().expect("the caller looked for fio")), one(Path::new(iostrata())))
}

/// Whether the kernel sees what the line does in one order: files that several workers use have none, a short file is
/// made longer by us and anew by fio, and other engines' requests do not show.
fn has_one_order(line: &Line) -> bool {
    let words = line.arguments;
    let together = words.contains("numjobs") || words.matches("--name").count() > 1;
    let shared = together && (words.contains("filename=") || line.about == "a name twice");
    let grows = line.given.iter().any(|(_, bytes)| *bytes > 0 && *bytes < 1 << 20) && line.about.contains("above");
    let grows = grows || line.given.iter().any(|(name, bytes)| *name == "a" || *bytes == 300 << 10);
    let twice = ["fsync_on_close with loops", "end_fsync with loops"].contains(&line.about);
    let hidden = words.contains("io_uring") || words.contains("null");
    line.check != Check::Fails && !shared && !grows && !hidden && !twice
}

/// The steps that must be the same in both.
fn steps(line: &Line, story: &Story) -> Vec<Step> {
    let timed = matches!(line.check, Check::Time(_));
    let mut steps: Vec<Step> = Vec::new();
    for step in &story.steps {
        match step {
            // How much a timed run moves, and how often it wraps, is the machine's matter.
            Step::Moved(_) if timed => {}
            step if timed && steps.last() == Some(step) => {}
            step => steps.push(step.clone()),
        }
    }
    steps
}

/// What differs between two traces of a line.
fn differences(line: &Line, fio: &Trace, ours: &Trace) -> Vec<String> {
    by_file(fio, ours, |story, own| {
        let mut found = Vec::new();
        let (theirs, own_steps) = (steps(line, story), steps(line, own));
        if theirs != own_steps {
            found.push(format!("\n      fio  {theirs:?}\n      ours {own_steps:?}"));
        }
        found.extend(coverage(line, story, own));
        found
    })
}

/// A run of known extent must move what fio moved: sequential in the same order; a random one that covers all, the same
/// blocks, each as often; any other only blocks of the same region.
fn coverage(line: &Line, fio: &Story, ours: &Story) -> Option<String> {
    if line.check != Check::Exact {
        return None;
    }
    let sorted = |transfers: &[Transfer]| {
        let mut sorted = transfers.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (mut theirs, mut own) = (fio.transfers.clone(), ours.transfers.clone());
    if line.arguments.contains("rw=rand") {
        (theirs, own) = (sorted(&theirs), sorted(&own));
        let partly = ["io_size", "number_ios", "norandommap", "rand:", "randread:", "randwrite:", "filesize"];
        if partly.iter().any(|word| line.arguments.contains(word)) {
            let block = |all: &[Transfer]| all.first().map_or(1, |first| first.len);
            let misplaced = own.iter().find(|transfer| transfer.offset % block(&theirs) != 0);
            return misplaced.map(|transfer| format!("{transfer:?} is not at a block of {}", block(&theirs)));
        }
    }
    if theirs == own {
        return None;
    }
    let place = theirs.iter().zip(&own).position(|(a, b)| a != b).unwrap_or(theirs.len().min(own.len()));
    Some(format!("transfer {place} is {:?} for fio's {:?}", own.get(place), theirs.get(place)))
}

fn try_all<'a>(lines: impl Iterator<Item = &'a Line>) {
    let _alone = alone();
    if fio().is_none() || which("strace").is_none() {
        iostrata_testkit::skip!("watching fio and iostrata by strace", "apt-get install fio strace");
    }
    let lines: Vec<&Line> = lines.filter(|line| has_one_order(line)).collect();
    let count = lines.len();
    let try_line = |line: &&Line| {
        let words = line.words();
        let (fio, ours) = both(line.given, &words, None);
        let found = differences(line, &fio, &ours);
        (!found.is_empty()).then(|| format!("{}: {}\n    {}", line.about, words.join(" "), found.join("\n    ")))
    };
    let failures: Vec<String> = some_at_once(&lines, try_line).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {count} lines differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 10, "only {count} lines were looked at");
}

#[test]
fn amounts_and_orders_touch_the_files_as_fio_does() {
    try_all(AMOUNTS.iter());
}

#[test]
fn layout_advice_and_syncs_touch_the_files_as_fio_does() {
    try_all(FILES.iter());
}

#[test]
fn jobs_and_timed_runs_touch_the_files_as_fio_does() {
    let wraps = |line: &&Line| line.arguments.contains("time_based");
    try_all(JOBS.iter().chain(TIMED.iter().filter(wraps)));
}

/// The steps of the job itself: opens that nothing follows only look, and an exclusive one is our claim.
fn jobs_steps(steps: &[Step]) -> Vec<Step> {
    let opens = |step: &Step| matches!(step, Step::Call(call) if call.starts_with("open"));
    let claims = |step: &Step| matches!(step, Step::Call(call) if call.contains("O_EXCL"));
    let mut sessions: Vec<Vec<Step>> = Vec::new();
    for step in steps {
        if opens(step) || sessions.is_empty() {
            sessions.push(Vec::new());
        }
        sessions.last_mut().expect("one was begun").push(step.clone());
    }
    sessions.into_iter().filter(|session| session.len() > 1 && !claims(&session[0])).flatten().collect()
}

#[test]
fn a_block_device_is_opened_flushed_and_hinted_as_fio_does() {
    let _alone = alone();
    if fio().is_none() || which("strace").is_none() || !is_root() {
        iostrata_testkit::skip!("watching fio and iostrata on a loop device", "as root: apt-get install fio strace");
    }
    let device = Loop::new("traced-device", 16);
    let path = Some(device.device.as_str());
    for arguments in ["--rw=read --size=64k", "--rw=randwrite --size=64k --direct=1", "--rw=write --size=64k --loops=2"]
    {
        let filename = format!("--filename={}", device.device);
        let words: Vec<&str> = ["--name=j", &filename].into_iter().chain(arguments.split_whitespace()).collect();
        let (fio, ours) = both(&[], &words, path);
        let acted = |trace: &Trace| jobs_steps(&trace.files[&device.device].steps);
        assert_eq!(acted(&ours), acted(&fio), "{arguments}: ours left, fio's right");
    }
}

#[test]
fn a_short_file_is_appended_to_and_its_bytes_stay() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("watching iostrata by strace", "apt-get install strace");
    }
    let folder = Folder::new("appended");
    folder.give("data", 300 << 10);
    let before = std::fs::read(folder.path().join("data")).unwrap();
    let words = ["--name=j", "--rw=read", "--filename=data", "--size=1m"];
    let seen = trace(Path::new(iostrata()), &words, folder.path(), None);
    let after = std::fs::read(folder.path().join("data")).unwrap();
    assert_eq!(after.len(), 1 << 20);
    assert!(after[..before.len()] == before[..], "bytes that were there before changed");
    let layout: Vec<Step> = seen.files["data"].steps.iter().take(6).cloned().collect();
    let call = |text: &str| Step::Call(text.to_string());
    let expected = [
        call("open O_CREAT|O_WRONLY"),
        call("fallocate 0 0 1048576"),
        call("ftruncate 1048576"),
        Step::Moved((1 << 20) - (300 << 10)),
        call("fsync"),
        call("fadvise 307200 741376 POSIX_FADV_DONTNEED"),
    ];
    assert_eq!(layout, expected);
}

#[test]
fn a_seed_repeats_its_offsets_and_no_seed_does_not() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("watching iostrata by strace", "apt-get install strace");
    }
    let offsets = |option: &str| {
        let folder = Folder::new("seeds");
        folder.give("data", 1 << 20);
        let words = ["--name=j", "--rw=randread", "--filename=data", option];
        let seen = trace(Path::new(iostrata()), &words, folder.path(), None);
        seen.files["data"].transfers.iter().map(|transfer| transfer.offset).collect::<Vec<u64>>()
    };
    for option in ["--randrepeat=1", "--randseed=5"] {
        assert_eq!(offsets(option), offsets(option), "{option}");
    }
    assert_ne!(offsets("--randseed=5"), offsets("--randseed=6"));
    // 256 blocks in the same order by chance: one time in 256!.
    assert_ne!(offsets("--randrepeat=0"), offsets("--randrepeat=0"));
}

#[test]
fn the_syncs_of_the_end_come_at_the_end_of_each_loop() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("watching iostrata by strace", "apt-get install strace");
    }
    for option in ["--fsync_on_close=1", "--end_fsync=1"] {
        let folder = Folder::new("closed");
        let words = ["--name=j", "--rw=write", "--filename=data", "--size=64k", "--loops=2", option];
        let seen = trace(Path::new(iostrata()), &words, folder.path(), None);
        let told = |step: &&Step| matches!(step, Step::Moved(_)) || **step == Step::Call("fsync".into());
        let steps: Vec<Step> = seen.files["data"].steps.iter().filter(told).cloned().collect();
        let sync = || Step::Call("fsync".into());
        assert_eq!(steps, [Step::Moved(65536), sync(), Step::Moved(65536), sync()], "{option}");
    }
}

#[test]
fn libaio_reaches_its_depth_and_never_exceeds_it() {
    let _alone = alone();
    if which("strace").is_none() {
        iostrata_testkit::skip!("watching iostrata by strace", "apt-get install strace");
    }
    for depth in [1, 2, 7, 32] {
        for extra in ["--iodepth_batch=1", "--iodepth_batch=4", "--iodepth_low=1", "--loops=1"] {
            let folder = Folder::new("depth");
            folder.give("data", 1 << 20);
            let depth_word = format!("--iodepth={depth}");
            let words = ["--name=j", "--rw=randread", "--filename=data", "--ioengine=libaio", &depth_word, extra];
            let seen = trace(Path::new(iostrata()), &words, folder.path(), None);
            assert_eq!((seen.deepest, seen.left), (depth, 0), "deepest and left over, {depth_word} {extra}");
        }
    }
}

/// Counts what is between submission and completion; the greatest number is the depth that was reached.
const URING_SCRIPT: &str = "
    tracepoint:io_uring:io_uring_submit_req /pid == cpid/ {
        @ours[args->ctx] = 1; @submitted += 1; @in_flight += 1;
        if (@in_flight > @deepest) { @deepest = @in_flight; }
    }
    tracepoint:io_uring:io_uring_complete /@ours[args->ctx]/ { @in_flight -= 1; }
    END { printf(\"submitted %d deepest %d left %d\\n\", @submitted, @deepest, @in_flight); clear(@ours); }";

/// The same for the C library's requests: what was handed over and not yet asked for its result.
const POSIX_SCRIPT: &str = "
    uprobe:LIBC:aio_read64, uprobe:LIBC:aio_write64 /pid == cpid/ {
        @submitted += 1; @in_flight += 1;
        if (@in_flight > @deepest) { @deepest = @in_flight; }
    }
    uprobe:LIBC:aio_return64 /pid == cpid/ { @in_flight -= 1; }
    END { printf(\"submitted %d deepest %d left %d\\n\", @submitted, @deepest, @in_flight); }";

/// Runs iostrata under a bpftrace script; what it printed at its end.
fn probe(script: &str, arguments: &str, folder: &Path) -> Option<String> {
    let file = folder.join("probe.bt");
    std::fs::write(&file, script).unwrap();
    // The trace file system is mounted for bpftrace alone.
    let command = format!(
        "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec bpftrace {} -c '{} {arguments}'",
        file.display(),
        iostrata()
    );
    let output = run("unshare", &["-m", "sh", "-c", &command], folder);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find(|line| line.starts_with("submitted")).map(str::to_string)
}

fn libc_path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.contains("/libc.so") || line.contains("/libc-"))?;
    Some(PathBuf::from(line.split_whitespace().last()?))
}

fn reaches_its_depth(engine: &str, script: &str) {
    let _alone = alone();
    if which("bpftrace").is_none() || !is_root() {
        iostrata_testkit::skip!(format!("watching {engine} by bpftrace"), "as root: apt-get install bpftrace");
    }
    let folder = Folder::new("probed");
    folder.give("data", 1 << 20);
    let arguments = |depth: u32| {
        format!(
            "--name=j --rw=randread --filename=data --direct=1 --ioengine={engine} --iodepth={depth} --output=/dev/null"
        )
    };
    if probe(script, &arguments(1), folder.path()).is_none() {
        iostrata_testkit::skip!(
            format!("watching {engine} by bpftrace"),
            "needs a kernel with tracepoints and uprobes"
        );
    }
    for depth in [1, 8, 32] {
        let seen = probe(script, &arguments(depth), folder.path()).expect("it worked a moment ago");
        assert_eq!(seen, format!("submitted 256 deepest {depth} left 0"), "{engine} at depth {depth}");
    }
}

#[test]
fn io_uring_reaches_its_depth_and_never_exceeds_it() {
    reaches_its_depth("io_uring", URING_SCRIPT);
}

#[test]
fn posixaio_reaches_its_depth_and_never_exceeds_it() {
    let Some(libc) = libc_path() else {
        iostrata_testkit::skip!("watching posixaio by bpftrace", "needs a C library that is a file")
    };
    reaches_its_depth("posixaio", &POSIX_SCRIPT.replace("LIBC", &libc.to_string_lossy()));
}
