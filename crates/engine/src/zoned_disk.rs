//! A disk of zones as `sim` has one: what it takes and what it refuses, without a byte of data.
//!
//! Refusals are those of the kernel: a write off the write pointer is an I/O error, one that opens a zone too many
//! `ETOOMANYREFS`, one that makes a zone too many active `EOVERFLOW`.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostrata_os::zoned::{Zone, ZoneCommand, ZoneCondition, ZoneKind, ZonedFacts};
use iostrata_spec::SimZones;

/// The disk; the workers of a run share it.
#[derive(Debug)]
pub struct ZonedDisk {
    facts: ZonedFacts,
    state: Mutex<Zones>,
}

#[derive(Debug)]
struct Zones {
    zones: Vec<Zone>,
    zone_bytes: u64,
    max_open: u32,
    max_active: u32,
    counts: ZoneCounts,
}

/// What the disk saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounts {
    /// Zones that are open.
    pub open: u32,
    /// The most that ever were.
    pub most_open: u32,
    /// Resets of zones that held data.
    pub resets: u64,
    /// Requests that were refused.
    pub refused: u64,
}

impl ZonedDisk {
    /// An empty disk of `bytes`; what is left after the last whole zone is not there.
    pub fn new(shape: &SimZones, bytes: u64) -> Self {
        let zone_bytes = shape.size_bytes.max(1);
        let capacity = if shape.capacity_bytes == 0 { zone_bytes } else { shape.capacity_bytes.min(zone_bytes) };
        let zone = |number: u64| {
            let start = number * zone_bytes;
            let conventional = number < u64::from(shape.conventional);
            Zone {
                start,
                len: zone_bytes,
                capacity: if conventional { zone_bytes } else { capacity },
                write_pointer: start,
                kind: if conventional { ZoneKind::Conventional } else { ZoneKind::SequentialRequired },
                condition: if conventional { ZoneCondition::NoWritePointer } else { ZoneCondition::Empty },
            }
        };
        let (max_open, max_active) = (shape.max_open, shape.max_active);
        ZonedDisk {
            facts: ZonedFacts { zone_bytes, max_open, max_active },
            state: Mutex::new(Zones {
                zones: (0..bytes / zone_bytes).map(zone).collect(),
                zone_bytes,
                max_open,
                max_active,
                counts: ZoneCounts::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Zones> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it tells before it is opened.
    pub fn facts(&self) -> ZonedFacts {
        self.facts
    }

    /// All zones as they are now.
    pub fn zones(&self) -> Vec<Zone> {
        self.lock().zones.clone()
    }

    /// The zone that begins at `start`.
    ///
    /// # Errors
    /// `EINVAL` where none begins.
    pub fn zone_at(&self, start: u64) -> io::Result<Zone> {
        let mut state = self.lock();
        state.at(start).map(|zone| *zone).map_err(io::Error::from_raw_os_error)
    }

    /// What it saw.
    pub fn counts(&self) -> ZoneCounts {
        self.lock().counts
    }

    /// Gives a command to the zone that begins at `start`.
    ///
    /// # Errors
    /// `EINVAL` where none begins, `EIO` for a conventional one, and what opening is refused with.
    pub fn command(&self, command: ZoneCommand, start: u64) -> io::Result<()> {
        let mut state = self.lock();
        let result = state.command(command, start);
        state.counts.refused += u64::from(result.is_err());
        result.map_err(io::Error::from_raw_os_error)
    }

    /// Whether a write of `len` bytes at `offset` is taken: its zone's write pointer moves, or the errno.
    ///
    /// # Errors
    /// The errno of the refusal.
    pub fn write(&self, offset: u64, len: u64) -> Result<(), i32> {
        let mut state = self.lock();
        let result = state.write(offset, len);
        state.counts.refused += u64::from(result.is_err());
        result
    }
}

fn holds_resources(condition: ZoneCondition) -> bool {
    matches!(condition, ZoneCondition::ImplicitlyOpen | ZoneCondition::ExplicitlyOpen)
}

impl Zones {
    fn at(&mut self, start: u64) -> Result<&mut Zone, i32> {
        let index = usize::try_from(start / self.zone_bytes).map_err(|_| libc::EINVAL)?;
        self.zones.get_mut(index).filter(|zone| zone.start == start).ok_or(libc::EINVAL)
    }

    fn command(&mut self, command: ZoneCommand, start: u64) -> Result<(), i32> {
        let zone = *self.at(start)?;
        let to = match (command, zone.condition) {
            (_, ZoneCondition::NoWritePointer | ZoneCondition::ReadOnly | ZoneCondition::Offline) => {
                return Err(libc::EIO);
            }
            (ZoneCommand::Reset, _) => ZoneCondition::Empty,
            (ZoneCommand::Finish, _) | (_, ZoneCondition::Full) => ZoneCondition::Full,
            (ZoneCommand::Open, condition) => {
                self.room_for(condition)?;
                ZoneCondition::ExplicitlyOpen
            }
            (ZoneCommand::Close, _) if zone.write_pointer == zone.start => ZoneCondition::Empty,
            (ZoneCommand::Close, _) => ZoneCondition::Closed,
        };
        self.counts.resets += u64::from(command == ZoneCommand::Reset && zone.condition != ZoneCondition::Empty);
        let write_pointer = if command == ZoneCommand::Reset { zone.start } else { zone.write_pointer };
        self.put(Zone { condition: to, write_pointer, ..zone });
        Ok(())
    }

    fn write(&mut self, offset: u64, len: u64) -> Result<(), i32> {
        let start = offset - offset % self.zone_bytes;
        let zone = *self.at(start).map_err(|_| libc::EIO)?;
        match zone.condition {
            ZoneCondition::NoWritePointer => return Ok(()),
            ZoneCondition::Full | ZoneCondition::ReadOnly | ZoneCondition::Offline => return Err(libc::EIO),
            _ => {}
        }
        let end = zone.start + zone.capacity;
        if offset != zone.write_pointer || offset + len > end {
            return Err(libc::EIO);
        }
        if !holds_resources(zone.condition) {
            self.room_for(zone.condition)?;
        }
        let write_pointer = offset + len;
        let condition = match zone.condition {
            _ if write_pointer == end => ZoneCondition::Full,
            ZoneCondition::ExplicitlyOpen => ZoneCondition::ExplicitlyOpen,
            _ => ZoneCondition::ImplicitlyOpen,
        };
        // For the length of the write it was open.
        let open_now = self.counts.open + u32::from(!holds_resources(zone.condition));
        self.counts.most_open = self.counts.most_open.max(open_now);
        self.put(Zone { condition, write_pointer, ..zone });
        Ok(())
    }

    /// Whether one more zone may be opened. A zone that was opened by a write is closed for it, as a disk does.
    fn room_for(&mut self, condition: ZoneCondition) -> Result<(), i32> {
        let active =
            self.zones.iter().filter(|zone| holds_resources(zone.condition) || zone.condition == ZoneCondition::Closed);
        if self.max_active > 0 && condition != ZoneCondition::Closed && active.count() >= self.max_active as usize {
            return Err(libc::EOVERFLOW);
        }
        if self.max_open == 0 || self.counts.open < self.max_open {
            return Ok(());
        }
        let implicit = self.zones.iter().find(|zone| zone.condition == ZoneCondition::ImplicitlyOpen).copied();
        let Some(zone) = implicit.filter(|_| self.max_active != 0) else { return Err(libc::ETOOMANYREFS) };
        self.put(Zone { condition: ZoneCondition::Closed, ..zone });
        Ok(())
    }

    fn put(&mut self, zone: Zone) {
        let Ok(place) = self.at(zone.start) else { return };
        let before = std::mem::replace(place, zone);
        self.counts.open -= u32::from(holds_resources(before.condition));
        self.counts.open += u32::from(holds_resources(zone.condition));
        self.counts.most_open = self.counts.most_open.max(self.counts.open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: u64 = 1 << 16;

    fn disk(max_open: u32, max_active: u32) -> ZonedDisk {
        let shape = SimZones { size_bytes: ZONE, capacity_bytes: ZONE / 2, conventional: 1, max_open, max_active };
        ZonedDisk::new(&shape, 5 * ZONE + 100)
    }

    fn condition(disk: &ZonedDisk, zone: u64) -> ZoneCondition {
        disk.zone_at(zone * ZONE).expect("a zone").condition
    }

    #[test]
    fn a_sequential_zone_takes_writes_at_its_write_pointer_up_to_its_capacity() {
        let disk = disk(0, 0);
        assert_eq!(disk.zones().len(), 5);
        assert_eq!(disk.write(ZONE + 4096, 4096), Err(libc::EIO), "ahead of the write pointer");
        assert_eq!(disk.write(ZONE, 4096), Ok(()));
        assert_eq!(disk.write(ZONE, 4096), Err(libc::EIO), "behind it");
        assert_eq!(condition(&disk, 1), ZoneCondition::ImplicitlyOpen);
        assert_eq!(disk.write(ZONE + 4096, ZONE / 2), Err(libc::EIO), "over the capacity");
        assert_eq!(disk.write(ZONE + 4096, ZONE / 2 - 4096), Ok(()));
        assert_eq!(condition(&disk, 1), ZoneCondition::Full);
        assert_eq!(disk.write(ZONE + ZONE / 2, 4096), Err(libc::EIO));
        disk.command(ZoneCommand::Reset, ZONE).expect("reset");
        assert_eq!(disk.write(ZONE, 4096), Ok(()));
        let counts = ZoneCounts { open: 1, most_open: 1, resets: 1, refused: 4 };
        assert_eq!(disk.counts(), counts);
    }

    #[test]
    fn a_conventional_zone_takes_writes_anywhere_and_no_commands() {
        let disk = disk(0, 0);
        assert_eq!(disk.write(8192, 4096), Ok(()));
        assert_eq!(disk.write(0, 4096), Ok(()));
        assert!(disk.command(ZoneCommand::Reset, 0).is_err());
        assert!(disk.command(ZoneCommand::Reset, 4096).is_err(), "no zone begins there");
    }

    #[test]
    fn a_zone_too_many_is_refused_until_another_is_finished_or_reset() {
        let disk = disk(2, 0);
        for zone in [1, 2] {
            assert_eq!(disk.write(zone * ZONE, 4096), Ok(()));
        }
        assert_eq!(disk.write(3 * ZONE, 4096), Err(libc::ETOOMANYREFS));
        disk.command(ZoneCommand::Finish, ZONE).expect("finish");
        assert_eq!(disk.write(3 * ZONE, 4096), Ok(()));
        disk.command(ZoneCommand::Reset, 2 * ZONE).expect("reset");
        disk.command(ZoneCommand::Open, 4 * ZONE).expect("open");
        assert_eq!(condition(&disk, 4), ZoneCondition::ExplicitlyOpen);
        assert_eq!(disk.counts().most_open, 2);
    }

    #[test]
    fn closed_zones_keep_what_makes_them_active() {
        let disk = disk(1, 2);
        assert_eq!(disk.write(ZONE, 4096), Ok(()));
        assert_eq!(disk.write(2 * ZONE, 4096), Ok(()), "the first is closed for it");
        assert_eq!(condition(&disk, 1), ZoneCondition::Closed);
        assert_eq!(disk.write(3 * ZONE, 4096), Err(libc::EOVERFLOW));
        assert_eq!(disk.write(ZONE + 4096, 4096), Ok(()), "one that is active already");
        disk.command(ZoneCommand::Close, ZONE).expect("close");
        disk.command(ZoneCommand::Reset, 2 * ZONE).expect("reset");
        assert_eq!(disk.write(3 * ZONE, 4096), Ok(()));
    }
}
