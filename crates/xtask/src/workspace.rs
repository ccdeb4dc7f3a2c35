//! Where the workspace lies, and how its cargo is called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The workspace this program was built from.
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// Finds the workspace: cargo names the folder of this package, two levels below the root.
    pub(crate) fn find() -> Result<Workspace> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&package)
            .join("../..")
            .canonicalize()
            .with_context(|| format!("there is no workspace above {}", Path::new(&package).display()))?;
        Ok(Workspace { root, cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) })
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder for logs and other by-products, below cargo's target folder.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.target_dir().join("xtask").join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Cargo's target folder.
    pub(crate) fn target_dir(&self) -> PathBuf {
        self.root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
    }

    /// `cargo WORDS…` in the root, without what the outer `cargo run` left in the environment about this package.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        self.cleaned(Command::new(&self.cargo), words)
    }

    /// `PROGRAM WORDS…` in the root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Command {
        self.cleaned(Command::new(program), words)
    }

    fn cleaned(&self, mut command: Command, words: &[&str]) -> Command {
        command.args(words).current_dir(&self.root).stdin(std::process::Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }
}
