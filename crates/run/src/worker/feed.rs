//! Which I/O comes next: direction, file, offset, and the syncs between writes.
//!
//! The feed knows nothing of time. It is asked for the next request until it says that the pass, or all, is done.

mod syncs;
#[cfg(test)]
mod tests;
mod zones;

use std::ops::Range;

use iostrata_engine::{FileId, Op};

use self::syncs::Syncs;
use crate::generate::{Block, Direction, FileChoice, Mix, Offsets};
use crate::zones::{ZoneFault, Zoning};

/// A request that is planned and has no buffer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) file: FileId,
    pub(super) op: Op,
}

impl Planned {
    /// The data direction; `None` for the sync family.
    pub(super) fn direction(&self) -> Option<Direction> {
        match self.op {
            Op::Read => Some(Direction::Read),
            Op::Write => Some(Direction::Write),
            Op::Trim => Some(Direction::Trim),
            Op::Sync | Op::DataSync => None,
        }
    }
}

/// Why the feed gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dry {
    /// The files were gone through once; [`Feed::restart`] begins another pass.
    Pass,
    /// All bytes or I/Os are planned.
    Limit,
    /// A zone cannot take the next request yet.
    Busy,
    /// A zone failed; [`Feed::take_zone_fault`] says how.
    Broken,
}

/// What the feed needs to know of its job.
pub(super) struct FeedLimits {
    /// Bytes in one loop (`u64::MAX`: no such end).
    pub(super) bytes: u64,
    /// I/Os in one loop (`u64::MAX`: no such end).
    pub(super) ios: u64,
    /// `loops`: so many times as much in all passes together. As in fio a pass ends where the files do, and not where a
    /// loop's share of bytes or I/Os does.
    pub(super) loops: u32,
    /// `fsync` after this many writes, 0 = never.
    pub(super) fsync_every: u32,
    /// `fdatasync` after this many writes, 0 = never.
    pub(super) fdatasync_every: u32,
    /// `openfiles`: so many files at a time.
    pub(super) open_files: usize,
    /// Lengths that are drawn keep within the bytes that are left.
    pub(super) lengths_fit: bool,
    /// Each pass has the order of the one before (`randrepeat`), else another.
    pub(super) repeat: bool,
    /// Random offsets.
    pub(super) random: bool,
}

/// Blocks planned ahead for the common job: one file, one direction.
const AHEAD: usize = 64;

/// The feed of one worker.
pub(super) struct Feed {
    files: Vec<Offsets>,
    /// Files that are open and have blocks left in this pass.
    live_files: Round,
    /// Those that are open.
    open: Range<usize>,
    choice: FileChoice,
    mix: Mix,
    /// The only direction, if there is but one.
    single: Option<Direction>,
    /// Each block is trimmed, then written; only the writes count towards the job's bytes.
    paired: bool,
    bytes_left: u64,
    ios_left: u64,
    limits: FeedLimits,
    syncs: Option<Syncs>,
    /// Where the pass came to its end.
    dried: Option<(FileId, Direction)>,
    ahead: [Block; AHEAD],
    ahead_next: usize,
    ahead_end: usize,
    planned_in_pass: bool,
    /// One file, and blocks whose lengths are known before.
    plans_ahead: bool,
    /// One file, and blocks that are the same for all directions.
    shares_ahead: bool,
    /// With `zonemode=zbd`: where requests go.
    zones: Option<Box<Zoning>>,
    /// A request that its zone could not take yet.
    waiting: Option<(Direction, FileId, Block)>,
    zone_fault: Option<ZoneFault>,
}

/// The files of a round, in order. One that is done keeps its place until so many are done that closing the ranks is
/// worth it: with a million files each cannot cost a look at all the others.
struct Round {
    /// [`GONE`] where one is done.
    places: Vec<FileId>,
    left: usize,
}

/// No file has this number.
const GONE: FileId = FileId::MAX;

impl Round {
    fn of(files: Range<usize>) -> Self {
        let mut round = Round { places: Vec::with_capacity(files.len()), left: 0 };
        round.begin(files);
        round
    }

    /// Begins anew with these.
    fn begin(&mut self, files: Range<usize>) {
        self.left = files.len();
        self.places.clear();
        self.places.extend(files.map(|file| file as FileId));
    }

    fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// The next I/O's file, and its place. There must be one left.
    fn pick(&mut self, choice: &mut FileChoice) -> (usize, FileId) {
        loop {
            let position = choice.pick(self.places.len());
            match self.places[position] {
                GONE => choice.again(),
                file => return (position, file),
            }
        }
    }

    /// The file at this place, which was picked, is done.
    fn remove(&mut self, position: usize, choice: &mut FileChoice) {
        self.places[position] = GONE;
        self.left -= 1;
        choice.ended();
        if self.left < self.places.len() / 2 {
            let before = self.places[..position].iter().filter(|&&file| file != GONE).count();
            self.places.retain(|&file| file != GONE);
            choice.moved(before);
        }
    }
}

impl Feed {
    pub(super) fn new(files: Vec<Offsets>, choice: FileChoice, mix: Mix, paired: bool, limits: FeedLimits) -> Self {
        let open = 0..limits.open_files.min(files.len());
        let syncs = (limits.fsync_every > 0 || limits.fdatasync_every > 0).then_some(Syncs {
            fsync_every: limits.fsync_every,
            fdatasync_every: limits.fdatasync_every,
            writes: 0,
            last_was_write: false,
            last_file: 0,
        });
        Feed {
            plans_ahead: matches!(&files[..], [file] if !file.drawn_lengths()),
            shares_ahead: !paired && matches!(&files[..], [file] if file.shares_order()),
            live_files: Round::of(open.clone()),
            open,
            files,
            choice,
            single: mix.only(),
            mix,
            paired,
            bytes_left: limits.bytes.saturating_mul(limits.loops.into()),
            ios_left: limits.ios.saturating_mul(limits.loops.into()),
            limits,
            syncs,
            dried: None,
            ahead: [Block::default(); AHEAD],
            ahead_next: 0,
            ahead_end: 0,
            planned_in_pass: false,
            zones: None,
            waiting: None,
            zone_fault: None,
        }
    }

    /// Begins another pass: where each block comes once, in the same order again or another, as the job wants; and with
    /// the same tosses between reads and writes, if it is random.
    ///
    /// Returns false, and stays dry, if all is planned, or if the pass that ended planned nothing: another would not
    /// either.
    pub(super) fn restart(&mut self) -> bool {
        let repeat = self.limits.repeat;
        if self.ios_left == 0
            || self.bytes_left == 0
            || !self.begin_pass(|files, _| files.iter_mut().for_each(|file| file.restart(repeat)))
        {
            return false;
        }
        if let Some(syncs) = &mut self.syncs {
            // As in fio, what is due at the end of a pass comes once more at the beginning of the next.
            syncs.last_was_write = self.single == Some(Direction::Write) && syncs.writes > 0;
        }
        if self.limits.random {
            self.mix.restart(repeat);
        }
        true
    }

    /// Goes round again while time is left: what came to its end begins anew, in another order.
    pub(super) fn wrap(&mut self) -> bool {
        self.begin_pass(|files, dried| match dried {
            Some((file, direction)) if files.len() == 1 => files[file as usize].wrap(direction),
            _ => files.iter_mut().for_each(|file| file.restart(false)),
        })
    }

    fn begin_pass(&mut self, begin: impl FnOnce(&mut [Offsets], Option<(FileId, Direction)>)) -> bool {
        if !self.planned_in_pass {
            return false;
        }
        begin(&mut self.files, self.dried.take());
        if let Some(zones) = &mut self.zones {
            zones.begin_pass();
        }
        if self.paired {
            // The trim that found no block any more is to come first.
            self.mix.restart(true);
        }
        self.open_from(0);
        self.ahead_next = 0;
        self.ahead_end = 0;
        self.planned_in_pass = false;
        true
    }

    /// The files that must be open.
    pub(super) fn open_files(&self) -> Range<usize> {
        self.open.clone()
    }

    /// Whether fewer files are open at a time than there are.
    pub(super) fn opens_in_parts(&self) -> bool {
        self.limits.open_files < self.files.len()
    }

    /// Goes on with the files after those that are open now and done; false if the pass has no more.
    pub(super) fn next_files(&mut self) -> bool {
        let more = self.live_files.is_empty() && self.open.end < self.files.len();
        if more {
            self.open_from(self.open.end);
        }
        more
    }

    fn open_from(&mut self, first: usize) {
        self.open = first..first.saturating_add(self.limits.open_files).min(self.files.len());
        self.live_files.begin(self.open.clone());
        self.choice.restart();
    }

    /// Whether the passes so far planned less than one loop's bytes and may plan more: `io_size` above the size of the
    /// files takes several passes.
    pub(super) fn owes_bytes(&self) -> bool {
        self.bytes_left > self.limits.bytes.saturating_mul(u64::from(self.limits.loops) - 1)
    }

    /// The next request. `wanted` overrides the mix of a mixed job (its pacer decides).
    #[inline]
    pub(super) fn next(&mut self, wanted: Option<Direction>) -> Result<Planned, Dry> {
        // What was planned ahead is counted already.
        if self.ahead_next == self.ahead_end && (self.bytes_left == 0 || self.ios_left == 0) {
            return Err(Dry::Limit);
        }
        if let Some(sync) = self.syncs.as_mut().and_then(Syncs::due) {
            return Ok(self.in_turn(sync));
        }
        match self.single {
            Some(direction) if self.plans_ahead => self.next_ahead(direction),
            None if self.shares_ahead => {
                let direction = wanted.unwrap_or_else(|| self.mix.next());
                self.next_ahead(direction)
            }
            _ => self.next_any(wanted),
        }
    }

    /// As in fio a sync goes to the file whose turn it is, and takes the turn.
    fn in_turn(&mut self, sync: Planned) -> Planned {
        if self.live_files.left < 2 {
            return sync;
        }
        let (_, file) = self.live_files.pick(&mut self.choice);
        self.choice.given();
        Planned { file, ..sync }
    }

    /// The common job: offsets are made 64 at a time.
    #[inline]
    fn next_ahead(&mut self, direction: Direction) -> Result<Planned, Dry> {
        let block = self.one(direction)?;
        let io = planned(block, 0, direction);
        if let Some(syncs) = &mut self.syncs {
            syncs.note(&io);
        }
        Ok(io)
    }

    /// Plans the next blocks of the common job, and counts them: as many as the job may still do.
    #[inline(never)]
    fn plan_ahead(&mut self, direction: Direction) -> Result<(), Dry> {
        if self.bytes_left == 0 || self.ios_left == 0 {
            return Err(Dry::Limit);
        }
        let planned = self.files[0].plan(direction, &mut self.ahead);
        (self.ahead_next, self.ahead_end) = (0, 0);
        if planned == 0 {
            self.dried = Some((0, direction));
            return Err(Dry::Pass);
        }
        let most = planned.min(usize::try_from(self.ios_left).unwrap_or(usize::MAX));
        let bytes: u64 = self.ahead[..most].iter().map(|block| u64::from(block.len)).sum();
        if bytes <= self.bytes_left {
            (self.bytes_left, self.ahead_end) = (self.bytes_left - bytes, most);
        }
        // The last blocks of the job: as in fio the last may reach over.
        while self.ahead_end < most && self.bytes_left > 0 {
            self.bytes_left = self.bytes_left.saturating_sub(u64::from(self.ahead[self.ahead_end].len));
            self.ahead_end += 1;
        }
        self.ios_left -= self.ahead_end as u64;
        self.planned_in_pass = true;
        Ok(())
    }

    /// The only direction of a job whose next requests [`Feed::row`] can give.
    pub(super) fn row_direction(&self) -> Option<Direction> {
        let plain = self.plans_ahead && self.syncs.is_none() && self.zones.is_none() && !self.paired;
        self.single.filter(|_| plain)
    }

    /// The blocks of the next requests, at least one and at most `most`, all of file 0: the same as that many calls of
    /// [`Feed::next`], for a job that has a [`Feed::row_direction`].
    #[inline]
    pub(super) fn row(&mut self, direction: Direction, most: usize) -> Result<&[Block], Dry> {
        if self.ahead_next == self.ahead_end {
            self.plan_ahead(direction)?;
        }
        let first = self.ahead_next;
        self.ahead_next = self.ahead_end.min(first.saturating_add(most));
        Ok(&self.ahead[first..self.ahead_next])
    }

    /// The block of the next request, as [`Feed::row`] would give it.
    #[inline(always)]
    pub(super) fn one(&mut self, direction: Direction) -> Result<Block, Dry> {
        if self.ahead_next == self.ahead_end {
            self.plan_ahead(direction)?;
        }
        let block = self.ahead[self.ahead_next];
        self.ahead_next += 1;
        Ok(block)
    }

    fn next_any(&mut self, wanted: Option<Direction>) -> Result<Planned, Dry> {
        if let Some((direction, file, block)) = self.waiting.take()
            && let Some((direction, block)) = self.placed(direction, file, block)?
        {
            return Ok(self.give(planned(block, file, direction)));
        }
        // A trim and its write belong together, whatever a rate wants.
        let direction = match (self.single, wanted) {
            (Some(direction), _) => direction,
            (None, Some(direction)) if !self.paired => direction,
            _ => self.mix.next(),
        };
        let io = self.pick(direction)?.ok_or(Dry::Pass)?;
        Ok(self.give(io))
    }

    /// Counts what is given out; of a trim and its write only the write.
    #[inline]
    fn give(&mut self, io: Planned) -> Planned {
        if self.paired && io.op == Op::Trim {
            self.planned_in_pass = true;
            return io;
        }
        self.choice.given();
        self.count(io)
    }

    /// The next block of the file whose turn it is; files without one leave the round.
    fn pick(&mut self, direction: Direction) -> Result<Option<Planned>, Dry> {
        // As in fio the last block may reach over io_size, and is drawn to fit what is left of size.
        let room = if self.limits.lengths_fit { self.bytes_left } else { u64::MAX };
        while !self.live_files.is_empty() {
            let (position, file) = self.live_files.pick(&mut self.choice);
            let offsets = &mut self.files[file as usize];
            let mut block = offsets.next_within(direction, room);
            if block.is_none() && self.choice.revives() {
                offsets.restart(false);
                block = offsets.next_within(direction, room);
            }
            let placed = match block {
                Some(block) => self.placed(direction, file, block)?,
                None => None,
            };
            if let Some((direction, block)) = placed {
                return Ok(Some(planned(block, file, direction)));
            }
            self.dried = Some((file, direction));
            self.live_files.remove(position, &mut self.choice);
        }
        Ok(None)
    }

    #[inline]
    fn count(&mut self, io: Planned) -> Planned {
        self.planned_in_pass = true;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(io.len));
        self.ios_left -= 1;
        if let Some(syncs) = &mut self.syncs {
            syncs.note(&io);
        }
        io
    }
}

#[inline]
fn planned(block: Block, file: FileId, direction: Direction) -> Planned {
    let op = match direction {
        Direction::Read => Op::Read,
        Direction::Write => Op::Write,
        Direction::Trim => Op::Trim,
    };
    Planned { offset: block.offset, len: block.len, file, op }
}
