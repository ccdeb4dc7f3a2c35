//! Rows of the engines that are Linux's own, for the other systems: known by name, and they say why they cannot run.

use crate::api::{Availability, Caps, Devices, EngineConfig, EngineError, EngineSpec, Instance};

const CAPS: Caps = Caps::ASYNCHRONOUS;

/// `libaio`.
pub(crate) const LIBAIO: EngineSpec = EngineSpec {
    name: "libaio",
    caps: CAPS,
    doc: "Linux's io_submit; asynchronous with direct=1",
    availability: || Availability::Missing(sentence("libaio")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(sentence("libaio"))) },
};

/// `io_uring`.
pub(crate) const IO_URING: EngineSpec = EngineSpec {
    name: "io_uring",
    caps: CAPS,
    doc: "Linux's io_uring",
    availability: || Availability::Missing(sentence("io_uring")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(sentence("io_uring"))) },
};

/// `io_uring_cmd`.
pub(crate) const IO_URING_CMD: EngineSpec = EngineSpec {
    name: "io_uring_cmd",
    caps: Caps { extends: false, devices: Some(Devices::Nvme), ..CAPS },
    doc: "NVMe commands over io_uring, to /dev/ngXnY",
    availability: || Availability::Missing(sentence("io_uring_cmd")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> {
        Err(EngineError::Unsupported(sentence("io_uring_cmd")))
    },
};

/// `pvsync`.
pub(crate) const PVSYNC: EngineSpec = EngineSpec {
    name: "pvsync",
    caps: Caps { synchronous: true, ..CAPS },
    doc: "preadv and pwritev, one at a time",
    availability: || Availability::Missing(synchronous("pvsync")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(synchronous("pvsync"))) },
};

/// `pvsync2`.
pub(crate) const PVSYNC2: EngineSpec = EngineSpec {
    name: "pvsync2",
    caps: Caps { synchronous: true, ..CAPS },
    doc: "preadv2 and pwritev2, one at a time, with hipri, nowait, uncached",
    availability: || Availability::Missing(synchronous("pvsync2")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(synchronous("pvsync2"))) },
};

/// `splice`.
pub(crate) const SPLICE: EngineSpec = EngineSpec {
    name: "splice",
    caps: Caps::SYNCHRONOUS,
    doc: "splice and vmsplice through a pipe",
    availability: || Availability::Missing(synchronous("splice")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(synchronous("splice"))) },
};

/// `netsplice`.
pub(crate) const NETSPLICE: EngineSpec = EngineSpec {
    name: "netsplice",
    caps: Caps { diskless: true, stream: true, ..Caps::SYNCHRONOUS },
    doc: "from socket to socket by splice and vmsplice",
    availability: || Availability::Missing(SPLICES.into()),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(SPLICES.into())) },
};

/// `falloc`.
pub(crate) const FALLOC: EngineSpec = EngineSpec {
    name: "falloc",
    caps: Caps { moves_data: false, writes_to_read: true, ..Caps::SYNCHRONOUS },
    doc: "fallocate: a read keeps the length, a write may extend it, a trim punches a hole",
    availability: || Availability::Missing(FALLOCATE.into()),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(FALLOCATE.into())) },
};

/// `e4defrag`.
pub(crate) const E4DEFRAG: EngineSpec = EngineSpec {
    name: "e4defrag",
    caps: Caps { moves_data: false, only_writes: true, extends: false, ..Caps::SYNCHRONOUS },
    doc: "EXT4_IOC_MOVE_EXT: a write gives its part of the file the blocks of donorname",
    availability: || Availability::Missing(EXT4.into()),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(EXT4.into())) },
};

/// `sg`.
pub(crate) const SG: EngineSpec = EngineSpec {
    name: "sg",
    caps: Caps { devices: Some(Devices::Scsi), ..Caps::SYNCHRONOUS },
    doc: "SCSI commands by SG_IO, one at a time, to /dev/sgN or the block device of a SCSI disk",
    availability: || Availability::Missing(synchronous("sg")),
    make: |_: &EngineConfig| -> Result<Instance, EngineError> { Err(EngineError::Unsupported(synchronous("sg"))) },
};

const SPLICES: &str = "netsplice is made of Linux's splice and vmsplice; here ioengine=net does the same";

const EXT4: &str = "e4defrag moves extents of ext4, which is a file system of Linux";

const FALLOCATE: &str = "falloc is made of Linux's fallocate, and this system has nothing like its holes and promises";

fn sentence(name: &str) -> String {
    format!("{name} is an interface of Linux alone; here ioengine=posixaio is the asynchronous engine")
}

fn synchronous(name: &str) -> String {
    format!("{name} is made of system calls of Linux alone; here ioengine=psync does the same")
}
