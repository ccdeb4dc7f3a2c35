//! Linux.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, geteuid, getrlimit};

use super::Ceiling;

pub(super) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

pub(super) fn available_memory_bytes() -> u64 {
    let text = read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    kib.map_or_else(memory_bytes, |kib: u64| kib * 1024)
}

pub(super) fn cpu_idle_ns() -> std::io::Result<Vec<(u32, u64)>> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let text = read_to_string("/proc/stat")?;
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

pub(super) fn open_files() -> u64 {
    // The listing itself is one of them while it is made.
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

/// Everything that limits threads, with its use now.
pub(super) fn thread_ceilings() -> Vec<Ceiling> {
    let mut ceilings = Vec::new();
    let mut add = |name: String, most: Option<u64>, used: Option<u64>, remedy: String| {
        if let (Some(most), Some(used)) = (most, used) {
            ceilings.push(Ceiling { name, most, used, remedy });
        }
    };
    let on_machine = threads_on_machine();
    for (file, name, used) in [
        ("kernel/threads-max", "kernel.threads-max", on_machine),
        ("kernel/pid_max", "kernel.pid_max", on_machine),
        ("vm/max_map_count", "vm.max_map_count", maps()),
    ] {
        let most = number_in(&Path::new("/proc/sys").join(file));
        let what = if name.starts_with("vm") { "memory mappings in a process" } else { "threads on this machine" };
        let shown = most.unwrap_or(0);
        let remedy = format!("`sysctl -w {name}={}`", shown.saturating_mul(4));
        add(format!("{name} allows {shown} {what}"), most, used, remedy);
    }
    for (folder, file) in process_groups() {
        let most = number_in(&folder.join("pids.max"));
        let used = number_in(&folder.join("pids.current"));
        let name = format!("the control group {} allows {} threads", folder.display(), most.unwrap_or(0));
        add(name, most, used, format!("write a larger number, or `max`, to {}", file.display()));
    }
    // The superuser is not held to it.
    if !geteuid().is_root() {
        let most = getrlimit(Resource::Nproc).current;
        let name = format!("this user may have {} threads", most.unwrap_or(0));
        add(name, most, status_number("Threads:"), "`ulimit -u`".into());
    }
    let space = getrlimit(Resource::As).current;
    let name = format!("this process may have {} bytes of address space", space.unwrap_or(0));
    add(name, space, status_number("VmSize:").map(|kib| kib * 1024), "`ulimit -v`".into());
    ceilings
}

fn number_in(file: &Path) -> Option<u64> {
    read_to_string(file).ok()?.trim().parse().ok()
}

/// A number of /proc/self/status.
fn status_number(key: &str) -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok())
}

/// The fourth word of /proc/loadavg is `running/all`.
fn threads_on_machine() -> Option<u64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn maps() -> Option<u64> {
    Some(read_to_string("/proc/self/maps").ok()?.lines().count() as u64)
}

/// The control groups that this process is in and that may limit its threads, with the file that does.
fn process_groups() -> Vec<(PathBuf, PathBuf)> {
    let text = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group_of = |line: &str| -> Option<(PathBuf, PathBuf)> {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let root = match controllers {
            "" if number == "0" => PathBuf::from("/sys/fs/cgroup"),
            list if list.split(',').any(|name| name == "pids") => PathBuf::from("/sys/fs/cgroup/pids"),
            _ => return None,
        };
        Some((root.clone(), root.join(path.trim_start_matches('/'))))
    };
    let ancestors = |(root, folder): (PathBuf, PathBuf)| {
        let inside = folder.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_path_buf);
        inside.collect::<Vec<_>>()
    };
    let folders = text.lines().filter_map(group_of).flat_map(ancestors);
    folders.map(|folder| (folder.clone(), folder.join("pids.max"))).collect()
}
