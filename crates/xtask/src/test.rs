//! `cargo xtask test`: every check there is, stage by stage, and the tally.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::ledger::Ledger;
use crate::process::{self, succeeds};
use crate::session::{Session, judged};
use crate::workspace::Workspace;
use crate::{bench, build, macos, packages, tidy, toolchain};

/// A stage: its name for `--stage`, what it shows when it starts, and what carries it out.
struct Stage {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Session) -> Result<Ledger>,
}

/// All stages, in the order they run.
const STAGES: &[Stage] = &[
    Stage { name: "fmt", about: "formatting", run: fmt },
    Stage { name: "tidy", about: "sizes, arrows between crates, links, words", run: tidy_stage },
    Stage { name: "clippy", about: "clippy, warnings denied", run: clippy },
    Stage { name: "build", about: "the one build that all tests share", run: build_stage },
    Stage { name: "unit", about: "unit tests", run: |session| session.run_group("unit") },
    Stage { name: "goldens", about: "goldens, documentation and its examples", run: goldens },
    Stage {
        name: "conformance",
        about: "engines, devices, faults and signals on mounts",
        run: |session| session.run_group("conformance"),
    },
    Stage {
        name: "differential",
        about: "against Debian's fio and the system call oracle",
        run: |session| session.run_group("differential"),
    },
    Stage { name: "servers", about: "real servers and a browser", run: |session| session.run_group("servers") },
    Stage { name: "macos", about: "every crate type-checks for macOS", run: |session| macos::stage(session.workspace) },
    Stage {
        name: "callgrind",
        about: "instructions per I/O of the release build",
        run: |session| bench::gate::stage(session.workspace),
    },
];

/// Documentation examples are compiled one by one.
const DOC_TESTS_LIMIT: Duration = Duration::from_secs(1200);

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    no_install: bool,
    no_skips: bool,
    stages: Vec<String>,
}

/// Runs the chosen stages, all by default.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    let options = parse(args)?;
    let chosen = |stage: &&Stage| options.stages.is_empty() || options.stages.iter().any(|name| name == stage.name);
    toolchain::check(workspace)?;
    packages::provide(!options.no_install)?;
    let mut session = Session::new(workspace);
    let mut whole = Ledger::default();
    let mut times = Vec::new();
    for stage in STAGES.iter().filter(chosen) {
        println!("== {}: {}", stage.name, stage.about);
        let start = Instant::now();
        let ledger = (stage.run)(&mut session).unwrap_or_else(|error| {
            println!("{error:#}");
            Ledger::failure(stage.name)
        });
        times.push((stage.name, start.elapsed(), ledger.line()));
        whole.merge(ledger);
    }
    print_summary(&times, &whole, options.no_skips);
    Ok(whole.is_good(options.no_skips))
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--no-install" => options.no_install = true,
            "--no-skips" => options.no_skips = true,
            "--stage" => match words.next() {
                Some(name) if STAGES.iter().any(|stage| stage.name == name) => options.stages.push(name.clone()),
                Some(name) => bail!("no stage is called `{name}`; there are: {}", stage_names()),
                None => bail!("--stage needs a name: {}", stage_names()),
            },
            other => bail!("`{other}` is no option of `cargo xtask test`"),
        }
    }
    Ok(options)
}

fn stage_names() -> String {
    STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", ")
}

fn print_summary(times: &[(&str, Duration, String)], whole: &Ledger, no_skips: bool) {
    println!("\nstage           time");
    for (name, time, line) in times {
        println!("{name:12} {:>7.1} s  {line}", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|(_, time, _)| *time).sum();
    println!("{:12} {:>7.1} s", "all", total.as_secs_f64());
    if !whole.failed.is_empty() {
        println!("\nfailed:\n  {}", whole.failed.join("\n  "));
    }
    if !whole.skipped.is_empty() {
        let verdict = if no_skips { "skipped, which --no-skips forbids" } else { "skipped" };
        println!("\n{verdict}:\n{}", whole.skip_table().trim_end());
    }
    println!("\n{}", whole.line());
}

fn fmt(session: &mut Session) -> Result<Ledger> {
    Ok(Ledger::check(
        "fmt: run `cargo fmt --all`",
        succeeds(&mut session.workspace.cargo(&["fmt", "--all", "--check"]))?,
    ))
}

fn tidy_stage(session: &mut Session) -> Result<Ledger> {
    Ok(Ledger::check("tidy", tidy::run(session.workspace, &[])?))
}

fn clippy(session: &mut Session) -> Result<Ledger> {
    // In the tests' profile: what clippy compiles of other people's crates serves the build that follows.
    let words = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--profile", build::PROFILE];
    let mut command = session.workspace.cargo(&words);
    Ok(Ledger::check("clippy", succeeds(command.args(["--", "-D", "warnings"]))?))
}

fn build_stage(session: &mut Session) -> Result<Ledger> {
    session.built()?;
    Ok(Ledger::check("build", true))
}

/// Golden files, every documentation example, and documentation without a broken link.
fn goldens(session: &mut Session) -> Result<Ledger> {
    let mut ledger = session.run_group("goldens")?;
    let log = session.workspace.scratch("logs")?.join("doc-tests.log");
    let words = ["test", "--doc", "--workspace", "--locked", "--profile", build::PROFILE, "--", "--show-output"];
    let ended = process::logged(&mut session.workspace.cargo(&words), &log, DOC_TESTS_LIMIT)?;
    let output = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    let examples = judged("doc tests", &ended, &output, DOC_TESTS_LIMIT);
    if !examples.failed.is_empty() {
        println!("{}", output.trim_end());
    }
    ledger.merge(examples);
    let words = ["doc", "--workspace", "--no-deps", "--locked", "--quiet", "--profile", build::PROFILE];
    let pages = succeeds(session.workspace.cargo(&words).env("RUSTDOCFLAGS", "-D warnings"))?;
    ledger.merge(Ledger::check("rustdoc pages", pages));
    Ok(ledger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{GROUPS, HARDWARE};

    fn parsed(words: &[&str]) -> Result<Options> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn stages_are_chosen_by_name_and_a_wrong_name_lists_them() {
        let options = parsed(&["--stage", "fmt", "--no-install", "--stage", "unit"]).unwrap();
        assert_eq!(options.stages, ["fmt", "unit"]);
        assert!(options.no_install && !options.no_skips);
        let error = parsed(&["--stage", "units"]).unwrap_err().to_string();
        assert!(error.contains("`units`") && error.contains("fmt, tidy"), "{error}");
        assert!(parsed(&["--stage"]).is_err());
        assert!(parsed(&["unit"]).is_err());
    }

    #[test]
    fn every_group_of_test_programs_has_its_stage() {
        for group in GROUPS.iter().filter(|group| group.stage != HARDWARE) {
            assert!(STAGES.iter().any(|stage| stage.name == group.stage), "no stage {}", group.stage);
        }
    }
}
