//! Checking of data.

use super::MAX32;
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Verify, summary, doc)
}

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "verify",
        Kind::Choice(words!["0": "nothing", "md5": "MD5", "crc64": "CRC-64", "crc32": "CRC-32",
        "crc32c-intel": "CRC-32C", "crc32c": "CRC-32C", "crc16": "CRC-16", "crc7": "CRC-7", "sha1": "SHA-1",
        "sha256": "SHA-256", "sha512": "SHA-512", "sha3-224": "SHA3-224", "sha3-256": "SHA3-256",
        "sha3-384": "SHA3-384", "sha3-512": "SHA3-512", "xxhash": "XXH32", "meta": "the header only",
        "pattern": "a pattern", "pattern_hdr": "a header and a pattern", "hdr_only": "as meta",
        "null": "nothing, at the cost of a check"]),
        "check data read against data written",
        "Each block written \
        carries what a read is checked by.",
    )
    .default("0")
    .harmless(&["0"]),
    row("do_verify", Kind::Bool, "read back after writing", "With `verify`.").default("1").harmless(&["0"]),
    row("verify_only", Kind::Flag, "check without writing", "What an earlier run wrote.").harmless(&["0"]),
    row(
        "verify_policy",
        Kind::Words(words!["completed": "all that completed",
        "fsynced": "all before the last flush"]),
        "which writes of a saved state are checked",
        "With \
        `verify_state_load`.",
    )
    .default("completed")
    .harmless(&["completed"]),
    row("verifysort", Kind::Text, "ignored", "fio ignores it too.").status(Status::NoEffect("fio ignores it too")),
    row("verifysort_nr", Kind::Text, "ignored", "fio ignores it too.").status(Status::NoEffect("fio ignores it too")),
    row(
        "verify_interval",
        Kind::Bytes { min: 1, max: 1 << 40 },
        "bytes under one header",
        "The block size unless \
        given.",
    ),
    row("verify_offset", Kind::Bytes { min: 0, max: 1 << 40 }, "where the header is in its interval", "Bytes.")
        .harmless(&["0"]),
    row(
        "verify_pattern",
        Kind::Pattern { offsets: true },
        "pattern to write and check",
        "`%o` stands for the block's offset.",
    ),
    row(
        "verify_pattern_interval",
        Kind::Bytes { min: 0, max: 1 << 40 },
        "begin the pattern again this often",
        "With \
        `%o` in it.",
    )
    .default("0")
    .harmless(&["0"]),
    row("verify_fatal", Kind::Bool, "stop at the first mismatch", "Else the whole is checked.")
        .default("0")
        .harmless(&["0"]),
    row("verify_dump", Kind::Bool, "write a mismatching block to files", "What was expected and what came.")
        .default("0")
        .harmless(&["0"]),
    row("verify_async", Kind::Int { min: 0, max: MAX32 }, "threads that check", "Beside the worker.")
        .default("0")
        .harmless(&["0"]),
    row("verify_async_cpus", Kind::Cpus, "CPUs of those threads", "A list such as `0,2-5`.").linux_only(),
    row(
        "verify_backlog",
        Kind::Bytes { min: 0, max: u64::MAX },
        "check after this many blocks",
        "Instead of at the \
        end.",
    )
    .harmless(&["0"]),
    row(
        "verify_backlog_batch",
        Kind::Int { min: 0, max: MAX32 },
        "blocks checked at a time",
        "As many as \
        `verify_backlog` unless given.",
    )
    .harmless(&["0"]),
    row("verify_state_save", Kind::Bool, "write the state of the verification", "At the end of the job.")
        .default("1")
        .harmless(&["0"]),
    row("verify_state_load", Kind::Bool, "check what a saved state lists", "From an earlier run.").harmless(&["0"]),
    row("verify_write_sequence", Kind::Bool, "check the number of the write", "In the header.").default("1"),
    row("verify_header_seed", Kind::Bool, "check the seed", "In the header.").default("1"),
    row("experimental_verify", Kind::Bool, "repeat the sequence instead of storing it", "Saves memory.")
        .harmless(&["0"]),
    row(
        "trim_percentage",
        Kind::Int { min: 0, max: 100 },
        "percent of written blocks to trim",
        "In jobs with \
        `verify`.",
    )
    .default("0")
    .harmless(&["0"]),
    row("trim_verify_zero", Kind::Bool, "trimmed blocks must read as zeroes", "In jobs with `verify`.").default("1"),
    row("trim_backlog", Kind::Bytes { min: 0, max: u64::MAX }, "trim after this many blocks", "In jobs with `verify`.")
        .harmless(&["0"]),
    row("trim_backlog_batch", Kind::Int { min: 0, max: MAX32 }, "blocks trimmed at a time", "In jobs with `verify`.")
        .harmless(&["0"]),
];
