//! The loop for engines that hold many requests in flight.
//!
//! A round: plan what fits into the free slots, submit it, wait for what comes back, account for it. Nothing is held
//! back to make a batch; what became free in one reap may go down in one call.

mod rows;

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::{Completion, Deadline, Engine, EngineError, Io, SlotId};

use iostrata_spec::{PlacementMeans, ThinkCount};

use super::common::{Common, Latencies, ROW};
use super::core::{Core, Outcome, PassEnd, Plan, Slot};
use super::feed::{Dry, Planned};
use super::think::After;
use crate::clock::Clock;
use crate::error::NO_ANSWER;
use crate::live::batch_row;
use crate::plan::WorkerPlan;

/// Most requests in one submit call, where the job does not say otherwise (`iodepth_batch`).
const BATCH_DEFAULT: u32 = 8;
/// A submit call that takes longer than this per request does the I/O itself instead of queueing it.
const BLOCKING_SUBMIT_NS: u64 = 20_000;
/// Calls of several requests that are judged together, and how many of them must be slow for batches to be given up.
/// Slow by chance are those during which the thread lost its processor.
const JUDGED_CALLS: u32 = 16;
const BLOCKING_CALLS: u32 = 12;
/// How long to wait where the system's queue is full and none of it is ours.
const FULL_QUEUE_NS: u64 = 100_000;
/// After the end is decided: how long to wait between looks at whether the coordinator has lost patience.
const DRAIN_LOOK_NS: u64 = 50_000_000;

/// The slots and lists of one worker's asynchronous loop; allocated once.
pub(super) struct AsyncLoop {
    slots: Vec<Slot>,
    free: Vec<SlotId>,
    batch: Vec<Io>,
    completions: Vec<Completion>,
    again: Vec<SlotId>,
    in_flight: u32,
    rules: BatchRules,
    /// `serialize_overlap`: which slots are in flight, and the request that waits for one of them.
    overlaps: Option<Overlaps>,
    /// A request whose file can be open only when another one's requests have completed.
    unopened: Option<(Planned, u64)>,
    /// Set while `iodepth_low` makes the queue run down.
    draining_to_low: bool,
    judged_calls: u32,
    slow_calls: u32,
    /// When the batch was planned and its data was ready.
    ready_ns: u64,
    /// Whether each request of the batch has a stamp of its own for that, because its data was made.
    stamped_each: bool,
    /// The batch was issued before: it goes on after a short transfer.
    repeats: bool,
    common: Common,
    /// Room for the latencies of completions that are accounted for together.
    row: Box<[Latencies; ROW]>,
}

/// How many requests go down and come up together.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchRules {
    /// Requests in flight at most.
    pub(super) depth: u32,
    /// Requests in one submit call at most.
    pub(super) submit: u32,
    /// Whether `submit` was given by the job.
    pub(super) submit_given: bool,
    /// Requests to wait for when the queue is full.
    pub(super) reap_min: u32,
    /// Completions to account for in one go at most (`iodepth_batch_complete_max`); others wait, as they do in fio.
    pub(super) reap_max: u32,
    /// Once full, the queue runs down to this before it is filled again.
    pub(super) low: u32,
}

impl BatchRules {
    /// The rules of a job at a granted depth.
    pub(super) fn of(job: &iostrata_spec::Job, depth: u32) -> Self {
        let submit = match job.batch_submit {
            None => BATCH_DEFAULT,
            Some(0) => depth,
            Some(count) => count,
        };
        // As in fio: a job that thinks after so many completions sees them one by one, with a refill between.
        let thinks = job.think.pause_ns > 0 && job.think.blocks < u64::MAX && job.think.count == ThinkCount::Complete;
        let at_once = if thinks { 1 } else { depth };
        // A file has one hint at a time, so each write goes down under its own.
        let submit = if job.shape.placement.means == PlacementMeans::None { submit } else { 1 };
        BatchRules {
            depth,
            submit: submit.clamp(1, depth),
            submit_given: job.batch_submit.is_some(),
            reap_min: job.batch_complete_min.unwrap_or(1).min(depth),
            reap_max: job.batch_complete_max.or(job.batch_complete_min).map_or(at_once, |count| count.clamp(1, depth)),
            low: job.depth_low.unwrap_or(depth).clamp(1, depth),
        }
    }
}

impl AsyncLoop {
    pub(super) fn new(rules: BatchRules, serialize_overlap: bool) -> Self {
        let depth = rules.depth as usize;
        AsyncLoop {
            slots: vec![Slot::EMPTY; depth],
            // Taken from the end: slot 0 first.
            free: (0..rules.depth).rev().collect(),
            batch: Vec::with_capacity(depth),
            completions: Vec::with_capacity(depth),
            again: Vec::with_capacity(depth),
            in_flight: 0,
            rules,
            overlaps: serialize_overlap.then(|| Overlaps { busy: vec![false; depth], held: None }),
            unopened: None,
            draining_to_low: false,
            judged_calls: 0,
            slow_calls: 0,
            ready_ns: 0,
            stamped_each: false,
            repeats: false,
            common: Common { planned: None, counted: false },
            row: Box::new([[0; 3]; ROW]),
        }
    }

    /// At most so many requests in flight from now on.
    pub(super) fn limit(&mut self, depth: u32) {
        self.rules.depth = depth;
    }

    /// One pass over the files.
    pub(super) fn pass<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        engine: &mut dyn Engine,
    ) -> Result<PassEnd, EngineError> {
        self.common = core.common();
        if self.overlaps.is_some() {
            self.common = Common { planned: None, counted: false };
        }
        let mut now_ns = core.clock.now_ns();
        loop {
            if core.must_stop(now_ns) {
                self.drain(core, engine)?;
                return Ok(PassEnd::Stop);
            }
            let mut wait_ns = u64::MAX;
            if core.attends
                && let Some(interlude) = core.interlude(&mut now_ns)
            {
                self.drain(core, engine)?;
                match core.perform(interlude) {
                    After::Go => {}
                    After::Depth(depth) => self.rules.depth = depth,
                    After::End => return Ok(PassEnd::Stop),
                }
                now_ns = core.clock.now_ns();
                continue;
            }
            if let Some(direction) = self.alone()
                && let Some(alone_ns) = self.pass_alone(core, engine, direction, now_ns)?
            {
                now_ns = alone_ns;
                continue;
            }
            if self.may_fill() {
                match self.plan_batch(core, now_ns) {
                    Ok(()) => {}
                    Err(Plan::NotBefore(due_ns)) => wait_ns = due_ns,
                    Err(Plan::Dry(dry)) if self.batch.is_empty() => match self.dry(core, engine, dry)? {
                        Some(end) => return Ok(end),
                        None => {
                            now_ns = core.clock.now_ns();
                            continue;
                        }
                    },
                    Err(_) => {}
                }
                if !self.batch.is_empty() {
                    now_ns = self.submit(core, engine)?;
                    if wait_ns == u64::MAX && self.may_fill() && self.completions.is_empty() {
                        continue;
                    }
                }
            }
            now_ns = self.wait(core, engine, wait_ns)?;
        }
    }

    fn may_fill(&mut self) -> bool {
        if self.draining_to_low && self.in_flight > self.rules.low {
            return false;
        }
        self.draining_to_low = false;
        self.in_flight < self.rules.depth
    }

    /// Plans up to a batch into free slots; what must be issued again comes first.
    #[inline]
    fn plan_batch<C: Clock>(&mut self, core: &mut Core<'_, C>, now_ns: u64) -> Result<(), Plan> {
        debug_assert!(self.batch.is_empty());
        self.ready_ns = now_ns;
        let room = (self.rules.depth - self.in_flight).min(self.rules.submit) as usize;
        self.repeats = !self.again.is_empty();
        if self.repeats {
            // They began long ago: their stamps stay.
            self.stamped_each = true;
            let first = self.again.len().saturating_sub(room);
            self.batch.extend(self.again.drain(first..).map(|slot| self.slots[slot as usize].io));
            return Ok(());
        }
        if let Some(direction) = self.common.planned {
            return self.plan_row(core, direction, room);
        }
        self.plan_each(core, room.min(core.think_room()), now_ns)
    }

    /// Plans requests one by one.
    fn plan_each<C: Clock>(&mut self, core: &mut Core<'_, C>, room: usize, now_ns: u64) -> Result<(), Plan> {
        let mut start_ns = now_ns;
        let stamp_each = core.fills();
        self.stamped_each = stamp_each;
        while self.batch.len() < room {
            let overlapping = || self.overlaps.as_mut().and_then(|overlaps| overlaps.held.take());
            let held = self.unopened.take().or_else(overlapping);
            let (planned, due_ns) = match held.map_or_else(|| core.plan_next(start_ns), |(io, due)| Plan::Io(io, due)) {
                Plan::Io(planned, due_ns) => (planned, due_ns),
                nothing => return Err(nothing),
            };
            if let Some(overlaps) = &mut self.overlaps
                && overlaps.holds(&self.slots, planned, due_ns)
            {
                return Err(Plan::NotBefore(u64::MAX));
            }
            if core.files.in_parts() {
                if !core.fetch(planned.file) {
                    self.unopened = Some((planned, due_ns));
                    return Err(Plan::NotBefore(u64::MAX));
                }
                core.files.pin(planned.file);
                start_ns = core.clock.now_ns();
                self.ready_ns = start_ns;
            }
            let Some(id) = self.free.pop() else { return Ok(()) };
            if let Some(overlaps) = &mut self.overlaps {
                overlaps.busy[id as usize] = true;
            }
            let mut slot = Core::<C>::place(id, planned, due_ns, start_ns);
            if let (Some(priorities), Some(direction)) = (&mut core.priorities, planned.direction()) {
                slot.io.priority = priorities.draw(direction, planned.len);
            }
            if stamp_each {
                core.fill(&slot.io, start_ns);
                start_ns = core.clock.now_ns();
                slot.start_ns = start_ns;
                self.ready_ns = start_ns;
            }
            self.slots[id as usize] = slot;
            self.batch.push(slot.io);
        }
        Ok(())
    }

    /// Nothing more to plan: the pass, or all, is done, or a time-based job goes round again.
    fn dry<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        engine: &mut dyn Engine,
        dry: Dry,
    ) -> Result<Option<PassEnd>, EngineError> {
        if dry == Dry::Pass && core.wrap(|| ()) {
            return Ok(None);
        }
        self.drain(core, engine)?;
        if !self.again.is_empty() {
            return Ok(None);
        }
        Ok(Some(PassEnd::Pass))
    }

    /// Hands the batch to the engine, all of it: where the system takes only a part, the rest follows after a reap.
    fn submit<C: Clock>(&mut self, core: &mut Core<'_, C>, engine: &mut dyn Engine) -> Result<u64, EngineError> {
        let mut sent = 0;
        let mut now_ns = self.ready_ns;
        while sent < self.batch.len() {
            core.live.note_current(&self.batch[sent]);
            let taken = engine.submit(&self.batch[sent..], &mut self.completions)?;
            let after_ns = core.clock.now_ns();
            if let (Some(recording), false) = (&mut core.recording, self.repeats) {
                self.batch[sent..sent + taken].iter().for_each(|io| recording.io(io, after_ns));
            }
            {
                let _batch = core.live.lock.write();
                core.live.submit_counts[batch_row(taken as u32)].add(1);
                self.stamp(core, sent..sent + taken, now_ns, after_ns);
            }
            core.live.in_flight.store(self.in_flight, Relaxed);
            self.notice_blocking(core, taken as u32, after_ns.saturating_sub(now_ns));
            sent += taken;
            now_ns = after_ns;
            if taken == 0 {
                // The queue is full below us. With nothing of ours in flight only time can help.
                if self.in_flight > 0 {
                    engine.reap(1, Deadline::Never, &mut self.completions)?;
                } else {
                    core.clock.sleep_until(now_ns + FULL_QUEUE_NS);
                }
                now_ns = core.clock.now_ns();
                self.account(core, now_ns);
                if core.must_stop(now_ns) {
                    self.take_back(sent);
                    break;
                }
            }
        }
        self.batch.clear();
        if self.in_flight == self.rules.depth && self.rules.low < self.rules.depth {
            self.draining_to_low = true;
        }
        Ok(now_ns)
    }

    /// Stamps and counts what a submit call took.
    #[inline]
    fn stamp<C: Clock>(&mut self, core: &mut Core<'_, C>, taken: Range<usize>, called_ns: u64, returned_ns: u64) {
        let call_ns = returned_ns.saturating_sub(called_ns);
        if taken.len() > 1 && call_ns > core.live.batch_stamp_error_ns.get() {
            core.live.batch_stamp_error_ns.set(call_ns);
        }
        core.live.count_depths(self.in_flight, taken.len() as u32);
        self.in_flight += taken.len() as u32;
        if self.rules.submit_given && !self.stamped_each {
            // One call, one pair of stamps.
            for io in &self.batch[taken] {
                let slot = &mut self.slots[io.slot as usize];
                (slot.start_ns, slot.issue_ns) = (called_ns.min(returned_ns), returned_ns);
            }
            return;
        }
        let stamps = call_stamps(returned_ns, call_ns, taken.len() as u64, self.rules.submit_given);
        for (io, (start_ns, issue_ns)) in self.batch[taken].iter().zip(stamps) {
            let slot = &mut self.slots[io.slot as usize];
            slot.issue_ns = issue_ns;
            if !self.stamped_each {
                slot.start_ns = start_ns;
            }
        }
    }

    /// Requests that were planned and will not be issued: the job is stopping.
    fn take_back(&mut self, sent: usize) {
        for io in &self.batch[sent..] {
            self.free.push(io.slot);
        }
    }

    /// An engine whose submit call does the I/O itself would stamp every request of a batch with the end of the last.
    #[inline]
    fn notice_blocking<C: Clock>(&mut self, core: &mut Core<'_, C>, taken: u32, took_ns: u64) {
        if taken < 2 || self.rules.submit_given {
            return;
        }
        self.judged_calls += 1;
        self.slow_calls += u32::from(took_ns >= BLOCKING_SUBMIT_NS * u64::from(taken));
        if self.judged_calls < JUDGED_CALLS {
            return;
        }
        let blocks = self.slow_calls >= BLOCKING_CALLS;
        (self.judged_calls, self.slow_calls) = (0, 0);
        if blocks {
            self.rules.submit = 1;
            core.notes.push(
                "submitting blocks (the engine does the I/O in the submit call), so requests go down one by one".into(),
            );
        }
    }

    /// Waits for completions, at most until `wait_ns`, and accounts for them.
    fn wait<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        engine: &mut dyn Engine,
        wait_ns: u64,
    ) -> Result<u64, EngineError> {
        if self.in_flight == 0 && self.completions.is_empty() {
            core.rest_until(wait_ns);
            return Ok(core.clock.now_ns());
        }
        if self.completions.is_empty() {
            let full = self.in_flight >= self.rules.depth || self.draining_to_low;
            let min = if full { self.rules.reap_min.min(self.in_flight) } else { 1 };
            let until_ns = wait_ns.min(core.timeline.end_ns());
            let until = if min == 0 { Deadline::Now } else { deadline(until_ns) };
            engine.reap(min, until, &mut self.completions)?;
        }
        let now_ns = core.clock.now_ns();
        self.account(core, now_ns);
        Ok(now_ns)
    }

    /// Counts what came back and frees its slots.
    #[inline]
    fn account<C: Clock>(&mut self, core: &mut Core<'_, C>, now_ns: u64) {
        let live = core.live;
        let _batch = live.lock.write();
        let count = self.completions.len().min(self.rules.reap_max as usize);
        live.complete_counts[batch_row(count as u32)].add(1);
        self.in_flight -= count as u32;
        let mut next = 0;
        while next < count {
            if self.common.counted {
                let done = core.account_row(&self.slots, &self.completions[next..count], now_ns, &mut self.row);
                self.free.extend(self.completions[next..next + done].iter().map(|completion| completion.slot));
                next += done;
                if done > 0 {
                    continue;
                }
            }
            self.account_one(core, self.completions[next], now_ns);
            next += 1;
        }
        if count == self.completions.len() {
            self.completions.clear();
        } else {
            self.completions.drain(..count);
        }
        live.in_flight.store(self.in_flight, Relaxed);
    }

    fn account_one<C: Clock>(&mut self, core: &mut Core<'_, C>, completion: Completion, now_ns: u64) {
        let slot = &mut self.slots[completion.slot as usize];
        match core.account(slot, completion.result, now_ns) {
            Outcome::Done => {
                core.leave_file(&slot.io, slot.asked_len);
                if core.files.in_parts() {
                    core.files.unpin(slot.io.file);
                }
                self.free.push(completion.slot);
                if let Some(overlaps) = &mut self.overlaps {
                    overlaps.busy[completion.slot as usize] = false;
                }
            }
            Outcome::Again => self.again.push(completion.slot),
        }
    }

    /// Waits for everything in flight. A stopping job gives up when the coordinator says so by ending the process.
    fn drain<C: Clock>(&mut self, core: &mut Core<'_, C>, engine: &mut dyn Engine) -> Result<(), EngineError> {
        let mut now_ns = core.clock.now_ns();
        while self.in_flight > 0 || !self.completions.is_empty() {
            if self.completions.is_empty() {
                let look_ns = now_ns.saturating_add(DRAIN_LOOK_NS);
                engine.reap(self.in_flight, Deadline::At(look_ns), &mut self.completions)?;
            }
            now_ns = core.clock.now_ns();
            self.account(core, now_ns);
            core.must_stop(now_ns);
            if core.live.abandon.load(Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// The end: what is still in flight is cancelled. What did not come back by itself is counted and named.
    pub(super) fn finish<C: Clock>(
        &mut self,
        core: &mut Core<'_, C>,
        engine: &mut dyn Engine,
        until_ns: u64,
    ) -> Option<Lost> {
        if self.in_flight == 0 {
            return None;
        }
        let mut lost = engine.quiesce(Deadline::At(until_ns), &mut self.completions).slots;
        // What was recalled did not happen: it is neither a failed I/O nor a measured one.
        self.completions.retain(|completion| {
            let recalled = matches!(-completion.result, libc::ECANCELED | libc::EINTR);
            if recalled {
                lost.push(completion.slot);
                self.in_flight -= 1;
            }
            !recalled
        });
        let now_ns = core.clock.now_ns();
        self.account(core, now_ns);
        let &first = lost.first()?;
        Some(Lost {
            requests: lost.len() as u64,
            text: lost_text(core.plan, &self.slots[first as usize].io, lost.len()),
        })
    }
}

/// Until this time; `u64::MAX` is no time.
#[inline]
fn deadline(until_ns: u64) -> Deadline {
    if until_ns == u64::MAX { Deadline::Never } else { Deadline::At(until_ns) }
}

/// What `serialize_overlap` needs to know.
struct Overlaps {
    busy: Vec<bool>,
    held: Option<(Planned, u64)>,
}

impl Overlaps {
    /// Holds a request back if it overlaps one in flight.
    fn holds(&mut self, slots: &[Slot], planned: Planned, due_ns: u64) -> bool {
        let overlaps = |slot: &Slot| {
            let (asked, io) = (u64::from(slot.asked_len), &slot.io);
            let start = io.offset - u64::from(io.slot_offset);
            io.file == planned.file
                && planned.len > 0
                && start < planned.offset + u64::from(planned.len)
                && planned.offset < start + asked
        };
        let meets = self.busy.iter().zip(slots).any(|(busy, slot)| *busy && overlaps(slot));
        if meets {
            self.held = Some((planned, due_ns));
        }
        meets
    }
}

/// Start and issue of each of `count` requests that one submit call took. Those that the job asked to have `together`
/// start when the call begins and are issued when it returns, as in fio. In a batch of our own each is stamped as if it
/// had gone down alone, in a call of its share of the time: the system takes them one after another.
#[inline]
fn call_stamps(returned_ns: u64, call_ns: u64, count: u64, together: bool) -> impl Iterator<Item = (u64, u64)> {
    let alone_ns = if count < 2 { call_ns } else { call_ns / count };
    let (slat_ns, step_ns) = if together { (call_ns, 0) } else { (alone_ns, alone_ns) };
    let first_ns = returned_ns.wrapping_sub(step_ns.wrapping_mul(count.wrapping_sub(1)));
    let mut next_ns = first_ns.wrapping_sub(step_ns);
    (0..count).map(move |_| {
        next_ns = next_ns.wrapping_add(step_ns);
        (next_ns.wrapping_sub(slat_ns), next_ns)
    })
}

/// Requests that never came back.
pub(super) struct Lost {
    /// How many.
    pub(super) requests: u64,
    /// About the first of them, as a sentence.
    pub(super) text: String,
}

fn lost_text(plan: &WorkerPlan, io: &Io, requests: usize) -> String {
    let file = plan.files.get(io.file as usize).map_or(String::new(), |file| file.path.display().to_string());
    let operation = format!("{:?}", io.op).to_lowercase();
    format!(
        "{operation} of {file}, offset {}, length {}: it never came back ({requests} requests did not): {NO_ANSWER}",
        io.offset, io.len
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_was_asked_for_is_one_call_and_one_of_ours_is_stamped_as_calls_of_one() {
        assert_eq!(call_stamps(1_000, 90, 3, true).collect::<Vec<_>>(), [(910, 1_000); 3]);
        let alone = [(910, 940), (940, 970), (970, 1_000)];
        assert_eq!(call_stamps(1_000, 90, 3, false).collect::<Vec<_>>(), alone);
        for together in [false, true] {
            assert_eq!(call_stamps(1_000, 90, 1, together).collect::<Vec<_>>(), [(910, 1_000)]);
            assert_eq!(call_stamps(1_000, 90, 0, together).count(), 0);
        }
    }
}
