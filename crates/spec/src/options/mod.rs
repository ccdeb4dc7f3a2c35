//! The rows, one file per category.

use crate::table::OptionSpec;

/// Reads and writes an on/off field.
macro_rules! flag {
    ($($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| if let crate::value::Value::Flag(on) = v { d.$($field).+ = on },
            |d: &crate::draft::Draft| Some(crate::value::Value::Flag(d.$($field).+)),
        )
    };
    (not $($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| if let crate::value::Value::Flag(on) = v { d.$($field).+ = !on },
            |d: &crate::draft::Draft| Some(crate::value::Value::Flag(!d.$($field).+)),
        )
    };
}

/// Reads and writes a field of a small integer type; the row's limits are within the type's.
macro_rules! int {
    (some $($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| {
                if let crate::value::Value::Int(n) = v {
                    d.$($field).+ = n.try_into().ok();
                }
            },
            |d: &crate::draft::Draft| d.$($field).+.map(|n| crate::value::Value::Int(n.into())),
        )
    };
    ($($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| {
                if let crate::value::Value::Int(n) = v {
                    d.$($field).+ = n.try_into().unwrap_or(d.$($field).+);
                }
            },
            |d: &crate::draft::Draft| Some(crate::value::Value::Int(d.$($field).+.into())),
        )
    };
}

/// Reads and writes a field that holds the value of one variant as it is.
macro_rules! plain {
    (some $variant:ident, $($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| if let crate::value::Value::$variant(x) = v { d.$($field).+ = Some(x) },
            |d: &crate::draft::Draft| d.$($field).+.clone().map(crate::value::Value::$variant),
        )
    };
    ($variant:ident, $($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| if let crate::value::Value::$variant(x) = v { d.$($field).+ = x },
            |d: &crate::draft::Draft| Some(crate::value::Value::$variant(d.$($field).+.clone())),
        )
    };
}

/// Reads and writes a field that has a number for each direction, or none; what is given later is added.
macro_rules! each {
    ($($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| {
                if let crate::value::Value::PerDirection(new) = v {
                    d.$($field).+ = crate::options::merged(&d.$($field).+, new)
                }
            },
            |d: &crate::draft::Draft| {
                let three = d.$($field).+;
                (three != [None; 3]).then_some(crate::value::Value::PerDirection(three))
            },
        )
    };
}

/// Reads and writes a number that may not be given; trailing zeros are not kept.
macro_rules! fraction {
    ($($field:ident).+) => {
        (
            |d: &mut crate::draft::Draft, v| {
                if let crate::value::Value::Floats(list) = v {
                    d.$($field).+ = list.values.first().copied();
                }
            },
            |d: &crate::draft::Draft| d.$($field).+.map(crate::value::Value::number),
        )
    };
}

/// Reads and writes a field of an enumeration: the first word of each variant is the one it is read back as.
macro_rules! choice {
    ($($field:ident).+, $($word:literal => $variant:expr),+ $(,)?) => {
        (
            |d: &mut crate::draft::Draft, v| {
                let table = [$(($word, $variant)),+];
                if let crate::value::Value::Choice(word) = v
                    && let Some((_, variant)) = table.iter().find(|(w, _)| *w == word)
                {
                    d.$($field).+ = *variant;
                }
            },
            |d: &crate::draft::Draft| {
                let table = [$(($word, $variant)),+];
                table.iter().find(|(_, x)| *x == d.$($field).+).map(|(w, _)| crate::value::Value::Choice(w))
            },
        )
    };
}

/// A choice.
macro_rules! words {
    ($($word:literal : $meaning:literal),+ $(,)?) => {
        &[$(crate::value::Choice { word: $word, meaning: $meaning }),+]
    };
}

mod buffers;
mod depth;
mod engine_other;
mod engine_sim;
mod engine_uring;
mod errors;
mod files;
mod identity;
mod measure;
mod pacing;
mod replay;
pub(crate) mod shape;
mod time;
mod verify;
mod zones;

/// What was given replaces what was; a direction of which nothing is said keeps what it has.
fn merged<T: Clone>(old: &[Option<T>; 3], new: [Option<T>; 3]) -> [Option<T>; 3] {
    let mut old = old.iter();
    new.map(|one| one.or(old.next().cloned().flatten()))
}

/// Everything.
pub(crate) static TABLES: &[&[OptionSpec]] = &[
    identity::OPTIONS,
    files::OPTIONS,
    shape::OPTIONS,
    depth::OPTIONS,
    time::OPTIONS,
    pacing::OPTIONS,
    buffers::OPTIONS,
    verify::OPTIONS,
    zones::OPTIONS,
    replay::OPTIONS,
    measure::OPTIONS,
    errors::OPTIONS,
    engine_uring::OPTIONS,
    engine_sim::OPTIONS,
    engine_other::OPTIONS,
];

/// The largest value of an option that lives in 32 bits.
const MAX32: i64 = u32::MAX as i64;
