//! `vsync`: `readv` and `writev` at the file's position. Requests that come down together and lie one behind the other
//! are joined to one call.

use std::os::fd::RawFd;
use std::sync::Arc;

use iostrata_os::io::{self, MAX_TRANSFER_BYTES};

use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "vsync",
    caps: Caps::SYNCHRONOUS,
    doc: "lseek, readv and writev; neighbours of one batch (iodepth_batch) are joined to one call",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Async(Box::new(Vsync::default()))),
};

/// Requests that one call takes at most, as in the kernel.
const MOST_JOINED: usize = 1024;

/// Requests wait from `submit` to `reap`, where they are carried out.
#[derive(Default)]
struct Vsync {
    attached: Option<(FileTable, Arc<SlotArena>)>,
    /// What waits, and whether it came down with the one before.
    waiting: Vec<(Io, bool)>,
    vector: Vec<libc::iovec>,
}

// SAFETY: the vector's pointers are used within one call only, and made anew for each.
unsafe impl Send for Vsync {}

impl Engine for Vsync {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        self.attached = Some((files.clone(), slots));
        self.waiting.reserve_exact(depth as usize);
        self.vector.reserve_exact((depth as usize).min(MOST_JOINED));
        Ok(Granted { depth, used: Vec::new(), notes: Vec::new() })
    }

    fn submit(&mut self, ios: &[Io], _: &mut Completions) -> Result<usize, EngineError> {
        let room = self.waiting.capacity() - self.waiting.len();
        let taken = &ios[..ios.len().min(room)];
        self.waiting.extend(taken.iter().enumerate().map(|(position, io)| (*io, position > 0)));
        Ok(taken.len())
    }

    fn reap(&mut self, _: u32, _: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let Vsync { attached: Some((files, slots)), waiting, vector } = self else { return Ok(()) };
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let (joined, others) = rest.split_at(joined(rest));
            carry_out(files, slots, joined, vector, done);
            rest = others;
        }
        self.waiting.clear();
        Ok(())
    }

    fn quiesce(&mut self, _: Deadline, done: &mut Completions) -> Stuck {
        done.extend(self.waiting.drain(..).map(|(io, _)| Completion { slot: io.slot, result: -libc::ECANCELED }));
        Stuck::default()
    }
}

/// How many of the first requests one call can do.
fn joined(ios: &[(Io, bool)]) -> usize {
    let (first, _) = ios[0];
    if !matches!(first.op, Op::Read | Op::Write) {
        return 1;
    }
    let mut bytes = u64::from(first.len);
    let more = ios[1..].iter().take(MOST_JOINED - 1).take_while(|(io, together)| {
        let follows = (io.op, io.file, io.offset) == (first.op, first.file, first.offset + bytes);
        bytes += u64::from(io.len);
        follows && *together && bytes <= u64::from(MAX_TRANSFER_BYTES)
    });
    1 + more.count()
}

/// One call for all of them. What it did not do whole each does by itself, so that an error is that of its request.
fn carry_out(
    files: &FileTable,
    slots: &SlotArena,
    ios: &[(Io, bool)],
    vector: &mut Vec<libc::iovec>,
    done: &mut Completions,
) {
    let (first, _) = ios[0];
    let fd = blocking::descriptor(files, first.file);
    if !matches!(first.op, Op::Read | Op::Write) {
        let result = blocking::without_data(fd, &first, files.trim);
        done.push(Completion { slot: first.slot, result });
        return;
    }
    let moved = transfer(fd, slots, ios, vector);
    if ios.len() == 1 {
        done.push(Completion { slot: first.slot, result: moved as i32 });
        return;
    }
    let mut left = moved.max(0) as u64;
    for one in ios {
        let (io, len) = (&one.0, u64::from(one.0.len));
        let result = if left == 0 {
            transfer(fd, slots, std::slice::from_ref(one), vector) as i32
        } else {
            left.min(len) as i32
        };
        left = left.saturating_sub(len);
        done.push(Completion { slot: io.slot, result });
    }
}

/// `readv` or `writev` of neighbours: bytes moved, or `-errno`.
fn transfer(fd: RawFd, slots: &SlotArena, ios: &[(Io, bool)], vector: &mut Vec<libc::iovec>) -> i64 {
    let (first, _) = ios[0];
    let at = io::seek_to(fd, first.offset);
    if at < 0 {
        return at;
    }
    vector.clear();
    for (io, _) in ios {
        vector.push(libc::iovec { iov_base: blocking::buffer(slots, io).cast(), iov_len: io.len as usize });
        slots.lend(io.slot);
    }
    let write = first.op == Op::Write;
    // SAFETY: the vector names bytes of the requests' slots, which are lent to this call and to nobody else.
    let moved = unsafe {
        let (start, count) = (vector.as_ptr(), vector.len() as i32);
        if write { libc::writev(fd, start, count) } else { libc::readv(fd, start, count) }
    };
    let moved = if moved < 0 { -i64::from(errno()) } else { moved as i64 };
    ios.iter().for_each(|(io, _)| slots.give_back(io.slot));
    moved
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, together: bool) -> (Io, bool) {
        (Io { offset, slot_offset: 0, len: 10, slot: 0, file: 0, op: Op::Write, priority: 0 }, together)
    }

    #[test]
    fn neighbours_of_one_batch_are_joined_and_others_not() {
        let run = [write(0, false), write(10, true), write(20, true), write(40, true)];
        assert_eq!(joined(&run), 3, "a gap");
        assert_eq!(joined(&[write(0, false), write(10, false)]), 1, "another batch");
        assert_eq!(joined(&[write(10, false), write(0, true)]), 1, "one before the other");
        for change in [|io: &mut Io| io.op = Op::Read, |io: &mut Io| io.file = 1] {
            let mut run = run;
            change(&mut run[1].0);
            assert_eq!(joined(&run), 1, "another direction or file");
        }
        let mut sync = run;
        sync[0].0.op = Op::Sync;
        assert_eq!(joined(&sync), 1);
        let long: Vec<_> = (0..2000).map(|place| write(place * 10, place > 0)).collect();
        assert_eq!(joined(&long), MOST_JOINED);
        let mut large = run;
        large.iter_mut().enumerate().for_each(|(place, (io, _))| {
            (io.offset, io.len) = (place as u64 * (1 << 30), 1 << 30);
        });
        assert_eq!(joined(&large), 1, "more than one call moves");
    }
}
