//! What must hold of zones.

use super::Rules;
use crate::api::Severity;
use crate::job::{Size, ZoneMode};

/// Options whose values may be numbers of zones.
const IN_ZONES: [&str; 5] = ["size", "io_size", "offset", "offset_increment", "zoneskip"];
/// The smallest zone that fio takes.
const SMALLEST_ZONE_BYTES: u64 = 512;

impl Rules<'_> {
    pub(super) fn zones(&mut self) {
        let (mode, zones) = (self.built.draft.job.shape.zone_mode, self.built.draft.job.shape.zones);
        match mode {
            ZoneMode::None if zones.size_bytes > 0 => {
                let help = "add `zonemode=strided` or `zonemode=zbd`, or leave `zonesize` out";
                self.say(Severity::Error, &["zonesize"], "there are no zones with `zonemode=none`", help);
            }
            ZoneMode::Strided if zones.size_bytes == 0 => {
                let help = "say how many bytes of each zone are used";
                self.say(Severity::Error, &["zonemode"], "strided zones need `zonesize`", help);
            }
            ZoneMode::Zoned => self.zoned(),
            _ => {}
        }
        self.numbers_of_zones(mode, zones.size_bytes);
    }

    /// `size=4z`: bytes as soon as the size of a zone is known.
    fn numbers_of_zones(&mut self, mode: ZoneMode, zone_bytes: u64) {
        let job = &mut self.built.draft.job;
        let (mut size, mut io_size) = (job.size.unwrap_or(Size::Bytes(0)), job.io_size.unwrap_or(Size::Bytes(0)));
        let values = [&mut size, &mut io_size, &mut job.offset, &mut job.offset_increment, &mut job.shape.zones.skip];
        let mut nowhere = None;
        for (name, value) in IN_ZONES.into_iter().zip(values) {
            let Size::Zones(count) = *value else { continue };
            if mode == ZoneMode::None {
                nowhere.get_or_insert(name);
            } else if zone_bytes > 0 {
                *value = Size::Bytes(count.saturating_mul(zone_bytes));
            }
        }
        job.size = job.size.map(|_| size);
        job.io_size = job.io_size.map(|_| io_size);
        if let Some(name) = nowhere {
            let help = "add `zonemode=zbd`, or give bytes; fio takes such a value for none";
            self.say(Severity::Error, &[name], "a number of zones, and there are no zones", help);
        }
    }

    fn zoned(&mut self) {
        let job = &self.built.draft.job;
        let zone_bytes = job.shape.zones.size_bytes;
        if zone_bytes > 0 && zone_bytes < SMALLEST_ZONE_BYTES {
            self.say(Severity::Error, &["zonesize"], "a zone has 512 bytes at least", "");
            return;
        }
        if zone_bytes > 0 && job.shape.zoned.capacity_bytes > zone_bytes {
            self.say(Severity::Error, &["zonecapacity"], "more than the zone has", "give at most `zonesize`");
        }
        let job = &self.built.draft.job;
        let skip = job.shape.zones.skip;
        if let Size::Bytes(bytes) = skip
            && zone_bytes > 0
            && !bytes.is_multiple_of(zone_bytes)
        {
            let message = format!("{bytes} bytes are no whole zones of {zone_bytes} bytes");
            self.say(Severity::Error, &["zoneskip"], &message, "give a multiple of `zonesize`, or zones: `2z`");
        }
        let job = &self.built.draft.job;
        let (least, most) = (job.shape.zoned.job_max_open, job.shape.zoned.max_open);
        if most > 0 && least > most {
            let message = "one job may not have more zones open than all together";
            self.say(Severity::Warning, &["job_max_open_zones"], message, "max_open_zones holds");
        }
    }
}
