//! What goes wrong with disks, files and outputs: a sentence that says it, the report of what was measured until then,
//! fio's exit code, and no document half-written.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use iostrata_testkit::faults::{Beside, Ended, Server, Small, loop_of_sectors, until, whole_json};
use iostrata_testkit::{Folder, Outcome, fio, iostrata, is_root, measure, must, run, which};
use rustix::process::Signal;
use serde_json::Value;

/// The numbers on Linux of the errors that are provoked here.
const EIO: i64 = 5;
const EACCES: i64 = 13;
const EISDIR: i64 = 21;
const EINVAL: i64 = 22;
const EFBIG: i64 = 27;
const ENOSPC: i64 = 28;
const EROFS: i64 = 30;
const ETIMEDOUT: i64 = 110;

const ENGINES: [&str; 4] = ["psync", "libaio", "posixaio", "io_uring"];

/// Runs a job that must fail: with exit code 1, this error in its document, and a sentence with these words. The real
/// fio, if it is here, must end the same way. Files that it makes are in `data`.
fn fails(arguments: &[&str], data: &Path, errno: i64, words: &[&str]) -> Value {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let folder = Folder::new(&format!("fails-{}", NUMBER.fetch_add(1, Relaxed)));
    let folder = folder.path();
    let outcome = measure(iostrata(), arguments, folder);
    says(&outcome, arguments, errno, words);
    let _ = std::fs::remove_file(data.join("made.0.0"));
    if let Some(fio) = fio() {
        let judge = measure(fio, arguments, folder);
        assert_eq!(judge.code, 1, "fio, {arguments:?}: {}", judge.stderr);
        // fio 3.33 with posixaio does not always survive errors: an assertion of its own fails.
        if !judge.stderr.contains("got signal") {
            assert_eq!(judge.counts()[0].error, errno, "fio, {arguments:?}: {}", judge.stderr);
        }
        let _ = std::fs::remove_file(data.join("made.0.0"));
    }
    outcome.json.unwrap()
}

fn says(outcome: &Outcome, arguments: &[&str], errno: i64, words: &[&str]) {
    assert_eq!(outcome.code, 1, "{arguments:?}: {}", outcome.stderr);
    let json = outcome.json.as_ref().unwrap_or_else(|| panic!("{arguments:?}: no document: {}", outcome.stderr));
    assert_eq!(json["jobs"][0]["error"], errno, "{arguments:?}: {}", outcome.stderr);
    names(&outcome.stderr, words);
}

/// Each of the words is in one line of the text.
fn names(text: &str, words: &[&str]) {
    let line = text.lines().find(|line| line.contains(words[0])).unwrap_or_else(|| panic!("{words:?}: {text}"));
    for word in words {
        assert!(line.contains(word), "no `{word}` in: {line}");
    }
}

fn io_bytes(json: &Value, direction: &str) -> u64 {
    json["jobs"][0][direction]["io_bytes"].as_u64().unwrap()
}

#[test]
fn a_disk_that_fills_up_in_mid_run_ends_the_job_with_its_place_and_what_was_written() {
    if !is_root() {
        iostrata_testkit::skip!("a small file system", "needs root");
    }
    let small = Small::new("full", 4);
    let directory = format!("--directory={}", small.path().display());
    for engine in ENGINES {
        let engine = format!("--ioengine={engine}");
        let job = [&directory, "--name=made", "--rw=write", "--size=8m", "--bs=64k", "--iodepth=4", &engine];
        // It might end before the disk is full; else it would be refused.
        let job: Vec<&str> = job.into_iter().chain(["--fallocate=none", "--runtime=60"]).collect();
        let words = ["job made", "write of ", "made.0.0, offset 4", "No space left on device", "free space"];
        let json = fails(&job, small.path(), ENOSPC, &words);
        let written = io_bytes(&json, "write");
        assert!((3 << 20..=4 << 20).contains(&written), "{engine}: {written} bytes before the disk was full");
    }
    // A preallocation that fails is no reason not to begin: the job may end before it needs all.
    let job = [&directory, "--name=made", "--rw=write", "--size=8m", "--bs=64k", "--runtime=60"];
    let json = fails(&job, small.path(), ENOSPC, &["write of "]);
    assert!(io_bytes(&json, "write") > 3 << 20);
}

#[test]
fn a_layout_that_does_not_fit_leaves_nothing() {
    // Room that is known to be missing is told of before anything is made; this limit shows only while it is made.
    let folder = Folder::new("layout");
    let lay_out = |fallocate: &str| {
        let job = format!("--name=made --rw=read --size=8m --fallocate={fallocate}");
        let output = run("sh", &["-c", &format!("ulimit -f 8192; exec {} {job}", iostrata())], folder.path());
        assert_eq!(output.status.code(), Some(1), "{fallocate}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        names(&text, &["job made", "made.0.0", "File too large", "ulimit -f"]);
    };
    for fallocate in ["native", "none", "posix"] {
        lay_out(fallocate);
        assert_eq!(iostrata_testkit::list(folder.path()), [], "{fallocate}");
    }
    // Of a file that was there before, the old bytes stay.
    std::fs::write(folder.path().join("made.0.0"), [7; 5000]).unwrap();
    lay_out("none");
    assert_eq!(std::fs::read(folder.path().join("made.0.0")).unwrap(), [7; 5000]);
}

#[test]
fn a_file_that_loses_its_name_in_mid_run_is_read_to_the_end() {
    let folder = Folder::new("vanish");
    for engine in ENGINES {
        std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
        let engine = format!("--ioengine={engine}");
        let beside = reader(&folder, &[&engine]);
        std::fs::remove_file(folder.path().join("data")).unwrap();
        let ended = beside.end();
        assert_eq!(ended.code(), Some(0), "{engine}: {}", ended.stderr);
    }
}

/// A job `reads` that reads `data` at random for half a second; it is reading when this returns.
fn reader(folder: &Folder, more: &[&str]) -> Beside {
    let words = ["--name=reads", "--filename=data", "--rw=randread", "--bs=4k", "--size=1m", "--iodepth=4"];
    let rest = ["--runtime=500ms", "--time_based", "--output=o.json", "--output-format=json"];
    let all: Vec<&str> = words.iter().chain(&rest).chain(more).copied().collect();
    let beside = Beside::start(iostrata(), &all, folder.path());
    beside.wait_for_thread("reads");
    // From the thread's start to its first read.
    std::thread::sleep(Duration::from_millis(150));
    beside
}

fn failed(ended: &Ended, document: &Path, errno: i64, words: &[&str]) -> Value {
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    names(&ended.stderr, words);
    let json = whole_json(document).expect("a document");
    assert_eq!(json["jobs"][0]["error"], errno);
    json
}

#[test]
fn a_file_that_is_cut_short_in_mid_run_ends_the_job_where_nothing_is_left() {
    let folder = Folder::new("short");
    for (engine, direct) in ENGINES.into_iter().flat_map(|engine| [(engine, "--direct=0"), (engine, "--direct=1")]) {
        std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
        let engine = format!("--ioengine={engine}");
        let beside = reader(&folder, &[&engine, direct, "--runtime=60"]);
        OpenOptions::new().write(true).open(folder.path().join("data")).unwrap().set_len(6000).unwrap();
        let words = ["job reads", "read of data", "offset ", "the file ended here", "cut short"];
        let json = failed(&beside.end(), &folder.path().join("o.json"), EIO, &words);
        assert!(io_bytes(&json, "read") > 0, "{engine} {direct}: what was read before is reported");
    }
}

#[test]
fn a_device_that_fails_in_mid_run_ends_the_job_with_its_error() {
    if let Some(how) = Server::missing() {
        iostrata_testkit::skip!("EIO from a disk server", how);
    }
    for engine in ENGINES {
        let server = Server::new(&format!("eio-{engine}"));
        let folder = Folder::new("eio");
        let (engine, file) = (format!("--ioengine={engine}"), format!("--filename={}", server.file().display()));
        let beside = reader(&folder, &[&engine, &file, "--runtime=60"]);
        server.fail();
        let path = server.file().display().to_string();
        let words = ["job reads", "read of ", &path, "offset ", "Input/output error", "dmesg"];
        let json = failed(&beside.end(), &folder.path().join("o.json"), EIO, &words);
        assert!(io_bytes(&json, "read") > 0, "{engine}");
    }
}

#[test]
fn direct_io_that_does_not_fit_names_the_alignment_needed_and_given() {
    if !is_root() || which("losetup").is_none() {
        iostrata_testkit::skip!("a loop device of 4 KiB sectors", "needs root and losetup (apt-get install mount)");
    }
    let disk = loop_of_sectors("align", 64, 4096);
    let file = format!("--filename={}", disk.device);
    for engine in ENGINES {
        let engine = format!("--ioengine={engine}");
        let job = ["--name=j", "--rw=read", "--bs=1k", "--size=1m", "--direct=1", &file, &engine];
        let words = ["job j", "read of ", &disk.device, "needs offset alignment 4096", "multiples of 1024"];
        fails(&job, Path::new("/nowhere"), EINVAL, &words);
    }
}

#[test]
fn direct_io_on_a_file_system_without_it_says_so() {
    if !is_root() {
        iostrata_testkit::skip!("a ramfs, which refuses O_DIRECT", "needs root");
    }
    let small = Small::ram("no-direct");
    let directory = format!("--directory={}", small.path().display());
    for rw in ["--rw=read", "--rw=write"] {
        let job = [&directory, "--name=made", "--size=64k", "--direct=1", rw];
        let words = ["job made", "made.0.0", "O_DIRECT refused", "(ramfs)", "direct=0"];
        fails(&job, small.path(), EINVAL, &words);
    }
}

#[test]
fn a_user_without_permission_is_told_which_file() {
    if !is_root() || which("setpriv").is_none() {
        iostrata_testkit::skip!("a job of another user", "needs root and setpriv (apt-get install util-linux)");
    }
    let folder = Folder::below(Path::new("/tmp"), "iostrata-denied");
    let program = folder.path().join("program");
    std::fs::copy(iostrata(), &program).unwrap();
    std::fs::write(folder.path().join("kept"), [1; 8192]).unwrap();
    must("chmod", &["600", folder.path().join("kept").to_str().unwrap()]);
    must("chmod", &["755", folder.path().to_str().unwrap(), program.to_str().unwrap()]);
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    for (file, rw) in [("kept", "read"), ("kept", "write"), ("new", "read"), ("new", "write")] {
        let (name, rw) = (format!("--filename={file}"), format!("--rw={rw}"));
        let job = ["--name=j", "--size=8k", "--output-format=json", &name, &rw];
        let words: Vec<&str> = nobody.into_iter().chain([program.to_str().unwrap()]).chain(job).collect();
        let output = run("setpriv", &words, folder.path());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        names(&stderr, &["job j", "cannot open", file, "Permission denied", "a user who may"]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("nothing but the document");
        assert_eq!(json["jobs"][0]["error"], EACCES);
    }
}

#[test]
fn a_read_only_mount_and_a_folder_are_no_places_for_data() {
    let folder = Folder::new("places");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for rw in ["--rw=read", "--rw=write"] {
        let file = format!("--filename={}", folder.path().join("sub").display());
        fails(
            &["--name=j", &file, "--size=1m", rw],
            folder.path(),
            EISDIR,
            &["job j", "sub is a directory", "directory="],
        );
    }
    if !is_root() {
        iostrata_testkit::skip!("a read-only mount", "needs root");
    }
    let small = Small::new("read-only", 4);
    must("mount", &["-o", "remount,ro", small.path().to_str().unwrap()]);
    let file = format!("--filename={}", small.path().join("data").display());
    for rw in ["--rw=read", "--rw=write"] {
        let words = ["job j", "cannot open or create", "data", "Read-only file system", "mounted read-only"];
        fails(&["--name=j", &file, "--size=1m", rw], folder.path(), EROFS, &words);
    }
}

#[test]
fn an_output_that_takes_no_more_is_an_error_and_files_are_not_affected() {
    let folder = Folder::new("outputs");
    let program = iostrata();
    for format in ["normal", "json"] {
        for (what, sink) in [("full", ">/dev/full"), ("closed", ">&-"), ("without a reader", "| true")] {
            let job = format!("{program} --name=j --ioengine=null --size=1m --rate=10m --output-format={format}");
            // The exit code of a pipe is its last program's: the first one's goes to a file.
            let line = format!("({job} --save=s.json; echo $? > code) {sink}");
            let output = run("sh", &["-c", &line], folder.path());
            let code = std::fs::read_to_string(folder.path().join("code")).unwrap_or_default();
            assert_eq!(code.trim(), "1", "{what}: {}", String::from_utf8_lossy(&output.stderr));
            names(&String::from_utf8_lossy(&output.stderr), &["standard output", "--output=FILE"]);
            assert_eq!(whole_json(&folder.path().join("s.json")).expect("saved")["end"], "finished", "{what}");
            let line = format!("({job} --output=o.txt; echo $? > code) {sink}");
            let output = run("sh", &["-c", &line], folder.path());
            assert_eq!(std::fs::read_to_string(folder.path().join("code")).unwrap().trim(), "0", "{what}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{what}");
            let text = std::fs::read_to_string(folder.path().join("o.txt")).unwrap();
            assert!(text.len() > 500, "{what}: {text}");
            folder.clear();
        }
    }
}

#[test]
fn a_reader_that_sleeps_does_not_keep_a_signal_from_ending_the_run() {
    let folder = Folder::new("sleeping-reader");
    // json+ of several jobs is more than a pipe holds.
    let mut words = vec!["--output-format=json+".to_string(), "--ioengine=null".into(), "--size=1m".into()];
    words.extend((0..24).map(|job| format!("--name=j{job}")));
    let mut child = Command::new(iostrata())
        .args(&words)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    // The pipe is full when its writer sleeps in poll.
    until("a full pipe", || {
        let mut left = 0;
        if let Some(pipe) = &child.stdout {
            left = rustix::io::ioctl_fionread(pipe).unwrap();
        }
        left >= 60_000
    });
    assert!(child.try_wait().unwrap().is_none());
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(128));
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let folder = Folder::new("unwritable");
    for output in ["--output=no/such/folder/o", "--output=.", "--save=no/such/folder/s", "--save=/proc/s"] {
        let ended = run(iostrata(), &["--name=j", "--rw=write", "--size=4k", output], folder.path());
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{output}: {stderr}");
        names(&stderr, &[output.split_once('=').unwrap().1]);
        assert_eq!(iostrata_testkit::list(folder.path()), [], "{output}: nothing was done");
    }
}

#[test]
fn a_disk_that_is_full_when_the_report_is_written_is_an_error_without_a_torn_file() {
    if !is_root() {
        iostrata_testkit::skip!("a small file system", "needs root");
    }
    let small = Small::new("report-disk", 1);
    let folder = Folder::new("report");
    std::fs::write(small.path().join("kept.json"), "{}").unwrap();
    // The check before the run needs no space, the document does.
    let _ = std::fs::write(small.path().join("ballast"), vec![0; 2 << 20]);
    let output = format!("--output={}", small.path().join("kept.json").display());
    let job = ["--name=j", "--ioengine=null", "--size=1m", "--output-format=json+", "--save=s.json", &output];
    let ended = run(iostrata(), &job, folder.path());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    names(&stderr, &["could not be written", "kept.json", "No space left on device"]);
    assert_eq!(std::fs::read_to_string(small.path().join("kept.json")).unwrap(), "{}", "the old one is still whole");
    assert_eq!(iostrata_testkit::list(small.path()).len(), 2, "no temporary file stays");
    assert!(whole_json(&folder.path().join("s.json")).is_some());
}

#[test]
fn a_request_that_never_returns_is_named_and_the_rest_is_reported() {
    if let Some(how) = Server::missing() {
        iostrata_testkit::skip!("a disk server that stops answering", how);
    }
    for engine in ENGINES {
        for (interrupt, runtime) in [(false, "--runtime=1"), (true, "--runtime=600")] {
            let server = Server::new(&format!("stuck-{engine}"));
            let folder = Folder::new("stuck");
            let (engine, file) = (format!("--ioengine={engine}"), format!("--filename={}", server.file().display()));
            let beside = reader(&folder, &[&engine, &file, "--size=64m", runtime, "--grace=1"]);
            server.stop();
            std::thread::sleep(Duration::from_millis(100));
            if interrupt {
                beside.signal(Signal::INT);
            }
            let ended = beside.end();
            server.wake();
            let path = server.file().display().to_string();
            let words = ["job reads", "read of ", &path, "offset ", "never came back", "lower bounds"];
            names(&ended.stderr, &words);
            assert_eq!(ended.code(), Some(if interrupt { 128 } else { 1 }), "{engine}: {}", ended.stderr);
            let json = whole_json(&folder.path().join("o.json")).expect("a document");
            assert_eq!(json["jobs"][0]["error"], ETIMEDOUT, "{engine}");
            let ours = &json["iostrata"]["jobs"][0];
            assert!(ours["censored"].as_u64().unwrap() > 0, "{engine}");
            assert_eq!(ours["percentiles_are_lower_bounds"], true, "{engine}");
            assert!(io_bytes(&json, "read") > 0, "{engine}: what was measured before");
        }
    }
}

#[test]
fn a_process_that_the_kernel_holds_has_reported_before() {
    if let Some(how) = Server::missing() {
        iostrata_testkit::skip!("a disk server that stops answering", how);
    }
    // A direct request that the server has taken cannot be ended, not even by SIGKILL.
    let server = Server::new("held");
    let folder = Folder::new("held");
    let file = format!("--filename={}", server.file().display());
    let beside = reader(&folder, &[&file, "--size=64m", "--direct=1", "--runtime=600", "--save=s.json"]);
    server.stop();
    std::thread::sleep(Duration::from_millis(100));
    beside.signal(Signal::INT);
    for name in ["o.json", "s.json"] {
        until(name, || folder.path().join(name).exists());
        assert!(whole_json(&folder.path().join(name)).is_some());
    }
    server.wake();
    let ended = beside.end();
    assert_eq!(ended.code(), Some(128));
    names(&ended.stderr, &["job reads", "never came back", "the kernel holds it"]);
}

#[test]
fn a_file_system_that_does_not_even_tell_a_size_can_be_interrupted() {
    if let Some(how) = Server::missing() {
        iostrata_testkit::skip!("a file system that stops answering", how);
    }
    let server = Server::new("no-size");
    let folder = Folder::new("no-size");
    let file = format!("--filename={}", server.file().display());
    server.stop_all();
    // What the kernel remembers of the file is valid for a second.
    std::thread::sleep(Duration::from_millis(1200));
    let beside = Beside::start(iostrata(), &["--name=j", "--rw=read", "--size=1m", &file], folder.path());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!beside.is_exiting());
    beside.signal(Signal::INT);
    let ended = beside.end_within(Duration::from_secs(30)).map_err(|_| "it hangs");
    server.wake();
    assert_eq!(ended.unwrap().code(), Some(128));
}

#[test]
fn faults_known_before_the_run_are_in_the_document_that_a_program_reads() {
    let folder = Folder::new("known-before");
    // One job at fault, another in order: fio runs the second one.
    let job = ["--name=bad", "--filename=.", "--rw=read", "--size=1m", "--name=good", "--ioengine=null", "--size=1m"];
    let outcome = measure(iostrata(), &job, folder.path());
    says(&outcome, &job, EISDIR, &["job bad", "is a directory"]);
    assert_eq!(outcome.counts()[1].error, 0);
    // What no run can begin with.
    let job = ["--name=bad", "--directory=no/such", "--rw=read", "--size=1m", "--save=s.json"];
    let outcome = measure(iostrata(), &job, folder.path());
    says(&outcome, &job, EINVAL, &["job bad", "no/such is not a directory"]);
    assert_eq!(whole_json(&folder.path().join("s.json")).unwrap()["workers"][0]["error"], EINVAL);
}

#[test]
fn a_limit_on_file_sizes_is_an_error_of_the_job_and_not_the_end_of_the_program() {
    let folder = Folder::new("limit");
    for rw in ["read", "write"] {
        let job = format!("--name=j --rw={rw} --size=1m --fallocate=none --output-format=json --output=o.json");
        // `ulimit -f` counts blocks of 512 bytes.
        let line = format!("ulimit -f 200; exec {} {job}", iostrata());
        let output = run("sh", &["-c", &line], folder.path());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{rw}: {stderr}");
        names(&stderr, &["job j", "j.0.0", "File too large", "ulimit -f"]);
        assert_eq!(whole_json(&folder.path().join("o.json")).unwrap()["jobs"][0]["error"], EFBIG);
        folder.clear();
    }
}

#[test]
fn dev_full_is_a_disk_that_is_full() {
    let folder = Folder::new("dev-full");
    let words = ["job t", "write of /dev/full", "offset 0", "No space left on device"];
    fails(&["--name=t", "--filename=/dev/full", "--rw=write", "--size=1M"], folder.path(), ENOSPC, &words);
}
