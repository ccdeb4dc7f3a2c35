//! Plan, layout, offsets, pacing, buffers and the worker loop.

#![deny(missing_docs)]

pub mod buffers;
pub mod generate;
pub mod pace;
