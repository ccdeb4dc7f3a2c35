//! Threads: identity, CPUs, what they used, and waking one that is blocked in a system call.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod waker;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use std::io;
use std::ops::Sub;

pub use waker::Waker;

/// The kernel's number of the calling thread: what `ps -L` and tracers show (on macOS the low 32 bits of it).
pub fn current_tid() -> u32 {
    system::current_tid()
}

/// Has the kernel wake the calling thread from its sleeps when they are over, and not up to 50 µs later to spare the
/// processor some wake-ups. Best effort; macOS has no such choice.
pub fn wake_precisely_current() {
    system::wake_precisely_current();
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// `EINVAL` for an empty list or for CPUs that do not exist or may not be used; `Unsupported` on macOS.
pub fn pin_current(cpus: &[u32]) -> io::Result<()> {
    system::pin_current(cpus)
}

/// The CPUs that the calling thread may run on, ascending.
pub fn allowed_cpus() -> Vec<u32> {
    system::allowed_cpus()
}

/// Sets the calling thread's nice value, -20 (first) to 19 (last); out of range it is clamped.
///
/// # Errors
/// `EACCES` for a lower value than now without the privilege; `Unsupported` on macOS, where only a process has one.
pub fn set_nice_current(nice: i32) -> io::Result<()> {
    system::set_nice_current(nice)
}

/// Sets the I/O priority of the calling thread: class 0 (none) to 3 (idle), level 0 (first) to 7, and hint bits.
///
/// # Errors
/// `EPERM` for the real-time class without the privilege, `EINVAL` for what the kernel does not know; `Unsupported` on
/// macOS.
pub fn set_io_priority_current(class: u8, level: u8, hint: u16) -> io::Result<()> {
    system::set_io_priority_current(class, level, hint)
}

/// Which memory the calling thread is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPolicy<'a> {
    /// Of the node of the CPU that asks.
    Local,
    /// Of this NUMA node, of others when it is full.
    Prefer(u32),
    /// Of these nodes only.
    Bind(&'a [u32]),
    /// Of these nodes in turn.
    Interleave(&'a [u32]),
}

/// Says from which NUMA nodes the calling thread gets its memory from now on.
///
/// # Errors
/// `EINVAL` for nodes that are not there, `ENOSYS` for a kernel without NUMA; `Unsupported` on macOS.
pub fn set_memory_policy_current(policy: MemoryPolicy<'_>) -> io::Result<()> {
    system::set_memory_policy_current(policy)
}

/// The NUMA nodes that have CPUs or memory, ascending.
///
/// # Errors
/// When the kernel does not tell; `Unsupported` on macOS.
pub fn numa_nodes() -> io::Result<Vec<u32>> {
    system::numa_nodes()
}

/// The CPUs of a NUMA node, ascending.
///
/// # Errors
/// `NotFound` for a node that is not there; `Unsupported` on macOS.
pub fn cpus_of_node(node: u32) -> io::Result<Vec<u32>> {
    system::cpus_of_node(node)
}

/// Makes the calling thread, and no other of the process, run as this group and without supplementary ones.
///
/// # Errors
/// `EPERM` without the privilege; `Unsupported` on macOS.
pub fn become_group_current(group: u32) -> io::Result<()> {
    system::become_group_current(group)
}

/// Makes the calling thread, and no other of the process, run as this user. There is no way back.
///
/// # Errors
/// `EPERM` without the privilege; `Unsupported` on macOS.
pub fn become_user_current(user: u32) -> io::Result<()> {
    system::become_user_current(user)
}

/// What a thread or process has used so far; the difference of two is what it used in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode. The sum of both times is exact to the nanosecond; the split is the kernel's estimate.
    pub user_ns: u64,
    /// CPU time in kernel mode.
    pub system_ns: u64,
    /// Times it gave up the CPU to wait.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed a read.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl Usage {
    /// User and kernel time together.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// From `getrusage`, whose times are in microseconds and may lag by a scheduler tick, and the exact CPU time.
    fn from_rusage(usage: &libc::rusage, exact_cpu_ns: u64) -> Usage {
        let time_ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        let (user, system) = (time_ns(usage.ru_utime), time_ns(usage.ru_stime));
        let user_share = u128::from(exact_cpu_ns) * u128::from(user);
        let user_ns = user_share.checked_div(u128::from(user + system)).map_or(exact_cpu_ns, |ns| ns as u64);
        Usage {
            user_ns,
            system_ns: exact_cpu_ns - user_ns,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            major_faults: usage.ru_majflt as u64,
            minor_faults: usage.ru_minflt as u64,
        }
    }
}

impl Sub for Usage {
    type Output = Usage;

    /// Saturating: the kernel may move a little time between user and system afterwards.
    fn sub(self, earlier: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

/// What the calling thread has used. On macOS switches and faults are not kept by thread: they are 0.
pub fn thread_usage() -> Usage {
    system::thread_usage()
}

/// What all threads of this process, ended ones included, have used.
pub fn process_usage() -> Usage {
    let cpu_ns = crate::clock::ns(rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime));
    Usage::from_rusage(&rusage(libc::RUSAGE_SELF), cpu_ns)
}

fn rusage(who: libc::c_int) -> libc::rusage {
    // SAFETY: `rusage` is plain integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid and exclusively borrowed. The only errors are a bad pointer and a bad `who`; then zero
    // stays.
    unsafe { libc::getrusage(who, &mut usage) };
    usage
}

#[cfg(test)]
mod tests;
