//! `cargo xtask bench --scale`: what very many jobs or files cost iostrata and Debian's fio: time, CPU time and memory
//! from start to end of a run that does next to nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Tool, page};
use crate::build;
use crate::process::{self, Ended};
use crate::workspace::Workspace;

/// A run that takes this long hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// The lines, as options of either program.
const LINES: &[(&str, &str)] = &[
    ("2,000 jobs", "--name=j --ioengine=null --rw=read --bs=4k --size=64k --numjobs=2000 --thread --group_reporting"),
    ("10,000 jobs", "--name=j --ioengine=null --rw=read --bs=4k --size=64k --numjobs=10000 --thread --group_reporting"),
    (
        "1,000,000 files, made",
        "--name=j --rw=randread --bs=4k --filesize=4k --size=4000m --nrfiles=1000000 --openfiles=100 --create_only=1",
    ),
    (
        "1,000,000 files, 1,000 reads",
        "--name=j --rw=randread --bs=4k --filesize=4k --size=4000m --nrfiles=1000000 --openfiles=100 --number_ios=1000",
    ),
    (
        "1,000,000 files of a folder, 1,000 reads",
        "--name=k --rw=randread --bs=4k --opendir=. --openfiles=100 --number_ios=1000",
    ),
];

/// What a run took; `None` where the program refused it.
type Cost = Option<(f64, f64, u64)>;

/// `cargo xtask bench --scale [--program PATH]`.
pub(super) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    let program = match args {
        [] => build::release(workspace)?,
        [word, path] if word == "--program" => PathBuf::from(path),
        _ => bail!("`cargo xtask bench --scale` takes --program PATH and nothing else"),
    };
    let need = |name: &str| process::which(name).with_context(|| format!("needs `{name}`: apt-get install {name}"));
    let time = need("time")?;
    let fio = Tool { name: "fio", program: need("fio")? };
    let iostrata = Tool { name: "iostrata", program };
    let scratch = workspace.scratch("scale")?;
    let mut rows = String::new();
    for (name, line) in LINES {
        let ours = cost(&time, &iostrata, line, &scratch.join(iostrata.name))?;
        let theirs = cost(&time, &fio, line, &scratch.join(fio.name))?;
        let row = format!("| {name} | {} | {} |\n", shown(ours), shown(theirs));
        print!("{row}");
        rows += &row;
    }
    for tool in [&iostrata, &fio] {
        std::fs::remove_dir_all(scratch.join(tool.name))?;
    }
    let machine = page::Machine::here(workspace, &fio)?;
    page::write(workspace, page::Section::Scale, &body(&machine, &rows))?;
    Ok(true)
}

fn body(machine: &page::Machine, rows: &str) -> String {
    let lines: String = LINES.iter().map(|(name, line)| format!("{name}\n    {line}\n")).collect();
    format!(
        "## Many jobs, many files

One run of each program from start to end, one after the other, with all that belongs to it: reading the command line,
planning, making files, starting threads, the report. The I/O is next to nothing. Memory is the largest resident set.
\"refused\" is a run that the program does not do: fio 3.33 has at most 4,096 jobs. fio has `--alloc-size=2000000`
besides: without it, it ends at a million files for want of memory.

{}
| run | iostrata, s | CPU s | MiB | fio, s | CPU s | MiB |
|---|---:|---:|---:|---:|---:|---:|
{rows}
The runs, as options of either program:

```text
{lines}```
",
        machine.list()
    )
}

/// Seconds, CPU seconds and MiB as cells of a row.
fn shown(cost: Cost) -> String {
    match cost {
        Some((seconds, cpu_seconds, kib)) => format!("{seconds:.2} | {cpu_seconds:.2} | {}", kib.div_ceil(1024)),
        None => "refused | | ".to_owned(),
    }
}

fn cost(time: &Path, tool: &Tool, line: &str, folder: &Path) -> Result<Cost> {
    std::fs::create_dir_all(folder)?;
    let told = folder.with_extension("time");
    let mut command = Command::new(time);
    command.args(["-f", "%e %U %S %M", "-o"]).arg(&told).arg(&tool.program);
    if tool.name == "fio" {
        // Its memory for files does not grow by itself, and is made when the first job is read.
        command.arg("--alloc-size=2000000");
    }
    command.args(line.split_whitespace());
    command.arg(format!("--output={}", folder.with_extension("txt").display())).current_dir(folder);
    match process::logged(&mut command, &folder.with_extension("log"), LIMIT)? {
        Ended::Exited(status) if status.success() => {}
        Ended::Exited(_) => return Ok(None),
        other => bail!("{}: {other:?}", process::shown(&command)),
    }
    read(&std::fs::read_to_string(&told)?).map(Some)
}

/// Seconds, CPU seconds and KiB from `time`'s line.
pub(super) fn read(line: &str) -> Result<(f64, f64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [seconds, user, system, kib] = words[..] else { bail!("`time` said `{line}`") };
    Ok((seconds.parse()?, user.parse::<f64>()? + system.parse::<f64>()?, kib.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_time_says_becomes_cells_of_a_row() {
        assert_eq!(shown(Some(read("2.50 0.43 2.06 137404\n").unwrap())), "2.50 | 2.49 | 135");
        assert_eq!(shown(None).matches('|').count(), 2);
        assert!(read("Command exited with non-zero status 1").is_err());
    }
}
