//! The keys of our JSON are those of fio 3.42, in its order, and its values are those that `derive` computes.

#![allow(clippy::print_stdout, reason = "a skip must be seen")]

use iostrata_report::{RenderOptions, fio_json};
use iostrata_result::derive::leaves::{FIO_JSON_LEAVES, Leaf, Scope, Source};
use iostrata_result::{RunResult, derive, testing};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::path::PathBuf;

/// Under our own name, dates in UTC.
fn ours() -> RenderOptions {
    RenderOptions { as_fio: false, time_zone: TimeZone::UTC }
}

/// All keys of a document in order, as paths. Keys that are values themselves (options, percentiles, bins) are left
/// out, and of several items of an array only the first is looked at.
fn tree(value: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    walk(value, "", &mut paths);
    paths
}

fn walk(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                paths.push(path.clone());
                if !["global options", "job options", "percentile", "bins"].contains(&key.as_str()) {
                    walk(value, &path, paths);
                }
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                walk(first, &format!("{path}[]"), paths);
            }
        }
        _ => {}
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

/// The folder of samples of fio 3.42; `None`, in the form that the test runner counts as skipped, when there is none.
fn samples() -> Option<PathBuf> {
    let shared = std::env::var_os("IOSTRATA_SHARED");
    if shared.is_none() {
        println!("SKIP: samples of fio 3.42 (set IOSTRATA_SHARED to the folder that has reference/fio-samples)");
    }
    Some(PathBuf::from(shared?).join("reference/fio-samples"))
}

#[test]
fn keys_and_their_order_are_those_of_fio_3_42() {
    let Some(samples) = samples() else { return };
    for (file, plus) in [("json_3.42.out", false), ("jsonplus_3.42.out", true)] {
        let theirs = tree(&parse(&std::fs::read_to_string(samples.join(file)).unwrap()));
        let mut ours = tree(&parse(&fio_json::render(&testing::example(), plus, &ours())));
        ours.retain(|path| !path.starts_with("/iostrata"));
        assert_eq!(ours, theirs, "{file}");
        assert!(theirs.len() > 150, "{file}");
    }
}

/// Types are read as strictly as values by some: a float is written as a float even if it is whole.
#[test]
fn whole_numbers_and_floats_are_those_of_fio_3_42() {
    let Some(samples) = samples() else { return };
    let kinds = |text: &str| -> Vec<(String, &'static str)> {
        let lines = text.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(" : "));
        lines
            .map(|(key, value)| {
                let kind = match value.chars().next() {
                    Some('"') => "string",
                    Some('{' | '[') => "nested",
                    _ if value.contains('.') => "float",
                    _ => "whole",
                };
                (key.trim_matches('"').to_owned(), kind)
            })
            .collect()
    };
    let theirs = std::fs::read_to_string(samples.join("json_3.42.out")).unwrap();
    let ours = fio_json::render(&testing::example(), false, &ours());
    let ours = kinds(&ours);
    for (key, kind) in kinds(&theirs).iter().filter(|(_, kind)| *kind != "string") {
        let same: Vec<_> = ours.iter().filter(|(ours, _)| ours == key).collect();
        assert!(same.iter().any(|(_, ours)| ours == kind), "{key} is {kind} in fio, here {same:?}");
    }
}

/// Every leaf of the table, looked up in the document that was written.
#[test]
fn every_leaf_is_what_derive_says() {
    let mut disks = testing::example();
    disks.disks[0].members = vec![disks.disks[0].clone()];
    disks.workers.iter_mut().for_each(|worker| worker.tolerated.allowed = true);
    let mut mixed = disks.clone();
    mixed.workers.iter_mut().for_each(|worker| worker.job.reporting.unified = "both".into());
    let compared: usize = [disks, mixed, testing::largest_latency(), testing::no_io()].iter().map(compare_leaves).sum();
    assert!(compared > 800, "{compared}");
}

fn compare_leaves(run: &RunResult) -> usize {
    let document = parse(&fio_json::render(run, true, &ours()));
    let (reports, disks) = (derive::reports(run), derive::disks(run));
    let mut compared = 0;
    for row in FIO_JSON_LEAVES {
        let scope = Scope { run, report: None, direction: None, disk: None };
        let scopes: Vec<(String, Scope<'_>)> = match row.source {
            Source::Run(_) => vec![(row.path.to_owned(), scope)],
            Source::Job(_) | Source::Share(..) => {
                let scopes = reports.iter().map(|report| Scope { report: Some(report), ..scope });
                scopes.enumerate().map(|(index, scope)| (indexed(row.path, index), scope)).collect()
            }
            Source::Direction(_) => {
                let rows = reports
                    .iter()
                    .enumerate()
                    .flat_map(|(index, report)| report.directions.iter().map(move |direction| (index, direction)));
                let path = |index, name| indexed(row.path, index).replace("DIRECTION", name);
                rows.map(|(index, direction)| {
                    (path(index, direction.kind.name()), Scope { direction: Some(direction), ..scope })
                })
                .collect()
            }
            Source::Disk(_) | Source::Members(_) => {
                let scopes = disks.iter().map(|disk| Scope { disk: Some(disk), ..scope });
                scopes.take(1).map(|scope| (indexed(row.path, 0), scope)).collect()
            }
            Source::Map(_) | Source::Rendered(_) | Source::Absent(_) => Vec::new(),
        };
        for (path, scope) in scopes {
            compared += usize::from(compare_leaf(&document, &path, row.source.value(scope)));
        }
    }
    compared
}

fn indexed(path: &str, index: usize) -> String {
    path.replace("[]", &format!(".{index}"))
}

/// Whether there was something to compare; keys that are only there when they mean something may be missing.
fn compare_leaf(document: &Value, path: &str, leaf: Option<Leaf>) -> bool {
    let mut value = document;
    for key in path.split('.') {
        value = key
            .parse::<usize>()
            .ok()
            .and_then(|index| value.get(index))
            .or_else(|| value.get(key))
            .unwrap_or(&Value::Null);
    }
    let conditional = ["total_err", "first_error", "desc"].iter().any(|key| path.ends_with(key));
    match leaf {
        None => return false,
        Some(_) if conditional && value.is_null() => return false,
        Some(Leaf::Whole(number)) => assert_eq!(value.to_string(), number.to_string(), "{path}"),
        Some(Leaf::Real(number)) => {
            let written = value.as_f64().unwrap_or_else(|| panic!("{path}: {value}"));
            assert!((written - number).abs() <= 1e-6 + number.abs() * 1e-15, "{path}: {written}, not {number}");
        }
        Some(Leaf::Text(text)) => assert_eq!(value.as_str(), Some(&*text), "{path}"),
    }
    true
}

/// A line without what depends on the run: numbers, their prefixes and units, and blanks that only align.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if first.is_ascii_digit() {
            shape.push('#');
            rest = ["Ki", "Mi", "Gi", "k", "M", "G"].iter().find_map(|p| number.strip_prefix(p)).unwrap_or(number);
        } else {
            if first != ' ' || !shape.ends_with([' ', '=', '[']) {
                shape.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    ["(nsec)", "(usec)", "(msec)"].iter().fold(shape, |shape, unit| shape.replace(unit, "(unit)"))
}

/// fio 3.42's text and JSON of two runs of one job: what we make of its JSON has the lines of its text, in its order.
/// Only which latencies there are depends on the run.
#[test]
fn the_text_of_fio_3_42_has_our_lines() {
    let Some(samples) = samples() else { return };
    let read = |name: &str| std::fs::read_to_string(samples.join(name)).expect("a sample");
    let run = iostrata_result::from_fio_json(&read("json_3.42.out")).expect("fio's document");
    let options = RenderOptions { as_fio: true, time_zone: TimeZone::UTC };
    let lines = |text: &str| -> Vec<String> {
        let report = text.lines().skip_while(|line| !line.contains(": (groupid="));
        report.filter(|line| !line.starts_with("  lat (")).map(shape).collect()
    };
    let theirs = lines(&read("normal_3.42.out").replace("jobs=2)", "jobs=1)"));
    let ours = lines(&iostrata_report::text::render(&run, &options));
    assert!(theirs.len() > 40, "{theirs:?}");
    assert_eq!(ours.join("\n"), theirs.join("\n"));
}
