//! Linux.

pub(super) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

pub(super) fn available_memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    kib.map_or_else(memory_bytes, |kib: u64| kib * 1024)
}

/// The highest limit of open files worth asking for, given the hard one; `None` is no limit.
pub(super) fn open_files_ceiling(hard: Option<u64>) -> Option<u64> {
    hard
}
