//! `io_uring`: Linux's ring of requests and ring of completions.
//!
//! `submit` puts entries into the ring and enters the kernel once for all of them; `reap` looks at the completion ring
//! first and enters only to wait. A trim has no ring operation in common kernels and is done in the calling thread, as
//! fio does; so is a flush with `hipri`, whose rings take nothing but reads and writes.

mod attached;
pub(crate) mod command;
mod entries;
mod nvme;
mod protection;
mod ring;

use std::cell::UnsafeCell;
use std::sync::Arc;

use io_uring::squeue::EntryMarker;
use io_uring::{Probe, cqueue, opcode, squeue};
use iostrata_os::io::syscall;
use iostrata_spec::EngineOptions;

use self::attached::{Attached, Carrier};
use self::entries::{Entries, Transfer};
use self::ring::{Ring, Wish};
use crate::api::{
    Availability, Caps, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable, Granted,
    Instance, Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::{descriptor, without_data};
use crate::flight::Flight;

/// The registry's row.
pub(crate) const SPEC: EngineSpec =
    EngineSpec { name: "io_uring", caps: CAPS, doc: "Linux's io_uring", availability, make };

/// A ring, and a moment long another that takes its place.
const CAPS: Caps = Caps { descriptors: 2, ..Caps::ASYNCHRONOUS };

/// The most bytes that the kernel registers as one buffer.
const MAX_BUFFER_BYTES: usize = 1 << 30;

fn availability() -> Availability {
    // Without parameters the call fails in any case; how, tells whether it is allowed.
    // SAFETY: a null pointer for the kernel to refuse.
    match -unsafe { syscall(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0, 0]) } as i32 {
        errno @ (libc::ENOSYS | libc::EPERM) => Availability::Missing(refusal(errno)),
        _ => Availability::Here,
    }
}

/// Why the kernel does not let us have a ring.
fn refusal(errno: i32) -> String {
    if errno == libc::ENOSYS {
        return "this kernel has no io_uring (Linux 5.1 brought it), or a container's seccomp filter hides it; \
                ioengine=libaio may work"
            .into();
    }
    let policy = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    match policy.trim() {
        "1" => "io_uring is kept for privileged users (sysctl kernel.io_uring_disabled=1): run as root or as a member \
                of the group in kernel.io_uring_group, or use ioengine=libaio"
            .into(),
        "2" => "io_uring is switched off for everybody (sysctl kernel.io_uring_disabled=2); root can allow it with \
                sysctl kernel.io_uring_disabled=0, or use ioengine=libaio"
            .into(),
        _ => "the kernel forbids io_uring here, as the seccomp filter of many containers does; \
              ioengine=libaio may work"
            .into(),
    }
}

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    Ok(Instance::Async(Box::new(Uring { options: config.options.clone(), attached: None })))
}

struct Uring {
    options: EngineOptions,
    attached: Option<Attached<Entries>>,
}

impl Carrier for Entries {
    type Entry = squeue::Entry;
    type Done = cqueue::Entry;

    #[inline]
    fn carries(&self, io: &Io, polled: bool) -> bool {
        match io.op {
            Op::Read | Op::Write => true,
            Op::Sync | Op::DataSync => !polled,
            Op::Trim => false,
        }
    }

    #[inline(always)]
    fn make(&mut self, io: &Io, address: *mut u8) -> &squeue::Entry {
        self.entry(io, address).as_entry()
    }

    fn aside(&self, io: &Io) -> i32 {
        without_data(descriptor(&self.files, io.file), io, self.files.trim)
    }

    #[inline]
    fn result(&mut self, _: SlotId, result: i32) -> i32 {
        result
    }
}

impl Uring {
    fn attach(
        &self,
        files: &FileTable,
        slots: Arc<SlotArena>,
        depth: u32,
    ) -> Result<(Attached<Entries>, Granted), EngineError> {
        let options = &self.options;
        if options.polled && !files.direct {
            return Err(EngineError::Unsupported(
                "hipri=1 polls for completions, which the kernel does for direct I/O only: add direct=1".into(),
            ));
        }
        let wish =
            Wish { entries: depth, polled: options.polled, sq_poll: options.sq_poll, sq_poll_cpu: options.sq_poll_cpu };
        let (ring, mut used) = Ring::new(wish).map_err(|errno| setup_error(errno, wish))?;
        let mut notes = Vec::new();
        let granted = depth.min(ring.queues.params().sq_entries());
        if granted < depth {
            notes.push(format!("iodepth is {granted}, not {depth}: a ring holds no more"));
        }
        // As fio does, a kernel thread that submits gets the files registered.
        let registered_files = (options.register_files || options.sq_poll) && !files.exchanges;
        if options.register_files && files.exchanges {
            notes.push("its files are not registered: not all of them can be open at a time".into());
        }
        if registered_files {
            register_files(&ring, files)?;
            used.push("registered files".into());
        }
        let transfer = transfer(&ring, options, &slots, &mut notes)?;
        match &transfer {
            Transfer::Plain => {}
            Transfer::Vectored(_) => used.push("vectored".into()),
            Transfer::Fixed { .. } => used.push("fixed buffers".into()),
        }
        let attached = Attached {
            ring,
            carrier: Entries::new(options, files.clone(), registered_files, transfer, slots.slots()),
            flight: Flight::new(slots),
            poll_refused: false,
            cancel_any_refused: false,
        };
        Ok((attached, Granted { depth: granted, used, notes }))
    }
}

/// Decides how memory is named, and registers it if that is asked.
fn transfer(
    ring: &Ring<squeue::Entry, cqueue::Entry>,
    options: &EngineOptions,
    slots: &SlotArena,
    notes: &mut Vec<String>,
) -> Result<Transfer, EngineError> {
    if options.fixed_buffers {
        return register_buffers(ring, slots).map(|slots_per_buffer| Transfer::Fixed { slots_per_buffer });
    }
    let mut probe = Probe::new();
    let plain = ring.queues.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(opcode::Read::CODE);
    if plain && !options.vectored {
        return Ok(Transfer::Plain);
    }
    if !options.vectored {
        notes.push("requests are vectored: plain ones need Linux 5.6".into());
    }
    let empty = || UnsafeCell::new(libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 });
    Ok(Transfer::Vectored((0..slots.slots()).map(|_| empty()).collect()))
}

/// Registers the files with the ring.
fn register_files<S: EntryMarker, C: cqueue::EntryMarker>(
    ring: &Ring<S, C>,
    files: &FileTable,
) -> Result<(), EngineError> {
    let descriptors: Vec<_> = files.descriptors().collect();
    ring.queues.submitter().register_files(&descriptors).map_err(|error| {
        registration_error("registerfiles=1", "its files", &error, "the limit of open files (ulimit -n)")
    })
}

/// Registers all slots with the ring; how many there are to a buffer.
fn register_buffers<S: EntryMarker, C: cqueue::EntryMarker>(
    ring: &Ring<S, C>,
    slots: &SlotArena,
) -> Result<u32, EngineError> {
    let slots_per_buffer = (MAX_BUFFER_BYTES / slots.slot_bytes()).clamp(1, u32::MAX as usize) as u32;
    let buffers: Vec<libc::iovec> = (0..slots.slots())
        .step_by(slots_per_buffer as usize)
        .map(|first| libc::iovec {
            iov_base: slots.ptr(first).cast(),
            iov_len: slots_per_buffer.min(slots.slots() - first) as usize * slots.slot_bytes(),
        })
        .collect();
    // SAFETY: the arena outlives the ring: both are dropped together, and leaked together when requests are stuck.
    unsafe { ring.queues.submitter().register_buffers(&buffers) }.map_err(|error| {
        registration_error("fixedbufs=1", "its buffers", &error, "the limit of locked memory (ulimit -l)")
    })?;
    Ok(slots_per_buffer)
}

fn registration_error(option: &str, what: &str, error: &std::io::Error, likely: &str) -> EngineError {
    EngineError::Unsupported(format!("{option}: the kernel does not register {what}: {error}; look at {likely}"))
}

fn setup_error(errno: i32, wish: Wish) -> EngineError {
    match (errno, wish.sq_poll_cpu) {
        (libc::ENOSYS, _) => EngineError::Unsupported(refusal(errno)),
        (libc::EPERM, _) if !wish.sq_poll => EngineError::Unsupported(refusal(errno)),
        (libc::EPERM, _) => {
            EngineError::Unsupported("sqthread_poll=1 needs CAP_SYS_NICE or root before Linux 5.13".into())
        }
        (libc::ENOMEM, _) => EngineError::Unsupported(format!(
            "io_uring_setup({}) failed: out of memory that may be locked; raise ulimit -l or lower iodepth",
            wish.entries
        )),
        (libc::EINVAL, Some(cpu)) if wish.sq_poll => {
            EngineError::Unsupported(format!("sqthread_poll_cpu={cpu}: the kernel has no such CPU to give"))
        }
        (errno, _) => EngineError::System { call: "io_uring_setup", errno },
    }
}

impl Engine for Uring {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        let (attached, granted) = Uring::attach(self, files, slots, depth)?;
        self.attached = Some(attached);
        Ok(granted)
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        self.attached.as_mut().map_or(Ok(0), |attached| attached.submit(ios, done))
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let Some(attached) = &mut self.attached else { return Ok(()) };
        attached.reap(min, until, done)?;
        if attached.poll_refused {
            return Err(EngineError::Unsupported(
                "hipri=1: the kernel cannot poll this target for completions; its device needs poll queues (for NVMe \
                 the module option nvme.poll_queues=N, then queue/io_poll reads 1) and a file system that passes \
                 polling on. Without hipri it works"
                    .into(),
            ));
        }
        Ok(())
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.quiesce(until, done))
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let Some(mut attached) = self.attached.take() else { return };
        let until = attached.flight.drop_deadline();
        if attached.flight.count() > 0 && !attached.quiesce(until, &mut Vec::new()).slots.is_empty() {
            // The kernel still has them: the ring and the vectors stay, as the buffers do.
            std::mem::forget(attached);
            return;
        }
        // The kernel takes a closed ring apart in its own time, and would keep the files busy until then.
        if attached.carrier.registered_files {
            let _ = attached.ring.queues.submitter().unregister_files();
        }
        if matches!(attached.carrier.transfer, Transfer::Fixed { .. }) {
            let _ = attached.ring.queues.submitter().unregister_buffers();
        }
    }
}

#[cfg(test)]
#[path = "uring_tests.rs"]
mod tests;
