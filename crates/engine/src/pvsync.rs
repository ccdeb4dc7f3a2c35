//! `pvsync`: `preadv` and `pwritev` with a vector of one, and `pvsync2`: the same with the kernel's flags for one I/O.

use std::sync::Arc;

use iostrata_os::io::syscall;
use iostrata_spec::EngineOptions;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking;
use crate::transfer_flags::{RWF_HIPRI, TransferFlags};

const CAPS: Caps = Caps::SYNCHRONOUS;

/// The registry's rows.
pub(crate) const PVSYNC: EngineSpec = EngineSpec {
    name: "pvsync",
    caps: CAPS,
    doc: "preadv and pwritev, one at a time",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Sync(Box::new(Pvsync { flags: None, attached: None }))),
};
pub(crate) const PVSYNC2: EngineSpec = EngineSpec {
    name: "pvsync2",
    caps: CAPS,
    doc: "preadv2 and pwritev2, one at a time, with hipri, nowait, uncached",
    availability: || Availability::Here,
    make: |config: &EngineConfig| {
        let flags = Some(Flags::of(&config.options));
        Ok(Instance::Sync(Box::new(Pvsync { flags, attached: None })))
    },
};

/// The flags of each call.
#[derive(Clone, Copy)]
struct Flags {
    /// Those that all I/Os have.
    always: TransferFlags,
    /// I/Os in a hundred that are polled for.
    polled_percent: u32,
    /// What polling is owed so far, in hundredths of an I/O.
    owed: u32,
}

impl Flags {
    fn of(options: &EngineOptions) -> Flags {
        let polled_percent = if options.polled { options.polled_percent } else { 0 };
        Flags { always: TransferFlags::of(options), polled_percent, owed: 0 }
    }

    /// The flags of the next I/O: those that are polled for are spread evenly.
    fn next(&mut self, writes: bool) -> u32 {
        let always = self.always.each(writes);
        self.owed += self.polled_percent;
        if self.owed < 100 {
            return always;
        }
        self.owed -= 100;
        always | RWF_HIPRI
    }
}

struct Pvsync {
    /// Of `pvsync2` alone.
    flags: Option<Flags>,
    attached: Option<(FileTable, Arc<SlotArena>)>,
}

impl SyncOp for Pvsync {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        if self.flags.is_some_and(|flags| flags.polled_percent > 0) && !files.direct {
            return Err(EngineError::Unsupported(
                "hipri=1 polls for completions, which the kernel does for direct I/O only: add direct=1".into(),
            ));
        }
        self.attached = Some((files.clone(), slots));
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let Some((files, slots)) = &self.attached else { return -libc::EBADF };
        let fd = blocking::descriptor(files, io.file);
        let (plain, flagged) = match io.op {
            Op::Read => (libc::SYS_preadv, libc::SYS_preadv2),
            Op::Write => (libc::SYS_pwritev, libc::SYS_pwritev2),
            Op::Trim | Op::Sync | Op::DataSync => return blocking::without_data(fd, io, files.trim),
        };
        let vector = libc::iovec { iov_base: blocking::buffer(slots, io).cast(), iov_len: io.len as usize };
        let next = |flags: &mut Flags| (flagged, flags.next(io.op == Op::Write) as usize);
        let (number, flags) = self.flags.as_mut().map_or((plain, 0), next);
        slots.lend(io.slot);
        // The offset goes in two words, of which the second is the upper half only where words have 32 bits.
        // SAFETY: the vector names bytes of the slot, which is lent to this call and to nobody else.
        let moved =
            unsafe { syscall(number, [fd as usize, &raw const vector as usize, 1, io.offset as usize, 0, flags]) };
        slots.give_back(io.slot);
        moved as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polled_ios_are_spread_evenly_over_all() {
        let options = EngineOptions { polled: true, polled_percent: 25, nowait: true, ..EngineOptions::default() };
        let mut flags = Flags::of(&options);
        let drawn: Vec<u32> = (0..8).map(|_| flags.next(false)).collect();
        assert_eq!(drawn, [8, 8, 8, 9, 8, 8, 8, 9]);
        let mut plain = Flags::of(&EngineOptions { uncached: true, atomic: true, ..EngineOptions::default() });
        assert_eq!((plain.next(false), plain.next(true)), (0x80, 0xc0));
    }
}
