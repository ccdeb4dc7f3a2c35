//! The file on the disk and the loop device over it; both are gone when their guards are.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::bench::Tool;
use crate::bench::cpu::to_the_end;
use crate::process::stdout_of;

/// Size of the file, in fio's words.
pub(super) const SIZE: &str = "512m";

/// A file of fio's random bytes, removed on drop.
pub(super) struct DataFile {
    path: PathBuf,
}

impl DataFile {
    /// Written by fio in the folder `scratch`, without the page cache, so that no later run meets its write-back.
    pub(super) fn laid_out(scratch: &Path, fio: &Tool) -> Result<DataFile> {
        let file = DataFile { path: scratch.join("data") };
        let mut command = Command::new(&fio.program);
        command.args(["--name=layout", "--rw=write", "--bs=1m", "--direct=1", "--end_fsync=1"]);
        command.arg(format!("--size={SIZE}")).arg(format!("--filename={}", file.path.display()));
        to_the_end(&mut command, fio, scratch)?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file system and what it lies on, as `ext4 on /dev/sda1`.
    pub(super) fn disk(&self) -> Result<String> {
        let listed = stdout_of(Command::new("df").arg("--output=fstype,source").arg(&self.path))?;
        let last = listed.lines().last().unwrap_or_default();
        let (kind, source) = last.trim().split_once(' ').with_context(|| format!("df printed `{last}`"))?;
        Ok(format!("{kind} on {}", source.trim()))
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        // One that was never made is no fault.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A loop device with direct I/O to its file, detached on drop.
pub(super) struct LoopDevice {
    path: PathBuf,
    /// What keeps it: a device detached while somebody has it open lives until the last one closes it. So the kernel
    /// takes it away also when this program is killed.
    _open: File,
}

impl LoopDevice {
    pub(super) fn over(file: &DataFile) -> Result<LoopDevice> {
        let mut attach = Command::new("losetup");
        let said = stdout_of(attach.args(["--find", "--show", "--direct-io=on"]).arg(file.path()))?;
        let path = PathBuf::from(said.trim());
        let open = File::open(&path).with_context(|| format!("cannot open {}", path.display()));
        let detached = stdout_of(Command::new("losetup").arg("--detach").arg(&path));
        let device = LoopDevice { path, _open: open? };
        detached?;
        let direct = stdout_of(Command::new("losetup").args(["--noheadings", "--output=DIO"]).arg(&device.path))?;
        ensure!(direct.trim() == "1", "{}: the file system below refuses direct I/O", device.path.display());
        Ok(device)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
