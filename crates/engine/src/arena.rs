//! The memory that requests in flight point into.

use std::io;
use std::ops::Range;
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::AtomicU8;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_os::memory::{Mapping, Source};

use crate::api::SlotId;

/// The buffers of one worker: one mapping cut into slots of one size.
///
/// While a request is in flight the kernel owns its slot's bytes, and no reference to them may exist: engines hand out
/// only the address ([`SlotArena::ptr`]) and mark the slot with [`SlotArena::lend`] and [`SlotArena::give_back`]. Debug
/// builds keep the state of each slot and panic when the rule is broken; release builds trust it.
///
/// A slot belongs to one thread at a time: its worker, or the helper that carries out the request in it. What passes
/// the request from one to the other (a lock, a channel) also orders their accesses.
pub struct SlotArena {
    /// The memory; gone only while it is dropped.
    mapping: Option<Mapping>,
    /// Slot 0: the first address in the mapping with the alignment asked for.
    first: *mut u8,
    slots: u32,
    slot_bytes: usize,
    /// The mapping outlives us: the kernel may still write to it.
    leaked: AtomicBool,
    #[cfg(debug_assertions)]
    states: Box<[AtomicU8]>,
}

// SAFETY: the mapping belongs to this value alone; its addresses mean the same on every thread.
unsafe impl Send for SlotArena {}
// SAFETY: the bytes of a slot are reached by the thread that has the slot's request only, see above; debug builds check
// it with the slot's state, which is atomic.
unsafe impl Sync for SlotArena {}

/// Who may touch a slot's bytes.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// Whoever asks.
    Idle,
    /// The closure of [`SlotArena::with_bytes`].
    Open,
    /// The kernel.
    InFlight,
}

impl SlotArena {
    /// Maps `slots` slots of at least `slot_bytes` bytes each.
    ///
    /// Every slot begins at a multiple of the page size, or of `alignment` (a power of two) if that is larger, and its
    /// size is rounded up to that.
    ///
    /// # Errors
    /// `EINVAL` if there is no slot, the alignment is no power of two, or the sizes overflow; else what `mmap` said.
    pub fn new(slots: u32, slot_bytes: usize, alignment: usize) -> io::Result<Arc<SlotArena>> {
        if !alignment.is_power_of_two() {
            return Err(invalid());
        }
        let alignment = alignment.max(page_bytes());
        let slot_bytes = slot_bytes.max(1).checked_next_multiple_of(alignment).ok_or_else(invalid)?;
        SlotArena::placed(slots, slot_bytes, alignment, Source::Private)
    }

    /// The same in memory from `source`.
    ///
    /// With an `alignment` above 0 the first slot begins at a multiple of it, and at no rounder address below a page;
    /// one that is no power of two is the distance from a page. The other slots follow without gaps.
    ///
    /// # Errors
    /// As for [`SlotArena::new`]; what [`Mapping::from_source`] says.
    pub fn from_source(
        slots: u32,
        slot_bytes: usize,
        alignment: usize,
        source: Source<'_>,
    ) -> io::Result<Arc<SlotArena>> {
        if alignment > 0 {
            return SlotArena::placed(slots, slot_bytes.max(1), alignment, source);
        }
        let slot_bytes = slot_bytes.max(1).checked_next_multiple_of(page_bytes()).ok_or_else(invalid)?;
        SlotArena::placed(slots, slot_bytes, page_bytes(), source)
    }

    fn placed(slots: u32, slot_bytes: usize, alignment: usize, source: Source<'_>) -> io::Result<Arc<SlotArena>> {
        let page = page_bytes();
        let round = alignment.is_power_of_two() && alignment >= page;
        // A mapping begins at a page; a larger alignment needs room to move up, as does one within a page.
        let spare = if round { alignment - page } else { alignment };
        let mapping_bytes = slot_bytes.checked_mul(slots as usize).and_then(|all| all.checked_add(spare));
        let mapping_bytes = mapping_bytes.filter(|&all| slots > 0 && isize::try_from(all).is_ok());
        let mapping = Mapping::from_source(mapping_bytes.ok_or_else(invalid)?, source)?;
        let start = mapping.as_ptr();
        let up = if round { (start as usize).next_multiple_of(alignment) - start as usize } else { alignment };
        Ok(Arc::new(SlotArena {
            mapping: Some(mapping),
            // SAFETY: `up` is at most `spare`, which the mapping holds beyond its slots.
            first: unsafe { start.add(up) },
            slots,
            slot_bytes,
            leaked: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            states: (0..slots).map(|_| AtomicU8::new(State::Idle as u8)).collect(),
        }))
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Bytes in a slot, after rounding.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Where a slot begins.
    ///
    /// # Panics
    /// If there is no such slot.
    #[inline]
    pub fn ptr(&self, slot: SlotId) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: the slot lies within the mapping.
        unsafe { self.first.add(slot as usize * self.slot_bytes) }
    }

    /// The addresses of the slots, first to last, to register them with a kernel.
    pub fn mapping_range(&self) -> Range<*mut u8> {
        // SAFETY: one past the last slot is within the mapping or just past it.
        self.first..unsafe { self.first.add(self.slots as usize * self.slot_bytes) }
    }

    /// Runs `f` on the bytes of a slot that is not in flight.
    ///
    /// # Panics
    /// If there is no such slot; in debug builds also if it is in flight or already open.
    #[inline]
    pub fn with_bytes<R>(&self, slot: SlotId, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let start = self.ptr(slot);
        #[cfg(debug_assertions)]
        let _open = Opened::new(&self.states[slot as usize], slot);
        // SAFETY: the slot lies within the mapping, which lives as long as `self`. It is not in flight and not open
        // (checked in debug builds, the caller's duty in release builds), and no other thread can reach the arena.
        f(unsafe { std::slice::from_raw_parts_mut(start, self.slot_bytes) })
    }

    /// Marks a slot as owned by the kernel. Engines call it when they take a request.
    ///
    /// # Panics
    /// In debug builds, if the slot is in flight or open already.
    #[inline]
    pub fn lend(&self, slot: SlotId) {
        #[cfg(debug_assertions)]
        change(&self.states[slot as usize], slot, State::Idle, State::InFlight);
        #[cfg(not(debug_assertions))]
        let _ = slot;
    }

    /// Marks a slot as ours again. Engines call it when a request has completed.
    ///
    /// # Panics
    /// In debug builds, if the slot is not in flight.
    #[inline]
    pub fn give_back(&self, slot: SlotId) {
        #[cfg(debug_assertions)]
        change(&self.states[slot as usize], slot, State::InFlight, State::Idle);
        #[cfg(not(debug_assertions))]
        let _ = slot;
    }

    /// Never unmaps the memory: the kernel may still write to it.
    pub fn leak(&self) {
        self.leaked.store(true, Relaxed);
    }
}

impl Drop for SlotArena {
    fn drop(&mut self) {
        if let (true, Some(mapping)) = (self.leaked.load(Relaxed), self.mapping.take()) {
            mapping.leak();
        }
    }
}

/// Moves a slot from one state to the next.
#[cfg(debug_assertions)]
fn change(state: &AtomicU8, slot: SlotId, from: State, to: State) {
    let changed = state.compare_exchange(from as u8, to as u8, Relaxed, Relaxed);
    assert_eq!(changed, Ok(from as u8), "slot {slot} cannot become {to:?}");
}

/// Closes a slot again, also when the closure panics.
#[cfg(debug_assertions)]
struct Opened<'a>(&'a AtomicU8);

#[cfg(debug_assertions)]
impl<'a> Opened<'a> {
    fn new(state: &'a AtomicU8, slot: SlotId) -> Self {
        change(state, slot, State::Idle, State::Open);
        Opened(state)
    }
}

#[cfg(debug_assertions)]
impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.store(State::Idle as u8, Relaxed);
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Bytes in a page.
fn page_bytes() -> usize {
    // SAFETY: no pointer is passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_apart_and_rounded_up() {
        let page = page_bytes();
        let arena = SlotArena::new(5, 1000, 512).expect("map");
        assert_eq!(arena.slot_bytes(), page);
        for slot in 0..5 {
            assert_eq!(arena.ptr(slot) as usize % page, 0);
            arena.with_bytes(slot, |bytes| bytes.fill(slot as u8 + 1));
        }
        for slot in 0..5 {
            arena.with_bytes(slot, |bytes| assert!(bytes.iter().all(|&byte| byte == slot as u8 + 1)));
        }
        let range = arena.mapping_range();
        assert_eq!(range.end as usize - range.start as usize, 5 * page);
    }

    #[test]
    fn an_alignment_above_the_page_is_kept() {
        let big = 1 << 21;
        let arena = SlotArena::new(3, 4096, big).expect("map");
        assert!((0..3).all(|slot| (arena.ptr(slot) as usize).is_multiple_of(big)));
        arena.with_bytes(2, |bytes| bytes[big - 1] = 1);
    }

    #[test]
    fn slots_of_an_alignment_that_was_asked_for_follow_without_gaps() {
        let page = page_bytes();
        for (alignment, at) in [(512, 512), (1000, 1000), (page, 0), (1 << 20, 0)] {
            let arena = SlotArena::from_source(3, 5000, alignment, Source::Shared).expect("map");
            let first = arena.ptr(0) as usize;
            assert_eq!(first % alignment.next_power_of_two().max(page), at, "{alignment}");
            assert_eq!((arena.ptr(1) as usize, arena.slot_bytes()), (first + 5000, 5000));
            arena.with_bytes(2, |bytes| bytes[4999] = 1);
        }
        let plain = SlotArena::from_source(2, 5000, 0, Source::Private).expect("map");
        assert_eq!((plain.ptr(1) as usize % page, plain.slot_bytes() % page), (0, 0));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let errno = |made: io::Result<Arc<SlotArena>>| made.err().and_then(|error| error.raw_os_error());
        assert_eq!(errno(SlotArena::new(0, 4096, 4096)), Some(libc::EINVAL));
        assert_eq!(errno(SlotArena::new(1, 4096, 3 << 20)), Some(libc::EINVAL));
        assert_eq!(errno(SlotArena::new(u32::MAX, usize::MAX / 2, 4096)), Some(libc::EINVAL));
    }

    #[test]
    #[should_panic(expected = "slot 2 of 2")]
    fn a_slot_beyond_the_last_is_caught() {
        SlotArena::new(2, 4096, 4096).expect("map").ptr(2);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "slot 1 cannot become InFlight")]
    fn lending_twice_is_caught() {
        let arena = SlotArena::new(2, 4096, 4096).expect("map");
        arena.lend(1);
        arena.lend(1);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "slot 0 cannot become Open")]
    fn looking_into_a_slot_in_flight_is_caught() {
        let arena = SlotArena::new(1, 4096, 4096).expect("map");
        arena.lend(0);
        arena.with_bytes(0, |_| ());
    }

    #[test]
    fn a_slot_can_be_used_again_after_it_came_back_and_after_a_panic() {
        let arena = SlotArena::new(1, 4096, 4096).expect("map");
        arena.lend(0);
        arena.give_back(0);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            arena.with_bytes(0, |_| panic!("in the closure"));
        }));
        assert!(panicked.is_err());
        arena.with_bytes(0, |bytes| bytes[0] = 1);
    }

    #[test]
    fn a_leaked_mapping_stays_readable_after_drop() {
        let arena = SlotArena::new(1, 4096, 4096).expect("map");
        arena.with_bytes(0, |bytes| bytes[7] = 42);
        let address = arena.ptr(0);
        arena.leak();
        drop(arena);
        // SAFETY: the mapping was leaked, so it is still there.
        assert_eq!(unsafe { address.add(7).read() }, 42);
    }
}
