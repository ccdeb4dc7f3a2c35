//! All engines there are.

use crate::api::EngineSpec;
#[cfg(not(target_os = "linux"))]
use crate::elsewhere::{E4DEFRAG, FALLOC, IO_URING, IO_URING_CMD, LIBAIO, NETSPLICE, PVSYNC, PVSYNC2, SG, SPLICE};
use crate::names::{DIRCREATE, DIRDELETE, DIRSTAT, FILECREATE, FILEDELETE, FILESTAT};
use crate::{ceph, cpuio, exec, ftruncate, mmap, nbd, net, null, page_fault, posixaio, psync, sim, sync, vsync};
#[cfg(target_os = "linux")]
use crate::{
    e4defrag::SPEC as E4DEFRAG,
    falloc::SPEC as FALLOC,
    libaio::SPEC as LIBAIO,
    net::NETSPLICE,
    pvsync::{PVSYNC, PVSYNC2},
    sg::SPEC as SG,
    splice::SPEC as SPLICE,
    uring::{SPEC as IO_URING, command::SPEC as IO_URING_CMD},
};

/// One row per engine. An engine that cannot run here has its row too, and says why.
static ENGINES: &[EngineSpec] = &[
    cpuio::SPEC,
    DIRCREATE,
    DIRDELETE,
    DIRSTAT,
    E4DEFRAG,
    exec::SPEC,
    FALLOC,
    FILECREATE,
    FILEDELETE,
    FILESTAT,
    ftruncate::SPEC,
    IO_URING,
    IO_URING_CMD,
    LIBAIO,
    mmap::SPEC,
    nbd::SPEC,
    net::NET,
    NETSPLICE,
    null::SPEC,
    page_fault::SPEC,
    posixaio::SPEC,
    psync::SPEC,
    PVSYNC,
    PVSYNC2,
    ceph::RADOS,
    ceph::RBD,
    SG,
    sim::SPEC,
    SPLICE,
    sync::SPEC,
    vsync::SPEC,
];

/// All engines, ordered by name.
pub fn engines() -> &'static [EngineSpec] {
    ENGINES
}

/// The engine of this exact name.
pub fn find(name: &str) -> Option<&'static EngineSpec> {
    ENGINES.iter().find(|engine| engine.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_unique_and_found() {
        assert!(ENGINES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for engine in engines() {
            assert!(!engine.doc.is_empty());
            assert_eq!(find(engine.name).map(|found| found.name), Some(engine.name));
        }
        assert!(find("nvme").is_none());
    }
}
