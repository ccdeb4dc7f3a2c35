//! One run of one tool on one target, and what it says.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Case, target};
use crate::bench::Tool;
use crate::bench::cpu::{children_cpu, to_the_end};
use crate::process::shown;

const BLOCK_BYTES: u64 = 4096;
/// I/Os of the two runs under strace; their difference has no part of starting and reporting.
pub(super) const TRACED_IOS: (u64, u64) = (1_000, 5_000);

/// What one timed run reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) iops: f64,
    pub(super) p50_ns: f64,
    pub(super) p99_ns: f64,
    /// CPU time, user and system, of the process and its threads, without what starting and reporting take.
    pub(super) cpu_ns_per_io: f64,
}

/// A case with all that running it takes.
pub(super) struct Bench<'a> {
    pub(super) case: Case,
    pub(super) target: &'a Path,
    pub(super) iostrata: &'a Tool,
    pub(super) fio: &'a Tool,
    pub(super) scratch: &'a Path,
}

/// The job as options, without its target, length and seed.
pub(super) fn job(case: Case) -> Vec<String> {
    let Case { engine, rw, depth, batched, .. } = case;
    let size = target::SIZE;
    let mut words = vec!["--name=bench".to_owned(), "--direct=1".to_owned(), format!("--bs={BLOCK_BYTES}")];
    words.extend([
        format!("--ioengine={engine}"),
        format!("--rw={rw}"),
        format!("--size={size}"),
        format!("--iodepth={depth}"),
    ]);
    if batched {
        words.extend([
            "--iodepth_batch=8".to_owned(),
            "--iodepth_batch_complete_min=1".to_owned(),
            format!("--iodepth_batch_complete_max={depth}"),
        ]);
    }
    words
}

impl Bench<'_> {
    /// Runs the case for a second.
    pub(super) fn timed(&self, tool: &Tool, seed: u64, starting: Duration) -> Result<Reading> {
        let before = children_cpu()?;
        let words = ["--time_based".to_owned(), "--runtime=1".to_owned(), format!("--randseed={seed}")];
        let report = self.run(alone(tool), tool, &words)?;
        let cpu = (children_cpu()? - before).saturating_sub(starting);
        reading(&report, self.case.rw, cpu).with_context(|| format!("{} of {}", self.case.name(), tool.name))
    }

    /// CPU time of a run of a single I/O, the median of three: what starting and reporting take.
    pub(super) fn starting_cpu(&self, tool: &Tool) -> Result<Duration> {
        let mut times = [Duration::ZERO; 3];
        for time in &mut times {
            let before = children_cpu()?;
            self.run(alone(tool), tool, &[format!("--io_size={BLOCK_BYTES}")])?;
            *time = children_cpu()? - before;
        }
        times.sort_unstable();
        Ok(times[1])
    }

    /// System calls of all processes and threads of a tool, by strace.
    pub(super) fn calls_per_io(&self, tool: &Tool) -> Result<f64> {
        let counts = self.scratch.join("calls");
        let count = |ios: u64| {
            let mut strace = Command::new("strace");
            strace.args(["-f", "-c", "--summary-columns=calls,name", "--output"]).arg(&counts).arg(&tool.program);
            self.run(strace, tool, &[format!("--io_size={}", ios * BLOCK_BYTES)])?;
            calls(&std::fs::read_to_string(&counts)?)
        };
        let (few, many) = TRACED_IOS;
        Ok((count(many)? as f64 - count(few)? as f64) / (many - few) as f64)
    }

    /// Runs a command with the case's options and those of `words` to its end; its report.
    fn run(&self, mut command: Command, tool: &Tool, words: &[String]) -> Result<Value> {
        let output = self.scratch.join(format!("{}.json", tool.name));
        command.args(job(self.case)).arg(format!("--filename={}", self.target.display())).args(words);
        command.arg("--output-format=json").arg(format!("--output={}", output.display())).current_dir(self.scratch);
        to_the_end(&mut command, tool, self.scratch)?;
        let report = std::fs::read_to_string(&output)?;
        serde_json::from_str(&report).with_context(|| format!("{} wrote no JSON:\n{report}", shown(&command)))
    }
}

/// The tool in a session of its own: Linux shares the processors among sessions first (autogroup). fio begins one for
/// each job, so on a busy machine it would get a larger share than a program that stays in the caller's.
fn alone(tool: &Tool) -> Command {
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(&tool.program);
    command
}

/// The numbers of a report, which both tools write alike.
fn reading(report: &Value, rw: &str, cpu: Duration) -> Result<Reading> {
    let side = &report["jobs"][0][rw.trim_start_matches("rand")];
    let number = |value: &Value, what: &str| value.as_f64().with_context(|| format!("the report has no {what}"));
    let percentile = |key: &str| number(&side["clat_ns"]["percentile"][key], key);
    let ios = number(&side["total_ios"], "total_ios")?;
    let reading = Reading {
        iops: number(&side["iops"], "iops")?,
        p50_ns: percentile("50.000000")?,
        p99_ns: percentile("99.000000")?,
        cpu_ns_per_io: cpu.as_secs_f64() * 1e9 / ios,
    };
    // Ratios are taken of them.
    ensure!(reading.iops > 0.0 && reading.p50_ns > 0.0 && reading.p99_ns > 0.0, "nothing was measured: {reading:?}");
    Ok(reading)
}

/// The sum at the end of strace's table.
fn calls(table: &str) -> Result<u64> {
    let total = table.lines().find_map(|line| line.trim().strip_suffix(" total"));
    total.and_then(|number| number.trim().parse().ok()).with_context(|| format!("strace printed\n{table}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_direction_that_ran_are_read() {
        let empty = r#"{"iops":0,"total_ios":0,"clat_ns":{}}"#;
        let side = r#"{"iops":50.5,"total_ios":100,
            "clat_ns":{"percentile":{"50.000000":10,"99.000000":90}}}"#;
        let report = serde_json::from_str(&format!(r#"{{"jobs":[{{"read":{empty},"write":{side}}}]}}"#)).unwrap();
        let wanted = Reading { iops: 50.5, p50_ns: 10.0, p99_ns: 90.0, cpu_ns_per_io: 2_000.0 };
        assert_eq!(reading(&report, "randwrite", Duration::from_micros(200)).unwrap(), wanted);
        assert!(reading(&report, "randread", Duration::ZERO).is_err());
    }

    #[test]
    fn calls_are_the_sum_below_the_table() {
        let rule = "--------- -------\n";
        let table = format!("    calls syscall\n{rule}       18 wait4\n     1073 futex\n{rule}     1091 total\n");
        assert_eq!(calls(&table).unwrap(), 1091);
        assert!(calls("strace: not permitted\n").is_err());
    }
}
