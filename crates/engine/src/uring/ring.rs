//! The ring itself: set-up with what the kernel offers, and the one call that enters it.

use std::os::fd::{AsRawFd, RawFd};

use io_uring::{Builder, IoUring, cqueue, squeue};
use iostrata_os::io::syscall;

use crate::api::Deadline;
use crate::flight::{remaining, timespec};

/// Flags of `io_uring_enter` and operations of `io_uring_register`, from `linux/io_uring.h`.
pub(super) const GETEVENTS: u32 = 1;
pub(super) const SQ_WAKEUP: u32 = 1 << 1;
pub(super) const SQ_WAIT: u32 = 1 << 2;
const EXT_ARG: u32 = 1 << 3;
const REGISTERED_RING: u32 = 1 << 4;
const ABS_TIMER: u32 = 1 << 5;
const REGISTER_RING_FDS: usize = 20;
const UNREGISTER_RING_FDS: usize = 21;

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_bytes: u32,
    min_wait_us: u32,
    timeout: u64,
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    index: u32,
    reserved: u32,
    fd: u64,
}

/// What a job asks of its ring.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub(super) entries: u32,
    pub(super) polled: bool,
    pub(super) sq_poll: bool,
    pub(super) sq_poll_cpu: Option<u32>,
}

/// A set of set-up flags, the best first; a kernel that does not know one of them refuses the set.
#[derive(Clone, Copy)]
struct Manner {
    single_issuer: bool,
    deferred: bool,
    cooperative: bool,
    submit_all: bool,
}

const MANNERS: [Manner; 5] = [
    Manner { single_issuer: true, deferred: true, cooperative: false, submit_all: true }, // Linux 6.1
    Manner { single_issuer: true, deferred: false, cooperative: true, submit_all: true }, // 6.0
    Manner { single_issuer: false, deferred: false, cooperative: true, submit_all: true }, // 5.19
    Manner { single_issuer: false, deferred: false, cooperative: false, submit_all: true }, // 5.18
    Manner { single_issuer: false, deferred: false, cooperative: false, submit_all: false },
];

/// A ring of entries and completions of these sizes.
pub(super) struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    pub(super) queues: IoUring<S, C>,
    /// What `io_uring_enter` takes: the descriptor, or the index of the registered ring.
    enter_fd: RawFd,
    /// [`REGISTERED_RING`] if the ring is registered.
    enter_flags: u32,
    /// Whether a wait can have a timeout, and whether that can be a point in time.
    timeouts: Timeouts,
    pub(super) sq_poll: bool,
    pub(super) polled: bool,
}

/// What the kernel's wait can do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timeouts {
    /// Linux 6.12: a point in time, so that no clock is read for it.
    Absolute,
    /// 5.11: a span of time.
    Relative,
    /// None: the wait is a `poll` of the ring's descriptor.
    Poll,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// Sets a ring up in the best manner that the kernel has; what it got, in words. Fails with an errno.
    pub(super) fn new(wish: Wish) -> Result<(Self, Vec<String>), i32> {
        let mut failure = libc::EINVAL;
        for manner in MANNERS {
            // The kernel's own submission thread excludes both ways of running completions in ours.
            if wish.sq_poll && (manner.deferred || manner.cooperative) {
                continue;
            }
            match builder(wish, manner).build(wish.entries) {
                Ok(queues) => return Ok(Self::furnish(queues, wish, manner)),
                Err(error) => failure = error.raw_os_error().unwrap_or(libc::EIO),
            }
            if failure != libc::EINVAL {
                break;
            }
        }
        Err(failure)
    }

    fn furnish(queues: IoUring<S, C>, wish: Wish, manner: Manner) -> (Self, Vec<String>) {
        let fd = queues.as_raw_fd();
        let timeouts = if queues.params().is_feature_ext_arg() { Timeouts::Relative } else { Timeouts::Poll };
        let Wish { polled, sq_poll, .. } = wish;
        let mut ring = Ring { queues, enter_fd: fd, enter_flags: 0, timeouts, sq_poll, polled };
        if let Some(index) = register_ring(fd) {
            (ring.enter_fd, ring.enter_flags) = (index, REGISTERED_RING);
        }
        if timeouts == Timeouts::Relative && ring.enter_until(0, 0, GETEVENTS | ABS_TIMER, timespec(0)).is_ok() {
            ring.timeouts = Timeouts::Absolute;
        }
        let words = [
            (manner.single_issuer, "SINGLE_ISSUER"),
            (manner.deferred, "DEFER_TASKRUN"),
            (manner.cooperative, "COOP_TASKRUN"),
            (ring.enter_flags != 0, "registered ring"),
            (sq_poll, "SQPOLL"),
            (polled, "IOPOLL"),
        ];
        let used = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_string()).collect();
        (ring, used)
    }

    /// Requests that were put into the submission queue and that the kernel has not taken.
    pub(super) fn unsubmitted(&mut self) -> u32 {
        self.queues.submission().len() as u32
    }

    /// Whether completions exist that only an enter brings to light.
    pub(super) fn hidden_completions(&mut self) -> bool {
        let queue = self.queues.submission();
        self.polled || queue.taskrun() || queue.cq_overflow()
    }

    /// Submits `submit` requests and does not wait. Answers `-errno` of the kernel as an error.
    pub(super) fn enter(&self, submit: u32, flags: u32) -> Result<u32, i32> {
        // SAFETY: no pointer is passed; what the submitted entries point to was vouched for when they were pushed.
        unsafe { self.call(submit, 0, flags, 0, 0) }
    }

    /// Submits `submit` requests and waits for `min` completions, the deadline, or a signal. Fails with `ETIME` or
    /// `EINTR` when it was one of these.
    pub(super) fn enter_wait(&self, submit: u32, min: u32, flags: u32, until: Deadline) -> Result<u32, i32> {
        let flags = flags | GETEVENTS;
        match (until, self.timeouts) {
            (Deadline::Now, _) => self.enter(submit, flags),
            // SAFETY: as in `enter`.
            (Deadline::Never, _) => unsafe { self.call(submit, min, flags, 0, 0) },
            // Such a ring wakes no `poll`; its wait ends soon, when the scheduler wants the CPU.
            // SAFETY: as in `enter`.
            (Deadline::At(_), Timeouts::Poll) if self.polled => unsafe { self.call(submit, min, flags, 0, 0) },
            (Deadline::At(at_ns), Timeouts::Absolute) => {
                self.enter_until(submit, min, flags | ABS_TIMER, timespec(at_ns))
            }
            (Deadline::At(_), Timeouts::Relative) => {
                self.enter_until(submit, min, flags, remaining(until).unwrap_or(timespec(0)))
            }
            (Deadline::At(_), Timeouts::Poll) => {
                self.enter(submit, flags)?;
                self.poll(remaining(until).unwrap_or(timespec(0)))
            }
        }
    }

    fn enter_until(&self, submit: u32, min: u32, flags: u32, timeout: libc::timespec) -> Result<u32, i32> {
        let timeout: [i64; 2] = [timeout.tv_sec, timeout.tv_nsec]; // __kernel_timespec
        let argument =
            WaitArgument { signal_mask: 0, signal_mask_bytes: 0, min_wait_us: 0, timeout: timeout.as_ptr() as u64 };
        // SAFETY: the argument and its timeout are live locals; the rest as in `enter`.
        unsafe { self.call(submit, min, flags | EXT_ARG, &raw const argument as usize, size_of::<WaitArgument>()) }
    }

    /// # Safety
    /// `argument` must be what the flags say.
    unsafe fn call(&self, submit: u32, min: u32, flags: u32, argument: usize, bytes: usize) -> Result<u32, i32> {
        let flags = (flags | self.enter_flags) as usize;
        let args = [self.enter_fd as usize, submit as usize, min as usize, flags, argument, bytes];
        // SAFETY: the caller vouches for the argument; the entries were vouched for when they were pushed.
        match unsafe { syscall(libc::SYS_io_uring_enter, args) } {
            taken @ 0.. => Ok(taken as u32),
            error => Err(-error as i32),
        }
    }

    /// Waits until a completion is in the queue, for kernels whose enter knows no timeout.
    fn poll(&self, timeout: libc::timespec) -> Result<u32, i32> {
        let mut ring = libc::pollfd { fd: self.queues.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live entry, a live timeout, no signal mask.
        match unsafe { libc::ppoll(&raw mut ring, 1, &raw const timeout, std::ptr::null()) } {
            0 => Err(libc::ETIME),
            1.. => Ok(0),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// Makes the ring behave as on a kernel of before 5.11.
    #[cfg(test)]
    pub(super) fn without_timeouts(&mut self) {
        self.timeouts = Timeouts::Poll;
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drop for Ring<S, C> {
    fn drop(&mut self) {
        if self.enter_flags & REGISTERED_RING != 0 {
            // Else the thread would keep the ring alive until it ends.
            let mut update = RingUpdate { index: self.enter_fd as u32, reserved: 0, fd: 0 };
            register(self.queues.as_raw_fd(), UNREGISTER_RING_FDS, &mut update);
        }
    }
}

fn builder<S: squeue::EntryMarker, C: cqueue::EntryMarker>(wish: Wish, manner: Manner) -> Builder<S, C> {
    let mut builder = IoUring::<S, C>::builder();
    builder.setup_clamp();
    if manner.single_issuer {
        builder.setup_single_issuer();
    }
    if manner.deferred {
        builder.setup_defer_taskrun().setup_taskrun_flag();
    }
    if manner.cooperative {
        builder.setup_coop_taskrun().setup_taskrun_flag();
    }
    if manner.submit_all {
        builder.setup_submit_all();
    }
    if wish.polled {
        builder.setup_iopoll();
    }
    if wish.sq_poll {
        builder.setup_sqpoll(0); // the kernel's own idle time, one second
    }
    if let (true, Some(cpu)) = (wish.sq_poll, wish.sq_poll_cpu) {
        builder.setup_sqpoll_cpu(cpu);
    }
    builder
}

/// Registers the ring with this thread, which spares a descriptor look-up per call; its index.
fn register_ring(fd: RawFd) -> Option<RawFd> {
    let mut update = RingUpdate { index: u32::MAX, reserved: 0, fd: fd as u64 };
    if register(fd, REGISTER_RING_FDS, &mut update) == 1 { RawFd::try_from(update.index).ok() } else { None }
}

fn register(fd: RawFd, operation: usize, update: &mut RingUpdate) -> isize {
    let update = std::ptr::from_mut(update) as usize;
    // SAFETY: one live update record, as both operations take it.
    unsafe { syscall(libc::SYS_io_uring_register, [fd as usize, operation, update, 1, 0, 0]) }
}
