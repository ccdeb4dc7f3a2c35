//! macOS.

pub(super) fn cpu_idle_ns() -> std::io::Result<Vec<(u32, u64)>> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "macOS does not tell each CPU's idle time to programs"))
}

pub(super) fn memory_bytes() -> u64 {
    let mut bytes = 0u64;
    let mut len = size_of::<u64>();
    // SAFETY: a terminated name, and a place for a 64-bit number whose length stands in `len`. On failure 0 stays.
    unsafe {
        libc::sysctlbyname(c"hw.memsize".as_ptr(), (&raw mut bytes).cast(), &mut len, std::ptr::null_mut(), 0);
    }
    bytes
}

pub(super) fn available_memory_bytes() -> u64 {
    memory_bytes()
}

/// The highest limit of open files worth asking for, given the hard one; `None` is no limit.
///
/// setrlimit(2) refuses more than OPEN_MAX even where the hard limit is infinite.
pub(super) fn open_files_ceiling(hard: Option<u64>) -> Option<u64> {
    const OPEN_MAX: u64 = 10_240;
    Some(hard.map_or(OPEN_MAX, |hard| hard.min(OPEN_MAX)))
}

pub(super) fn open_files() -> u64 {
    std::fs::read_dir("/dev/fd").map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

/// The system does not tell how many threads it has.
pub(super) fn thread_ceilings() -> Vec<super::Ceiling> {
    Vec::new()
}
