//! How a job stands among the others and in the system: order, company, rights, placement, and its errors.

/// `exit_what=`: whom an ending job with `exitall` takes along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitScope {
    /// The jobs of its reporting group.
    #[default]
    Group,
    /// All that run now; the run goes on behind the next barrier.
    Stonewall,
    /// All, those that have not begun too.
    All,
}

/// When a job begins, and whom its end takes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// `wait_for`: begin when every clone of this job has ended.
    pub wait_for: Option<String>,
    /// `exitall`.
    pub exit_all: bool,
    /// `exitall_on_error`.
    pub exit_all_on_error: bool,
    /// `exit_what`.
    pub exit_scope: ExitScope,
}

/// `continue_on_error=`: whose errors do not end the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContinueOn {
    /// Nobody's.
    #[default]
    None,
    /// Those of reads.
    Read,
    /// Those of writes, trims and syncs.
    Write,
    /// Those of reads and writes.
    Io,
    /// Those that verification finds.
    Verify,
    /// All.
    All,
}

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A read failed.
    Read,
    /// A write, a trim or a sync failed.
    Write,
    /// Data was not what it should be.
    Verify,
}

/// Errors that do not end a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorRules {
    /// `continue_on_error`.
    pub continue_on: ContinueOn,
    /// `ignore_error`: for reads, writes and verification each, the errnos that are passed over instead of EIO and
    /// EILSEQ; an empty list leaves these two.
    pub ignored: [Vec<i32>; 3],
    /// `error_dump`: what is passed over is printed.
    pub dump: bool,
}

impl ErrorRules {
    /// Whether a job goes on after such an error.
    pub fn pass_over(&self, kind: ErrorKind, errno: i32) -> bool {
        self.covers(kind) && {
            let named = &self.ignored[kind as usize];
            // What is no trouble of the device or of the data (no space, no permission) will not go away.
            if named.is_empty() { matches!(errno, libc::EIO | libc::EILSEQ) } else { named.contains(&errno) }
        }
    }

    /// Whether any error is passed over: reports then say how many there were.
    pub fn any(&self) -> bool {
        self.continue_on != ContinueOn::None || self.ignored.iter().any(|errnos| !errnos.is_empty())
    }

    fn covers(&self, kind: ErrorKind) -> bool {
        let by_kind = match kind {
            ErrorKind::Read => matches!(self.continue_on, ContinueOn::Read | ContinueOn::Io | ContinueOn::All),
            ErrorKind::Write => matches!(self.continue_on, ContinueOn::Write | ContinueOn::Io | ContinueOn::All),
            ErrorKind::Verify => matches!(self.continue_on, ContinueOn::Verify | ContinueOn::All),
        };
        by_kind || !self.ignored[kind as usize].is_empty()
    }
}

/// The share of a job in a flow: the I/Os of its jobs keep the ratio of their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// `flow`; 0: the job is in no flow. fio before 3.28 had negative ones: only the size counts.
    pub weight: i32,
    /// `flow_id`.
    pub id: u32,
    /// `flow_sleep`: how long a job that is ahead waits before it looks again, nanoseconds.
    pub sleep_ns: u64,
}

/// NUMA nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumaNodes {
    /// Every one.
    All,
    /// These, ascending.
    List(Vec<u32>),
}

/// `numa_mem_policy=`: from which nodes the job's memory comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NumaPolicy {
    /// As the system does.
    #[default]
    Default,
    /// From the node of the CPU that asks.
    Local,
    /// From this node, from others when it is full.
    Prefer(u32),
    /// From these nodes only.
    Bind(NumaNodes),
    /// From these nodes in turn.
    Interleave(NumaNodes),
}

/// Rights, priorities and placement of a job's thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// `comm`.
    pub thread_name: Option<String>,
    /// `nice`.
    pub nice: Option<i32>,
    /// `prioclass`: 1 real time, 2 best effort, 3 idle; 0 none.
    pub io_class: u8,
    /// `prio`, 0 (first) to 7.
    pub io_priority: Option<u8>,
    /// `priohint`.
    pub io_hint: u16,
    /// `numa_cpu_nodes`.
    pub numa_cpus: Option<NumaNodes>,
    /// `numa_mem_policy`.
    pub numa_memory: NumaPolicy,
    /// `uid`.
    pub user: Option<u32>,
    /// `gid`.
    pub group: Option<u32>,
    /// `cgroup`.
    pub cgroup: Option<String>,
    /// `cgroup_weight`.
    pub cgroup_weight: Option<u32>,
    /// `cgroup_nodelete`.
    pub cgroup_keep: bool,
    /// `lockmem`, bytes.
    pub locked_bytes: u64,
    /// `ioscheduler`.
    pub io_scheduler: Option<String>,
    /// `exec_prerun`.
    pub before: Option<String>,
    /// `exec_postrun`.
    pub after: Option<String>,
}

impl Process {
    /// The I/O priority as the kernel takes it: class, hint and level in one number; 0 if none was asked for.
    pub fn io_priority_word(&self) -> u16 {
        if self.io_priority.is_none() && self.io_class == 0 && self.io_hint == 0 {
            return 0;
        }
        // A level alone is one of the class "best effort".
        let class = if self.io_class == 0 { 2 } else { u16::from(self.io_class) };
        class << 13 | self.io_hint << 3 | u16::from(self.io_priority.unwrap_or(0))
    }
}

/// `io_submit_mode=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmitMode {
    /// The worker submits.
    #[default]
    Inline,
    /// Helper threads submit.
    Offload,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_and_data_errors_are_passed_over_and_others_only_when_named() {
        let rules = ErrorRules { continue_on: ContinueOn::Io, ..ErrorRules::default() };
        assert!(rules.pass_over(ErrorKind::Read, libc::EIO) && rules.pass_over(ErrorKind::Write, libc::EIO));
        assert!(!rules.pass_over(ErrorKind::Verify, libc::EILSEQ), "io is not verify");
        assert!(!rules.pass_over(ErrorKind::Write, libc::ENOSPC), "no space does not go away");
        let named = ErrorRules { ignored: [vec![], vec![libc::ENOSPC], vec![]], ..ErrorRules::default() };
        assert!(named.any() && named.pass_over(ErrorKind::Write, libc::ENOSPC));
        assert!(!named.pass_over(ErrorKind::Write, libc::EIO), "the list stands for the usual two");
        assert!(!named.pass_over(ErrorKind::Read, libc::EIO), "nothing was said of reads");
        assert!(!ErrorRules::default().any());
    }
}
