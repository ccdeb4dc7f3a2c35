//! Python programs of other people, from their registry: a virtual environment below the build folder, made once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::which;

/// What is installed, each in the version that the tests know.
const PACKAGES: &[&str] =
    &["fio-plot==1.1.21", "cdmpy==0.3.2", "auto-fio==0.1.0", "cijoe-pkg-fio==0.9.7", "axe-core-python==0.1.0"];

/// The environment's folder; `None` without Python or without its registry. `scratch` is the build's folder for tests.
pub fn environment(scratch: &str) -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    MADE.get_or_init(|| make(Path::new(scratch))).as_deref()
}

fn make(scratch: &Path) -> Option<PathBuf> {
    let folder = scratch.join("python");
    let done = folder.join("done");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Some(folder);
    }
    let python = which("python3")?;
    let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let made = succeeds(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))
        && succeeds(Command::new(folder.join("bin/pip")).args(["install", "-q"]).args(PACKAGES));
    if made { std::fs::write(done, wanted).ok().map(|()| folder) } else { None }
}

/// A file that a package brought.
pub fn file_of(environment: &Path, package: &str, name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib")).ok()?.flatten();
    versions.map(|version| version.path().join("site-packages").join(package).join(name)).find(|path| path.exists())
}
