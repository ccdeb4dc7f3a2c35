//! The subcommands, one file each.

pub(crate) mod quick;
pub(crate) mod run;
