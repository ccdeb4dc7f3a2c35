//! Zoned block devices: what their zones are, and the commands that zones take.
//!
//! The kernel's interface is that of `linux/blkzoned.h`. What a zoned device is like before it is opened stands in
//! sysfs: [`Sysfs::zoned`](crate::block::Sysfs::zoned).

use std::io;
use std::os::fd::BorrowedFd;

#[cfg(target_os = "linux")]
#[path = "zoned/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "zoned/macos.rs"]
mod system;

/// What a zone takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// Writes anywhere.
    Conventional,
    /// Writes at the write pointer only.
    SequentialRequired,
    /// Writes anywhere; those at the write pointer are the fast ones.
    SequentialPreferred,
}

/// How a zone stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCondition {
    /// It has no write pointer: a conventional zone.
    NoWritePointer,
    /// Nothing is in it.
    Empty,
    /// A write opened it.
    ImplicitlyOpen,
    /// A command opened it.
    ExplicitlyOpen,
    /// It holds data, has room, and none of the device's resources for open zones.
    Closed,
    /// No more can be written.
    Full,
    /// It can be read, and no more be written.
    ReadOnly,
    /// It can be neither read nor written.
    Offline,
}

/// One zone as the device reports it; all in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Where it begins.
    pub start: u64,
    /// To the beginning of the next.
    pub len: u64,
    /// What of it can be used, from its start.
    pub capacity: u64,
    /// Where the next write must be; meaningless without a write pointer and in a full zone.
    pub write_pointer: u64,
    /// What it takes.
    pub kind: ZoneKind,
    /// How it stands.
    pub condition: ZoneCondition,
}

/// A command to one zone or several that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCommand {
    /// Empties them; the data are lost.
    Reset,
    /// Takes resources for them before the first write.
    Open,
    /// Gives these back; the data stay, and there is room still.
    Close,
    /// Makes them full.
    Finish,
}

/// What a device tells of its zones in sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedFacts {
    /// Bytes of each zone; the last may have fewer.
    pub zone_bytes: u64,
    /// Zones that may be open at a time; 0: any number.
    pub max_open: u32,
    /// Zones that may be open or closed with data and room; 0: any number.
    pub max_active: u32,
}

/// All zones of an open device, in order (`BLKREPORTZONE`).
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` on what is no zoned device.
pub fn zones(device: BorrowedFd<'_>) -> io::Result<Vec<Zone>> {
    let mut all = Vec::new();
    let mut next = 0;
    loop {
        let part = system::report(device, next)?;
        let Some(last) = part.last() else { return Ok(all) };
        // A device that reports the same again would keep us here for ever.
        if last.start < next || last.len == 0 {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        next = last.start + last.len;
        all.extend(part);
    }
}

/// The zone that begins at `start` as it is now.
///
/// # Errors
/// As [`zones`]; `EINVAL` where no zone begins.
pub fn zone_at(device: BorrowedFd<'_>, start: u64) -> io::Result<Zone> {
    let first = system::report(device, start)?.into_iter().next();
    first.filter(|zone| zone.start == start).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Gives a command to the zones from `start` on that lie in `len` bytes.
///
/// # Errors
/// What the kernel said; `EBADF` if the device is open for reading only.
pub fn command(device: BorrowedFd<'_>, command: ZoneCommand, start: u64, len: u64) -> io::Result<()> {
    system::command(device, command, start, len)
}

/// Bytes of a zone (`BLKGETZONESZ`) and how many there are (`BLKGETNRZONES`).
///
/// # Errors
/// `ENOTTY` on what is no block device; a device without zones tells 0.
pub fn geometry(device: BorrowedFd<'_>) -> io::Result<(u64, u32)> {
    system::geometry(device)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_regular_file_has_no_zones_and_takes_no_commands() {
        let path = std::env::temp_dir().join(format!("iostrata-os-zoned-{}", std::process::id()));
        let file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).expect("create");
        std::fs::remove_file(&path).expect("unlink");
        assert!(zones(file.as_fd()).is_err());
        assert!(zone_at(file.as_fd(), 0).is_err());
        assert!(geometry(file.as_fd()).is_err());
        let failed = command(file.as_fd(), ZoneCommand::Reset, 0, 4096).expect_err("no zone to reset");
        #[cfg(target_os = "linux")]
        assert_eq!(failed.raw_os_error(), Some(libc::ENOTTY));
        #[cfg(not(target_os = "linux"))]
        assert!(failed.to_string().contains("zoned"));
    }
}
