//! What 24 programs read of fio's reports: each key, field, column and line is there, of the right type.
//!
//! The table is held against samples of fio 3.42 first, so that it cannot ask for what fio does not write.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use iostrata_testkit::{Folder, iostrata, run, skip};
use serde_json::Value;

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A number without a point.
    Whole,
    /// Any number.
    Number,
    /// A text.
    Text,
    /// Keys that all have numbers.
    Numbers,
    /// Keys that all have texts.
    Texts,
    /// A list.
    List,
}

use Kind::{List, Number, Numbers, Text, Texts, Whole};

impl Kind {
    fn fits(self, value: &Value) -> bool {
        let all = |fits: fn(&Value) -> bool| value.as_object().is_some_and(|map| map.values().all(fits));
        match self {
            Whole => value.is_u64() || value.is_i64(),
            Number => value.is_number(),
            Text => value.is_string(),
            Numbers => all(Value::is_number),
            Texts => all(Value::is_string),
            List => value.is_array(),
        }
    }
}

/// Paths from the top, keys with `/` between; `*` is each entry of a list, `DIR` each of read, write and trim.
type Keys = &'static [(&'static str, Kind)];

const SAMPLES: Keys = &[
    ("jobs/*/DIR/bw_min", Whole),
    ("jobs/*/DIR/bw_max", Whole),
    ("jobs/*/DIR/bw_agg", Number),
    ("jobs/*/DIR/bw_mean", Number),
    ("jobs/*/DIR/bw_dev", Number),
    ("jobs/*/DIR/bw_samples", Whole),
    ("jobs/*/DIR/iops_min", Whole),
    ("jobs/*/DIR/iops_max", Whole),
    ("jobs/*/DIR/iops_mean", Number),
    ("jobs/*/DIR/iops_stddev", Number),
    ("jobs/*/DIR/iops_samples", Whole),
];

const RATES: Keys = &[
    ("jobs/*/jobname", Text),
    ("jobs/*/DIR/io_bytes", Whole),
    ("jobs/*/DIR/bw_bytes", Whole),
    ("jobs/*/DIR/bw", Whole),
    ("jobs/*/DIR/iops", Number),
    ("jobs/*/DIR/total_ios", Whole),
];

/// Who reads JSON, and what besides the rates that all read.
const JSON: &[(&str, Keys)] = &[
    (
        "kubestr",
        &[
            ("fio version", Text),
            ("timestamp", Whole),
            ("timestamp_ms", Whole),
            ("time", Text),
            ("global options", Texts),
            ("jobs", List),
            ("jobs/*/groupid", Whole),
            ("jobs/*/error", Whole),
            ("jobs/*/eta", Whole),
            ("jobs/*/elapsed", Whole),
            ("jobs/*/job options", Texts),
            ("jobs/*/DIR/io_kbytes", Whole),
            ("jobs/*/DIR/runtime", Whole),
            ("jobs/*/DIR/short_ios", Whole),
            ("jobs/*/DIR/drop_ios", Whole),
            ("jobs/*/DIR/slat_ns/min", Whole),
            ("jobs/*/DIR/slat_ns/max", Whole),
            ("jobs/*/DIR/slat_ns/mean", Number),
            ("jobs/*/DIR/slat_ns/stddev", Number),
            ("jobs/*/DIR/slat_ns/N", Whole),
            ("jobs/*/sync/total_ios", Whole),
            ("jobs/*/sync/lat_ns/N", Whole),
            ("jobs/*/job_runtime", Whole),
            ("jobs/*/usr_cpu", Number),
            ("jobs/*/sys_cpu", Number),
            ("jobs/*/ctx", Whole),
            ("jobs/*/majf", Whole),
            ("jobs/*/minf", Whole),
            ("jobs/*/iodepth_level", Numbers),
            ("jobs/*/iodepth_level/>=64", Number),
            ("jobs/*/iodepth_submit", Numbers),
            ("jobs/*/iodepth_complete", Numbers),
            ("jobs/*/latency_ns", Numbers),
            ("jobs/*/latency_us", Numbers),
            ("jobs/*/latency_ms", Numbers),
            ("jobs/*/latency_depth", Whole),
            ("jobs/*/latency_target", Whole),
            ("jobs/*/latency_percentile", Number),
            ("jobs/*/latency_window", Whole),
            ("disk_util/*/name", Text),
            ("disk_util/*/read_ios", Whole),
            ("disk_util/*/write_ios", Whole),
            ("disk_util/*/read_merges", Whole),
            ("disk_util/*/write_merges", Whole),
            ("disk_util/*/read_ticks", Whole),
            ("disk_util/*/write_ticks", Whole),
            ("disk_util/*/in_queue", Whole),
            ("disk_util/*/util", Number),
        ],
    ),
    ("kubestr, samples", SAMPLES),
    ("kbench", &[("jobs/*/read/lat_ns/mean", Number), ("cpu_idleness/system", Number)]),
    (
        "PerfKitBenchmarker",
        &[
            ("jobs/*/read/clat_ns/min", Whole),
            ("jobs/*/read/clat_ns/max", Whole),
            ("jobs/*/read/clat_ns/mean", Number),
            ("jobs/*/read/clat_ns/stddev", Number),
            ("jobs/*/read/clat_ns/percentile", Numbers),
        ],
    ),
    (
        "VirtualClient",
        &[
            ("jobs/*/latency_us/2", Number),
            ("jobs/*/latency_us/1000", Number),
            ("jobs/*/latency_ms/2000", Number),
            ("jobs/*/latency_ms/>=2000", Number),
            ("jobs/*/write/clat_ns/percentile/50.000000", Whole),
            ("jobs/*/write/clat_ns/percentile/70.000000", Whole),
            ("jobs/*/write/clat_ns/percentile/90.000000", Whole),
            ("jobs/*/write/clat_ns/percentile/99.000000", Whole),
            ("jobs/*/write/clat_ns/percentile/99.990000", Whole),
        ],
    ),
    ("FioSynth", &[("jobs/*/trim/clat_ns/mean", Number), ("jobs/*/trim/clat_ns/max", Whole), ("fio version", Text)]),
    (
        "gcsfuse",
        &[
            ("timestamp_ms", Whole),
            ("jobs/*/job_start", Whole),
            ("jobs/*/read/lat_ns/min", Whole),
            ("jobs/*/read/lat_ns/max", Whole),
        ],
    ),
    ("diskplorer", &[("jobs/*/read/clat_ns/percentile/99.900000", Whole)]),
    ("effio", &[("jobs/*/DIR/runtime", Whole)]),
    ("fio-analyzer", &[("global options", Texts), ("jobs/*/job options", Texts)]),
    ("ceph cbt", &[("jobs/*/DIR/lat_ns/mean", Number), ("jobs/*/DIR/clat_ns/mean", Number)]),
    ("cloudharmony", &[("jobs/*/error", Whole)]),
    ("cijoe-pkg-fio", &[("jobs", List)]),
    ("KDiskMark", &[("jobs/*/read/lat_ns/mean", Number), ("jobs/*/write/lat_ns/mean", Number)]),
    ("lkp-tests", &[("jobs/*/latency_target_ns", Whole), ("jobs/*/latency_window_us", Whole)]),
    ("jq lines", &[("jobs/*/write/bw", Whole), ("jobs/*/write/iops", Number)]),
];

/// The values at a path.
fn at<'a>(document: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut values = vec![document];
    for key in path.split('/') {
        values = values
            .into_iter()
            .flat_map(|value| match key {
                "*" => value.as_array().map(|list| list.iter().collect()).unwrap_or_default(),
                "DIR" => ["read", "write", "trim"].iter().map(|direction| &value[direction]).collect(),
                key => vec![&value[key]],
            })
            .collect();
    }
    values
}

/// What the table wants and a document does not have.
fn lacking(document: &Value, without: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (who, keys) in JSON {
        for (path, kind) in RATES.iter().chain(*keys).filter(|(path, _)| !without.contains(path)) {
            let values = at(document, path);
            if values.is_empty() || !values.iter().all(|value| kind.fits(value)) {
                found.push(format!("{who}: {path} is no {kind:?}: {values:?}"));
            }
        }
    }
    found
}

fn samples() -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("IOSTRATA_SHARED")?).join("reference/fio-samples"))
}

/// A run with something of everything that the consumers read.
const JOB: &[&str] = &[
    "--name=rrw",
    "--ioengine=libaio",
    "--direct=1",
    "--rw=randrw",
    "--bs=4k,8k",
    "--size=8m",
    "--iodepth=8",
    "--fsync=64",
    "--runtime=1",
    "--time_based",
    "--idle-prof=percpu",
];

fn report(folder: &Folder, format: &str) -> String {
    let format = format!("--output-format={format}");
    // What stands before the first job holds for all: the document has global options.
    let arguments = [&["--numjobs=1", "--bwavgtime=250", &format][..], JOB].concat();
    let output = run(iostrata(), &arguments, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_key_that_a_program_reads_is_there() {
    let folder = Folder::new("consumers-json");
    for format in ["json", "json+"] {
        let ours: Value = serde_json::from_str(&report(&folder, format)).expect("JSON");
        assert_eq!(lacking(&ours, &[]), Vec::<String>::new(), "{format}");
    }
}

#[test]
fn the_table_asks_for_nothing_that_fio_does_not_write() {
    let Some(samples) = samples() else {
        skip!("samples of fio 3.42", "set IOSTRATA_SHARED to the folder that holds reference/fio-samples");
    };
    for name in ["json_3.42.out", "jsonplus_3.42.out"] {
        let text = std::fs::read_to_string(samples.join(name)).expect("a sample");
        let fio: Value = serde_json::from_str(&text[text.find('{').expect("a document")..]).expect("JSON");
        // It ran without --idle-prof.
        assert_eq!(lacking(&fio, &["cpu_idleness/system"]), Vec::<String>::new(), "{name}");
    }
}

/// Zero-based fields of a terse line that hold numbers, by who reads them: version, least number of fields, fields.
const TERSE: &[(&str, u32, usize, &[usize])] = &[
    ("fiovisualizer", 3, 129, &[6, 7, 15, 47, 48, 56]),
    ("blktests", 4, 141, &[5, 6, 7, 46, 47, 48, 87, 88, 89, 139, 140]),
    ("mmtests", 3, 121, &[5, 6, 7, 8, 46, 47, 48, 49]),
];

fn assert_terse(who: &str, line: &str, least: usize, fields: &[usize]) {
    let cells: Vec<&str> = line.trim_end().split(';').collect();
    assert!(cells.len() >= least, "{who}: {} fields", cells.len());
    for &field in fields {
        assert!(
            cells[field].trim_end_matches('%').parse::<f64>().is_ok(),
            "{who}: field {field} is `{}`",
            cells[field]
        );
    }
}

#[test]
fn every_field_of_a_terse_line_that_a_program_reads_is_a_number() {
    let folder = Folder::new("consumers-terse");
    for (who, version, least, fields) in TERSE {
        let version_word = format!("--terse-version={version}");
        let arguments = [&["--output-format=terse", "--eta=never", &version_word][..], JOB].concat();
        let output = run(iostrata(), &arguments, folder.path());
        assert_terse(who, &String::from_utf8_lossy(&output.stdout), *least, fields);
        let Some(samples) = samples() else { continue };
        let sample = std::fs::read_to_string(samples.join(format!("terse_v{version}_3.42.out"))).expect("a sample");
        let line = sample.lines().find(|line| line.starts_with(&format!("{version};"))).expect("a line");
        assert_terse(&format!("{who}, fio itself"), line, *least, fields);
    }
}

/// What programs look for in the normal report: one line has all of these, in this order.
const LINES: &[(&str, &[&str])] = &[
    ("dbench: a row", &["read", ": IOPS=", "BW=", "iB/s"]),
    ("dbench: latency", &[" lat (", "avg="]),
    ("dbench: the group", &["READ:", "bw=", "io="]),
    ("Phoronix: rates", &["write: IOPS=", ", BW=", "iB/s"]),
    ("etcd: the block of syncs", &["fsync/fdatasync/sync_file_range"]),
    ("etcd: their percentiles", &["sync percentiles (", "):"]),
    ("etcd: one of them", &["| 99.00th=["]),
    ("zfs scripts: the group", &["WRITE: bw=", "iB/s"]),
    ("zfs scripts: percentiles", &["     | 70.00th=[", "95.00th=["]),
];

fn has_line(text: &str, parts: &[&str]) -> bool {
    let in_order = |line: &str| {
        let mut rest = line;
        parts.iter().all(|part| rest.find(part).map(|at| rest = &rest[at + part.len()..]).is_some())
    };
    text.lines().any(in_order)
}

#[test]
fn every_line_of_the_normal_report_that_a_program_looks_for_is_there() {
    let folder = Folder::new("consumers-text");
    let text = report(&folder, "normal");
    let sample = samples().map(|samples| std::fs::read_to_string(samples.join("normal_3.42.out")).expect("a sample"));
    for (who, parts) in LINES {
        assert!(has_line(&text, parts), "{who}: no line with {parts:?} in\n{text}");
        if let Some(sample) = &sample {
            assert!(has_line(sample, parts), "{who}: fio has no line with {parts:?}");
        }
    }
}

#[test]
fn logs_have_the_columns_that_programs_split_them_into() {
    // fio-plot, snafu and mmtests split at ", "; pbench and PerfKitBenchmarker read the histograms. (What snafu reads
    // of `client_stats` comes from `fio --client`, which iostrata refuses, with what to use in its place.)
    let folder = Folder::new("consumers-logs");
    let logs = ["bw", "iops", "lat"].map(|kind| format!("--write_{kind}_log=l"));
    let more = ["--log_avg_msec=100", "--write_hist_log=l", "--log_hist_msec=100", "--output=/dev/null"];
    let arguments = [JOB, &logs.each_ref().map(String::as_str)[..], &more].concat();
    let output = run(iostrata(), &arguments, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sample = samples().map(|samples| samples.join("logs"));
    for (ours, theirs, columns) in [
        ("l_bw.1.log", "avg_bw.1.log", 5),
        ("l_iops.1.log", "avg_iops.1.log", 5),
        ("l_lat.1.log", "avg_lat.1.log", 5),
        ("l_slat.1.log", "avg_slat.1.log", 5),
        ("l_clat.1.log", "avg_clat.1.log", 5),
        ("l_clat_hist.1.log", "h_clat_hist.1.log", 3 + 1856),
    ] {
        let count = |text: &str| text.lines().map(|line| line.split(", ").count()).collect::<Vec<_>>();
        let own = count(&folder.text(ours));
        let fio = sample.as_ref().map(|logs| count(&std::fs::read_to_string(logs.join(theirs)).expect("a sample")));
        assert!(own.len() > 2, "{ours}: {} rows", own.len());
        // fio ends a row of a histogram with a comma.
        let fits = |columns: usize, found: usize| found == columns || found == columns + 1;
        let fitting = fio.as_ref().and_then(|rows| rows.first().copied()).unwrap_or(columns);
        assert!(own.iter().all(|&found| fits(columns, found) || found == fitting), "{ours}: {own:?}, fio {fitting}");
    }
}
