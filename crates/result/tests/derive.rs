//! Derived numbers against numbers that fio printed, and at the corners.

use iostrata_result::derive::{
    Direction, Kind, LEAST_DEPTH_SHARE, Report, disks, exit_code, groups, reports, shares, shown_share,
};
use iostrata_result::testing::{self, direction, moments, run, worker};
use iostrata_result::{
    DirectionResult, DiskUse, End, HistogramBins, LatencyTarget, RunResult, Tolerated, WorkerResult,
};
use iostrata_stats::histogram::{FIO_BINS, bin_of, bin_value};

/// A worker that read so many bytes in so many milliseconds.
fn reader(name: &str, group: u32, grouped: bool, bytes: u64, ms: u64) -> WorkerResult {
    let mut worker = worker(name);
    worker.group = group;
    worker.job.reporting.group = grouped;
    let ios = bytes / testing::BLOCK_BYTES;
    worker.read = Some(DirectionResult { bytes, ios, runtime_ns: ms * 1_000_000, ..DirectionResult::default() });
    worker
}

fn read<'a>(report: &'a Report<'_>) -> &'a Direction {
    report.direction(Kind::Read).unwrap()
}

/// Reads and writes of two runs of fio 3.42, with its rounding.
#[test]
fn rates_are_those_of_fio() {
    for (bytes, ios, ms, bw_bytes, bw_kib, kib, iops) in [
        (421_433_344, 102_889, 2001, 210_611_366, 205_675, 411_556, "51418.790605"),
        (368_549_888, 44_989, 2001, 184_182_852, 179_866, 359_912, "22483.258371"),
        (490_831_872, 119_832, 2001, 245_293_289, 239_544, 479_328, "59886.056972"),
    ] {
        let mut worker = worker("rrw");
        // 2000.3 ms: fio rounds a direction's time up.
        let runtime_ns = ms * 1_000_000 - 700_000;
        worker.read = Some(DirectionResult { bytes, ios, runtime_ns, ..DirectionResult::default() });
        let run = run(vec![worker]);
        let reports = reports(&run);
        let row = read(&reports[0]);
        assert_eq!((row.runtime_ms, row.bw_bytes(), row.bw_kib(), row.kib()), (ms, bw_bytes, bw_kib, kib));
        assert_eq!(format!("{:.6}", row.iops()), iops);
    }
}

/// Three jobs of one group of a run of fio 3.33: bytes, ms, mean of the samples and the share that fio printed.
#[test]
fn bandwidth_share_is_that_of_fio() {
    let printed = [
        (16_384_000_u64, 8907, 2_901.818_182, 51.944_375),
        (26_161_152, 8001, 4_800.5, 85.947_259),
        (8_392_704, 8001, 1_024.4, 18.335_415),
    ];
    let workers = printed.map(|(bytes, ms, mean, _)| {
        let mut worker = reader("job", 0, false, bytes, ms);
        let samples = (0..10).map(|_| (mean * 1024.0) as u64);
        worker.read.as_mut().unwrap().bandwidth_samples = moments(samples);
        worker
    });
    let run = run(workers.to_vec());
    for (report, (.., share)) in reports(&run).iter().zip(printed) {
        assert_eq!(format!("{:.6}", read(report).bandwidth_share), format!("{share:.6}"));
    }
}

/// fio 3.33, unified_rw_reporting=both: five samples a direction, ten together.
#[test]
fn samples_of_what_ran_side_by_side_are_added() {
    let samples = |usual: u64, once: u64| moments([usual, usual, once, usual, usual].map(|kib| kib * 1024));
    let mut worker = reader("n", 0, false, 6_291_456, 3001);
    worker.job.reporting.unified = "both".to_owned();
    worker.read.as_mut().unwrap().bandwidth_samples = samples(2048, 2056);
    let mut write = reader("n", 0, false, 3_145_728, 3001).read.unwrap();
    write.bandwidth_samples = samples(1024, 1032);
    worker.write = Some(write);
    let run = run(vec![worker]);
    let reports = reports(&run);
    let printed = |kind| {
        let row = reports[0].direction(kind).unwrap();
        let samples = row.bandwidth_kib;
        let (mean, stddev) = (format!("{:.6}", samples.mean), format!("{:.6}", samples.stddev()));
        (row.bw_bytes(), samples.min, samples.max, samples.count, mean, stddev)
    };
    let expected = |bw, min, max, count, mean: &str, stddev: &str| (bw, min, max, count, mean.into(), stddev.into());
    assert_eq!(printed(Kind::Read), expected(2_096_453, 2048, 2056, 5, "2049.600000", "3.577709"));
    assert_eq!(printed(Kind::Write), expected(1_048_226, 1024, 1032, 5, "1025.600000", "3.577709"));
    assert_eq!(printed(Kind::Mixed), expected(3_144_679, 3072, 3088, 10, "3075.200000", "3.373096"));
    let rows = &groups(&reports)[0].rows;
    let kinds: Vec<Kind> = rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Read, Kind::Write, Kind::Mixed], "nothing was trimmed");
    // The mixed row spans the rates of the rows beside it, as fio prints it.
    assert_eq!((rows[2].bw_bytes, rows[2].min_bw_bytes, rows[2].max_bw_bytes), (3_144_679, 1_048_226, 2_096_453));
}

#[test]
fn mixed_alone_takes_the_place_of_the_others() {
    let mut run = testing::example();
    run.workers.iter_mut().for_each(|worker| worker.job.reporting.unified = "mixed".to_owned());
    let reports = reports(&run);
    let kinds: Vec<Kind> = reports[0].directions.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Mixed]);
    let row = &reports[0].directions[0];
    assert_eq!((row.ios, row.clat.count(), row.bandwidth_kib.count), (2000, 2000, 12));
    let group = &groups(&reports)[0].rows;
    assert_eq!((group.len(), group[0].kind, group[0].min_bw_bytes), (1, Kind::Mixed, row.bw_bytes()));
}

/// The jobs a (×2, grouped), b (grouped), c, d, e (grouped), f (new_group, grouped), g (stonewall, ×2, grouped), as
/// fio 3.33 was seen to report them.
#[test]
fn entries_are_those_of_fio() {
    const MIB: u64 = 1 << 20;
    let jobs = [("a", 0, true, 2), ("a", 0, true, 2), ("b", 0, true, 2), ("c", 0, false, 2), ("d", 0, false, 3)];
    let more = [("e", 0, true, 3), ("f", 1, true, 3), ("g", 2, true, 3), ("g", 2, true, 3)];
    let workers = jobs.iter().chain(&more).zip(100..).map(|(&(name, group, grouped, ms), pid)| {
        let mut worker = reader(name, group, grouped, 16 * MIB, ms);
        worker.pid = pid;
        worker
    });
    let run = run(workers.collect());
    let reports = reports(&run);
    let entries: Vec<_> = reports.iter().map(|entry| (&*entry.job.name, entry.group, entry.jobs, entry.pid)).collect();
    let expected = [("a", 0, 3, 100), ("c", 0, 1, 103), ("d", 0, 2, 104), ("f", 1, 1, 106), ("g", 2, 2, 107)];
    assert_eq!(entries, expected);
    let groups = groups(&reports);
    assert_eq!(groups.iter().map(|group| group.group).collect::<Vec<_>>(), [0, 1, 2]);
    // READ: bw=31.2GiB/s, 8000MiB/s-23.4GiB/s, io=96.0MiB, run=2-3msec
    let row = groups[0].rows[0];
    assert_eq!((row.bytes, row.min_runtime_ms, row.max_runtime_ms), (96 * MIB, 2, 3));
    assert_eq!((row.bw_bytes, row.min_bw_bytes, row.max_bw_bytes), (32_000 * MIB, 8000 * MIB, 24_000 * MIB));
}

#[test]
fn a_group_pools_latencies_and_adds_times() {
    let mut run = testing::example();
    run.workers[1].error = 28;
    run.workers[1].error_text = Some("no room".to_owned());
    let reports = reports(&run);
    assert_eq!(reports.len(), 1);
    let entry = &reports[0];
    assert_eq!((entry.jobs, entry.job_runtime_ms, entry.sync_ios, entry.sync.count()), (2, 4000, 8, 8));
    assert_eq!((entry.error, entry.error_text, entry.eta_s, entry.elapsed_s), (28, Some("no room"), Some(0), 3));
    // 100 ms user and 960 ms system in 4 s.
    assert_eq!((entry.user_cpu_percent, entry.system_cpu_percent), (2.5, 24.0));
    let bins = |worker: &WorkerResult| worker.read.as_ref().unwrap().clat.bins.clone();
    let mut pooled = bins(&run.workers[0]);
    pooled.merge(&bins(&run.workers[1]));
    let row = read(entry);
    assert_eq!((row.ios, row.clat.count(), &row.clat.summary.bins), (1400, 1400, &pooled));
    let percentiles = row.clat.percentiles.as_ref().unwrap();
    assert_eq!(percentiles.len(), 17);
    assert!(percentiles.is_sorted_by_key(|percentile| percentile.ns));
    assert!(percentiles[16].ns <= row.clat.max_ns());
    assert_eq!((&row.lat.percentiles, &row.slat.percentiles), (&None, &None), "only clat was asked for");
}

/// A thousand reads whose ranks fio 3.33 was seen to take: 99.9 % is the last one, 0.1 % the second.
#[test]
fn percentiles_are_those_of_fio() {
    let mut worker = worker("n");
    let bins = [(10, 1), (20, 500), (30, 400), (40, 88), (50, 9), (60, 1), (15_040, 1)];
    let mut row = direction(&[10, 15_100]);
    row.clat.bins = HistogramBins(bins.map(|(value, count)| (bin_of(value) as u16, count)).to_vec());
    worker.read = Some(row);
    worker.job.reporting.percentiles = vec![0.1, 50.0, 90.0, 99.7, 99.9];
    let run = run(vec![worker]);
    let reports = reports(&run);
    let percentiles = read(&reports[0]).clat.percentiles.clone().unwrap();
    assert_eq!(percentiles.iter().map(|percentile| percentile.ns).collect::<Vec<_>>(), [20, 20, 30, 50, 15_040]);
}

#[test]
fn shares_add_up_to_a_hundred() {
    assert_eq!(shares(&[0; 7]), [0.0; 7]);
    let parts = shares(&[3, 0, 17, 1, 0, 5, u64::MAX / 2]);
    assert!((parts.iter().sum::<f64>() - 100.0).abs() < 1e-9);
    assert_eq!(shares(&[1, 3]), [25.0, 75.0]);
    assert_eq!([0.0, 0.001, 0.2].map(|share| shown_share(share, LEAST_DEPTH_SHARE)), [0.0, 0.1, 0.2]);
    let run = testing::example();
    let reports = reports(&run);
    let entry = &reports[0];
    let tables = entry.latency_ns_shares.iter().chain(&entry.latency_us_shares).chain(&entry.latency_ms_shares);
    assert!((tables.sum::<f64>() - 100.0).abs() < 1e-9);
    assert_eq!(entry.depth_shares, [0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 0.0]);
}

/// Counts of a two-disk mirror as fio prints them: the members' mean without its fraction, the busiest one's use.
#[test]
fn members_of_a_disk_are_averaged() {
    let disk = |name: &str, ios, merges, ticks_ms, in_queue_ms, busy_ms| DiskUse {
        name: name.to_owned(),
        ios,
        merges,
        ticks_ms,
        in_queue_ms,
        busy_ms,
        window_ms: 10_000,
        ..DiskUse::default()
    };
    let members = vec![
        disk("sdb", [58_636, 8], [0, 16], [494_615, 348], 494_886, 4952),
        disk("sdc", [58_811, 2], [0, 1], [498_248, 23], 498_199, 4989),
    ];
    let mut run = run(vec![]);
    run.disks = vec![DiskUse { members, ..disk("md0", [117_435, 27], [0; 2], [0; 2], 0, 20_000) }];
    let disks = disks(&run);
    let aggregate = disks[0].aggregate.unwrap();
    assert_eq!((aggregate.ios, aggregate.merges), ([58_723, 5], [0, 8]));
    assert_eq!((aggregate.ticks_ms, aggregate.in_queue_ms), ([496_431, 185], 496_542));
    assert_eq!((aggregate.util_percent, disks[0].util_percent), (49.89, 100.0));
    assert_eq!((disks[0].members.len(), disks[0].members[0].aggregate), (2, None));
}

#[test]
fn exit_codes_are_those_of_fio() {
    let failing = |count: usize| {
        let mut run = run((0..300).map(|_| worker("w")).collect());
        run.workers[..count].iter_mut().for_each(|worker| worker.error = 5);
        run
    };
    for (failed, code) in [(0, 0), (1, 1), (2, 2), (255, 255), (256, 255), (300, 255)] {
        assert_eq!(exit_code(&failing(failed)), code, "{failed} failed");
    }
    for failed in [0, 3] {
        assert_eq!(exit_code(&RunResult { end: End::Signal(2), ..failing(failed) }), 128);
    }
    // Gone on after: the report names the error, the exit code does not.
    let mut run = run(vec![worker("w")]);
    run.workers[0].tolerated = Tolerated { allowed: true, total: 7, first_error: 84 };
    assert_eq!((exit_code(&run), reports(&run)[0].error), (0, 84));
}

#[test]
fn nothing_done_is_zero_everywhere() {
    let run = testing::no_io();
    let reports = reports(&run);
    let entry = &reports[0];
    assert!(entry.is_empty());
    assert_eq!((entry.directions.len(), entry.user_cpu_percent), (3, 0.0));
    for row in &entry.directions {
        assert_eq!((row.bw_bytes(), row.iops(), row.bandwidth_share, row.clat.mean_ns()), (0, 0.0, 0.0, 0.0));
        assert_eq!(row.clat.percentiles, None);
    }
    assert!(groups(&reports)[0].rows.is_empty());
    let target = LatencyTarget { target_ns: 0, window_us: 0, percentile: 100.0, depth: 8 };
    assert_eq!(entry.latency_target, target);
}

/// fio shows one read on the null engine as 1 ms, 4096000 B/s, 1000 IOPS.
#[test]
fn one_io_takes_a_millisecond() {
    let run = testing::one_io();
    let reports = reports(&run);
    let row = read(&reports[0]);
    assert_eq!((row.runtime_ms, row.bw_bytes(), row.bw_kib(), row.iops()), (1, 4_096_000, 4000, 1000.0));
    assert_eq!((row.clat.stddev_ns(), reports[0].job_runtime_ms), (0.0, 0));
    // Its latency is 17343 ns, its bin stands for 17280.
    assert!(row.clat.percentiles.as_ref().unwrap().iter().all(|percentile| percentile.ns == 17_280));
}

/// fio's totals count I/Os that failed; rates do not.
#[test]
fn failed_ios_are_issued_but_not_done() {
    let run = testing::only_errors();
    let reports = reports(&run);
    let row = reports[0].direction(Kind::Write).unwrap();
    assert_eq!((row.ios, row.issued_ios(), row.iops(), row.is_empty()), (0, 1, 0.0, false));
    assert_eq!((reports[0].error, exit_code(&run)), (28, 1));
}

#[test]
fn the_largest_latencies_stay_in_range() {
    let run = testing::largest_latency();
    let reports = reports(&run);
    let clat = &read(&reports[0]).clat;
    assert_eq!((clat.min_ns(), clat.max_ns(), clat.mean_ns()), (u64::MAX, u64::MAX, u64::MAX as f64));
    assert!(clat.stddev_ns().is_finite());
    assert!(clat.exceeds_fio_bins());
    assert_eq!(clat.fio_bins(), [(bin_value(FIO_BINS - 1), 2)], "fio's last bin takes all that is longer");
    assert_eq!(reports[0].latency_ms_shares[11], 100.0);
}

#[test]
fn the_rest_is_unknown_when_one_member_does_not_know_it() {
    let mut run = testing::example();
    for (etas, expected) in [([Some(3), Some(7)], Some(7)), ([Some(3), None], None)] {
        run.workers.iter_mut().zip(etas).for_each(|(worker, eta)| worker.eta_s = eta);
        assert_eq!(reports(&run)[0].eta_s, expected);
    }
}
