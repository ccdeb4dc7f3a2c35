//! The stages that both loops share: plan, pace, fill, account.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::{ENDED, FileId, Io, Op, SlotArena, SlotId};
use iostrata_os::clock::clock_ms;
use iostrata_os::thread::{Usage, thread_usage};
use iostrata_result::series::IoRecord;
use iostrata_spec::{ErrorKind, Job, ThinkCount};

use super::checks::Held;
use super::durable::RangeSpan;
use super::feed::{Dry, Feed, Planned};
use super::files::OpenFiles;
use super::lives::Lives;
use super::placement::Placement;
use super::replay::Replay;
use super::think::Thinking;
use super::timeline::{Event, Timeline};
use super::watch::Watch;
use crate::buffers::BufferMaker;
use crate::clock::Clock;
use crate::error::RunError;
use crate::flow::FlowShare;
use crate::generate::{Direction, Priorities};
use crate::latency_target::Verdict;
use crate::live::Live;
use crate::locks::Keys;
use crate::pace::Pacer;
use crate::plan::WorkerPlan;
use crate::recorder::Recorder;
use crate::replay::Recording;
use crate::verify::Verifier;
use crate::zones::{WAIT_NS, ZoneFault};

/// A log that held its job up for longer than this is told of.
const WAITED_WORTH_TELLING_NS: u64 = 1_000_000;

/// A request in a slot, from its planning to its completion.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// What is still to transfer.
    pub(super) io: Io,
    /// What was asked for at first.
    pub(super) asked_len: u32,
    /// Offset, data and header were ready.
    pub(super) start_ns: u64,
    /// The submit call returned (asynchronous) or was about to be made (synchronous).
    pub(super) issue_ns: u64,
    /// When the schedule wanted it; 0 without a rate.
    pub(super) due_ns: u64,
}

impl Slot {
    /// Submission, completion and total latency of what completed at `now_ns`. A clock that goes back makes them 0, and
    /// never a number below.
    #[inline]
    pub(super) fn latencies_ns(&self, now_ns: u64) -> [u64; 3] {
        [
            self.issue_ns.saturating_sub(self.start_ns),
            now_ns.saturating_sub(self.issue_ns),
            now_ns.saturating_sub(self.start_ns),
        ]
    }

    pub(super) const EMPTY: Slot = Slot { io: Io::of(Op::Read), asked_len: 0, start_ns: 0, issue_ns: 0, due_ns: 0 };
}

/// Why a pass over the files came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassEnd {
    /// Every block was done, or as much as the pass may do; another may follow.
    Pass,
    /// Time is over, somebody asked to stop, or an error ended it.
    Stop,
}

/// What planning brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// A request.
    Io(Planned, u64),
    /// Nothing before this time.
    NotBefore(u64),
    /// Nothing more in this pass, or at all.
    Dry(Dry),
}

/// What happened to a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is done; its slot is free.
    Done,
    /// The rest of it must be issued again.
    Again,
}

/// Everything of a worker that is not its engine.
pub(super) struct Core<'a, C: Clock> {
    pub(super) plan: &'a WorkerPlan,
    pub(super) job: &'a Job,
    pub(super) clock: &'a C,
    pub(super) live: &'a Live,
    pub(super) feed: Feed,
    /// The recording that says what is done, instead of the feed and the pacer.
    pub(super) replay: Option<Box<Replay>>,
    pub(super) pacer: Option<Pacer>,
    pub(super) buffers: BufferMaker,
    /// Checks data; none if the job does not.
    pub(super) verifier: Option<Box<Verifier>>,
    /// A request that waits until one of the same bytes has completed.
    pub(super) held: Option<Held>,
    /// Keeps others away from the files; none if the job does not.
    pub(super) keys: Option<Box<Keys>>,
    /// A request that waits until others are away from its file, and when it was due.
    pub(super) at_door: Option<(Planned, u64)>,
    /// There is a verifier, or there are keys.
    pub(super) careful: bool,
    pub(super) arena: Arc<SlotArena>,
    pub(super) files: OpenFiles,
    pub(super) flow: Option<&'a FlowShare>,
    pub(super) timeline: Timeline,
    /// Takes each I/O down for logs over time.
    pub(super) log: Option<Recorder>,
    /// Takes down what is done, to be replayed.
    pub(super) recording: Option<Box<Recording>>,
    pub(super) watch: Watch,
    /// Longest latency that is no matter, by direction: `max_latency` or the target of a search, `u64::MAX` for none.
    pub(super) most_ns: [u64; 3],
    /// The search wants another depth, or its end, as soon as nothing is in flight.
    pub(super) verdict: Option<Verdict>,
    /// First error; ends the job.
    pub(super) error: Option<RunError>,
    pub(super) notes: Vec<String>,
    /// Something may come between two I/Os: it thinks, or searches for its depth.
    pub(super) attends: bool,
    pub(super) thinking: Thinking,
    /// The thread's figures when measuring began.
    pub(super) usage_start: Usage,
    pub(super) stopping: bool,
    /// Spans for `sync_file_range`.
    pub(super) range_sync: RangeSpan,
    /// Marks writes by where their data belongs.
    pub(super) placement: Option<Box<Placement>>,
    /// What became of each block.
    pub(super) lives: Option<Box<Lives>>,
    /// Draws the priorities of I/Os that have one of their own.
    pub(super) priorities: Option<Box<Priorities>>,
    /// There is a log, `sync_file_range`, lives of blocks, or priorities.
    pub(super) takes_down: bool,
}

impl<C: Clock> Core<'_, C> {
    /// Whether to issue no more. Looks at the time, the coordinator and the error.
    #[inline]
    pub(super) fn must_stop(&mut self, now_ns: u64) -> bool {
        match self.timeline.look(self.job, self.live, now_ns) {
            Event::None => {}
            event => self.happened(event, now_ns),
        }
        self.stopping |= self.live.stop.load(Relaxed) | self.error.is_some();
        self.stopping
    }

    #[cold]
    fn happened(&mut self, event: Event, now_ns: u64) {
        match event {
            Event::None | Event::Look => {}
            Event::RampEnd => {
                self.usage_start = thread_usage();
                self.begin_log(now_ns);
                if let Some(pacer) = &mut self.pacer {
                    pacer.forgive(now_ns);
                }
                self.watch.measuring_begins(self.live, now_ns);
            }
            Event::End => self.stopping = true,
        }
        if self.watch.think_is_due(now_ns) {
            self.thinking.since = self.thinking.blocks;
        }
        if let Some(text) = self.watch.look(self.live, now_ns) {
            self.error.get_or_insert_with(|| RunError::job_errno(self.job, libc::EIO, text));
        }
        if let Some(search) = &mut self.watch.search
            && self.timeline.measures()
        {
            let verdict = search.judge(now_ns, self.live.ios());
            self.verdict = (verdict != Verdict::Stay).then_some(verdict).or(self.verdict);
        }
        self.watch.plan_next();
        self.timeline.watch_at(self.watch.next_ns());
    }

    /// Plans one request, if one is due.
    #[inline]
    pub(super) fn plan_next(&mut self, now_ns: u64) -> Plan {
        if let Some(flow) = self.flow
            && flow.must_pause()
        {
            return Plan::NotBefore(now_ns.saturating_add(flow.pause_ns()));
        }
        if self.careful { self.plan_with_care(now_ns) } else { self.plan_work(now_ns) }
    }

    /// Plans one request of the job's own work.
    #[inline]
    pub(super) fn plan_work(&mut self, now_ns: u64) -> Plan {
        if self.replay.is_some() {
            return self.plan_replay(now_ns);
        }
        let (wanted, due_ns) = match &self.pacer {
            None => (None, 0),
            Some(pacer) => match self.earliest(pacer) {
                Some((_, due_ns)) if due_ns > now_ns => return Plan::NotBefore(due_ns),
                Some((direction, due_ns)) => (Some(direction), due_ns),
                None => (None, 0),
            },
        };
        match self.feed.next(wanted) {
            Err(Dry::Busy) => Plan::NotBefore(now_ns.saturating_add(WAIT_NS)),
            Err(Dry::Broken) => self.zone_broke(now_ns),
            Err(dry) => Plan::Dry(dry),
            Ok(io) => {
                if self.range_sync.is_due() {
                    self.sync_range();
                }
                if let (Some(pacer), Some(direction)) = (&mut self.pacer, io.direction()) {
                    pacer.issued(direction, io.len);
                }
                self.count_issue(io);
                Plan::Io(io, due_ns)
            }
        }
    }

    /// A zone could not be looked at or did not take a command: that ends the job.
    #[cold]
    fn zone_broke(&mut self, now_ns: u64) -> Plan {
        if let Some(ZoneFault { file, what, start, error }) = self.feed.take_zone_fault() {
            let path = self.plan.files.get(file as usize).map(|file| file.path.as_path());
            let what = format!("{what} {start} of");
            self.error.get_or_insert_with(|| RunError::system(self.job, path, &what, &error));
        }
        self.stopping = true;
        Plan::NotBefore(now_ns)
    }

    /// Opens the file of a request, where not all can be open. False: not before I/Os in flight have completed, or,
    /// with an error, not at all.
    #[cold]
    pub(super) fn fetch(&mut self, file: FileId) -> bool {
        self.files.fetch(self.plan, file).unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            false
        })
    }

    /// What follows from a request being planned, wherever it came from.
    #[inline]
    pub(super) fn count_issue(&mut self, io: Planned) {
        if let (Some(flow), Some(_)) = (self.flow, io.direction()) {
            flow.count();
        }
        if self.attends {
            self.thinking.owes_io = false;
            self.thinking.since += u64::from(self.job.think.count == ThinkCount::Issue);
        }
    }

    /// The direction whose schedule comes first. A direction without a rate is always due.
    fn earliest(&self, pacer: &Pacer) -> Option<(Direction, u64)> {
        let workload = self.job.workload;
        let used =
            [(workload.reads, Direction::Read), (workload.writes, Direction::Write), (workload.trims, Direction::Trim)];
        used.into_iter()
            .filter(|(used, _)| *used)
            .map(|(_, direction)| (direction, pacer.due_ns(direction).unwrap_or(0)))
            .min_by_key(|(_, due_ns)| *due_ns)
    }

    /// Whether [`Core::fill`] has to be called for each request.
    #[inline]
    pub(super) fn fills(&self) -> bool {
        self.buffers.needs_work_per_io() && self.job.workload.writes
            || self.verifier.is_some()
            || self.feed.zoned()
            || self.placement.is_some()
    }

    /// Makes the data of a request ready.
    #[inline]
    pub(super) fn fill(&mut self, io: &Io, now_ns: u64) {
        let made = self.verifier.as_ref().is_some_and(|verifier| verifier.makes_data());
        if io.op == Op::Write && self.buffers.needs_work_per_io() && !made {
            let buffers = &mut self.buffers;
            let len = io.len as usize;
            self.arena.with_bytes(io.slot, |bytes| buffers.for_write(&mut bytes[..len], io.offset, now_ns));
        }
        if let Some(verifier) = &mut self.verifier {
            self.arena.with_bytes(io.slot, |bytes| verifier.begin(io, bytes, now_ns));
        }
        if let Some(placement) = &mut self.placement
            && let Err(error) = placement.mark(io, &self.files)
        {
            let what = "telling the stream (dataplacement=streams) of a write to a file";
            self.error.get_or_insert_with(|| RunError::system(self.job, None, what, &error));
        }
    }

    /// Puts a planned request into a slot.
    #[inline]
    pub(super) fn place(slot: SlotId, planned: Planned, due_ns: u64, start_ns: u64) -> Slot {
        let io = Io { offset: planned.offset, len: planned.len, slot, file: planned.file, ..Io::of(planned.op) };
        Slot { io, asked_len: planned.len, start_ns, issue_ns: start_ns, due_ns }
    }

    /// Accounts for a completion at `now_ns`. The caller holds the live counters' write lock.
    #[inline]
    pub(super) fn account(&mut self, slot: &mut Slot, result: i32, now_ns: u64) -> Outcome {
        let outcome = self.account_io(slot, result, now_ns);
        if self.feed.zoned() && outcome == Outcome::Done {
            let failed = result < 0 || slot.io.op == Op::Write && result as u32 != slot.io.len;
            self.feed.zone_done(&slot.io, failed);
            self.live.zone_resets.add(self.feed.take_zone_resets());
        }
        outcome
    }

    #[inline]
    fn account_io(&mut self, slot: &mut Slot, result: i32, now_ns: u64) -> Outcome {
        // Trims and syncs answer 0 for success; data must come in full.
        let whole = match slot.io.op {
            Op::Read | Op::Write => result == slot.io.len as i32,
            Op::Trim | Op::Sync | Op::DataSync => result >= 0,
        };
        if !whole && let Some(outcome) = self.incomplete(slot, result) {
            if outcome == Outcome::Done && self.verifier.is_some() {
                self.check(slot, false);
            }
            return outcome;
        }
        if self.verifier.is_some() {
            self.check(slot, true);
        }
        let [slat_ns, clat_ns, lat_ns] = slot.latencies_ns(now_ns);
        let direction = match slot.io.op {
            Op::Read => Direction::Read,
            Op::Write => Direction::Write,
            Op::Trim => Direction::Trim,
            Op::Sync | Op::DataSync => {
                self.live.sync_ios.add(1);
                if self.job.measure.clat {
                    self.live.sync.record(lat_ns);
                }
                return Outcome::Done;
            }
        };
        if self.attends {
            self.thinking.since += u64::from(self.job.think.count == ThinkCount::Complete);
        }
        let Some(counters) = self.live.direction(direction) else { return Outcome::Done };
        counters.bytes.add(u64::from(slot.asked_len));
        counters.ios.add(1);
        let measure = self.job.measure;
        if measure.clat {
            counters.clat.record(clat_ns);
            self.live.buckets.record(clat_ns);
        }
        if measure.slat && !self.plan.engine.caps.synchronous {
            counters.slat.record(slat_ns);
        }
        if measure.lat {
            counters.lat.record(lat_ns);
            if let Some(paced) = &counters.paced
                && slot.due_ns > 0
            {
                paced.lat_intended.record(now_ns.saturating_sub(slot.due_ns));
                paced.issue_lag.record(slot.start_ns.saturating_sub(slot.due_ns));
            }
        }
        if self.takes_down {
            self.take_down(slot, direction, now_ns);
        }
        if lat_ns > self.most_ns[direction.index()] {
            self.too_slow(&slot.io, direction, lat_ns);
        }
        Outcome::Done
    }

    /// What logs, `sync_file_range` and the lives of blocks need of an I/O that was done.
    #[inline]
    fn take_down(&mut self, slot: &Slot, direction: Direction, now_ns: u64) {
        if self.range_sync.every > 0 && direction == Direction::Write {
            self.range_sync.note(&slot.io, slot.asked_len);
        }
        if self.priorities.is_some()
            && let Some(counters) = self.live.direction(direction)
        {
            let [_, clat_ns, lat_ns] = slot.latencies_ns(now_ns);
            let (clat, lat) = ((self.job.measure.clat, clat_ns), (self.job.measure.lat, lat_ns));
            let (measured, latency_ns) = if self.job.reporting.lat_percentiles { lat } else { clat };
            if measured {
                counters.record_priority(slot.io.priority, latency_ns);
            }
        }
        if let Some(log) = &mut self.log {
            log.io(record(slot, direction, now_ns));
        }
        if let Some(lives) = &mut self.lives {
            lives.note(&slot.io, slot.asked_len, true);
        }
    }

    /// `sync_file_range` after enough writes and before the next I/O: over what they reached. Its time is among those
    /// of syncs, as in fio, which does not count it as one.
    #[cold]
    fn sync_range(&mut self) {
        let before_ns = self.clock.now_ns();
        match self.range_sync.sync(&self.files) {
            Ok(true) if self.job.measure.clat => self.live.sync.record(self.clock.now_ns().saturating_sub(before_ns)),
            Ok(_) => {}
            Err(error) => {
                self.error.get_or_insert_with(|| RunError::system(self.job, None, "sync_file_range", &error));
            }
        }
    }

    /// Logs begin with measuring.
    pub(super) fn begin_log(&mut self, now_ns: u64) {
        if let Some(log) = &mut self.log {
            let clock = self.job.logs.clock_time && !self.plan.engine.caps.virtual_time;
            log.begin(now_ns, if clock { clock_ms(self.job.logs.clock_id).unwrap_or(0) } else { 0 });
        }
    }

    /// Takes down that the files are open.
    pub(super) fn record_open(&mut self, now_ns: u64) {
        if let Some(recording) = &mut self.recording {
            recording.opened(self.feed.open_files(), now_ns);
        }
    }

    /// The rest of the logs goes out.
    pub(super) fn end_log(&mut self, now_ns: u64) {
        let recorded_ns = self.recording.as_ref().map_or(0, |recording| recording.waited_ns);
        let waited_ns = self.log.take().map_or(0, |log| log.finish(now_ns)) + recorded_ns;
        if waited_ns > WAITED_WORTH_TELLING_NS {
            self.notes.push(format!(
                "logs could not be written as fast as I/O was done: the job waited {} ms for them; log_avg_msec= makes \
                 them smaller",
                waited_ns / 1_000_000
            ));
        }
    }

    /// A request that failed, was interrupted, or moved fewer bytes than asked. `None`: count it as whole after all.
    #[cold]
    fn incomplete(&mut self, slot: &mut Slot, result: i32) -> Option<Outcome> {
        if result == -libc::EINTR {
            // A request that a signal ended while the job is stopping did not happen.
            return Some(if self.stopping { Outcome::Done } else { Outcome::Again });
        }
        if result == ENDED {
            self.stopping = true;
            return Some(Outcome::Done);
        }
        let direction = match slot.io.op {
            Op::Read => Some(Direction::Read),
            Op::Write => Some(Direction::Write),
            Op::Trim => Some(Direction::Trim),
            Op::Sync | Op::DataSync => None,
        };
        let counters = direction.and_then(|direction| self.live.direction(direction));
        if result > 0 && (result as u32) < slot.io.len {
            if slot.io.len == slot.asked_len
                && let Some(counters) = counters
            {
                counters.short_ios.add(1);
            }
            slot.io.offset += result as u64;
            slot.io.slot_offset += result as u32;
            slot.io.len -= result as u32;
            return Some(Outcome::Again);
        }
        if self.verifier.is_none()
            && let Some(offset) = self.feed.recover(&slot.io)
        {
            (slot.io.offset, slot.io.slot_offset, slot.io.len) = (offset, 0, slot.asked_len);
            return Some(Outcome::Again);
        }
        if let Some(counters) = counters {
            counters.failed_ios.add(1);
        }
        if let Some(lives) = &mut self.lives {
            lives.note(&slot.io, slot.asked_len, false);
        }
        let errno = if result < 0 { -result } else { libc::EIO };
        if self.passes_over(&slot.io, result, errno) {
            return Some(Outcome::Done);
        }
        self.stopping = true;
        if self.job.fill_device && slot.io.op == Op::Write && errno == libc::ENOSPC {
            // That is what the job was for.
            return Some(Outcome::Done);
        }
        let text = self.io_error_text(&slot.io, result);
        self.error.get_or_insert_with(|| RunError::job_errno(self.job, errno, text));
        Some(Outcome::Done)
    }

    /// Counts an error that the job goes on after; false for one that ends it.
    fn passes_over(&self, io: &Io, result: i32, errno: i32) -> bool {
        let kind = if io.op == Op::Read { ErrorKind::Read } else { ErrorKind::Write };
        let rules = &self.job.errors;
        if !rules.pass_over(kind, errno) {
            return false;
        }
        self.live.pass_over(errno);
        if rules.dump {
            self.live.say(format!("job {}: {}", self.job.name, self.io_error_text(io, result)));
        }
        true
    }

    /// Sleeps until `at_ns` or until told to stop, taking samples on the way.
    pub(super) fn sleep_until(&mut self, at_ns: u64) {
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= at_ns || self.must_stop(now_ns) {
                return;
            }
            self.clock.sleep_until(at_ns.min(self.timeline.wake_ns()));
        }
    }

    /// The files were gone through once: whether a time-based job goes round again, in a new order.
    ///
    /// `release` has the engine let go of what it holds of their contents.
    pub(super) fn wrap(&mut self, release: impl FnOnce()) -> bool {
        if !self.job.time_based || self.feed.opens_in_parts() || !self.feed.wrap() {
            return false;
        }
        if self.job.invalidate {
            release();
            self.files.drop_cache();
        }
        true
    }
}

/// A completed request as logs take it.
#[inline]
fn record(slot: &Slot, direction: Direction, now_ns: u64) -> IoRecord {
    let [slat_ns, clat_ns, lat_ns] = slot.latencies_ns(now_ns);
    IoRecord {
        completed_ns: now_ns,
        issued_ns: slot.issue_ns,
        slat_ns,
        clat_ns,
        lat_ns,
        // Where it began, if it took several calls.
        offset: slot.io.offset - u64::from(slot.asked_len - slot.io.len),
        bytes: slot.asked_len,
        direction: direction.index() as u8,
        priority: slot.io.priority,
    }
}

#[cfg(test)]
mod tests {
    use iostrata_stats::LatencySummary;

    use super::*;

    /// A clock that goes back gives a mean of -1.8e160 and an infinite deviation. Here latencies are differences that
    /// stop at 0, in reports and in logs.
    #[test]
    fn bug_b36() {
        let backwards = Slot { start_ns: 5000, issue_ns: 4000, ..Slot::EMPTY };
        for now_ns in [0, 3999, 4500] {
            let latencies_ns = backwards.latencies_ns(now_ns);
            assert_eq!((latencies_ns[0], latencies_ns[2]), (0, 0), "{now_ns}");
            assert_eq!(latencies_ns[1], now_ns.saturating_sub(4000));
            let logged = record(&backwards, Direction::Read, now_ns);
            assert_eq!([logged.slat_ns, logged.clat_ns, logged.lat_ns], latencies_ns);
            let moments = LatencySummary::of(latencies_ns).moments;
            assert!((0.0..=500.0).contains(&moments.mean()) && (0.0..=500.0).contains(&moments.stddev()));
        }
        assert_eq!(Slot { start_ns: 1, issue_ns: 3, ..Slot::EMPTY }.latencies_ns(9), [2, 6, 8]);
    }
}
