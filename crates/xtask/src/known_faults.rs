//! `docs/known-faults.md`: which publicly reported fault of fio is held off by which test.
//!
//! The numbers are those of the list of reports that the tests are given from outside; a test is mapped to its row by
//! its name, `bug_b71`, and its doc comment says what the row is about.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The page, relative to the root.
const PAGE: &str = "docs/known-faults.md";

/// Rows that no test of that name stands for, and why.
const REASONS: &[(&str, &str)] = &[
    (
        "B55",
        "Blocks that another job trimmed hold no header, and checking them fails. Open: nothing is remembered of trims \
         from one job to the next.",
    ),
    (
        "B122",
        "Buffered reads of a small file measure memory. Open: where the bytes came from is to be told from what the \
         kernel counted in the run.",
    ),
    (
        "B127",
        "A file system that takes O_DIRECT and buffers all the same. Open: it is to be told from what the kernel \
         counted in the run.",
    ),
    (
        "B128",
        "macOS: F_NOCACHE serves pages that are cached already. Not tested: no macOS runs the tests. The documents say \
         that `direct` is advice there.",
    ),
    (
        "B129",
        "macOS: limits of asynchronous I/O and of shared memory end the program. Not tested: no macOS runs the tests. \
         Jobs are threads, and no shared memory segment is made.",
    ),
    (
        "B130",
        "Buffered writes to a disk that fails end well where nothing is synced. Open: as in fio only `end_fsync` and \
         `fsync` look.",
    ),
];

/// What stands for a row.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// The file of the test, relative to the root, and its doc comment.
    Test(String, String),
    /// Why there is none.
    Reason(&'static str),
}

/// Rows by number; within one number by letter.
type Rows = BTreeMap<(u32, String), Answer>;

/// Writes the page anew, or with `check` says whether it is what it would be.
pub(crate) fn run(workspace: &Workspace, check: bool) -> Result<bool> {
    let text = page(&rows(workspace.root())?);
    let path = workspace.root().join(PAGE);
    if check {
        return Ok(std::fs::read_to_string(&path).unwrap_or_default() == text);
    }
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

fn rows(root: &Path) -> Result<Rows> {
    let mut rows = Rows::new();
    for (id, reason) in REASONS {
        let key = key(id).with_context(|| format!("`{id}` is no number of a report"))?;
        ensure!(rows.insert(key, Answer::Reason(reason)).is_none(), "{id} has two reasons");
    }
    for package in folders(&root.join("crates"))? {
        for file in [rust_files(&package.join("src"))?, rust_files(&package.join("tests"))?].concat() {
            let text = std::fs::read_to_string(&file)?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for (key, about) in tests(&text) {
                let name = format!("b{}{}", key.0, key.1);
                ensure!(!about.is_empty(), "{shown}: bug_{name} has no doc comment that says what the report was");
                ensure!(rows.insert(key, Answer::Test(shown.clone(), about)).is_none(), "{name} is mapped twice");
            }
        }
    }
    Ok(rows)
}

fn folders(of: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut all: Vec<_> = std::fs::read_dir(of)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    all.retain(|path| path.is_dir());
    all.sort();
    Ok(all)
}

/// All sources in a folder and those in it, by name.
fn rust_files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut entries: Vec<_> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// `B38a` or `b38a` as (38, "a").
fn key(id: &str) -> Option<(u32, String)> {
    let rest = id.strip_prefix(['b', 'B'])?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let letters = &rest[digits..];
    letters.chars().all(|c| c.is_ascii_lowercase()).then_some(())?;
    Some((rest[..digits].parse().ok()?, letters.to_owned()))
}

/// The tests of a source that stand for a row, each with its doc comment in one line.
fn tests(source: &str) -> Vec<((u32, String), String)> {
    let mut found = Vec::new();
    let mut about: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            about.push(words.trim());
        } else if let Some(id) = line.strip_prefix("fn bug_").and_then(|rest| rest.split('(').next()) {
            found.extend(key(id).map(|key| (key, about.join(" "))));
            about.clear();
        } else if !line.starts_with("#[") {
            about.clear();
        }
    }
    found
}

fn page(rows: &Rows) -> String {
    let mut text = "# Known faults of benchmarks, and what holds them off\n\n\
        Written by `cargo xtask docs`; do not edit.\n\n\
        Each row is a public report of a wrong or misleading result of fio. The test shows what iostrata does in its \
        place.\n\n\
        | report | what it was about | held off by |\n|---|---|---|\n"
        .to_owned();
    for ((number, letter), answer) in rows {
        let line = match answer {
            Answer::Test(file, about) => {
                format!("| B{number:02}{letter} | {about} | `bug_b{number:02}{letter}` in [{file}](../{file}) |\n")
            }
            Answer::Reason(reason) => format!("| B{number:02}{letter} | {reason} | |\n"),
        };
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_name_with_what_they_say() {
        let source = "/// Two lines\n/// of it.\n#[test]\nfn bug_b38a() {}\n\
            /// no\nfn bug_report() {}\n#[test]\nfn bug_b07() {}\n";
        assert_eq!(
            tests(source),
            [((38, "a".to_owned()), "Two lines of it.".to_owned()), ((7, String::new()), String::new())]
        );
    }

    #[test]
    fn the_page_is_the_one_that_the_tests_make() {
        let workspace = Workspace::find().unwrap();
        assert!(run(&workspace, true).unwrap(), "{PAGE} is out of date: `cargo xtask docs` makes it anew");
    }

    #[test]
    fn every_report_is_mapped_to_a_test_or_a_reason() {
        let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
            eprintln!("SKIP: the list of public reports (set IOSTRATA_SHARED to the folder that holds cases/BUGS.md)");
            return;
        };
        let list = std::fs::read_to_string(Path::new(&shared).join("cases/BUGS.md")).unwrap();
        let rows = rows(Workspace::find().unwrap().root()).unwrap();
        let mut missing = Vec::new();
        for line in list.lines() {
            let Some(id) = line.strip_prefix("| ").and_then(|rest| rest.split(' ').next()).and_then(key) else {
                continue;
            };
            if !rows.contains_key(&id) {
                missing.push(format!("B{:02}{}", id.0, id.1));
            }
        }
        assert!(missing.is_empty(), "no test and no reason: {}", missing.join(", "));
    }
}
