//! `ioengine=nbd` against real servers: nbdkit and qemu-nbd, over a Unix socket and over TCP.

#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostrata_testkit::faults::{Beside, Ended, until, whole_json};
use iostrata_testkit::{Folder, Outcome, alone, fio, iostrata, measure, must, skip, which};
use rustix::process::Signal;
use serde_json::Value;

/// A server that lives as long as the test wants it.
struct Served {
    _server: Beside,
    uri: String,
    folder: Folder,
}

impl Served {
    /// nbdkit on a socket, with these words behind those.
    fn nbdkit(words: &str) -> Option<Served> {
        which("nbdkit")?;
        let folder = Folder::new("nbd");
        let socket = folder.path().join("socket");
        let given = ["-f", "-U", socket.to_str().unwrap()];
        let words: Vec<&str> = given.into_iter().chain(words.split_whitespace()).collect();
        let server = Beside::start("nbdkit", &words, folder.path());
        until("nbdkit", || UnixStream::connect(&socket).is_ok());
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        Some(Served { _server: server, uri, folder })
    }

    /// qemu-nbd on a port of this machine, with an export of this name.
    fn qemu(export: &str, mebibytes: u64) -> Option<Served> {
        which("qemu-nbd")?;
        let folder = Folder::new("qemu-nbd");
        folder.give("disk", mebibytes << 20);
        // Free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let words = format!("-f raw -b 127.0.0.1 -p {port} -x {export} -t -e 8 disk");
        let server = Beside::start("qemu-nbd", &words.split_whitespace().collect::<Vec<_>>(), folder.path());
        until("qemu-nbd", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Served { _server: server, uri: format!("nbd://127.0.0.1:{port}/{export}"), folder })
    }

    fn words(&self, words: &str) -> Vec<String> {
        let base = ["--name=n".into(), "--ioengine=nbd".into(), format!("--uri={}", self.uri)];
        base.into_iter().chain(words.split_whitespace().map(str::to_owned)).collect()
    }

    /// Runs a job on the export.
    fn measure(&self, program: &Path, words: &str) -> Outcome {
        let words = self.words(words);
        measure(program, &words.iter().map(String::as_str).collect::<Vec<_>>(), self.folder.path())
    }

    fn job(&self, words: &str) -> Outcome {
        let outcome = self.measure(Path::new(iostrata()), words);
        assert_eq!(outcome.code, 0, "{words}: {} {:?}", outcome.stderr, outcome.json);
        outcome
    }

    /// Begins a job that goes on.
    fn begin(&self, words: &str) -> Beside {
        let words = self.words(&format!("{words} --output-format=json --output=o.json"));
        let job = Beside::start(iostrata(), &words.iter().map(String::as_str).collect::<Vec<_>>(), self.folder.path());
        job.wait_for_thread("n");
        job
    }

    fn document(&self) -> Value {
        whole_json(&self.folder.path().join("o.json")).expect("a document")
    }

    /// All bytes of the export, by another client.
    fn bytes(&self) -> Vec<u8> {
        let copy: PathBuf = self.folder.path().join("copy");
        must("nbdcopy", &[&self.uri, copy.to_str().unwrap()]);
        std::fs::read(&copy).unwrap()
    }
}

/// The I/Os of each direction, of which each histogram must have as many.
fn counted(outcome: &Outcome) -> [u64; 3] {
    let job = &outcome.json.as_ref().expect("a document")["jobs"][0];
    ["read", "write", "trim"].map(|direction| {
        let ios = job[direction]["total_ios"].as_u64().unwrap();
        for kind in ["slat_ns", "clat_ns", "lat_ns"] {
            assert_eq!(job[direction][kind]["N"], ios, "{direction} {kind}");
        }
        ios
    })
}

/// How many of each direction; the export's size stands for a size that is not given.
#[test]
fn as_much_is_moved_as_by_fio() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("memory 16M") else { skip!("nbdkit", "apt-get install nbdkit") };
    let Some(fio) = fio() else { skip!("comparing with fio", "apt-get install fio") };
    for words in [
        "--rw=read --bs=64k",
        "--rw=randwrite --bs=4k --iodepth=16",
        "--rw=randtrim --bs=8k --size=1m",
        "--rw=write --bs=4k --size=1m --offset=15m --iodepth=4",
        "--rw=read --bs=1m --size=100m",
        "--rw=randread --bs=512 --number_ios=500 --iodepth=32 --numjobs=3",
        "--rw=randwrite --bs=4k --size=512k --fsync=8",
    ] {
        let (theirs, ours) = (served.measure(&fio, words), served.job(words));
        let done = |outcome: &Outcome| outcome.counts().iter().map(|job| (job.error, job.done)).collect::<Vec<_>>();
        assert_eq!(done(&ours), done(&theirs), "{words}");
        counted(&ours);
    }
}

/// What one client writes another reads, and the checks of `verify` hold: replies come in any order.
#[test]
fn what_is_written_is_what_others_read() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("--filter=delay memory 8M delay-read=1ms delay-write=1ms") else {
        skip!("nbdkit", "apt-get install nbdkit")
    };
    if which("nbdcopy").is_none() {
        skip!("another client", "apt-get install libnbd-bin");
    }
    served.job("--rw=randwrite --bs=4k --iodepth=16 --verify=pattern --verify_pattern=0xfeed --do_verify=0");
    assert!(served.bytes().chunks(2).all(|pair| pair == [0xfe, 0xed]));
    let checked = served.job("--rw=randwrite --bsrange=512-1m --iodepth=16 --verify=crc32c");
    let [reads, writes, _] = counted(&checked);
    assert!(reads == writes && reads > 10, "{reads} of {writes}");
    // Bytes that somebody else changed are found.
    served.job("--rw=write --bs=4k --verify=crc32c --do_verify=0");
    must("qemu-io", &["-f", "raw", "-c", "write -P 7 1m 512", &served.uri]);
    let spoiled = served.measure(Path::new(iostrata()), "--rw=write --bs=4k --verify=crc32c --verify_only");
    assert_eq!((spoiled.code, spoiled.counts()[0].error), (1, 84), "{}", spoiled.stderr);
}

#[test]
fn an_export_is_found_by_its_name_and_written_back() {
    let _alone = alone();
    let Some(served) = Served::qemu("disk", 8) else { skip!("qemu-nbd", "apt-get install qemu-utils") };
    let outcome =
        served.job("--rw=write --bs=64k --iodepth=4 --fsync=4 --verify=pattern --verify_pattern=0x5a --do_verify=0");
    assert_eq!(outcome.counts()[0].syncs, 31, "none after the last write");
    let disk = std::fs::read(served.folder.path().join("disk")).unwrap();
    assert!(disk.len() == 8 << 20 && disk.iter().all(|byte| *byte == 0x5a), "flushed to its file");
    let other = Served { uri: served.uri.replace("/disk", "/other"), ..served };
    let refused = other.measure(Path::new(iostrata()), "--rw=read");
    assert!(refused.code == 1 && refused.stderr.contains("no export `other`"), "{}", refused.stderr);
}

/// What the server takes at most in one request is kept; a longer I/O is done in parts.
#[test]
fn an_io_above_the_servers_limit_is_done_in_parts() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("memory 128M") else { skip!("nbdkit", "apt-get install nbdkit") };
    let outcome = served.job("--rw=write --bs=64m --verify=crc32c");
    assert_eq!(counted(&outcome), [2, 2, 0]);
    assert_eq!(outcome.counts()[0].done[1], (128 << 20, 2));
}

#[test]
fn what_the_server_does_not_allow_ends_the_job_with_a_reason() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("-r memory 1M") else { skip!("nbdkit", "apt-get install nbdkit") };
    served.job("--rw=read --bs=4k");
    let refused = served.measure(Path::new(iostrata()), "--rw=write --bs=4k");
    assert_eq!((refused.code, refused.counts()[0].error), (1, 30), "{}", refused.stderr);
    assert!(refused.stderr.contains("Read-only"), "{}", refused.stderr);
    let gone = Served { uri: "nbd+unix:///?socket=/nowhere".into(), ..served };
    let refused = gone.measure(Path::new(iostrata()), "--rw=read --bs=4k --size=1m");
    assert!(refused.code == 1 && refused.stderr.contains("/nowhere cannot be reached"), "{}", refused.stderr);
}

/// Each request in flight fails, the job ends at once, and the report is whole.
#[test]
fn a_server_that_dies_ends_the_job_and_nothing_hangs() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("--filter=delay memory 64M delay-read=20ms") else {
        skip!("nbdkit", "apt-get install nbdkit")
    };
    let job = served.begin("--rw=randread --bs=4k --iodepth=16 --time_based --runtime=60");
    std::thread::sleep(Duration::from_millis(300));
    served._server.signal(Signal::KILL);
    let Ended { status, stderr, .. } = job.end();
    let document = served.document();
    let entry = &document["jobs"][0];
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!([104, 32].contains(&entry["error"].as_i64().unwrap()), "reset or a broken pipe: {}", entry["error"]);
    assert!(entry["read"]["total_ios"].as_u64().unwrap() > 16, "{}", entry["read"]);
}

/// A server that takes its time with each request holds nobody up when the job is told to end.
#[test]
fn an_interrupt_ends_the_job_with_its_report() {
    let _alone = alone();
    let Some(served) = Served::nbdkit("--filter=delay memory 64M delay-write=200ms") else {
        skip!("nbdkit", "apt-get install nbdkit")
    };
    let job = served.begin("--rw=randwrite --bs=4k --iodepth=8 --time_based --runtime=60");
    std::thread::sleep(Duration::from_millis(300));
    job.signal(Signal::INT);
    assert_eq!(job.end().code(), Some(128));
    let document = served.document();
    let entry = &document["jobs"][0];
    assert_eq!(
        (&document["iostrata"]["jobs"][0]["censored"], &entry["error"]),
        (&0.into(), &0.into()),
        "all came back"
    );
    assert!(entry["write"]["total_ios"].as_u64().unwrap() >= 8);
}

#[test]
fn servers_of_the_old_style_are_understood() {
    let _alone = alone();
    for style in ["--oldstyle", "--newstyle --mask-handshake=0", "--newstyle"] {
        let Some(served) = Served::nbdkit(&format!("{style} memory 1m")) else {
            skip!("old servers of nbd", "apt-get install nbdkit");
        };
        assert_eq!(counted(&served.job("--rw=randread --bs=4k --iodepth=4")), [256, 0, 0], "{style}");
    }
}

#[test]
fn damage_is_found_by_checking_and_a_rate_is_kept() {
    let _alone = alone();
    let folder = Folder::new("nbd-damage");
    let disk = folder.path().join("disk");
    std::fs::write(&disk, vec![0; 4 << 20]).unwrap();
    let Some(served) = Served::nbdkit(&format!("file {}", disk.display())) else {
        skip!("verify= over nbd", "apt-get install nbdkit");
    };
    let checked = "--rw=randwrite --bs=4k --iodepth=8 --verify=crc32c";
    served.job(checked);
    let mut bytes = std::fs::read(&disk).unwrap();
    bytes[1_000_000] ^= 1;
    std::fs::write(&disk, bytes).unwrap();
    let found = served.measure(Path::new(iostrata()), &format!("{checked} --verify_only"));
    assert!(found.code != 0 && found.stderr.contains("999424"), "{}", found.stderr);
    let paced = served.job("--rw=randread --bs=4k --iodepth=8 --time_based --runtime=1 --rate_iops=500");
    assert!((1..=510).contains(&counted(&paced)[0]), "{:?}", counted(&paced));
}
