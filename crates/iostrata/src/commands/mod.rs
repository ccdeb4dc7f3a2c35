//! The subcommands, one file each.

pub(crate) mod generate;
pub(crate) mod quick;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod service;
