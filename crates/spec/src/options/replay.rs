//! Recording and replaying I/O.

use super::MAX32;
use crate::table::{Category, OptionSpec};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Replay, summary, doc)
}

const FACTORS: Kind = Kind::Floats { most: 64, above: 0.0, max: 1e9 };

pub(super) static OPTIONS: &[OptionSpec] = &[
    row("write_iolog", Kind::Text, "record I/O to a file", "One line for each."),
    row("read_iolog", Kind::Text, "replay I/O from a file", "A recording or a block trace."),
    row("read_iolog_chunked", Kind::Bool, "read the recording while running", "In pieces.")
        .default("0")
        .harmless(&["0"]),
    row("replay_no_stall", Kind::Bool, "replay without pauses", "As fast as it goes.").default("0").harmless(&["0"]),
    row("replay_redirect", Kind::Text, "replay onto one device", "Whatever the recording names."),
    row("replay_scale", Kind::Int { min: 1, max: MAX32 }, "divide offsets", "By this number.")
        .default("1")
        .harmless(&["1"]),
    row("replay_align", Kind::Bytes { min: 0, max: 1 << 40 }, "align offsets and sizes", "To this many bytes.")
        .harmless(&["0"]),
    row("replay_time_scale", Kind::Int { min: 1, max: MAX32 }, "stretch time", "Percent.")
        .default("100")
        .harmless(&["100"]),
    row(
        "replay_skip",
        Kind::Words(words!["read": "reads", "write": "writes", "trim": "trims", "sync": "flushes"]),
        "kinds of I/O to leave out",
        "With commas between.",
    ),
    row("merge_blktrace_file", Kind::Text, "merge traces into a file", "Of those named by `read_iolog`."),
    row("merge_blktrace_scalars", FACTORS, "time of each trace", "Percent, one for each."),
    row("merge_blktrace_iters", FACTORS, "repetitions of each trace", "One number for each."),
];
