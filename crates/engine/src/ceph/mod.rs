//! `rados` and `rbd`: objects and images of a Ceph cluster, by Ceph's own libraries.
//!
//! A request ends in a thread of the library. That writes the slot's number into a pipe, and the worker reads it from
//! there: a wait for the pipe can be ended by a signal and by time, one in the library cannot.

mod cluster;
mod library;

use std::ffi::{CString, c_void};
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use self::cluster::{Cluster, failed};
use self::library::{Handle, Rados, Rbd, text};
use crate::api::{
    Availability, Caps, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable, Granted,
    Instance, Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::{buffer, whole};
use crate::flight::{Flight, drain, now_ns, over};

const CAPS: Caps = Caps { diskless: true, remote: true, helper_threads: true, descriptors: 32, ..Caps::ASYNCHRONOUS };

/// A pipe holds the numbers of so many slots at least: the library's threads never wait for room.
const MOST_IN_FLIGHT: u32 = 8192;

/// The registry's row.
pub(crate) const RADOS: EngineSpec = EngineSpec {
    name: "rados",
    caps: CAPS,
    doc: "objects of a Ceph pool, by librados: each file is an object",
    availability: || available(Rados::load().map(drop)),
    make: |config: &EngineConfig| Ok(instance(config, Kind::Objects)),
};

/// The registry's row.
pub(crate) const RBD: EngineSpec = EngineSpec {
    name: "rbd",
    caps: Caps { extends: false, ..CAPS },
    doc: "an image in a Ceph pool, by librbd",
    availability: || available(Rados::load().and_then(|_| Rbd::load()).map(drop)),
    make: |config: &EngineConfig| Ok(instance(config, Kind::Image)),
};

fn available(loaded: Result<(), String>) -> Availability {
    loaded.map_or_else(Availability::Missing, |()| Availability::Here)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Objects,
    Image,
}

fn instance(config: &EngineConfig, kind: Kind) -> Instance {
    Instance::Async(Box::new(Ceph { config: config.clone(), kind, attached: None }))
}

struct Ceph {
    config: EngineConfig,
    kind: Kind,
    attached: Option<Attached>,
}

/// What requests go to.
enum Target {
    Objects { names: Vec<CString> },
    Image { rbd: Rbd, handle: Handle },
}

/// What the library hands back with a request that has ended.
struct Tag {
    slot: SlotId,
    pipe: RawFd,
}

struct Attached {
    /// Before the cluster: it goes first.
    target: Target,
    cluster: Cluster,
    flight: Flight,
    tags: Box<[Tag]>,
    /// By slot: the library's completion of the request.
    pending: Box<[Handle]>,
    /// By slot: what stands for the library's 0, which is the bytes that a write or a trim was of.
    results: Box<[i32]>,
    ended: PipeReader,
    /// Open for as long as the library may write.
    _ends: PipeWriter,
    busy: bool,
}

/// Runs in a thread of the library.
extern "C" fn on_end(_: Handle, tag: *mut c_void) {
    // SAFETY: the tag lives for as long as a request of its slot is in flight.
    let Tag { slot, pipe } = unsafe { &*tag.cast::<Tag>() };
    let bytes = slot.to_ne_bytes();
    // SAFETY: a live local. So few bytes go in whole, and there is room for all.
    unsafe { libc::write(*pipe, bytes.as_ptr().cast(), bytes.len()) };
}

impl Ceph {
    /// The cluster comes first: of two locals that is the one that goes last.
    fn connect(&self) -> Result<(Cluster, Target), EngineError> {
        let options = &self.config.options.ceph;
        match self.kind {
            Kind::Objects => {
                let cluster = Cluster::connect(options, Some(&options.conf))?;
                let target = Target::Objects { names: self.config.names.clone() };
                Ok((cluster, target))
            }
            Kind::Image => {
                let name = options.image.as_deref();
                let name = name.ok_or_else(|| EngineError::lacking("rbdname= is missing: the image in the pool"))?;
                let rbd = Rbd::load().map_err(EngineError::Unsupported)?;
                let cluster = Cluster::connect(options, None)?;
                let mut handle = null_mut();
                // SAFETY: an open pool, a text that lives through the call, room for a handle, and no snapshot.
                let opened = unsafe { (rbd.open)(cluster.pool, text(name).as_ptr(), &raw mut handle, null()) };
                if opened < 0 {
                    let what = format!("rbdname={name} cannot be opened: rbd ls shows the images that there are");
                    return Err(failed(what, opened));
                }
                Ok((cluster, Target::Image { rbd, handle }))
            }
        }
    }
}

impl Engine for Ceph {
    fn target_bytes(&mut self) -> Result<u64, EngineError> {
        // Objects are as large as the job says.
        if self.kind == Kind::Objects {
            return Ok(0);
        }
        let (_cluster, target) = self.connect()?;
        let Target::Image { rbd, handle } = &target else { return Ok(0) };
        let mut bytes = 0;
        // SAFETY: an open image, and a live local.
        let asked = unsafe { (rbd.get_size)(*handle, &raw mut bytes) };
        if asked < 0 { Err(failed("the size of the image cannot be had".into(), asked)) } else { Ok(bytes) }
    }

    fn attach(&mut self, _: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        let (cluster, target) = self.connect()?;
        if let (Target::Objects { names }, true) = (&target, self.config.options.ceph.touch_objects) {
            touch(&cluster, names)?;
        }
        let pipe = |error: std::io::Error| EngineError::System {
            call: "pipe",
            errno: error.raw_os_error().unwrap_or(libc::EMFILE),
        };
        let (ended, ends) = std::io::pipe().map_err(pipe)?;
        let count = slots.slots();
        self.attached = Some(Attached {
            target,
            cluster,
            flight: Flight::new(slots),
            tags: (0..count).map(|slot| Tag { slot, pipe: ends.as_raw_fd() }).collect(),
            pending: vec![null_mut(); count as usize].into(),
            results: vec![0; count as usize].into(),
            ended,
            _ends: ends,
            busy: self.config.options.ceph.busy_poll,
        });
        Ok(Granted { depth: depth.min(MOST_IN_FLIGHT), used: Vec::new(), notes: Vec::new() })
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        let Some(attached) = &mut self.attached else { return Ok(0) };
        ios.iter().for_each(|io| attached.begin(io, done));
        Ok(ios.len())
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.attached.as_mut().map_or(Ok(()), |attached| attached.reap(min, until, done))
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.quiesce(until, done))
    }
}

/// Makes the objects that are not there yet, empty.
fn touch(cluster: &Cluster, names: &[CString]) -> Result<(), EngineError> {
    for name in names {
        // SAFETY: an open pool, and a text that lives through the call; there are no bytes.
        let made = unsafe { (cluster.rados.write)(cluster.pool, name.as_ptr(), c"".as_ptr().cast(), 0, 0) };
        if made < 0 {
            return Err(failed(format!("the object {} cannot be made", name.to_string_lossy()), made));
        }
    }
    Ok(())
}

impl Attached {
    fn begin(&mut self, io: &Io, done: &mut Completions) {
        let at = io.slot as usize;
        let tag = (&raw mut self.tags[at]).cast();
        let pending = &raw mut self.pending[at];
        let memory = buffer(self.flight.arena(), io);
        let (rados, pool) = (&self.cluster.rados, self.cluster.pool);
        let (len, offset) = (io.len as usize, io.offset);
        self.flight.take(io.slot);
        self.results[at] = if matches!(io.op, Op::Write | Op::Trim) { whole(io.len) } else { 0 };
        // SAFETY: open handles, names that outlive the engine's requests, and bytes of a slot that is lent until the
        // request has ended; the tag and the place of the completion do not move.
        let answer = unsafe {
            match &self.target {
                Target::Objects { names } => {
                    let Some(name) = names.get(io.file as usize).map(|name| name.as_ptr()) else {
                        return self.flight.complete(io.slot, -libc::EBADF, done);
                    };
                    match (rados.aio_create_completion)(tag, Some(on_end), None, pending) {
                        0 => match io.op {
                            Op::Read => (rados.aio_read)(pool, name, *pending, memory, len, offset),
                            Op::Write => (rados.aio_write)(pool, name, *pending, memory, len, offset),
                            Op::Sync | Op::DataSync => (rados.aio_flush_async)(pool, *pending),
                            Op::Trim => {
                                let zero = (rados.create_write_op)();
                                (rados.write_op_zero)(zero, offset, len as u64);
                                let answer = (rados.aio_write_op_operate)(zero, pool, *pending, name, null_mut(), 0);
                                (rados.release_write_op)(zero);
                                answer
                            }
                        },
                        error => {
                            *pending = null_mut();
                            error
                        }
                    }
                }
                Target::Image { rbd, handle } => match (rbd.aio_create_completion)(tag, Some(on_end), pending) {
                    0 => match io.op {
                        Op::Read => (rbd.aio_read)(*handle, offset, len, memory, *pending),
                        Op::Write => (rbd.aio_write)(*handle, offset, len, memory, *pending),
                        Op::Trim => (rbd.aio_discard)(*handle, offset, len as u64, *pending),
                        Op::Sync | Op::DataSync => (rbd.aio_flush)(*handle, *pending),
                    },
                    error => {
                        *pending = null_mut();
                        error
                    }
                },
            }
        };
        if answer < 0 {
            self.release(io.slot);
            self.flight.complete(io.slot, answer, done);
        }
    }

    /// Lets go of the library's completion of a slot, if there is one: what it was answered with.
    fn release(&mut self, slot: SlotId) -> i32 {
        let pending = std::mem::replace(&mut self.pending[slot as usize], null_mut());
        if pending.is_null() {
            return 0;
        }
        // SAFETY: a completion that was made, whose request has ended or never begun, and that is let go of once.
        unsafe {
            match &self.target {
                Target::Objects { .. } => {
                    let rados = &self.cluster.rados;
                    let answer = (rados.aio_get_return_value)(pending);
                    (rados.aio_release)(pending);
                    answer
                }
                Target::Image { rbd, .. } => {
                    let answer = (rbd.aio_get_return_value)(pending);
                    (rbd.aio_release)(pending);
                    i32::try_from(answer).unwrap_or(i32::MAX)
                }
            }
        }
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let enough = self.flight.count().saturating_sub(min);
        while self.flight.count() > 0 {
            let must = min > 0 && self.flight.count() > enough;
            let wait = if must && !self.busy { until } else { Deadline::Now };
            match self.is_ready(wait) {
                Ok(true) => self.take(done)?,
                // Busy polling looks again until its time is over; a signal raises the stop that the caller looks at.
                Ok(false) if must && self.busy && !over(until) => {}
                Ok(false) => break,
                Err(libc::EINTR) => break,
                Err(errno) => return Err(EngineError::System { call: "poll", errno }),
            }
        }
        Ok(())
    }

    /// Whether some request has ended.
    fn is_ready(&self, until: Deadline) -> Result<bool, i32> {
        let mut poll = libc::pollfd { fd: self.ended.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // By the millisecond, rounded up: the request itself ends the wait in nearly every case.
        let timeout = match until {
            Deadline::Now => 0,
            Deadline::At(at_ns) => {
                i32::try_from(at_ns.saturating_sub(now_ns()).div_ceil(1_000_000)).unwrap_or(i32::MAX)
            }
            Deadline::Never => -1,
        };
        // SAFETY: one live entry.
        match unsafe { libc::poll(&raw mut poll, 1, timeout) } {
            0.. => Ok(poll.revents != 0),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    fn take(&mut self, done: &mut Completions) -> Result<(), EngineError> {
        let mut slots = [0_u8; 4 * 64];
        // SAFETY: a live local of this size.
        let got = unsafe { libc::read(self.ended.as_raw_fd(), slots.as_mut_ptr().cast(), slots.len()) };
        if got < 0 {
            return match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => Ok(()),
                errno => Err(EngineError::System { call: "read", errno: errno.unwrap_or(libc::EIO) }),
            };
        }
        for bytes in slots[..got as usize].chunks_exact(4) {
            let slot = SlotId::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let answer = self.release(slot);
            let result = if answer == 0 { self.results[slot as usize] } else { answer };
            self.flight.complete(slot, result, done);
        }
        Ok(())
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        drain(until, done, |done| {
            self.reap(u32::MAX, until, done)?;
            Ok(self.flight.count())
        });
        self.flight.stuck()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Target::Image { rbd, handle } = self {
            // SAFETY: an open image in which nothing is in flight.
            unsafe { (rbd.close)(*handle) };
        }
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        let Some(mut attached) = self.attached.take() else { return };
        let until = attached.flight.drop_deadline();
        if attached.flight.count() > 0 && !attached.quiesce(until, &mut Completions::new()).slots.is_empty() {
            // The library still has them: it keeps what it needs to end them.
            std::mem::forget(attached);
        }
    }
}
