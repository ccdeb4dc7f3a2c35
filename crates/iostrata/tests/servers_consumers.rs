//! Programs that drive fio and read its reports, with iostrata in fio's place: from their registry, unchanged.

#![cfg(target_os = "linux")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use iostrata_testkit::python::environment;
use iostrata_testkit::{Folder, alone, iostrata, skip};
use serde_json::Value;

/// A folder in which iostrata is called fio, and each document that it writes to standard output is kept.
struct Place {
    folder: Folder,
    path: String,
}

impl Place {
    fn new(name: &str, environment: &Path) -> Place {
        let folder = Folder::new(name);
        let (real, bin) = (folder.path().join("real"), folder.path().join("bin"));
        for below in [&real, &bin, &folder.path().join("kept"), &folder.path().join("t")] {
            std::fs::create_dir(below).expect("a folder");
        }
        symlink(iostrata(), real.join("fio")).expect("a link");
        let script = format!(
            "#!/bin/sh\nkept=$(mktemp -p {0}/kept)\n{0}/real/fio \"$@\" > \"$kept\"\ncode=$?\ncat \"$kept\"\n\
             exit $code\n",
            folder.path().display()
        );
        std::fs::write(bin.join("fio"), script).expect("a script");
        std::fs::set_permissions(bin.join("fio"), std::fs::Permissions::from_mode(0o755)).expect("chmod");
        let known = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}/bin:{known}", bin.display(), environment.display());
        Place { folder, path }
    }

    /// Runs a shell line that must succeed.
    fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        // Charts are drawn without a screen, and settings of whoever runs the tests do not count.
        command.args(["-c", line]).current_dir(self.folder.path()).env("PATH", &self.path).env("MPLBACKEND", "Agg");
        let output = command.env("HOME", self.folder.path()).output().expect("sh");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}\n{}", String::from_utf8_lossy(&output.stdout));
        output
    }

    /// The documents that were kept, oldest first.
    fn documents(&self) -> Vec<Value> {
        let kept = std::fs::read_dir(self.folder.path().join("kept")).expect("a folder").flatten();
        let mut files: Vec<_> =
            kept.map(|entry| (entry.metadata().unwrap().modified().unwrap(), entry.path())).collect();
        files.sort();
        let read = |path: &std::path::PathBuf| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).ok();
        files.iter().filter_map(|(_, path)| read(path)).collect()
    }
}

/// Of a file that it says is a PNG and has a picture's size.
fn assert_chart(place: &Place, name: &str) {
    let bytes = std::fs::read(place.folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{name}: {} bytes", bytes.len());
}

macro_rules! environment_or_skip {
    ($what:literal) => {
        match environment(env!("CARGO_TARGET_TMPDIR")) {
            Some(environment) => environment,
            None => skip!($what, "python3 with venv, and its registry"),
        }
    };
}

#[test]
fn bench_fio_runs_its_series_and_fio_plot_draws_all_its_charts() {
    let _alone = alone();
    let environment = environment_or_skip!("bench-fio and fio-plot");
    let place = Place::new("bench-fio", environment);
    place.shell(
        "bench-fio --target $PWD/t --type directory --size 16m --mode randread randwrite --iodepth 1 4 --numjobs 1 2 \
         --runtime 4 --time-based --loginterval 500 --engine libaio --output out --destructive --quiet",
    );
    let found = place.shell("find out -name '*.json' | sort");
    let documents: Vec<String> = String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect();
    assert_eq!(documents.len(), 8, "{documents:?}: two modes, two depths, two numbers of jobs");
    for document in &documents {
        let json: Value = serde_json::from_str(&place.folder.text(document)).expect("JSON");
        let direction = if document.contains("randread") { "read" } else { "write" };
        assert!(json["jobs"][0][direction]["iops"].as_f64() > Some(0.0), "{document}: nothing was done");
    }
    let folder = Path::new(&documents[0]).parent().expect("a folder").display().to_string();
    for (chart, what) in [
        ("lines.png", "-l -d 1 4 -n 1"),
        ("histogram.png", "-H -d 1 -n 1"),
        ("depths.png", "-L -t iops"),
        ("over-time.png", "-g -t lat bw -d 1 -n 1"),
    ] {
        place.shell(&format!("fio-plot -i {folder} -T title -r randread {what} -o {chart}"));
        assert_chart(&place, chart);
    }
}

#[test]
fn cdmpy_shows_the_rates_that_the_documents_have() {
    let _alone = alone();
    let environment = environment_or_skip!("cdmpy");
    let place = Place::new("cdmpy", environment);
    let output = place.shell("python3 -m cdm -n 1 -s 16M -a seq,8,1 -a rnd,4,2 -x 70 $PWD/t");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    // One row a line of rates: name, read, write, mix in MB/s.
    let rows: Vec<Vec<f64>> = table
        .lines()
        .filter(|line| line.starts_with("|SEQ") || line.starts_with("|RND"))
        .map(|line| line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect())
        .collect();
    assert_eq!(rows.len(), 2, "{table}");
    let documents = place.documents();
    assert_eq!(documents.len(), 2, "a document for each row");
    let rates = |document: &Value, direction: &str| -> Vec<f64> {
        let jobs = document["jobs"].as_array().expect("jobs").iter();
        jobs.filter_map(|job| job[direction]["bw_bytes"].as_f64()).map(|bytes| bytes / 1e6).collect()
    };
    for (row, document) in rows.iter().zip(&documents) {
        for (shown, direction) in row[..2].iter().zip(["read", "write"]) {
            let known = rates(document, direction);
            assert!(
                known.iter().any(|rate| (rate - shown).abs() < 0.011),
                "{direction} {shown}, of {known:?}: {table}"
            );
        }
    }
}

#[test]
fn auto_fio_finds_its_best_block_size_among_our_rates() {
    let _alone = alone();
    let environment = environment_or_skip!("auto-fio");
    let place = Place::new("auto-fio", environment);
    let output = place.shell("auto-fio --backend fio --file-size 16777216 --json $PWD/t");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let shown: Vec<f64> = told["samples"]
        .as_array()
        .expect("samples")
        .iter()
        .map(|row| row["throughput_mbps"].as_f64().unwrap())
        .collect();
    let known: Vec<f64> =
        place.documents().iter().map(|run| run["jobs"][0]["read"]["bw"].as_f64().unwrap() / 1024.0).collect();
    assert!(!shown.is_empty() && shown.len() == known.len(), "{shown:?}, {known:?}");
    for rate in &shown {
        assert!(known.iter().any(|own| (own - rate).abs() < 0.011), "{rate} of {known:?}");
    }
}

#[test]
fn the_line_of_yabs_finds_its_fields() {
    let _alone = alone();
    let environment = environment_or_skip!("yabs");
    let place = Place::new("yabs", environment);
    let output = place.shell(
        "fio --name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 \
         --size=16M --runtime=2 --gtod_reduce=1 --direct=1 --filename=t/test.fio --group_reporting --minimal | \
         grep rand_rw_4k | \
         awk -F';' '{print NF, $7, $8, $48, $49}'",
    );
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields: Vec<u64> = line.split_whitespace().map(|field| field.parse().expect("a number")).collect();
    let [columns, read_kib, read_iops, write_kib, write_iops] = fields[..] else { panic!("{line}") };
    assert!(columns >= 121, "{line}");
    for (kib, iops) in [(read_kib, read_iops), (write_kib, write_iops)] {
        assert!(iops > 0 && kib.abs_diff(4 * iops) <= 4, "4 KiB each: {line}");
    }
}
