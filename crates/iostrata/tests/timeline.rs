//! What a run did over time, in the saved document: nothing is lost, nothing counted twice.

#![cfg(target_os = "linux")]

use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

/// The saved document of a run.
fn saved(words: &str) -> Value {
    let folder = Folder::new("timeline");
    let words: Vec<&str> = words.split_whitespace().chain(["--save=run.json", "--output=/dev/null"]).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&std::fs::read_to_string(folder.path().join("run.json")).expect("a document")).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// I/Os, bytes and latencies of a direction over all windows of a job.
fn sums(job: &Value, direction: &str) -> [u64; 3] {
    let points = job["points"].as_array().expect("points");
    let mut sums = [0; 3];
    for point in points.iter().map(|point| &point[direction]).filter(|point| !point.is_null()) {
        let bins = point["latency"].as_array().expect("bins");
        let latencies: u64 = bins.iter().map(|bin| number(&bin[1])).sum();
        for (sum, part) in sums.iter_mut().zip([number(&point["ios"]), number(&point["bytes"]), latencies]) {
            *sum += part;
        }
    }
    sums
}

/// What the workers of a job counted in a direction.
fn counted(document: &Value, job: u64, direction: &str) -> [u64; 3] {
    let workers = document["workers"].as_array().expect("workers");
    let own = workers.iter().filter(|worker| number(&worker["job"]["index"]) == job);
    own.map(|worker| &worker[direction]).filter(|counts| !counts.is_null()).fold([0; 3], |sum, counts| {
        let ios = number(&counts["ios"]);
        [sum[0] + ios, sum[1] + number(&counts["bytes"]), sum[2] + ios]
    })
}

#[test]
fn the_windows_of_each_job_add_up_to_what_it_did() {
    for words in [
        "--name=a --ioengine=null --rw=randrw --bs=4k --size=10g --runtime=1 --time_based --numjobs=3 --name=b \
         --stonewall --ioengine=null --rw=trim --bs=64k --size=640k",
        "--name=a --ioengine=null --rw=write --bs=4k --size=10g --runtime=1 --ramp_time=300ms --time_based --iodepth=8",
        "--name=a --ioengine=null --rw=read --bs=4k --size=4k",
    ] {
        let document = saved(words);
        let timeline = &document["timeline"];
        let jobs = timeline["jobs"].as_array().expect("jobs");
        assert!(!jobs.is_empty(), "{words}");
        for job in jobs {
            for direction in ["read", "write", "trim"] {
                let wanted = counted(&document, number(&job["index"]), direction);
                assert_eq!(sums(job, direction), wanted, "{words}: {direction}s of {}", job["job"]);
            }
            let points = job["points"].as_array().expect("points");
            for pair in points.windows(2) {
                assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"], "{words}: windows follow each other");
            }
            assert!(points.iter().all(|point| number(&point["end_ns"]) > number(&point["start_ns"])), "{words}");
        }
        let longest = jobs.iter().map(|job| job["points"].as_array().map_or(0, Vec::len)).max();
        assert!(!words.contains("time_based") || longest > Some(2), "{words}: {longest:?} windows");
    }
}

#[test]
fn virtual_time_has_windows_of_its_own_and_they_repeat() {
    let words = "--name=a --ioengine=sim --rw=randrw --bs=4k --size=100m --numjobs=2 --iodepth=4 --name=b --stonewall \
                 --ioengine=sim --rw=read --bs=4k --size=400m";
    let document = saved(words);
    let timeline = &document["timeline"];
    let jobs = timeline["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        for direction in ["read", "write"] {
            assert_eq!(sums(job, direction), counted(&document, number(&job["index"]), direction), "{}", job["job"]);
        }
        let points = job["points"].as_array().expect("points");
        assert!(points.len() > 2, "{} windows", points.len());
        let grid = |point: &Value| number(&point["end_ns"]).is_multiple_of(number(&timeline["window_ns"]));
        assert!(points[..points.len() - 1].iter().all(grid), "windows end where the grid does");
    }
    assert_eq!(saved(words)["timeline"], *timeline);
}
