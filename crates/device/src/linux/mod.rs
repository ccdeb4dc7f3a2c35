//! What only Linux does this way.

mod sysfs;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::Path;

use iostrata_os::file::{OpenFlags, open};

pub(crate) use self::sysfs::Host;

/// Claims a block device for this process: `O_EXCL` on a block device is the kernel's own claim, the one that mount,
/// swapon, mkfs and device mapper take. A claim on a disk excludes its partitions and the other way round; opening it
/// again without `O_EXCL`, as workers do, is free.
///
/// # Errors
/// `EBUSY` if someone else has it; whatever opening says.
pub(crate) fn claim(node: &Path) -> io::Result<File> {
    Ok(open(node, OpenFlags { read: true, exclusive: true, ..OpenFlags::default() }, 0)?.into())
}
