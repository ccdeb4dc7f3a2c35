//! `cargo xtask tidy`: the rules of the house that no compiler checks.

mod arrows;
mod links;
mod size;
mod words;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::process::stdout_of;
use crate::workspace::Workspace;

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, relative to the root.
    pub(crate) path: String,
    /// The line, from 1; 0 for the file as a whole.
    pub(crate) line: usize,
    /// What is wrong and what is wanted.
    pub(crate) message: String,
}

/// A text file of the repository.
pub(crate) struct Text {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Its whole content.
    pub(crate) content: String,
}

impl Text {
    /// A finding on a line (from 1) of this file, or on the whole of it (0).
    pub(crate) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }

    /// Whether this is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Checks every rule; prints what breaks one.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    ensure!(args.is_empty(), "`tidy` takes no options");
    let texts = texts(workspace)?;
    let mut findings: Vec<Finding> =
        texts.iter().flat_map(size::check).chain(texts.iter().flat_map(words::check)).collect();
    findings.extend(links::check(&texts, workspace.root()));
    findings.extend(arrows::check(&workspace_metadata(workspace)?));
    if !is_committed(workspace, "Cargo.lock")? {
        let message = "must be committed: everyone builds the same".to_owned();
        findings.push(Finding { path: "Cargo.lock".to_owned(), line: 0, message });
    }
    for note in texts.iter().flat_map(size::wishes) {
        println!("note: {}:{}: {}", note.path, note.line, note.message);
    }
    for finding in &findings {
        println!("tidy: {}:{}: {}", finding.path, finding.line, finding.message);
    }
    println!("tidy: {} files, {} findings", texts.len(), findings.len());
    Ok(findings.is_empty())
}

fn git(workspace: &Workspace, words: &[&str]) -> std::process::Command {
    // The folder may belong to another user than the one who tests, as in a container.
    let trust = format!("safe.directory={}", workspace.root().display());
    workspace.command("git", &[&["-c", &trust], words].concat())
}

/// Every text file that is, or by a plain `git add` would be, in the repository.
fn texts(workspace: &Workspace) -> Result<Vec<Text>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = stdout_of(&mut git(workspace, &words))?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let read = |path: &str| {
        // A file deleted but still listed, or one that is not text, has nothing to check.
        let content = std::fs::read_to_string(workspace.root().join(path)).ok()?;
        Some(Text { path: path.to_owned(), content })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

fn is_committed(workspace: &Workspace, path: &str) -> Result<bool> {
    Ok(!stdout_of(&mut git(workspace, &["ls-files", path]))?.is_empty())
}

fn workspace_metadata(workspace: &Workspace) -> Result<arrows::Metadata> {
    let words = ["metadata", "--format-version=1", "--no-deps", "--locked"];
    let mut metadata: arrows::Metadata = serde_json::from_str(&stdout_of(&mut workspace.cargo(&words))?)?;
    for package in &mut metadata.packages {
        let relative = package.manifest_path.strip_prefix(workspace.root()).map(PathBuf::from);
        package.manifest_path = relative.unwrap_or_else(|_| package.manifest_path.clone());
    }
    Ok(metadata)
}
