//! The syncs between writes.

use iostrata_engine::{FileId, Op};

use super::Planned;

/// Where syncs go: before the next I/O once enough writes were issued and the last I/O was a write.
pub(super) struct Syncs {
    pub(super) fsync_every: u32,
    pub(super) fdatasync_every: u32,
    pub(super) writes: u64,
    pub(super) last_was_write: bool,
    pub(super) last_file: FileId,
}

impl Syncs {
    pub(super) fn due(&mut self) -> Option<Planned> {
        if !self.last_was_write {
            return None;
        }
        let op = if self.fsync_every > 0 && self.writes.is_multiple_of(u64::from(self.fsync_every)) {
            Op::Sync
        } else if self.fdatasync_every > 0 && self.writes.is_multiple_of(u64::from(self.fdatasync_every)) {
            Op::DataSync
        } else {
            return None;
        };
        self.last_was_write = false;
        Some(Planned { offset: 0, len: 0, file: self.last_file, op })
    }

    pub(super) fn note(&mut self, io: &Planned) {
        self.last_was_write = io.op == Op::Write;
        self.writes += u64::from(self.last_was_write);
        self.last_file = io.file;
    }
}
