//! Where and as whom a worker's thread runs: CPUs, NUMA nodes, priorities, group and user, locked memory.

use iostrata_os::cgroup::BlkioGroup;
use iostrata_os::memory::Mapping;
use iostrata_os::thread::{self, MemoryPolicy};
use iostrata_spec::{CpuPolicy, Job, NumaNodes, NumaPolicy};

use crate::error::RunError;
use crate::plan::WorkerPlan;

/// What a placed thread holds while it runs.
pub(super) struct Placed {
    _locked: Option<Mapping>,
}

/// The class that a level alone means: best effort.
const BEST_EFFORT: u8 = 2;
/// Of the free memory, the share that `lockmem` leaves alone: one part in this many.
const SPARED: u64 = 16;

/// Places the calling thread. The rights come last: what is before may need those it gives up.
pub(super) fn place_thread(plan: &WorkerPlan) -> Result<Placed, RunError> {
    let job = &*plan.job;
    let process = &job.process;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| RunError::system(job, None, &what, &error)
    };
    place_on_cpus(plan)?;
    place_memory(job)?;
    if let Some(nice) = process.nice {
        thread::set_nice_current(nice).map_err(failed("setting the nice value"))?;
    }
    if process.io_priority.is_some() || process.io_class > 0 || process.io_hint > 0 {
        let class = if process.io_class == 0 { BEST_EFFORT } else { process.io_class };
        thread::set_io_priority_current(class, process.io_priority.unwrap_or(0), process.io_hint)
            .map_err(failed("setting the I/O priority"))?;
    }
    let locked = lock_memory(job)?;
    if let Some(group) = &process.cgroup {
        let joined = BlkioGroup::find_or_make(group).and_then(|(group, _)| group.add_thread(thread::current_tid()));
        joined.map_err(failed("joining the group of cgroup="))?;
    }
    if let Some(group) = process.group {
        thread::become_group_current(group).map_err(failed("taking on the group of gid="))?;
    }
    if let Some(user) = process.user {
        thread::become_user_current(user).map_err(failed("taking on the user of uid="))?;
    }
    Ok(Placed { _locked: locked })
}

fn place_on_cpus(plan: &WorkerPlan) -> Result<(), RunError> {
    let job = &plan.job;
    let mut cpus = job.cpus.clone();
    if let Some(nodes) = &job.process.numa_cpus {
        let of_nodes = node_list(job, nodes)?.into_iter().map(|node| {
            thread::cpus_of_node(node)
                .map_err(|error| RunError::system(job, None, &format!("looking for the CPUs of node {node}"), &error))
        });
        cpus.extend(of_nodes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
    }
    if cpus.is_empty() {
        return Ok(());
    }
    let own = [cpus[plan.clone as usize % cpus.len()]];
    let cpus = match job.cpu_policy {
        CpuPolicy::Shared => &cpus[..],
        CpuPolicy::Split => &own[..],
    };
    thread::pin_current(cpus).map_err(|error| RunError::system(job, None, "setting the CPU affinity", &error))
}

fn place_memory(job: &Job) -> Result<(), RunError> {
    let set = |policy| {
        thread::set_memory_policy_current(policy)
            .map_err(|error| RunError::system(job, None, "setting numa_mem_policy", &error))
    };
    match &job.process.numa_memory {
        NumaPolicy::Default => Ok(()),
        NumaPolicy::Local => set(MemoryPolicy::Local),
        NumaPolicy::Prefer(node) => set(MemoryPolicy::Prefer(*node)),
        NumaPolicy::Bind(nodes) => set(MemoryPolicy::Bind(&node_list(job, nodes)?)),
        NumaPolicy::Interleave(nodes) => set(MemoryPolicy::Interleave(&node_list(job, nodes)?)),
    }
}

fn node_list(job: &Job, nodes: &NumaNodes) -> Result<Vec<u32>, RunError> {
    match nodes {
        NumaNodes::List(list) => Ok(list.clone()),
        NumaNodes::All => {
            thread::numa_nodes().map_err(|error| RunError::system(job, None, "looking for NUMA nodes", &error))
        }
    }
}

/// Locking more than there is would not fail: the kernel would end programs until it fits, ours perhaps, perhaps not.
fn lock_memory(job: &Job) -> Result<Option<Mapping>, RunError> {
    let bytes = job.process.locked_bytes;
    if bytes == 0 {
        return Ok(None);
    }
    let free = iostrata_os::host::available_memory_bytes();
    let most = free - free / SPARED;
    if bytes > most {
        let text = format!("lockmem={bytes} is more than the {most} bytes of memory that can be locked here now");
        return Err(RunError::job_errno(job, libc::ENOMEM, text));
    }
    let lock = || {
        let memory = Mapping::new(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        memory.lock().map(|()| memory)
    };
    lock().map(Some).map_err(|error| {
        let error = RunError::system(job, None, &format!("locking {bytes} bytes of memory"), &error);
        RunError { text: format!("{}; `ulimit -l` says how much a user may lock", error.text), ..error }
    })
}
