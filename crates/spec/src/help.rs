//! Texts of `--version`, `--help`, `--cmdhelp`, `--enghelp`, `--showcmd`: all from the tables.

use std::fmt::Write;
use std::rc::Rc;

use crate::cli::shell_quoted;
use crate::cli_options::{Argument, TOOL_OPTIONS};
use crate::engines;
use crate::job::{Job, OptionWord};
use crate::profile::Profile;
use crate::suggest;
use crate::table::{Lookup, OptionSpec, all_options, lookup};

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
    text.push_str("--profile=NAME runs a canned workload: tiobench or act.\n");
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
pub(crate) fn cmdhelp(what: &str, profile: Option<&Profile>) -> Result<String, String> {
    let own = profile.map_or(&[][..], |profile| profile.options);
    let rows = || all_options().filter(|row| row.engines.is_empty());
    match what {
        "" => {
            let own = own.iter().map(|option| format!("{:<24}: {}\n", option.name, option.summary));
            Ok(rows().map(line).chain(own).collect())
        }
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

fn word_text(name: &str, value: &str) -> String {
    let whole = if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") };
    format!("{} ", shell_quoted(&whole))
}

/// Words for a command line: what others depend on comes first, as fio needs it there.
fn words_text<'a>(words: impl Iterator<Item = &'a OptionWord>, engine: &str) -> String {
    let found = words.filter(|word| word.name != "name").filter_map(|word| match lookup(&word.name, engine) {
        Lookup::Found(row) => Some((row.rank(), word)),
        _ => None,
    });
    let mut ranked: Vec<(u8, &OptionWord)> = found.collect();
    // Only the base and the engine move: the order of the others tells which of several holds.
    ranked.sort_by_key(|(rank, _)| (*rank).min(2));
    ranked.into_iter().map(|(_, word)| word_text(&word.name, &word.value)).collect()
}

/// `--showcmd`: the jobs as one command line that makes the same jobs. `templates` has for each job the words that it
/// took from above.
pub(crate) fn showcmd(templates: &[Rc<Vec<OptionWord>>], jobs: &[Job]) -> String {
    let mut text = "fio ".to_owned();
    // A line has one template. Where jobs have different ones, each job says all of it.
    let common = templates.windows(2).all(|pair| Rc::ptr_eq(&pair[0], &pair[1]) || pair[0] == pair[1]);
    let front = templates.first().filter(|_| common);
    if let Some(template) = front {
        for word in template.iter().filter(|word| word.name != "name") {
            text.push_str(&word_text(&word.name, &word.value));
        }
    }
    for (job, template) in jobs.iter().zip(templates) {
        text.push_str(&word_text("name", &job.name));
        let above: &[OptionWord] = if front.is_some() { &[] } else { template };
        text.push_str(&words_text(above.iter().chain(&job.words), &job.engine));
        let said = |name: &str| template.iter().chain(&job.words).any(|word| word.name == name);
        if job.stonewall && !said("stonewall") {
            text.push_str("--stonewall ");
        }
        // Files are named after the section, whatever name is shown.
        if job.section != job.name && !said("filename") && !said("filename_format") {
            text.push_str(&word_text("filename_format", &format!("{}.$jobnum.$filenum", job.section)));
        }
    }
    text.push('\n');
    text
}
