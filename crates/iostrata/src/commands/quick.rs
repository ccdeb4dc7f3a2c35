//! `iostrata quick [FOLDER]`: a first picture of the disk under a folder, on a temporary file of its own.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use iostrata_os::signals::Signals;
use iostrata_report::RenderOptions;
use iostrata_report::number::{Base, short};
use iostrata_result::RunResult;
use iostrata_result::derive::{self, Kind, Report};
use iostrata_run::execute;

use super::run::{Machine, context, machine_host, prepare, with_signals};
use crate::output::{Destination, complain, print};
use crate::watch::Watch;

const USAGE: &str = "\
iostrata quick [FOLDER] [--size=SIZE] [--runtime=TIME] [--save=FILE]

Measures the disk under FOLDER (default: the current one) on a temporary file, which it removes:
sequential and random, reads and writes, about half a minute.

  --size=SIZE     size of the file (default 1g)
  --runtime=TIME  time for each of the tests (default 5s)
  --save=FILE     keep the whole result
";

/// One line of the table: what is shown, and how it differs from the common options.
struct Test {
    title: &'static str,
    options: &'static [&'static str],
}

/// The writing test comes first: it fills the file with data that the reads then find on the disk.
const TESTS: &[Test] = &[
    Test { title: "sequential write, 1 MiB, depth 8", options: &["rw=write", "bs=1m", "iodepth=8"] },
    Test { title: "sequential read, 1 MiB, depth 8", options: &["rw=read", "bs=1m", "iodepth=8"] },
    Test { title: "random read, 4 KiB, depth 1", options: &["rw=randread", "bs=4k", "iodepth=1"] },
    Test { title: "random read, 4 KiB, depth 32", options: &["rw=randread", "bs=4k", "iodepth=32"] },
    Test { title: "random write, 4 KiB, depth 1", options: &["rw=randwrite", "bs=4k", "iodepth=1"] },
    Test { title: "random write, 4 KiB, depth 32", options: &["rw=randwrite", "bs=4k", "iodepth=32"] },
];

/// What the command line asks for.
struct Request {
    folder: PathBuf,
    size: String,
    runtime: String,
    save: Option<String>,
}

/// The subcommand.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    with_signals(false, |signals| carry_out(arguments, signals))
}

fn carry_out(arguments: &[OsString], signals: Signals) -> anyhow::Result<u8> {
    let Some(request) = parse(arguments)? else {
        print(USAGE)?;
        return Ok(0);
    };
    let file = Temporary::new(&request.folder)?;
    let direct = file.takes_direct();
    let words = command_line(&request, &file.0, direct);
    let invocation = iostrata_spec::parse_command_line(&words, &machine_host(), &Machine)
        .map_err(|diagnostics| anyhow::Error::msg(iostrata_spec::render_diagnostics(&diagnostics, false)))?;
    print(&format!("Measuring {} ({} file, {} a test) …\n", request.folder.display(), request.size, request.runtime))?;
    let (plan, guard) = prepare(&invocation)?;
    let eta = std::io::stdout().is_terminal();
    let mut watch = Watch::new(RenderOptions::default(), false, true, eta, 0);
    execute(&plan, context(&words, &invocation, guard, signals, eta), &mut watch);
    let Some(result) = watch.result else { bail!("the run ended without a result; please report it") };
    for worker in &result.workers {
        if let Some(text) = &worker.error_text {
            complain(&format!("iostrata: {text}\n"));
        }
    }
    let saved = request
        .save
        .map_or(Ok(()), |path| Destination::File(PathBuf::from(path)).write(&iostrata_result::to_json(&result)));
    print(&table(&result, direct))?;
    saved?;
    Ok(derive::exit_code(&result))
}

fn parse(arguments: &[OsString]) -> anyhow::Result<Option<Request>> {
    let mut request = Request { folder: PathBuf::from("."), size: "1g".into(), runtime: "5s".into(), save: None };
    let mut folder_given = false;
    for argument in arguments {
        let word = argument.to_string_lossy();
        match word.split_once('=') {
            _ if matches!(&*word, "-h" | "--help") => return Ok(None),
            Some(("--size", value)) => request.size = value.to_string(),
            Some(("--runtime", value)) => request.runtime = value.to_string(),
            Some(("--save", value)) => request.save = Some(value.to_string()),
            _ if word.starts_with('-') => {
                bail!("quick does not know `{word}`; `iostrata quick --help` lists what it takes")
            }
            _ if folder_given => bail!("quick measures one folder, and `{word}` is the second"),
            _ => {
                request.folder = PathBuf::from(argument);
                folder_given = true;
            }
        }
    }
    if !request.folder.is_dir() {
        bail!("{} is no folder: quick works on a temporary file in a folder", request.folder.display());
    }
    Ok(Some(request))
}

/// The jobs as a fio command line, the language that everything here speaks.
fn command_line(request: &Request, file: &Path, direct: bool) -> Vec<OsString> {
    let engine = if cfg!(target_os = "linux") && is_here("io_uring") { "io_uring" } else { "posixaio" };
    let mut words: Vec<OsString> = Vec::new();
    let mut filename = OsString::from("--filename=");
    filename.push(file.to_string_lossy().replace(':', "\\:"));
    words.push(filename);
    let common = [
        format!("--ioengine={engine}"),
        format!("--direct={}", u8::from(direct)),
        format!("--size={}", request.size),
        format!("--runtime={}", request.runtime),
        "--time_based".into(),
        "--refill_buffers".into(),
        "--stonewall".into(),
    ];
    words.extend(common.map(OsString::from));
    for test in TESTS {
        words.push(format!("--name={}", test.title).into());
        words.extend(test.options.iter().map(|option| OsString::from(format!("--{option}"))));
    }
    words
}

fn is_here(engine: &str) -> bool {
    iostrata_engine::registry::find(engine)
        .is_some_and(|spec| (spec.availability)() == iostrata_engine::Availability::Here)
}

/// The file of the tests; removed when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(folder: &Path) -> anyhow::Result<Temporary> {
        let path = folder.join(format!(".iostrata-quick.{}", std::process::id()));
        std::fs::File::create_new(&path).with_context(|| format!("cannot make a file in {}", folder.display()))?;
        Ok(Temporary(path))
    }

    /// Whether its file system takes unbuffered I/O; else the page cache is measured too, and the table says so.
    fn takes_direct(&self) -> bool {
        let flags = iostrata_os::file::OpenFlags { read: true, direct: true, ..Default::default() };
        iostrata_os::file::open(&self.0, flags, 0).is_ok()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing to tell if it is gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn table(result: &RunResult, direct: bool) -> String {
    let mut text = format!("\n{:<34}{:>12}{:>10}{:>11}{:>11}{:>11}\n", "", "MB/s", "IOPS", "p50", "p99", "max");
    for report in derive::reports(result) {
        text.push_str(&row(&report));
    }
    if !direct {
        text.push_str("\nThis file system takes no unbuffered I/O: the page cache took part in these numbers.\n");
    }
    text
}

fn row(report: &Report<'_>) -> String {
    let kind = if report.direction(Kind::Read).is_some_and(|direction| !direction.is_empty()) {
        Kind::Read
    } else {
        Kind::Write
    };
    let Some(direction) = report.direction(kind) else { return String::new() };
    let latency = |percent: f64| {
        direction
            .clat
            .percentiles
            .iter()
            .flatten()
            .find(|listed| listed.p == percent)
            .map_or("-".into(), |listed| time(listed.ns))
    };
    format!(
        "{:<34}{:>12.1}{:>10}{:>11}{:>11}{:>11}\n",
        report.job.name,
        direction.bw_bytes() as f64 / 1e6,
        short(u128::from(direction.iops_whole()), 4, Base::Decimal),
        latency(50.0),
        latency(99.0),
        time(direction.clat.max_ns()),
    )
}

/// A time in the unit that suits it.
fn time(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        1_000_000..10_000_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}
