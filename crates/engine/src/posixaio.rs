//! `posixaio`: the platform's own `aio_read`, `aio_write` and `aio_fsync`.
//!
//! What one measures with it is that implementation: glibc serves the requests of one file one after another in a
//! helper thread; macOS has a small queue in its kernel. A trim has no asynchronous form and is done in the calling
//! thread.

use std::cell::UnsafeCell;
use std::sync::Arc;

use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::{buffer, descriptor, without_data};
use crate::flight::{Flight, drain, over, remaining};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "posixaio",
    caps: Caps { helper_threads: true, ..Caps::ASYNCHRONOUS },
    doc: "POSIX aio_read and aio_write, as the platform has them",
    availability: || Availability::Here,
    make,
};

fn make(_: &EngineConfig) -> Result<Instance, EngineError> {
    Ok(Instance::Async(Box::new(PosixAio { files: FileTable::default(), attached: None })))
}

struct PosixAio {
    files: FileTable,
    attached: Option<Attached>,
}

struct Attached {
    flight: Flight,
    /// One control block per slot, never moved and never borrowed: the library's threads write to it until the request
    /// has ended.
    blocks: Box<[UnsafeCell<libc::aiocb>]>,
    /// The blocks in flight, for `aio_suspend`, and their slots, in the same order.
    waiting: Vec<*const libc::aiocb>,
    waiting_slots: Vec<SlotId>,
    /// How many of them to wait for at once.
    watched: usize,
}

/// The library registers a wait with each block of the list and wakes the caller for the first that ends. A short list
/// costs less and lets several end for one wake-up; those of one file end in their order, so none is left out for long.
const WATCHED_OF_ONE_FILE: usize = 8;

/// What became of a request that was handed to the library.
enum Started {
    Yes,
    /// The queue is full.
    NotNow,
    /// `-errno`.
    Failed(i32),
}

impl Attached {
    fn new(slots: Arc<SlotArena>, depth: u32, files: usize) -> Self {
        Attached {
            blocks: (0..slots.slots()).map(|_| UnsafeCell::new(empty_block())).collect(),
            waiting: Vec::with_capacity(depth as usize),
            waiting_slots: Vec::with_capacity(depth as usize),
            flight: Flight::new(slots),
            watched: if files == 1 { WATCHED_OF_ONE_FILE } else { usize::MAX },
        }
    }

    fn start(&mut self, io: &Io, fd: i32) -> Started {
        let mut filled = empty_block();
        filled.aio_fildes = fd;
        filled.aio_buf = buffer(self.flight.arena(), io).cast();
        filled.aio_nbytes = io.len as usize;
        filled.aio_offset = io.offset as libc::off_t;
        filled.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.flight.take(io.slot);
        let block = self.blocks[io.slot as usize].get();
        // SAFETY: the block is not in flight, so nothing else looks at it now; it and the bytes of the lent slot stay
        // where they are until the request has ended.
        let answer = unsafe {
            block.write(filled);
            match io.op {
                Op::Read => libc::aio_read(block),
                Op::Write => libc::aio_write(block),
                Op::DataSync => libc::aio_fsync(DATA_SYNC, block),
                Op::Sync | Op::Trim => libc::aio_fsync(libc::O_SYNC, block),
            }
        };
        if answer == 0 {
            self.waiting.push(block);
            self.waiting_slots.push(io.slot);
            return Started::Yes;
        }
        self.flight.give_back(io.slot);
        match errno() {
            libc::EAGAIN => Started::NotNow,
            error => Started::Failed(-error),
        }
    }

    /// Hands over all that has ended; how many these were.
    fn collect(&mut self, done: &mut Completions) -> u32 {
        let mut collected = 0;
        let mut index = 0;
        while index < self.waiting.len() {
            // SAFETY: the block was handed to the library and has not been returned yet.
            let state = unsafe { libc::aio_error(self.waiting[index]) };
            if state == libc::EINPROGRESS {
                index += 1;
                continue;
            }
            let slot = self.waiting_slots.swap_remove(index);
            self.waiting.swap_remove(index);
            // SAFETY: the request has ended and its block has not been returned yet; this ends the library's use of it.
            let moved = unsafe { libc::aio_return(self.blocks[slot as usize].get()) };
            self.flight.complete(slot, if state == 0 { moved as i32 } else { -state }, done);
            collected += 1;
        }
        collected
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let min = min.min(self.flight.count());
        let mut got = self.collect(done);
        while got < min && !over(until) {
            let timeout = remaining(until);
            let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            let watched = self.waiting.len().min(self.watched) as i32;
            // SAFETY: the list is of blocks in flight; the timeout is a live local or none.
            let answer = unsafe { libc::aio_suspend(self.waiting.as_ptr(), watched, timeout) };
            let failure = if answer == 0 { None } else { Some(errno()) };
            got += self.collect(done);
            match failure {
                None => {}
                Some(libc::EAGAIN | libc::EINTR) => break, // the time is up, or a signal
                Some(errno) => return Err(EngineError::System { call: "aio_suspend", errno }),
            }
        }
        Ok(())
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        for &slot in &self.waiting_slots {
            let block = self.blocks[slot as usize].get();
            // SAFETY: the block is in flight. Whatever the answer is (AIO_NOTCANCELED: it is being worked on), the
            // request ends by itself and is collected below; nothing is freed before.
            unsafe { libc::aio_cancel((*block).aio_fildes, block) };
        }
        drain(until, done, |done| {
            self.reap(u32::MAX, until, done)?;
            Ok(self.flight.count())
        });
        self.flight.stuck()
    }
}

/// A control block of nothing.
fn empty_block() -> libc::aiocb {
    // SAFETY: a control block is plain integers and pointers, for which all zero bits are valid.
    unsafe { std::mem::zeroed() }
}

/// The error number of the library call that has just failed.
fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

impl Engine for PosixAio {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        self.files = files.clone();
        let (granted, note) = system::depth(depth);
        self.attached = Some(Attached::new(slots, granted, self.files.len()));
        Ok(Granted { depth: granted, used: vec![system::IMPLEMENTATION.into()], notes: note.into_iter().collect() })
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        let Some(attached) = &mut self.attached else { return Ok(0) };
        for (index, io) in ios.iter().enumerate() {
            let fd = descriptor(&self.files, io.file);
            if io.op == Op::Trim {
                done.push(Completion { slot: io.slot, result: without_data(fd, io, self.files.trim) });
                continue;
            }
            match attached.start(io, fd) {
                Started::Yes => {}
                Started::NotNow => return Ok(index),
                Started::Failed(result) => done.push(Completion { slot: io.slot, result }),
            }
        }
        Ok(ios.len())
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.attached.as_mut().map_or(Ok(()), |attached| attached.reap(min, until, done))
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.quiesce(until, done))
    }
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        let Some(mut attached) = self.attached.take() else { return };
        let until = attached.flight.drop_deadline();
        if attached.flight.count() > 0 && !attached.quiesce(until, &mut Vec::new()).slots.is_empty() {
            // The library still works in the control blocks: they are leaked, as the buffers are.
            std::mem::forget(attached);
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    /// What carries the requests out.
    pub(super) const IMPLEMENTATION: &str = if cfg!(target_env = "gnu") { "glibc aio" } else { "libc aio" };

    /// `aio_fsync`'s word for a flush of the data only.
    pub(super) const DATA_SYNC: i32 = libc::O_DSYNC;

    /// The queue of the C library is limited by memory alone.
    pub(super) fn depth(asked: u32) -> (u32, Option<String>) {
        (asked, None)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// What carries the requests out.
    pub(super) const IMPLEMENTATION: &str = "the kernel's aio";

    /// macOS flushes whole files only.
    pub(super) const DATA_SYNC: i32 = libc::O_SYNC;

    /// The kernel's queue holds `kern.aioprocmax` requests of a process.
    pub(super) fn depth(asked: u32) -> (u32, Option<String>) {
        let mut limit: libc::c_int = 0;
        let mut bytes = size_of::<libc::c_int>();
        // SAFETY: the kernel writes one integer to a live local of that size.
        let answer = unsafe {
            libc::sysctlbyname(
                c"kern.aioprocmax".as_ptr(),
                (&raw mut limit).cast(),
                &raw mut bytes,
                std::ptr::null_mut(),
                0,
            )
        };
        match u32::try_from(limit) {
            Ok(limit) if answer == 0 && limit > 0 && limit < asked => (
                limit,
                Some(format!(
                    "iodepth is {limit}, not {asked}: kern.aioprocmax allows a process no more; raise it with \
                     sudo sysctl kern.aiomax=1024 kern.aioprocmax={asked} kern.aiothreads=64"
                )),
            ),
            _ => (asked, None),
        }
    }
}

use system::DATA_SYNC;
