//! One run of `cargo xtask test`: its options, the shared build, and running test programs.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::build::{self, Built, TestProgram};
use crate::ledger::Ledger;
use crate::libtest;
use crate::process::{self, Ended};
use crate::workspace::Workspace;

/// Which test programs a stage runs, by the beginning of the file's name under `tests/`, and how.
pub(crate) struct Group {
    /// The stage that runs them.
    pub(crate) stage: &'static str,
    /// Beginnings of file names.
    prefixes: &'static [&'static str],
    /// One test at a time: mounts, timing, signals.
    one_by_one: bool,
    /// A program that takes longer hangs.
    limit: Duration,
}

/// Every file under a crate's `tests/` that is in none of these groups, and all tests beside the code, are `unit`.
pub(crate) const GROUPS: &[Group] = &[
    // Ten minutes of fuzzing, when it soaks, and some more.
    Group { stage: "unit", prefixes: &[], one_by_one: false, limit: Duration::from_secs(1200) },
    Group { stage: "goldens", prefixes: &["golden", "docs"], one_by_one: false, limit: Duration::from_secs(600) },
    Group {
        stage: "conformance",
        prefixes: &["conformance", "faults", "signals", "loop", "real"],
        one_by_one: true,
        limit: Duration::from_secs(1200),
    },
    Group {
        stage: "differential",
        prefixes: &["differential", "oracle"],
        one_by_one: true,
        limit: Duration::from_secs(1200),
    },
    Group { stage: "servers", prefixes: &["servers", "browser"], one_by_one: true, limit: Duration::from_secs(1200) },
    // Disks that few machines have: `soak` alone runs them.
    Group { stage: HARDWARE, prefixes: &["hardware"], one_by_one: true, limit: Duration::from_secs(1200) },
];

/// The stage of tests on real disks of kinds that CI does not have.
pub(crate) const HARDWARE: &str = "hardware";

/// The stage that runs the tests in `file` (`None`: beside the code).
fn stage_of(file: Option<&str>) -> &'static str {
    let matches =
        |group: &&Group| group.prefixes.iter().any(|prefix| file.is_some_and(|file| file.starts_with(prefix)));
    GROUPS.iter().find(matches).map_or("unit", |group| group.stage)
}

/// State that the stages share.
pub(crate) struct Session<'w> {
    /// The workspace under test.
    pub(crate) workspace: &'w Workspace,
    /// How long the parser is fuzzed, and from which seed.
    pub(crate) fuzz: Fuzz,
    build: Build,
}

/// What the fuzz tests get by their environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fuzz {
    /// In all, shared by the fuzz tests.
    pub(crate) seconds: u64,
    /// Another one, other inputs.
    pub(crate) seed: u64,
}

/// The shared build, made when first needed and tried once.
enum Build {
    NotYet,
    Failed,
    Done(Built),
}

impl<'w> Session<'w> {
    /// Nothing built yet.
    pub(crate) fn new(workspace: &'w Workspace) -> Session<'w> {
        Session { workspace, fuzz: Fuzz { seconds: 60, seed: 1 }, build: Build::NotYet }
    }

    /// The shared build.
    pub(crate) fn built(&mut self) -> Result<&Built> {
        if matches!(self.build, Build::NotYet) {
            self.build = Build::Failed;
            self.build = Build::Done(build::everything(self.workspace)?);
        }
        match &self.build {
            Build::Done(built) => Ok(built),
            Build::Failed | Build::NotYet => bail!("not run: the build failed"),
        }
    }

    /// Runs the test programs of a stage's group.
    pub(crate) fn run_group(&mut self, stage: &str) -> Result<Ledger> {
        let mut programs = self.built()?.tests.clone();
        programs.retain(|program| stage_of(program.file.as_deref()) == stage);
        let mut ledger = Ledger::default();
        for group in GROUPS.iter().filter(|group| group.stage == stage) {
            for program in &programs {
                ledger.merge(self.run_program(program, group)?);
            }
        }
        Ok(ledger)
    }

    fn run_program(&self, program: &TestProgram, group: &Group) -> Result<Ledger> {
        let name = program.name();
        let log = self.workspace.scratch("logs")?.join(format!("{}.log", name.replace('/', "-")));
        let mut command = self.workspace.command(&program.executable, &["--show-output"]);
        if group.one_by_one {
            command.arg("--test-threads=1");
        }
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.env("IOSTRATA_FUZZ_SECONDS", self.fuzz.seconds.to_string());
        command.env("IOSTRATA_FUZZ_SEED", self.fuzz.seed.to_string());
        let start = std::time::Instant::now();
        let ended = process::logged(&mut command, &log, group.limit)?;
        let output = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        let ledger = judged(&name, &ended, &output, group.limit);
        println!("  {name:32} {:>7.1} s  {}", start.elapsed().as_secs_f64(), ledger.line());
        if !ledger.failed.is_empty() {
            println!("{}\n  (also in {})", output.trim_end(), log.display());
        }
        Ok(ledger)
    }
}

/// The counts of a test program that ended so and printed that.
pub(crate) fn judged(name: &str, ended: &Ended, output: &str, limit: Duration) -> Ledger {
    let status = match ended {
        Ended::TimedOut => return Ledger::failure(format!("{name}: hung, killed after {} s", limit.as_secs())),
        Ended::Exited(status) => status,
    };
    match libtest::read(name, output) {
        Some(ledger) if status.success() || !ledger.failed.is_empty() => ledger,
        _ => Ledger::failure(format!("{name}: died ({status})")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);
    const GOOD: &str = "test result: ok. 2 passed; 0 failed; 0 ignored\n";

    #[test]
    fn a_file_belongs_to_the_stage_its_name_begins_with() {
        assert_eq!(stage_of(None), "unit");
        assert_eq!(stage_of(Some("parsing")), "unit");
        assert_eq!(stage_of(Some("golden_text")), "goldens");
        assert_eq!(stage_of(Some("faults_disk_full")), "conformance");
        assert_eq!(stage_of(Some("loop_device")), "conformance");
        assert_eq!(stage_of(Some("differential")), "differential");
    }

    #[test]
    fn every_group_runs_in_a_stage_of_its_own() {
        for group in GROUPS {
            assert_eq!(GROUPS.iter().filter(|other| other.stage == group.stage).count(), 1, "{}", group.stage);
        }
    }

    #[test]
    fn a_good_end_counts_what_the_harness_counted() {
        assert_eq!(
            judged("os", &Ended::Exited(ExitStatus::from_raw(0)), GOOD, LIMIT).line(),
            "2 passed, 0 failed, 0 skipped"
        );
    }

    #[test]
    fn a_crash_is_a_failure_whatever_was_printed_before() {
        let killed = Ended::Exited(ExitStatus::from_raw(11));
        assert_eq!(judged("os", &killed, GOOD, LIMIT).failed.len(), 1);
        assert_eq!(judged("os", &killed, "running 2 tests\n", LIMIT).failed.len(), 1);
    }

    #[test]
    fn a_hang_is_a_failure() {
        assert!(judged("os", &Ended::TimedOut, GOOD, LIMIT).failed[0].contains("hung"));
    }
}
