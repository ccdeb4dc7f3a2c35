//! `cargo xtask bench`: what one I/O costs iostrata and Debian's fio, measured in turn on the same target, written to
//! `docs/performance.md`.
//!
//! CPU time holds on a shared machine where I/Os per second do not. A long run minus a short one leaves out starting
//! and reporting, which are the same in both; what is left, divided by the I/Os between, is the cost of one I/O.
//! `cargo xtask bench --devices` compares what devices show instead: see [`devices`].

mod callgrind;
mod cases;
mod cpu;
mod devices;
pub(crate) mod gate;
mod hour;
mod page;
mod scale;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

#[cfg(test)]
use cases::NULL_RANDREAD;
use cases::{CASES, Case};

use crate::build;
use crate::process;
use crate::workspace::Workspace;

/// Pairs of measurements of each case; odd, so that the median is one of them.
const ROUNDS: usize = 7;

/// A program that takes fio's options.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Its name in the page.
    pub(crate) name: &'static str,
    /// The executable.
    pub(crate) program: PathBuf,
}

/// What was measured of one case.
pub(crate) struct Measured {
    case: &'static Case,
    pairs: Vec<Pair>,
    /// User instructions per I/O, iostrata's and fio's.
    instructions: (f64, f64),
}

/// CPU nanoseconds per I/O in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    iostrata_ns: f64,
    fio_ns: f64,
}

struct Options {
    rounds: usize,
    cases: Vec<&'static Case>,
}

/// `cargo xtask bench [--devices | --scale | --hour | --baseline] [--rounds N] [--case NAME]…`.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    if let Some((_, others)) = args.split_first().filter(|(first, _)| *first == "--devices") {
        return devices::run(workspace, others);
    }
    if let Some((_, others)) = args.split_first().filter(|(first, _)| *first == "--scale") {
        return scale::run(workspace, others);
    }
    if args == ["--hour"] {
        return hour::run(workspace);
    }
    if args == ["--baseline"] {
        return gate::write(workspace);
    }
    let options = parse(args)?;
    let need = |name: &str| process::which(name).with_context(|| format!("needs `{name}`: apt-get install {name}"));
    let fio = Tool { name: "fio", program: need("fio")? };
    need("valgrind")?;
    let iostrata = Tool { name: "iostrata", program: build::release(workspace)? };
    let scratch = workspace.scratch("bench")?;
    let mut measured = Vec::new();
    for case in &options.cases {
        measured.push(measure(case, &iostrata, &fio, options.rounds, &scratch)?);
        println!("{}", table::row(measured.last().context("just measured")?));
    }
    if options.cases.len() == CASES.len() {
        let machine = page::Machine::here(workspace, &fio)?;
        page::write(workspace, page::Section::Cpu, &table::render(&machine, options.rounds, &measured))?;
    }
    Ok(true)
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { rounds: ROUNDS, cases: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--rounds" => options.rounds = value()?.parse().context("--rounds takes a number")?,
            "--case" => {
                let name = value()?;
                let known = || CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
                let case = CASES.iter().find(|case| case.name == name);
                options
                    .cases
                    .push(case.with_context(|| format!("no case is called `{name}`; there are: {}", known()))?);
            }
            other => bail!("`{other}` is no option of `cargo xtask bench`"),
        }
    }
    ensure!(options.rounds > 0, "--rounds takes at least 1");
    if options.cases.is_empty() {
        options.cases = CASES.iter().collect();
    }
    Ok(options)
}

fn measure(case: &'static Case, iostrata: &Tool, fio: &Tool, rounds: usize, scratch: &Path) -> Result<Measured> {
    let cpu = cpu::last_allowed()?;
    let mut pairs = Vec::new();
    for round in 0..rounds {
        // Who goes first alternates, so that neither always finds the machine as the other left it.
        let (iostrata_ns, fio_ns) = if round % 2 == 0 {
            let first = cpu::ns_per_io(iostrata, case, cpu, scratch)?;
            (first, cpu::ns_per_io(fio, case, cpu, scratch)?)
        } else {
            let first = cpu::ns_per_io(fio, case, cpu, scratch)?;
            (cpu::ns_per_io(iostrata, case, cpu, scratch)?, first)
        };
        pairs.push(Pair { iostrata_ns, fio_ns });
    }
    let ours = callgrind::per_io(iostrata, case, callgrind::Threads::All, scratch)?;
    let theirs = callgrind::per_io(fio, case, callgrind::Threads::AllButTheFirst, scratch)?;
    Ok(Measured { case, pairs, instructions: (ours, theirs) })
}

/// The middle value; of an even number, the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_options_every_case_is_measured() {
        let options = parsed(&[]).unwrap();
        assert_eq!((options.rounds, options.cases.len()), (ROUNDS, CASES.len()));
    }

    #[test]
    fn wrong_words_are_answered_with_what_is_right() {
        assert!(parsed(&["--case", "nul"]).err().unwrap().to_string().contains(NULL_RANDREAD.name));
        assert!(parsed(&["--rounds", "0"]).is_err());
        assert!(parsed(&["--rounds"]).is_err());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
