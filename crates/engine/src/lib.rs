//! I/O engines behind one trait, one file per engine.
//!
//! An engine takes requests that are complete (file, offset, length, memory) and carries them out. It never sees an
//! option's name, never draws an offset and never reads a clock for statistics: the worker loop in `iostrata-run`
//! does that. [`api`] is the contract, [`registry`] the list of what exists.
#![allow(unsafe_code)]
#![deny(missing_docs)]

pub mod api;
pub mod arena;
mod blocking;
mod ceph;
mod cpuio;
#[cfg(target_os = "linux")]
mod e4defrag;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod exec;
#[cfg(target_os = "linux")]
mod falloc;
mod flight;
mod ftruncate;
#[cfg(target_os = "linux")]
mod libaio;
mod mmap;
mod names;
mod nbd;
mod net;
mod null;
mod page_fault;
mod posixaio;
mod psync;
#[cfg(target_os = "linux")]
mod pvsync;
mod random;
pub mod registry;
#[cfg(target_os = "linux")]
mod scsi;
#[cfg(target_os = "linux")]
mod sg;
mod sim;
#[cfg(target_os = "linux")]
mod splice;
mod sync;
#[cfg(target_os = "linux")]
mod transfer_flags;
#[cfg(target_os = "linux")]
mod uring;
pub mod virtual_time;
mod vsync;
pub mod zoned_disk;

pub use api::*;
pub use arena::SlotArena;
pub use registry::{engines, find};
pub use virtual_time::World;
pub use zoned_disk::ZonedDisk;
