//! What only macOS does this way.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_os::file::{DeviceNumber, Kind, OpenFlags, facts_at, open};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::diskutil;
use crate::tree::{Behind, Device, Tree};

/// This machine.
pub(crate) struct Host;

impl Host {
    pub(crate) fn system() -> Self {
        Self
    }

    /// All disks and volumes, as `diskutil` tells them.
    ///
    /// # Errors
    /// `diskutil` does not run, or says what is not understood.
    pub(crate) fn tree(&self) -> io::Result<Tree> {
        let told = Command::new("/usr/sbin/diskutil").args(["list", "-plist"]).output()?;
        diskutil::tree(&told.stdout, |name| facts_at(&Path::new("/dev").join(name)).ok().map(|facts| facts.device))
    }

    /// There is no way to send commands to disks.
    pub(crate) fn scsi_disk_bytes(&self, _: Kind, _: DeviceNumber) -> Option<u64> {
        None
    }

    /// Nor to namespaces.
    pub(crate) fn nvme_namespace_bytes(&self, _: Kind, _: DeviceNumber) -> Option<u64> {
        None
    }

    /// `/dev/rdiskN` is the raw face of `/dev/diskN`; null, zero and the random sources lose nothing.
    pub(crate) fn behind(&self, tree: &Tree, number: DeviceNumber) -> Behind {
        let same = |path: &Path| facts_at(path).is_ok_and(|f| f.kind == Kind::Char && f.device == number);
        if ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"].iter().any(|path| same(Path::new(path))) {
            return Behind::Nothing;
        }
        let raw = |device: &&Device| same(&Path::new("/dev").join(format!("r{}", device.name)));
        match tree.devices.iter().find(raw) {
            Some(disk) => Behind::Disks(vec![disk.number]),
            None => Behind::Unknown(number.to_string()),
        }
    }

    /// The block node of a disk.
    pub(crate) fn node(&self, device: &Device) -> PathBuf {
        Path::new("/dev").join(&device.name)
    }

    /// There are no loop devices here; a mounted image is a disk of its own.
    pub(crate) fn loop_files(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }
}

/// Claims a block device among programs of this kind: macOS has no claim that `mount` would respect, but refuses by
/// itself to open a mounted device for writing. An exclusive `flock` keeps two runs apart, where device nodes take it.
///
/// # Errors
/// `EBUSY` if another run has it; whatever opening says.
pub(crate) fn claim(node: &Path) -> io::Result<File> {
    let fd = open(node, OpenFlags { read: true, ..OpenFlags::default() }, 0)?;
    match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOTSUP | Errno::INVAL) => Ok(fd.into()),
        Err(Errno::WOULDBLOCK) => Err(Errno::BUSY.into()),
        Err(error) => Err(error.into()),
    }
}
