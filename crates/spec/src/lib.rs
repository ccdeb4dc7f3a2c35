//! The job language: words to typed jobs. Pure: what it needs of the machine comes in as [`Host`] and [`Source`].

pub mod api;
pub mod job;

pub use api::*;
pub use job::*;
