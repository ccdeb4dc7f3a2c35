//! Job files and command lines that people published, each with what fio 3.33 did with it: exit code, bytes and I/Os of
//! each job. The corpus and the script that compares lie in the folder of reference data; nothing of it is in this
//! repository.

use std::collections::BTreeMap;
use std::path::Path;

use iostrata_testkit::{Folder, iostrata, run, skip, some_at_once, which};

/// The verdict on a row that did what it did in fio.
const SAME: &str = "SAME";

/// Why a row may come out one way or the other.
const MACHINE: &str = "depends on the machine: a fast enough disk and processor end it before its runtime does";

/// Why the amounts of a row are each program's own.
const DRAWN: &str =
    "block sizes of a range in a drawn mix: how much of 16 MiB is written is a matter of the random numbers";

/// Rows that come out otherwise on purpose, or that depend on the machine, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("c013", MACHINE),
    ("c014", MACHINE),
    ("c031", MACHINE),
    ("c046", "fio takes overlapping writes in flight for damage and fails; here they wait for each other"),
    ("c048", MACHINE),
    ("c068", MACHINE),
    ("c078", "block sizes from 4k to 256k in some 120 I/Os: how many are reads is a matter of the random numbers"),
    ("c109", "fio takes overlapping writes in flight for damage and fails; here they wait for each other"),
    ("c112", "fio counts the reads of a check against io_size and does half of the work"),
    ("j004", "fio 3.33 does not know steadystate_check_interval; 3.42 does"),
    ("j006", DRAWN),
    ("j012", MACHINE),
    ("j018", "it reads files that are empty at first: by libaio, fio counts reads of no bytes as I/Os"),
    ("j022", "jobs that could not be set up are in error; in fio's document they are not, only in its exit code"),
    ("j040", "for direct I/O, fio sets write_hint by a call that the kernel dropped in 5.17, and fails"),
    ("j043", "64 MB do not fit into a tenth of its file: the job is refused; fio trims beyond its region"),
    ("j055", MACHINE),
    ("j065", "mmap cannot ask for atomic writes and is refused; fio passes over atomic=1 in silence"),
    ("j079", MACHINE),
    ("j082", DRAWN),
    ("j123", "the sequential parts of randwrite:8 write blocks again: damage to fio; here the last write counts"),
    ("j128", "a job that cannot run is refused by --parse-only already"),
    ("j130", MACHINE),
];

/// Beginnings of row names that cut the corpus into parts of about the same length.
const PARTS: &[&str] = &[
    "j00", "j01", "j02", "j03", "j04", "j05", "j06", "j07", "j08", "j09", "j1", "c00", "c01", "c02", "c03", "c04",
    "c05", "c06", "c07", "c08", "c09", "c1",
];

/// Verdicts by row for all rows whose name begins so.
fn verdicts(script: &Path, beginning: &str) -> BTreeMap<String, String> {
    let folder = Folder::new("corpus");
    let table = folder.path().join("table.tsv");
    let arguments = [
        script.to_str().unwrap(),
        "--fio",
        iostrata(),
        "--only",
        beginning,
        "--work",
        folder.path().to_str().unwrap(),
        "--tsv",
        table.to_str().unwrap(),
    ];
    let output = run("python3", &arguments, folder.path());
    let text = std::fs::read_to_string(&table)
        .unwrap_or_else(|error| panic!("{error}:\n{}", String::from_utf8_lossy(&output.stderr)));
    text.lines()
        .map(|line| {
            let mut cells = line.splitn(3, '\t');
            let row = cells.next().unwrap_or_default().to_owned();
            (row, cells.nth(1).unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
fn public_jobs_do_what_they_did_in_fio() {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        skip!("public job files", "set IOSTRATA_SHARED to the folder that holds cases/check.py");
    };
    if which("python3").is_none() {
        skip!("public job files", "apt-get install python3");
    }
    let script = Path::new(&shared).join("cases/check.py");
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    some_at_once(PARTS, |beginning| verdicts(&script, beginning)).into_iter().for_each(|part| rows.extend(part));
    assert!(rows.len() > 150, "only {} rows: is the corpus whole?", rows.len());
    let reason = |row: &str| OTHERWISE.iter().find(|(id, _)| row.starts_with(id)).map(|(_, reason)| *reason);
    // A row that differed beside others is tried again alone: many end by their runtime when the machine is busy.
    for _ in 0..2 {
        let again = rows.iter().filter(|(row, verdict)| *verdict != SAME && reason(row).is_none());
        let again: Vec<String> = again.map(|(row, _)| row.clone()).collect();
        again.iter().for_each(|row| rows.extend(verdicts(&script, row)));
    }
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(row, verdict)| match (verdict == SAME, reason(row)) {
            (false, None) => Some(format!("{row}: {verdict}")),
            // Being slow, and drawing otherwise, excuse amounts, not another exit code or no document.
            (false, Some(MACHINE | DRAWN)) if ["PARSE(", "RC(", "JSON"].iter().any(|fault| verdict.contains(fault)) => {
                Some(format!("{row}: {verdict}"))
            }
            (true, Some(reason)) if reason != MACHINE => Some(format!("{row} is the same after all: {reason}")),
            _ => None,
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} rows are not as they should be:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}
