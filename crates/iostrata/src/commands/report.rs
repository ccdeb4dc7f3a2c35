//! `iostrata report RESULT`: a saved result, or fio's JSON, in any format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use iostrata_report::{RenderOptions, csv, fio_json, html, terse, text};
use iostrata_result::{DocumentError, RunResult, from_fio_json, from_json};

use super::run::with_signals;
use crate::output::Destination;

const USAGE: &str = "\
iostrata report RESULT [-o FILE] [--format=FORMAT]

Shows a result again: one that --save=FILE kept, or the JSON or JSON+ of fio 3.x (also of its clients).
RESULT is a file, or - for standard input.

  -o FILE, --output=FILE  where to (default: standard output)
  --format=FORMAT         html, normal, json, json+, terse, csv, csv-timeline
                          (default: html for a FILE that ends in .html or .htm, csv for .csv, json for .json,
                          else normal)
";

/// A format: its word, and how a result is written in it.
type Format = (&'static str, fn(&RunResult) -> String);

const FORMATS: &[Format] = &[
    ("html", |run| html::render(run, &RenderOptions::default())),
    ("normal", |run| text::render(run, &RenderOptions::default())),
    ("json", |run| fio_json::render(run, false, &RenderOptions::default())),
    ("json+", |run| fio_json::render(run, true, &RenderOptions::default())),
    ("terse", |run| terse::render(run, terse::Version::V3, false)),
    ("csv", csv::summary),
    ("csv-timeline", csv::timeline),
];

/// What the command line asks for.
struct Request {
    source: PathBuf,
    output: Destination,
    format: &'static Format,
}

/// The subcommand.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    with_signals(false, |_| {
        let Some(request) = parse(arguments)? else {
            crate::output::print(USAGE)?;
            return Ok(0);
        };
        request.output.check()?;
        let result = read(&request.source)?;
        request.output.write(&(request.format.1)(&result)).map(|()| 0)
    })
}

fn parse(arguments: &[OsString]) -> anyhow::Result<Option<Request>> {
    let (mut source, mut output, mut format) = (None, None, None);
    let mut words = arguments.iter();
    while let Some(argument) = words.next() {
        let word = argument.to_string_lossy();
        match word.split_once('=') {
            _ if matches!(&*word, "-h" | "--help") => return Ok(None),
            _ if matches!(&*word, "-o" | "--output") => {
                output = Some(PathBuf::from(words.next().context("-o needs the name of a file after it")?));
            }
            Some(("--output", value)) => output = Some(PathBuf::from(value)),
            Some(("--format", value)) => format = Some(value.to_owned()),
            _ if word.starts_with('-') && word != "-" => {
                bail!("report does not know `{word}`; `iostrata report --help` lists what it takes")
            }
            _ if source.is_some() => bail!("report shows one result, and `{word}` is the second"),
            _ => source = Some(PathBuf::from(argument)),
        }
    }
    let Some(source) = source else { bail!("report needs the name of a result\n\n{USAGE}") };
    let word = format.unwrap_or_else(|| by_name(output.as_deref()).to_owned());
    let Some(format) = FORMATS.iter().find(|(name, _)| *name == word) else {
        let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        bail!("`{word}` is no format; these are: {}", names.join(", "))
    };
    Ok(Some(Request { source, output: output.map_or(Destination::Stdout, Destination::File), format }))
}

/// The format that the name of a file asks for.
fn by_name(output: Option<&Path>) -> &'static str {
    match output.and_then(Path::extension).and_then(|end| end.to_str()) {
        Some("html" | "htm") => "html",
        Some("csv") => "csv",
        Some("json") => "json",
        _ => "normal",
    }
}

/// Reads a document of ours, or one of fio's.
fn read(source: &Path) -> anyhow::Result<RunResult> {
    let text = if source == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("standard input cannot be read")?
    } else {
        std::fs::read_to_string(source).with_context(|| format!("{} cannot be read", source.display()))?
    };
    let run = match from_json(&text) {
        // fio's has no version of ours, and may have text before it.
        Err(DocumentError::NotAResult | DocumentError::NotJson(_)) => from_fio_json(&text).map_err(anyhow::Error::from),
        read => read.map_err(anyhow::Error::from),
    };
    run.with_context(|| source.display().to_string())
}
