//! `RunResult`: the one versioned document that everything later reads.
//!
//! [`model`] holds the raw integers of a run, [`mod@derive`] is the one place that computes numbers from them,
//! [`document`] reads and writes the document, [`import`](mod@import) reads fio's. [`timeline`] is the part that tells
//! what was done over time. [`series`] is what logs over time are made of; they are not in it.
#![deny(missing_docs)]

pub mod derive;
pub mod document;
pub mod import;
mod layout;
pub mod model;
pub mod series;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timeline;

pub use document::{DocumentError, from_json, schema, to_json};
pub use import::{ImportError, from_fio_json};
pub use model::*;
pub use timeline::{JobTimeline, PointDirection, Timeline, TimelinePoint};
