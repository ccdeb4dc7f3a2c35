//! The kernel's ring of events, which it maps where the name of its context points to: taking events from there needs
//! no call (`userspace_reap`).

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Context, Event};

/// Head of the ring, as Linux has kept it since 2.6 (`struct aio_ring`); the events follow.
#[repr(C)]
struct Head {
    id: u32,
    events: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

const MAGIC: u32 = 0xa10a_10a1;

/// The mapped ring of a context that lives.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    head: *const Head,
}

impl Ring {
    /// The ring of a context; `None` where it does not look as it should.
    pub(super) fn of(context: Context) -> Option<Ring> {
        let head = context as *const Head;
        // SAFETY: since the interface exists, the name of a context is the address at which its ring is mapped, for
        // reading and writing, until the context is destroyed.
        let found = unsafe { head.as_ref() }?;
        let fits = found.header_bytes as usize == size_of::<Head>() && found.events > 0;
        (found.magic == MAGIC && found.incompatible == 0 && fits).then_some(Ring { head })
    }

    /// Takes up to `most` events; how many there were.
    pub(super) fn take(&self, most: usize, mut each: impl FnMut(&Event)) -> usize {
        // SAFETY: as in `of`; only this thread moves the head, only the kernel the tail and the events before it.
        let (ring, events) = unsafe { (&*self.head, self.head.add(1).cast::<Event>()) };
        let mut head = ring.head.load(Ordering::Relaxed);
        let mut taken = 0;
        while taken < most && head != ring.tail.load(Ordering::Acquire) {
            // SAFETY: between head and tail the kernel has written an event, and keeps it until the head has moved on.
            each(&unsafe { events.add(head as usize).read() });
            head = (head + 1) % ring.events;
            ring.head.store(head, Ordering::Release);
            taken += 1;
        }
        taken
    }
}
