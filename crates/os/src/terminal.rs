//! The terminal that standard output may be.

use std::io::IsTerminal;

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// The width of the terminal that standard output is, in columns; `None` if it is none or does not know its width.
pub fn stdout_columns() -> Option<u16> {
    columns(std::io::stdout())
}

fn columns(fd: impl std::os::fd::AsFd) -> Option<u16> {
    rustix::termios::tcgetwinsize(fd).ok().map(|size| size.ws_col).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_no_width() {
        let (reader, _writer) = std::io::pipe().unwrap();
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
