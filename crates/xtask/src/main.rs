//! The project's own chores: `cargo xtask test`, `tidy`, `docs`, `macos-check`, `bench`, `soak`.
//!
//! Depends on no crate of ours: it builds the binary and runs it as a person would. Each chore is one file; what a
//! chore goes through (stages, Debian packages, arrows between crates) is a table at the top of that file.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "talking to the terminal is what this program does")]

mod bench;
mod build;
mod docs;
mod known_faults;
mod ledger;
mod libtest;
mod macos;
mod packages;
mod process;
mod session;
mod soak;
mod test;
mod tidy;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use workspace::Workspace;

/// A chore: its word, its usage and what carries it out. `Ok(false)` says that it ran and found something wrong.
struct Chore {
    word: &'static str,
    usage: &'static str,
    run: fn(&Workspace, &[String]) -> Result<bool>,
}

const CHORES: &[Chore] = &[
    Chore {
        word: "test",
        usage: "test [--no-install] [--no-skips] [--stage NAME]…   everything, in order; ends with the tally",
        run: test::run,
    },
    Chore {
        word: "tidy",
        usage: "tidy                                               sizes, arrows between crates, links, words",
        run: tidy::run,
    },
    Chore {
        word: "docs",
        usage: "docs [--check]                                     makes the generated pages under docs/ anew",
        run: docs::run,
    },
    Chore {
        word: "macos-check",
        usage: "macos-check                                        type-checks every crate for macOS",
        run: macos::run,
    },
    Chore {
        word: "bench",
        usage: "bench [--devices] [--rounds N] [--case NAME]…      CPU per I/O, or devices, beside fio, as a page",
        run: bench::run,
    },
    Chore {
        word: "soak",
        usage: "soak [--minutes N] [--stage NAME]…                 the tests again and again, until one fails",
        run: soak::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<bool> {
    let Some((word, rest)) = args.split_first() else {
        bail!("which chore?\n{}", usage());
    };
    if matches!(word.as_str(), "help" | "--help" | "-h") {
        println!("{}", usage());
        return Ok(true);
    }
    match CHORES.iter().find(|chore| chore.word == word) {
        Some(chore) => (chore.run)(&Workspace::find()?, rest),
        None => bail!("no chore is called `{word}`\n{}", usage()),
    }
}

fn usage() -> String {
    let lines: Vec<String> = CHORES.iter().map(|chore| format!("  cargo xtask {}", chore.usage)).collect();
    format!("usage:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chore_is_listed_under_its_own_word() {
        for chore in CHORES {
            assert!(chore.usage.starts_with(chore.word), "{}", chore.usage);
            assert_eq!(CHORES.iter().filter(|other| other.word == chore.word).count(), 1);
        }
    }

    #[test]
    fn an_unknown_chore_is_answered_with_the_list() {
        let error = dispatch(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`tset`") && error.contains("cargo xtask test"), "{error}");
    }
}
