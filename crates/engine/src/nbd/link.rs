//! A connection with requests in flight: what is still to be sent, and what is being received.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use super::wire::{self, REPLY_BYTES, REQUEST_BYTES};
use crate::api::{Completions, Deadline, EngineError, Io, Op, SlotId, Stuck};
use crate::arena::SlotArena;
use crate::blocking::buffer;
use crate::flight::{Flight, drain, over, remaining};

/// Parts of one call: a head, and for a write its data.
const PARTS: usize = 64;
/// Replies are taken from the socket in pieces of this; longer data goes straight into its slot.
const PIECE_BYTES: usize = 64 << 10;

/// A request in flight.
#[derive(Clone, Copy)]
struct Asked {
    head: [u8; REQUEST_BYTES],
    /// Where its bytes are.
    bytes: *mut u8,
    /// How many are moved.
    len: u32,
    op: Op,
}

/// What comes next from the server.
#[derive(Clone, Copy)]
enum Next {
    /// A reply's head.
    Head,
    /// So many bytes of a read, of which some are there.
    Data { slot: SlotId, have: u32 },
}

pub(super) struct Link {
    stream: OwnedFd,
    flight: Flight,
    asked: Box<[Asked]>,
    /// Slots whose requests are not sent whole yet, in order; a ring.
    unsent: Vec<SlotId>,
    /// Bytes of the first of them that are sent.
    sent_bytes: usize,
    next: Next,
    piece: Box<[u8]>,
    /// What of the piece is received and not used.
    filled: std::ops::Range<usize>,
    /// The connection is broken: with this errno every request ends.
    broken: Option<i32>,
}

impl Link {
    pub(super) fn new(stream: OwnedFd, slots: Arc<SlotArena>, depth: u32) -> io::Result<Link> {
        set_nonblocking(&stream)?;
        let none = Asked { head: [0; REQUEST_BYTES], bytes: std::ptr::null_mut(), len: 0, op: Op::Read };
        Ok(Link {
            stream,
            asked: vec![none; slots.slots() as usize].into(),
            flight: Flight::new(slots),
            unsent: Vec::with_capacity(depth as usize),
            sent_bytes: 0,
            next: Next::Head,
            piece: vec![0; PIECE_BYTES].into(),
            filled: 0..0,
            broken: None,
        })
    }

    /// Takes a request; it goes down with the next [`send`](Link::send).
    pub(super) fn queue(&mut self, io: &Io, kind: u16, len: u32) {
        let bytes = if len > 0 { buffer(self.flight.arena(), io) } else { std::ptr::null_mut() };
        let head = wire::request(kind, io.slot.into(), io.offset, len);
        self.asked[io.slot as usize] = Asked { head, bytes, len, op: io.op };
        self.flight.take(io.slot);
        self.unsent.push(io.slot);
    }

    /// Sends what the socket takes.
    pub(super) fn send(&mut self, done: &mut Completions) {
        while !self.unsent.is_empty() && self.broken.is_none() {
            let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PARTS];
            let count = self.parts(&mut parts);
            // SAFETY: `message` is plain data, for which zero is valid.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = count as _;
            // SAFETY: the parts are heads that stay where they are, and bytes of lent slots; the socket copies them.
            let moved = unsafe { libc::sendmsg(self.stream.as_raw_fd(), &raw const message, NO_SIGNAL) };
            match usize::try_from(moved) {
                Ok(moved) => self.was_sent(moved),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == ErrorKind::WouldBlock => return,
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return self.broke(&error, done),
                },
            }
        }
    }

    /// What is to be sent next, without what was sent of the first; how many parts.
    fn parts(&self, parts: &mut [libc::iovec; PARTS]) -> usize {
        let (mut count, mut skip) = (0, self.sent_bytes);
        for &slot in &self.unsent {
            let asked = &self.asked[slot as usize];
            let data = if asked.op == Op::Write { asked.len as usize } else { 0 };
            for (start, len) in [(asked.head.as_ptr().cast_mut(), REQUEST_BYTES), (asked.bytes, data)] {
                let skipped = skip.min(len);
                skip -= skipped;
                if skipped == len {
                    continue;
                }
                if count == PARTS {
                    return count;
                }
                parts[count] = libc::iovec { iov_base: start.wrapping_add(skipped).cast(), iov_len: len - skipped };
                count += 1;
            }
        }
        count
    }

    fn was_sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes;
        let mut whole = 0;
        for &slot in &self.unsent {
            let asked = &self.asked[slot as usize];
            let length = REQUEST_BYTES + if asked.op == Op::Write { asked.len as usize } else { 0 };
            if self.sent_bytes < length {
                break;
            }
            self.sent_bytes -= length;
            whole += 1;
        }
        self.unsent.drain(..whole);
    }

    pub(super) fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let left = self.flight.count().saturating_sub(min);
        loop {
            self.receive(done);
            self.send(done);
            if self.flight.count() <= left || self.broken.is_some() || over(until) {
                return Ok(());
            }
            if !self.wait(until)? {
                return Ok(());
            }
        }
    }

    /// Waits until the socket has or takes something; false when the time is up or a signal came.
    fn wait(&self, until: Deadline) -> Result<bool, EngineError> {
        let events = libc::POLLIN | if self.unsent.is_empty() { 0 } else { libc::POLLOUT };
        let mut socket = libc::pollfd { fd: self.stream.as_raw_fd(), events, revents: 0 };
        match poll(&mut socket, until) {
            Ok(ready) => Ok(ready),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(EngineError::System { call: "poll", errno: error.raw_os_error().unwrap_or(libc::EIO) }),
        }
    }

    /// Takes what the socket has.
    fn receive(&mut self, done: &mut Completions) {
        while self.broken.is_none() && self.flight.count() > 0 {
            self.digest(done);
            if self.broken.is_some() || !self.more(done) {
                return;
            }
        }
    }

    /// Receives once: into the slot whose data comes, if that is much, else into the piece. False if nothing is there.
    fn more(&mut self, done: &mut Completions) -> bool {
        let direct = match self.next {
            Next::Data { slot, have } if self.filled.is_empty() => {
                let asked = &self.asked[slot as usize];
                let missing = (asked.len - have) as usize;
                (missing >= PIECE_BYTES).then(|| (asked.bytes.wrapping_add(have as usize), missing))
            }
            _ => None,
        };
        if self.filled.start > 0 {
            self.piece.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        let rest = &mut self.piece[self.filled.end..];
        let (place, room) = direct.unwrap_or((rest.as_mut_ptr(), rest.len()));
        // SAFETY: either bytes of a lent slot that are still missing, or the rest of the piece.
        let moved = unsafe { libc::recv(self.stream.as_raw_fd(), place.cast(), room, 0) };
        match usize::try_from(moved) {
            Ok(0) => self.broke(&ErrorKind::ConnectionReset.into(), done),
            Ok(moved) => {
                match (&mut self.next, direct) {
                    (Next::Data { have, .. }, Some(_)) => *have += moved as u32,
                    _ => self.filled.end += moved,
                }
                self.digest(done);
                return true;
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::WouldBlock => {}
                error if error.kind() == ErrorKind::Interrupted => return true,
                error => self.broke(&error, done),
            },
        }
        false
    }

    /// Uses what was received, as far as it goes.
    fn digest(&mut self, done: &mut Completions) {
        loop {
            match self.next {
                Next::Head => {
                    let Some(head) = self.piece[self.filled.clone()].first_chunk::<REPLY_BYTES>() else { return };
                    let Some((error, cookie)) = wire::reply(head) else { return self.is_mad(done) };
                    self.filled.start += REPLY_BYTES;
                    let slot = SlotId::try_from(cookie).unwrap_or(SlotId::MAX);
                    if !self.flight.has(slot) {
                        return self.is_mad(done);
                    }
                    let asked = &self.asked[slot as usize];
                    match (error, asked.op) {
                        (0, Op::Read) => self.next = Next::Data { slot, have: 0 },
                        (0, _) => self.flight.complete(slot, asked.len as i32, done),
                        (error, _) => self.flight.complete(slot, -wire::errno(error), done),
                    }
                }
                Next::Data { slot, have } => {
                    let asked = &self.asked[slot as usize];
                    let taken = self.filled.len().min((asked.len - have) as usize);
                    let source = self.piece[self.filled.clone()].as_ptr();
                    // SAFETY: as many bytes as are received and as the lent slot still misses; they do not overlap.
                    unsafe { source.copy_to_nonoverlapping(asked.bytes.wrapping_add(have as usize), taken) };
                    self.filled.start += taken;
                    let have = have + taken as u32;
                    if have < asked.len {
                        self.next = Next::Data { slot, have };
                        return;
                    }
                    self.flight.complete(slot, asked.len as i32, done);
                    self.next = Next::Head;
                }
            }
        }
    }

    /// The server's words make no sense.
    fn is_mad(&mut self, done: &mut Completions) {
        self.broke(&io::Error::from_raw_os_error(libc::EPROTO), done);
    }

    /// Nothing comes any more: all that is in flight has failed, and all that follows does.
    fn broke(&mut self, error: &io::Error, done: &mut Completions) {
        let errno = match error.raw_os_error() {
            Some(errno) => errno,
            None => libc::ECONNRESET,
        };
        self.broken = Some(errno);
        self.unsent.clear();
        self.fail_all(errno, done);
    }

    fn fail_all(&mut self, errno: i32, done: &mut Completions) {
        for slot in 0..self.asked.len() as SlotId {
            if self.flight.has(slot) {
                self.flight.complete(slot, -errno, done);
            }
        }
    }

    pub(super) fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        // The protocol cannot take a request back.
        drain(until, done, |done| {
            self.reap(u32::MAX, until, done)?;
            Ok(self.flight.count())
        });
        self.flight.stuck()
    }

    /// Says good-bye, if that is possible without waiting.
    pub(super) fn leave(&mut self) {
        if self.broken.is_none() && self.unsent.is_empty() {
            let head = wire::request(wire::DISCONNECT, 0, 0, 0);
            // SAFETY: a live local of this length.
            unsafe { libc::send(self.stream.as_raw_fd(), head.as_ptr().cast(), head.len(), NO_SIGNAL) };
        }
    }
}

/// A peer that is gone is an error of the call, not a signal.
#[cfg(not(target_os = "macos"))]
const NO_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;
#[cfg(target_os = "macos")]
const NO_SIGNAL: libc::c_int = 0;

fn set_nonblocking(stream: &OwnedFd) -> io::Result<()> {
    let fd = stream.as_raw_fd();
    // SAFETY: a descriptor of ours and plain integers.
    let answer = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits for a socket; false when the time is up.
#[cfg(target_os = "linux")]
fn poll(socket: &mut libc::pollfd, until: Deadline) -> io::Result<bool> {
    let timeout = remaining(until);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: one live entry, a live timeout or none, no signal mask.
    match unsafe { libc::ppoll(socket, 1, timeout, std::ptr::null()) } {
        -1 => Err(io::Error::last_os_error()),
        ready => Ok(ready > 0),
    }
}

/// Waits for a socket; false when the time is up.
#[cfg(not(target_os = "linux"))]
fn poll(socket: &mut libc::pollfd, until: Deadline) -> io::Result<bool> {
    let milliseconds = |left: libc::timespec| left.tv_sec.saturating_mul(1000) + (left.tv_nsec + 999_999) / 1_000_000;
    let timeout = remaining(until).map_or(-1, |left| milliseconds(left).min(i32::MAX.into()) as i32);
    // SAFETY: one live entry.
    match unsafe { libc::poll(socket, 1, timeout) } {
        -1 => Err(io::Error::last_os_error()),
        ready => Ok(ready > 0),
    }
}
