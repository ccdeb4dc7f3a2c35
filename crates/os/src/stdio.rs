//! Standard output: whether the process was given one, and writing to one whose reader is slow.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};

use crate::clock::timespec;

/// Set before `main` if descriptor 1 was closed then.
static CLOSED_AT_START: AtomicBool = AtomicBool::new(false);

/// Most bytes that a pipe which is ready takes without blocking.
pub const READY_BYTES: usize = libc::PIPE_BUF;

/// Whether the process was started without a standard output (`>&-`). The runtime opens `/dev/null` in its place before
/// `main`, so that everything printed would get lost in silence.
pub fn stdout_was_closed() -> bool {
    CLOSED_AT_START.load(Ordering::Relaxed)
}

/// Waits until standard output takes [`READY_BYTES`] more, at most `timeout_ns`; whether it does. A reader that went
/// away counts as ready: the write then tells.
pub fn stdout_is_ready(timeout_ns: u64) -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    match poll(&mut fds, Some(&timespec(timeout_ns))) {
        Ok(ready) => ready > 0,
        // A signal, which the caller looks for.
        Err(rustix::io::Errno::INTR) => false,
        Err(_) => true,
    }
}

extern "C" fn look_at_stdout() {
    // SAFETY: F_GETFD takes no argument and touches no memory; a closed descriptor is an error, nothing else.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    CLOSED_AT_START.store(closed, Ordering::Relaxed);
}

/// Run by the loader before the runtime repairs the standard descriptors, which is before `main`.
#[used]
// SAFETY: the section holds pointers to functions without arguments that the loader calls once; this one needs nothing
// of the runtime: it makes a system call and stores to a static.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;
