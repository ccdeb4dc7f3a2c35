//! Public reports about numbers in documents, with results that no run gives in a reasonable time.

use iostrata_report::terse::{self, Version};
use iostrata_report::{RenderOptions, fio_json, text};
use iostrata_result::testing::{self, direction, worker};
use iostrata_result::{RunResult, WorkerResult};
use iostrata_stats::LatencySummary;
use jiff::tz::TimeZone;
use serde_json::Value;

fn options() -> RenderOptions {
    RenderOptions { as_fio: false, time_zone: TimeZone::UTC }
}

fn json(run: &RunResult) -> Value {
    serde_json::from_str(&fio_json::render(run, true, &options())).expect("JSON")
}

/// A worker of `group_reporting` with so many reads: the three latencies over and over, 2^`doublings` times.
fn long_runner(doublings: u32) -> WorkerResult {
    let mut worker = worker("long");
    worker.job.reporting.group = true;
    let mut read = direction(&[900, 45_000, 3_000_000]);
    [900, 45_000, 3_000_000].iter().for_each(|ns| worker.latency_buckets.add(*ns));
    for _ in 0..doublings {
        let twice = |summary: &mut LatencySummary| summary.merge(&summary.clone());
        [&mut read.slat, &mut read.clat, &mut read.lat].into_iter().for_each(twice);
        (read.ios, read.bytes) = (read.ios * 2, read.bytes * 2);
        worker.latency_buckets.merge(&worker.latency_buckets.clone());
    }
    worker.read = Some(read);
    worker
}

/// After 2^32 I/Os the latency buckets wrapped, and added up to far below 100%. Here all counters have 64 bits: buckets
/// and bins hold every I/O, of one job and of jobs reported as one.
#[test]
fn bug_b25() {
    let each = 3u64 << 31;
    for workers in [1, 2] {
        let run = testing::run((0..workers).map(|_| long_runner(31)).collect());
        let document = json(&run);
        let job = &document["jobs"][0];
        let all = each * workers;
        assert!(all > 1 << 32);
        assert_eq!(job["read"]["total_ios"].as_u64(), Some(all));
        assert_eq!(job["read"]["io_bytes"].as_u64(), Some(all * 4096));
        let clat = &job["read"]["clat_ns"];
        let bins: u64 = clat["bins"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!((clat["N"].as_u64(), bins), (Some(all), all));
        let shares = |unit: &str| job[unit].as_object().unwrap().values().map(|share| share.as_f64().unwrap());
        let sums = ["latency_ns", "latency_us", "latency_ms"].map(|unit| shares(unit).sum::<f64>());
        sums.iter().for_each(|sum| assert!((sum - 100.0 / 3.0).abs() < 0.01, "{sums:?}"));
    }
}

/// The number of terse fields changes with the disks below the files, and with it the place of what programs look for.
/// Here the fields 1 to 121 of version 3 are the same whatever follows: disks, errors, the description; the help says
/// so.
#[test]
fn bug_b27() {
    let fields = |run: &RunResult| -> Vec<String> {
        let line = terse::render(run, Version::V3, false);
        line.trim_end().lines().next().unwrap().split(';').map(str::to_owned).collect()
    };
    let mut bare = testing::example();
    let disks = std::mem::take(&mut bare.disks);
    bare.workers.iter_mut().for_each(|worker| worker.job.description = None);
    let fixed = fields(&bare);
    assert_eq!(fixed.len(), 121);
    for disks in [disks.clone(), [disks.clone(), disks.clone()].concat()] {
        let mut run = bare.clone();
        run.disks = disks;
        let with_disks = fields(&run);
        assert_eq!(with_disks.len(), 121 + 9 * run.disks.len());
        assert_eq!((&with_disks[..121], with_disks[121].as_str()), (&fixed[..], "vda"));
        run.workers.iter_mut().for_each(|worker| {
            worker.job.description = Some("words".into());
            worker.tolerated.allowed = true;
        });
        let with_all = fields(&run);
        assert_eq!((with_all.len(), &with_all[..121]), (with_disks.len() + 3, &fixed[..]));
        assert_eq!(with_all.last().map(String::as_str), Some("words"));
    }
    let idle = fields(&testing::no_io());
    assert_eq!(idle.len(), 121, "without any I/O too");
}

#[test]
fn numbers_are_finite_whatever_the_clock_did() {
    let mut stopped = long_runner(0);
    (stopped.elapsed_ns, stopped.measured_ns) = (0, 0);
    (stopped.user_cpu_ns, stopped.system_cpu_ns) = (u64::MAX, u64::MAX);
    if let Some(read) = &mut stopped.read {
        read.runtime_ns = 0;
    }
    let run = testing::run(vec![stopped]);
    json(&run);
    let shown = [
        text::render(&run, &options()),
        terse::render(&run, Version::V5, true),
        fio_json::render(&run, true, &options()),
    ];
    for text in shown {
        let lower = text.to_lowercase();
        let odd = ["nan", "inf,", "infinity", "=-", ": -"].into_iter().find(|word| lower.contains(word));
        assert_eq!(odd, None, "{text}");
    }
}
