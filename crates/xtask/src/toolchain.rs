//! The compiler and the C linker, checked before anything takes time.

use anyhow::{Result, bail};

use crate::process::{stdout_of, which};
use crate::workspace::Workspace;

/// The oldest compiler that builds this workspace, as `rust-version` in Cargo.toml says.
const OLDEST_RUSTC: (u32, u32) = (1, 95);

/// Fails with one clear sentence if the toolchain cannot build and check this workspace.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = stdout_of(&mut workspace.command(rustc, &["--version"]))?;
    let (major, minor) = OLDEST_RUSTC;
    match version(&said) {
        Some(found) if found >= OLDEST_RUSTC => {}
        _ => bail!("needs rustc {major}.{minor} or newer, found `{}`; bring it: rustup update stable", said.trim()),
    }
    if which("cc").is_none() && which("gcc").is_none() {
        bail!("needs a C compiler as linker; bring it: apt-get install gcc libc6-dev");
    }
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if stdout_of(&mut workspace.cargo(&[tool, "--version"])).is_err() {
            bail!("needs `cargo {tool}`; bring it: rustup component add {component}");
        }
    }
    println!("toolchain: {}", said.trim());
    Ok(())
}

/// Major and minor number in `rustc 1.95.0 (…)`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().nth(1)?.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(version("rustc 1.100.0-nightly"), Some((1, 100)));
        assert!(version("rustc 1.100.0-nightly") > Some(OLDEST_RUSTC));
        assert!(version("rustc 1.9.0") < Some(OLDEST_RUSTC));
        assert_eq!(version("rustc"), None);
    }
}
