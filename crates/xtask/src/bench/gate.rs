//! The gate on the cost of the worker loop: instructions may not grow unseen.
//!
//! `crates/xtask/instructions.txt` holds what each case needed, by the compiler's version: other compilers make other
//! code. A count may be 3 % above it. `cargo xtask bench --baseline` writes it anew; a value that it raises needs a
//! line under "Measurement" in CHANGELOG.md in the same commit.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::Tool;
use super::callgrind::{Threads, per_io};
use super::cases::{CASES, Case};
use crate::build;
use crate::ledger::Ledger;
use crate::process::{self, stdout_of};
use crate::workspace::Workspace;

const NAME: &str = "instructions per I/O";
const FILE: &str = "crates/xtask/instructions.txt";
/// So much of a value may be added to it.
const ALLOWED: f64 = 0.03;

/// The loops (of one, of many, in the calling thread; common and general), the orders of offsets, the statistics of
/// each I/O, and the fills.
const GATED: [&str; 8] = [
    "null-randread-32",
    "null-randread-1",
    "null-read-1",
    "null-randwrite-32",
    "null-randrw-32",
    "null-refill-32",
    "psync-zero-randread",
    "io_uring-zero-randread-32-tuned",
];

/// One line of the file.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    compiler: String,
    case: String,
    instructions: f64,
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(workspace: &Workspace) -> Result<Ledger> {
    if process::which("valgrind").is_none() {
        return Ok(Ledger::skip(NAME, "valgrind", "apt-get install valgrind"));
    }
    let entries = parse(&std::fs::read_to_string(workspace.root().join(FILE))?)?;
    let compiler = compiler(workspace)?;
    let mut ledger = Ledger::default();
    for (case, count) in counts(workspace)? {
        let known = entries.iter().find(|entry| entry.compiler == compiler && entry.case == case.name);
        match known {
            Some(entry) => {
                let most = entry.instructions * (1.0 + ALLOWED);
                println!("  {}: {count:.0} user instructions per I/O, at most {most:.0} allowed", case.name);
                ledger.merge(Ledger::check(&format!("{NAME}, {}", case.name), count <= most));
            }
            None => ledger.merge(Ledger::skip(
                &format!("{NAME}, {}", case.name),
                format!("a value for rustc {compiler} in {FILE}"),
                "cargo xtask bench --baseline",
            )),
        }
    }
    ledger.merge(Ledger::check("raised instructions are in the changelog", raises_are_told(workspace)?));
    Ok(ledger)
}

/// `cargo xtask bench --baseline`: writes what this compiler's code needs now.
pub(crate) fn write(workspace: &Workspace) -> Result<bool> {
    let path = workspace.root().join(FILE);
    let old = if path.exists() { parse(&std::fs::read_to_string(&path)?)? } else { Vec::new() };
    let compiler = compiler(workspace)?;
    let new = counts(workspace)?.into_iter().map(|(case, count)| Entry {
        compiler: compiler.clone(),
        case: case.name.to_owned(),
        instructions: count.round(),
    });
    let entries: Vec<Entry> = old.into_iter().filter(|entry| entry.compiler != compiler).chain(new).collect();
    std::fs::write(&path, render(&entries))?;
    println!("written: {}", path.display());
    Ok(true)
}

fn counts(workspace: &Workspace) -> Result<Vec<(&'static Case, f64)>> {
    let iostrata = Tool { name: "iostrata", program: build::release(workspace)? };
    let scratch = workspace.scratch("callgrind")?;
    let gated = CASES.iter().filter(|case| GATED.contains(&case.name));
    gated.map(|case| Ok((case, per_io(&iostrata, case, Threads::All, &scratch)?))).collect()
}

/// `1.95.0` of `rustc 1.95.0 (…)`.
fn compiler(workspace: &Workspace) -> Result<String> {
    let said = stdout_of(&mut workspace.command("rustc", &["--version"]))?;
    said.split_whitespace().nth(1).map(str::to_owned).context("rustc --version names no version")
}

fn parse(text: &str) -> Result<Vec<Entry>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [compiler, case, count] = words[..] else { anyhow::bail!("{FILE}: `{line}` has not three words") };
            let instructions = count.parse().with_context(|| format!("{FILE}: `{line}` ends with no number"))?;
            Ok(Entry { compiler: compiler.to_owned(), case: case.to_owned(), instructions })
        })
        .collect()
}

fn render(entries: &[Entry]) -> String {
    let mut text =
        "# User instructions per I/O: compiler, case, count. Written by `cargo xtask bench --baseline`.\n".to_owned();
    for entry in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {} {:.0}", entry.compiler, entry.case, entry.instructions);
    }
    text
}

/// Whether the last change that raised a value, committed or not, came with one of the changelog.
fn raises_are_told(workspace: &Workspace) -> Result<bool> {
    let git = |words: &[&str]| stdout_of(&mut workspace.command("git", words));
    let dirty = !git(&["status", "--porcelain", "--", FILE])?.is_empty();
    let last = git(&["log", "-1", "--format=%H", "--", FILE])?;
    let base = if dirty { "HEAD".to_owned() } else { format!("{}~1", last.trim()) };
    let after = if dirty { None } else { Some(last.trim()) };
    let then = |file: &str| git(&["show", &format!("{base}:{file}")]);
    let now = |file: &str| match after {
        Some(commit) => git(&["show", &format!("{commit}:{file}")]),
        None => Ok(std::fs::read_to_string(workspace.root().join(file))?),
    };
    // Without a state before there is nothing that could have been raised.
    let Ok(old) = then(FILE) else { return Ok(true) };
    if !raises(&parse(&old)?, &parse(&now(FILE)?)?) {
        return Ok(true);
    }
    Ok(measurement(&then("CHANGELOG.md")?) != measurement(&now("CHANGELOG.md")?))
}

fn raises(old: &[Entry], new: &[Entry]) -> bool {
    let same = |entry: &Entry| old.iter().find(|old| old.compiler == entry.compiler && old.case == entry.case).cloned();
    new.iter().any(|entry| same(entry).is_some_and(|old| entry.instructions > old.instructions))
}

/// What stands under the first heading "Measurement".
fn measurement(changelog: &str) -> &str {
    let after = changelog.split_once("### Measurement").map_or("", |(_, rest)| rest);
    after.split("\n## ").next().unwrap_or("").split("\n### ").next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let entry = |case: &str, instructions| Entry { compiler: "1.2.3".into(), case: case.into(), instructions };
        let entries = [entry("a", 300.0), entry("b", 17.0)];
        assert_eq!(parse(&render(&entries)).unwrap(), entries);
        assert!(parse("1.2.3 a\n").unwrap_err().to_string().contains("three words"));
        assert!(raises(&entries, &[entry("a", 301.0)]));
        assert!(!raises(&entries, &[entry("a", 299.0), entry("new", 900.0)]));
    }

    #[test]
    fn every_gated_case_exists() {
        for name in GATED {
            assert!(CASES.iter().any(|case| case.name == name), "{name}");
        }
    }

    #[test]
    fn only_the_lines_about_measurement_count() {
        let log = "## [Unreleased]\n### Added\n- x\n### Measurement\n- y\n### Fixed\n- z\n## [1]\n";
        assert_eq!(measurement(log), "\n- y");
        assert_eq!(measurement(&log.replace("- x", "- more")), measurement(log));
    }
}
