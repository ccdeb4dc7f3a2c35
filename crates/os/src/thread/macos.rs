//! Threads on macOS, which decides itself where they run.

use std::io;

use super::{MemoryPolicy, Usage};
use crate::clock::NS_PER_S;
use crate::unsupported;

pub(super) fn current_tid() -> u32 {
    let mut id = 0u64;
    // SAFETY: 0 names the calling thread; `id` is valid and exclusively borrowed.
    unsafe { libc::pthread_threadid_np(0, &mut id) };
    id as u32
}

pub(super) fn wake_precisely_current() {}

pub(super) fn pin_current(_cpus: &[u32]) -> io::Result<()> {
    Err(unsupported("macOS does not let a program choose the CPUs its threads run on"))
}

pub(super) fn allowed_cpus() -> Vec<u32> {
    (0..crate::host::online_cpus()).collect()
}

pub(super) fn set_nice_current(_nice: i32) -> io::Result<()> {
    Err(unsupported("on macOS only a whole process has a nice value, not one of its threads"))
}

pub(super) fn set_io_priority_current(_class: u8, _level: u8, _hint: u16) -> io::Result<()> {
    Err(unsupported("macOS has no I/O priorities of this kind"))
}

pub(super) fn set_memory_policy_current(_policy: MemoryPolicy<'_>) -> io::Result<()> {
    Err(unsupported("macOS has no NUMA nodes"))
}

pub(super) fn numa_nodes() -> io::Result<Vec<u32>> {
    Err(unsupported("macOS has no NUMA nodes"))
}

pub(super) fn cpus_of_node(_node: u32) -> io::Result<Vec<u32>> {
    Err(unsupported("macOS has no NUMA nodes"))
}

pub(super) fn become_group_current(_group: u32) -> io::Result<()> {
    Err(unsupported("on macOS only a whole process has a group, not one of its threads"))
}

pub(super) fn become_user_current(_user: u32) -> io::Result<()> {
    Err(unsupported("on macOS only a whole process has a user, not one of its threads"))
}

pub(super) fn thread_usage() -> Usage {
    // SAFETY: `thread_basic_info` is plain integers, for which zero is valid.
    let mut info: libc::thread_basic_info = unsafe { std::mem::zeroed() };
    let mut count = (size_of::<libc::thread_basic_info>() / size_of::<libc::integer_t>()) as u32;
    // SAFETY: the port is borrowed from the calling thread, which is alive; `info` has room for `count` integers.
    let answer = unsafe {
        let port = libc::pthread_mach_thread_np(libc::pthread_self());
        libc::thread_info(port, libc::THREAD_BASIC_INFO as u32, (&raw mut info).cast(), &mut count)
    };
    if answer != libc::KERN_SUCCESS {
        return Usage::default();
    }
    let ns = |time: libc::time_value_t| time.seconds as u64 * NS_PER_S + time.microseconds as u64 * 1000;
    Usage { user_ns: ns(info.user_time), system_ns: ns(info.system_time), ..Usage::default() }
}

/// The address that [`signal_thread`] takes.
pub(super) type ThreadId = libc::pthread_t;

pub(super) fn current_thread() -> ThreadId {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::pthread_self() }
}

/// Sends `signal` to a thread of this process that is alive.
pub(super) fn signal_thread(thread: ThreadId, signal: i32) -> bool {
    // SAFETY: the caller holds the lock under which the thread marks its end, so the handle is still valid.
    unsafe { libc::pthread_kill(thread, signal) == 0 }
}
