//! Threads on Linux, where affinity, nice value and usage all belong to a thread.

use std::io;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::{Usage, rusage};

pub(super) fn current_tid() -> u32 {
    gettid().as_raw_nonzero().get() as u32
}

pub(super) fn pin_current(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::from(rustix::io::Errno::INVAL));
        }
        set.set(cpu as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}

pub(super) fn allowed_cpus() -> Vec<u32> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect(),
        // More CPUs than the set has room for: all that are online is the nearest true answer.
        Err(_) => (0..crate::host::online_cpus()).collect(),
    }
}

pub(super) fn set_nice_current(nice: i32) -> io::Result<()> {
    // "Process" 0 is the calling thread for the kernel (setpriority(2), "C library/kernel differences").
    Ok(rustix::process::setpriority_process(None, nice)?)
}

pub(super) fn thread_usage() -> Usage {
    let cpu_ns = crate::clock::ns(clock_gettime(ClockId::ThreadCPUTime));
    Usage::from_rusage(&rusage(libc::RUSAGE_THREAD), cpu_ns)
}

/// The address that [`signal_thread`] takes.
pub(super) type ThreadId = i32;

pub(super) fn current_thread() -> ThreadId {
    gettid().as_raw_nonzero().get()
}

/// Sends `signal` to a thread of this process that is alive.
pub(super) fn signal_thread(thread: ThreadId, signal: i32) -> bool {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: plain integers; the kernel refuses a thread that is not of this process.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
}
