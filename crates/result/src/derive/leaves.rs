//! Where each leaf of fio 3.42's JSON comes from.
//!
//! The table is fio's tree in fio's order. A renderer need not walk it, but a test can compare what it wrote with
//! what the table says, leaf by leaf, and a reader can look up a key.

mod table;

pub use table::FIO_JSON_LEAVES;

use super::{Direction, Disk, DiskCounts, Report, shown_share};
use crate::model::RunResult;

/// What stands at a leaf.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// A whole number.
    Whole(i128),
    /// A number that is written with six decimals.
    Real(f64),
    /// A string.
    Text(String),
}

/// One leaf.
#[derive(Clone, Copy, Debug)]
pub struct LeafRow {
    /// Path from the root: names joined by `.`, `[]` after an array, `*` for keys that are not fixed, and `DIRECTION`
    /// for `read`, `write`, `trim` or `mixed`.
    pub path: &'static str,
    /// Where its value comes from.
    pub source: Source,
}

/// Where the value of a leaf comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The run.
    Run(fn(&RunResult) -> Leaf),
    /// The entry.
    Job(fn(&Report<'_>) -> Leaf),
    /// One cell of a table of shares of the entry: the table, the cell, the least share that is shown.
    Share(for<'a> fn(&'a Report<'_>) -> &'a [f64], usize, f64),
    /// The row.
    Direction(fn(&Direction) -> Leaf),
    /// The disk.
    Disk(fn(&Disk<'_>) -> Leaf),
    /// The members of a disk; the leaf is there only when it has any.
    Members(fn(&DiskCounts) -> Leaf),
    /// Keys and values of what is named.
    Map(&'static str),
    /// Made by the renderer as told.
    Rendered(&'static str),
    /// Only there in runs that this program does not do yet; the reason.
    Absent(&'static str),
}

/// What the sources of a leaf are applied to.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The run.
    pub run: &'a RunResult,
    /// One entry.
    pub report: Option<&'a Report<'a>>,
    /// One of its rows.
    pub direction: Option<&'a Direction>,
    /// One disk.
    pub disk: Option<&'a Disk<'a>>,
}

impl Source {
    /// The value; `None` when the scope has nothing of the kind or the source is no single value.
    pub fn value(&self, scope: Scope<'_>) -> Option<Leaf> {
        match *self {
            Self::Run(field) => Some(field(scope.run)),
            Self::Job(field) => scope.report.map(field),
            Self::Share(table, cell, least) => {
                scope.report.map(|report| Leaf::Real(shown_share(table(report)[cell], least)))
            }
            Self::Direction(field) => scope.direction.map(field),
            Self::Disk(field) => scope.disk.map(field),
            Self::Members(field) => scope.disk.and_then(|disk| disk.aggregate.as_ref()).map(field),
            Self::Map(_) | Self::Rendered(_) | Self::Absent(_) => None,
        }
    }
}
