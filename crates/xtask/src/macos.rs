//! Type-checks the workspace for macOS on a Debian machine, from Debian's packages alone.
//!
//! rustup offers the standard library of macOS, but this must also work where only Debian's and Rust's package
//! registries can be reached. So the library is built from Debian's source package, with the compiler of the very
//! same version, both unpacked into a cache folder and never installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::ledger::Ledger;
use crate::packages;
use crate::process::{self, stdout_of, succeeds};
use crate::workspace::Workspace;

const TARGET: &str = "aarch64-apple-darwin";

/// A folder that is being filled: this, and the id of the process that does it.
const PART: &str = "part-";

/// Debian's compiler for its browsers, newer than its ordinary one; the library's source; and what they load.
/// Two more carry their version in their name: see [`versioned_packages`].
const PACKAGES: &[&str] = &[
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "libstd-rust-web-dev",
    "libgit2-1.5",
    "libhttp-parser2.9",
    "libmbedcrypto7",
    "libmbedtls14",
    "libmbedx509-1",
];

/// `cargo xtask macos-check`.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    ensure!(args.is_empty(), "`macos-check` takes no options");
    let ledger = stage(workspace)?;
    print!("{}", ledger.skip_table());
    Ok(ledger.is_good(true))
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(workspace: &Workspace) -> Result<Ledger> {
    const NAME: &str = "macOS check";
    if cfg!(target_os = "macos") {
        // Here the build stage has compiled every crate for macOS already.
        return Ok(Ledger::check(NAME, true));
    }
    for program in ["apt-get", "apt-cache", "dpkg-deb"] {
        if process::which(program).is_none() {
            return Ok(Ledger::skip(NAME, program, "run it on Debian 12 or newer, or on macOS"));
        }
    }
    Ok(Ledger::check(NAME, check(workspace, &toolchain()?)?))
}

/// Type-checks libraries and programs, without this one: it drives Debian.
fn check(workspace: &Workspace, toolchain: &Path) -> Result<bool> {
    let bin = toolchain.join("usr/bin");
    let words = ["check", "--workspace", "--exclude", "xtask", "--lib", "--bins", "--locked", "--quiet"];
    let mut command = workspace.command(bin.join("cargo"), &words);
    let search = std::env::join_paths(
        std::iter::once(bin.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    command
        .args(["-Zbuild-std=std,panic_abort,panic_unwind,test", "--target", TARGET])
        .env("PATH", search)
        .env("LD_LIBRARY_PATH", library_folder(toolchain)?)
        .env("RUSTC", bin.join("rustc"))
        .env("RUSTDOC", bin.join("rustdoc"))
        .env("CARGO_TARGET_DIR", workspace.target_dir().join("macos"))
        // `-Z` options are for nightly compilers only, unless one insists.
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTUP_TOOLCHAIN");
    succeeds(&mut command)
}

/// `usr/lib/x86_64-linux-gnu`, or what this machine's architecture calls it.
fn library_folder(toolchain: &Path) -> Result<PathBuf> {
    let folders = std::fs::read_dir(toolchain.join("usr/lib"))?;
    let mut paths = folders.flatten().map(|entry| entry.path());
    paths.find(|path| path.to_string_lossy().ends_with("-linux-gnu")).context("the toolchain has no libraries")
}

/// The unpacked toolchain: from the cache, else brought now.
fn toolchain() -> Result<PathBuf> {
    let cache = cache_folder()?;
    let whole = cache.join("toolchain");
    if !whole.exists() {
        std::fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        remove_abandoned(&cache)?;
        // Filled under a name of its own and renamed when whole: an interrupted download leaves nothing half-made.
        let part = Part(cache.join(format!("{PART}{}", std::process::id())));
        std::fs::create_dir(&part.0)?;
        fill(&part.0)?;
        let renamed = std::fs::rename(part.0.join("root"), &whole);
        // Another run may have been first, with the same content.
        ensure!(whole.exists(), "cannot rename the toolchain to {}: {renamed:?}", whole.display());
    }
    Ok(whole)
}

fn cache_folder() -> Result<PathBuf> {
    let base = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => Path::new(&home).join(".cache"),
        _ => bail!("neither XDG_CACHE_HOME nor HOME is set"),
    };
    Ok(base.join("iostrata-macos"))
}

/// Removes what a killed run left behind.
fn remove_abandoned(cache: &Path) -> Result<()> {
    for entry in std::fs::read_dir(cache)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PART).map(|pid| Path::new("/proc").join(pid));
        if owner.is_some_and(|process| !process.exists()) {
            std::fs::remove_dir_all(entry.path()).with_context(|| format!("cannot remove {name}"))?;
        }
    }
    Ok(())
}

/// A folder that goes away with this value.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.0).is_err() {
            eprintln!("macos-check: cannot remove {}", self.0.display());
        }
    }
}

/// Downloads the packages into `part/packages` and unpacks them into `part/root`.
fn fill(part: &Path) -> Result<()> {
    let (archives, root) = (part.join("packages"), part.join("root"));
    std::fs::create_dir(&archives)?;
    std::fs::create_dir(&root)?;
    if packages::is_root()? {
        // The lists of a fresh container are empty. Without a network older ones may do.
        packages::update()?;
    }
    let depends = |package: &str| stdout_of(Command::new("apt-cache").args(["depends", package]));
    let std_packages = versioned_packages(&depends("libstd-rust-web-dev")?, "libstd-rust-web-");
    let [std_package] = &std_packages[..] else {
        bail!("Debian's libstd-rust-web-dev names {} library packages, not one", std_packages.len());
    };
    let llvm_packages = versioned_packages(&depends(std_package)?, "libllvm");
    let versioned = std::iter::once(std_package).chain(&llvm_packages).map(String::as_str);
    let names: Vec<&str> = PACKAGES.iter().copied().chain(versioned).collect();
    println!("macos-check: downloading {} packages", names.len());
    let mut download = Command::new("apt-get");
    // As root, apt would hand the download to a user who cannot write into the cache folder, and warn.
    download.args(["download", "-qq", "-o", "APT::Sandbox::User=root"]).args(&names);
    ensure!(
        succeeds(download.current_dir(&archives).stdin(Stdio::null()))?,
        "cannot download; apt-get update may help"
    );
    for package in std::fs::read_dir(&archives)? {
        let package = package?.path();
        let unpacked = succeeds(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
        ensure!(unpacked, "cannot unpack {}", package.display());
    }
    let version = stdout_of(
        Command::new(root.join("usr/bin/rustc")).arg("--version").env("LD_LIBRARY_PATH", library_folder(&root)?),
    )?;
    println!("macos-check: {} for {TARGET}", version.trim());
    Ok(())
}

/// The dependencies in `apt-cache depends` that are `prefix` and a version.
fn versioned_packages(depends: &str, prefix: &str) -> Vec<String> {
    let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let is_versioned =
        |name: &&str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    names.filter(is_versioned).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_a_version_in_their_name_are_found() {
        let depends = "\
            libstd-rust-web-dev\n  Depends: libstd-rust-web-1.96\n  Depends: gcc\n    gcc:i386\n  \
            Suggests: libstd-rust-web-2\n";
        assert_eq!(versioned_packages(depends, "libstd-rust-web-"), ["libstd-rust-web-1.96"]);
        assert_eq!(versioned_packages("x\n  Depends: libllvm22\n  Depends: libllvm-doc\n", "libllvm"), ["libllvm22"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_killed_run_left_is_removed_and_what_a_running_one_fills_is_not() {
        let cache = std::env::temp_dir().join(format!("xtask-cache-{}", std::process::id()));
        // No process can have an id beyond the kernel's limit of 2^22.
        let (dead, alive) = (cache.join("part-4194305"), cache.join(format!("part-{}", std::process::id())));
        for folder in [&dead, &alive] {
            std::fs::create_dir_all(folder).unwrap();
        }
        remove_abandoned(&cache).unwrap();
        assert!(!dead.exists() && alive.exists());
        std::fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn what_was_half_filled_goes_away() {
        let part = Part(std::env::temp_dir().join(format!("xtask-part-{}", std::process::id())));
        std::fs::create_dir(&part.0).unwrap();
        std::fs::write(part.0.join("half"), "x").unwrap();
        let path = part.0.clone();
        drop(part);
        assert!(!path.exists());
    }
}
