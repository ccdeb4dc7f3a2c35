//! Pure renderers of a [`RunResult`](iostrata_result::RunResult): fio's text and fio's JSON, and the line that tells
//! how far a run has come. They compute nothing: every number that they print is a field or a method of
//! `iostrata_result` or `iostrata_stats`; what is decided here is how it is written.

#![deny(missing_docs)]

pub mod csv;
mod date;
pub mod eta;
pub mod fio_json;
pub mod html;
mod json;
pub mod logs;
pub mod metrics;
pub mod number;
pub mod terse;
pub mod text;

use jiff::tz::TimeZone;

/// The version of fio whose formats are written.
pub const FIO_VERSION: &str = "fio-3.42";

/// What a renderer must know beside the result.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Called under the name fio: nothing is printed that fio would not print.
    pub as_fio: bool,
    /// The zone of the dates.
    pub time_zone: TimeZone,
}

impl Default for RenderOptions {
    /// Our own name, dates in the zone of this machine.
    fn default() -> Self {
        Self { as_fio: false, time_zone: TimeZone::system() }
    }
}

impl RenderOptions {
    /// The name that messages begin with.
    pub fn program(&self) -> &'static str {
        if self.as_fio { "fio" } else { "iostrata" }
    }
}
