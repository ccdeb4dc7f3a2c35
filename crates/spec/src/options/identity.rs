//! Names, order, processes, CPUs.

use super::MAX32;
use crate::job::{CpuPolicy, ExitScope};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, TimeUnit};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Identity, summary, doc)
}

const HOOK: Status = Status::Differs(
    "all that the command prints goes into the file (fio takes only the last command of a list), and a command before \
     the job that fails is the job's error (in fio the job does nothing and the exit code is 0)",
);

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "name",
        Kind::Text,
        "name of the job",
        "On the command line it begins a new job. In a job file it replaces \
        the section's name in the output; the names of generated files still come from the section.",
    )
    .access(plain!(Text, job.name)),
    row("description", Kind::Text, "free text about the job", "Printed with the job's results.")
        .access(plain!(some Text, job.description)),
    row(
        "numjobs",
        Kind::Int { min: 1, max: 1_000_000 },
        "how many clones of the job run",
        "Each clone has seeds, \
        generated file names and a place in `directory` lists of its own; `group_reporting` merges their results.",
    )
    .default("1")
    .access(int!(job.clones)),
    row("thread", Kind::Flag, "run clones as threads", "Jobs are threads with or without it.")
        .default("0")
        .access(flag!(job.thread))
        .status(Status::Differs("a job is always a thread, never a process")),
    row(
        "stonewall",
        Kind::Flag,
        "wait for all earlier jobs",
        "A barrier: the job begins when every job before it has \
        ended. It also begins a new reporting group. A second job file begins with one.",
    )
    .alias(&["wait_for_previous"])
    .default("0")
    .access(flag!(job.stonewall)),
    row("new_group", Kind::Flag, "begin a new reporting group", "As `stonewall`, but nothing waits.")
        .default("0")
        .access(flag!(job.new_group)),
    row(
        "group_reporting",
        Kind::Flag,
        "one report for the whole group",
        "The statistics of all jobs of a group are \
        merged into one report under the first one's name.",
    )
    .default("0")
    .access(flag!(job.reporting.group)),
    row(
        "wait_for",
        Kind::Text,
        "wait for one named job",
        "The job begins when every clone of the named earlier job \
        has ended. That name must be one job's only.",
    )
    .access(plain!(some Text, job.order.wait_for)),
    row(
        "startdelay",
        Kind::TimeRange(TimeUnit::Seconds),
        "pause before the job begins",
        "A range `low-high` gives \
        each clone a random pause within it.",
    )
    .default("0s")
    .access((
        |d, v| {
            if let crate::value::Value::NanosRange(low, high) = v {
                d.job.start_delay_ns = (low, high)
            }
        },
        |d| Some(crate::value::Value::NanosRange(d.job.start_delay_ns.0, d.job.start_delay_ns.1)),
    )),
    row("exitall", Kind::Flag, "end all jobs when this one ends", "The others finish what is in flight and report.")
        .default("0")
        .access(flag!(job.order.exit_all)),
    row(
        "exit_what",
        Kind::Choice(words!["group": "the job's own group", "stonewall": "all up to the next barrier",
        "all": "everything"]),
        "whom exitall ends",
        "The scope of `exitall` and `exitall_on_error`. Jobs in it that have not begun do not begin.",
    )
    .default("group")
    .access(choice!(job.order.exit_scope, "group" => ExitScope::Group, "stonewall" => ExitScope::Stonewall,
        "all" => ExitScope::All)),
    row("exitall_on_error", Kind::Flag, "end all jobs when this one fails", "As `exitall`, but only after an error.")
        .default("0")
        .access(flag!(job.order.exit_all_on_error)),
    row(
        "profile",
        Kind::Text,
        "a canned workload",
        "`--profile=tiobench` and `--profile=act` on the command line stand for plain jobs, which `--showcmd` shows. \
        Their own options are listed by `--profile=NAME --cmdhelp`; those of tiobench count here, while fio 3.33 \
        ignores them. Other options on the line stand above the profile's. The table of late reads that fio prints \
        for act is left out: the latencies in the report tell it.",
    )
    .status(Status::NoEffect("in a job file, where fio does nothing for it either; on the command line it is run")),
    row(
        "exec_prerun",
        Kind::Text,
        "command to run before the job",
        "A shell command; what it prints goes \
        into JOBNAME.prerun.txt.",
    )
    .status(HOOK)
    .access(plain!(some Text, job.process.before)),
    row(
        "exec_postrun",
        Kind::Text,
        "command to run after the job",
        "A shell command; what it prints goes into \
        JOBNAME.postrun.txt.",
    )
    .status(HOOK)
    .access(plain!(some Text, job.process.after)),
    row(
        "comm",
        Kind::Text,
        "name of the worker thread",
        "The name that `ps` and `top` show; the system keeps its first 15 bytes.",
    )
    .access(plain!(some Text, job.process.thread_name)),
    row(
        "nice",
        Kind::Int { min: -20, max: 19 },
        "priority of the worker",
        "From -20 (first) to 19 (last); below 0 \
        takes privilege.",
    )
    .default("0")
    .access(int!(some job.process.nice)),
    row("prio", Kind::Int { min: 0, max: 7 }, "I/O priority level", "0 is the highest, 7 the lowest.")
        .linux_only()
        .access(int!(some job.process.io_priority)),
    row("prioclass", Kind::Int { min: 0, max: 3 }, "I/O priority class", "1 real time, 2 best effort, 3 idle.")
        .linux_only()
        .default("0")
        .access(int!(job.process.io_class)),
    row("priohint", Kind::Int { min: 0, max: 1023 }, "I/O priority hint", "Goes into the hint bits of the priority.")
        .linux_only()
        .default("0")
        .access(int!(job.process.io_hint)),
    row("cpus_allowed", Kind::Cpus, "CPUs the job may run on", "A list such as `0,2-5`.")
        .linux_only()
        .access(plain!(Cpus, job.cpus)),
    row(
        "cpumask",
        Kind::CpuMask,
        "CPUs the job may run on, as a bit mask",
        "Bit 0 is CPU 0; for more than 64 CPUs \
        use `cpus_allowed`.",
    )
    .linux_only()
    .access(plain!(Cpus, job.cpus)),
    row(
        "cpus_allowed_policy",
        Kind::Choice(words!["shared": "every clone may use the whole set",
        "split": "each clone has one CPU, in turn"]),
        "how clones share the CPUs",
        "Only with `cpus_allowed`.",
    )
    .default("shared")
    .access(choice!(job.cpu_policy, "shared" => CpuPolicy::Shared, "split" => CpuPolicy::Split)),
    row("numa_cpu_nodes", Kind::Text, "NUMA nodes whose CPUs the job may use", "A list such as `0,2-5`, or `all`.")
        .linux_only()
        .access(plain!(some Text, texts.numa_cpu_nodes)),
    row(
        "numa_mem_policy",
        Kind::Text,
        "NUMA policy of the job's memory",
        "`default`, `prefer:N`, `bind:LIST`, \
        `interleave:LIST` or `local`.",
    )
    .linux_only()
    .access(plain!(some Text, texts.numa_mem_policy)),
    row("uid", Kind::Int { min: 0, max: MAX32 - 1 }, "user to run as", "A number; the job's thread takes it on.")
        .linux_only()
        .access(int!(some job.process.user)),
    row("gid", Kind::Int { min: 0, max: MAX32 - 1 }, "group to run as", "A number; the job's thread takes it on.")
        .linux_only()
        .access(int!(some job.process.group)),
    row(
        "cgroup",
        Kind::Text,
        "control group to join",
        "A group of version 1's blkio controller, which must be mounted; it is made if it is not there, and removed \
        after the run if it was made.",
    )
    .linux_only()
    .access(plain!(some Text, job.process.cgroup)),
    row("cgroup_weight", Kind::Int { min: 100, max: 1000 }, "blkio weight of the control group", "Version 1 only.")
        .linux_only()
        .access(int!(some job.process.cgroup_weight)),
    row("cgroup_nodelete", Kind::Bool, "keep the control group", "A created group is not removed.")
        .linux_only()
        .default("0")
        .access(flag!(job.process.cgroup_keep)),
    row(
        "lockmem",
        Kind::Bytes { min: 0, max: u64::MAX },
        "memory to lock",
        "Each worker holds so much memory, in RAM, while it runs: less is left for the page cache.",
    )
    .default("0")
    .status(Status::Differs("a job that asks for more than the machine has free fails, and nothing else is harmed"))
    .access(plain!(Bytes, job.process.locked_bytes)),
    row(
        "ioscheduler",
        Kind::Text,
        "scheduler of the device",
        "Switched before the run for the disk under each file; takes privilege.",
    )
    .linux_only()
    .status(Status::Differs(
        "the scheduler that was set before comes back after the run, also after an error or a \
        signal; fio leaves the new one",
    ))
    .access(plain!(some Text, job.process.io_scheduler)),
    row(
        "flow",
        Kind::Int { min: -1000, max: 1000 },
        "weight of the job in its flow",
        "Jobs of one `flow_id` keep \
        their I/O counts in the ratio of their weights, whatever their rates; 0 is in no flow. Of a negative \
        weight only the size counts.",
    )
    .default("0")
    .status(Status::Differs("the ratio holds also with negative weights, which fio stopped to understand"))
    .access(int!(job.flow.weight)),
    row("flow_id", Kind::Int { min: 0, max: MAX32 }, "which flow the job is in", "Only with `flow`.")
        .default("0")
        .access(int!(job.flow.id)),
    row(
        "flow_sleep",
        Kind::Int { min: 0, max: MAX32 },
        "pause of a job ahead of its flow",
        "Microseconds; 0 looks again at once.",
    )
    .default("0")
    .access((
        |d, v| {
            if let crate::value::Value::Int(us) = v {
                d.job.flow.sleep_ns = us.unsigned_abs() * 1_000;
            }
        },
        |d| Some(crate::value::Value::Int((d.job.flow.sleep_ns / 1_000).cast_signed())),
    )),
    row("flow_watermark", Kind::Text, "ignored", "fio ignores it too.").status(Status::NoEffect("fio ignores it too")),
];
