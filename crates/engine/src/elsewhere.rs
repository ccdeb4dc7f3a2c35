//! Rows of the engines that are Linux's own, for the other systems: known by name, and they say why they cannot run.

use crate::api::{Availability, Caps, EngineConfig, EngineError, EngineSpec, Instance};

const CAPS: Caps =
    Caps { synchronous: false, diskless: false, extends: true, virtual_time: false, helper_threads: false };

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

fn sentence(name: &str) -> String {
    format!("{name} is an interface of Linux alone; here ioengine=posixaio is the asynchronous engine")
}

fn synchronous(name: &str) -> String {
    format!("{name} is made of system calls of Linux alone; here ioengine=psync does the same")
}
