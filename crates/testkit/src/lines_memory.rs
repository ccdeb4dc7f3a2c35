//! Lines for the memory of buffers, locks on files, and sizes that go by the order of I/O.

use crate::lines::{Line, M, exact, fails};

/// Where buffers are changes nothing in what is moved.
pub const MEMORY: &[Line] = &[
    exact("mem", "--rw=write --size=64k --mem=malloc"),
    exact("mem", "--rw=write --size=64k --mem=shm"),
    exact("mem", "--rw=read --size=64k --mem=mmap"),
    exact("mem", "--rw=write --size=64k --iomem=mmapshared --numjobs=2"),
    exact("mem at a depth", "--rw=randwrite --size=256k --mem=shm --ioengine=libaio --iodepth=8 --direct=1"),
    exact("mem at a depth", "--rw=randread --size=256k --mem=mmapshared --ioengine=io_uring --iodepth=8 --fixedbufs"),
    exact("mem, a file", "--rw=write --size=64k --filename=data --mem=mmap:buffers"),
    fails("mem, no such word", "--rw=write --size=64k --mem=calloc"),
    fails("mem of a GPU", "--rw=write --size=64k --mem=cudamalloc"),
    exact("iomem_align", "--rw=write --size=64k --iomem_align=4k --direct=1"),
    exact("iomem_align", "--rw=randread --size=256k --bs=5000 --iomem_align=512 --ioengine=libaio --iodepth=4"),
    exact("iomem_align", "--rw=write --size=64k --iomem_align=1000"),
    exact("iomem_align", "--rw=write --size=64k --mem_align=1m --mem=shm"),
    fails("gpu_dev_id", "--rw=write --size=64k --gpu_dev_id=1"),
];

/// The same in huge pages, of which some must be free.
pub const HUGE: &[Line] = &[
    exact("mem in huge pages", "--rw=write --size=64k --mem=shmhuge"),
    exact("mem in huge pages", "--rw=write --size=64k --mem=mmaphuge"),
    exact("mem in huge pages", "--rw=write --size=64k --mem=mmaphuge --ioengine=libaio --iodepth=4 --direct=1"),
    exact("hugepage-size", "--rw=write --size=64k --mem=shmhuge --hugepage-size=4m"),
    exact("hugepage-size", "--rw=write --size=64k --mem=mmaphuge --hugepage-size=2m"),
];

/// Written blocks that are trimmed on a loop device, which `DEVICE` stands for. (fio 3.33 trims none without a
/// backlog, and in jobs that do not trim by `rw` it ends by an assertion.)
pub const TRIMMED: &[Line] = &[
    exact(
        "trim_percentage",
        "--filename=DEVICE --rw=trimwrite --size=64k --verify=md5 --trim_percentage=100 --trim_backlog=4",
    ),
    exact(
        "trim_backlog_batch",
        "--filename=DEVICE --rw=trimwrite --size=64k --verify=md5 --trim_percentage=100 --trim_backlog=4 \
         --trim_backlog_batch=2",
    ),
    exact(
        "trim_percentage with do_verify=0",
        "--filename=DEVICE --rw=trimwrite --size=64k --verify=md5 --trim_percentage=100 --trim_backlog=4 --do_verify=0",
    ),
    exact(
        "trim_percentage=0",
        "--filename=DEVICE --rw=write --size=64k --verify=md5 --trim_percentage=0 --trim_backlog=4",
    ),
];

/// Who is at a file, and in which order syncs come.
pub const ORDERED: &[Line] = &[
    exact("lockfile", "--rw=write --size=256k --lockfile=exclusive --filename=data --numjobs=3"),
    exact("lockfile", "--rw=randread --size=256k --lockfile=readwrite --filename=data --numjobs=3")
        .with(&[("data", M)]),
    exact("lockfile of several files", "--rw=write --size=256k --lockfile=exclusive --filename=a:b --numjobs=2"),
    exact(
        "lockfile at a depth",
        "--rw=randwrite --size=256k --lockfile=exclusive --nrfiles=2 --ioengine=libaio --iodepth=4 --direct=1",
    ),
    exact("lockfile without files", "--ioengine=null --size=64k --lockfile=readwrite"),
    fails("lockfile, no such word", "--rw=write --size=64k --lockfile=1"),
    exact("fsync with loops", "--rw=write --size=64k --fsync=1 --loops=2"),
    exact("fsync with loops", "--rw=write --size=64k --fsync=1 --loops=3"),
    exact("fsync with loops", "--rw=write --size=64k --fsync=4 --loops=2"),
    exact("fsync with loops", "--rw=write --size=64k --fsync=5 --loops=3"),
    exact("fsync with loops", "--rw=randwrite --size=64k --fsync=1 --loops=2"),
    exact("fsync with io_size", "--rw=write --size=64k --fsync=1 --io_size=128k"),
    exact("fsync with loops and files", "--rw=write --size=64k --fsync=1 --loops=2 --nrfiles=2"),
    exact(
        "fsync with loops and verify",
        "--rw=write --size=64k --fsync=1 --loops=2 --verify=md5 --verify_state_save=0",
    ),
    exact("bs_is_seq_rand", "--rw=write --size=256k --bs=4k,16k --bs_is_seq_rand=1"),
    exact("bs_is_seq_rand", "--rw=read --size=256k --bs=4k,16k --bs_is_seq_rand=1"),
    exact("bs_is_seq_rand", "--rw=randwrite --size=256k --bs=4k,16k --bs_is_seq_rand=1 --norandommap"),
    exact("bs_is_seq_rand", "--rw=randread --size=256k --bs=4k,16k --bs_is_seq_rand=1 --norandommap"),
    exact("bs_is_seq_rand", "--rw=randwrite --size=256k --bs=16k,4k --bs_is_seq_rand=1"),
    exact("stats of a group", "--rw=write --size=64k --group_reporting --name=a --numjobs=2 --name=b --stats=0"),
    exact("log_prio", "--rw=read --size=64k --prio=3 --log_prio=1 --disable_slat=1"),
];
