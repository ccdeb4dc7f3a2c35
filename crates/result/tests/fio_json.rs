//! Every leaf of fio 3.42's JSON has a source, and the sources give what fio prints.
#![allow(clippy::print_stdout)]

use iostrata_result::derive::leaves::{FIO_JSON_LEAVES, Leaf, Scope, Source};
use iostrata_result::derive::{Direction, Kind, disks, reports};
use iostrata_result::testing::{self, run, worker};
use iostrata_result::{DirectionResult, DiskUse, HistogramBins, LatencyResult};
use iostrata_stats::histogram::bin_of;
use serde_json::Value;
use std::path::PathBuf;

/// fio's tree, in its order: names of one object on one line, `{` and `}` around what belongs to the name before, `[]`
/// behind the name of an array, `*` for keys that are not fixed.
const TREE: &str = "
fio-version timestamp timestamp_ms time global-options { * }
jobs[] {
  jobname groupid job_start error eta elapsed job-options { * }
  DIRECTION {
    io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios
    slat_ns { min max mean stddev N percentile { * } bins { * } }
    clat_ns { min max mean stddev N percentile { * } bins { * } }
    lat_ns { min max mean stddev N percentile { * } bins { * } }
    prios[] { * }
    bw_min bw_max bw_agg bw_mean bw_dev bw_samples
    iops_min iops_max iops_mean iops_stddev iops_samples
    cachehit
  }
  sync { total_ios lat_ns { min max mean stddev N percentile { * } bins { * } } }
  job_runtime usr_cpu sys_cpu ctx majf minf
  iodepth_level { 1 2 4 8 16 32 >=64 }
  iodepth_submit { 0 4 8 16 32 64 >=64 }
  iodepth_complete { 0 4 8 16 32 64 >=64 }
  latency_ns { 2 4 10 20 50 100 250 500 750 1000 }
  latency_us { 2 4 10 20 50 100 250 500 750 1000 }
  latency_ms { 2 4 10 20 50 100 250 500 750 1000 2000 >=2000 }
  total_err first_error
  latency_depth latency_target latency_target_ns latency_percentile latency_window latency_window_us
  desc block { * } steadystate { * } zone_resets
}
disk_util[] {
  name read_ios write_ios read_sectors write_sectors read_merges write_merges read_ticks write_ticks in_queue util
  aggr_read_ios aggr_write_ios aggr_read_sectors aggr_write_sectors aggr_read_merges aggr_write_merge
  aggr_read_ticks aggr_write_ticks aggr_in_queue aggr_util
}
cpu_idleness { * }
";

/// The paths of [`TREE`].
fn paths() -> Vec<String> {
    let (mut paths, mut above): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for word in TREE.split_whitespace() {
        match word {
            "{" => above.push(paths.pop().unwrap() + "."),
            "}" => drop(above.pop().unwrap()),
            // The few names with a blank in them.
            "fio-version" | "global-options" | "job-options" => {
                paths.push(above.last().cloned().unwrap_or_default() + &word.replace('-', " "));
            }
            name => paths.push(above.last().cloned().unwrap_or_default() + name),
        }
    }
    paths
}

#[test]
fn every_leaf_has_its_source_in_fios_order() {
    let table: Vec<&str> = FIO_JSON_LEAVES.iter().map(|row| row.path).collect();
    assert_eq!(table, paths());
}

/// On a run that has everything, each source gives a value or says in words where it comes from or why it is not
/// there.
#[test]
fn every_source_gives_something() {
    let mut run = testing::example();
    let member = DiskUse { name: "sda".to_owned(), window_ms: 10, busy_ms: 3, ..DiskUse::default() };
    run.disks[0].members = vec![member];
    let (reports, disks) = (reports(&run), disks(&run));
    let direction = reports[0].direction(Kind::Read);
    let scope = Scope { run: &run, report: reports.first(), direction, disk: disks.first() };
    for row in FIO_JSON_LEAVES {
        match (row.source, row.source.value(scope)) {
            (Source::Absent(words) | Source::Map(words) | Source::Rendered(words), None) => assert!(!words.is_empty()),
            (_, Some(Leaf::Real(number))) => assert!(number.is_finite(), "{}", row.path),
            (_, Some(Leaf::Whole(_) | Leaf::Text(_))) => {}
            (_, None) => panic!("{} has no value", row.path),
        }
    }
    let value = |path| FIO_JSON_LEAVES.iter().find(|row| row.path == path).unwrap().source.value(scope);
    assert_eq!(value("jobs[].DIRECTION.total_ios"), Some(Leaf::Whole(1400)));
    assert_eq!(value("jobs[].iodepth_level.8"), Some(Leaf::Real(100.0)));
    assert_eq!(value("jobs[].desc"), Some(Leaf::Text("sample randrw job".to_owned())));
    assert_eq!(value("disk_util[].aggr_util"), Some(Leaf::Real(30.0)));
}

/// Documents that fio wrote, by the end of their name; `None`, told on standard output, when there are none here.
fn samples(ends: &[&str]) -> Option<Vec<(String, Value)>> {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        println!("SKIP: samples of fio's output (set IOSTRATA_SHARED to the folder of reference data)");
        return None;
    };
    let folders = ["reference/fio-samples", "fio-samples"].map(|inner| PathBuf::from(&shared).join(inner));
    let folder = folders.iter().find(|folder| folder.is_dir()).expect("IOSTRATA_SHARED holds fio-samples");
    let read = |end: &&str| {
        let text = std::fs::read_to_string(folder.join(end)).unwrap();
        (end.to_string(), serde_json::from_str(&text).unwrap())
    };
    Some(ends.iter().map(read).collect())
}

/// All leaves of a document, in its order, with the names that the table uses.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    const OPEN: [&str; 4] = ["global options", "job options", "percentile", "bins"];
    match value {
        Value::Object(fields) if OPEN.iter().any(|open| path.ends_with(open)) => {
            found.extend((!fields.is_empty()).then(|| format!("{path}.*")));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let name = if ["read", "write", "trim", "mixed"].contains(&&**name) { "DIRECTION" } else { name };
            leaves(value, format!("{path}.{name}").trim_start_matches('.'), found);
        }),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, &format!("{path}[]"), found)),
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn real_documents_hold_no_other_leaf_and_no_other_order() {
    let Some(samples) = samples(&["json_3.42.out", "jsonplus_3.42.out"]) else { return };
    for (name, document) in samples {
        let mut found = Vec::new();
        leaves(&document, "", &mut found);
        assert!(found.len() > 150, "{name}: {} leaves", found.len());
        let mut last = 0;
        for path in found {
            let place = FIO_JSON_LEAVES.iter().position(|row| row.path == path);
            let place = place.unwrap_or_else(|| panic!("{name}: {path} is not in the table"));
            // Rows follow each other, each from its first leaf.
            assert!(place > last || path.ends_with("DIRECTION.io_bytes") || place == 0, "{name}: {path}");
            last = place;
        }
    }
}

fn histogram(bins: &Value) -> HistogramBins {
    let bins = bins.as_object().into_iter().flatten();
    let mut bins: Vec<(u16, u64)> =
        bins.map(|(value, count)| (bin_of(value.parse().unwrap()) as u16, count.as_u64().unwrap())).collect();
    bins.sort_unstable();
    HistogramBins(bins)
}

/// What fio counted, as a direction of a worker.
fn measured(row: &Value) -> DirectionResult {
    let whole = |name: &str| row[name].as_u64().unwrap();
    let clat = &row["clat_ns"];
    let mut result = DirectionResult {
        bytes: whole("io_bytes"),
        ios: whole("total_ios"),
        runtime_ns: whole("runtime") * 1_000_000,
        clat: LatencyResult { bins: histogram(&clat["bins"]), ..LatencyResult::default() },
        ..DirectionResult::default()
    };
    result.clat.moments.count = clat["N"].as_u64().unwrap();
    result.clat.moments.max = clat["max"].as_u64().unwrap();
    result
}

fn assert_same(name: &str, row: &Direction, printed: &Value) {
    assert_eq!(row.bw_bytes(), printed["bw_bytes"], "{name}");
    assert_eq!(row.bw_kib(), printed["bw"], "{name}");
    assert_eq!(row.kib(), printed["io_kbytes"], "{name}");
    let iops = printed["iops"].as_f64().unwrap();
    assert!((row.iops() - iops).abs() < 1e-6, "{name}: {} {iops}", row.iops());
    let Some(percentiles) = printed["clat_ns"]["percentile"].as_object() else { return };
    let derived = row.clat.percentiles.as_ref().unwrap();
    assert_eq!(derived.len(), percentiles.len(), "{name}");
    for (percentile, (key, value)) in derived.iter().zip(percentiles) {
        assert_eq!(&format!("{:.6}", percentile.p), key, "{name}");
        // fio shows the middle of a bin even where that is above the largest latency.
        let value = value.as_u64().unwrap().min(row.clat.max_ns());
        assert_eq!(percentile.ns, value, "{name}: {key}");
    }
}

#[test]
fn what_fio_counted_gives_what_fio_printed() {
    let Some(samples) = samples(&["jsonplus_3.42.out", "jsonplus.out"]) else { return };
    for (name, document) in samples {
        let job = &document["jobs"][0];
        let mut worker = worker("sample");
        worker.read = Some(measured(&job["read"]));
        worker.write = Some(measured(&job["write"]));
        worker.trim = Some(measured(&job["trim"]));
        let run = run(vec![worker]);
        for row in &reports(&run)[0].directions {
            assert_same(&format!("{name} {}", row.kind.name()), row, &job[row.kind.name()]);
        }
    }
}
