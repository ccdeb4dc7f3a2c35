//! Lines for what is written: patterns, data that compresses, data that repeats.

use crate::lines::{Check, Line};

const fn exact(about: &'static str, arguments: &'static str) -> Line {
    Line { about, arguments, given: &[], check: Check::Exact }
}

/// Options of data change nothing in what is moved.
pub const DATA: &[Line] = &[
    exact("buffer_pattern", "--rw=write --size=256k --buffer_pattern=0xdeadbeef"),
    exact("buffer_compress_percentage", "--rw=randwrite --size=256k --buffer_compress_percentage=66"),
    exact("buffer_compress_chunk", "--rw=write --size=256k --buffer_compress_percentage=50 --buffer_compress_chunk=4k"),
    exact("dedupe_percentage", "--rw=write --size=256k --dedupe_percentage=40"),
    exact("dedupe_mode", "--rw=write --size=1m --dedupe_percentage=40 --dedupe_mode=working_set"),
    exact(
        "dedupe_working_set_percentage",
        "--rw=write --size=1m --dedupe_percentage=40 --dedupe_mode=working_set --dedupe_working_set_percentage=20",
    ),
    exact(
        "dedupe_global",
        "--rw=write --size=1m --numjobs=2 --dedupe_percentage=40 --dedupe_mode=working_set --dedupe_global=1",
    ),
];
