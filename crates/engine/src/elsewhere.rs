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

fn sentence(name: &str) -> String {
    format!("{name} is an interface of Linux alone; here ioengine=posixaio is the asynchronous engine")
}
