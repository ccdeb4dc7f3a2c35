//! Recording and replaying I/O.

use super::MAX32;
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Replay, summary, doc)
}

/// More traces than anybody merges.
const FACTORS: Kind = Kind::Numbers { most: 64 };

/// fio 3.33 ends with "iolog short read" whatever it is to merge.
const MERGED: Status =
    Status::Differs("fio 3.33 cannot read the traces that it is to merge, and replays the first alone");

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "write_iolog",
        Kind::Text,
        "record I/O to a file",
        "Version 3 of fio's text: a line for each file and each I/O with its time. What is recorded goes behind \
         what the file holds already; clones follow one another.",
    )
    .access(plain!(some Text, job.record)),
    row(
        "read_iolog",
        Kind::Names,
        "replay I/O from a file",
        "A recording of `write_iolog` (version 2 or 3), or a block trace in binary form. From a list `a:b` each clone \
         takes the next one. `-` is standard input; a socket in the file system may be named too. Files are opened and \
         closed, and I/O is done, as the recording says; its times count from the first I/O on. `rw`, `bs`, `size`, \
         `loops` and their like have no effect; `runtime` has, and `--readonly` leaves out what would write.",
    )
    .access(plain!(Names, job.replay.recordings))
    .status(Status::Differs(
        "a line that makes no sense is an error, which fio passes over; `wait` is in microseconds, as the manual says \
         and not as fio 3.33 does; trims in a text are carried out",
    )),
    row(
        "read_iolog_chunked",
        Kind::Bool,
        "read the recording while running",
        "In pieces, in little memory. From a pipe or socket the files must be named before the first I/O, and no I/O \
         may be larger than `bs` (or 1 MiB).",
    )
    .default("0")
    .access(flag!(job.replay.chunked)),
    row(
        "replay_no_stall",
        Kind::Bool,
        "replay without pauses",
        "As fast as it goes, whatever times the recording holds.",
    )
    .default("0")
    .access(flag!(job.replay.no_stall)),
    row("replay_redirect", Kind::Text, "replay onto one file or device", "Whatever files the recording names.")
        .access(plain!(some Text, job.replay.redirect)),
    row("replay_scale", Kind::Int { min: 1, max: MAX32 }, "divide offsets", "By this number.")
        .default("1")
        .access(int!(job.replay.scale)),
    row(
        "replay_align",
        Kind::Bytes { min: 0, max: 1 << 40 },
        "align offsets",
        "Down to a multiple of so many bytes, a power of two; lengths in block traces up to one.",
    )
    .default("0")
    .access(plain!(Bytes, job.replay.align_bytes)),
    row(
        "replay_time_scale",
        Kind::Int { min: 1, max: MAX32 },
        "replay faster or slower",
        "In percent: 200 is twice as fast.",
    )
    .default("100")
    .access(int!(job.replay.speed_percent)),
    row(
        "replay_skip",
        Kind::Words(words!["read": "reads", "write": "writes", "trim": "trims", "sync": "flushes"]),
        "kinds of I/O to leave out",
        "With commas between.",
    )
    .access(plain!(some Text, texts.replay_skip))
    .status(Status::Differs("fio 3.33 leaves nothing out of its own recordings, only of block traces")),
    row(
        "merge_blktrace_file",
        Kind::Text,
        "merge traces into a file",
        "The block traces that `read_iolog` lists become one, each counted from its own beginning; that one is \
         replayed, unless `--merge-blktrace-only` is given.",
    )
    .access(plain!(some Text, job.replay.merge_into))
    .status(MERGED),
    row("merge_blktrace_scalars", FACTORS, "time that each trace takes", "In percent of what it took, one for each.")
        .access(plain!(Numbers, job.replay.merge_percent))
        .status(MERGED),
    row("merge_blktrace_iters", FACTORS, "repetitions of each trace", "One whole number for each.")
        .access(plain!(Numbers, job.replay.merge_repeats))
        .status(MERGED),
];
