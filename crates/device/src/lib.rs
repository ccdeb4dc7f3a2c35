//! The tree of disks, what is on them, and the guard: the only place that opens a job's target.
//!
//! Nothing is destroyed by accident. Before any job starts, [`Guard::admit`] looks at every target of the run: what
//! kind of node it is, whether something uses it, and what it holds. Only then, and only through [`Guard::open`], does
//! a worker get a descriptor.
//!
//! The rules, for a target that is to be written, trimmed or driven by pass-through commands:
//!
//! 1. A device in use is refused, whatever the user allows: mounted, swap, held by device mapper, md or bcache, part of
//!    a mounted btrfs, behind a loop device; its partitions and the disk it is a partition of count too. It is known by
//!    its device number, never by its name, so links and other nodes (`/dev/sg0`, `/dev/ng0n1`) make no difference.
//! 2. An idle device that carries a known signature is refused unless the user names its identity (see
//!    [`Signature::identity`]) in `--allow-destroy` or `IOSTRATA_ALLOW_DESTROY`.
//! 3. Each device that is to be written is claimed once per process, from before the signatures are read until the
//!    [`Guard`] is dropped: no file system can be made on it or mounted from it meanwhile.
//! 4. No regular file is ever made under `/dev`.
#![deny(missing_docs)]

// Plain parsing, so its tests run everywhere.
#[cfg(any(target_os = "macos", test))]
mod diskutil;
mod guard;
mod judge;
mod node;
mod open;
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
#[cfg_attr(not(target_os = "macos"), path = "linux/mod.rs")]
mod platform;
mod signature;
mod tree;

use std::fs::File;
use std::io;

pub use guard::{Guard, Refusal, Target};
pub use iostrata_os::file::{DeviceNumber, DioAlign, Facts, Kind as NodeKind};
pub use open::{OpenError, OpenHow, OpenTarget, SyncKind, direct_mismatch};
pub use signature::{Medium, PartitionEntry, Signature, SignatureKind, content_identity, signatures};
pub use tree::{Device, Partition, Tree, Use};

/// All block devices of this machine with what uses them.
///
/// # Errors
/// The system's list of devices cannot be read.
pub fn tree() -> io::Result<Tree> {
    platform::Host::system().tree()
}

/// Bytes of the SCSI disk that this block device is, whole, or that this character device (`/dev/sg0`) is another way
/// to; `None` for all else. Commands that go past the block layer count from where the disk begins: sent to a
/// partition, or to what a mapper makes of a disk, they would reach blocks that are not its own.
pub fn scsi_disk_bytes(kind: NodeKind, number: DeviceNumber) -> Option<u64> {
    platform::Host::system().scsi_disk_bytes(kind, number)
}

/// Bytes of the NVMe namespace behind its generic character device (`/dev/ng0n1`), as its block device tells: 0 for
/// a format that the block layer cannot use. `None` for all else.
pub fn nvme_namespace_bytes(kind: NodeKind, number: DeviceNumber) -> Option<u64> {
    platform::Host::system().nvme_namespace_bytes(kind, number)
}

/// What lies on a device.
///
/// # Errors
/// It cannot be opened or read.
pub fn contents(device: &Device) -> io::Result<Vec<Signature>> {
    let file = File::open(platform::Host::system().node(device))?;
    signatures(&signature::FileMedium { file, size_bytes: device.size_bytes })
}
