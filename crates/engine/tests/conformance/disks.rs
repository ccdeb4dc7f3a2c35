//! Block devices and file systems of our own, on memory; undone when dropped, also when a test fails. Root only.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::targets::FileTarget;

/// Whether such devices can be made here; says so where not.
pub(crate) fn allowed() -> bool {
    // SAFETY: no pointer is passed.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("SKIP: block devices and mounts need root");
    }
    root
}

/// The output of a command that must succeed, or what is missing.
fn command(words: &[&str]) -> Result<String, String> {
    let line = words.join(" ");
    let output = Command::new(words[0]).args(&words[1..]).output().map_err(|error| format!("{line}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    } else {
        Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// A loop device on a sparse file in memory.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    _image: FileTarget,
}

impl Loop {
    pub(crate) fn new(bytes: u64) -> Result<Loop, String> {
        let image = FileTarget::new("/dev/shm");
        let file = std::fs::File::create_new(&image.path).map_err(|error| error.to_string())?;
        file.set_len(bytes).map_err(|error| error.to_string())?;
        let path = command(&["losetup", "--find", "--show", &image.path.to_string_lossy()])?.into();
        Ok(Loop { path, _image: image })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = command(&["losetup", "--detach", &self.path.to_string_lossy()]);
    }
}

/// A new file system on a loop device, mounted.
pub(crate) struct Mounted {
    pub(crate) directory: PathBuf,
    _device: Loop,
}

impl Mounted {
    /// `kind` is ext4, xfs or btrfs.
    pub(crate) fn new(kind: &str, parent: &Path) -> Result<Mounted, String> {
        let device = Loop::new(512 << 20)?;
        let node = device.path.to_string_lossy().into_owned();
        let force = if kind == "ext4" { "-F" } else { "-f" };
        command(&[&format!("mkfs.{kind}"), "-q", force, &node])?;
        let directory = parent.join(format!("{kind}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let mounted = Mounted { directory, _device: device };
        command(&["mount", "-t", kind, &node, &mounted.directory.to_string_lossy()])?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let directory = self.directory.to_string_lossy();
        if command(&["umount", &directory]).is_err() {
            let _ = command(&["umount", "--lazy", &directory]);
        }
        let _ = std::fs::remove_dir(&self.directory);
    }
}

/// A compressed RAM disk.
pub(crate) struct Zram {
    number: String,
}

impl Zram {
    pub(crate) fn new(bytes: u64) -> Result<Zram, String> {
        let added = std::fs::read_to_string("/sys/class/zram-control/hot_add");
        let number = added.map_err(|error| format!("zram: {error}"))?.trim().to_string();
        let zram = Zram { number };
        std::fs::write(format!("/sys/block/zram{}/disksize", zram.number), bytes.to_string())
            .map_err(|error| format!("zram: {error}"))?;
        Ok(zram)
    }

    pub(crate) fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // Busy while anything (a helper of the system, too) has it open.
        let reset = format!("/sys/block/zram{}/reset", self.number);
        let tries = (0..100).map(|_| std::thread::sleep(std::time::Duration::from_millis(20)));
        if tries.map(|()| std::fs::write(&reset, "1")).any(|written| written.is_ok()) {
            let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
        }
    }
}
