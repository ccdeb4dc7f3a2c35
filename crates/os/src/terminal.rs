//! The terminal that standard output may be.

use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The other screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
/// The cursor, plain colours, and the screen from before.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal's settings before it was taken over.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether it is taken over now.
static FULL: AtomicBool = AtomicBool::new(false);

/// The whole terminal is a picture while this lives; then it is as it was before.
///
/// Keys are not echoed, but Ctrl-C and its like still send their signals.
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
        tcsetattr(&stdout, OptionalActions::Now, &quiet)?;
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
