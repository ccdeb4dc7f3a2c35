//! What happens when I/O fails.

use crate::table::{Category, OptionSpec};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Errors, summary, doc)
}

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "continue_on_error",
        Kind::Words(words!["none": "no error", "read": "errors of reads",
        "write": "errors of writes", "io": "errors of both", "verify": "errors found by verification",
        "all": "every error", "0": "as none", "1": "as all"]),
        "errors that do not end the job",
        "They are counted.",
    )
    .default("none")
    .harmless(&["none", "0"]),
    row(
        "ignore_error",
        Kind::Text,
        "error numbers to pass over",
        "Names or numbers with colons between, for reads, \
        writes and trims.",
    ),
    row("error_dump", Kind::Bool, "print errors that are passed over", "With `ignore_error`.")
        .default("0")
        .harmless(&["0"]),
];
