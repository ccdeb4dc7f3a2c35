//! What happens when I/O fails.

use crate::job::ContinueOn;
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Errors, summary, doc)
}

const COUNTED: Status =
    Status::Differs("I/Os that fail are among those issued and not among those done; fio counts them in its IOPS");

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "continue_on_error",
        Kind::Choice(words!["none": "no error", "read": "errors of reads",
        "write": "errors of writes", "io": "errors of both", "verify": "errors found by verification",
        "all": "every error", "0": "as none", "1": "as all"]),
        "errors that do not end the job",
        "EIO, and EILSEQ from verification, are passed over and counted; other errors need `ignore_error`.",
    )
    .default("none")
    .status(COUNTED)
    .access(choice!(job.errors.continue_on, "none" => ContinueOn::None, "read" => ContinueOn::Read,
        "write" => ContinueOn::Write, "io" => ContinueOn::Io, "verify" => ContinueOn::Verify,
        "all" => ContinueOn::All, "0" => ContinueOn::None, "1" => ContinueOn::All)),
    row(
        "ignore_error",
        Kind::Text,
        "error numbers to pass over",
        "Names or numbers with colons between; a list for reads, writes and verification each, with commas between: \
        `EAGAIN,ENOSPC:122`.",
    )
    .status(COUNTED)
    .access(plain!(some Text, texts.ignore_error)),
    row("error_dump", Kind::Bool, "print errors that are passed over", "On standard error, one line each.")
        .default("0")
        .access(flag!(job.errors.dump)),
];
