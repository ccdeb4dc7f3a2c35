//! The signals that end a run, recorded for the thread that coordinates it.
//!
//! A handler may do very little: it counts, writes one byte into a pipe, and on a second SIGINT ends the process.
//! Everything else happens in the coordinator (the main thread), which waits in [`Signals::wait_until_ns`]. Worker
//! threads call [`block_in_this_thread`], so that the kernel hands these signals to the coordinator.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};

use crate::clock::{monotonic_ns, timespec};

/// The signals that end a run.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// The exit code of a process that its handler ended.
const HANDLER_EXIT: i32 = 128;

/// The first signal received; 0 for none yet.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// All signals received.
static RECEIVED: AtomicU32 = AtomicU32::new(0);
/// The SIGINTs among them.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
/// The signals that [`Signals::wait_until_ns`] has told of.
static TOLD: AtomicU32 = AtomicU32::new(0);
/// Whether the next signal ends the process; see [`Signals::end_at_once`].
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// Whether SIGUSR1 asked for a report.
static STATUS_ASKED: AtomicBool = AtomicBool::new(false);
/// The pipe's end that the handler writes to.
static WAKE_FD: AtomicI32 = AtomicI32::new(-1);

/// The installed handlers; one set per process, however often [`Signals::install`] is called.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    pipe: &'static (PipeReader, PipeWriter),
}

/// Why [`Signals::wait_until_ns`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A signal arrived that no earlier wait has told of; [`Signals::pending`] names the first.
    Signal,
    /// Another thread called [`Signals::notify`].
    Notified,
    /// The deadline is reached.
    Deadline,
}

impl Signals {
    /// Takes over SIGINT, SIGTERM, SIGHUP and SIGUSR1, ignores SIGPIPE and SIGXFSZ, so that a write to a closed pipe or
    /// beyond the limit of file sizes is an error and not the end, and leaves all others alone. A SIGHUP that is
    /// ignored already (`nohup`) stays so. Where the parent blocked them, they are heard from now on.
    ///
    /// From now on a second SIGINT ends the process at once with exit code 128, without any clean-up.
    ///
    /// # Errors
    /// When no pipe can be made: too many open files.
    pub fn install() -> io::Result<Signals> {
        static PIPE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();
        if let Some(pipe) = PIPE.get() {
            return Ok(Signals { pipe });
        }
        let (reader, writer) = io::pipe()?;
        // A full pipe already wakes; a handler must never block on it.
        fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        let pipe = PIPE.get_or_init(|| (reader, writer));
        WAKE_FD.store(pipe.1.as_raw_fd(), Ordering::SeqCst);
        for signal in ENDING {
            if signal != libc::SIGHUP || !is_ignored(signal) {
                handle(signal, record, libc::SA_RESTART);
            }
        }
        handle(libc::SIGUSR1, ask_for_status, libc::SA_RESTART);
        // SAFETY: SIG_IGN is a valid disposition of both.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        set_blocked(&ENDING, false);
        Ok(Signals { pipe })
    }

    /// The first of SIGINT, SIGTERM and SIGHUP that arrived since the start.
    pub fn pending(&self) -> Option<i32> {
        pending()
    }

    /// From now on each of them ends the process with exit code 128, without any clean-up: everything is written, and
    /// a signal that comes before the process is gone must still be seen in its exit code.
    pub fn end_at_once(&self) {
        AT_ONCE.store(true, Ordering::SeqCst);
    }

    /// How many of them arrived since the start.
    pub fn received(&self) -> u32 {
        RECEIVED.load(Ordering::SeqCst)
    }

    /// Ends the wait of the coordinator, or its next one if it is not waiting; several calls may end only one.
    pub fn notify(&self) {
        // Only a full pipe refuses the byte, and that wakes too.
        let _ = rustix::io::write(&self.pipe.1, &[0]);
    }

    /// Waits for a signal, a [`Signals::notify`], or until [`monotonic_ns`] reaches `deadline_ns` (`u64::MAX`: as long
    /// as it takes). For one thread at a time: the coordinator.
    pub fn wait_until_ns(&self, deadline_ns: u64) -> Woken {
        loop {
            let left_ns = deadline_ns.saturating_sub(monotonic_ns());
            let mut fds = [PollFd::new(&self.pipe.0, PollFlags::IN)];
            // A day at a time keeps every system's limits on the length of a wait away.
            let answer = poll(&mut fds, Some(&timespec(left_ns.min(86_400_000_000_000))));
            let woken = answer.is_ok_and(|ready| ready > 0) && self.drain();
            let received = RECEIVED.load(Ordering::SeqCst);
            if TOLD.swap(received, Ordering::SeqCst) != received {
                return Woken::Signal;
            }
            if woken {
                return Woken::Notified;
            }
            if monotonic_ns() >= deadline_ns {
                return Woken::Deadline;
            }
        }
    }

    /// Empties the pipe; whether a notification was in it.
    fn drain(&self) -> bool {
        let mut bytes = [0u8; 64];
        let mut notified = false;
        while let Ok(read @ 1..) = rustix::io::read(&self.pipe.0, &mut bytes) {
            notified |= bytes[..read].contains(&0);
        }
        notified
    }
}

/// A program of this command can be told to end: what this thread blocks is not blocked in it.
pub fn leave_unblocked(command: &mut std::process::Command) {
    let unblock = || {
        set_blocked(&ENDING, false);
        set_blocked(&[libc::SIGUSR1], false);
        Ok(())
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, unblock) };
}

/// Ends a process that leads a group of its own, and all of that group (SIGKILL); those that are gone are no fault.
pub fn kill_group(leader: u32) {
    signal_group(leader, rustix::process::Signal::KILL);
}

/// Asks a process that leads a group of its own, and all of that group, to end (SIGTERM); those that are gone are no
/// fault.
pub fn terminate_group(leader: u32) {
    signal_group(leader, rustix::process::Signal::TERM);
}

fn signal_group(leader: u32, signal: rustix::process::Signal) {
    let leader = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(leader) = leader {
        let _ = rustix::process::kill_process_group(leader, signal);
    }
}

/// As [`Signals::pending`], for those who wait for something else.
pub fn pending() -> Option<i32> {
    Some(FIRST.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// Keeps SIGINT, SIGTERM and SIGHUP from the calling thread and from those it will start: the workers' first act.
pub fn block_in_this_thread() {
    set_blocked(&ENDING, true);
    set_blocked(&[libc::SIGUSR1], true);
}

/// Blocks or unblocks signals in the calling thread.
pub(crate) fn set_blocked(signals: &[i32], blocked: bool) {
    // SAFETY: `sigset_t` is plain integers and is set up by sigemptyset before use; the signals are valid numbers, the
    // set is valid and exclusively borrowed, and the old mask is not asked for. It cannot fail then.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        let how = if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        libc::pthread_sigmask(how, &set, std::ptr::null_mut());
    }
}

/// Installs an async-signal-safe handler.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: `sigaction` is plain data, for which zero is valid; the handler has the signature of one without
    // SA_SIGINFO and touches atomics and async-signal-safe calls only. It cannot fail for a signal that can be caught.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = flags;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Whether a signal is ignored now.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: `sigaction` is plain data; without a new action the call only fills it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// The handler: atomics, `write` and `_exit` only, and `errno` is as it was afterwards.
extern "C" fn record(signal: libc::c_int) {
    let second = signal == libc::SIGINT && INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0;
    if second || AT_ONCE.load(Ordering::SeqCst) {
        crate::terminal::give_back();
        // SAFETY: async-signal-safe, does not return.
        unsafe { libc::_exit(HANDLER_EXIT) };
    }
    let _ = FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    RECEIVED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: write is async-signal-safe; the descriptor is the pipe's, which is never closed. The byte 1 tells a
    // signal from a notification. errno belongs to the interrupted code and is put back.
    unsafe { wake(1) }
}

/// Writes a byte into the pipe.
///
/// # Safety
/// For signal handlers: `write` is async-signal-safe, and `errno` is put back.
unsafe fn wake(byte: u8) {
    // SAFETY: the descriptor is the pipe's, which is never closed; the byte lives through the call.
    unsafe {
        let errno = errno_location();
        let kept = *errno;
        libc::write(WAKE_FD.load(Ordering::SeqCst), [byte].as_ptr().cast(), 1);
        *errno = kept;
    }
}

/// The handler of SIGUSR1: wakes the coordinator as a notification does.
extern "C" fn ask_for_status(_signal: libc::c_int) {
    STATUS_ASKED.store(true, Ordering::SeqCst);
    // SAFETY: this is a handler.
    unsafe { wake(0) }
}

/// Whether SIGUSR1 has asked for a report since the last call.
pub fn take_status_request() -> bool {
    STATUS_ASKED.swap(false, Ordering::SeqCst)
}

/// Does what a handler does, and puts `errno` back, which belongs to the interrupted code.
pub(crate) fn keeping_errno(act: impl FnOnce()) {
    let place = errno_location();
    // SAFETY: the address is valid as long as the thread.
    let kept = unsafe { *place };
    act();
    // SAFETY: as above.
    unsafe { *place = kept };
}

/// Where the C library keeps the calling thread's `errno`.
fn errno_location() -> *mut libc::c_int {
    // SAFETY: no arguments; the address is valid as long as the thread.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::__errno_location()
    }
    // SAFETY: as above.
    #[cfg(target_os = "macos")]
    unsafe {
        libc::__error()
    }
}
