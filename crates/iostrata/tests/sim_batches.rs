//! Whether it matters that requests go down and come up together: on a device with a known law of service it must not
//! show, and one whose submit calls block must be noticed.

use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

/// One bin of the histogram is at most so much of its values.
const BIN: f64 = 1.0 / 64.0;

/// Requests one by one, as fio does without being told.
const ALONE: &[&str] = &["--iodepth_batch=1", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=1"];

fn report(name: &str, words: &[&str]) -> Value {
    let folder = Folder::new(&format!("sim-batches-{name}"));
    let common = ["--name=s", "--ioengine=sim", "--bs=4k", "--size=64m", "--randseed=11", "--output-format=json"];
    let output = run(iostrata(), &[&common, words].concat(), folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn percentile(report: &Value, direction: &str, which: &str) -> f64 {
    report["jobs"][0][direction]["clat_ns"]["percentile"][which].as_f64().unwrap()
}

/// How many requests the device had on average over time, by Little's law.
fn mean_depth(report: &Value, direction: &str) -> f64 {
    let part = &report["jobs"][0][direction];
    part["iops"].as_f64().unwrap() * part["lat_ns"]["mean"].as_f64().unwrap() / 1e9
}

/// Depth, p50 and p99 of the same work in batches and one by one.
fn agrees(name: &str, words: &[&str]) {
    let batches = report(&format!("{name}-batches"), words);
    let alone = report(&format!("{name}-alone"), &[words, ALONE].concat());
    let direction = if words.contains(&"--rw=randwrite") { "write" } else { "read" };
    for which in ["50.000000", "99.000000"] {
        let (together, apart) = (percentile(&batches, direction, which), percentile(&alone, direction, which));
        let ratio = together / apart;
        assert!((1.0 - BIN..=1.0 + BIN).contains(&ratio), "{name}: p{which} is {together} ns, alone {apart} ns");
    }
    let (together, apart) = (mean_depth(&batches, direction), mean_depth(&alone, direction));
    assert!((together / apart - 1.0).abs() < BIN, "{name}: {together} requests in flight on average, alone {apart}");
    let ios = |report: &Value| report["jobs"][0][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((ios(&batches), ios(&alone)), (16_384, 16_384));
}

#[test]
fn batches_change_nothing_that_a_device_shows() {
    // Channels that are free one after the other, and all at once; as many as requests, and fewer; with stalls.
    agrees("spread", &["--rw=randread", "--iodepth=32", "--sim_channels=8", "--sim_sigma=0.3"]);
    agrees("in-step", &["--rw=randread", "--iodepth=32", "--sim_channels=8", "--sim_sigma=0"]);
    agrees("wide", &["--rw=randwrite", "--iodepth=16", "--sim_channels=16", "--sim_latency=20us"]);
    agrees("stalls", &["--rw=read", "--iodepth=64", "--sim_stall_every=50", "--sim_stall=2ms"]);
    agrees("shallow", &["--rw=randread", "--iodepth=2", "--sim_channels=1"]);
}

#[test]
fn a_device_whose_submit_calls_block_gets_its_requests_one_by_one() {
    let said = |words: &[&str], name: &str| report(name, words)["iostrata"].to_string().contains("submitting blocks");
    let blocking = ["--rw=randread", "--iodepth=32", "--sim_submit=40us"];
    assert!(said(&blocking, "blocking"));
    assert!(!said(&["--rw=randread", "--iodepth=32", "--sim_submit=2us"], "quick"));
    let asked = [&blocking[..], &["--iodepth_batch=8"]].concat();
    assert!(!said(&asked, "asked"), "what the job says holds");
    let submits = &report("counts", &blocking)["jobs"][0]["iodepth_submit"];
    assert!(submits["4"].as_f64().unwrap() > 99.0, "{submits}");
}
