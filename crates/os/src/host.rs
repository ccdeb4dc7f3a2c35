//! The machine: its name, system, CPUs, memory and limits.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The host's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel and its release: `Linux 6.1.0-18-amd64`, `Darwin 24.1.0`.
pub fn os_release() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

/// The machine's architecture as the kernel names it: `x86_64`, `aarch64`, `arm64`.
pub fn arch() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// CPUs that are online, whether or not this process may use them; at least 1.
pub fn online_cpus() -> u32 {
    // SAFETY: plain integer argument.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

/// For each CPU its number and how long it has been idle since the machine started, nanoseconds. Waiting for I/O
/// is idle.
///
/// # Errors
/// Where the system does not tell (macOS).
pub fn cpu_idle_ns() -> std::io::Result<Vec<(u32, u64)>> {
    system::cpu_idle_ns()
}

/// The size of a memory page in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The machine's memory in bytes.
pub fn memory_bytes() -> u64 {
    system::memory_bytes()
}

/// Memory that programs can have without others being ended or swapped out, bytes: with what the page cache would give
/// back. On macOS, which does not tell, all there is.
pub fn available_memory_bytes() -> u64 {
    system::available_memory_bytes()
}

/// Raises the number of files this process may have open to the most it is allowed, and returns that number.
///
/// What cannot be raised stays; the number returned is the one in force.
pub fn raise_open_files_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = system::open_files_ceiling(limit.maximum);
    if limit.current.is_some_and(|current| wanted.is_none_or(|wanted| current < wanted)) {
        // Refused (by a sandbox, say) leaves the old limit, which is then the answer.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The most files this process may have open, as the limit stands.
pub fn open_files_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many files this process has open; 0 where the system does not tell.
pub fn open_files() -> u64 {
    system::open_files()
}

/// Something that the system lets a process, or all of them together, have only so much of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Whose limit it is, with its value: `kernel.pid_max allows 32768 threads on this machine`.
    pub name: String,
    /// The limit.
    pub most: u64,
    /// How much of it is used.
    pub used: u64,
    /// How it is raised.
    pub remedy: String,
}

/// Of the limits on threads the one that is nearest to being reached; `None` where the system does not tell.
pub fn nearest_thread_ceiling() -> Option<Ceiling> {
    let share = |ceiling: &Ceiling| ceiling.used as f64 / ceiling.most.max(1) as f64;
    system::thread_ceilings().into_iter().max_by(|left, right| share(left).total_cmp(&share(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_are_counted() {
        let before = open_files();
        let files: Vec<_> = (0..100).map(|_| std::io::pipe().unwrap()).collect();
        // Other tests open and close files at the same time.
        assert!(open_files() > before + 150, "{} after {before}", open_files());
        drop(files);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn limits_on_threads_are_found_and_none_is_exceeded() {
        let ceilings = system::thread_ceilings();
        for name in ["kernel.threads-max", "kernel.pid_max", "vm.max_map_count"] {
            assert!(ceilings.iter().any(|ceiling| ceiling.name.contains(name)), "{name}: {ceilings:?}");
        }
        assert!(ceilings.iter().all(|ceiling| 0 < ceiling.used && ceiling.used <= ceiling.most), "{ceilings:?}");
        assert!(nearest_thread_ceiling().is_some());
    }

    fn output(command: &str, argument: &str) -> String {
        let output = std::process::Command::new(command).arg(argument).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn the_host_is_as_uname_and_getconf_say() {
        assert_eq!(host_name(), output("uname", "-n"));
        assert_eq!(os_release(), output("uname", "-sr"));
        assert_eq!(arch(), output("uname", "-m"));
        assert_eq!(online_cpus().to_string(), output("getconf", "_NPROCESSORS_ONLN"));
        assert_eq!(page_size().to_string(), output("getconf", "PAGESIZE"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_what_the_kernel_shows_in_proc() {
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
        let kib: u64 = meminfo.split_whitespace().nth(1).unwrap().parse().unwrap();
        // The kernel rounds one of them to KiB; memory does not change while the machine runs.
        assert!(memory_bytes().abs_diff(kib * 1024) < 4096 * 16, "{} and {kib} KiB", memory_bytes());
    }

    #[test]
    fn the_limit_of_open_files_goes_to_its_maximum() {
        let raised = raise_open_files_limit();
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), raised);
        if cfg!(target_os = "linux") {
            assert_eq!(getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX), raised);
        }
    }
}
