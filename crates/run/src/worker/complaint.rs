//! What is said of a request that failed.

use iostrata_engine::{Io, Op};

use super::core::Core;
use crate::clock::Clock;
use crate::error::{advice, errno_text};

impl<C: Clock> Core<'_, C> {
    /// The sentence about a request with this result.
    pub(super) fn io_error_text(&self, io: &Io, result: i32) -> String {
        let file = self.plan.files.get(io.file as usize).map_or(String::new(), |file| file.path.display().to_string());
        if self.plan.engine.caps.names.is_some() {
            let advice = match -result {
                libc::EEXIST => "; it is there already: unlink_each_loop=1 removes what a loop has made",
                libc::ENOTEMPTY => "; it is not empty",
                errno => advice(errno),
            };
            return format!("{} of {file}: {}{advice}", self.plan.engine.name, errno_text(-result));
        }
        let operation = operation(io.op);
        let what = match io.op {
            Op::Read => "read",
            Op::Write => "written",
            Op::Trim => "trimmed",
            Op::Sync | Op::DataSync => "synced",
        };
        let place = if io.len > 0 { format!(", offset {}, length {}", io.offset, io.len) } else { String::new() };
        if result >= 0 {
            return format!(
                "{operation} of {file}{place}: the file ended here, nothing could be {what}; it was cut short (or is \
                 smaller than size= says) while the job ran"
            );
        }
        let advice = self.direct_advice(io, -result).unwrap_or_else(|| advice_for(io, -result).into());
        format!("{operation} of {file}{place}: {}{advice}", errno_text(-result))
    }

    /// For direct I/O that is refused: the alignment that is needed and the one that is given.
    fn direct_advice(&self, io: &Io, errno: i32) -> Option<String> {
        if errno != libc::EINVAL || !self.job.direct || !matches!(io.op, Op::Read | Op::Write) {
            return None;
        }
        let power = |number: u64| 1 << number.trailing_zeros().min(63);
        let address = self.arena.ptr(io.slot) as u64 + u64::from(io.slot_offset);
        let why = self.files.direct_mismatch(io.file, power(io.offset | u64::from(io.len)), power(address))?;
        Some(format!("; {why}"))
    }
}

/// What a request is called.
pub(super) fn operation(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Sync => "fsync",
        Op::DataSync => "fdatasync",
    }
}

/// Advice that depends on the request.
fn advice_for(io: &Io, errno: i32) -> &'static str {
    match (errno, io.op) {
        (libc::EINVAL, Op::Read | Op::Write) => {
            "; the device or its file system does not take such a request: with direct=1, bs= and offset= must be \
             multiples of the device's block"
        }
        (libc::EBADF, Op::Write) => "; the file is open for reading only",
        (libc::ENOTTY | libc::EOPNOTSUPP, Op::Trim) => {
            "; trim works on block devices that support discard, not on files"
        }
        _ => advice(errno),
    }
}
