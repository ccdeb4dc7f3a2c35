//! Threads on Linux, where affinity, nice value and usage all belong to a thread.

use std::io;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::{MemoryPolicy, Usage, rusage};

pub(super) fn current_tid() -> u32 {
    gettid().as_raw_nonzero().get() as u32
}

pub(super) fn wake_precisely_current() {
    // SAFETY: the call takes a number: the slack of the thread's timers, nanoseconds.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
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

/// `IOPRIO_WHO_PROCESS`: one thread; number 0 is the calling one (ioprio_set(2)).
const IOPRIO_WHO_THREAD: libc::c_long = 1;

pub(super) fn set_io_priority_current(class: u8, level: u8, hint: u16) -> io::Result<()> {
    let value = libc::c_long::from(class) << 13 | libc::c_long::from(hint) << 3 | libc::c_long::from(level);
    // SAFETY: plain integers; the kernel refuses a value that it does not know.
    done(unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_THREAD, 0 as libc::c_long, value) })
}

pub(super) fn set_memory_policy_current(policy: MemoryPolicy<'_>) -> io::Result<()> {
    let one;
    let (mode, nodes): (libc::c_int, &[u32]) = match policy {
        MemoryPolicy::Local => (libc::MPOL_LOCAL, &[]),
        MemoryPolicy::Prefer(node) => {
            one = [node];
            (libc::MPOL_PREFERRED, &one)
        }
        MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, nodes),
        MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes),
    };
    const WORD_BITS: usize = libc::c_ulong::BITS as usize;
    let mut mask: [libc::c_ulong; 1024 / WORD_BITS] = [0; 1024 / WORD_BITS];
    for &node in nodes {
        let word = mask.get_mut(node as usize / WORD_BITS).ok_or(rustix::io::Errno::INVAL)?;
        *word |= 1 << (node as usize % WORD_BITS);
    }
    // The kernel takes one bit less than it is told of (set_mempolicy(2)); none at all for "local".
    let (address, bits) = if nodes.is_empty() { (std::ptr::null(), 0) } else { (mask.as_ptr(), 1025) };
    // SAFETY: the mask has the 1024 bits that the kernel reads, and lives through the call.
    done(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode as libc::c_long, address, bits as libc::c_ulong) })
}

pub(super) fn numa_nodes() -> io::Result<Vec<u32>> {
    Ok(numbers(&std::fs::read_to_string("/sys/devices/system/node/online")?))
}

pub(super) fn cpus_of_node(node: u32) -> io::Result<Vec<u32>> {
    Ok(numbers(&std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"))?))
}

/// A list as sysfs writes it: `0-3,8`.
fn numbers(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse().ok()?..=high.trim().parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

// The C library would change the whole process; the system calls change the calling thread.

pub(super) fn become_group_current(group: u32) -> io::Result<()> {
    // SAFETY: no supplementary groups: the list is not read.
    done(unsafe { libc::syscall(libc::SYS_setgroups, 0 as libc::c_long, std::ptr::null::<libc::gid_t>()) })?;
    let group = libc::c_long::from(group);
    // SAFETY: plain integers.
    done(unsafe { libc::syscall(libc::SYS_setresgid, group, group, group) })
}

pub(super) fn become_user_current(user: u32) -> io::Result<()> {
    let user = libc::c_long::from(user);
    // SAFETY: plain integers.
    done(unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) })
}

/// The outcome of a raw system call.
fn done(answer: libc::c_long) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
