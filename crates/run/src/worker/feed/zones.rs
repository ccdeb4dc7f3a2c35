//! With `zonemode=zbd`: what the pattern wants goes where its zone takes it.

use iostrata_engine::{FileId, Io};

use super::{Dry, Feed};
use crate::generate::{Block, Direction};
use crate::zones::{Placed, ZoneFault, Zoning};

impl Feed {
    /// Requests go where the zones take them.
    pub(in crate::worker) fn with_zones(mut self, zones: Option<Box<Zoning>>) -> Self {
        self.plans_ahead &= zones.is_none();
        self.shares_ahead &= zones.is_none();
        self.zones = zones;
        self
    }

    /// Whether there are zones.
    #[inline]
    pub(in crate::worker) fn zoned(&self) -> bool {
        self.zones.is_some()
    }

    /// A request has ended.
    #[cold]
    pub(in crate::worker) fn zone_done(&mut self, io: &Io, failed: bool) {
        if let Some(zones) = &mut self.zones {
            zones.done(io, failed);
        }
    }

    /// Where a failed write can be made again.
    pub(in crate::worker) fn recover(&mut self, io: &Io) -> Option<u64> {
        self.zones.as_mut()?.recover(io)
    }

    /// Zones reset since this was asked last.
    pub(in crate::worker) fn take_zone_resets(&mut self) -> u64 {
        self.zones.as_mut().map_or(0, |zones| zones.take_resets())
    }

    /// What went wrong with a zone, once.
    pub(in crate::worker) fn take_zone_fault(&mut self) -> Option<ZoneFault> {
        self.zone_fault.take().or_else(|| self.zones.as_mut()?.take_fault())
    }

    /// Where the zones take a block: unchanged without zones, `None` where there is nothing that it could be done to.
    #[inline]
    pub(super) fn placed(
        &mut self,
        direction: Direction,
        file: FileId,
        block: Block,
    ) -> Result<Option<(Direction, Block)>, Dry> {
        let Some(zones) = &mut self.zones else { return Ok(Some((direction, block))) };
        match zones.place(file, direction, block) {
            Ok(Placed::At { direction: done, block: place, then }) => {
                let offsets = &mut self.files[file as usize];
                if let Some(offset) = then {
                    offsets.go_on_at(done, offset);
                }
                if done != direction {
                    // A write stands for it; what was wanted is wanted still.
                    offsets.go_on_at(direction, block.offset);
                }
                Ok(Some((done, place)))
            }
            Ok(Placed::Nothing) => Ok(None),
            Ok(Placed::Wait) => {
                self.waiting = Some((direction, file, block));
                Err(Dry::Busy)
            }
            Err(fault) => {
                self.zone_fault = Some(fault);
                Err(Dry::Broken)
            }
        }
    }
}
