//! `libaio`: Linux's own asynchronous interface (`io_submit`), by raw system calls; the C library of that name is not
//! needed.
//!
//! It is asynchronous only with `O_DIRECT`: a buffered `io_submit` does the I/O before it returns. Flushes and trims
//! are done in the calling thread, after what came before them has been submitted, as fio does.

mod ring;

use std::sync::Arc;

use iostrata_os::io::syscall;
use iostrata_spec::EngineOptions;

use self::ring::Ring;

use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::{buffer, descriptor, without_data};
use crate::flight::{Flight, drain, remaining};
use crate::transfer_flags::TransferFlags;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "libaio",
    caps: Caps::ASYNCHRONOUS,
    doc: "Linux's io_submit; asynchronous with direct=1",
    availability,
    make,
};

/// `struct iocb` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    /// `aio_key`, which stays 0, and `aio_rw_flags`; their order depends on the byte order.
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `IOCB_CMD_PREAD` and its kin.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;

const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// In `aio_flags`: the block's priority counts (`IOCB_FLAG_IOPRIO`).
const HAS_PRIORITY: u32 = 2;

/// No key, and these flags.
fn key_and_flags(flags: u32) -> [u32; 2] {
    if cfg!(target_endian = "little") { [0, flags] } else { [flags, 0] }
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

/// The kernel's name of a context.
type Context = usize;

fn io_setup(depth: u32) -> Result<Context, i32> {
    let mut context: Context = 0;
    // SAFETY: the kernel writes the context's name to a live local.
    match unsafe { syscall(libc::SYS_io_setup, [depth as usize, &raw mut context as usize, 0, 0, 0, 0]) } {
        0 => Ok(context),
        error => Err(-error as i32),
    }
}

fn availability() -> Availability {
    // A depth of 0 is refused by a kernel that has the call.
    match io_setup(0) {
        Err(libc::ENOSYS | libc::EPERM) => Availability::Missing(
            "the kernel refuses io_setup: it was built without CONFIG_AIO, or a container's seccomp filter forbids \
             it; ioengine=io_uring or psync may work"
                .into(),
        ),
        _ => Availability::Here,
    }
}

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let options = config.options.clone();
    Ok(Instance::Async(Box::new(Libaio { files: FileTable::default(), options, attached: None })))
}

struct Libaio {
    files: FileTable,
    options: EngineOptions,
    attached: Option<Attached>,
}

struct Attached {
    context: Context,
    flight: Flight,
    /// One control block per slot; the kernel copies it in `io_submit` and keeps its address as a name.
    blocks: Box<[Iocb]>,
    /// What the next `io_submit` takes.
    batch: Vec<*mut Iocb>,
    events: Box<[Event]>,
    /// The ring of events, if it is to be looked at without a call.
    ring: Option<Ring>,
    flags: TransferFlags,
    /// One for each slot, if reads and writes go by vectors; the kernel reads it in `io_submit`.
    vectors: Box<[libc::iovec]>,
}

impl Attached {
    /// Fills the slot's control block and puts it into the batch.
    fn stage(&mut self, io: &Io, fd: i32) {
        let address = buffer(self.flight.arena(), io);
        // Before the block, so that a slot that is in flight already never gets into a batch.
        self.flight.take(io.slot);
        let writes = io.op == Op::Write;
        let (opcode, buffer, bytes) = match self.vectors.get_mut(io.slot as usize) {
            Some(vector) => {
                *vector = libc::iovec { iov_base: address.cast(), iov_len: io.len as usize };
                (if writes { PWRITEV } else { PREADV }, std::ptr::from_ref(vector) as u64, 1)
            }
            None => (if writes { PWRITE } else { PREAD }, address as u64, u64::from(io.len)),
        };
        let block = &mut self.blocks[io.slot as usize];
        *block = Iocb {
            data: u64::from(io.slot),
            key_and_flags: key_and_flags(self.flags.each(writes)),
            opcode,
            priority: io.priority as i16,
            fd: fd as u32,
            buffer,
            bytes,
            offset: io.offset as i64,
            flags: if io.priority == 0 { 0 } else { HAS_PRIORITY },
            ..Iocb::default()
        };
        self.batch.push(block);
    }

    /// Submits the batch; whether the kernel took all of it. What it did not take is out of flight again.
    fn submit_batch(&mut self, done: &mut Completions) -> Result<bool, EngineError> {
        let mut first = 0;
        let mut failure = Ok(());
        while first < self.batch.len() {
            let rest = &mut self.batch[first..];
            // SAFETY: each pointer is a block of ours that describes bytes of a lent slot; the kernel copies the blocks
            // and has the bytes until the request's event.
            let taken = unsafe {
                syscall(libc::SYS_io_submit, [self.context, rest.len(), rest.as_mut_ptr() as usize, 0, 0, 0])
            };
            match taken {
                1.. => first += taken as usize,
                // The queue is full, or the system short of memory: the caller tries again.
                0 => break,
                error if matches!(-error as i32, libc::EAGAIN | libc::EINTR | libc::ENOMEM) => break,
                error if matches!(-error as i32, libc::EBADF | libc::EINVAL | libc::EFAULT | libc::EOPNOTSUPP) => {
                    // It speaks of the first block of the batch only: that request has failed, the others go on.
                    self.flight.complete(self.slot_of(first), error as i32, done);
                    first += 1;
                }
                error => {
                    failure = Err(EngineError::System { call: "io_submit", errno: -error as i32 });
                    break;
                }
            }
        }
        let whole = first == self.batch.len();
        while self.batch.len() > first {
            let slot = self.slot_of(self.batch.len() - 1);
            self.batch.pop();
            self.flight.give_back(slot);
        }
        failure.map(|()| whole)
    }

    /// The slot of the batch's `index`-th block.
    fn slot_of(&self, index: usize) -> SlotId {
        // The address is that of an element of `blocks`.
        let bytes = self.batch[index] as usize - self.blocks.as_ptr() as usize;
        (bytes / size_of::<Iocb>()) as u32
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let in_flight = self.flight.count();
        if in_flight == 0 {
            return Ok(());
        }
        let mut min = if until == Deadline::Now { 0 } else { min.min(in_flight) };
        if let Some(ring) = self.ring {
            let flight = &mut self.flight;
            let each = |event: &Event| flight.complete(event.data as u32, event.result as i32, done);
            min = min.saturating_sub(ring.take(in_flight as usize, each) as u32);
            if min == 0 {
                return Ok(());
            }
        }
        let in_flight = self.flight.count();
        let timeout = remaining(if min == 0 { Deadline::Now } else { until });
        let timeout = timeout.as_ref().map_or(0, |timeout| std::ptr::from_ref(timeout) as usize);
        let events = self.events.as_mut_ptr() as usize;
        // SAFETY: `events` has room for every request in flight; the timeout is a live local or none.
        let count = unsafe {
            syscall(libc::SYS_io_getevents, [self.context, min as usize, in_flight as usize, events, timeout, 0])
        };
        match count {
            0.. => {
                for event in &self.events[..count as usize] {
                    self.flight.complete(event.data as u32, event.result as i32, done);
                }
                Ok(())
            }
            error if -error as i32 == libc::EINTR => Ok(()),
            error => Err(EngineError::System { call: "io_getevents", errno: -error as i32 }),
        }
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        let flying: Vec<SlotId> = self.flight.iter().collect();
        flying.into_iter().for_each(|slot| self.cancel(slot, done));
        drain(until, done, |done| {
            self.reap(u32::MAX, until, done)?;
            Ok(self.flight.count())
        });
        self.flight.stuck()
    }

    /// Asks the kernel to forget a request. Most devices cannot; then its event comes in its own time.
    fn cancel(&mut self, slot: SlotId, done: &mut Completions) {
        let mut event = Event::default();
        let block = &raw mut self.blocks[slot as usize] as usize;
        // SAFETY: the block is the one that was submitted; the event is a live local.
        let answer = unsafe { syscall(libc::SYS_io_cancel, [self.context, block, &raw mut event as usize, 0, 0, 0]) };
        // Kernels before 3.11 answer 0 and give the event here; later ones answer EINPROGRESS and queue it.
        if answer == 0 {
            self.flight.complete(slot, event.result as i32, done);
        }
    }
}

impl Engine for Libaio {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        let context = io_setup(depth).map_err(|errno| match errno {
            libc::EAGAIN => EngineError::Unsupported(format!(
                "io_setup({depth}) failed: the system's limit of requests is reached; raise it with \
                 sysctl fs.aio-max-nr=1048576, or lower iodepth"
            )),
            errno => EngineError::System { call: "io_setup", errno },
        })?;
        self.files = files.clone();
        let mut notes = Vec::new();
        let ring = if self.options.userspace_reap { Ring::of(context) } else { None };
        if self.options.userspace_reap && ring.is_none() {
            notes
                .push("userspace_reap=1: the kernel's ring of events does not look as expected; calls are made".into());
        }
        let no_vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let vectors = if self.options.vectored_aio { slots.slots() as usize } else { 0 };
        self.attached = Some(Attached {
            context,
            blocks: vec![Iocb::default(); slots.slots() as usize].into(),
            batch: Vec::with_capacity(depth as usize),
            events: vec![Event::default(); depth as usize].into(),
            flight: Flight::new(slots),
            ring,
            flags: TransferFlags::of(&self.options),
            vectors: vec![no_vector; vectors].into(),
        });
        if !files.direct && depth > 1 {
            notes.push("libaio without direct=1 works one request at a time: io_submit returns when it is done".into());
        }
        let used = ring.map(|_| "ring of events".to_owned()).into_iter().collect();
        Ok(Granted { depth, used, notes })
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        let Some(attached) = &mut self.attached else { return Ok(0) };
        let mut taken = 0;
        for run in ios.chunk_by(|one, next| in_background(one) && in_background(next)) {
            if in_background(&run[0]) {
                attached.batch.clear();
                run.iter().for_each(|io| attached.stage(io, descriptor(&self.files, io.file)));
                let whole = attached.submit_batch(done);
                taken += attached.batch.len();
                if !whole? {
                    break;
                }
            } else {
                let result = without_data(descriptor(&self.files, run[0].file), &run[0], self.files.trim);
                done.push(Completion { slot: run[0].slot, result });
                taken += 1;
            }
        }
        Ok(taken)
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.attached.as_mut().map_or(Ok(()), |attached| attached.reap(min, until, done))
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.quiesce(until, done))
    }
}

/// Whether the kernel carries out such a request by itself.
fn in_background(io: &Io) -> bool {
    matches!(io.op, Op::Read | Op::Write)
}

impl Drop for Libaio {
    fn drop(&mut self) {
        let Some(attached) = &mut self.attached else { return };
        let until = attached.flight.drop_deadline();
        if attached.flight.count() > 0 && !attached.quiesce(until, &mut Vec::new()).slots.is_empty() {
            // io_destroy would wait for them without end. The context stays, as their memory does.
            return;
        }
        // SAFETY: the context is ours and nothing is in flight in it.
        unsafe { syscall(libc::SYS_io_destroy, [attached.context, 0, 0, 0, 0, 0]) };
    }
}
