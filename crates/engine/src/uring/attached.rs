//! Requests through a ring: what both engines on rings have in common.

use io_uring::{cqueue, opcode, squeue, types};

use super::ring::{GETEVENTS, Ring, SQ_WAIT, SQ_WAKEUP};
use crate::api::{Completion, Completions, Deadline, EngineError, Io, SlotId, Stuck};
use crate::blocking::buffer;
use crate::flight::{Flight, drain, over};

/// The mark of a cancellation among the completions.
const CANCEL: u64 = u64::MAX;

/// How often `reap` looks at the ring before it sleeps, when a kernel thread submits: that mode exists to make no
/// calls.
const SPINS: u32 = 4000;

/// What a ring carries.
pub(super) trait Carrier {
    /// The ring's entries.
    type Entry: squeue::EntryMarker;
    /// The ring's completions.
    type Done: cqueue::EntryMarker + Finished;

    /// Whether the ring, polled or not, carries out this request.
    fn carries(&self, io: &Io, polled: bool) -> bool;

    /// The entry for a request whose bytes are at `address`; its user data is the slot.
    fn make(&mut self, io: &Io, address: *mut u8) -> &Self::Entry;

    /// Carries out a request that the ring does not.
    fn aside(&self, io: &Io) -> i32;

    /// The result of a request, of what the kernel says.
    fn result(&mut self, slot: SlotId, result: i32) -> i32;
}

/// A completion of either size.
pub(super) trait Finished {
    /// Whose it is.
    fn user_data(&self) -> u64;
    /// What the kernel says.
    fn result(&self) -> i32;
}

impl Finished for cqueue::Entry {
    #[inline]
    fn user_data(&self) -> u64 {
        cqueue::Entry::user_data(self)
    }
    #[inline]
    fn result(&self) -> i32 {
        cqueue::Entry::result(self)
    }
}

impl Finished for cqueue::Entry32 {
    fn user_data(&self) -> u64 {
        cqueue::Entry32::user_data(self)
    }
    fn result(&self) -> i32 {
        cqueue::Entry32::result(self)
    }
}

pub(super) struct Attached<K: Carrier> {
    // Before `flight`: the ring goes first, then the memory that it could point to.
    pub(super) ring: Ring<K::Entry, K::Done>,
    pub(super) flight: Flight,
    pub(super) carrier: K,
    /// The kernel has refused a polled request.
    pub(super) poll_refused: bool,
    /// The kernel does not know how to cancel everything at once.
    pub(super) cancel_any_refused: bool,
}

impl<K: Carrier> Attached<K> {
    /// Puts requests into the submission queue, as many as it has room for, up to one that the ring does not carry out;
    /// returns how many.
    fn push(&mut self, ios: &[Io]) -> usize {
        let polled = self.ring.polled;
        let mut queue = self.ring.queues.submission();
        let room = queue.capacity() - queue.len();
        for (count, io) in ios.iter().enumerate() {
            if count == room || !self.carrier.carries(io, polled) {
                return count;
            }
            let address = buffer(self.flight.arena(), io);
            // Before the entry, so that a slot that is in flight already never gets a second one.
            self.flight.take(io.slot);
            let entry = self.carrier.make(io, address);
            // SAFETY: the entry's memory is a slot that is lent until its completion, or a vector that stays as long.
            if unsafe { queue.push(entry) }.is_err() {
                self.flight.give_back(io.slot);
                return count;
            }
        }
        ios.len()
    }

    /// Hands what is in the submission queue to the kernel. What it does not take now stays there for the next time.
    fn flush(&mut self) -> Result<(), EngineError> {
        let entered = if self.ring.sq_poll {
            if !self.ring.queues.submission().need_wakeup() {
                return Ok(());
            }
            self.ring.enter(0, SQ_WAKEUP)
        } else {
            match self.ring.unsubmitted() {
                0 => return Ok(()),
                // Nothing is in flight that could have ended.
                waiting if waiting == self.flight.count() => self.ring.enter(waiting, 0),
                // GETEVENTS brings to light what has ended: with deferred task work it would stay hidden, and its
                // latency grow, until all calls of a refill were made.
                waiting => self.ring.enter(waiting, GETEVENTS),
            }
        };
        match entered {
            Ok(_) | Err(libc::EAGAIN | libc::EBUSY | libc::EINTR) => Ok(()),
            Err(errno) => Err(EngineError::System { call: "io_uring_enter", errno }),
        }
    }

    /// Hands back what is in the completion ring.
    fn harvest(&mut self, done: &mut Completions) {
        let polled = self.ring.polled;
        for entry in self.ring.queues.completion() {
            let (name, result) = (entry.user_data(), entry.result());
            if name == CANCEL {
                self.cancel_any_refused |= result == -libc::EINVAL;
                continue;
            }
            if polled && result == -libc::EOPNOTSUPP {
                self.poll_refused = true;
            }
            let result = self.carrier.result(name as u32, result);
            self.flight.complete(name as u32, result, done);
        }
    }

    pub(super) fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        let mut taken = 0;
        loop {
            let pushed = self.push(&ios[taken..]);
            taken += pushed;
            self.flush()?;
            match ios.get(taken) {
                None => return Ok(taken),
                Some(io) if self.carrier.carries(io, self.ring.polled) => {
                    // There was no room: what the kernel has taken since has made some, or it takes no more for now.
                    if pushed == 0 {
                        return Ok(taken);
                    }
                }
                Some(io) => {
                    done.push(Completion { slot: io.slot, result: self.carrier.aside(io) });
                    taken += 1;
                }
            }
        }
    }

    pub(super) fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let left_when_done = self.flight.count().saturating_sub(min);
        self.harvest(done);
        if self.flight.count() > left_when_done && until != Deadline::Now {
            self.wait(left_when_done, until, done)?;
        } else if min == 0 || self.flight.count() > left_when_done {
            self.look(done)?;
        }
        Ok(())
    }

    /// Brings to light what has ended, without waiting.
    fn look(&mut self, done: &mut Completions) -> Result<(), EngineError> {
        if self.flight.count() > 0 && self.ring.hidden_completions() {
            let waiting = if self.ring.sq_poll { 0 } else { self.ring.unsubmitted() };
            self.expect(self.ring.enter(waiting, GETEVENTS))?;
            self.harvest(done);
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Waits until no more than `left` are in flight, the deadline, or a signal.
    fn wait(&mut self, left: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        if self.ring.sq_poll {
            self.flush()?;
            for _ in 0..SPINS {
                self.harvest(done);
                if self.flight.count() <= left {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
        }
        while self.flight.count() > left {
            let (waiting, flags) = if self.ring.sq_poll {
                (0, if self.ring.queues.submission().need_wakeup() { SQ_WAKEUP } else { 0 })
            } else {
                (self.ring.unsubmitted(), 0)
            };
            let mut entered = self.ring.enter_wait(waiting, self.flight.count() - left, flags, until);
            let held = self.flight.count() - self.ring.unsubmitted();
            if matches!(entered, Err(libc::EAGAIN | libc::EBUSY)) && held > 0 && !self.ring.sq_poll {
                // The kernel takes no more for now: wait for what it has.
                entered = self.ring.enter_wait(0, held.min(self.flight.count() - left), flags, until);
            }
            self.harvest(done);
            if self.expect(entered)? || over(until) {
                break;
            }
        }
        Ok(())
    }

    /// Sorts an enter's end: whether it says that waiting is over, or that the ring is broken.
    fn expect(&self, entered: Result<u32, i32>) -> Result<bool, EngineError> {
        match entered {
            Ok(_) => Ok(false),
            Err(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(true),
            Err(errno) => Err(EngineError::System { call: "io_uring_enter", errno }),
        }
    }

    pub(super) fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        if self.flight.count() > 0 && !self.ring.polled {
            self.cancel(opcode::AsyncCancel2::new(types::CancelBuilder::any()).build(), done);
            if self.cancel_any_refused {
                let flying: Vec<_> = self.flight.iter().collect();
                for slot in flying {
                    self.cancel(opcode::AsyncCancel::new(u64::from(slot)).build(), done);
                }
            }
        }
        drain(until, done, |done| {
            self.reap(u32::MAX, until, done)?;
            Ok(self.flight.count())
        });
        self.flight.stuck()
    }

    /// Asks the kernel to forget requests. What it cannot recall (a device's) ends in its own time.
    fn cancel(&mut self, entry: squeue::Entry, done: &mut Completions) {
        // An error here shows in the drain that follows.
        let _ = self.flush();
        if self.ring.sq_poll {
            // The kernel's thread may not have taken the requests yet, which then fill the queue.
            let _ = self.ring.enter(0, SQ_WAKEUP | SQ_WAIT);
        }
        // SAFETY: a cancellation points to no memory.
        if unsafe { self.ring.queues.submission().push(&entry.user_data(CANCEL).into()) }.is_ok() {
            let _ = self.flush();
        }
        self.harvest(done);
    }
}
