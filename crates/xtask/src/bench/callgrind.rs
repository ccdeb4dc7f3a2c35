//! User instructions per I/O, counted by valgrind's callgrind: no luck and no other process has part in it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::cpu::to_the_end;
use super::{Case, Tool};
use crate::process;

const LONG_IOS: u64 = 60_000;
const SHORT_IOS: u64 = 10_000;

/// Which threads count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// All: nothing can hide.
    All,
    /// Without the first thread of the first process, which in fio calibrates its clock for a time, not for a count.
    AllButTheFirst,
}

/// Instructions of a long run minus those of a short one, divided by the I/Os between.
pub(crate) fn per_io(tool: &Tool, case: &Case, threads: Threads, scratch: &Path) -> Result<f64> {
    let long = run(tool, case, LONG_IOS, threads, scratch)?;
    let short = run(tool, case, SHORT_IOS, threads, scratch)?;
    Ok((long as f64 - short as f64) / (LONG_IOS - SHORT_IOS) as f64)
}

fn run(tool: &Tool, case: &Case, ios: u64, threads: Threads, scratch: &Path) -> Result<u64> {
    let folder = scratch.join("counts");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir(&folder)?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--separate-threads=yes", "--quiet"]);
    // Each process and thread writes a file of its own: `count.PID-THREAD`.
    command.arg(format!("--callgrind-out-file={}", folder.join("count.%p").display()));
    command.arg(&tool.program).args(case.options(ios, &scratch.join(format!("{}.json", tool.name))));
    command.current_dir(scratch);
    to_the_end(&mut command, tool, scratch)?;
    let mut counts = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        counts.extend(read(&std::fs::read_to_string(entry?.path())?));
    }
    let sum = summed(counts, threads);
    ensure!(sum > 0, "{}: callgrind counted nothing", process::shown(&command));
    Ok(sum)
}

/// Instructions of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    pid: u32,
    thread: u32,
    instructions: u64,
}

/// What one file says; `None` for one without counts, as callgrind writes for the process as a whole.
fn read(file: &str) -> Option<Count> {
    let number = |key: &str| {
        let value = file.lines().find_map(|line| line.strip_prefix(key))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (pid, thread) = (number("pid:")?, number("thread:")?);
    let instructions = number("totals:").or_else(|| number("summary:"))?;
    Some(Count { pid: u32::try_from(pid).ok()?, thread: u32::try_from(thread).ok()?, instructions })
}

fn summed(mut counts: Vec<Count>, threads: Threads) -> u64 {
    counts.sort_unstable();
    let left_out = usize::from(threads == Threads::AllButTheFirst);
    counts.iter().skip(left_out).map(|count| count.instructions).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# callgrind format\nversion: 1\npid: 70\nthread: 2\nevents: Ir\n\nfn=x\n1 5\n\ntotals: 1200\n";

    #[test]
    fn a_file_of_counts_is_read() {
        assert_eq!(read(FILE), Some(Count { pid: 70, thread: 2, instructions: 1200 }));
        assert_eq!(read("# callgrind format\npid: 70\n"), None);
    }

    #[test]
    fn the_first_thread_of_the_first_process_can_be_left_out() {
        let count = |pid, thread, instructions| Count { pid, thread, instructions };
        let counts = vec![count(71, 1, 500), count(70, 2, 30), count(70, 1, 7)];
        assert_eq!(summed(counts.clone(), Threads::All), 537);
        assert_eq!(summed(counts, Threads::AllButTheFirst), 530);
    }
}
