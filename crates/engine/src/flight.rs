//! What the engines that hold requests in flight have in common: the record of them, deadlines, and the drain.

use std::sync::Arc;

use crate::api::{Completion, Completions, Deadline, EngineError, SlotId, Stuck};
use crate::arena::SlotArena;

/// How long dropping an engine waits for the kernel to give requests back before it leaks their memory.
const DROP_GRACE_NS: u64 = 2_000_000_000;

/// The requests that the kernel has, by slot.
pub(crate) struct Flight {
    slots: Arc<SlotArena>,
    marks: Box<[bool]>,
    count: u32,
    /// What is in flight was waited for and named: nobody waits for it again.
    given_up: bool,
}

impl Flight {
    pub(crate) fn new(slots: Arc<SlotArena>) -> Self {
        Flight { marks: vec![false; slots.slots() as usize].into(), count: 0, given_up: false, slots }
    }

    pub(crate) fn arena(&self) -> &SlotArena {
        &self.slots
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Notes that the kernel now has the slot.
    #[inline]
    pub(crate) fn take(&mut self, slot: SlotId) {
        self.slots.lend(slot);
        self.marks[slot as usize] = true;
        // There are never more than slots.
        self.count = self.count.wrapping_add(1);
    }

    /// Notes that a request has ended.
    #[inline]
    pub(crate) fn complete(&mut self, slot: SlotId, result: i32, done: &mut Completions) {
        self.give_back(slot);
        done.push(Completion { slot, result });
    }

    /// Notes that the slot is ours again, without a completion (the kernel never took it).
    #[inline]
    pub(crate) fn give_back(&mut self, slot: SlotId) {
        self.slots.give_back(slot);
        self.marks[slot as usize] = false;
        debug_assert!(self.count > 0, "slot {slot} comes back and none is in flight");
        self.count = self.count.wrapping_sub(1);
    }

    /// Whether this slot is in flight.
    pub(crate) fn has(&self, slot: SlotId) -> bool {
        self.marks.get(slot as usize).is_some_and(|flying| *flying)
    }

    /// The slots in flight, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SlotId> {
        (0..).zip(&self.marks).filter(|(_, flying)| **flying).map(|(slot, _)| slot)
    }

    /// The same as the answer to a drain; their memory will never be unmapped.
    pub(crate) fn stuck(&mut self) -> Stuck {
        if self.count > 0 {
            self.slots.leak();
            self.given_up = true;
        }
        Stuck { slots: self.iter().collect() }
    }

    /// When an engine that is dropped gives up: at once, if it has waited before.
    pub(crate) fn drop_deadline(&self) -> Deadline {
        if self.given_up { Deadline::Now } else { Deadline::At(now_ns() + DROP_GRACE_NS) }
    }
}

/// The time on `CLOCK_MONOTONIC`, nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds as the kernel takes them.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// How long is left until a deadline: `None` without end.
pub(crate) fn remaining(until: Deadline) -> Option<libc::timespec> {
    match until {
        Deadline::Now => Some(timespec(0)),
        Deadline::At(at_ns) => Some(timespec(at_ns.saturating_sub(now_ns()))),
        Deadline::Never => None,
    }
}

/// Whether a deadline has come.
pub(crate) fn over(until: Deadline) -> bool {
    match until {
        Deadline::Now => true,
        Deadline::At(at_ns) => now_ns() >= at_ns,
        Deadline::Never => false,
    }
}

/// Reaps until nothing is in flight, the deadline, or an error of the engine; a signal does not end it.
pub(crate) fn drain(
    until: Deadline,
    done: &mut Completions,
    mut reap_all: impl FnMut(&mut Completions) -> Result<u32, EngineError>,
) {
    while let Ok(left) = reap_all(done)
        && left > 0
        && !over(until)
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_known_by_slot_and_named_when_stuck() {
        let arena = SlotArena::new(4, 4096, 4096).expect("map");
        let mut flight = Flight::new(arena);
        let mut done = Completions::new();
        [3, 0, 2].into_iter().for_each(|slot| flight.take(slot));
        flight.complete(0, 7, &mut done);
        assert_eq!(done, [Completion { slot: 0, result: 7 }]);
        assert_eq!(flight.count(), 2);
        assert!(flight.drop_deadline() != Deadline::Now, "dropping waits for them");
        assert_eq!(flight.stuck().slots, [2, 3]);
        assert_eq!(flight.drop_deadline(), Deadline::Now, "but not twice");
    }

    #[test]
    fn deadlines() {
        assert!(over(Deadline::Now) && !over(Deadline::Never));
        assert!(over(Deadline::At(now_ns())) && !over(Deadline::At(now_ns() + 1_000_000_000_000)));
        assert!(remaining(Deadline::Never).is_none());
        assert_eq!(remaining(Deadline::At(1)).map(|left| (left.tv_sec, left.tv_nsec)), Some((0, 0)));
        let three = timespec(3_000_000_007);
        assert_eq!((three.tv_sec, three.tv_nsec), (3, 7));
    }

    #[test]
    fn a_drain_goes_on_until_nothing_is_left_or_time_is_up() {
        let mut left = 3;
        drain(Deadline::Never, &mut Completions::new(), |_| {
            left -= 1;
            Ok(left)
        });
        assert_eq!(left, 0);
        let mut looks = 0;
        drain(Deadline::Now, &mut Completions::new(), |_| {
            looks += 1;
            Ok(1)
        });
        assert_eq!(looks, 1, "one look even when there is no time");
    }
}
