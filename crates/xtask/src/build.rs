//! The one build that all tests share, and what came out of it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::shown;
use crate::workspace::Workspace;

/// The profile of the one build: optimised as far as tests need, with debug assertions.
pub(crate) const PROFILE: &str = "ci";

/// A program that holds tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The crate's folder under `crates/`.
    pub(crate) krate: String,
    /// The file under `tests/` without its ending; `None` for the unit tests beside the code.
    pub(crate) file: Option<String>,
    /// The crate's folder, where its tests run.
    pub(crate) folder: PathBuf,
    /// The executable.
    pub(crate) executable: PathBuf,
}

impl TestProgram {
    /// `os` or `engine/conformance`.
    pub(crate) fn name(&self) -> String {
        match &self.file {
            Some(file) => format!("{}/{file}", self.krate),
            None => self.krate.clone(),
        }
    }
}

/// What a build made.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// Programs with tests, in order of their names.
    pub(crate) tests: Vec<TestProgram>,
    /// Ordinary executables by name.
    pub(crate) binaries: Vec<(String, PathBuf)>,
}

/// One line of cargo's JSON messages, as far as it concerns us.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds every crate's libraries, programs and tests in profile `ci`.
pub(crate) fn everything(workspace: &Workspace) -> Result<Built> {
    let words = ["build", "--workspace", "--lib", "--bins", "--tests", "--examples", "--profile", PROFILE];
    let built = cargo_build(workspace, &words)?;
    if built.tests.is_empty() {
        bail!("the build made no test program");
    }
    Ok(built)
}

/// Builds the binary as people run it and returns its path.
pub(crate) fn release(workspace: &Workspace) -> Result<PathBuf> {
    let built = cargo_build(workspace, &["build", "--package", "iostrata", "--bins", "--release"])?;
    let binary = built.binaries.into_iter().find(|(name, _)| name == "iostrata");
    Ok(binary.context("the release build made no `iostrata`")?.1)
}

fn cargo_build(workspace: &Workspace, words: &[&str]) -> Result<Built> {
    let mut command = workspace.cargo(words);
    command.args(["--locked", "--message-format=json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot run {}", shown(&command)))?;
    if !output.status.success() {
        bail!("{} failed", shown(&command));
    }
    read(&String::from_utf8(output.stdout)?)
}

fn read(messages: &str) -> Result<Built> {
    let mut built = Built::default();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).with_context(|| format!("cargo said {line}"))?;
        if message.reason != "compiler-artifact" {
            continue;
        }
        let (Some(target), Some(profile), Some(executable)) = (message.target, message.profile, message.executable)
        else {
            continue;
        };
        if profile.test {
            let manifest = message.manifest_path.context("an artifact without a manifest")?;
            built.tests.push(test_program(&manifest, &target, executable)?);
        } else if target.kind.iter().any(|kind| kind == "bin") {
            built.binaries.push((target.name, executable));
        }
    }
    built.tests.sort_by_key(TestProgram::name);
    Ok(built)
}

fn test_program(manifest: &Path, target: &Target, executable: PathBuf) -> Result<TestProgram> {
    let folder = manifest.parent().context("a manifest without a folder")?.to_owned();
    let krate = folder.file_name().context("a crate without a name")?.to_string_lossy().into_owned();
    let file = target.kind.iter().any(|kind| kind == "test").then(|| target.name.clone());
    Ok(TestProgram { krate, file, folder, executable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_and_binaries_are_told_apart() {
        let artifact = |krate: &str, name: &str, kind: &str, test: bool, executable: &str| {
            let target = format!(r#""target":{{"name":"{name}","kind":["{kind}"]}},"profile":{{"test":{test}}}"#);
            let manifest = format!(r#""manifest_path":"/w/crates/{krate}/Cargo.toml""#);
            format!(r#"{{"reason":"compiler-artifact",{manifest},{target},"executable":{executable}}}"#)
        };
        let messages = [
            artifact("os", "iostrata_os", "lib", true, r#""/t/os-1""#),
            artifact("os", "iostrata_os", "lib", false, "null"),
            artifact("engine", "conformance", "test", true, r#""/t/c-1""#),
            artifact("iostrata", "iostrata", "bin", false, r#""/t/iostrata""#),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ]
        .join("\n");
        let built = read(&messages).unwrap();
        let names: Vec<String> = built.tests.iter().map(TestProgram::name).collect();
        assert_eq!(names, ["engine/conformance", "os"]);
        assert_eq!(built.tests[0].folder, Path::new("/w/crates/engine"));
        assert_eq!(built.binaries, [("iostrata".to_owned(), PathBuf::from("/t/iostrata"))]);
    }
}
