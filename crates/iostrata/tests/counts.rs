//! Every I/O is in every histogram once, whatever engine did it in whatever direction.

use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

/// Engines whose work is no I/O on files or names.
const OTHERS: [&str; 6] = ["cpuio", "exec", "nbd", "net", "netsplice", "sg"];

/// Names of the engines.
fn engines() -> Vec<String> {
    let folder = Folder::new("counts-names");
    let told = run(iostrata(), &["--enghelp"], folder.path());
    let told = String::from_utf8(told.stdout).expect("text");
    let names = told.lines().filter(|line| line.starts_with([' ', '\t'])).map(|line| line.trim().to_owned());
    let names: Vec<String> = names.filter(|name| !OTHERS.contains(&name.as_str())).collect();
    assert!(names.iter().any(|name| name == "psync") && names.iter().any(|name| name == "null"), "{told}");
    names
}

/// How many I/Os a histogram holds.
fn held(latency: &Value) -> u64 {
    let bins = latency["bins"].as_object().expect("bins");
    bins.values().map(|count| count.as_u64().expect("a count")).sum()
}

#[test]
fn histograms_hold_every_io_once_in_every_engine_and_direction() {
    let mut rows = 0;
    for engine in engines() {
        for workload in ["read", "randwrite", "randrw", "trim", "write"] {
            let folder = Folder::new("counts");
            let words = format!(
                "--name=c --ioengine={engine} --rw={workload} --size=256k --bs=4k --iodepth=4 --output-format=json+ \
                 --slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1"
            );
            let output = run(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
            let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
            // Engines that cannot run here have no job.
            let Some(job) = document["jobs"].get(0) else { continue };
            for direction in ["read", "write", "trim"] {
                let row = &job[direction];
                // What failed (a trim of a file) was issued, and took no time that would be counted.
                let failed = document["iostrata"]["jobs"][0][direction]["failed_ios"].as_u64().unwrap_or(0);
                let done = row["total_ios"].as_u64().expect("a count") - failed;
                let slat = row["slat_ns"]["N"].as_u64().expect("a count");
                assert!(slat == 0 || slat == done, "{engine} {workload} {direction}: {slat} of {done}");
                for kind in ["slat_ns", "clat_ns", "lat_ns"] {
                    let (latency, wanted) = (&row[kind], if kind == "slat_ns" { slat } else { done });
                    assert_eq!(latency["N"], wanted, "{engine} {workload} {direction} {kind}");
                    let bins = if wanted > 0 { held(latency) } else { 0 };
                    assert_eq!(bins, wanted, "{engine} {workload} {direction} {kind}");
                }
                rows += usize::from(done > 0);
            }
        }
    }
    assert!(rows > 60, "{rows} rows with I/O");
}
