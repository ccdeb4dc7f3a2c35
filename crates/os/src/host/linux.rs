//! Linux.

pub(super) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

/// The highest limit of open files worth asking for, given the hard one; `None` is no limit.
pub(super) fn open_files_ceiling(hard: Option<u64>) -> Option<u64> {
    hard
}
