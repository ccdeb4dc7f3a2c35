//! Rates, pauses, limits of latency and steady state in virtual time: what is promised holds to the nanosecond there.

use iostrata_testkit::{Folder, Outcome, iostrata, measure};
use serde_json::Value;

/// A job on a device of 80 µs that does 64 requests at once; its report and the saved document.
fn sim(words: &str) -> (Outcome, Value) {
    let base = "--name=j --ioengine=sim --sim_sigma=0 --sim_latency=80us --sim_channels=64 --size=64m --save=.saved";
    let folder = Folder::new("pacing");
    let all: Vec<&str> = base.split_whitespace().chain(words.split_whitespace()).collect();
    let outcome = measure(iostrata(), &all, folder.path());
    let saved = std::fs::read_to_string(folder.path().join(".saved")).unwrap_or_else(|_| panic!("{}", outcome.stderr));
    (outcome, serde_json::from_str(&saved).unwrap())
}

/// The first job's entry of a run that ends well.
fn good(words: &str) -> Value {
    let (outcome, _) = sim(words);
    assert_eq!(outcome.code, 0, "{words}: {}", outcome.stderr);
    outcome.json.unwrap()["jobs"][0].clone()
}

fn ios(job: &Value, direction: &str) -> f64 {
    job[direction]["total_ios"].as_f64().unwrap()
}

fn near(value: f64, wanted: f64, percent: f64) -> bool {
    (value - wanted).abs() <= wanted * percent / 100.0
}

#[test]
fn a_poisson_process_keeps_the_rate_and_the_split_within_two_percent_over_ten_seconds() {
    // 10 s at 4000 and 2500 a second: two percent are at least three standard deviations.
    for rate in ["--rate_iops=4000,2500", "--rate=16384000,10240000"] {
        let words = format!("--rw=randrw --rwmixread=70 {rate} --iodepth=64 --rate_process=poisson");
        let job = good(&format!("{words} --time_based --runtime=10"));
        let (reads, writes) = (ios(&job, "read"), ios(&job, "write"));
        assert!(near(reads, 40_000.0, 2.0) && near(writes, 25_000.0, 2.0), "{words}: {reads}, {writes}");
    }
}

#[test]
fn the_gaps_of_a_poisson_process_are_exponential() {
    // Nothing waits for anything (64 channels, synchronous would): the lag is none, and the spread of the counts in
    // windows of 100 ms is that of the mean, where an even pace has none.
    let samples = |process: &str| {
        let words = "--rw=randread --iodepth=64 --rate_iops=1000 --iopsavgtime=100 --time_based --runtime=20";
        let job = good(&format!("{words} --rate_process={process}"));
        (job["read"]["iops_mean"].as_f64().unwrap(), job["read"]["iops_stddev"].as_f64().unwrap())
    };
    // 100 I/Os in a window on average, ± 10: as IOPS 1000 ± 100. 200 windows tell the spread to within 5%.
    let (mean, spread) = samples("poisson");
    assert!(near(mean, 1000.0, 4.0) && near(spread, 100.0, 25.0), "{mean} ± {spread}");
    let (mean, spread) = samples("linear");
    assert!(near(mean, 1000.0, 0.1) && spread < 1.0, "{mean} ± {spread}");
}

#[test]
fn nothing_bursts_when_the_ramp_ends() {
    // The device does 12200 a second and cannot do what the rate wants; with a lower one it has no arrears at all.
    for (rate, least, most) in [(1000, 1000, 1000), (20_000, 12_100, 12_300)] {
        let words = format!("--rw=read --rate_iops={rate} --iopsavgtime=10 --ramp_time=1 --time_based --runtime=1");
        let job = good(&words);
        assert_eq!(job["read"]["runtime"].as_u64().unwrap() / 10, 100, "{words}");
        let count = ios(&job, "read") as u64;
        assert!((least..=most).contains(&count), "{words}: {count}");
        let peak = job["read"]["iops_max"].as_u64().unwrap();
        assert!(peak <= most + 100, "{words}: {peak}");
    }
}

#[test]
fn a_rate_below_a_block_a_second_ends_on_time() {
    for depth in [1, 16] {
        let (outcome, saved) = sim(&format!("--rw=read --rate=1k --runtime=3 --iodepth={depth}"));
        assert_eq!(outcome.counts()[0].ios(), 1, "the second is due after 4 s");
        assert_eq!(saved["workers"][0]["elapsed_ns"], 3_000_000_000u64);
    }
}

#[test]
fn a_lowest_rate_that_is_missed_ends_the_job_with_eio_after_two_seconds_and_a_cycle() {
    let slow = "--rw=read --thinktime=50ms --runtime=8 --time_based";
    for (limit, words) in [
        ("--rate_min=512k --rate=1m", "rate_min=524288B/s not met, got 81920B/s"),
        ("--rate_iops_min=30", "rate_iops_min=30 not met, got 20 IOPS"),
    ] {
        for (cycle, elapsed_ms) in [("", 3000), ("--rate_cycle=500", 2500)] {
            let (outcome, saved) = sim(&format!("{slow} {limit} {cycle}"));
            assert_eq!((outcome.code, outcome.counts()[0].error), (1, 5), "{limit}");
            assert!(!cycle.is_empty() || outcome.stderr.contains(words), "{}", outcome.stderr);
            let elapsed_ns = saved["workers"][0]["elapsed_ns"].as_u64().unwrap();
            assert_eq!(elapsed_ns / 1_000_000, elapsed_ms, "{limit} {cycle}");
        }
    }
    good(&format!("{slow} --rate_iops_min=20"));
}

#[test]
fn pauses_come_after_blocks_or_io_time_and_are_caught_up_on_unless_that_is_ignored() {
    let count = |words: &str| ios(&good(&format!("--rw=read --time_based --runtime=4 {words}")), "read");
    // A second of I/O, half a second of rest: 0 to 1, 1.5 to 2.5, 3 to 4 s. The waits for a rate are no time of I/O.
    let by_time = "--thinktime=500ms --thinktime_iotime=1";
    let (busy, free) = (count(by_time), count(""));
    assert!(near(busy, free * 0.75, 0.1), "{busy} of {free}");
    assert_eq!(count(&format!("{by_time} --rate_iops=100 --rate_ignore_thinktime=1")), 400.0);
    // Cycles of 20 I/Os (200 ms) and 500 ms; or what was missed is made up for, as far as 20 at a time can do it.
    let both = format!("{by_time} --thinktime_blocks=20");
    assert_eq!(count(&format!("{both} --rate_iops=100 --rate_ignore_thinktime=1")), 120.0);
    assert_eq!(count(&format!("{both} --rate_iops=30")), 120.0);
    assert_eq!(count(&format!("{both} --rate_iops=30 --rate_ignore_thinktime=1")), 75.0);
}

#[test]
fn pauses_by_completed_ios_are_as_many_as_in_fio_at_every_depth() {
    // 256 I/Os; the pauses are those of fio 3.33 with libaio, counted in its system calls.
    for (depth, blocks, pauses) in [(4, 10, 25), (16, 4, 26), (8, 4, 46), (16, 10, 20), (8, 3, 50), (16, 16, 15)] {
        let words =
            format!("--rw=randread --io_size=1m --thinktime=20ms --iodepth={depth} --thinktime_blocks={blocks}");
        let runtime = good(&words)["read"]["runtime"].as_u64().unwrap();
        assert!((pauses * 20..pauses * 20 + 15).contains(&runtime), "{depth} {blocks}: {runtime} ms");
    }
}

#[test]
fn pauses_by_issued_ios_let_no_more_than_those_out() {
    let job = good(
        "--rw=randread --iodepth=8 --io_size=256k --thinktime=20ms --thinktime_blocks=4 \
                    --thinktime_blocks_type=issue",
    );
    // 64 I/Os in cycles of four at once and 20 ms: 15 pauses, and the one after the last four or not.
    let runtime = job["read"]["runtime"].as_u64().unwrap();
    assert!((301..=322).contains(&runtime), "{runtime} ms");
    assert_eq!(job["iodepth_level"]["8"], 0.0);
    // One at depth 1 each time, two at 2 or 3, one at 4.
    assert_eq!(job["iodepth_level"]["1"], 25.0);
}

#[test]
fn an_io_above_max_latency_ends_the_job_with_etimedout_and_is_counted() {
    let stalls = "--sim_stall_every=1000 --sim_stall=5ms --number_ios=100000 --rw=randrw";
    let (outcome, _) = sim(&format!("{stalls} --max_latency=1ms"));
    assert_eq!((outcome.code, outcome.counts()[0].error), (1, 110), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nsec exceeds specified max (1000000 nsec)"), "{}", outcome.stderr);
    let job = &outcome.json.unwrap()["jobs"][0];
    let slowest = ["read", "write"].map(|direction| job[direction]["lat_ns"]["max"].as_u64().unwrap());
    assert!(slowest.iter().any(|&slowest| slowest > 1_000_000), "{slowest:?}");
    good(&format!("{stalls} --max_latency=6ms"));
    // The limit of a direction is of no matter to the other.
    let stalls = stalls.replace("randrw", "randwrite");
    good(&format!("{stalls} --max_latency=1ms,0"));
    assert_eq!(sim(&format!("{stalls} --max_latency=0,1ms")).0.code, 1);
}

/// One channel of 100 µs: an I/O that waits for n others takes (n + 1) · 100 µs.
const QUEUE: &str = "--rw=randread --iodepth=32 --sim_channels=1 --sim_latency=100us --sim_bandwidth=0 \
                     --latency_window=100ms --runtime=4 --time_based";

#[test]
fn the_search_for_a_latency_finds_the_largest_depth_that_keeps_it() {
    for (target, depth) in [("100us", 1), ("500us", 5), ("999us", 9), ("1ms", 10), ("10ms", 32)] {
        for percentile in [90, 100] {
            let job = good(&format!("{QUEUE} --latency_target={target} --latency_percentile={percentile}"));
            assert_eq!(job["latency_depth"], depth, "{target} {percentile}");
            // Only the last window counts.
            let runtime = job["read"]["runtime"].as_u64().unwrap();
            assert!((100..=104).contains(&runtime), "{target}: {runtime} ms");
            assert!(near(ios(&job, "read"), 1000.0, 4.0), "{target}");
        }
    }
}

#[test]
fn where_no_depth_keeps_the_latency_the_job_goes_on_at_one_or_ends_if_all_must() {
    let job = good(&format!("{QUEUE} --latency_target=50us --latency_percentile=90"));
    assert_eq!((&job["latency_depth"], &job["read"]["runtime"]), (&1.into(), &4000.into()));
    let (outcome, _) = sim(&format!("{QUEUE} --latency_target=50us"));
    assert_eq!((outcome.code, outcome.counts()[0].error), (1, 110));
    assert!(outcome.stderr.contains("latency of 100000 nsec exceeds specified max (50000 nsec)"), "{}", outcome.stderr);
    let job = good(&format!("{QUEUE} --latency_target=500us --latency_run=1"));
    assert_eq!((&job["latency_depth"], job["read"]["runtime"].as_u64().unwrap() / 10), (&5.into(), 400));
}

#[test]
fn all_six_criteria_of_steady_state_end_the_job_at_ramp_and_duration_at_the_earliest() {
    for criterion in ["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"] {
        for limit in ["5", "5%"] {
            let steady = format!("--steadystate={criterion}:{limit} --ss_dur=3 --ss_ramp=2 --ramp_time=1");
            let (outcome, saved) = sim(&format!("--rw=read --rate_iops=100 --time_based --runtime=60 {steady}"));
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let job = &outcome.json.unwrap()["jobs"][0];
            let state = &job["steadystate"];
            assert_eq!(state["ss"], format!("{criterion}:5.000000{}", limit.trim_start_matches('5')));
            assert_eq!((&state["attained"], &state["duration"]), (&1.into(), &3.into()), "{criterion}");
            assert_eq!(state["data"]["iops"], serde_json::json!([100, 100, 100]));
            assert_eq!(state["data"]["bw"], serde_json::json!([409_600, 409_600, 409_600]));
            assert_eq!(state["data"].get("lat_mean").is_some(), criterion.starts_with("lat"));
            assert_eq!(saved["workers"][0]["elapsed_ns"], 6_000_000_000u64, "{criterion}: 1 + 2 + 3 s");
            assert_eq!(job["read"]["runtime"], 5000);
        }
    }
}

#[test]
fn what_is_never_steady_runs_to_its_end_and_no_number_is_none() {
    // Nothing is done in a window: a rate of an I/O in 40 s.
    let (outcome, saved) =
        sim("--rw=read --rate=100 --time_based --runtime=9 --steadystate=iops:5% --ss_dur=3 --ss_ramp=1");
    assert_eq!(outcome.code, 0);
    assert_eq!(saved["workers"][0]["elapsed_ns"], 9_000_000_000u64);
    let state = &outcome.json.unwrap()["jobs"][0]["steadystate"];
    assert_eq!((&state["attained"], &state["criterion"]), (&0.into(), &"0.000000%".into()));
    assert_eq!(state["data"]["iops"], serde_json::json!([0, 0, 0]));
    assert!(state["max_deviation"].is_number() && state["slope"].is_number());
    // Not one sample.
    let state = &good("--rw=read --io_size=4k --steadystate=lat_slope:5% --ss_dur=3")["steadystate"];
    assert_eq!((&state["attained"], &state["data"]["lat_mean"]), (&0.into(), &0.into()));
}

#[test]
fn a_reporting_group_is_judged_and_ended_together_and_a_lone_job_alone() {
    let words = "--rw=read --rate_iops=100 --time_based --runtime=20 --numjobs=3 --ss=iops:1% --ss_dur=2 \
                 --steadystate_check_interval=500ms";
    let job = good(&format!("{words} --group_reporting"));
    assert_eq!(job["steadystate"]["data"]["iops"], serde_json::json!([300, 300, 300, 300]));
    assert_eq!(ios(&job, "read"), 600.0);
    let job = good(words);
    assert_eq!(job["steadystate"]["data"]["iops"], serde_json::json!([100, 100, 100, 100]));
}

#[test]
fn a_ramp_by_size_ends_when_the_group_has_moved_it() {
    // 1 MiB/s each: the four of a group are through 8 MiB after two seconds, one alone after eight.
    let words = "--rw=read --rate=1m --ramp_size=8m --time_based --runtime=1 --numjobs=4";
    for (grouped, elapsed_ms, ios_each) in [("--group_reporting", 2996..=3001, 256), ("", 8996..=9001, 256)] {
        let (outcome, saved) = sim(&format!("{words} {grouped}"));
        let jobs = outcome.counts();
        let wanted = if grouped.is_empty() { ios_each } else { 4 * ios_each };
        assert!(jobs.iter().all(|job| job.ios().abs_diff(wanted) <= 4), "{jobs:?}");
        for worker in saved["workers"].as_array().unwrap() {
            let elapsed_ns = worker["elapsed_ns"].as_u64().unwrap();
            assert!(elapsed_ms.contains(&(elapsed_ns / 1_000_000)), "{grouped}: {elapsed_ns}");
        }
    }
}

#[test]
fn the_start_in_json_is_told_on_the_clock_that_is_asked_for() {
    let folder = Folder::new("start-clock");
    let start = |clock: &str| {
        let words = ["--name=j", "--ioengine=null", "--size=64k", clock];
        measure(iostrata(), &words, folder.path())
    };
    let of = |outcome: Outcome| outcome.json.unwrap()["jobs"][0]["job_start"].as_i64().unwrap();
    // The monotonic clock began at the last start of the machine, the wall clock in 1970.
    let (wall, monotonic) = (of(start("--job_start_clock_id=0")), of(start("--job_start_clock_id=1")));
    assert!(wall > 1_600_000_000_000 && monotonic > 0 && monotonic < wall / 2, "{wall} {monotonic}");
    let unknown = start("--job_start_clock_id=63");
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("job_start_clock_id=63"), "{}", unknown.stderr);
}

#[test]
fn cycles_of_thinking_keep_the_cpu_busy_and_cost_no_latency() {
    let folder = Folder::new("thinkcycles");
    let run = |cycles: &str| {
        let words = ["--name=j", "--ioengine=null", "--size=256k", cycles];
        measure(iostrata(), &words, folder.path()).json.unwrap()["jobs"][0]["read"].clone()
    };
    // 64 times ten million turns of a loop take many times what the I/Os on `null` do.
    let read = run("--thinkcycles=10000000");
    let runtime_ms = read["runtime"].as_u64().unwrap();
    let latencies_ms = read["lat_ns"]["mean"].as_f64().unwrap() * 64.0 / 1e6;
    assert!(latencies_ms < runtime_ms as f64 / 4.0, "{runtime_ms} ms, {latencies_ms} ms of I/O");
    let idle_ms = run("--thinkcycles=0")["runtime"].as_u64().unwrap();
    assert!(runtime_ms > 4 * idle_ms.max(1), "{runtime_ms} ms with cycles, {idle_ms} ms without");
}
