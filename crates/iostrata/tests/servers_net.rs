//! `ioengine=net` and `netsplice`: two programs on this machine, one of which may be fio.

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use iostrata_testkit::faults::{Beside, Ended, until, whole_json};
use iostrata_testkit::{Folder, alone, fio, iostrata, measure, run, skip};
use rustix::process::Signal;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A port that nobody has, of either protocol.
fn port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port").port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// One of the two sides: a program and its words.
struct Side<'a>(&'a OsStr, String);

impl Side<'_> {
    /// Starts it in a folder of its own, where its document is `o`.
    fn start(&self, folder: &Folder, name: &str) -> Beside {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap_or_else(|error| assert!(place.is_dir(), "{error}"));
        let mut words = vec!["--bs=4k", "--output-format=json+", "--output=o"];
        words.extend(self.1.split_whitespace());
        Beside::start(self.0, &words, &place)
    }
}

fn end(side: Beside) -> Ended {
    side.end_within(PATIENCE).unwrap_or_else(|_| panic!("it hangs"))
}

/// The one job in a document of fio's kind.
fn job(folder: &Folder, name: &str) -> Value {
    whole_json(&folder.path().join(name).join("o")).expect("valid JSON")["jobs"][0].clone()
}

/// Whether somebody on this machine waits at the port.
fn is_bound(port: u16) -> bool {
    let wanted = format!(":{port:04X} ");
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let table = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        table.lines().any(|line| line.split_whitespace().nth(1).is_some_and(|at| format!("{at} ").ends_with(&wanted)))
    })
}

/// Words for the two sides, the reader first, and whether fio's reader ends with such a sender.
const PAIRS: [(&str, &str, bool); 8] = [
    (
        "--ioengine=net --listen --port=PORT --rw=read",
        "--ioengine=net --hostname=127.0.0.1 --port=PORT --rw=write",
        true,
    ),
    (
        "--ioengine=net --listen --pingpong --port=PORT --rw=read",
        "--ioengine=net --pingpong --hostname=127.0.0.1 --port=PORT --rw=write",
        true,
    ),
    (
        "--ioengine=net --proto=tcpv6 --listen --port=PORT --rw=read",
        "--ioengine=net --proto=tcpv6 --hostname=::1 --port=PORT --rw=write --nodelay=1 --window_size=64k",
        true,
    ),
    (
        "--ioengine=net --proto=udp --port=PORT --rw=read",
        "--ioengine=net --proto=udp --hostname=127.0.0.1 --port=PORT --rw=write",
        true,
    ),
    (
        "--ioengine=net --proto=udpv6 --port=PORT --rw=read",
        "--ioengine=net --proto=udpv6 --hostname=::1 --port=PORT --rw=write",
        true,
    ),
    (
        "--ioengine=net --proto=udp --pingpong --port=PORT --rw=read",
        "--ioengine=net --proto=udp --pingpong --hostname=127.0.0.1 --port=PORT --rw=write",
        true,
    ),
    // fio's sender says its end to an address of the internet, and calls that an error.
    (
        "--ioengine=net --proto=unix --filename=../s --rw=read",
        "--ioengine=net --proto=unix --filename=../s --rw=write",
        true,
    ),
    // fio's reader never ends, with its own sender neither.
    (
        "--ioengine=netsplice --listen --port=PORT --rw=read",
        "--ioengine=netsplice --hostname=127.0.0.1 --port=PORT --rw=write",
        false,
    ),
];

/// Runs a pair: what has been read and written, bytes.
fn pair(reads: OsPair<'_>, writes: OsPair<'_>, what: &str) {
    let folder = Folder::new("net");
    let port = port();
    let words = |words: &str| words.replace("PORT", &port.to_string());
    let unix = what.contains("unix");
    let reader = Side(reads.0, format!("--name=r --size=4m {}", words(reads.1))).start(&folder, "r");
    until("the reader", || if unix { folder.path().join("s").exists() } else { is_bound(port) });
    let writer = end(Side(writes.0, format!("--name=w --size=64k {}", words(writes.1))).start(&folder, "w"));
    let reader = end(reader);
    assert_eq!(reader.code(), Some(0), "{what}");
    let ours = Path::new(writes.0) == Path::new(iostrata());
    assert!(writer.code() == Some(0) || !ours && unix, "{what}: {:?}", writer.code());
    let (read, written) = (job(&folder, "r")["read"].clone(), job(&folder, "w")["write"].clone());
    assert_eq!(written["io_bytes"], 64 << 10, "{what}");
    if Path::new(reads.0) == Path::new(iostrata()) {
        assert_eq!((&read["io_bytes"], &read["total_ios"]), (&Value::from(64 << 10), &Value::from(16)), "{what}");
        let bins = read["clat_ns"]["bins"].as_object().expect("bins");
        assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), 16, "{what}");
    } else {
        // Its count of what came in parts goes astray by some bytes.
        assert!(read["io_bytes"].as_u64() >= Some(63 << 10), "{what}: {read}");
    }
}

type OsPair<'a> = (&'a OsStr, &'a str);

#[test]
fn what_one_side_sends_the_other_receives() {
    let _alone = alone();
    let ours = OsStr::new(iostrata());
    for (reads, writes, _) in PAIRS {
        pair((ours, reads), (ours, writes), &format!("ours {reads}"));
    }
}

#[test]
fn fio_is_the_other_side() {
    let _alone = alone();
    let Some(fio) = fio() else { skip!("net with fio", "apt-get install fio") };
    let (ours, fio) = (OsStr::new(iostrata()), fio.as_os_str());
    for (reads, writes, ends) in PAIRS {
        pair((ours, reads), (fio, writes), &format!("fio sends {writes}"));
        if ends {
            pair((fio, reads), (ours, writes), &format!("fio reads {reads}"));
        }
    }
}

#[test]
fn both_sides_are_in_one_run_with_a_port_for_each_clone() {
    let _alone = alone();
    let folder = Folder::new("net-run");
    let port = format!("--port={}", port());
    let common = ["--bs=4k", "--size=256k", "--ioengine=net", &port, "--output-format=json", "--output=o"];
    let jobs = ["--name=r", "--numjobs=2", "--listen", "--rw=read"];
    let more = ["--name=w", "--numjobs=2", "--listen=0", "--hostname=localhost", "--rw=write"];
    let words = [&common[..], &jobs, &more].concat();
    assert_eq!(end(Beside::start(iostrata(), &words, folder.path())).code(), Some(0));
    let document = whole_json(&folder.path().join("o")).expect("valid JSON");
    for job in document["jobs"].as_array().expect("jobs") {
        let bytes = |direction: &str| job[direction]["io_bytes"].as_u64().unwrap_or(0);
        assert_eq!(bytes("read") + bytes("write"), 256 << 10, "{}", job["jobname"]);
    }
}

#[test]
fn the_bytes_are_those_of_the_job() {
    let _alone = alone();
    let folder = Folder::new("net-bytes");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let words = format!("--port={}", listener.local_addr().unwrap().port());
    for engine in ["--ioengine=net", "--ioengine=netsplice"] {
        let words = [
            "--name=w",
            engine,
            "--hostname=127.0.0.1",
            &words,
            "--rw=write",
            "--size=3m",
            "--buffer_pattern=0x5a",
            "--bs=48k",
        ];
        let sender = Beside::start(iostrata(), &words, folder.path());
        let mut came = Vec::new();
        std::io::Read::read_to_end(&mut listener.accept().unwrap().0, &mut came).unwrap();
        assert_eq!(end(sender).code(), Some(0));
        // What follows is how fio says that this was all.
        let (data, last) = came.split_at(came.len() - 8);
        assert!(data.iter().all(|byte| *byte == 0x5a) && data.len() == 3 << 20, "{engine}: {}", data.len());
        assert_eq!(last, b"knil\x89\0\0\0");
    }
}

#[test]
fn time_signals_and_a_side_that_goes_end_it_in_order() {
    let _alone = alone();
    let folder = Folder::new("net-ends");
    let endless =
        |more: &str, port: u16| format!("--name=j --ioengine=net --size=1m --time_based {more} --port={port}");
    // The time of the sender is over: that of the reader is, too.
    let at = port();
    let ours = OsStr::new(iostrata());
    let reader = Side(ours, endless("--runtime=600 --listen --rw=read", at)).start(&folder, "r");
    let sends = endless("--runtime=1 --rate_iops=500 --hostname=localhost --rw=write", at);
    assert_eq!(end(Side(ours, sends).start(&folder, "w")).code(), Some(0));
    assert_eq!(end(reader).code(), Some(0));
    assert_eq!(job(&folder, "r")["read"]["total_ios"], job(&folder, "w")["write"]["total_ios"]);
    // A signal ends one that waits for data, and one that waits for somebody to come.
    for comes in [true, false] {
        let at = port();
        let reader = Side(ours, endless("--runtime=600 --listen --rw=read", at)).start(&folder, "i");
        until("the reader", || is_bound(at));
        let _peer = comes.then(|| TcpStream::connect(("127.0.0.1", at)).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        reader.signal(Signal::INT);
        assert_eq!(end(reader).code(), Some(128));
        assert_eq!(job(&folder, "i")["read"]["total_ios"], 0);
    }
    // The reader goes before the sender has sent all.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sends = endless("--runtime=600 --hostname=127.0.0.1 --rw=write", listener.local_addr().unwrap().port());
    let sender = Side(ours, sends).start(&folder, "g");
    drop(listener.accept().unwrap());
    assert_eq!(end(sender).code(), Some(1));
    assert_ne!(job(&folder, "g")["error"], 0);
}

#[test]
fn what_cannot_be_is_said_with_what_to_do() {
    let _alone = alone();
    let folder = Folder::new("net-refused");
    let cases = [
        ("--rw=randwrite --hostname=h --port=1", "moves bytes in their order: give rw=write or rw=read"),
        ("--rw=rw --hostname=h --port=1", "either sends or receives"),
        ("--rw=trim --hostname=h --port=1", "has nothing to trim"),
        ("--rw=write --port=1", "hostname= is missing"),
        ("--rw=write --hostname=localhost", "port= is missing"),
        ("--rw=read --listen --hostname=h --port=5000", "hostname= is for the side that connects"),
        ("--rw=read --listen --proto=udp --port=1", "listen= is for tcp and vsock"),
        ("--rw=write --hostname=nix.invalid --port=1", "hostname=nix.invalid is not found"),
        ("--rw=write --hostname=127.0.0.1 --proto=tcpv6 --port=1", "has no IPv6 address: give protocol=tcp or udp"),
        ("--rw=write --hostname=127.0.0.1 --port=1", "nobody listens there: start the other side first"),
        ("--rw=write --hostname=x --proto=vsock --port=1", "hostname= is the number of a machine"),
        ("--rw=write --hostname=h --port=1 --io_submit_mode=offload", "leave io_submit_mode=offload out"),
        ("--rw=write --hostname=h --proto=udp --port=1 --ioengine=netsplice", "a pipe holds no datagrams"),
    ];
    for (words, wanted) in cases {
        let words = format!("--name=j --ioengine=net --size=64k {words}");
        let refused = measure(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
        assert!(refused.code == 1 && refused.stderr.contains(wanted), "{words}: {}", refused.stderr);
    }
    std::fs::write(folder.path().join("s"), "kept").unwrap();
    let words = ["--name=j", "--ioengine=net", "--proto=unix", "--filename=s", "--rw=read", "--size=64k"];
    let refused = run(iostrata(), &words, folder.path());
    assert!(!refused.status.success() && std::fs::read(folder.path().join("s")).unwrap() == b"kept");
}
