//! The job language: words to typed jobs. Pure: what it needs of the machine comes in as [`Host`] and [`Source`].
#![deny(missing_docs)]

pub mod api;
mod assemble;
mod cli;
mod cli_options;
mod docs;
mod draft;
mod durable;
pub mod engines;
mod grammar;
mod help;
pub mod job;
mod jobfile;
mod memory;
mod options;
mod pace;
mod parse;
mod process;
mod profile;
mod render;
mod report;
mod rules;
mod service;
mod suggest;
pub mod table;
#[cfg(test)]
mod table_tests;
mod tool;
pub mod value;
mod verify;
mod words;

pub use api::*;
pub use cli_options::{Argument, TOOL_OPTIONS, ToolSpec};
pub use docs::{compatibility_markdown, option_reference_markdown};
pub use draft::{Draft, Texts};
pub use help::FIO_VERSION;
pub use job::*;
pub use parse::parse_command_line;
pub use render::render_diagnostics;
pub use tool::{Copying, Debug, IdleReport, Service, Topic};
