//! What can go wrong with a job, as a sentence for the person and an errno for the report.

use std::path::Path;

use iostrata_os::host::{self, Ceiling};
use iostrata_spec::Job;

use crate::plan::Plan;

/// A fault that kept a job, or the whole run, from starting or from going on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{text}", job.as_ref().map_or(String::new(), |job| format!("job {job}: ")))]
pub struct RunError {
    /// The job, if it is one job's.
    pub job: Option<String>,
    /// The errno for reports and exit codes.
    pub errno: i32,
    /// The sentence, without the job's name.
    pub text: String,
}

impl RunError {
    /// A fault of one job without an errno of its own (EINVAL).
    pub fn job(job: &Job, text: String) -> Self {
        Self::job_errno(job, libc::EINVAL, text)
    }

    /// A fault of one job.
    pub fn job_errno(job: &Job, errno: i32, text: String) -> Self {
        RunError { job: Some(job.name.clone()), errno, text }
    }

    /// A job that must not do what it wants to do.
    pub fn refused(job: &str, text: String) -> Self {
        RunError { job: Some(job.to_string()), errno: libc::EPERM, text }
    }

    /// A fault of the whole run.
    pub fn run(text: String) -> Self {
        RunError { job: None, errno: libc::EINVAL, text }
    }

    /// A failed system call on behalf of a job.
    pub fn system(job: &Job, path: Option<&Path>, call: &str, error: &std::io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let place = path.map_or(String::new(), |path| format!(" {}", path.display()));
        Self::job_errno(job, errno, format!("{call}{place} failed: {}{}", plain(error), advice(errno)))
    }
}

/// A worker's thread could not be started: which limit is in the way, and how it is raised.
pub(crate) fn no_thread(job: &Job, error: &std::io::Error) -> RunError {
    let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
    let limit = host::nearest_thread_ceiling().map_or(String::new(), |ceiling| {
        let Ceiling { name, used, remedy, .. } = ceiling;
        format!("; {name}, {used} are in use: {remedy} raises it, or use fewer jobs (numjobs=)")
    });
    RunError::job_errno(job, errno, format!("starting a thread failed: {}{limit}", plain(error)))
}

/// A run that cannot start: what was to be run, and everything that keeps it from it. Its `Display` is a line each.
#[derive(thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Refused {
    /// The jobs; those with a fault may be without files.
    pub plan: Plan,
    /// The faults.
    pub errors: Vec<RunError>,
}

impl std::fmt::Debug for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refused").field("errors", &self.errors).finish_non_exhaustive()
    }
}

/// What to say of a request that never came back.
pub(crate) const NO_ANSWER: &str = "the device or its server does not answer; what was measured until then is \
                                    reported, and latencies are lower bounds. Should this process stay, the kernel \
                                    holds it until an answer comes: wake the server or end it";

/// The system's words for an error, without Rust's "(os error N)".
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// The system's words for an errno.
pub(crate) fn errno_text(errno: i32) -> String {
    plain(&std::io::Error::from_raw_os_error(errno))
}

/// What a person can do about an errno, as the tail of a sentence.
pub(crate) fn advice(errno: i32) -> &'static str {
    match errno {
        libc::ENOSPC => "; free space or give a smaller size=",
        libc::EACCES | libc::EPERM => "; check its permissions, or run as a user who may use it",
        libc::EROFS => "; the file system is mounted read-only",
        libc::ENOENT => "; check the path",
        libc::EIO => "; the device reports an error: look at the kernel log (dmesg)",
        libc::EMFILE | libc::ENFILE => "; too many open files: lower nrfiles=, or raise `ulimit -n`",
        libc::ETXTBSY => "; the file is a program that is running",
        libc::EFBIG => "; the file would be larger than the file system or `ulimit -f` allows",
        libc::EDQUOT => "; the disk quota is used up",
        _ => "",
    }
}
