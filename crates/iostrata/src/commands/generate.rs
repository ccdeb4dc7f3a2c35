//! `iostrata generate WHAT`: the references that are made from the tables in the program.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;

use super::run::with_signals;
use crate::output::print;

/// A page: its name, what it is, and how it is made.
struct Page {
    name: &'static str,
    about: &'static str,
    make: fn() -> String,
}

const PAGES: &[Page] = &[
    Page {
        name: "options",
        about: "every option, as Markdown (docs/options.md)",
        make: iostrata_spec::option_reference_markdown,
    },
    Page {
        name: "fio-compatibility",
        about: "how each option stands to fio's, as Markdown (docs/fio-compatibility.md)",
        make: iostrata_spec::compatibility_markdown,
    },
    Page {
        name: "result-schema",
        about: "the JSON schema of what --save writes (docs/result-schema.json)",
        make: || format!("{:#}\n", iostrata_result::schema()),
    },
];

/// The subcommand.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    with_signals(false, |_| {
        let page = arguments.first().and_then(|word| PAGES.iter().find(|page| word == page.name));
        match (page, arguments) {
            (Some(page), [_]) => print(&(page.make)()).map(|()| 0),
            _ => {
                let list: Vec<String> = PAGES.iter().map(|page| format!("  {:18} {}", page.name, page.about)).collect();
                bail!("iostrata generate takes one of these words:\n{}", list.join("\n"))
            }
        }
    })
}
