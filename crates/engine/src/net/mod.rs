//! `net` and `netsplice`: from socket to socket. A write sends, a read receives; fio can be the other side of either.
//!
//! Each worker has a link of its own, which is open before the run begins. Whoever writes says at its end that this was
//! all, and that ends the reader's job, in order.

mod address;
mod link;
#[cfg(target_os = "linux")]
mod splice;

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use iostrata_spec::{NetOptions, NetProtocol};

use self::address::group;
use self::link::{CLOSE, Link, OPEN, says_end};
use crate::api::{
    Availability, Caps, ENDED, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking;

const CAPS: Caps = Caps { diskless: true, stream: true, descriptors: 3, ..Caps::SYNCHRONOUS };

/// The registry's row.
pub(crate) const NET: EngineSpec = EngineSpec {
    name: "net",
    caps: CAPS,
    doc: "from socket to socket: a write sends, a read receives",
    availability: || Availability::Here,
    make: |config: &EngineConfig| Net::new(config).map(|net| Instance::Sync(Box::new(net))),
};

/// The registry's row.
#[cfg(target_os = "linux")]
pub(crate) const NETSPLICE: EngineSpec = EngineSpec {
    name: "netsplice",
    caps: Caps { descriptors: 5, ..CAPS },
    doc: "from socket to socket by splice and vmsplice",
    availability: || Availability::Here,
    make: |config: &EngineConfig| {
        if config.options.net.protocol.is_udp() {
            let text = "a pipe holds no datagrams: give protocol=tcp, or ioengine=net";
            return Err(EngineError::lacking(text));
        }
        Net::new(config).map(|net| Instance::Sync(Box::new(Net { pipe: Some(splice::Pipe::new), ..net })))
    },
};

/// A job's place among the two sides.
struct Place<'a> {
    options: &'a NetOptions,
    /// The job reads.
    reads: bool,
    /// Clone, from 0: each has a port of its own.
    clone: u32,
    /// The file's name, which is that of a Unix socket.
    name: &'a [u8],
}

impl Place<'_> {
    /// Whether the other side comes to this one.
    fn waits(&self) -> bool {
        match self.options.protocol {
            NetProtocol::Tcp | NetProtocol::TcpV6 | NetProtocol::Vsock => self.options.listen,
            NetProtocol::Udp | NetProtocol::UdpV6 | NetProtocol::Unix => self.reads,
        }
    }

    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.name))
    }

    fn port(&self) -> Result<u16, EngineError> {
        let first =
            self.options.port.ok_or_else(|| EngineError::lacking("port= is missing: the port of the listener"))?;
        (first + self.clone).try_into().map_err(|_| {
            EngineError::lacking("each clone has a port of its own, and they do not end before 65536: lower port=")
        })
    }

    fn host(&self) -> Result<&str, EngineError> {
        let text = "hostname= is missing: where the listener is; or give listen=1, to be the listener";
        self.options.host.as_deref().ok_or_else(|| EngineError::lacking(text))
    }

    /// The address of the interface for a group.
    fn interface(&self) -> Result<Option<Ipv4Addr>, EngineError> {
        let parse = |text: &String| {
            let wanted =
                || EngineError::lacking("interface= is the IPv4 address of an interface, as ip -4 address shows it");
            text.parse().map_err(|_| wanted())
        };
        self.options.interface.as_ref().map(parse).transpose()
    }

    /// What makes no sense.
    fn check(&self) -> Result<(), EngineError> {
        let options = self.options;
        let waits_for_all = self.waits() && options.protocol != NetProtocol::Unix;
        if options.listen && matches!(options.protocol, NetProtocol::Udp | NetProtocol::UdpV6 | NetProtocol::Unix) {
            return Err(EngineError::lacking("listen= is for tcp and vsock: else the job that reads is the listener"));
        }
        if waits_for_all && options.host.is_some() && group(options.host.as_deref()).is_none() {
            let text = "hostname= is for the side that connects, or the address of a group: leave it out";
            return Err(EngineError::lacking(text));
        }
        Ok(())
    }
}

struct Net {
    config: EngineConfig,
    attached: Option<Attached>,
    /// Makes the pipe that data goes through, for `netsplice`.
    #[cfg(target_os = "linux")]
    pipe: Option<fn() -> Result<splice::Pipe, EngineError>>,
}

struct Attached {
    link: Link,
    slots: Arc<SlotArena>,
    #[cfg(target_os = "linux")]
    pipe: Option<splice::Pipe>,
    /// There is an answer to each message.
    answers: bool,
    /// What comes back to the sender is not looked at.
    scratch: Box<[u8]>,
    /// Bytes of the current request and of its answer that have moved, where there are answers.
    moved: usize,
    /// It has sent, and says when that was all.
    sends: bool,
}

impl Net {
    fn new(config: &EngineConfig) -> Result<Net, EngineError> {
        let net = Net {
            config: config.clone(),
            attached: None,
            #[cfg(target_os = "linux")]
            pipe: None,
        };
        net.place().check()?;
        Ok(net)
    }

    fn place(&self) -> Place<'_> {
        Place {
            options: &self.config.options.net,
            reads: self.config.job.reads,
            clone: self.config.job.clone,
            name: self.config.names.first().map_or(&[], |name| name.as_bytes()),
        }
    }
}

impl SyncOp for Net {
    fn attach(&mut self, _: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        #[cfg(target_os = "linux")]
        let pipe = self.pipe.map(|make| make()).transpose()?;
        let link = link::open(&self.place())?;
        let (answers, sends) = (self.config.options.net.ping_pong, !self.config.job.reads);
        let scratch = vec![0; if answers && sends { slots.slot_bytes() } else { 0 }].into();
        self.attached = Some(Attached {
            link,
            slots,
            #[cfg(target_os = "linux")]
            pipe,
            answers,
            scratch,
            moved: 0,
            sends,
        });
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let Some(attached) = &mut self.attached else { return -libc::EBADF };
        let slots = Arc::clone(&attached.slots);
        let start = blocking::buffer(&slots, io);
        slots.lend(io.slot);
        let result = match io.op {
            Op::Read if attached.answers => attached.answered(start, io.len as usize),
            Op::Write if attached.answers => attached.asked(start, io.len as usize),
            Op::Read => attached.receive(start, io.len as usize),
            Op::Write => attached.send(start, io.len as usize),
            // What is sent is sent.
            Op::Sync | Op::DataSync => 0,
            Op::Trim => -libc::EOPNOTSUPP,
        };
        slots.give_back(io.slot);
        result
    }
}

impl Attached {
    /// Bytes sent, or `-errno`.
    fn send(&mut self, from: *const u8, len: usize) -> i32 {
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &mut self.pipe {
            return pipe.send(&self.link.socket, from, len);
        }
        match self.link.send(from, len) {
            sent @ 0.. => sent as i32,
            _ => -link::errno(),
        }
    }

    /// Bytes received, [`ENDED`], or `-errno`.
    fn receive(&mut self, to: *mut u8, len: usize) -> i32 {
        loop {
            let got = self.receive_some(to, len);
            if got < 0 {
                return got;
            }
            let got = got as usize;
            let said = got.min(CLOSE.len());
            // SAFETY: so many bytes have just been put there.
            let last = unsafe { std::slice::from_raw_parts(to.add(got - said), said) };
            if self.link.datagrams {
                match last {
                    last if got == said && says_end(last) => return ENDED,
                    last if got == said && last == OPEN => {}
                    _ => return got as i32,
                }
            } else if got == 0 {
                return ENDED;
            } else if says_end(last) && self.link.is_at_end() {
                return if got == said { ENDED } else { (got - said) as i32 };
            } else {
                return got as i32;
            }
        }
    }

    fn receive_some(&mut self, to: *mut u8, len: usize) -> i32 {
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &mut self.pipe {
            return pipe.receive(&self.link.socket, to, len);
        }
        match self.link.receive(to, len) {
            got @ 0.. => got as i32,
            _ => -link::errno(),
        }
    }

    /// Sends a message and waits for its answer, of the same size. After a signal it goes on where it was.
    fn asked(&mut self, from: *const u8, len: usize) -> i32 {
        while self.moved < 2 * len {
            let (moved, answer) = (self.moved, self.scratch.as_mut_ptr());
            // The scratch is as large as a slot.
            let result = match moved.checked_sub(len) {
                None => self.send(from.wrapping_add(moved), len - moved),
                Some(came) => self.receive(answer.wrapping_add(came), len - came),
            };
            match result {
                ENDED | 0 => return -libc::ECONNRESET,
                0.. => self.moved += result as usize,
                _ => return result,
            }
        }
        self.moved = 0;
        len as i32
    }

    /// Waits for a message and sends it back. After a signal it goes on where it was.
    fn answered(&mut self, to: *mut u8, len: usize) -> i32 {
        while self.moved < 2 * len {
            let moved = self.moved;
            let result = match moved.checked_sub(len) {
                None => self.receive(to.wrapping_add(moved), len - moved),
                Some(went) => self.send(to.wrapping_add(went), len - went),
            };
            match result {
                0.. => self.moved += result as usize,
                _ => return result,
            }
        }
        self.moved = 0;
        len as i32
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.sends {
            self.link.say_end();
        }
    }
}
