//! What the tests share.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod fio;

use iostrata_report::RenderOptions;
use jiff::tz::TimeZone;
use std::path::PathBuf;

/// Under our own name, dates in UTC.
pub(crate) fn ours() -> RenderOptions {
    RenderOptions { as_fio: false, time_zone: TimeZone::UTC }
}

/// Under the name fio, dates in UTC.
pub(crate) fn as_fio() -> RenderOptions {
    RenderOptions { as_fio: true, time_zone: TimeZone::UTC }
}

/// Compares with `tests/goldens/NAME`; with UPDATE_GOLDENS in the environment it is written anew.
#[track_caller]
pub(crate) fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    if golden != actual {
        let at = golden.lines().zip(actual.lines()).take_while(|(left, right)| left == right).count();
        panic!(
            "{name} differs from line {} on\n  golden: {:?}\n  actual: {:?}\n(UPDATE_GOLDENS=1 writes it anew)",
            at + 1,
            golden.lines().nth(at),
            actual.lines().nth(at)
        );
    }
}
