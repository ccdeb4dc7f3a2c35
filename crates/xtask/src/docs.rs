//! `cargo xtask docs`: makes the generated pages anew. The test that holds them to the program writes them when asked.

use anyhow::{Result, ensure};

use crate::process::succeeds;
use crate::workspace::Workspace;

/// The chore.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    ensure!(args.is_empty(), "`cargo xtask docs` takes no options");
    let words = ["test", "--quiet", "--locked", "--package", "iostrata", "--test", "docs"];
    succeeds(workspace.cargo(&words).env("UPDATE_DOCS", "1"))
}
