//! The tree of disks, what is on them, and the guard: the only place that opens a job's target.
//!
//! Nothing is destroyed by accident. Before any job starts, [`Guard::admit`] looks at every target of the run: what kind
//! of node it is, whether something uses it, and what it holds. Only then, and only through [`Guard::open`], does a
//! worker get a descriptor.
//!
//! The rules, for a target that is to be written, trimmed or driven by pass-through commands:
//!
//! 1. A device in use is refused, whatever the user allows: mounted, swap, held by device mapper, md or bcache, part of
//!    a mounted btrfs, behind a loop device; its partitions and the disk it is a partition of count too. It is known by
//!    its device number, never by its name, so links and other nodes (`/dev/sg0`, `/dev/ng0n1`) make no difference.
//! 2. An idle device that carries a known signature is refused unless the user names its identity (see
//!    [`Signature::identity`]) in `--allow-destroy` or `IOSTRATA_ALLOW_DESTROY`.
//! 3. Each device that is to be written is claimed once per process, from before the signatures are read until the
//!    [`Guard`] is dropped: no file system can be made on it or mounted from it meanwhile.
//! 4. No regular file is ever made under `/dev`.
#![deny(missing_docs)]

mod guard;
mod node;
mod open;
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(not(target_os = "macos"), path = "linux.rs")]
mod platform;

pub use guard::{Guard, Refusal, Target};
pub use node::{DeviceNumber, NodeKind};
pub use open::{DirectAlignment, OpenError, OpenHow, OpenTarget, SyncKind, TargetFacts};
