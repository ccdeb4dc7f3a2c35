//! Making written data durable besides `fsync`, and telling how long it will live.

use std::os::fd::OwnedFd;

use iostrata_engine::{FileId, Io};
use iostrata_os::file;
use iostrata_spec::{RangeSync, WriteHint};

use super::files::OpenFiles;
use crate::error::RunError;
use crate::plan::WorkerPlan;

/// What the writes since the last `sync_file_range` reached over.
pub(super) struct RangeSpan {
    rules: RangeSync,
    /// Writes after which it is called; 0: never.
    pub(super) every: u32,
    writes: u32,
    file: FileId,
    start: u64,
    end: u64,
}

impl RangeSpan {
    pub(super) fn new(rules: RangeSync) -> Self {
        RangeSpan { rules, every: rules.every, writes: 0, file: 0, start: u64::MAX, end: 0 }
    }

    /// A write is done.
    pub(super) fn note(&mut self, io: &Io, asked_len: u32) {
        let start = io.offset - u64::from(asked_len - io.len);
        if self.file != io.file {
            (self.file, self.start, self.end) = (io.file, u64::MAX, 0);
        }
        self.start = self.start.min(start);
        self.end = self.end.max(start + u64::from(asked_len));
        self.writes += 1;
    }

    /// Whether enough writes are done.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.every > 0 && self.writes >= self.every
    }

    /// Syncs the span that the last writes reached over in their file; whether it did.
    pub(super) fn sync(&mut self, files: &OpenFiles) -> std::io::Result<bool> {
        let (start, length) = (self.start, self.end - self.start);
        (self.writes, self.start, self.end) = (0, u64::MAX, 0);
        let RangeSync { wait_before, write, wait_after, .. } = self.rules;
        match files.descriptor(self.file) {
            Some(fd) => file::sync_range(fd, start, length, [wait_before, write, wait_after]).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Tells the system how long data written to the file will live.
pub(super) fn hint_life(fd: &OwnedFd, hint: WriteHint) -> std::io::Result<()> {
    // RWH_WRITE_LIFE_NONE and what follows in linux/fcntl.h.
    let life = match hint {
        WriteHint::Unset => return Ok(()),
        WriteHint::None => 1,
        WriteHint::Short => 2,
        WriteHint::Medium => 3,
        WriteHint::Long => 4,
        WriteHint::Extreme => 5,
    };
    file::hint_write_life(fd, life)
}

/// Whether the files take the writes of a job with `atomic`: sizes between two powers of two, which the device tells.
pub(super) fn check_atomic(plan: &WorkerPlan, files: &OpenFiles) -> Result<(), RunError> {
    let job = &plan.job;
    if !job.engine_options.atomic || !job.workload.writes {
        return Ok(());
    }
    let sizes = &job.block_sizes()[1];
    for (number, planned) in plan.files.iter().enumerate() {
        let Some(fd) = files.descriptor(number as FileId) else { continue };
        let refuse = |why: String| {
            Err(RunError::job_errno(job, libc::EOPNOTSUPP, format!("atomic=1: {}: {why}", planned.path.display())))
        };
        let Some((least, most)) = file::atomic_write_bytes(fd) else {
            return refuse("its device, or the file system, has no atomic writes; leave atomic out".into());
        };
        if sizes.min() < least.into() || sizes.max() > most.into() || !sizes.min().is_power_of_two() {
            let (min, max) = (sizes.min(), sizes.max());
            return refuse(format!(
                "atomic writes are a power of two between {least} and {most} bytes there; bs is {min} to {max}"
            ));
        }
    }
    Ok(())
}

/// `syncfs` of the file systems that the files lie on, each once.
pub(super) fn sync_file_systems(plan: &WorkerPlan, files: &mut OpenFiles) -> Result<(), RunError> {
    let mut synced = Vec::new();
    files.for_each(plan, |planned, _, fd| {
        let fail = |error: std::io::Error| RunError::system(&plan.job, Some(&planned.path), "syncfs for", &error);
        let device = file::facts(fd).map_err(fail)?.device;
        if !synced.contains(&device) {
            file::sync_file_system(fd).map_err(fail)?;
            synced.push(device);
        }
        Ok(())
    })
}
