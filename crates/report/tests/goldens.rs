//! Whole reports of results made by hand, in the corners of what a run can be.

#[path = "support/golden.rs"]
mod golden;

use iostrata_report::metrics::{self, Dialect};
use iostrata_report::text::{self, BannerJob};
use iostrata_report::{RenderOptions, csv, fio_json, html, terse};
use iostrata_result::testing::{self, direction, tally, worker};
use iostrata_result::{
    DiskUse, End, HistogramBins, JobTimeline, LatencyResult, Note, PointDirection, RunResult, SteadyMeasure,
    SteadySample, SteadyState, Timeline, TimelinePoint,
};
use jiff::tz::TimeZone;

/// Under our own name, dates in UTC.
fn ours() -> RenderOptions {
    RenderOptions { as_fio: false, time_zone: TimeZone::UTC }
}

/// Under the name fio, dates in UTC.
fn as_fio() -> RenderOptions {
    RenderOptions { as_fio: true, time_zone: TimeZone::UTC }
}

/// Compares with `tests/goldens/NAME`.
#[track_caller]
fn assert_golden(name: &str, actual: &str) {
    golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens"), name, actual);
}

/// Text and both kinds of JSON against their goldens; JSON must be valid whatever stands in it.
#[track_caller]
fn check(name: &str, run: &RunResult, options: &RenderOptions) {
    assert_golden(&format!("{name}.txt"), &text::render(run, options));
    let plus = fio_json::render(run, true, options);
    assert_golden(&format!("{name}.json"), &plus);
    for document in [plus, fio_json::render(run, false, options)] {
        serde_json::from_str::<serde_json::Value>(&document).expect("valid JSON");
        assert!(document.ends_with("}\n"));
    }
    if options.as_fio {
        // The others know nothing of the name.
        return;
    }
    assert_golden(&format!("{name}.terse"), &terse::render(run, terse::Version::V5, true));
    assert_golden(&format!("{name}.csv"), &csv::summary(run));
    assert_golden(&format!("{name}.metrics"), &metrics::render(Some(run), Dialect::OpenMetrics));
    assert_golden(&format!("{name}.html"), &golden::of_this_run(&html::render(run, options)));
}

#[test]
fn an_ordinary_run() {
    check("example", &testing::example(), &ours());
    check("example_as_fio", &testing::example(), &as_fio());
}

/// A second in four windows: one without I/O, one with a stall.
#[test]
fn what_was_done_over_time() {
    let mut run = testing::example();
    let windows: [&[u64]; 4] = [&[10_000, 12_000, 15_000], &[], &[11_000, 900_000_000], &[14_000; 5]];
    let points = windows.iter().zip(0..).map(|(latencies_ns, number)| {
        let latency = HistogramBins::of(latencies_ns.iter().copied());
        let read = PointDirection { ios: latency.count(), bytes: latency.count() * 4096, latency };
        let (start_ns, end_ns) = (number * 250_000_000, (number + 1) * 250_000_000);
        TimelinePoint { start_ns, end_ns, read: Some(read), ..TimelinePoint::default() }
    });
    let job = JobTimeline { index: 0, job: run.workers[0].job.name.clone(), points: points.collect() };
    run.timeline = Some(Timeline { window_ns: 250_000_000, jobs: vec![job] });
    assert_golden("over_time.html", &golden::of_this_run(&html::render(&run, &ours())));
    assert_golden("over_time.csv", &csv::timeline(&run));
}

#[test]
fn nothing_done() {
    check("no_io", &testing::no_io(), &ours());
}

#[test]
fn one_read() {
    check("one_io", &testing::one_io(), &ours());
}

#[test]
fn the_first_write_failed() {
    check("only_errors", &testing::only_errors(), &ours());
    check("only_errors_as_fio", &testing::only_errors(), &as_fio());
}

/// A job that could not even start: fio says nothing about it, we do.
#[test]
fn failed_before_any_io() {
    let mut failed = worker("ro");
    failed.error = 13;
    failed.error_text = Some("ro: cannot open /x for writing".into());
    let run = testing::run(vec![failed]);
    let ours = text::render(&run, &ours());
    assert!(ours.starts_with("iostrata: pid=4711, err=13/ro: cannot open /x for writing, error=Permission denied\n\n"));
    assert!(
        ours.contains("\nro: (groupid=0, jobs=1): err=13 (ro: cannot open /x for writing, error=Permission denied): ")
    );
    let theirs = text::render(&run, &as_fio());
    assert_eq!(
        theirs,
        "fio: pid=4711, err=13/ro: cannot open /x for writing, error=Permission denied\n\n\n\
         Run status group 0 (all jobs):\n"
    );
}

#[test]
fn latencies_beyond_every_scale() {
    check("largest_latency", &testing::largest_latency(), &ours());
}

#[test]
fn names_with_quotes_controls_and_other_scripts() {
    let mut run = testing::odd_names();
    run.workers[0].error = 5;
    run.workers[0].error_text = Some("reading \"ф\u{1b}[2Jайл\"\nat 0".into());
    check("odd_names", &run, &ours());
}

#[test]
fn latencies_by_priority() {
    check("priorities", &testing::priorities(), &ours());
}

#[test]
fn many_jobs_apart() {
    let text = text::render(&testing::many_jobs(), &ours());
    let heads: Vec<&str> = text.lines().filter(|line| line.contains(": (groupid=")).collect();
    assert_eq!(heads.len(), 63, "the first had nothing to do");
    assert!(heads[62].starts_with("job63: (groupid=7, jobs=1): err= 0: pid=4774: "));
    assert_eq!(text.matches("\nRun status group ").count(), 8);
    assert!(text.contains("\nRun status group 7 (all jobs):\n   READ: bw="));
}

#[test]
fn many_jobs_as_one_a_group() {
    let mut run = testing::many_jobs();
    run.workers.iter_mut().for_each(|worker| worker.job.reporting.group = true);
    run.workers.truncate(16);
    assert_golden("many_jobs_grouped.txt", &text::render(&run, &ours()));
    let document: serde_json::Value = serde_json::from_str(&fio_json::render(&run, false, &ours())).unwrap();
    let names: Vec<&str> = document["iostrata"]["jobs"][1]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["job8", "job9", "job10", "job11", "job12", "job13", "job14", "job15"]);
    assert_eq!(document["jobs"][1]["jobname"], "job8");
}

/// Three groups, each reported in another way: apart and together, only together, in decimal bits with few digits.
fn mixed_groups() -> RunResult {
    let mut both = worker("both");
    both.read = Some(direction(&[10_000, 20_000, 30_000]));
    both.trim = Some(direction(&[900, 1_100]));
    both.job.reporting.unified = "both".into();
    let mut mixed = worker("mixed");
    mixed.group = 1;
    mixed.read = Some(direction(&[10_000; 5]));
    mixed.write = Some(direction(&[50_000; 7]));
    mixed.sync = LatencyResult::of([3_000_000, 300_000_000]);
    mixed.sync_ios = 2;
    mixed.job.reporting.unified = "mixed".into();
    let mut bits = worker("bits");
    bits.group = 2;
    bits.write = Some(direction(&(0..2_000).map(|io| 2_500_000 + io * io * 33).collect::<Vec<_>>()));
    let write = bits.write.as_mut().unwrap();
    write.bandwidth_samples = testing::moments([3_999_000_000, 4_001_000_000]);
    write.iops_samples = testing::moments([976_000, 977_000]);
    bits.job.reporting.kb_base = 1000;
    bits.job.reporting.unit_base = 1;
    bits.job.reporting.significant_figures = 3;
    bits.job.reporting.percentiles = vec![50.0, 99.9, 99.999];
    bits.job.reporting.percentile_precision = 3;
    bits.job.reporting.lat_percentiles = true;
    bits.job.reporting.clat_percentiles = false;
    let mut workers = vec![both, mixed, bits];
    workers.iter_mut().for_each(tally);
    testing::run(workers)
}

#[test]
fn groups_reported_in_different_ways() {
    check("mixed_groups", &mixed_groups(), &ours());
}

/// All that only we have: notes, evidence under a rate, tolerated errors, disks made of disks, an end by a signal.
#[test]
fn what_fio_does_not_have() {
    let mut worker = worker("paced");
    let mut read = direction(&[100_000, 200_000, 20_000_000_000]);
    read.failed_ios = 2;
    read.lat_intended = Some(LatencyResult::of([150_000, 250_000, 21_000_000_000]));
    read.issue_lag = Some(LatencyResult::of([50_000, 50_000, 1_000_000_000]));
    worker.read = Some(read);
    worker.tolerated.allowed = true;
    worker.tolerated.total = 2;
    worker.tolerated.first_error = 5;
    worker.due_not_issued = 17;
    worker.censored = 1;
    worker.engine_used = vec!["registered ring".into()];
    worker.eta_s = None;
    tally(&mut worker);
    let mut run = testing::run(vec![worker]);
    run.end = End::Signal(2);
    let disk = |name: &str, ios| DiskUse {
        name: name.into(),
        ios: [ios, 1],
        sectors: [8 * ios, 8],
        ticks_ms: [ios / 2, 0],
        in_queue_ms: ios / 2,
        busy_ms: 1000,
        window_ms: 2000,
        ..DiskUse::default()
    };
    run.disks = vec![DiskUse { members: vec![disk("sda", 10), disk("sdb", 21)], ..disk("md0", 31) }];
    let note = |code: &str, job: Option<&str>, text: &str| Note {
        code: code.into(),
        job: job.map(str::to_owned),
        text: text.into(),
    };
    run.notes = vec![
        note("censored", Some("paced"), "1 read had not come back"),
        note("differs-from-fio", None, "bs = 8k is 8192 bytes, fio takes 8"),
        note("warning", None, "job.fio:3: rwmixread has no effect on randread"),
    ];
    check("ours", &run, &ours());
    let as_fio = text::render(&run, &as_fio());
    assert!(!as_fio.contains("Notes:") && !as_fio.contains("Differs"), "fio has no such sections");
}

/// Two clones that ended when their bandwidth was steady, and a job of which no sample was taken.
#[test]
fn steady_states() {
    let sample =
        |ios: u64| SteadySample { elapsed_ns: 1_000_000_000, ios, bytes: ios * 4096, clat_sum_ns: ios * 81_000 };
    let mut state = SteadyState {
        measure: SteadyMeasure::Bandwidth,
        slope: false,
        limit: 5.0,
        percent: true,
        duration_ns: 3_000_000_000,
        window: 3,
        attained: true,
        samples: [1000, 1010, 1020].map(sample).to_vec(),
    };
    let mut run = testing::example();
    run.workers.iter_mut().for_each(|worker| worker.steady_state = Some(state.clone()));
    (state.measure, state.slope, state.percent, state.limit) = (SteadyMeasure::Latency, true, false, 0.5);
    (state.attained, state.samples) = (false, Vec::new());
    let mut late = worker("late");
    late.read = Some(direction(&[81_000]));
    late.steady_state = Some(state);
    run.workers.push(late);
    check("steady", &run, &ours());
}

/// A snapshot of a running run: its errors are told once, at its end.
#[test]
fn a_snapshot_does_not_repeat_errors() {
    let mut run = testing::only_errors();
    run.end = End::Running;
    assert!(text::render(&run, &as_fio()).starts_with("\nfull: (groupid=0, jobs=1): err=28 ("));
}

#[test]
fn start_up_lines() {
    let mut first = testing::job("rrw");
    first.workload = "randrw".into();
    first.block_sizes = [(4096, 4096), (8192, 8192), (8192, 8192)];
    let mut second = testing::job("z\n");
    second.engine = "psync".into();
    second.depth = 1;
    second.block_sizes = [(512, 65_536); 3];
    second.reporting.kb_base = 1000;
    let odd = [("size=1GiB".to_owned(), "1000000000".to_owned()), ("bs=4kib".to_owned(), "4000".to_owned())];
    let jobs = [
        BannerJob { job: &first, group: 0, clones: 2, odd_sizes: &odd, task: None },
        BannerJob { job: &second, group: 1, clones: 1, odd_sizes: &[], task: None },
    ];
    let lines = "rrw: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 8192B-8192B, (T) 8192B-8192B, \
                 ioengine=libaio, iodepth=8\n\
                 ...\n\
                 z\\n: (g=1): rw=randread, bs=(R) 512B-65.5kB, (W) 512B-65.5kB, (T) 512B-65.5kB, \
                 ioengine=psync, iodepth=1\n";
    assert_eq!(text::banner(&jobs, &as_fio()), format!("{lines}fio-3.42\nStarting 3 threads\n"));
    let whole = text::banner(&jobs, &ours());
    let odd = "...\nrrw: with kb_base=1024, as in fio, k is 1024 and KiB 1000: size=1GiB is 1000000000, bs=4kib is \
               4000 (sizes in bytes)\nz\\n: ";
    assert!(whole.contains(odd), "{whole}");
    let burner =
        BannerJob { job: &second, group: 1, clones: 2, odd_sizes: &[], task: Some("c (noop): ioengine=cpuio\n") };
    let tasks = text::banner(&[burner, jobs[1]], &as_fio());
    let after = "fio-3.42\nStarting 3 threads\nc (noop): ioengine=cpuio\nc (noop): ioengine=cpuio\n";
    assert!(tasks.starts_with("z\\n: (g=1)") && tasks.ends_with(after), "{tasks}");
    let one = text::banner(&jobs[1..], &ours());
    assert!(one.ends_with(concat!("\niostrata-", env!("CARGO_PKG_VERSION"), "\nStarting 1 thread\n")), "{one}");
}
