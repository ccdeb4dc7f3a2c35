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

pub(super) fn cpu_idle_ns() -> std::io::Result<Vec<(u32, u64)>> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let text = std::fs::read_to_string("/proc/stat")?;
    // `cpuN user nice system idle iowait …`, in ticks.
    let cpu = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        let number = fields.next()?.parse().ok()?;
        let ticks: Vec<u64> = fields.skip(3).take(2).filter_map(|field| field.parse().ok()).collect();
        Some((number, ticks.iter().sum::<u64>() * tick_ns))
    };
    Ok(text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(cpu).collect())
}

/// The highest limit of open files worth asking for, given the hard one; `None` is no limit.
pub(super) fn open_files_ceiling(hard: Option<u64>) -> Option<u64> {
    hard
}
