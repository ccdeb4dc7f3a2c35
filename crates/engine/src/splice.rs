//! `splice`: bytes go through a pipe: `splice` between the file and the pipe, `vmsplice` between the pipe and memory.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use iostrata_os::io::syscall;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "splice",
    // A pipe, and a moment long another that takes its place.
    caps: Caps { descriptors: 4, ..Caps::SYNCHRONOUS },
    doc: "splice and vmsplice through a pipe",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Sync(Box::new(Splice { pipe: None, attached: None }))),
};

struct Splice {
    /// Empty between two requests.
    pipe: Option<Pipe>,
    attached: Option<(FileTable, Arc<SlotArena>)>,
}

struct Pipe {
    reader: std::io::PipeReader,
    writer: std::io::PipeWriter,
}

impl Pipe {
    fn new() -> Result<Pipe, i32> {
        let (reader, writer) = std::io::pipe().map_err(|error| error.raw_os_error().unwrap_or(libc::EMFILE))?;
        Ok(Pipe { reader, writer })
    }
}

impl SyncOp for Splice {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        self.pipe = Some(Pipe::new().map_err(|errno| EngineError::System { call: "pipe", errno })?);
        self.attached = Some((files.clone(), slots));
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let Some((files, slots)) = &self.attached else { return -libc::EBADF };
        let fd = blocking::descriptor(files, io.file);
        if !matches!(io.op, Op::Read | Op::Write) {
            return blocking::without_data(fd, io, files.trim);
        }
        let pipe = match self.pipe.take().map_or_else(Pipe::new, Ok) {
            Ok(pipe) => pipe,
            Err(errno) => return -errno,
        };
        let mut transfer =
            Transfer { fd, offset: io.offset, buffer: blocking::buffer(slots, io), pipe: &pipe, held: 0 };
        slots.lend(io.slot);
        let len = io.len.min(iostrata_os::io::MAX_TRANSFER_BYTES) as usize;
        let moved = if io.op == Op::Write { transfer.write(len) } else { transfer.read(len) };
        slots.give_back(io.slot);
        // Bytes of a request that failed half-way must not come out of the next one: that gets a new pipe.
        if transfer.held == 0 {
            self.pipe = Some(pipe);
        }
        moved
    }
}

/// One request on its way.
struct Transfer<'a> {
    fd: RawFd,
    /// Where in the file it goes on, bytes.
    offset: u64,
    /// Start of its memory.
    buffer: *mut u8,
    pipe: &'a Pipe,
    /// Bytes in the pipe.
    held: usize,
}

impl Transfer<'_> {
    /// Bytes moved, or `-errno` where none were.
    fn read(&mut self, len: usize) -> i32 {
        let mut moved = 0;
        while moved < len {
            match self.fill_pipe(len - moved) {
                0 => break,
                error if error < 0 => return end(moved, error),
                _ => {}
            }
            while self.held > 0 {
                match self.memory(self.pipe.reader.as_raw_fd(), moved, self.held, 0) {
                    error if error <= 0 => return end(moved, if error == 0 { -libc::EIO as isize } else { error }),
                    taken => {
                        self.held -= taken as usize;
                        moved += taken as usize;
                    }
                }
            }
        }
        moved as i32
    }

    /// Bytes moved, or `-errno` where none were.
    fn write(&mut self, len: usize) -> i32 {
        let mut moved = 0;
        while moved < len {
            // It takes what the pipe has room for: with more it would wait for a reader, which is this thread.
            match self.memory(self.pipe.writer.as_raw_fd(), moved, len - moved, libc::SPLICE_F_NONBLOCK as usize) {
                error if error <= 0 => return end(moved, if error == 0 { -libc::EIO as isize } else { error }),
                given => self.held = given as usize,
            }
            while self.held > 0 {
                match self.empty_pipe() {
                    0 => return end(moved, -libc::EIO as isize),
                    error if error < 0 => return end(moved, error),
                    taken => moved += taken as usize,
                }
            }
        }
        moved as i32
    }

    fn fill_pipe(&mut self, len: usize) -> isize {
        let mut at = self.offset;
        let writer = self.pipe.writer.as_raw_fd();
        // SAFETY: two descriptors, and an offset that lives through the call.
        let got =
            unsafe { syscall(libc::SYS_splice, [self.fd as usize, &raw mut at as usize, writer as usize, 0, len, 0]) };
        self.went(got, self.held.saturating_add_signed(got.max(0)))
    }

    fn empty_pipe(&mut self) -> isize {
        let mut at = self.offset;
        let reader = self.pipe.reader.as_raw_fd();
        let arguments = [reader as usize, 0, self.fd as usize, &raw mut at as usize, self.held, 0];
        // SAFETY: as above.
        let got = unsafe { syscall(libc::SYS_splice, arguments) };
        self.went(got, self.held.saturating_add_signed(-got.max(0)))
    }

    fn went(&mut self, got: isize, held: usize) -> isize {
        self.held = held;
        self.offset += got.max(0) as u64;
        got
    }

    /// Moves bytes between one end of the pipe and the request's memory from `at` on.
    fn memory(&self, end: RawFd, at: usize, len: usize, flags: usize) -> isize {
        // SAFETY: within the request's memory, by the callers' loops.
        let vector = libc::iovec { iov_base: unsafe { self.buffer.add(at) }.cast(), iov_len: len };
        // SAFETY: the vector names bytes of the slot, which is lent to this request until the pipe is empty again.
        unsafe { syscall(libc::SYS_vmsplice, [end as usize, &raw const vector as usize, 1, flags, 0, 0]) }
    }
}

/// What a request that did not get on is answered with.
fn end(moved: usize, error: isize) -> i32 {
    if moved > 0 { moved as i32 } else { error as i32 }
}
