//! Texts of `--version`, `--help`, `--cmdhelp`, `--enghelp`, `--showcmd`: all from the tables.

use std::fmt::Write;

use crate::cli::shell_quoted;
use crate::cli_options::{Argument, TOOL_OPTIONS};
use crate::engines;
use crate::job::{Job, OptionWord};
use crate::suggest;
use crate::table::{OptionSpec, all_options};

/// The fio version whose language and output this is.
pub const FIO_VERSION: &str = "fio-3.42";

pub(crate) fn version() -> String {
    format!("{FIO_VERSION}\n")
}

pub(crate) fn usage() -> String {
    let mut text = format!("{FIO_VERSION}\n[options] [job options] <job file(s)>\n");
    for row in TOOL_OPTIONS {
        let name = match row.argument {
            Argument::None => format!("--{}", row.name),
            Argument::Required(what) => format!("--{}={what}", row.name),
            Argument::Optional(what) => format!("--{}[={what}]", row.name),
        };
        let _ = writeln!(text, "  {name:<26} {}", row.summary);
    }
    text.push_str("\nEvery job option is an option here too; --cmdhelp lists them.\n");
    text
}

fn line(row: &OptionSpec) -> String {
    format!("{:<24}: {}\n", row.name, row.summary)
}

/// The card of one option.
fn card(row: &OptionSpec) -> String {
    let mut text = format!("{:>20}: {}\n", row.name, row.summary);
    if !row.aliases.is_empty() {
        let _ = writeln!(text, "{:>20}: {}", "alias", row.aliases.join(", "));
    }
    let _ = writeln!(text, "{:>20}: {}", "type", row.kind.describe());
    let _ = writeln!(text, "{:>20}: {}", "default", row.default.unwrap_or("no default"));
    if let Some(limits) = row.kind.limits() {
        let _ = writeln!(text, "{:>20}: {limits}", "range");
    }
    let mut heading = "valid values";
    for choice in row.kind.choices() {
        let _ = writeln!(text, "{heading:>20}: {:<10} {}", choice.word, choice.meaning);
        heading = "";
    }
    let _ = writeln!(text, "\n{}", row.doc);
    let _ = writeln!(text, "{}", crate::docs::status_sentence(&row.status));
    text
}

fn no_such(word: &str, names: impl Iterator<Item = &'static str>) -> String {
    match suggest::nearest(word, names) {
        Some(near) => format!("there is no option `{word}`; did you mean `{near}`?"),
        None => format!("there is no option `{word}`"),
    }
}

/// `--cmdhelp[=OPTION|all]`.
pub(crate) fn cmdhelp(what: &str) -> Result<String, String> {
    let rows = || all_options().filter(|row| row.engines.is_empty());
    match what {
        "" => Ok(rows().map(line).collect()),
        "all" => Ok(rows().map(card).collect::<Vec<_>>().join("\n")),
        name => match rows().find(|row| row.names().any(|n| n == name)) {
            Some(row) => Ok(card(row)),
            None => Err(no_such(name, rows().flat_map(OptionSpec::names))),
        },
    }
}

/// `--enghelp[=ENGINE[,OPTION]]`.
pub(crate) fn enghelp(what: &str) -> Result<String, String> {
    if what.is_empty() {
        let list = engines::ENGINES.iter().map(|e| format!("\t{}\n", e.name)).collect::<String>();
        return Ok(format!("Available IO engines:\n{list}"));
    }
    let (word, option) = what.split_once(',').unwrap_or((what, ""));
    let Some(engine) = engines::resolve(word) else {
        return Err(match suggest::nearest(word, engines::ENGINES.iter().map(|e| e.name)) {
            Some(near) => format!("there is no engine `{word}`; did you mean `{near}`?"),
            None => format!("there is no engine `{word}`"),
        });
    };
    let rows = || all_options().filter(|row| row.engines.contains(&engine));
    if option.is_empty() {
        return Ok(rows().map(line).collect());
    }
    match rows().find(|row| row.names().any(|n| n == option)) {
        Some(row) => Ok(card(row)),
        None => Err(no_such(option, rows().flat_map(OptionSpec::names))),
    }
}

fn words_text(words: &[OptionWord]) -> String {
    let mut text = String::new();
    for word in words.iter().filter(|w| w.name != "name") {
        let whole = if word.value.is_empty() { word.name.clone() } else { format!("{}={}", word.name, word.value) };
        let _ = write!(text, "{} ", shell_quoted(&format!("--{whole}")));
    }
    text
}

/// `--showcmd`: the jobs as one command line.
pub(crate) fn showcmd(global: &[OptionWord], jobs: &[Job]) -> String {
    let mut text = format!("fio {}", words_text(global));
    for job in jobs {
        let _ = write!(text, "{} {}", shell_quoted(&format!("--name={}", job.name)), words_text(&job.words));
    }
    text.push('\n');
    text
}
