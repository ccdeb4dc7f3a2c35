//! A run in virtual time is a function of its words and its seed: the same report, byte for byte, on any machine and
//! under any load.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_stats::histogram::bin_of;
use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

/// Several workers, a rate and group reporting: everything whose order could depend on the machine.
const JOB: &[&str] = &[
    "--name=s",
    "--ioengine=sim",
    "--rw=randrw",
    "--rwmixread=70",
    "--bs=4k,8k",
    "--size=16m",
    "--iodepth=8",
    "--numjobs=4",
    "--rate_iops=3000,1000",
    "--group_reporting",
    "--runtime=2",
    "--time_based",
    "--ramp_time=500ms",
    "--randseed=7",
];

/// `caller` keeps the folders of tests that run at the same time apart.
fn report(caller: &str, format: &str, more: &[&str]) -> String {
    let folder = Folder::new(&format!("sim-{caller}-{format}"));
    let format = format!("--output-format={format}");
    let output = run(iostrata(), &[JOB, more, &[&format]].concat(), folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_report_idle_and_under_load() {
    for format in ["normal", "json+"] {
        let idle = report("same", format, &[]);
        assert_eq!(report("same", format, &[]), idle);
        let stop = AtomicBool::new(false);
        let under_load = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let text = report("same", format, &[]);
            stop.store(true, Relaxed);
            text
        });
        assert_eq!(under_load, idle);
    }
}

#[test]
fn another_seed_gives_another_report_with_the_same_work() {
    let other = report("other", "normal", &["--randseed=8"]);
    let first = report("other", "normal", &[]);
    assert_ne!(other, first);
    for text in [&first, &other] {
        // 4 workers, 2 s: 4·2·3000 reads and 4·2·1000 writes, up to those that the last instant cuts off.
        let issued = text.lines().find(|line| line.contains("issued rwts")).unwrap();
        let counts: Vec<i64> = issued
            .split_once("total=")
            .and_then(|(_, rest)| rest.split_once(' '))
            .map(|(counts, _)| counts.split(',').map(|count| count.parse().unwrap()).collect())
            .unwrap();
        assert!((counts[0] - 24_000).abs() <= 80 && (counts[1] - 8_000).abs() <= 80, "{issued}");
    }
}

/// The read row of a run on a device of this law.
fn reads(words: &str) -> Value {
    let folder = Folder::new("sim-law");
    let base = "--name=s --ioengine=sim --rw=randread --bs=4k --size=4g --output-format=json";
    let words: Vec<&str> = base.split_whitespace().chain(words.split_whitespace()).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).expect("a document")["jobs"][0].clone()
}

fn percentile_ns(job: &Value, percent: &str) -> u64 {
    job["read"]["clat_ns"]["percentile"][percent].as_u64().expect("a percentile")
}

/// The service time of the device is its latency times e^(σz), z a standard normal deviate: so are the percentiles.
#[test]
fn a_known_law_gives_its_percentiles_back_within_a_bucket() {
    for (sigma, latency_ns) in [(0.1_f64, 20_000.0), (0.5, 100_000.0), (1.0, 3_000_000.0)] {
        let job = reads(&format!(
            "--sim_latency={latency_ns}ns --sim_bandwidth=0 --sim_sigma={sigma} --number_ios=400000 \
             --percentile_list=10:50:90:99"
        ));
        let deviates = [("10", -1.281_552), ("50", 0.0), ("90", 1.281_552), ("99", 2.326_348)];
        for (percent, deviate) in deviates {
            let wanted_ns = latency_ns * (sigma * deviate).exp();
            let found_ns = percentile_ns(&job, &format!("{percent}.000000"));
            let apart = bin_of(found_ns).abs_diff(bin_of(wanted_ns as u64));
            assert!(apart <= 1, "σ={sigma} p{percent}: {found_ns} ns is no {wanted_ns} ns");
        }
    }
}
