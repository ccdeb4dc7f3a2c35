//! `iostrata report`: a result shown again, ours or fio's.

use std::path::Path;

use iostrata_testkit::{Folder, iostrata, run, skip};
use serde_json::Value;

/// What the command writes to standard output.
fn report(folder: &Folder, words: &str) -> String {
    let words: Vec<&str> = std::iter::once("report").chain(words.split_whitespace()).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What it says when it fails.
fn complaint(folder: &Folder, words: &str) -> String {
    let words: Vec<&str> = std::iter::once("report").chain(words.split_whitespace()).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(!output.status.success(), "{words:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_saved_result_gives_the_reports_of_its_run() {
    let folder = Folder::new("report");
    for (format, out) in [("normal", "a.txt"), ("json", "a.json"), ("json+", "a.jsonplus"), ("terse", "a.terse")] {
        let (format_word, output) = (format!("--output-format={format}"), format!("--output={out}"));
        let job = ["--name=a", "--ioengine=sim", "--rw=randrw", "--bs=4k", "--size=4m", "--iodepth=4", "--save=r.json"];
        let words = [&job[..], &[format_word.as_str(), &output]].concat();
        assert!(run(iostrata(), &words, folder.path()).status.success());
        let (first, again) = (folder.text(out), report(&folder, &format!("r.json --format={format}")));
        // The normal report of a run has the lines of its start before it.
        assert!(first.ends_with(&again), "{format}:\n{first}\nagain\n{again}");
        assert!(again.len() > 100, "{format}: {again}");
    }
    let table = report(&folder, "r.json --format=csv");
    assert_eq!(table.lines().count(), 4, "a head, and three directions: {table}");
    assert!(report(&folder, "r.json --format=csv-timeline").starts_with("job,start_ns,"));
}

#[test]
fn the_name_of_the_file_says_which_format_is_meant() {
    let folder = Folder::new("report-names");
    let words = ["--name=a", "--ioengine=null", "--rw=read", "--size=64k", "--save=r.json", "--output=/dev/null"];
    assert!(run(iostrata(), &words, folder.path()).status.success());
    for (name, begins) in
        [("p.html", "<!DOCTYPE html>"), ("t.csv", "job,"), ("d.json", "{"), ("t.txt", "\na: (groupid=0")]
    {
        assert_eq!(report(&folder, &format!("r.json -o {name}")), "");
        assert!(folder.text(name).starts_with(begins), "{name}: {}", folder.text(name));
    }
}

#[test]
fn a_run_writes_as_many_formats_to_as_many_files_as_are_asked_for() {
    let folder = Folder::new("report-also");
    let also = ["html:p.html", "json:a.json", "json+:b.json", "terse:c", "csv:d.csv", "csv-timeline:e.csv", "normal:f"];
    let also: Vec<String> = also.iter().map(|file| format!("--also={file}")).collect();
    let job = ["--name=a", "--ioengine=null", "--rw=read", "--size=64k", "--output-format=json", "--output=o.json"];
    let words: Vec<&str> = job.into_iter().chain(also.iter().map(String::as_str)).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.text("o.json"), folder.text("a.json"), "two files of one format are the same");
    let bins: Value = serde_json::from_str(&folder.text("b.json")).expect("JSON");
    assert!(bins["jobs"][0]["read"]["clat_ns"]["bins"].is_object(), "{bins}");
    for (name, begins) in
        [("p.html", "<!DOCTYPE"), ("c", "3;"), ("d.csv", "job,group"), ("e.csv", "job,start"), ("f", "\na: ")]
    {
        assert!(folder.text(name).starts_with(begins), "{name}: {}", folder.text(name));
    }
}

#[test]
fn what_is_no_result_is_said_with_its_place() {
    let folder = Folder::new("report-bad");
    std::fs::write(folder.path().join("odd.json"), r#"{"jobs":[{"jobname":"a","read":{"total_ios":-3}}]}"#)
        .expect("a file");
    std::fs::write(folder.path().join("cut.json"), r#"{"jobs":[{"jobname":"a""#).expect("a file");
    std::fs::write(folder.path().join("other.json"), r#"{"hello":1}"#).expect("a file");
    std::fs::write(folder.path().join("text"), "no JSON").expect("a file");
    for (words, wanted) in [
        ("odd.json", "jobs[0].read.total_ios: a number that is not negative is expected, and `-3` is there"),
        ("cut.json", "not a whole JSON document"),
        ("other.json", "neither \"jobs\" nor \"client_stats\""),
        ("text", "not a whole JSON document"),
        ("missing.json", "missing.json cannot be read"),
        ("odd.json --format=xml", "these are: html, normal, json, json+, terse, csv"),
        ("a b", "`b` is the second"),
        ("", "report needs the name of a result"),
        ("--nope", "report does not know `--nope`"),
    ] {
        let said = complaint(&folder, words);
        assert!(said.contains(wanted), "{words}: {said}");
    }
}

/// Figures of a direction that must come out as they went in.
const FIGURES: [&str; 9] =
    ["io_bytes", "bw_bytes", "bw", "runtime", "total_ios", "short_ios", "iops_samples", "bw_samples", "iops_min"];

fn close(ours: &Value, theirs: &Value) -> bool {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0),
        _ => ours == theirs,
    }
}

/// What differs between fio's document and ours made of it.
fn differences(fio: &Value, ours: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let (theirs, own) = (fio["jobs"].as_array().expect("jobs"), ours["jobs"].as_array().expect("jobs"));
    if theirs.len() != own.len() {
        return vec![format!("{} jobs for {}", own.len(), theirs.len())];
    }
    for (theirs, own) in theirs.iter().zip(own) {
        let mut same = |place: String, own: &Value, theirs: &Value| {
            if !close(own, theirs) {
                found.push(format!("{place}: {own} for {theirs}"));
            }
        };
        same("jobname".into(), &own["jobname"], &theirs["jobname"]);
        same("error".into(), &own["error"], &theirs["error"]);
        for direction in ["read", "write", "trim"] {
            let (theirs, own) = (&theirs[direction], &own[direction]);
            if theirs["total_ios"].as_u64().unwrap_or(0) == 0 {
                continue;
            }
            for figure in FIGURES {
                same(format!("{direction}.{figure}"), &own[figure], &theirs[figure]);
            }
            for kind in ["slat_ns", "clat_ns", "lat_ns"] {
                for figure in ["N", "min", "max", "mean"] {
                    same(format!("{direction}.{kind}.{figure}"), &own[kind][figure], &theirs[kind][figure]);
                }
                let listed = theirs[kind]["percentile"].as_object();
                for (percent, ns) in listed.into_iter().flatten().filter(|(_, ns)| **ns != 0) {
                    same(format!("{direction}.{kind} p{percent}"), &own[kind]["percentile"][percent], ns);
                }
            }
        }
    }
    found
}

#[test]
fn fio_s_own_documents_keep_their_figures() {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        skip!("documents of fio", "set IOSTRATA_SHARED to the folder that holds cases/samples");
    };
    let samples = Path::new(&shared).join("cases/samples");
    let (mut compared, mut wrong) = (0, Vec::new());
    let folder = Folder::new("report-fio");
    for entry in std::fs::read_dir(samples).expect("samples").flatten() {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let fio: Value = match serde_json::from_str(&text) {
            Ok(fio) if name.ends_with(".json") && !name.ends_with(".meta.json") => fio,
            _ => continue,
        };
        // Clones that are reported as one, and mixed directions, come back as they are shown.
        let Some(jobs) = fio["jobs"].as_array().filter(|jobs| !jobs.is_empty()) else { continue };
        if jobs.iter().any(|job| job.get("mixed").is_some()) {
            continue;
        }
        let again = report(&folder, &format!("{} --format=json", path.display()));
        let ours: Value = serde_json::from_str(&again).expect("JSON");
        let found = differences(&fio, &ours);
        compared += 1;
        if !found.is_empty() {
            wrong.push(format!("{name}: {}", found[..found.len().min(5)].join("; ")));
        }
    }
    assert!(compared > 100, "only {compared} documents");
    assert!(wrong.is_empty(), "{} of {compared} documents:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_clients_did_is_a_job_each_and_text_before_the_document_is_passed_over() {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        skip!("a document of fio's clients", "set IOSTRATA_SHARED to the folder that holds reference/fio-samples");
    };
    let folder = Folder::new("report-clients");
    let sample = Path::new(&shared).join("reference/fio-samples/client_json.out");
    let text = report(&folder, &format!("{} --format=csv", sample.display()));
    let reads: Vec<&str> = text.lines().filter(|line| line.contains(",read,")).collect();
    assert!(reads.len() == 1 && reads[0].starts_with("cs on ") && reads[0].contains(",132,540672,"), "{text}");
    let page = report(&folder, &format!("{} --format=html", sample.display()));
    assert!(page.contains("The document holds nothing of what was done over time."), "no word on missing charts");
}

/// Programs read standard output: there is one document on it, whatever the order of the words, and whether the jobs
/// could begin or not.
#[test]
fn standard_output_is_one_document_whatever_happens() {
    let folder = Folder::new("report-one");
    std::fs::write(folder.path().join("j.fio"), "[global]\nioengine=null\nsize=64k\n[a]\n[b]\nstonewall\n")
        .expect("a file");
    let format = "--output-format=json";
    // Words, the end of the program, and the errors of the jobs.
    let cases: [(&str, i32, &[i64]); 9] = [
        ("FORMAT j.fio", 0, &[0, 0]),
        ("j.fio FORMAT", 0, &[0, 0]),
        ("--name=a --ioengine=null --size=64k FORMAT --name=b --ioengine=null --size=64k", 0, &[0, 0]),
        ("j.fio --eta=always --status-interval=1 FORMAT", 0, &[0, 0]),
        ("FORMAT --name=a --rw=write --filename=/dev/null/x --size=64k", 1, &[20]),
        ("--name=a --rw=write --filename=/dev --size=64k FORMAT", 1, &[21]),
        ("FORMAT --name=a --ioengine=rdma --size=64k", 1, &[]),
        ("FORMAT --name=a --rw=write --filename=/dev/full --size=64k --name=b --ioengine=null --size=64k", 1, &[28, 0]),
        ("FORMAT --name=a --rw=read --filename=f --size=64k --exec_prerun=false", 1, &[22]),
    ];
    for (words, code, errors) in cases {
        let words = words.replace("FORMAT", format);
        let output = run(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words}: {error}: {}", String::from_utf8_lossy(&output.stdout)));
        let jobs = document["jobs"].as_array().expect("a list");
        let found: Vec<i64> = jobs.iter().map(|job| job["error"].as_i64().expect("a number")).collect();
        assert_eq!((output.status.code(), &found[..]), (Some(code), errors), "{words}: {document}");
    }
}
