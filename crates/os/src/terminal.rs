//! The terminal that standard output may be.

use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::signals::{handle, keeping_errno};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The other screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// The cursor, plain colours, and the screen from before.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal's settings before it was taken over.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Its settings while it is taken over.
static QUIET: OnceLock<Termios> = OnceLock::new();
/// Whether it is taken over now.
static FULL: AtomicBool = AtomicBool::new(false);
/// Whether it was given back for a pause and taken over again: nothing is on it then.
static EMPTY: AtomicBool = AtomicBool::new(false);

/// What ends a process that does not handle it, by a key (Ctrl-\), another process or its own hand.
const DEADLY: [i32; 7] =
    [libc::SIGQUIT, libc::SIGABRT, libc::SIGALRM, libc::SIGUSR2, libc::SIGXCPU, libc::SIGILL, libc::SIGFPE];

/// Faults. Others handle them too: the runtime tells an overflow of the stack by SIGSEGV, mappings of files may meet
/// SIGBUS.
const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// What handled each of them before.
static HANDLED_BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// The whole terminal is a picture while this lives; then it is as it was before.
///
/// Keys are not echoed, but Ctrl-C and its like still send their signals. While the process is stopped (Ctrl-Z), and
/// when a signal ends it that can be caught, the terminal is as it was too.
#[derive(Debug)]
pub struct FullScreen(());

impl FullScreen {
    /// Takes over the terminal that standard output is.
    ///
    /// # Errors
    /// It is none.
    pub fn enter() -> io::Result<FullScreen> {
        let stdout = io::stdout();
        let before = tcgetattr(&stdout)?;
        let mut quiet = BEFORE.get_or_init(|| before).clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        tcsetattr(&stdout, OptionalActions::Now, QUIET.get_or_init(|| quiet))?;
        DEADLY.iter().for_each(|&signal| handle(signal, last_act, libc::SA_RESETHAND));
        handle(libc::SIGTSTP, pause, libc::SA_RESTART);
        HANDLED_BEFORE.get_or_init(|| FAULTS.map(handle_fault));
        FULL.store(true, Ordering::SeqCst);
        let screen = FullScreen(());
        let mut stdout = stdout.lock();
        stdout.write_all(ENTER)?;
        stdout.flush()?;
        Ok(screen)
    }

    /// Whether it still is: a panic or a second interrupt may have given it back.
    pub fn is_there(&self) -> bool {
        FULL.load(Ordering::SeqCst)
    }

    /// Whether it was emptied since the last call, by a stop of the process.
    pub fn was_emptied(&self) -> bool {
        EMPTY.swap(false, Ordering::SeqCst)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back if it is taken over. For handlers of signals too: it makes two system calls and takes no
/// lock.
pub fn give_back() {
    if FULL.swap(false, Ordering::SeqCst) {
        // SAFETY: standard output stays open as long as the process lives.
        let stdout = unsafe { BorrowedFd::borrow_raw(libc::STDOUT_FILENO) };
        let _ = rustix::io::write(stdout, LEAVE);
        if let Some(before) = BEFORE.get() {
            let _ = tcsetattr(stdout, OptionalActions::Now, before);
        }
    }
}

/// Handler of what ends the process: the terminal first. Its disposition is the default again.
extern "C" fn last_act(signal: libc::c_int) {
    give_back();
    // SAFETY: async-signal-safe; it takes effect when the handler returns, as the signal is blocked until then.
    unsafe { libc::raise(signal) };
}

/// Puts [`last_fault`] before the handler of a fault, which is returned.
fn handle_fault(signal: i32) -> libc::sigaction {
    // SAFETY: `sigaction` is plain data, for which zero is valid; the handler has the signature of one with SA_SIGINFO,
    // and touches atomics and async-signal-safe calls only. It cannot fail for a signal that can be caught.
    unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        action.sa_sigaction = last_fault as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, &mut before);
        before
    }
}

/// Handler of a fault: the terminal first, then whoever handled it before. What faults does so again as soon as this
/// returns; what another process sent does not come by itself.
extern "C" fn last_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    give_back();
    let before = FAULTS.iter().position(|&fault| fault == signal).and_then(|at| Some(&HANDLED_BEFORE.get()?[at]));
    // SAFETY: the kernel hands a valid siginfo to a handler with SA_SIGINFO; the calls are async-signal-safe, and the
    // action is one that was in force.
    unsafe {
        match before {
            Some(before) if (*info).si_code > 0 => _ = libc::sigaction(signal, before, std::ptr::null_mut()),
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}

/// Handler of Ctrl-Z: stops the process with the terminal as it was, and takes it over when the process goes on.
extern "C" fn pause(_signal: libc::c_int) {
    keeping_errno(|| {
        let taken = FULL.load(Ordering::SeqCst);
        give_back();
        // SAFETY: async-signal-safe, and valid for the process itself. It returns when the process goes on.
        unsafe { libc::raise(libc::SIGSTOP) };
        if taken {
            take_again();
        }
    });
}

/// Two system calls and no lock, as [`give_back`]. In the background they stop the process again, until the terminal is
/// its own.
fn take_again() {
    let Some(quiet) = QUIET.get() else { return };
    // SAFETY: standard output stays open as long as the process lives.
    let stdout = unsafe { BorrowedFd::borrow_raw(libc::STDOUT_FILENO) };
    let _ = tcsetattr(stdout, OptionalActions::Now, quiet);
    let _ = rustix::io::write(stdout, ENTER);
    EMPTY.store(true, Ordering::SeqCst);
    FULL.store(true, Ordering::SeqCst);
}

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The width of the terminal that standard output is, in columns; `None` if it is none or does not know its width.
pub fn stdout_columns() -> Option<u16> {
    columns(io::stdout())
}

fn columns(fd: impl std::os::fd::AsFd) -> Option<u16> {
    rustix::termios::tcgetwinsize(fd).ok().map(|size| size.ws_col).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_no_width() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(columns(reader), None);
    }

    #[test]
    fn a_pseudo_terminal_tells_the_width_it_was_given() {
        let (mut controller, mut terminal) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: two valid places for descriptors; no name, settings or size.
        assert_eq!(unsafe { libc::openpty(&mut controller, &mut terminal, null, null.cast(), null.cast()) }, 0);
        // SAFETY: new descriptors that nobody else owns.
        let (_controller, terminal) = unsafe {
            use std::os::fd::{FromRawFd, OwnedFd};
            (OwnedFd::from_raw_fd(controller), OwnedFd::from_raw_fd(terminal))
        };
        assert_eq!(columns(&terminal), None, "a fresh one has no size yet");
        let size = rustix::termios::Winsize { ws_row: 50, ws_col: 132, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&terminal, size).unwrap();
        assert_eq!(columns(&terminal), Some(132));
    }
}
