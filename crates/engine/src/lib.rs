//! I/O engines behind one trait, one file per engine.
//!
//! An engine takes requests that are complete (file, offset, length, memory) and carries them out. It never sees an
//! option's name, never draws an offset and never reads a clock for statistics: the worker loop in `iostrata-run`
//! does that. [`api`] is the contract, [`registry`] the list of what exists.

pub mod api;

pub use api::*;
