//! `nbd`: a network block device, by a client of our own: no kernel device, no library.
//!
//! Each worker has a connection. Requests go down as they are submitted, as many in a call as there are; replies come
//! in whatever order the server gives them, and carry the slot as their cookie. A connection that breaks ends every
//! request in flight with its error, and those that follow at once.

mod address;
mod link;
mod wire;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iostrata_spec::EngineOptions;

use self::address::Address;
use self::link::Link;
use self::wire::{Export, READ_ONLY, Refusal, SEND_FLUSH, SEND_TRIM};
use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, Stuck,
};
use crate::arena::SlotArena;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "nbd",
    caps: Caps { diskless: true, remote: true, extends: false, descriptors: 1, ..Caps::ASYNCHRONOUS },
    doc: "a network block device, over TCP or a Unix socket",
    availability: || Availability::Here,
    make: |config: &EngineConfig| {
        Ok(Instance::Async(Box::new(Nbd { options: config.options.clone(), attached: None })))
    },
};

/// Connects and agrees on the export.
fn connect(options: &EngineOptions) -> Result<(OwnedFd, Export, Address), EngineError> {
    let uri = options.uri.as_deref().ok_or_else(|| {
        EngineError::Unsupported(
            "which export? Give uri=nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH".into(),
        )
    })?;
    let address = Address::parse(uri).map_err(|why| EngineError::Unsupported(format!("uri={uri}: {why}")))?;
    let broken = |error: &std::io::Error| {
        // What the errno says is said with it.
        let why = if error.raw_os_error().is_none() { format!(": {error}") } else { String::new() };
        let errno = error.raw_os_error().unwrap_or(libc::ECONNRESET);
        EngineError::Failed { text: format!("{} cannot be reached{why}", address.shown()), errno }
    };
    let mut stream = File::from(address.connect().map_err(|error| broken(&error))?);
    match wire::agree(&mut stream, &address.export) {
        Ok(export) => Ok((stream.into(), export, address)),
        Err(Refusal::Broken(error)) => Err(broken(&error)),
        Err(Refusal::Said(why)) => Err(EngineError::Unsupported(format!("{}: {why}", address.shown()))),
    }
}

struct Nbd {
    options: EngineOptions,
    attached: Option<Attached>,
}

struct Attached {
    link: Link,
    export: Export,
}

impl Engine for Nbd {
    fn target_bytes(&mut self) -> Result<u64, EngineError> {
        let (stream, export, _) = connect(&self.options)?;
        wire::leave(&mut File::from(stream));
        Ok(export.bytes)
    }

    fn attach(&mut self, _: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        let (stream, export, address) = connect(&self.options)?;
        let mut notes = Vec::new();
        if export.flags & SEND_FLUSH == 0 {
            notes.push("the server knows no flush: syncs are answered at once and write nothing back".into());
        }
        let link = Link::new(stream, slots, depth)
            .map_err(|error| EngineError::System { call: "fcntl", errno: error.raw_os_error().unwrap_or(libc::EIO) })?;
        self.attached = Some(Attached { link, export });
        Ok(Granted { depth, used: vec![format!("connection to {}", address.shown())], notes })
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        let Some(Attached { link, export }) = &mut self.attached else { return Ok(0) };
        for io in ios {
            match request_of(io, export) {
                Ok((kind, bytes)) => link.queue(io, kind, bytes),
                Err(result) => done.push(Completion { slot: io.slot, result }),
            }
        }
        link.send(done);
        Ok(ios.len())
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        self.attached.as_mut().map_or(Ok(()), |attached| attached.link.reap(min, until, done))
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.attached.as_mut().map_or_else(Stuck::default, |attached| attached.link.quiesce(until, done))
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        if let Some(attached) = &mut self.attached {
            attached.link.leave();
        }
    }
}

/// The request that carries out an I/O, and its length; or the I/O's result where none is made.
fn request_of(io: &Io, export: &Export) -> Result<(u16, u32), i32> {
    let has = |flag: u16| export.flags & flag != 0;
    let limit_bytes = export.limit_bytes - export.limit_bytes % export.block_bytes;
    match io.op {
        // What is longer comes back short, and the rest follows.
        Op::Read => Ok((wire::READ, io.len.min(limit_bytes))),
        Op::Write | Op::Trim if has(READ_ONLY) => Err(-libc::EROFS),
        Op::Write => Ok((wire::WRITE, io.len.min(limit_bytes))),
        Op::Trim if has(SEND_TRIM) => Ok((wire::TRIM, io.len)),
        Op::Trim => Err(-libc::EOPNOTSUPP),
        Op::Sync | Op::DataSync if has(SEND_FLUSH) => Ok((wire::FLUSH, 0)),
        Op::Sync | Op::DataSync => Err(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_cannot_do_is_not_asked_of_it() {
        let export = |flags| Export { bytes: 1 << 20, flags, block_bytes: 512, limit_bytes: 10_000 };
        let io = |op| Io { len: 65_536, ..Io::of(op) };
        let all = export(SEND_FLUSH | SEND_TRIM);
        assert_eq!(request_of(&io(Op::Read), &all), Ok((wire::READ, 9_728)), "whole blocks within the limit");
        assert_eq!(request_of(&io(Op::Trim), &all), Ok((wire::TRIM, 65_536)));
        assert_eq!(request_of(&io(Op::DataSync), &all), Ok((wire::FLUSH, 0)));
        assert_eq!(request_of(&io(Op::Sync), &export(0)), Err(0));
        assert_eq!(request_of(&io(Op::Trim), &export(0)), Err(-libc::EOPNOTSUPP));
        assert_eq!(request_of(&io(Op::Write), &export(READ_ONLY)), Err(-libc::EROFS));
    }
}
