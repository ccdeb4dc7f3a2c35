//! A run in virtual time is a function of its words and its seed: the same report, byte for byte, on any machine and
//! under any load.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_testkit::{Folder, iostrata, run};

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
