//! Public reports about documents, errors, exit codes and claims that fool: what happens here in their place.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Output;

use iostrata_testkit::{Folder, Loop, iostrata, is_root, must, run, which};
use serde_json::Value;

/// Runs the program on these words in a folder.
fn told(folder: &Folder, words: &str) -> Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    run(iostrata(), &words, folder.path())
}

/// The same with JSON on standard output, which must be one document and nothing else.
fn document(folder: &Folder, words: &str) -> (Output, Value) {
    let output = told(folder, &format!("{words} --output-format=json"));
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{words}: {error}: {}{}", said(&output.stdout), said(&output.stderr)));
    (output, document)
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The sentences of the notes with this code.
fn notes(document: &Value, code: &str) -> Vec<String> {
    let list = |key: &str| document["iostrata"][key].as_array().cloned().unwrap_or_default();
    let all = [list("notes"), list("warnings")].concat();
    let of_code = all.iter().filter(|note| note["code"] == code);
    of_code.filter_map(|note| note["text"].as_str().map(str::to_owned)).collect()
}

/// The text of an I/O error stands in the JSON file before the document. Here the file holds one document, the error is
/// in it and on standard error, and the exit code tells of it.
#[test]
fn bug_b01() {
    let folder = Folder::new("reports");
    let output =
        told(&folder, "--name=t --filename=/dev/full --rw=write --size=1M --output-format=json --output=o.json");
    let document: Value = serde_json::from_slice(&std::fs::read(folder.path().join("o.json")).unwrap()).unwrap();
    assert_eq!((output.status.code(), document["jobs"][0]["error"].as_i64()), (Some(1), Some(28)));
    assert!(output.stdout.is_empty() && said(&output.stderr).contains("No space left"), "{}", said(&output.stderr));
}

/// With `--status-interval` the JSON is several documents in one file, which no parser takes. Here the output's file
/// holds one; each report before it is a line of a file of its own, whole and of one moment.
#[test]
fn bug_b03() {
    let folder = Folder::new("reports");
    let words = "--name=t --ioengine=null --size=1G --rate=50M --time_based --runtime=1300ms --status-interval=300ms";
    let output = told(&folder, &format!("{words} --output-format=json+ --output=o.json"));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let ios = |document: &Value| {
        let read = &document["jobs"][0]["read"];
        let bins = read["clat_ns"]["bins"].as_object().map_or(0, |bins| bins.values().filter_map(Value::as_u64).sum());
        assert_eq!(read["total_ios"], bins, "a snapshot is of one moment");
        bins
    };
    let end = ios(&serde_json::from_str(&read("o.json")).unwrap());
    let lines = read("o.json.status.jsonl");
    let seen: Vec<u64> = lines.lines().map(|line| ios(&serde_json::from_str(line).unwrap())).collect();
    assert!(seen.len() >= 3 && seen.is_sorted() && seen.iter().all(|ios| *ios <= end), "{seen:?} of {end}");

    let (_, standard) = document(&folder, words);
    assert_eq!(notes(&standard, "status-lines").len(), 1, "without a file for them it is said");
    let output = told(&folder, &format!("{words} --output-format=json --status-lines=s.jsonl"));
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok() && read("s.jsonl").lines().count() >= 3);
}

/// Terse lines have no header. Here there is one on request, with a name for each field, and never else.
#[test]
fn bug_b28() {
    let folder = Folder::new("reports");
    for version in 2..=5 {
        let words = format!("--name=t --ioengine=sim --size=64k --minimal --terse-version={version}");
        let plain = said(&told(&folder, &words).stdout);
        let headed = said(&told(&folder, &format!("{words} --terse-header")).stdout);
        let (header, rest) = headed.split_once('\n').unwrap();
        let names: Vec<&str> = header.split(';').collect();
        assert!(rest == plain && plain.lines().count() == 1, "{headed}");
        assert_eq!(names.len(), plain.split(';').count());
        let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
        let fields: Vec<&str> = plain.split(';').collect();
        assert_eq!((fields[at("jobname")], fields[at("read_kb")], fields[at("iodepth_1")]), ("t", "64", "100.0%"));
    }
}

/// A line about an option that was adjusted comes before the JSON. Here it is a note in the document, and standard
/// error stays empty, under either name.
#[test]
fn bug_b04() {
    let folder = Folder::new("reports");
    let as_fio = folder.path().join("fio");
    std::os::unix::fs::symlink(iostrata(), &as_fio).unwrap();
    let adjusted = ["--ioengine=sync --iodepth=8 --rw=randwrite", "--rw=read --rwmixread=70 --ioengine=null"];
    for (words, code) in adjusted.iter().zip(["depth-lowered", "warning"]) {
        for program in [Path::new(iostrata()), &as_fio] {
            let words = format!("--name=t --filename=f --size=64k {words} --output-format=json+");
            let words: Vec<&str> = words.split_whitespace().collect();
            let output = run(program, &words, folder.path());
            let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
            assert_eq!((output.status.code(), said(&output.stderr)), (Some(0), String::new()), "{words:?}");
            assert_eq!(notes(&document, code).len(), 1, "{words:?}: {}", document["iostrata"]);
        }
    }
}

/// lat_percentiles=1 counts in the text and not in JSON. Here all formats show the same percentiles of the same kind.
#[test]
fn bug_b29() {
    let words = "--name=t --ioengine=sim --size=4m --rw=randread --lat_percentiles=1 --clat_percentiles=0";
    let folder = Folder::new("reports");
    let read = &document(&folder, words).1["jobs"][0]["read"];
    assert_eq!((read["clat_ns"].get("percentile"), read["slat_ns"].get("percentile")), (None, None));
    let text = said(&told(&folder, words).stdout);
    assert!(text.contains("    lat percentiles (usec):") && !text.contains("clat percentiles"), "{text}");
    let terse = said(&told(&folder, &format!("{words} --output-format=terse")).stdout);
    for (percent, ns) in read["lat_ns"]["percentile"].as_object().unwrap() {
        let ns = ns.as_u64().unwrap();
        assert!(terse.contains(&format!(";{percent}%={};", ns / 1000)), "{percent}, {ns}: {terse}");
        // The text rounds up.
        let shown = format!("{:.2}th=[{:>5}]", percent.parse::<f64>().unwrap(), ns.div_ceil(1000));
        assert!(text.contains(&shown), "{shown}: {text}");
    }
}

/// Of jobs reported as one, mean and bins do not fit those of the single jobs. Here merged bins are their sum, and the
/// merged mean is the mean of all I/Os.
#[test]
fn bug_b30() {
    let words = "--name=t --ioengine=sim --size=1m --rw=randrw --numjobs=4 --output-format=json+";
    let clats = |more: &str| -> Vec<Value> {
        let output = told(&Folder::new("reports"), &format!("{words} {more}"));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["jobs"].as_array().unwrap().iter().map(|job| job["write"]["clat_ns"].clone()).collect()
    };
    let (single, merged) = (clats(""), clats("--group_reporting"));
    assert_eq!((single.len(), merged.len()), (4, 1));
    let number = |clat: &Value, key: &str| clat[key].as_f64().unwrap();
    let all = single.iter().map(|clat| number(clat, "N")).sum::<f64>();
    assert_eq!(number(&merged[0], "N"), all);
    let mean = single.iter().map(|clat| number(clat, "mean") * number(clat, "N")).sum::<f64>() / all;
    assert!((number(&merged[0], "mean") - mean).abs() < 0.01, "{mean}: {}", merged[0]["mean"]);
    let mut bins = std::collections::BTreeMap::new();
    for (bin, count) in single.iter().flat_map(|clat| clat["bins"].as_object().unwrap()) {
        *bins.entry(bin.clone()).or_insert(0) += count.as_u64().unwrap();
    }
    let merged_bins = merged[0]["bins"].as_object().unwrap();
    assert_eq!(merged_bins.len(), bins.len());
    assert!(merged_bins.iter().all(|(bin, count)| bins[bin] == count.as_u64().unwrap()), "{merged_bins:?}");
    let extreme = |key: &str, pick: fn(f64, f64) -> f64| single.iter().map(|c| number(c, key)).reduce(pick).unwrap();
    assert_eq!(number(&merged[0], "min"), extreme("min", f64::min));
    assert_eq!(number(&merged[0], "max"), extreme("max", f64::max));
}

/// Jobs of a group that have no barrier between them disappear under the first one's name. Here a note names them.
#[test]
fn bug_b31() {
    let words = "--ioengine=null --size=4M --rw=randread --group_reporting --name=test1 --stonewall --name=test2 \
                 --stonewall --name=test3 --bs=256k";
    let (_, document) = document(&Folder::new("reports"), words);
    assert_eq!(document["jobs"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["jobs"][1]["read"]["io_bytes"], 8 << 20);
    let merged = notes(&document, "jobs-merged");
    assert!(merged.len() == 1 && merged[0].contains("test2, test3"), "{merged:?}");
}

/// Options imply an order of jobs that nobody asked for. Here jobs run side by side unless a barrier is asked for:
/// both have the run's whole time, whatever `exitall_on_error` says.
#[test]
fn bug_b32() {
    let words = "--ioengine=sim --size=64M --time_based --runtime=1 --exitall_on_error --name=a --name=b";
    let (_, document) = document(&Folder::new("reports"), words);
    for job in 0..2 {
        let runtime = document["jobs"][job]["job_runtime"].as_u64().unwrap();
        assert!((1000..=1002).contains(&runtime), "{runtime} ms");
    }
    assert_eq!(document["jobs"][0]["elapsed"], 1, "one after the other they would take 2 s");
}

/// The run time of jobs that are reported as one is larger than what was asked for. Here it is the longest member's.
#[test]
fn bug_b33() {
    let words = "--name=t --ioengine=sim --size=64M --time_based --runtime=300ms --numjobs=4 --group_reporting";
    let (_, document) = document(&Folder::new("reports"), words);
    let runtime = document["jobs"][0]["read"]["runtime"].as_u64().unwrap();
    assert!((300..=302).contains(&runtime), "{runtime} ms: what is in flight at the end is waited for");
}

/// With fsync the shares of the depths add up to more than 100%. Here they are shares of the same whole.
#[test]
fn bug_b34() {
    let (_, document) = document(&Folder::new("reports"), "--name=t --filename=f --rw=write --size=4M --fsync=8");
    let shares = document["jobs"][0]["iodepth_level"].as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 100.0).abs() < 0.01, "{sum}");
}

/// Percentiles end at 17.1 s, whatever the latencies were. Here they go as far as the latencies do.
#[test]
fn bug_b35() {
    let words = "--name=t --ioengine=sim --size=40k --bs=4k --sim_stall_every=2 --sim_stall=20s";
    let (_, document) = document(&Folder::new("reports"), words);
    let clat = &document["jobs"][0]["read"]["clat_ns"];
    let (highest, max) = (clat["percentile"]["99.990000"].as_f64().unwrap(), clat["max"].as_f64().unwrap());
    assert!(max >= 20e9 && highest >= max * 0.98, "{highest} of {max}");
}

/// I/Os that failed are counted in the rate, with no bytes. Here they are among those issued only, and told apart.
#[test]
fn bug_b37() {
    let words = "--name=t --filename=/dev/full --rw=write --bs=4k --size=64k --ignore_error=,ENOSPC --save=s.json";
    let folder = Folder::new("reports");
    let (output, document) = document(&folder, words);
    let job = &document["jobs"][0];
    assert_eq!((output.status.code(), job["write"]["iops"].as_f64()), (Some(0), Some(0.0)));
    assert_eq!((job["total_err"].as_u64(), job["first_error"].as_i64()), (Some(16), Some(28)));
    let saved: Value = serde_json::from_slice(&std::fs::read(folder.path().join("s.json")).unwrap()).unwrap();
    assert_eq!(saved["workers"][0]["write"]["failed_ios"], 16);
}

/// A steady state that has no data yet makes "-nan" of its slope, and the document is no JSON. Here numbers are
/// numbers.
#[test]
fn bug_b38a() {
    for criterion in ["iops_slope:0.3%", "iops:0.3%", "bw_slope:1%", "lat_slope:0.3%"] {
        // Nothing yet within the ramp; one sample; two.
        for runtime in ["200ms", "1400ms", "2400ms"] {
            let words = format!(
                "--name=s --ioengine=sim --size=16M --rw=randwrite --rate_iops=500 --numjobs=2 --group_reporting \
                 --time_based --runtime={runtime} --steadystate={criterion} --steadystate_duration=1 \
                 --steadystate_ramp_time=300ms"
            );
            let (output, document) = document(&Folder::new("reports"), &words);
            let text = said(&output.stdout).to_lowercase();
            assert!(!text.contains("nan") && !text.contains(": inf") && !text.contains(": -inf"), "{words}: {text}");
            let steady = &document["jobs"][0]["steadystate"];
            assert!(steady["criterion"].is_string(), "{words}: {steady}");
        }
    }
}

/// Where --output-format stands on the line decides whether a banner comes before the document. Here it does not.
#[test]
fn bug_b38b() {
    let words = "--name=a --ioengine=null --size=64k --name=b --ioengine=null --size=64k";
    assert_eq!(document(&Folder::new("reports"), words).1["jobs"].as_array().map(Vec::len), Some(2));
}

/// Programs take any word on standard error for a failure. Here a good run with JSON says nothing there; what there is
/// to say is in the document.
#[test]
fn bug_b38c() {
    let words = "--name=t --ioengine=null --size=64k --rw=read --rwmixread=70";
    let (output, document) = document(&Folder::new("reports"), words);
    assert!(output.stderr.is_empty(), "{}", said(&output.stderr));
    assert!(notes(&document, "warning").iter().any(|note| note.contains("rwmixread")));
}

/// What kept a job from starting stands in the JSON file before the document. Here it is on standard error, and in the
/// document.
#[test]
fn bug_b85() {
    let folder = Folder::new("reports");
    std::fs::write(folder.path().join("j.fio"), "[j]\nioengine=null\nsize=100%%\nfilename=f\n").unwrap();
    let output = told(&folder, "j.fio --output-format=json --output=o.json");
    let document: Value = serde_json::from_slice(&std::fs::read(folder.path().join("o.json")).unwrap()).unwrap();
    assert_eq!((output.status.code(), document["jobs"][0]["error"].as_i64()), (Some(1), Some(22)));
    assert!(output.stdout.is_empty() && said(&output.stderr).contains("need to specify size"), "{output:?}");
}

/// A depth has no effect with an engine that does one I/O at a time, and nobody says so. Here a note does.
#[test]
fn bug_b123() {
    let words = "--name=t --ioengine=sync --iodepth=32 --filename=f --size=1M --rw=read";
    let folder = Folder::new("reports");
    let lowered = notes(&document(&folder, words).1, "depth-lowered");
    assert!(lowered.len() == 1 && lowered[0].contains("iodepth=32 was lowered to 1"), "{lowered:?}");
    let text = said(&told(&folder, words).stdout);
    assert!(text.contains("lowered to 1"), "{text}");
}

/// Buffered libaio shows a depth that it does not have. Here a note says that submitting waits.
#[test]
fn bug_b124() {
    let words = "--name=t --ioengine=libaio --iodepth=32 --direct=0 --filename=f --size=1M --rw=write";
    let folder = Folder::new("reports");
    assert_eq!(notes(&document(&folder, words).1, "buffered-queue").len(), 1);
    assert_eq!(notes(&document(&folder, &words.replace("direct=0", "direct=1")).1, "buffered-queue").len(), 0);
}

/// A direct write that does not fit the device says "invalid argument". Here it is told what is needed and given.
#[test]
fn bug_b125() {
    let (output, document) =
        document(&Folder::new("reports"), "--name=t --filename=f --direct=1 --rw=write --size=1M --bs=100");
    assert_eq!((output.status.code(), document["jobs"][0]["error"].as_i64()), (Some(1), Some(22)));
    let text = said(&output.stderr);
    assert!(text.contains("length 100") && text.contains("in multiples of 4"), "what was given: {text}");
    assert!(text.contains("direct I/O here needs offset alignment"), "what is needed: {text}");
}

/// A misspelt device makes a file under /dev. Here nothing is made there.
#[test]
fn bug_b126() {
    if !is_root() {
        iostrata_testkit::skip!("making a file under /dev", "run as root: others cannot in any case");
    }
    let name = "/dev/iostrata-no-such-disk";
    let output = told(&Folder::new("reports"), &format!("--name=t --filename={name} --rw=write --size=1M"));
    assert_eq!(output.status.code(), Some(1));
    assert!(!Path::new(name).exists());
    assert!(said(&output.stderr).contains(name), "{}", said(&output.stderr));
}

/// Failures end in exit code 0. Here it is 0 only if no job failed.
#[test]
fn bug_b131() {
    let folder = Folder::new("reports");
    let full = "--size=64k --rw=write --filename=/dev/full";
    for (words, code) in [
        (format!("{full} --name=a"), 1),
        (format!("{full} --name=a --numjobs=3"), 3),
        (format!("{full} --name=a --numjobs=300"), 255),
        (format!("{full} --name=a --name=b --ioengine=null"), 1),
        ("--name=a --size=64k --ioengine=null".into(), 0),
        ("--name=a --size=64k --filename=/proc/version --rw=write".into(), 1),
    ] {
        assert_eq!(told(&folder, &words).status.code(), Some(code), "{words}");
    }
}

/// A disk with a file system on it is overwritten at once. Here a write is refused until its device is named, and says
/// what is on it; `--readonly` refuses any job that writes.
#[test]
fn bug_b133() {
    let folder = Folder::new("reports");
    let forbidden = told(&folder, "--readonly --name=t --filename=f --size=64k --rw=randtrim");
    assert_eq!(forbidden.status.code(), Some(1));
    assert!(said(&forbidden.stderr).contains("--readonly forbids it"), "{}", said(&forbidden.stderr));
    if !is_root() || which("mkfs.ext4").is_none() {
        iostrata_testkit::skip!("a disk with a file system", "run as root, with mkfs.ext4");
    }
    let disk = Loop::new("b133", 16);
    must("mkfs.ext4", &["-q", "-L", "precious", &disk.device]);
    let before = std::fs::read(&disk.device).unwrap();
    for rw in ["write", "randrw", "randtrim"] {
        let output = told(&folder, &format!("--name=t --filename={} --rw={rw} --size=1M", disk.device));
        assert_eq!(output.status.code(), Some(1), "{rw}");
        let text = said(&output.stderr);
        assert!(text.contains("precious") && text.contains("--allow-destroy="), "{rw}: {text}");
    }
    assert!(std::fs::read(&disk.device).unwrap() == before, "nothing was written");
    let read = told(&folder, &format!("--name=t --filename={} --rw=read --size=1M", disk.device));
    assert_eq!(read.status.code(), Some(0), "{}", said(&read.stderr));
}

/// A queue that the kernel has no room for says EAGAIN. Here the limit is named.
#[test]
fn bug_b134() {
    let most: u32 = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
    if most > 200_000 {
        iostrata_testkit::skip!(
            "a queue beyond the kernel's limit",
            format!("fs.aio-max-nr is {most}, too many to use")
        );
    }
    let words = format!("--name=t --ioengine=libaio --filename=f --size=64k --bs=512 --iodepth={}", most + 1);
    let (output, document) = document(&Folder::new("reports"), &words);
    assert_eq!((output.status.code(), document["jobs"][0]["error"] != 0), (Some(1), true));
    assert!(said(&output.stderr).contains("fs.aio-max-nr"), "{}", said(&output.stderr));
}

/// Programs that read a report stumble over units that change with the size of the number. Here as in fio those for
/// programs have one unit: bytes per second in JSON, KiB per second in terse lines.
#[test]
fn bug_b137() {
    let folder = Folder::new("reports");
    for rate in [1024u64, 1 << 20, 1 << 30] {
        let bs = rate.min(1 << 20) / 4;
        let words =
            format!("--name=t --ioengine=sim --sim_bandwidth=0 --bs={bs} --size={rate} --rate={rate} --iodepth=64");
        let bw_bytes = document(&folder, &words).1["jobs"][0]["read"]["bw_bytes"].as_u64().unwrap();
        assert!(bw_bytes.abs_diff(rate) < rate / 2, "{bw_bytes} bytes/s at a rate of {rate}");
        let terse = said(&told(&folder, &format!("{words} --minimal")).stdout);
        assert_eq!(terse.split(';').nth(6), Some((bw_bytes / 1024).to_string().as_str()), "{terse}");
    }
}

/// A mix in jobs that do not mix has no effect, and nobody says so. Here a warning does.
#[test]
fn bug_b132() {
    let words = "--ioengine=null --size=64k --name=w --rw=randwrite --rwmixwrite=25 --name=r --rw=randread \
                 --rwmixread=75";
    let (_, document) = document(&Folder::new("reports"), words);
    let warnings = notes(&document, "warning");
    for option in ["rwmixwrite has no effect", "rwmixread has no effect"] {
        assert!(warnings.iter().any(|warning| warning.contains(option)), "{warnings:?}");
    }
}

/// A folder that is not there is made without a word. Here a note says so.
#[test]
fn bug_b138() {
    let folder = Folder::new("reports");
    let words = "--name=t --filename=nosuchdir/f --rw=write --size=1M";
    let made = notes(&document(&folder, words).1, "folder-made");
    assert!(made.len() == 1 && made[0].contains("nosuchdir"), "{made:?}");
    assert!(notes(&document(&folder, words).1, "folder-made").is_empty(), "now it is there");
}
