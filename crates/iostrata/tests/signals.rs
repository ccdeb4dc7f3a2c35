//! A signal may come at any moment: the run ends soon, says so by its exit code, and leaves nothing half-done.
//!
//! Children are started with the signals blocked, as the mask is inherited: the program unblocks them once its handlers
//! stand. So a signal is answered in order from the very first moment of the process, not only once `main` has begun.

#![cfg(target_os = "linux")]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use iostrata_testkit::faults::{Beside, Ended, Server, until, whole_json};
use iostrata_testkit::{Folder, iostrata, which};
use rustix::process::Signal;

/// Moments in the life of each kind of job.
const MOMENTS: usize = 200;
/// Jobs at the same time; they wait for their rate more than they compute.
const AT_ONCE: usize = 8;
/// The promise: a signalled run has ended after this.
const PROMISE: Duration = Duration::from_secs(2);

/// A short life with everything in it: layout, ramp, run, final fsync, two documents.
const LIFE: &[&str] = &[
    "--name=t",
    "--rw=randrw",
    "--bs=4k",
    "--size=256k",
    "--iodepth=4",
    "--rate_iops=2000",
    "--ramp_time=40ms",
    "--runtime=80ms",
    "--time_based",
    "--end_fsync=1",
    "--output-format=json+",
    "--output=o.json",
    "--save=s.json",
];
const FILE_BYTES: u64 = 256 << 10;

const ENGINES: [&[&str]; 4] = [
    &["--ioengine=psync"],
    &["--ioengine=libaio", "--direct=1"],
    &["--ioengine=posixaio"],
    &["--ioengine=io_uring", "--direct=1"],
];

/// What the moments met, over all of them.
#[derive(Debug, Default)]
struct Met {
    /// No document: before the run.
    nothing: usize,
    /// No I/O was begun: layout or set-up.
    before_io: usize,
    /// I/O, in the ramp too: a run that ends there is measured from its start.
    run: usize,
    /// The run had ended by itself: documents were being written.
    writing: usize,
    /// The process was ending already.
    late: usize,
}

fn life(engine: &[&'static str], clones: usize) -> Vec<String> {
    // Memory does not take O_DIRECT on every kernel.
    let engine = if clones > 1 { &engine[..1] } else { engine };
    let words = LIFE.iter().chain(engine).map(|word| (*word).to_string());
    words.chain([format!("--numjobs={clones}")]).collect()
}

/// Starts the job with the signals blocked, in the calling thread too.
fn start(words: &[String], folder: &Path) -> Beside {
    iostrata_os::signals::block_in_this_thread();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Beside::start(iostrata(), &words, folder)
}

/// Where most of a life is spent differs: on a disk in the fsyncs of the layout, in memory in the run.
fn place(clones: usize) -> &'static Path {
    let memory = Path::new("/dev/shm");
    if clones > 1 && memory.is_dir() { memory } else { iostrata_testkit::scratch() }
}

/// Runs `work` for `0..count` on a few threads, each with a folder of its own.
fn side_by_side(place: &Path, name: &str, count: usize, work: impl Fn(usize, &Folder) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..AT_ONCE {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                let folder = Folder::below(place, &format!("signals-{name}-{thread}"));
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    if index >= count {
                        return;
                    }
                    work(index, &folder);
                    folder.clear();
                }
            });
        }
    });
}

/// How long the life of such a job is here and now, with as many beside it as later.
fn measure_life(place: &Path, name: &str, words: &[String]) -> Duration {
    let lives = Mutex::new(Vec::new());
    side_by_side(place, name, 2 * AT_ONCE, |_, folder| {
        let begin = Instant::now();
        let ended = start(words, folder.path()).end();
        lives.lock().unwrap().push(begin.elapsed());
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    });
    let mut lives = lives.into_inner().unwrap();
    lives.sort();
    lives[lives.len() / 2]
}

/// What is in the folder afterwards: documents that are whole, data files that are whole, nothing else.
fn nothing_half_done(folder: &Path, clones: usize, place: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".json") {
            assert!(whole_json(&entry.path()).is_some());
            continue;
        }
        let metadata = entry.metadata().unwrap();
        assert!((0..clones).any(|clone| name == format!("t.{clone}.0")), "{place}: {name} was left behind");
        assert_eq!(metadata.len(), FILE_BYTES, "{place}: {name} is half laid out");
        assert!(metadata.blocks() * 512 >= FILE_BYTES, "{place}: {name} has holes");
    }
}

/// Which part of its life the signal met, by what is left.
fn meet(folder: &Path, met: &Mutex<Met>, signal: i64) {
    let Some(saved) = whole_json(&folder.join("s.json")) else {
        met.lock().unwrap().nothing += 1;
        return;
    };
    let workers = saved["workers"].as_array().unwrap();
    let mut met = met.lock().unwrap();
    if saved["end"] == "finished" {
        met.writing += 1;
    } else {
        assert_eq!(saved["end"]["signal"], signal, "the document says what ended it");
        if workers.iter().all(|worker| worker["started_unix_ms"] == 0) {
            met.before_io += 1;
        } else {
            met.run += 1;
        }
    }
}

/// One signal at one moment.
fn one_moment(words: &[String], clones: usize, signal: Signal, after: Duration, folder: &Path, met: &Mutex<Met>) {
    let place = format!("{signal:?} {after:?} after the start of {}", words.join(" "));
    let begin = Instant::now();
    let beside = start(words, folder);
    std::thread::sleep(after.saturating_sub(begin.elapsed()));
    let sent = Instant::now();
    beside.signal(signal);
    let was_exiting = beside.is_exiting();
    let ended: Ended = beside.end_within(PROMISE).unwrap_or_else(|_| panic!("{place}: still there after {PROMISE:?}"));
    assert!(sent.elapsed() <= PROMISE, "{place}: ended after {:?}", sent.elapsed());
    assert!(!ended.left_behind, "{place}: a process is left");
    nothing_half_done(folder, clones, &place);
    match ended.code() {
        Some(128) => meet(folder, met, i64::from(signal.as_raw())),
        // Nobody can hear a signal any more once the exit has begun.
        Some(0) if was_exiting => met.lock().unwrap().late += 1,
        code => panic!("{place}: exit code {code:?} ({}): {}", ended.status, ended.stderr),
    }
}

fn moments(name: &str, engine: &[&'static str], clones: usize, signal: Signal, count: usize, met: &Mutex<Met>) {
    let words = life(engine, clones);
    let place = place(clones);
    let life = measure_life(place, name, &words);
    side_by_side(place, name, count, |index, folder| {
        // Up to a little after the end.
        let after = life.mul_f64(1.05 * (index as f64 + 0.5) / count as f64);
        one_moment(&words, clones, signal, after, folder.path(), met);
    });
}

#[test]
fn an_interrupt_at_any_moment_ends_the_run_in_order() {
    let met = Mutex::default();
    for (number, engine) in ENGINES.iter().enumerate() {
        for clones in [1, 4] {
            moments(&format!("int-{number}-{clones}"), engine, clones, Signal::INT, MOMENTS, &met);
        }
    }
    let met = met.into_inner().unwrap();
    let parts = [met.before_io, met.run, met.writing];
    assert!(parts.iter().all(|&part| part > 0), "some part of a run's life was never met: {met:?}");
}

#[test]
fn a_layout_that_is_interrupted_leaves_no_half_of_a_file() {
    const BEFORE: &[u8] = &[7; 5000];
    const WHOLE: u64 = 32 << 20;
    // Without preallocation a file that is not full yet has holes.
    let words = "--name=t --rw=read --bs=64k --size=32m --io_size=64k --fallocate=none --save=s.json --output=o.txt";
    let words: Vec<String> = words.split(' ').map(Into::into).collect();
    let life = measure_life(place(1), "layout", &words);
    let undone = AtomicUsize::new(0);
    side_by_side(place(1), "layout", 24, |index, folder| {
        let data = folder.path().join("t.0.0");
        let grows = index % 2 == 0;
        if grows {
            std::fs::write(&data, BEFORE).unwrap();
        }
        let begin = Instant::now();
        let beside = start(&words, folder.path());
        let after = life.mul_f64((index as f64 + 0.5) / 24.0);
        std::thread::sleep(after.saturating_sub(begin.elapsed()));
        beside.signal(Signal::INT);
        let ended = beside.end_within(PROMISE).unwrap_or_else(|_| panic!("still there {PROMISE:?} after {after:?}"));
        let metadata = std::fs::metadata(&data);
        let bytes = metadata.as_ref().map_or(0, |metadata| metadata.len());
        if bytes == WHOLE {
            assert!(metadata.unwrap().blocks() * 512 >= WHOLE, "after {after:?}: half of a file");
        } else {
            assert_eq!(ended.code(), Some(128), "{}", ended.stderr);
            assert_eq!(bytes, if grows { BEFORE.len() as u64 } else { 0 }, "after {after:?}");
            assert_eq!(data.exists(), grows, "after {after:?}");
            undone.fetch_add(1, Relaxed);
        }
        if grows {
            assert_eq!(std::fs::read(&data).unwrap()[..BEFORE.len()], *BEFORE, "after {after:?}: bytes from before");
        }
    });
    assert!(undone.into_inner() > 0, "no signal came before the file was whole");
}

#[test]
fn a_layout_of_many_small_files_that_is_interrupted_leaves_whole_ones() {
    const FILES: usize = 20_000;
    let words = "--name=t --rw=read --bs=4k --nrfiles=20000 --size=80000k --create_only=1 --save=s.json --output=o.txt";
    let words: Vec<String> = words.split(' ').map(Into::into).collect();
    let life = measure_life(place(1), "small", &words);
    let partly = AtomicUsize::new(0);
    side_by_side(place(1), "small", 6, |index, folder| {
        let begin = Instant::now();
        let beside = start(&words, folder.path());
        std::thread::sleep(life.mul_f64((index as f64 + 0.5) / 6.0).saturating_sub(begin.elapsed()));
        beside.signal(Signal::INT);
        let ended = beside.end_within(PROMISE).unwrap_or_else(|_| panic!("still there after {PROMISE:?}"));
        let sizes = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
        let sizes = sizes.filter(|entry| entry.file_name().to_string_lossy().starts_with("t.0."));
        let sizes: Vec<u64> = sizes.map(|entry| entry.metadata().unwrap().len()).collect();
        assert!(sizes.iter().all(|&bytes| bytes == 4096), "a file that is not whole");
        if sizes.len() < FILES {
            assert_eq!(ended.code(), Some(128), "{}", ended.stderr);
            partly.fetch_add(usize::from(!sizes.is_empty()), Relaxed);
        }
    });
    assert!(partly.into_inner() > 0, "no signal came while files were made");
}

#[test]
fn termination_and_hang_up_do_the_same() {
    for signal in [Signal::TERM, Signal::HUP] {
        for (number, engine) in ENGINES.iter().enumerate() {
            moments(&format!("{}-{number}", signal.as_raw()), engine, 2, signal, 20, &Mutex::default());
        }
    }
}

#[test]
fn a_hang_up_that_nohup_ignores_ends_nothing() {
    if which("nohup").is_none() {
        iostrata_testkit::skip!("SIGHUP under nohup", "apt-get install coreutils");
    }
    let folder = Folder::new("nohup");
    let mut words = vec![iostrata()];
    words.extend(LIFE);
    let beside = Beside::start("nohup", &words, folder.path());
    beside.wait_for_thread("t");
    beside.signal(Signal::HUP);
    let ended = beside.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(whole_json(&folder.path().join("s.json")).unwrap()["end"], "finished");
}

#[test]
fn a_second_interrupt_ends_a_run_that_waits_for_a_disk_which_never_answers() {
    if let Some(how) = Server::missing() {
        iostrata_testkit::skip!("a second SIGINT while a request hangs", how);
    }
    let server = Server::new("second-interrupt");
    let folder = Folder::new("second");
    let file = format!("--filename={}", server.file().display());
    for engine in ["psync", "io_uring", "posixaio"] {
        let engine = format!("--ioengine={engine}");
        // A grace of ten minutes: the first interrupt alone would wait for the kernel's answer.
        let words = ["--name=t", "--rw=randread", "--bs=4k", "--size=64m", "--runtime=600", "--time_based"];
        let all: Vec<&str> = words.into_iter().chain([engine.as_str(), file.as_str()]).collect();
        let beside = Beside::start(iostrata(), &all, folder.path());
        beside.wait_for_thread("t");
        server.stop();
        std::thread::sleep(Duration::from_millis(100));
        beside.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!beside.is_exiting(), "{engine}: the first one waits for the disk");
        let sent = Instant::now();
        beside.signal(Signal::INT);
        until("the process to exit", || beside.is_exiting());
        let took = sent.elapsed();
        server.wake();
        assert_eq!(beside.end().code(), Some(128), "{engine}");
        assert!(took < Duration::from_millis(200), "{engine}: {took:?} for a second interrupt");
    }
}

#[test]
fn nothing_is_left_half_written_by_a_kill() {
    let words = life(ENGINES[0], 1);
    let place = place(4);
    let life = measure_life(place, "kill", &words);
    let whole = AtomicUsize::new(0);
    side_by_side(place, "kill", 60, |index, folder| {
        let begin = Instant::now();
        let beside = start(&words, folder.path());
        // The last third of its life, where documents are written.
        let after = life.mul_f64(0.7 + 0.4 * index as f64 / 60.0);
        std::thread::sleep(after.saturating_sub(begin.elapsed()));
        beside.signal(Signal::KILL);
        beside.end();
        for name in ["s.json", "o.json"] {
            whole.fetch_add(usize::from(whole_json(&folder.path().join(name)).is_some()), Relaxed);
        }
    });
    assert!(whole.into_inner() > 0, "some runs had written their documents");
}
