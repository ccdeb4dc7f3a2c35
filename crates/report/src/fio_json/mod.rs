//! fio's JSON document, in the tree and the order of fio 3.42. What fio does not have stands under the one key
//! `iostrata`.

mod ours;

use crate::date::ctime;
use crate::json::{Object, Value};
use crate::text::steady_word;
use crate::{FIO_VERSION, RenderOptions};
use iostrata_result::derive::{
    self, Direction, Disk, DiskCounts, Idleness, Kind, LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE, Latency,
    PriorityLatency, Report, Samples, Steadiness, shown_share,
};
use iostrata_result::{CpuIdleness, DiskUse, OptionWord, RunResult, SteadyMeasure, SteadyState};

/// What fio writes as `eta` when it is not known.
const ETA_UNKNOWN: u64 = i32::MAX as u64;

const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const EDGES: [&str; 12] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// The document, with a newline at its end; `plus` adds the bins of the histograms (`json+`).
///
/// It is always valid JSON, whatever the names of jobs and files.
pub fn render(run: &RunResult, plus: bool, options: &RenderOptions) -> String {
    let reports = derive::reports(run);
    let globals = Some(&run.global_options).filter(|words| !words.is_empty()).map(|words| option_map(words));
    let disks = derive::disks(run);
    let disk_util = Some(disk_list(&disks)).filter(|list| !list.is_empty());
    let document = Object::default()
        .with("fio version", FIO_VERSION)
        .with("timestamp", run.taken_unix_ms.div_euclid(1000))
        .with("timestamp_ms", run.taken_unix_ms)
        .with("time", ctime(run.taken_unix_ms, &options.time_zone))
        .with_some("global options", globals)
        .with("jobs", reports.iter().map(|report| job(report, plus)).collect::<Value>())
        .with_some("disk_util", disk_util.map(|list| list.into_iter().collect::<Value>()))
        .with_some("cpu_idleness", run.cpu_idleness.as_ref().map(idleness))
        .with("iostrata", ours::root(run, &reports, plus));
    format!("{document}\n")
}

/// The same document on one line: a line of JSON Lines.
pub fn render_line(run: &RunResult, plus: bool, options: &RenderOptions) -> String {
    // Line ends within texts are escaped: those that are left are the layout's.
    let mut line: String = render(run, plus, options).lines().map(str::trim_start).collect();
    line.push('\n');
    line
}

fn idleness(counts: &CpuIdleness) -> Object {
    let idle = Idleness::of(counts);
    let each = idle.cpus.iter().filter(|_| counts.per_cpu).map(|(cpu, percent)| (format!("cpu-{cpu}"), *percent));
    Object::default()
        .with("system", idle.system_percent)
        .with_all(each.collect())
        .with("unit_mean", idle.unit_mean_us)
        .with("unit_stddev", idle.unit_stddev_us)
}

fn option_map(words: &[OptionWord]) -> Object {
    words.iter().map(|word| (word.name.as_str(), word.value.as_str())).collect()
}

fn job(report: &Report<'_>, plus: bool) -> Object {
    let facts = report.job;
    let options = Some(&facts.options).filter(|words| !words.is_empty()).map(|words| option_map(words));
    let row = |wanted: Kind| report.direction(wanted).map(|row| direction(row, plus));
    let alone = report.direction(Kind::Read).is_none();
    let mixed = row(Kind::Mixed);
    let (mixed_alone, mixed_beside) = if alone { (mixed, None) } else { (None, mixed) };
    let sync = Object::default().with("total_ios", report.sync_ios).with("lat_ns", latency(&report.sync, plus));
    let target = report.latency_target;
    Object::default()
        .with("jobname", &facts.name)
        .with("groupid", report.group)
        .with("job_start", report.job_start_ms)
        .with("error", report.error)
        .with("eta", report.eta_s.unwrap_or(ETA_UNKNOWN))
        .with("elapsed", report.elapsed_s)
        .with_some("job options", options)
        .with_some("read", row(Kind::Read))
        .with_some("write", row(Kind::Write))
        .with_some("trim", row(Kind::Trim))
        .with_some("mixed", mixed_alone)
        .with("sync", sync)
        .with_some("mixed", mixed_beside)
        .with_all(load(report))
        .with("latency_depth", target.depth)
        .with("latency_target", target.target_ns)
        .with("latency_target_ns", target.target_ns)
        .with("latency_percentile", target.percentile)
        .with("latency_window", target.window_us)
        .with("latency_window_us", target.window_us)
        .with_some("desc", facts.description.as_ref())
        .with_some("steadystate", report.steady_state.map(steady_state))
        .with_some("zone_resets", report.zone_resets)
}

/// What was asked of steady state, what was found, and the series that it was found by.
fn steady_state(state: &SteadyState) -> Object {
    let found = Steadiness::of(state);
    let percent = if state.percent { "%" } else { "" };
    let by_latency = state.measure == SteadyMeasure::Latency;
    let list = |values: &[u64]| values.iter().copied().collect::<Value>();
    let data = Object::default()
        .with("bw_mean", found.bw_bytes_mean)
        .with("iops_mean", found.iops_mean)
        .with_some("lat_mean", by_latency.then_some(found.lat_ns_mean))
        .with_some("lat_ns", by_latency.then(|| list(&found.lat_ns)))
        .with("iops", list(&found.iops))
        .with("bw", list(&found.bw_bytes));
    let slope = if state.slope { "_slope" } else { "" };
    Object::default()
        .with("ss", format!("{}{slope}:{:.6}{percent}", steady_word(state.measure), state.limit))
        .with("duration", state.duration_ns / 1_000_000_000)
        .with("attained", u32::from(state.attained))
        .with("criterion", format!("{:.6}{percent}", found.criterion))
        .with("max_deviation", found.max_deviation)
        .with("slope", found.slope)
        .with("data", data)
}

/// From `job_runtime` to the errors that were passed over.
fn load(report: &Report<'_>) -> Object {
    let depth = |names: [&'static str; 7], of: &[f64; 7]| shares(&names, of, LEAST_DEPTH_SHARE);
    let latency = |of: &[f64]| shares(&EDGES, of, LEAST_LATENCY_SHARE);
    let tolerated = Some(report.tolerated).filter(|tolerated| tolerated.allowed);
    Object::default()
        .with("job_runtime", report.job_runtime_ms)
        .with("usr_cpu", report.user_cpu_percent)
        .with("sys_cpu", report.system_cpu_percent)
        .with("ctx", report.context_switches)
        .with("majf", report.major_faults)
        .with("minf", report.minor_faults)
        .with("iodepth_level", depth(LEVELS, &report.depth_shares))
        .with("iodepth_submit", depth(BATCHES, &report.submit_shares))
        .with("iodepth_complete", depth(BATCHES, &report.complete_shares))
        .with("latency_ns", latency(&report.latency_ns_shares))
        .with("latency_us", latency(&report.latency_us_shares))
        .with("latency_ms", latency(&report.latency_ms_shares))
        .with_some("total_err", tolerated.map(|tolerated| tolerated.total))
        .with_some("first_error", tolerated.map(|tolerated| tolerated.first_error))
}

fn shares(names: &[&'static str], of: &[f64], least: f64) -> Object {
    names.iter().zip(of).map(|(name, share)| (*name, shown_share(*share, least))).collect()
}

fn direction(row: &Direction, plus: bool) -> Object {
    let Samples { min, max, mean, count, .. } = row.bandwidth_kib;
    let iops = &row.iops_samples;
    Object::default()
        .with("io_bytes", row.bytes)
        .with("io_kbytes", row.kib())
        .with("bw_bytes", row.bw_bytes())
        .with("bw", row.bw_kib())
        .with("iops", row.iops())
        .with("runtime", row.runtime_ms)
        .with("total_ios", row.issued_ios())
        .with("short_ios", row.short_ios)
        .with("drop_ios", row.dropped_ios)
        .with("slat_ns", latency(&row.slat, plus))
        .with("clat_ns", latency(&row.clat, plus))
        .with("lat_ns", latency(&row.lat, plus))
        .with_some("prios", (!row.priorities.is_empty()).then(|| priorities(&row.priorities, plus)))
        .with("bw_min", min)
        .with("bw_max", max)
        .with("bw_agg", row.bandwidth_share)
        .with("bw_mean", mean)
        .with("bw_dev", row.bandwidth_kib.stddev())
        .with("bw_samples", count)
        .with("iops_min", iops.min)
        .with("iops_max", iops.max)
        .with("iops_mean", iops.mean)
        .with("iops_stddev", iops.stddev())
        .with("iops_samples", iops.count)
}

fn priorities(all: &[PriorityLatency], plus: bool) -> Value {
    let one = |priority: &PriorityLatency| {
        Object::default()
            .with("prioclass", u64::from(priority.class))
            .with("prio", u64::from(priority.level))
            .with("priohint", u64::from(priority.hint))
            .with(if priority.total { "lat_ns" } else { "clat_ns" }, latency(&priority.latency, plus))
    };
    all.iter().map(one).collect()
}

/// Moments, and where they are wanted the percentiles and (`json+`) the bins of fio's histogram.
fn latency(latency: &Latency, plus: bool) -> Object {
    let bins = (plus && latency.percentiles.is_some()).then(|| latency.fio_bins());
    latency_with(latency, bins)
}

/// Moments, percentiles where they are wanted, and these bins, as nanoseconds and count.
fn latency_with(latency: &Latency, bins: Option<Vec<(u64, u64)>>) -> Object {
    let percentiles: Option<Object> = latency
        .percentiles
        .as_ref()
        .map(|list| list.iter().map(|percentile| (format!("{:.6}", percentile.p), percentile.ns)).collect());
    let bins: Option<Object> = bins.map(|bins| bins.into_iter().map(|(ns, count)| (ns.to_string(), count)).collect());
    Object::default()
        .with("min", latency.min_ns())
        .with("max", latency.max_ns())
        .with("mean", latency.mean_ns())
        .with("stddev", latency.stddev_ns())
        .with("N", latency.count())
        .with_some("percentile", percentiles)
        .with_some("bins", bins)
}

/// All disks, each before those that it is made of.
fn disk_list(disks: &[Disk<'_>]) -> Vec<Object> {
    disks.iter().flat_map(|disk| std::iter::once(self::disk(disk)).chain(disk_list(&disk.members))).collect()
}

fn disk(disk: &Disk<'_>) -> Object {
    let DiskUse { name, ios, sectors, merges, ticks_ms, in_queue_ms, .. } = disk.used;
    Object::default()
        .with("name", name)
        .with("read_ios", ios[0])
        .with("write_ios", ios[1])
        .with("read_sectors", sectors[0])
        .with("write_sectors", sectors[1])
        .with("read_merges", merges[0])
        .with("write_merges", merges[1])
        .with("read_ticks", ticks_ms[0])
        .with("write_ticks", ticks_ms[1])
        .with("in_queue", *in_queue_ms)
        .with("util", disk.util_percent)
        .with_all(disk.aggregate.as_ref().map(aggregate).unwrap_or_default())
}

fn aggregate(counts: &DiskCounts) -> Object {
    let DiskCounts { ios, sectors, merges, ticks_ms, in_queue_ms, util_percent } = counts;
    Object::default()
        .with("aggr_read_ios", ios[0])
        .with("aggr_write_ios", ios[1])
        .with("aggr_read_sectors", sectors[0])
        .with("aggr_write_sectors", sectors[1])
        .with("aggr_read_merges", merges[0])
        // Without an s, as in fio.
        .with("aggr_write_merge", merges[1])
        .with("aggr_read_ticks", ticks_ms[0])
        .with("aggr_write_ticks", ticks_ms[1])
        .with("aggr_in_queue", *in_queue_ms)
        .with("aggr_util", *util_percent)
}
