//! Generated pages: the reference of options, and how each stands to fio's.

use std::fmt::Write;

use crate::cli_options::TOOL_OPTIONS;
use crate::engines::absent_engine;
use crate::table::{Category, OptionSpec, Status, all_options};

/// One sentence on how an option stands to fio's.
pub(crate) fn status_sentence(status: &Status) -> String {
    match status {
        Status::Same => "As in fio.".into(),
        Status::Differs(how) => format!("Differs from fio: {how}."),
        Status::Ours => "Not in fio.".into(),
        Status::NoEffect(why) => format!("Accepted without effect: {why}."),
        Status::Refused { why, instead } => format!("Not supported: {why}. Instead: {instead}."),
        Status::NotYet => "Not carried out yet; refused.".into(),
    }
}

/// The same for an option of the job language: one whose engines are not there is refused with them.
fn stands(row: &OptionSpec) -> String {
    let reasons: Option<Vec<_>> = row.engines.iter().map(|engine| absent_engine(engine)).collect();
    match reasons.as_deref() {
        Some([first, ..]) if row.status == Status::NotYet => {
            format!("Refused with its engine, which {}. Instead: {}.", first.why, first.instead)
        }
        _ => status_sentence(&row.status),
    }
}

fn of_category(category: Category) -> impl Iterator<Item = &'static OptionSpec> {
    all_options().filter(move |row| row.category == category)
}

fn title(row: &OptionSpec) -> String {
    if row.engines.is_empty() { row.name.to_owned() } else { format!("{} ({})", row.name, row.engines.join(", ")) }
}

fn entry(row: &OptionSpec) -> String {
    let mut text = format!("### {}\n\n{}. {}\n\n", title(row), capitalised(row.summary), row.doc);
    if !row.aliases.is_empty() {
        let _ = writeln!(text, "- also: `{}`", row.aliases.join("`, `"));
    }
    let _ = writeln!(text, "- value: {}", row.kind.describe());
    if let Some(limits) = row.kind.limits() {
        let _ = writeln!(text, "- limits: {limits}");
    }
    for choice in row.kind.choices() {
        let _ = writeln!(text, "  - `{}`: {}", choice.word, choice.meaning);
    }
    if let Some(default) = row.default {
        let _ = writeln!(text, "- default: `{default}`");
    }
    if row.linux_only {
        text.push_str("- only on Linux\n");
    }
    let _ = writeln!(text, "- {}\n", stands(row));
    text
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `docs/options.md`: every job option.
pub fn option_reference_markdown() -> String {
    let mut text = String::from("# Job options\n\nGenerated from the option table; do not edit.\n\n");
    for category in Category::ALL {
        let _ = writeln!(text, "## {}\n", category.title());
        text.extend(of_category(category).map(entry));
    }
    text
}

/// `docs/fio-compatibility.md`: how each option and each flag of the command line stands to fio's.
pub fn compatibility_markdown() -> String {
    let mut text = String::from(
        "# Compatibility with fio\n\nGenerated from the option table; do not edit. An option that is not carried out \
         is refused, never ignored in silence.\n\n## Command line\n\n| option | how it stands |\n|---|---|\n",
    );
    for row in TOOL_OPTIONS {
        let _ = writeln!(text, "| `--{}` | {} |", row.name, status_sentence(&row.status));
    }
    for category in Category::ALL {
        let _ = writeln!(text, "\n## {}\n\n| option | how it stands |\n|---|---|", category.title());
        for row in of_category(category) {
            let _ = writeln!(text, "| `{}` | {} |", title(row), stands(row));
        }
    }
    text
}
