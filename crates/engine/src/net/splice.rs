//! The way through a pipe: pages of the request are lent to the socket, or come from it.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use iostrata_os::io::syscall;

use crate::api::EngineError;

/// A pipe, and what is in it.
pub(super) struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
    /// Bytes in it. What a signal left there goes on with the next call.
    held: usize,
}

impl Pipe {
    pub(super) fn new() -> Result<Pipe, EngineError> {
        let failed = |error: std::io::Error| EngineError::System {
            call: "pipe",
            errno: error.raw_os_error().unwrap_or(libc::EMFILE),
        };
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        Ok(Pipe { reader, writer, held: 0 })
    }

    /// Bytes that went to the socket, or `-errno`.
    pub(super) fn send(&mut self, socket: &OwnedFd, from: *const u8, len: usize) -> i32 {
        if self.held == 0 {
            let nonblocking = libc::SPLICE_F_NONBLOCK as usize;
            match memory(self.writer.as_raw_fd(), from.cast_mut(), len, nonblocking) {
                given @ 1.. => self.held = given as usize,
                error => return error as i32,
            }
        }
        let went = splice(self.reader.as_raw_fd(), socket.as_raw_fd(), self.held);
        self.held -= went.max(0) as usize;
        went as i32
    }

    /// Bytes that came from the socket, or `-errno`.
    pub(super) fn receive(&mut self, socket: &OwnedFd, to: *mut u8, len: usize) -> i32 {
        if self.held == 0 {
            match splice(socket.as_raw_fd(), self.writer.as_raw_fd(), len) {
                came @ 1.. => self.held = came as usize,
                other => return other as i32,
            }
        }
        let taken = memory(self.reader.as_raw_fd(), to, self.held.min(len), 0);
        self.held -= taken.max(0) as usize;
        taken as i32
    }
}

/// Moves bytes from one end to another, one of which is a pipe's: how many, or `-errno`.
fn splice(from: RawFd, to: RawFd, len: usize) -> isize {
    // SAFETY: two descriptors and plain integers.
    unsafe { syscall(libc::SYS_splice, [from as usize, 0, to as usize, 0, len, 0]) }
}

/// Moves bytes between a pipe's end and memory of the request.
fn memory(end: RawFd, at: *mut u8, len: usize, flags: usize) -> isize {
    let vector = libc::iovec { iov_base: at.cast(), iov_len: len };
    // SAFETY: the vector names bytes of a slot that is lent to this request.
    unsafe { syscall(libc::SYS_vmsplice, [end as usize, &raw const vector as usize, 1, flags, 0, 0]) }
}
