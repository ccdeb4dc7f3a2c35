//! Where in its zone, or in which other, a request goes.

use iostrata_engine::FileId;
use iostrata_os::zoned::ZoneCommand;

use super::table::{NOBODY, State, Table, lock};
use super::{FileZones, Placed, Rules, ZoneFault, Zoning};
use crate::generate::{Block, Direction};

/// The zone that a write goes to.
enum Choice {
    Zone(usize),
    Wait,
}

impl FileZones {
    /// Where a sequence goes on after a zone.
    fn after(&self, zone: &State) -> u64 {
        zone.start.saturating_add(zone.len).saturating_add(self.skip_bytes)
    }

    /// The zones of the job from `index` on, and round.
    fn around(&self, index: usize) -> impl Iterator<Item = usize> + use<> {
        let index = index.clamp(self.first, self.end);
        (index..self.end).chain(self.first..index)
    }

    fn fault(&self, file: FileId, what: &'static str, start: u64, error: std::io::Error) -> ZoneFault {
        ZoneFault { file, what, start, error }
    }

    /// Asks the device where a zone's write pointer is, if only it knows.
    fn look(&self, table: &mut Table, index: usize, file: FileId) -> Result<(), ZoneFault> {
        if table.zones[index].stale {
            let start = table.zones[index].start;
            let seen = self.device.zone_at(start).map_err(|e| self.fault(file, "reporting the zone at", start, e))?;
            table.refresh(index, &seen);
        }
        Ok(())
    }
}

/// Whether a write into the zone has to wait.
fn is_busy(zone: &State, rules: &Rules, worker: u32, model: bool) -> bool {
    let others = zone.owner != worker && !model;
    zone.in_flight > 0 && (zone.trimming || zone.stale || others || rules.one_at_a_time)
}

/// `len` bytes, or as many whole blocks as `left` has room for.
fn fitting(len: u64, left: u64, smallest: u64) -> u64 {
    if len <= left { len } else { left - left % smallest }
}

impl Zoning {
    pub(super) fn place_write(&mut self, number: FileId, wanted: Block) -> Result<Placed, ZoneFault> {
        let rules = self.rules;
        let file = &self.files[number as usize];
        let mut table = lock(&file.table);
        let model = file.device.is_model();
        let mut at = wanted.offset;
        loop {
            let drawn = table.index(at);
            if drawn >= file.end {
                return Ok(Placed::Nothing);
            }
            let zone = table.zones[drawn];
            let here = Block { offset: at, ..wanted };
            if !zone.sequential && zone.usable && at + u64::from(wanted.len) <= zone.start + zone.len {
                return Ok(moved(Direction::Write, here, wanted));
            }
            if !zone.sequential || !zone.usable {
                match next_usable(file, &table, drawn, &rules) {
                    Some(offset) => at = offset,
                    None => return Ok(Placed::Nothing),
                }
                continue;
            }
            let index = match choose(file, number, &mut table, drawn, here, &rules, self.worker)? {
                Choice::Zone(index) => index,
                Choice::Wait => return Ok(Placed::Wait),
            };
            if is_busy(&table.zones[index], &rules, self.worker, model) {
                return Ok(Placed::Wait);
            }
            file.look(&mut table, index, number)?;
            let zone = table.zones[index];
            let too_little = zone.left() < rules.smallest;
            let remainder = too_little && rules.write_remainder && zone.left() > 0;
            if too_little && !remainder && rules.sequence && at > zone.start && zone.written < zone.capacity {
                at = file.after(&zone);
                continue;
            }
            let counts = rules.period > 0 && table.valid_share() >= rules.threshold;
            let due = counts && self.counted_writes + 1 >= rules.period;
            let reset = (too_little && !remainder) || (due && zone.written > 0);
            if reset && zone.in_flight > 0 {
                return Ok(Placed::Wait);
            }
            if counts {
                self.counted_writes = if due { 0 } else { self.counted_writes + 1 };
            }
            if reset {
                let failed = |e| file.fault(number, "resetting the zone at", zone.start, e);
                file.device.command(ZoneCommand::Reset, zone.start, zone.len).map_err(failed)?;
                table.clear(index);
                self.resets += 1;
            }
            let zone = table.zones[index];
            let len = if remainder { zone.left() } else { fitting(wanted.len.into(), zone.left(), rules.smallest) };
            if len == 0 {
                return Ok(Placed::Nothing);
            }
            table.open(index, self.worker);
            table.set_written(index, zone.written + len);
            let place = &mut table.zones[index];
            (place.in_flight, place.owner) = (place.in_flight + 1, self.worker);
            let block = Block { offset: zone.write_pointer(), len: len as u32 };
            let then = match table.zones[index].left() {
                0 if rules.sequence => Some(file.after(&zone)),
                // The rest is less than a block of the pattern, which must not think that it is at its end.
                left if left < rules.smallest && rules.write_remainder => Some(zone.start),
                _ => (block != wanted).then_some(block.offset + len),
            };
            return Ok(Placed::At { direction: Direction::Write, block, then });
        }
    }

    pub(super) fn place_read(&mut self, number: FileId, wanted: Block) -> Result<Placed, ZoneFault> {
        let rules = self.rules;
        let file = &self.files[number as usize];
        let table = lock(&file.table);
        let len = u64::from(wanted.len);
        if rules.read_beyond {
            return Ok(moved(Direction::Read, wanted, wanted));
        }
        let holds = |zone: &State| zone.usable && zone.written >= len;
        if rules.sequence {
            let mut at = wanted.offset;
            while let Some(zone) = table.zones.get(table.index(at)).filter(|_| table.index(at) < file.end) {
                if zone.usable && at + len <= zone.write_pointer() {
                    let end = at + len;
                    let over = end + len > zone.write_pointer();
                    let then = if over { Some(file.after(zone)) } else { (at != wanted.offset).then_some(end) };
                    let block = Block { offset: at, ..wanted };
                    return Ok(Placed::At { direction: Direction::Read, block, then });
                }
                at = file.after(zone);
            }
            let empty = !table.zones[file.first..file.end].iter().any(holds);
            drop(table);
            return if empty && rules.writes { self.place_write(number, wanted) } else { Ok(Placed::Nothing) };
        }
        let mut zones = file.around(table.index(wanted.offset));
        let Some(index) = zones.find(|&index| holds(&table.zones[index])) else {
            drop(table);
            return if rules.writes { self.place_write(number, wanted) } else { Ok(Placed::Nothing) };
        };
        let zone = &table.zones[index];
        let within = wanted.offset.checked_sub(zone.start).filter(|within| within + len <= zone.written);
        // Blocks that are not there yet stand for those that are.
        let block = wanted.offset % table.zone_bytes / len;
        let offset = zone.start + within.unwrap_or(block % (zone.written / len) * len);
        Ok(moved(Direction::Read, Block { offset, ..wanted }, wanted))
    }

    pub(super) fn place_trim(&mut self, number: FileId, wanted: Block) -> Result<Placed, ZoneFault> {
        let rules = self.rules;
        let file = &self.files[number as usize];
        let mut table = lock(&file.table);
        let mut index = table.index(wanted.offset);
        if rules.sequence {
            while index < file.end && !(table.zones[index].sequential && table.zones[index].usable) {
                index += 1;
            }
        } else {
            let mut zones = file.around(index);
            let holds = |zone: &State| zone.sequential && zone.usable && zone.written > 0;
            index = zones.find(|&index| holds(&table.zones[index])).unwrap_or(file.end);
        }
        if index >= file.end {
            return Ok(Placed::Nothing);
        }
        let zone = table.zones[index];
        if zone.in_flight > 0 {
            return Ok(Placed::Wait);
        }
        self.resets += u64::from(zone.written > 0);
        table.clear(index);
        let place = &mut table.zones[index];
        (place.in_flight, place.owner, place.trimming) = (1, self.worker, true);
        let block = Block { offset: zone.start, len: zone.len as u32 };
        Ok(moved(Direction::Trim, block, wanted))
    }
}

/// A request at `block` that was wanted elsewhere, perhaps: a sequence goes on behind it.
fn moved(direction: Direction, block: Block, wanted: Block) -> Placed {
    let then = (block.offset != wanted.offset).then_some(block.offset + u64::from(block.len));
    Placed::At { direction, block, then }
}

/// The start of the next zone that can be written.
fn next_usable(file: &FileZones, table: &Table, index: usize, rules: &Rules) -> Option<u64> {
    if rules.sequence {
        return Some(file.after(&table.zones[index]));
    }
    let usable = |&next: &usize| next != index && table.zones[next].usable;
    file.around(index).find(usable).map(|next| table.zones[next].start)
}

/// The zone drawn, or where it may not be opened, one that is open.
fn choose(
    file: &FileZones,
    number: FileId,
    table: &mut Table,
    drawn: usize,
    wanted: Block,
    rules: &Rules,
    worker: u32,
) -> Result<Choice, ZoneFault> {
    if !table.counts_open || table.is_open(drawn) {
        return Ok(Choice::Zone(drawn));
    }
    let (open, own) = table.open_counts(worker);
    let job_full = rules.job_max_open > 0 && own >= rules.job_max_open as usize;
    if !job_full && (table.open_limit == 0 || open < table.open_limit as usize) {
        return Ok(Choice::Zone(drawn));
    }
    let takes = |index: &&usize| {
        let zone = &table.zones[**index];
        let mine = !job_full || zone.opener == worker;
        mine && (file.first..file.end).contains(*index) && zone.left() >= rules.smallest
    };
    let candidates = table.open.iter().filter(takes).count();
    if candidates > 0 {
        let nth = (wanted.offset / u64::from(wanted.len.max(1)) % candidates as u64) as usize;
        return Ok(table.open.iter().filter(takes).nth(nth).map_or(Choice::Wait, |&index| Choice::Zone(index)));
    }
    // What nobody writes any more stands in the way.
    let left_open = |&&index: &&usize| table.zones[index].opener == NOBODY && table.zones[index].in_flight == 0;
    let Some(&index) = table.open.iter().find(left_open) else { return Ok(Choice::Wait) };
    let zone = table.zones[index];
    let failed = |e| file.fault(number, "finishing the zone at", zone.start, e);
    file.device.command(ZoneCommand::Finish, zone.start, zone.len).map_err(failed)?;
    table.zones[index].finished = true;
    table.close(index);
    Ok(Choice::Zone(drawn))
}
