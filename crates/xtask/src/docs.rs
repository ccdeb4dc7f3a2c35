//! `cargo xtask docs`: makes the generated pages anew. The test that holds them to the program writes them when asked.

use anyhow::{Result, bail};

use crate::known_faults;
use crate::process::succeeds;
use crate::workspace::Workspace;

/// `cargo xtask docs [--check]`.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    let words = ["test", "--quiet", "--locked", "--package", "iostrata", "--test", "docs"];
    let mut test = workspace.cargo(&words);
    match args {
        [] => Ok(known_faults::run(workspace, false)? && succeeds(test.env("UPDATE_DOCS", "1"))?),
        [word] if word == "--check" => {
            Ok(known_faults::run(workspace, true)? && succeeds(test.env_remove("UPDATE_DOCS"))?)
        }
        _ => bail!("`cargo xtask docs` takes no option but --check"),
    }
}
