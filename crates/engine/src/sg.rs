//! `sg`: SCSI commands to a disk by `SG_IO`, past the block layer: to `/dev/sgN`, or to its block device.

use std::os::fd::RawFd;
use std::sync::Arc;

use iostrata_os::io::syscall;
use iostrata_spec::ScsiOptions;

use crate::api::{
    Availability, Caps, Devices, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::{self, whole};
use crate::scsi::{self, Capacity, Command, Data};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "sg",
    caps: Caps { devices: Some(Devices::Scsi), ..Caps::SYNCHRONOUS },
    doc: "SCSI commands by SG_IO, one at a time, to /dev/sgN or the block device of a SCSI disk",
    availability,
    make: |config: &EngineConfig| {
        let flags = if config.options.polled { POLLED } else { 0 };
        let options = config.options.scsi.clone();
        Ok(Instance::Sync(Box::new(Sg { options, flags, files: FileTable::default(), slots: None, disks: Vec::new() })))
    },
};

/// `SG_IO` of scsi/sg.h.
const SG_IO: usize = 0x2285;
/// `SGV4_FLAG_HIPRI` of the same: the answer is polled for, where the driver can.
const POLLED: u32 = 0x800;
/// Until the kernel takes a command for lost, as in fio.
const TIMEOUT_MS: u32 = 30_000;
/// Room for what a disk says of a command that it did not carry out.
const SENSE_BYTES: usize = 64;
/// How often a command is sent again to a disk that only tells what happened to it before.
const ATTENTIONS: u32 = 4;

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_bytes: u8,
    sense_room: u8,
    vectors: u16,
    data_bytes: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residual_bytes: i32,
    duration_ms: u32,
    info: u32,
}

fn availability() -> Availability {
    let disks = std::fs::read_dir("/sys/class/scsi_device").map_or(0, Iterator::count);
    if disks > 0 {
        return Availability::Here;
    }
    let text = "this machine has no SCSI device (`modprobe scsi_debug` makes one in memory); ioengine=psync with \
                direct=1 works on any disk";
    Availability::Missing(text.into())
}

struct Sg {
    options: ScsiOptions,
    flags: u32,
    files: FileTable,
    slots: Option<Arc<SlotArena>>,
    /// By file; none of one that is not open yet.
    disks: Vec<Option<Capacity>>,
}

impl SyncOp for Sg {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        let open = |fd: RawFd| if fd < 0 { Ok(None) } else { look(fd).map(Some) };
        self.disks = files.descriptors().map(open).collect::<Result<_, _>>()?;
        (self.files, self.slots) = (files.clone(), Some(slots));
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let fd = blocking::descriptor(&self.files, io.file);
        let Some(slots) = &self.slots else { return -libc::EBADF };
        let disk = match self.disks.get_mut(io.file as usize) {
            Some(Some(disk)) => *disk,
            Some(place) => match look(fd) {
                Ok(disk) => *place.insert(disk),
                Err(error) => return -error.errno(),
            },
            None => return -libc::EBADF,
        };
        if matches!(io.op, Op::Sync | Op::DataSync) {
            return self.send(fd, &Command::flush(), std::ptr::null_mut()).map_or_else(|errno| -errno, |_| 0);
        }
        let block_bytes = u64::from(disk.block_bytes);
        let (first, count) = (io.offset / block_bytes, io.len / disk.block_bytes);
        if !io.offset.is_multiple_of(block_bytes) || !io.len.is_multiple_of(disk.block_bytes) {
            return -libc::EINVAL;
        }
        if io.op == Op::Trim {
            let mut list = scsi::unmap_list(first, count);
            return self.send(fd, &Command::unmap(), list.as_mut_ptr()).map_or_else(|errno| -errno, |_| whole(io.len));
        }
        let command = Command::transfer(io.op, &self.options, first, count, disk.block_bytes);
        slots.lend(io.slot);
        let result = self.send(fd, &command, blocking::buffer(slots, io));
        slots.give_back(io.slot);
        match (result, command.data) {
            (Err(errno), _) => -errno,
            // A part of what it was asked for; commands with less data than blocks are done or not.
            (Ok(left_bytes), Data::In(bytes) | Data::Out(bytes)) if bytes == io.len => {
                whole(io.len.saturating_sub(left_bytes))
            }
            (Ok(_), _) => whole(io.len),
        }
    }
}

impl Sg {
    /// Sends a command whose data are at this place: bytes of them that were not moved, or the errno.
    fn send(&self, fd: RawFd, command: &Command, data: *mut u8) -> Result<u32, i32> {
        send(fd, command, data, self.flags)
    }
}

fn send(fd: RawFd, command: &Command, data: *mut u8, flags: u32) -> Result<u32, i32> {
    let (direction, data_bytes) = match command.data {
        Data::None => (-1, 0),
        Data::Out(bytes) => (-2, bytes),
        Data::In(bytes) => (-3, bytes),
    };
    let mut sense = [0_u8; SENSE_BYTES];
    for _ in 0..ATTENTIONS {
        let mut header = Header {
            interface: i32::from(b'S'),
            direction,
            command_bytes: command.bytes().len() as u8,
            sense_room: SENSE_BYTES as u8,
            vectors: 0,
            data_bytes,
            data,
            command: command.bytes().as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: TIMEOUT_MS,
            flags,
            pack_id: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_bytes: 0,
            host_status: 0,
            driver_status: 0,
            residual_bytes: 0,
            duration_ms: 0,
            info: 0,
        };
        // SAFETY: the header names memory that lives until the call returns: the command, the room for sense, and as
        // many bytes of data as the caller has.
        let result = unsafe { syscall(libc::SYS_ioctl, [fd as usize, SG_IO, &raw mut header as usize, 0, 0, 0]) };
        if result < 0 {
            return Err(-result as i32);
        }
        if header.status == 0 && header.host_status == 0 && header.driver_status == 0 {
            return Ok(header.residual_bytes.max(0) as u32);
        }
        let told = scsi::sense(&sense[..usize::from(header.sense_bytes).min(SENSE_BYTES)]);
        if !scsi::is_attention(told) {
            return Err(scsi::errno(told));
        }
    }
    Err(libc::EIO)
}

/// The disk behind a descriptor.
fn look(fd: RawFd) -> Result<Capacity, EngineError> {
    let mut answer = [0; 32];
    match send(fd, &Command::capacity(), answer.as_mut_ptr(), 0) {
        Ok(_) => {}
        Err(libc::ENOTTY | libc::EINVAL | libc::EOPNOTSUPP) => {
            let text = "it takes no SCSI commands: name /dev/sgN, or the block device of a SCSI disk";
            return Err(EngineError::Unsupported(text.into()));
        }
        Err(errno) => return Err(EngineError::System { call: "READ CAPACITY(16) by SG_IO", errno }),
    }
    let disk = scsi::capacity(&answer);
    if disk.block_bytes == 0 {
        return Err(EngineError::Unsupported("the disk tells no size of its blocks".into()));
    }
    Ok(disk)
}
