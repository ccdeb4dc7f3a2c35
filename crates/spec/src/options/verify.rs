//! Checking of data.

use super::MAX32;
use crate::job::{VerifyMethod, VerifyPolicy};
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Verify, summary, doc)
}

const BLOCKS: Status = Status::Differs(
    "blocks carry the header of fio 3.42; those that fio 3.33 wrote are checked too, but not with `verify_offset` and \
     not by its sha256 and sha512, which are sums of its own",
);

const STATE: Status = Status::Differs("the file has the name that fio gives it and a form of our own: lines of text");

const TRIMMED: Status = Status::Differs(
    "fio trims nothing without trim_backlog, and is ended by a fault of its own in jobs that do not trim by `rw`",
);

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
    .status(BLOCKS)
    .access(choice!(
        job.verify.method, "0" => VerifyMethod::None, "md5" => VerifyMethod::Md5, "crc64" => VerifyMethod::Crc64,
        "crc32" => VerifyMethod::Crc32, "crc32c" => VerifyMethod::Crc32c, "crc32c-intel" => VerifyMethod::Crc32c,
        "crc16" => VerifyMethod::Crc16, "crc7" => VerifyMethod::Crc7, "sha1" => VerifyMethod::Sha1,
        "sha256" => VerifyMethod::Sha256, "sha512" => VerifyMethod::Sha512, "sha3-224" => VerifyMethod::Sha3_224,
        "sha3-256" => VerifyMethod::Sha3_256, "sha3-384" => VerifyMethod::Sha3_384,
        "sha3-512" => VerifyMethod::Sha3_512, "xxhash" => VerifyMethod::Xxhash, "meta" => VerifyMethod::Meta,
        "hdr_only" => VerifyMethod::Meta, "pattern" => VerifyMethod::Pattern,
        "pattern_hdr" => VerifyMethod::PatternHeader, "null" => VerifyMethod::Null
    )),
    row("do_verify", Kind::Bool, "read back after writing", "With `verify`.")
        .default("1")
        .access(flag!(job.verify.read_back)),
    row("verify_only", Kind::Flag, "check without writing", "What an earlier run wrote.")
        .status(Status::Differs("writes that are left out are not counted as done"))
        .access(flag!(job.verify.only)),
    row(
        "verify_policy",
        Kind::Choice(words!["completed": "all that completed",
        "fsynced": "all before the last flush"]),
        "which writes of a saved state are checked",
        "With \
        `verify_state_load`.",
    )
    .default("completed")
    .status(STATE)
    .access(choice!(job.verify.policy, "completed" => VerifyPolicy::Completed, "fsynced" => VerifyPolicy::Fsynced)),
    row("verifysort", Kind::Text, "ignored", "fio ignores it too.").status(Status::NoEffect("fio ignores it too")),
    row("verifysort_nr", Kind::Text, "ignored", "fio ignores it too.").status(Status::NoEffect("fio ignores it too")),
    row(
        "verify_interval",
        Kind::Bytes { min: 1, max: 1 << 40 },
        "bytes under one header",
        "The block size unless \
        given.",
    )
    .access(plain!(some Bytes, job.verify.interval_bytes)),
    row("verify_offset", Kind::Bytes { min: 0, max: 1 << 40 }, "where the header is in its interval", "Bytes.")
        .default("0")
        .access(plain!(Bytes, job.verify.header_offset_bytes)),
    row(
        "verify_pattern",
        Kind::Pattern { offsets: true },
        "pattern to write and check",
        "`%o` stands for the block's offset.",
    )
    .access(plain!(some Pattern, job.verify.pattern)),
    row(
        "verify_pattern_interval",
        Kind::Bytes { min: 0, max: 1 << 40 },
        "begin the pattern again this often",
        "With \
        `%o` in it.",
    )
    .default("0")
    .access(plain!(Bytes, job.verify.pattern_interval_bytes)),
    row("verify_fatal", Kind::Bool, "stop at the first mismatch", "Else the whole is checked.")
        .default("0")
        .access(flag!(job.verify.fatal)),
    row("verify_dump", Kind::Bool, "write a mismatching block to files", "What was expected and what came.")
        .default("0")
        .access(flag!(job.verify.dump)),
    row("verify_async", Kind::Int { min: 0, max: MAX32 }, "threads that check", "Beside the worker.")
        .default("0")
        .access(int!(job.verify.threads)),
    row("verify_async_cpus", Kind::Cpus, "CPUs of those threads", "A list such as `0,2-5`.")
        .linux_only()
        .access(plain!(Cpus, job.verify.thread_cpus)),
    row(
        "verify_backlog",
        Kind::Bytes { min: 0, max: u64::MAX },
        "check after this many blocks",
        "Instead of at the \
        end.",
    )
    .default("0")
    .access(plain!(Bytes, job.verify.backlog)),
    row(
        "verify_backlog_batch",
        Kind::Int { min: 0, max: MAX32 },
        "blocks checked at a time",
        "As many as \
        `verify_backlog` unless given.",
    )
    .default("0")
    .access(int!(job.verify.backlog_batch)),
    row("verify_state_save", Kind::Bool, "write the state of the verification", "At the end of the job.")
        .default("1")
        .status(STATE)
        .access(flag!(job.verify.save_state)),
    row("verify_state_load", Kind::Bool, "check what a saved state lists", "From an earlier run.")
        .default("0")
        .status(STATE)
        .access(flag!(job.verify.load_state)),
    row("verify_write_sequence", Kind::Bool, "check the number of the write", "In the header.")
        .default("1")
        .access(flag!(job.verify.check_sequence)),
    row("verify_header_seed", Kind::Bool, "check the seed", "In the header.")
        .default("1")
        .access(flag!(job.verify.check_seed)),
    row("experimental_verify", Kind::Bool, "repeat the sequence instead of storing it", "Saves memory.")
        .default("0")
        .status(Status::NoEffect("the record of what was written takes 24 bytes a block")),
    row(
        "trim_percentage",
        Kind::Int { min: 0, max: 100 },
        "percent of written blocks to trim",
        "In jobs with \
        `verify`.",
    )
    .default("0")
    .status(TRIMMED)
    .access(int!(job.verify.trim_percent)),
    row(
        "trim_verify_zero",
        Kind::Bool,
        "trimmed blocks must read as zeroes",
        "In jobs with `verify`. Off: they are not read back.",
    )
    .default("1")
    .access(flag!(job.verify.trimmed_is_zero)),
    row(
        "trim_backlog",
        Kind::Bytes { min: 0, max: u64::MAX },
        "trim after this many blocks",
        "In jobs with `verify`: whenever so many more were written. What is left is trimmed before it is read back.",
    )
    .default("0")
    .status(TRIMMED)
    .access(plain!(Bytes, job.verify.trim_backlog)),
    row(
        "trim_backlog_batch",
        Kind::Int { min: 0, max: MAX32 },
        "blocks trimmed at a time",
        "In jobs with `verify`; as many as `trim_backlog` unless given.",
    )
    .default("0")
    .access(int!(job.verify.trim_batch)),
];
