//! `RunResult`: the one versioned document that everything later reads.

pub mod model;

pub use model::*;
