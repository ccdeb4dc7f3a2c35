//! Lines about errors, order, rights and placement of jobs.

use crate::lines::{Check, Line};

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: &[], check }
}

const fn exact(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Exact)
}

/// Runs whose counts are the same every time. Where I/Os fail, fio has them among its I/Os and we apart.
pub const COUNTED: &[Line] = &[
    line("ignore_error, a name", "--filename=/dev/full --rw=write --size=64k --ignore_error=,ENOSPC", Check::Ends),
    line("ignore_error, a number", "--filename=/dev/full --rw=write --size=64k --ignore_error=,28", Check::Ends),
    line("ignore_error of reads", "--filename=/dev/full --rw=write --size=64k --ignore_error=ENOSPC", Check::Ends),
    line("error_dump", "--filename=/dev/full --rw=write --size=8k --ignore_error=,ENOSPC --error_dump=1", Check::Ends),
    line("continue_on_error", "--filename=/dev/full --rw=write --size=64k --continue_on_error=all", Check::Ends),
    line("continue_on_error of reads", "--filename=/dev/full --rw=rw --size=64k --continue_on_error=read", Check::Ends),
    line("ignore_error, a wrong name", "--ioengine=null --size=64k --ignore_error=NONE", Check::Fails),
    exact("wait_for", "--size=64k --name=a --rw=write --name=b --wait_for=a --rw=read"),
    exact("wait_for of clones", "--size=64k --name=a --rw=write --numjobs=3 --name=b --wait_for=a --rw=read"),
    line("wait_for, no such job", "--ioengine=null --size=64k --name=b --wait_for=a", Check::Fails),
    line("wait_for oneself", "--ioengine=null --size=64k --name=b --wait_for=b", Check::Fails),
    line("wait_for, two such jobs", "--ioengine=null --size=64k --name=a --name=a --name=b --wait_for=a", Check::Fails),
    exact("exitall_on_error without an error", "--size=64k --exitall_on_error --name=a --rw=write --name=b --rw=read"),
    exact("exec_prerun", "--rw=write --size=64k --exec_prerun=true --exec_postrun=true"),
    exact("prio", "--rw=write --size=64k --prio=3"),
    exact("prioclass", "--rw=write --size=64k --prioclass=2 --prio=7"),
    exact("numa_cpu_nodes", "--rw=write --size=64k --numa_cpu_nodes=0"),
    exact("numa_mem_policy", "--rw=write --size=64k --numa_mem_policy=bind:0"),
    exact("numa_mem_policy", "--rw=write --size=64k --numa_mem_policy=local"),
    exact("lockmem", "--rw=write --size=64k --lockmem=1m"),
    exact(
        "serialize_overlap",
        "--rw=randwrite --size=64k --norandommap --ioengine=libaio --direct=1 --iodepth=8 --serialize_overlap=1",
    ),
    exact("flow of one job", "--rw=read --size=256k --flow=3"),
    line("prio above its limit", "--ioengine=null --size=64k --prio=9", Check::Fails),
];

/// Runs whose end is another job's.
pub const TIMED: &[Line] = &[
    line(
        "exit_what=stonewall",
        "--ioengine=null --size=1g --rate=40m --time_based --exit_what=stonewall --name=a --runtime=1 --exitall \
         --name=b --runtime=20 --name=c --new_group --runtime=20 --name=d --stonewall --runtime=1",
        Check::Time(15),
    ),
    line(
        "exit_what=all",
        "--ioengine=null --size=1g --rate=40m --time_based --exit_what=all --name=a --runtime=1 --exitall \
         --name=b --new_group --runtime=20 --name=d --stonewall --runtime=20",
        Check::Time(15),
    ),
    line(
        "exitall and one that waits",
        "--ioengine=null --size=1g --rate=40m --time_based --name=a --runtime=1 --exitall --name=b --wait_for=a \
         --runtime=20",
        Check::Time(15),
    ),
    line(
        "exitall_on_error",
        "--ioengine=null --size=1g --rate=40m --time_based --exitall_on_error --name=a --ioengine=psync \
         --filename=/dev/full --rw=write --size=64k --name=b --new_group --runtime=1",
        Check::Ends,
    ),
    line(
        "flow and flow_id",
        "--ioengine=null --size=1g --time_based --runtime=1 --flow_id=3 --flow_sleep=500 --name=a --flow=1 --name=b \
         --flow=2",
        Check::Time(15),
    ),
];
