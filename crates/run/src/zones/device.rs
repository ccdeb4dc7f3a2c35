//! What stands behind a file's zones: the kernel's zoned block device, the `sim` engine's, or a model of one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use iostrata_engine::ZonedDisk;
use iostrata_os::zoned::{self, Zone, ZoneCommand, ZoneCondition, ZoneKind};

/// A device of zones.
pub(crate) trait ZoneDevice: Send {
    /// All of them as they are now.
    fn zones(&self) -> io::Result<Vec<Zone>>;
    /// The one that begins at `start` as it is now.
    fn zone_at(&self, start: u64) -> io::Result<Zone>;
    /// Gives a command to the zone of `len` bytes at `start`.
    fn command(&self, command: ZoneCommand, start: u64, len: u64) -> io::Result<()>;
    /// Whether the zones exist in this program only: then nothing is refused, and order does not matter.
    fn is_model(&self) -> bool {
        false
    }
}

/// A zoned block device, by its descriptor.
pub(super) struct Kernel(pub(super) OwnedFd);

impl ZoneDevice for Kernel {
    fn zones(&self) -> io::Result<Vec<Zone>> {
        zoned::zones(self.0.as_fd())
    }

    fn zone_at(&self, start: u64) -> io::Result<Zone> {
        zoned::zone_at(self.0.as_fd(), start)
    }

    fn command(&self, command: ZoneCommand, start: u64, len: u64) -> io::Result<()> {
        zoned::command(self.0.as_fd(), command, start, len)
    }
}

/// The `sim` engine's disk.
pub(super) struct Simulated(pub(super) Arc<ZonedDisk>);

impl ZoneDevice for Simulated {
    fn zones(&self) -> io::Result<Vec<Zone>> {
        Ok(self.0.zones())
    }

    fn zone_at(&self, start: u64) -> io::Result<Zone> {
        self.0.zone_at(start)
    }

    fn command(&self, command: ZoneCommand, start: u64, _: u64) -> io::Result<()> {
        self.0.command(command, start)
    }
}

/// Zones of a file or device that has none: empty at the start, and each command succeeds.
pub(super) struct Model {
    pub(super) zone_bytes: u64,
    pub(super) capacity_bytes: u64,
    pub(super) file_bytes: u64,
}

impl ZoneDevice for Model {
    fn zones(&self) -> io::Result<Vec<Zone>> {
        (0..self.file_bytes / self.zone_bytes).map(|number| self.zone_at(number * self.zone_bytes)).collect()
    }

    fn zone_at(&self, start: u64) -> io::Result<Zone> {
        Ok(Zone {
            start,
            len: self.zone_bytes,
            capacity: self.capacity_bytes,
            write_pointer: start,
            kind: ZoneKind::SequentialRequired,
            condition: ZoneCondition::Empty,
        })
    }

    fn command(&self, _: ZoneCommand, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn is_model(&self) -> bool {
        true
    }
}
