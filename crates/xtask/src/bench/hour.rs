//! `cargo xtask bench --hour`: the memory of runs that log each of a million I/Os a second, up to an hour of them.
//!
//! The hour is one of virtual time. Its log would have some 80 GB: what is written is taken from the disk again while
//! the run goes on, as far as nobody needs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Tool, page};
use crate::build;
use crate::process;
use crate::workspace::Workspace;

/// Seconds of virtual time.
const LENGTHS_S: [u64; 4] = [1, 16, 256, 3600];

/// A device that answers after a microsecond: a million reads a second.
const LINE: &str = "--name=hour --ioengine=sim --sim_latency=960ns --sim_bandwidth=102400000k --sim_sigma=0 \
                    --rw=randread --bs=4k --size=1g --time_based --write_iops_log=hour --output=hour.txt";
const LOG: &str = "hour_iops.1.log";

/// How often the log is shortened, and what stays at its end.
const PAUSE: Duration = Duration::from_millis(200);
const KEPT_BYTES: u64 = 16 << 20;

/// What a run took.
struct Cost {
    length_s: u64,
    lines: u64,
    log_bytes: u64,
    cpu_s: f64,
    kib: u64,
}

/// `cargo xtask bench --hour`.
pub(super) fn run(workspace: &Workspace) -> Result<bool> {
    let need = |name: &str| process::which(name).with_context(|| format!("needs `{name}`: apt-get install {name}"));
    let (time, fio) = (need("time")?, Tool { name: "fio", program: need("fio")? });
    let program = build::release(workspace)?;
    let folder = workspace.scratch("hour")?;
    let mut rows = String::new();
    for length_s in LENGTHS_S {
        let row = row(&measure(&time, &program, &folder, length_s)?);
        print!("{row}");
        rows += &row;
    }
    let machine = page::Machine::here(workspace, &fio)?;
    page::write(workspace, page::Section::Logs, &body(&machine, &rows))?;
    Ok(true)
}

fn row(cost: &Cost) -> String {
    format!(
        "| {} | {} | {:.1} | {:.2} | {:.0} |\n",
        cost.length_s,
        cost.lines,
        cost.log_bytes as f64 / 1e9,
        cost.kib as f64 / 1024.0,
        cost.cpu_s * 1e9 / cost.lines.max(1) as f64
    )
}

fn body(machine: &page::Machine, rows: &str) -> String {
    format!(
        "## A log of each I/O

A million reads a second on a device in virtual time, with a line in a log for each (`write_iops_log`). Memory is the
largest resident set, CPU time that of the whole run: the simulated device, the worker, and the thread that writes. The
log is taken from the disk again while it grows.

{}
| seconds | lines | log, GB | MiB | CPU, ns per line |
|---:|---:|---:|---:|---:|
{rows}
```text
{LINE} --runtime=SECONDS
```
",
        machine.list()
    )
}

fn measure(time: &Path, program: &Path, folder: &Path, length_s: u64) -> Result<Cost> {
    let told = folder.join("time");
    let mut command = Command::new(time);
    command.args(["-f", "%e %U %S %M", "-o"]).arg(&told).arg(program).args(LINE.split_whitespace());
    command.arg(format!("--runtime={length_s}")).current_dir(folder);
    let mut child = command.spawn().with_context(|| process::shown(&command))?;
    let ended = shorten_while(&mut child, folder);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended?;
    let lines = lines_told(&std::fs::read_to_string(folder.join("hour.txt"))?)?;
    let log = folder.join(LOG);
    let log_bytes = std::fs::metadata(&log)?.len();
    std::fs::remove_file(&log)?;
    let (_, cpu_s, kib) = super::scale::read(&std::fs::read_to_string(&told)?)?;
    Ok(Cost { length_s, lines, log_bytes, cpu_s, kib })
}

/// Frees what was written of the log until the run has ended.
fn shorten_while(child: &mut Child, folder: &Path) -> Result<()> {
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "the run ended with {status}");
            return Ok(());
        }
        std::thread::sleep(PAUSE);
        for path in logs_in(folder)? {
            // It may just have got its name.
            let Ok(facts) = std::fs::metadata(&path) else { continue };
            let end = facts.len().saturating_sub(KEPT_BYTES) & !4095;
            if end > 0 {
                let length = format!("--length={end}");
                let mut command = Command::new("fallocate");
                // Its name may be another meanwhile: then the next look does it.
                process::succeeds(command.args(["--punch-hole", "--offset=0", &length]).arg(&path))?;
            }
        }
    }
}

/// The log under its temporary name, or its own.
fn logs_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().contains(LOG) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// How many I/Os the report tells of; each has its line.
fn lines_told(report: &str) -> Result<u64> {
    let total = report.split_once("issued rwts: total=").and_then(|(_, rest)| rest.split(',').next());
    total.context("a report without `issued rwts`")?.parse().context("`issued rwts`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_what_a_line_costs() {
        let cost = Cost { length_s: 16, lines: 16_000_000, log_bytes: 325_215_236, cpu_s: 4.8, kib: 11_264 };
        assert_eq!(row(&cost), "| 16 | 16000000 | 0.3 | 11.00 | 300 |\n");
        assert_eq!(lines_told("     issued rwts: total=42,0,0,0 short=0\n").unwrap(), 42);
        assert!(lines_told("nothing").is_err());
    }
}
