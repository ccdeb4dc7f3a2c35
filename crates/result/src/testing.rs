//! Results for tests: small pieces to build one from, and ready-made corner cases. Everything is constant, so that
//! goldens made from them never change by themselves.

use crate::model::*;
use iostrata_stats::{LatencyBuckets, LatencySummary, Moments};

/// 2026-11-30 19:39:07 UTC, when every test run starts.
pub const STARTED_UNIX_MS: i64 = 1_796_067_547_000;
/// Block size of all test I/O, bytes.
pub const BLOCK_BYTES: u64 = 4096;

/// A finished run of some workers, two seconds long.
pub fn run(workers: Vec<WorkerResult>) -> RunResult {
    RunResult {
        format_version: FORMAT_VERSION,
        tool_version: "0.1.0".to_owned(),
        started_unix_ms: STARTED_UNIX_MS,
        taken_unix_ms: STARTED_UNIX_MS + 2119,
        host: Host {
            name: "testhost".to_owned(),
            os: "Linux 6.18.0".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 2,
            clock: "tsc".to_owned(),
            clock_error_ns: 30,
        },
        command_line: vec!["--name=test".to_owned()],
        global_options: Vec::new(),
        workers,
        disks: Vec::new(),
        cpu_idleness: None,
        timeline: None,
        notes: Vec::new(),
        end: End::Finished,
    }
}

/// A worker of group 0 that had nothing to do.
pub fn worker(name: &str) -> WorkerResult {
    WorkerResult {
        job: job(name),
        clone: 0,
        group: 0,
        thread_number: 1,
        pid: 4711,
        started_unix_ms: STARTED_UNIX_MS + 10,
        elapsed_ns: 2_010_000_000,
        measured_ns: 2_000_000_000,
        error: 0,
        error_text: None,
        tolerated: Tolerated::default(),
        eta_s: Some(0),
        read: None,
        write: None,
        trim: None,
        sync: LatencySummary::default(),
        sync_ios: 0,
        user_cpu_ns: 0,
        system_cpu_ns: 0,
        context_switches: 0,
        major_faults: 0,
        minor_faults: 0,
        depth_counts: [0; 7],
        submit_counts: [0; 7],
        complete_counts: [0; 7],
        batch_stamp_error_ns: 0,
        latency_buckets: LatencyBuckets::default(),
        latency_target: None,
        steady_state: None,
        block_lives: None,
        started_clock_ms: None,
        zone_resets: None,
        engine_used: Vec::new(),
        due_not_issued: 0,
        censored: 0,
    }
}

/// A job of 4 KiB random reads at depth 8 with fio's defaults of reporting.
pub fn job(name: &str) -> JobFacts {
    JobFacts {
        index: 0,
        name: name.to_owned(),
        description: None,
        options: vec![option("rw", "randread")],
        workload: "randread".to_owned(),
        engine: "libaio".to_owned(),
        depth: 8,
        depth_granted: 8,
        block_sizes: [(BLOCK_BYTES, BLOCK_BYTES); 3],
        io_priority: 0,
        asynchronous: true,
        reporting: Reporting {
            group: false,
            kb_base: 1024,
            unit_base: 0,
            percentiles: vec![
                1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
            ],
            percentile_precision: 2,
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            clat: true,
            lat: true,
            slat: true,
            samples: true,
            significant_figures: 4,
            unified: "none".to_owned(),
            disk_util: true,
            hidden: false,
        },
    }
}

/// An option as written.
pub fn option(name: &str, value: &str) -> OptionWord {
    OptionWord { name: name.to_owned(), value: value.to_owned() }
}

/// The moments of some values.
pub fn moments(values: impl IntoIterator<Item = u64>) -> Moments {
    let mut moments = Moments::default();
    values.into_iter().for_each(|value| moments.add(value));
    moments
}

/// A direction that was active for two seconds, with an I/O of one block for each of these completion latencies.
/// Submission took 500 ns each.
pub fn direction(clat_ns: &[u64]) -> DirectionResult {
    let ios = clat_ns.len() as u64;
    DirectionResult {
        bytes: ios * BLOCK_BYTES,
        ios,
        runtime_ns: 2_000_000_000,
        slat: LatencySummary::of(clat_ns.iter().map(|_| 500)),
        clat: LatencySummary::of(clat_ns.iter().copied()),
        lat: LatencySummary::of(clat_ns.iter().map(|latency| latency.saturating_add(500))),
        ..DirectionResult::default()
    }
}

/// Counts the I/Os of the worker's directions into its tables: all at depth 8, submitted and reaped one by one.
pub fn tally(worker: &mut WorkerResult) {
    let rows = [&worker.read, &worker.write, &worker.trim];
    let ios = rows.into_iter().flatten().map(|row| row.ios).sum();
    worker.depth_counts[3] = ios;
    worker.submit_counts[1] = ios;
    worker.complete_counts[1] = ios;
}

/// An ordinary run: two clones of a mixed job with `group_reporting`, samples, syncs and one disk.
pub fn example() -> RunResult {
    let clone = |number: u32| {
        let mut worker = worker("rrw");
        worker.clone = number;
        worker.thread_number = number + 1;
        worker.pid += number;
        worker.job.workload = "randrw".to_owned();
        worker.job.description = Some("sample randrw job".to_owned());
        worker.job.options = vec![option("numjobs", "2"), option("group_reporting", ""), option("fdatasync", "64")];
        worker.job.reporting.group = true;
        let spread = |base: u64| (0..700u64).map(|io| base + io * io % 9973 * 37).collect::<Vec<_>>();
        let mut read = direction(&spread(90_000 + u64::from(number)));
        read.bandwidth_samples = moments([1_400_832, 1_433_600, 1_441_792]);
        read.iops_samples = moments([342, 350, 352]);
        let mut write = direction(&spread(120_000)[..300]);
        write.bandwidth_samples = moments([602_112, 614_400, 622_592]);
        write.iops_samples = moments([147, 150, 152]);
        let buckets = &mut worker.latency_buckets;
        read.clat.bins.values().chain(write.clat.bins.values()).for_each(|(latency, count)| {
            (0..count).for_each(|_| buckets.add(latency));
        });
        (worker.read, worker.write) = (Some(read), Some(write));
        worker.sync = LatencySummary::of((0..4u64).map(|sync| 400_000 + sync * 1_111_111));
        worker.sync_ios = 4;
        (worker.user_cpu_ns, worker.system_cpu_ns) = (50_000_000, 480_000_000);
        (worker.context_switches, worker.minor_faults) = (980, 14);
        tally(&mut worker);
        worker
    };
    let mut run = run(vec![clone(0), clone(1)]);
    run.global_options = vec![option("ioengine", "libaio"), option("rw", "randrw"), option("time_based", "")];
    run.disks = vec![DiskUse {
        name: "vda".to_owned(),
        ios: [1390, 610],
        sectors: [11_120, 4880],
        merges: [0, 6],
        ticks_ms: [131, 77],
        in_queue_ms: 208,
        busy_ms: 1216,
        window_ms: 2001,
        members: Vec::new(),
    }];
    run
}

/// A job that had nothing to do.
pub fn no_io() -> RunResult {
    run(vec![worker("idle")])
}

/// One read, done within a millisecond.
pub fn one_io() -> RunResult {
    let mut worker = worker("one");
    let mut read = direction(&[17_343]);
    read.runtime_ns = 40_000;
    worker.read = Some(read);
    worker.measured_ns = 40_000;
    worker.latency_buckets.add(17_343);
    tally(&mut worker);
    run(vec![worker])
}

/// A writer whose first I/O failed for want of space.
pub fn only_errors() -> RunResult {
    let mut worker = worker("full");
    worker.job.workload = "write".to_owned();
    let mut write = direction(&[]);
    write.failed_ios = 1;
    write.runtime_ns = 1_000_000;
    worker.write = Some(write);
    worker.error = 28;
    worker.error_text = Some("full: writing 4096 bytes at 0 of /dev/full: No space left on device".to_owned());
    run(vec![worker])
}

/// Two reads that took as long as a number can say.
pub fn largest_latency() -> RunResult {
    let mut worker = worker("stuck");
    worker.read = Some(direction(&[u64::MAX, u64::MAX]));
    (0..2).for_each(|_| worker.latency_buckets.add(u64::MAX));
    tally(&mut worker);
    run(vec![worker])
}

/// Two jobs of one entry: I/Os of the first have its priority or another, those of the second one of their own.
pub fn priorities() -> RunResult {
    let (own, high, low) = (2 << 13 | 4, 1 << 13, 2 << 13 | 5 << 3 | 7);
    let job = |number: u32, word: u16, latencies_ns: &[u64]| {
        let mut worker = worker("mixed");
        worker.job.reporting.group = true;
        worker.thread_number = number;
        worker.job.io_priority = word;
        worker.read = Some(direction(latencies_ns));
        tally(&mut worker);
        worker
    };
    let mut first = job(1, own, &[90_000, 110_000, 130_000, 12_000]);
    if let Some(read) = &mut first.read {
        let of = |word, latencies_ns: &[u64]| PriorityResult {
            word,
            latency: LatencyResult::of(latencies_ns.iter().copied()),
        };
        read.priorities = vec![of(own, &[90_000, 110_000, 130_000]), of(high, &[12_000]), of(3 << 13, &[])];
    }
    run(vec![first, job(2, low, &[1_500_000, 2_500_000])])
}

/// 64 jobs, each an entry of its own, in groups of eight.
pub fn many_jobs() -> RunResult {
    let workers = (0..64u32).map(|number| {
        let mut worker = worker(&format!("job{number}"));
        worker.job.index = number;
        worker.thread_number = number + 1;
        worker.pid += number;
        worker.group = number / 8;
        worker.read = Some(direction(&vec![50_000 + u64::from(number); number as usize]));
        tally(&mut worker);
        worker
    });
    run(workers.collect())
}

/// Names and values with all that a format might stumble over.
pub fn odd_names() -> RunResult {
    let mut worker = worker("quote\" back\\slash ;tab\tline\nümlaut");
    worker.job.description = Some("\u{1}bell\u{7} \"; DROP".to_owned());
    worker.job.options = vec![option("filename", "/a b/\"c\";d"), option("na\tme", "")];
    worker.read = Some(direction(&[1000]));
    tally(&mut worker);
    run(vec![worker])
}
