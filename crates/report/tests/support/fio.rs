//! fio's JSON read as a result of ours: what JSON leaves out (the thread's number) comes from the text of the same
//! run.

use iostrata_result::testing::{option, run, worker};
use iostrata_result::{
    DirectionResult, DiskUse, HistogramBins, LatencyBuckets, LatencyResult, Moments, OptionWord, RunResult,
    WorkerResult,
};
use iostrata_stats::histogram::bin_of;
use serde_json::Value;

/// One run of fio with `--output-format=json+,normal`: the document, and the text after it.
pub(crate) struct Pair {
    pub(crate) json: Value,
    pub(crate) text: String,
}

impl Pair {
    pub(crate) fn parse(output: &str) -> Self {
        let start = output.find("{\n").expect("a document");
        let end = start + output[start..].find("\n}\n").expect("its end") + 3;
        let json = serde_json::from_str(&output[start..end]).expect("valid JSON");
        Self { json, text: output[end..].to_owned() }
    }

    /// The same run as a result of ours.
    pub(crate) fn result(&self) -> RunResult {
        let json = &self.json;
        let pids = self.text.lines().filter(|line| line.contains(": (groupid=")).map(|line| {
            let pid = line.split(": pid=").nth(1).and_then(|rest| rest.split(':').next());
            pid.and_then(|pid| pid.parse().ok()).expect("a pid")
        });
        let globals = words(&json["global options"]);
        let jobs = json["jobs"].as_array().expect("jobs");
        let workers =
            jobs.iter().zip(pids).map(|(job, pid)| WorkerResult { pid, ..worker_of(job, &globals) }).collect();
        let mut result = run(workers);
        result.taken_unix_ms = json["timestamp_ms"].as_i64().unwrap();
        result.disks = json["disk_util"].as_array().into_iter().flatten().map(disk).collect();
        result.global_options = globals;
        result
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a count: {value}"))
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn words(options: &Value) -> Vec<OptionWord> {
    let pairs = options.as_object().into_iter().flatten();
    pairs.map(|(name, value)| option(name, value.as_str().unwrap())).collect()
}

fn worker_of(json: &Value, globals: &[OptionWord]) -> WorkerResult {
    let name = json["jobname"].as_str().unwrap();
    let own = words(&json["job options"]);
    let asked = |wanted: &str| own.iter().chain(globals).find(|word| word.name == wanted).map(|word| &*word.value);
    let mut worker = worker(name);
    worker.group = number(&json["groupid"]) as u32;
    worker.error = number(&json["error"]) as i32;
    worker.measured_ns = number(&json["job_runtime"]) * 1_000_000;
    worker.elapsed_ns = worker.measured_ns;
    worker.job.description = json["desc"].as_str().map(str::to_owned);
    worker.job.workload = asked("rw").unwrap_or("read").into();
    worker.job.engine = asked("ioengine").unwrap_or("psync").into();
    worker.job.depth = number(&json["latency_depth"]) as u32;
    worker.job.depth_granted = worker.job.depth;
    worker.job.asynchronous = worker.job.engine == "libaio";
    let reporting = &mut worker.job.reporting;
    reporting.kb_base = asked("kb_base").map_or(1024, |base| base.parse().unwrap());
    reporting.unit_base = asked("unit_base").map_or(0, |base| base.parse().unwrap());
    reporting.significant_figures = asked("significant_figures").map_or(4, |digits| digits.parse().unwrap());
    reporting.unified = asked("unified_rw_reporting").unwrap_or("none").into();
    reporting.clat_percentiles = asked("clat_percentiles") != Some("0");
    reporting.lat_percentiles = asked("lat_percentiles") == Some("1");
    reporting.slat_percentiles = asked("slat_percentiles") == Some("1");
    if let Some(list) = asked("percentile_list") {
        reporting.percentiles = list.split(':').map(|percent| percent.parse().unwrap()).collect();
        reporting.percentile_precision = 1;
    }
    // A mixed report keeps no directions apart: all of it counts as reads here.
    worker.read = direction(&json["read"]).or_else(|| direction(&json["mixed"]));
    worker.write = direction(&json["write"]);
    worker.trim = direction(&json["trim"]);
    worker.sync = latency(&json["sync"]["lat_ns"]);
    worker.sync_ios = json["sync"]["total_ios"].as_u64().unwrap_or(0);
    let cpu = |share: &Value| (float(share) / 100.0 * worker.measured_ns as f64).round() as u64;
    (worker.user_cpu_ns, worker.system_cpu_ns) = (cpu(&json["usr_cpu"]), cpu(&json["sys_cpu"]));
    worker.context_switches = number(&json["ctx"]);
    worker.major_faults = number(&json["majf"]);
    worker.minor_faults = number(&json["minf"]);
    let ios = [&worker.read, &worker.write, &worker.trim].into_iter().flatten().map(|direction| direction.ios).sum();
    worker.depth_counts = counts(&[&json["iodepth_level"]], ios, 0.1);
    worker.submit_counts = counts(&[&json["iodepth_submit"]], 1_000_000, 0.1);
    worker.complete_counts = counts(&[&json["iodepth_complete"]], 1_000_000, 0.1);
    worker.latency_buckets = buckets(json, ios);
    worker
}

/// How many of `all` these shares stand for. Six decimals give a count exactly, but the least share that is shown may
/// stand for less: what the others leave is spread over those.
fn counts<const N: usize>(maps: &[&Value], all: u64, least: f64) -> [u64; N] {
    let shares: Vec<f64> = maps.iter().flat_map(|map| map.as_object().unwrap().values()).map(float).collect();
    let count_of = |share: f64| (share / 100.0 * all as f64).round() as u64;
    let mut few = shares.iter().filter(|share| **share == least).count() as u64;
    let others: u64 = shares.iter().filter(|share| **share != least).map(|share| count_of(*share)).sum();
    let mut left = all.saturating_sub(others);
    let counts = shares.iter().map(|&share| {
        if share != least {
            return count_of(share);
        }
        let part = left / few;
        (left, few) = (left - part, few - 1);
        part
    });
    counts.collect::<Vec<_>>().try_into().expect("all shares")
}

fn buckets(job: &Value, ios: u64) -> LatencyBuckets {
    let [ns, us, ms] = ["latency_ns", "latency_us", "latency_ms"].map(|key| &job[key]);
    let counts: [u64; 32] = counts(&[ns, us, ms], ios, 0.01);
    LatencyBuckets {
        ns: counts[..10].try_into().unwrap(),
        us: counts[10..20].try_into().unwrap(),
        ms: counts[20..].try_into().unwrap(),
    }
}

fn direction(json: &Value) -> Option<DirectionResult> {
    if json.is_null() || number(&json["total_ios"]) == 0 {
        return None;
    }
    let samples = |stem: &str, deviation: &str, unit: u64| {
        let unit_f = unit as f64;
        let field = |end: &str| &json[&format!("{stem}_{end}")];
        moments(
            number(field("samples")),
            number(field("min")) * unit,
            number(field("max")) * unit,
            float(field("mean")) * unit_f,
            float(field(deviation)) * unit_f,
        )
    };
    Some(DirectionResult {
        bytes: number(&json["io_bytes"]),
        ios: number(&json["total_ios"]),
        short_ios: number(&json["short_ios"]),
        dropped_ios: number(&json["drop_ios"]),
        runtime_ns: number(&json["runtime"]) * 1_000_000,
        slat: latency(&json["slat_ns"]),
        clat: latency(&json["clat_ns"]),
        lat: latency(&json["lat_ns"]),
        bandwidth_samples: samples("bw", "dev", 1024),
        iops_samples: samples("iops", "stddev", 1),
        ..DirectionResult::default()
    })
}

/// Moments from rounded figures, as near as integers allow.
fn moments(count: u64, min: u64, max: u64, mean: f64, stddev: f64) -> Moments {
    let sum = (mean * count as f64).round() as u128;
    // The spread about the mean, and the mean's own square in integers, where a float would lose digits.
    let spread = (stddev * stddev * count.saturating_sub(1) as f64).round() as u128;
    let mean_square = sum.pow(2).checked_div(count.into()).unwrap_or(0);
    Moments { count, min, max, sum, sum_squares: mean_square + spread }
}

fn latency(json: &Value) -> LatencyResult {
    if json.is_null() {
        return LatencyResult::default();
    }
    let moments = moments(
        number(&json["N"]),
        number(&json["min"]),
        number(&json["max"]),
        float(&json["mean"]),
        float(&json["stddev"]),
    );
    let bins = json["bins"].as_object().into_iter().flatten();
    let bins = bins.map(|(middle, count)| (bin_of(middle.parse().unwrap()) as u16, number(count))).collect();
    LatencyResult { moments, bins: HistogramBins(bins) }
}

fn disk(json: &Value) -> DiskUse {
    let pair = |what: &str| [number(&json[&format!("read_{what}")]), number(&json[&format!("write_{what}")])];
    DiskUse {
        name: json["name"].as_str().unwrap().into(),
        ios: pair("ios"),
        merges: pair("merges"),
        ticks_ms: pair("ticks"),
        in_queue_ms: number(&json["in_queue"]),
        // Six decimals of a percentage.
        busy_ms: (float(&json["util"]) * 1e6).round() as u64,
        window_ms: 100_000_000,
        ..DiskUse::default()
    }
}
