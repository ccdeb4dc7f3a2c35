//! `iostrata report RESULT`: a saved result, or fio's JSON, in any format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use iostrata_report::RenderOptions;
use iostrata_result::{DocumentError, RunResult, from_fio_json, from_json};
use iostrata_spec::DocumentFormat;

use super::run::with_signals;
use crate::beside::rendered;
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

/// What the command line asks for.
struct Request {
    source: PathBuf,
    output: Destination,
    format: DocumentFormat,
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
        let document = rendered(&result, request.format, &RenderOptions::default());
        request.output.write(&document).map(|()| 0)
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
    let format = match format {
        None => by_name(output.as_deref()),
        Some(word) => DocumentFormat::of_word(&word).with_context(|| {
            let words = DocumentFormat::ALL.map(DocumentFormat::word);
            format!("`{word}` is no format; these are: {}", words.join(", "))
        })?,
    };
    Ok(Some(Request { source, output: output.map_or(Destination::Stdout, Destination::File), format }))
}

/// The format that the name of a file asks for.
fn by_name(output: Option<&Path>) -> DocumentFormat {
    match output.and_then(Path::extension).and_then(|end| end.to_str()) {
        Some("html" | "htm") => DocumentFormat::Html,
        Some("csv") => DocumentFormat::Csv,
        Some("json") => DocumentFormat::Json,
        _ => DocumentFormat::Normal,
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
