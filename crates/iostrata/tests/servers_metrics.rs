//! `--listen`: what Prometheus and a browser get while a run goes on.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iostrata_testkit::{Folder, alone, iostrata, skip, which};

/// So long something may take that takes a second or two.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that listens, and where.
struct Run {
    process: Child,
    at: SocketAddr,
    _folder: Folder,
}

impl Run {
    fn begin(seconds: u32) -> Run {
        let folder = Folder::new("metrics");
        let runtime = format!("--runtime={seconds}");
        let words =
            ["--ioengine=null", "--rw=randrw", "--bs=4k", "--size=1g", "--time_based", "--rate_iops=1000", &runtime];
        let names = ["--name=a \"quoted\" \\ name", "--listen=127.0.0.1:0", "--output=/dev/null", "--fsync=8"];
        let mut command = Command::new(iostrata());
        command.args(names).args(words).current_dir(folder.path()).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn().expect("iostrata");
        let mut line = String::new();
        BufReader::new(process.stderr.take().expect("standard error")).read_line(&mut line).expect("a line");
        let at = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        Run { at: at.parse().expect("an address"), process, _folder: folder }
    }

    /// What it answers with, once it holds `wanted`.
    fn get(&self, path: &str, wanted: &str) -> String {
        let begin = Instant::now();
        loop {
            let answer = get(self.at, path, "");
            if answer.contains(wanted) {
                return answer;
            }
            assert!(begin.elapsed() < PATIENCE, "{path} never has {wanted}:\n{answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn get(at: SocketAddr, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {at}\r\nAccept: {accept}\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a head").1
}

const COUNTER: &str = "iostrata_ios_total{job=\"a \\\"quoted\\\" \\\\ name\"";

#[test]
fn promtool_finds_no_fault_in_the_metrics() {
    let _alone = alone();
    if which("promtool").is_none() {
        skip!("the metrics by promtool", "apt-get install prometheus");
    }
    let run = Run::begin(30);
    let answer = run.get("/metrics", COUNTER);
    assert!(answer.contains("Content-Type: text/plain; version=0.0.4"), "{answer}");
    let mut check =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn().expect("promtool");
    check.stdin.take().expect("its input").write_all(body(&answer).as_bytes()).expect("metrics");
    assert!(check.wait().expect("promtool").success(), "{}", body(&answer));
    let open = get(run.at, "/metrics", "application/openmetrics-text; version=1.0.0");
    assert!(open.contains("Content-Type: application/openmetrics-text") && open.ends_with("# EOF\n"), "{open}");
}

#[test]
fn the_page_is_served_too_and_nothing_else() {
    let _alone = alone();
    let run = Run::begin(30);
    let page = run.get("/", "Throughput over time");
    assert!(page.contains("Refresh: 5") && page.contains("a &quot;quoted&quot; \\ name"), "no page of this run");
    assert!(get(run.at, "/etc/passwd", "").starts_with("HTTP/1.0 404") || get(run.at, "/x", "").contains(" 404 "));
}

#[test]
fn clients_that_say_nothing_hold_up_neither_others_nor_the_end() {
    let _alone = alone();
    let mut run = Run::begin(3);
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(run.at).expect("a connection")).collect();
    run.get("/metrics", COUNTER);
    let begin = Instant::now();
    while run.process.try_wait().expect("a process").is_none() {
        assert!(begin.elapsed() < PATIENCE, "it waits for clients");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(run.process.wait().expect("an end").success());
    drop(silent);
}

#[test]
fn a_client_that_asks_and_never_reads_holds_nobody_up() {
    let _alone = alone();
    let mut run = Run::begin(6);
    run.get("/", "Throughput over time");
    let mut greedy = TcpStream::connect(run.at).expect("a connection");
    greedy.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    // More pages than lie in any buffers, and none is read.
    while greedy.write_all("GET / HTTP/1.1\r\n\r\n".repeat(1000).as_bytes()).is_ok() {}
    run.get("/metrics", COUNTER);
    assert!(run.process.wait().expect("an end").success());
}

/// A server that is killed with this.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_prometheus_scrapes_it() {
    let _alone = alone();
    if which("prometheus").is_none() {
        skip!("a scrape by Prometheus", "apt-get install prometheus");
    }
    let run = Run::begin(60);
    let folder = Folder::new("prometheus");
    // A port that was free a moment ago; it cannot tell which one it would pick itself.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let settings = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: disk\n    static_configs:\n      - targets: \
         ['{}']\n",
        run.at
    );
    std::fs::write(folder.path().join("prometheus.yml"), settings).expect("settings");
    let server = Command::new("prometheus")
        .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", &format!("--web.listen-address={free}")])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn();
    let _server = Prometheus(server.expect("prometheus"));
    let begin = Instant::now();
    // Two scrapes at least: a counter that grows, and quantiles of a histogram.
    for query in
        ["rate(iostrata_ios_total[30s])%3E0", "histogram_quantile(0.99,rate(iostrata_latency_seconds_bucket[30s]))%3E0"]
    {
        loop {
            let answer = match TcpStream::connect(free) {
                Ok(_) => get(free, &format!("/api/v1/query?query={query}"), ""),
                Err(_) => String::new(),
            };
            if answer.contains("\"direction\":\"read\"") && answer.contains("a \\\"quoted\\\"") {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "{query}: {answer}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
