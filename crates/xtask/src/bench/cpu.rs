//! CPU nanoseconds per I/O, from the kernel's accounting of a finished process and all its threads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::Value;

use super::{Case, Tool};
use crate::process::{self, Ended};

/// A run takes seconds; one that takes this long hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The long run's CPU time minus the short one's, divided by the I/Os between.
pub(crate) fn ns_per_io(tool: &Tool, case: &Case, cpu: usize, scratch: &Path) -> Result<f64> {
    let short_ios = case.ios / 10;
    let long = run(tool, case, case.ios, cpu, scratch)?;
    let short = run(tool, case, short_ios, cpu, scratch)?;
    let spent = long.checked_sub(short).with_context(|| format!("{}: the long run cost less", tool.name))?;
    Ok(spent.as_secs_f64() * 1e9 / (case.ios - short_ios) as f64)
}

/// CPU time, user and system, of one run on one core.
fn run(tool: &Tool, case: &Case, ios: u64, cpu: usize, scratch: &Path) -> Result<Duration> {
    let output = scratch.join(format!("{}.json", tool.name));
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &cpu.to_string()]).arg(&tool.program).args(case.options(ios, &output));
    command.current_dir(scratch);
    let before = children_cpu()?;
    to_the_end(&mut command, tool, scratch)?;
    let spent = children_cpu()? - before;
    check_ios(&std::fs::read_to_string(&output)?, ios).with_context(|| process::shown(&command))?;
    Ok(spent)
}

/// Runs a tool to its end; a failure is told with what it said.
pub(crate) fn to_the_end(command: &mut Command, tool: &Tool, scratch: &Path) -> Result<()> {
    let log = scratch.join(format!("{}.log", tool.name));
    let ended = process::logged(command.stdin(Stdio::null()), &log, LIMIT)?;
    let good = matches!(ended, Ended::Exited(status) if status.success());
    ensure!(good, "{}: {ended:?}\n{}", process::shown(command), std::fs::read_to_string(&log)?);
    Ok(())
}

/// CPU time of all children that have ended.
pub(crate) fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(us)?))
}

/// Both tools must have done exactly the work they were given, else their costs do not compare.
fn check_ios(json: &str, wanted: u64) -> Result<()> {
    let report: Value = serde_json::from_str(json)?;
    let done = |direction: &str| report["jobs"][0][direction]["total_ios"].as_u64();
    let total = done("read").context("no read.total_ios")? + done("write").context("no write.total_ios")?;
    ensure!(total == wanted, "did {total} I/Os, not {wanted}");
    Ok(())
}

/// The last core this process may use: the first ones serve most interrupts.
pub(crate) fn last_allowed() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status").context("the bench needs Linux")?;
    last_in_list(&status).context("/proc/self/status lists no core")
}

fn last_in_list(status: &str) -> Option<usize> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_core_of_any_list_is_found() {
        assert_eq!(last_in_list("Name:\tx\nCpus_allowed_list:\t0-1\n"), Some(1));
        assert_eq!(last_in_list("Cpus_allowed_list:\t0,2-5,9\n"), Some(9));
        assert_eq!(last_in_list("Cpus_allowed_list:\t3\n"), Some(3));
    }

    #[test]
    fn a_run_that_did_other_work_is_no_measurement() {
        let report = r#"{"jobs":[{"read":{"total_ios":60},"write":{"total_ios":40}}]}"#;
        assert!(check_ios(report, 100).is_ok());
        assert!(check_ios(report, 101).unwrap_err().to_string().contains("did 100 I/Os, not 101"));
        assert!(check_ios("{}", 0).is_err());
    }

    #[test]
    fn what_a_child_burnt_is_seen_after_its_end() {
        let before = children_cpu().unwrap();
        let burn = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        assert!(process::succeeds(Command::new("sh").args(["-c", burn])).unwrap());
        assert!(children_cpu().unwrap() > before);
    }
}
