//! `e4defrag`: blocks of an ext4 file change places with those of a donor, as in the program of this name. Each write
//! is one `EXT4_IOC_MOVE_EXT`; the file's data stay what they are.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use iostrata_os::file::{self, Kind};
use iostrata_os::io::syscall;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::{self, whole};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "e4defrag",
    caps: Caps { moves_data: false, only_writes: true, extends: false, descriptors: 1, ..Caps::SYNCHRONOUS },
    doc: "EXT4_IOC_MOVE_EXT: a write gives its part of the file the blocks of donorname",
    availability: || Availability::Here,
    make,
};

/// `EXT4_IOC_MOVE_EXT` of the kernel's fs/ext4/ext4.h.
const MOVE_EXTENTS: usize = 0xc028_660f;

/// `struct move_extent` of the same file; all but the descriptor in blocks of the file system.
#[repr(C)]
struct MoveExtents {
    reserved: u32,
    donor: u32,
    from: u64,
    donor_from: u64,
    count: u64,
    moved: u64,
}

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let Some(donor) = config.donor.clone() else {
        let text =
            "donorname= is missing: it names the file whose blocks are taken, on the same ext4 as the job's files";
        return Err(EngineError::lacking(text));
    };
    let in_place = config.options.in_place;
    Ok(Instance::Sync(Box::new(Defrag { donor, in_place, files: FileTable::default(), block_bytes: 0 })))
}

struct Defrag {
    donor: Arc<OwnedFd>,
    /// The donor gets its blocks for each I/O, and loses those that it has got in exchange.
    in_place: bool,
    files: FileTable,
    /// Of the file system.
    block_bytes: u64,
}

impl SyncOp for Defrag {
    fn attach(&mut self, files: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        let donor = self.donor.as_fd();
        let on = file::facts(donor).map_err(system("statx"))?;
        let mut longest_bytes = 0;
        for fd in files.descriptors().filter(|fd| *fd >= 0) {
            // SAFETY: the worker keeps its files open at least until this call returns.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let facts = file::facts(fd).map_err(system("statx"))?;
            let name = file::file_system_name(fd).map_err(system("fstatfs"))?;
            if name != "ext4" || facts.kind != Kind::Regular {
                let text = format!("it moves extents of files on ext4, and these are on {name}");
                return Err(EngineError::Unsupported(text));
            }
            if on.kind != Kind::Regular || on.device != facts.device {
                let text = "donorname= must be a regular file on the same file system as the job's files";
                return Err(EngineError::Unsupported(text.into()));
            }
            longest_bytes = facts.size_bytes.max(longest_bytes);
        }
        self.block_bytes = file::block_bytes(donor).map_err(system("fstatvfs"))?.max(1);
        if !self.in_place && longest_bytes > 0 {
            file::fallocate(donor, false, 0, longest_bytes).map_err(system("fallocate of donorname"))?;
        }
        self.files = files.clone();
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let fd = blocking::descriptor(&self.files, io.file);
        match io.op {
            Op::Write => self.exchange(fd, io),
            Op::Read | Op::Trim => -libc::EINVAL,
            Op::Sync | Op::DataSync => blocking::without_data(fd, io, self.files.trim),
        }
    }
}

impl Defrag {
    fn exchange(&self, fd: RawFd, io: &Io) -> i32 {
        let donor = self.donor.as_fd();
        if self.in_place
            && let Err(error) = file::fallocate(donor, false, io.offset, io.len.into())
        {
            return -errno_of(&error);
        }
        // Blocks that the request covers in part move as a whole.
        let first = io.offset / self.block_bytes;
        let count = (io.offset + u64::from(io.len)).div_ceil(self.block_bytes) - first;
        let mut extents = MoveExtents {
            reserved: 0,
            donor: donor.as_raw_fd() as u32,
            from: first,
            donor_from: first,
            count,
            moved: 0,
        };
        let argument = &raw mut extents as usize;
        // SAFETY: a descriptor, the command, and its structure, which lives until the call returns.
        let result = unsafe { syscall(libc::SYS_ioctl, [fd as usize, MOVE_EXTENTS, argument, 0, 0, 0]) };
        if self.in_place
            && let Err(error) = file::truncate(donor, 0)
        {
            return -errno_of(&error);
        }
        match result {
            0 if extents.moved >= count => whole(io.len),
            // Nothing that a second call would change.
            0 => -libc::EIO,
            error => error as i32,
        }
    }
}

fn errno_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

fn system(call: &'static str) -> impl Fn(std::io::Error) -> EngineError {
    move |error| EngineError::System { call, errno: errno_of(&error) }
}
