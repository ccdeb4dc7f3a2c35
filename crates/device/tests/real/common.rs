//! Loop devices, mounts and swap that go away when dropped, also after a panic.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says on the real standard error (the test harness swallows `eprintln!`) that a test could not run.
pub(crate) fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIP: {why}");
}

/// Whether loop devices can be made here; says so if not.
pub(crate) fn can_loop(test: &str) -> bool {
    let root = run("id", &["-u"]).is_some_and(|out| out.trim() == "0");
    let can = root && Path::new("/dev/loop-control").exists();
    if !can {
        skip(&format!("{test}: needs root and /dev/loop-control"));
    }
    can
}

/// Whether a program is there; says so if not.
pub(crate) fn has(test: &str, program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{test}: {program} is not installed"));
    }
    found
}

/// Standard output of a program that succeeds.
pub(crate) fn run(program: &str, args: &[&str]) -> Option<String> {
    let out = Command::new(program).args(args).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs a program that must succeed.
pub(crate) fn must(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A sparse image file.
pub(crate) fn image(dir: &Path, name: &str, bytes: u64) -> PathBuf {
    let path = dir.join(name);
    std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

/// A loop device.
pub(crate) struct Loop {
    pub(crate) node: PathBuf,
}

impl Loop {
    pub(crate) fn on(image: &Path) -> Self {
        let node = must("losetup", &["--find", "--show", image.to_str().unwrap()]);
        Self { node: node.trim().into() }
    }

    /// Like [`Loop::on`], with the partitions' nodes also where the kernel reads no partition tables by itself.
    pub(crate) fn partitioned(image: &Path) -> Self {
        let device = Self::on(image);
        if !device.partition(1).exists() {
            must("partx", &["--add", device.node.to_str().unwrap()]);
        }
        device
    }

    pub(crate) fn name(&self) -> &str {
        self.node.file_name().unwrap().to_str().unwrap()
    }

    pub(crate) fn partition(&self, number: u32) -> PathBuf {
        format!("{}p{number}", self.node.display()).into()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run("partx", &["--delete", self.node.to_str().unwrap()]);
        let _ = run("losetup", &["--detach", self.node.to_str().unwrap()]);
    }
}

/// A mount.
pub(crate) struct Mount {
    at: PathBuf,
}

impl Mount {
    pub(crate) fn new(device: &Path, at: &Path) -> Self {
        std::fs::create_dir_all(at).unwrap();
        must("mount", &[device.to_str().unwrap(), at.to_str().unwrap()]);
        Self { at: at.into() }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run("umount", &[self.at.to_str().unwrap()]);
    }
}

/// Active swap.
pub(crate) struct Swap {
    device: PathBuf,
}

impl Swap {
    pub(crate) fn on(device: &Path) -> Self {
        must("swapon", &[device.to_str().unwrap()]);
        Self { device: device.into() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = run("swapoff", &[self.device.to_str().unwrap()]);
    }
}
