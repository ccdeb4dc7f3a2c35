//! Lines about files: which come next, how many are open, what is made of them before and after.

use crate::lines::{K, Line, M, exact, fails};

/// Which file comes next, and how many are open.
pub const SERVICE: &[Line] = &[
    exact("openfiles", "--rw=write --size=1m --nrfiles=4 --openfiles=2"),
    exact("openfiles", "--rw=randread --size=1000k --nrfiles=5 --openfiles=2 --ioengine=libaio --iodepth=8"),
    exact("openfiles above nrfiles", "--rw=write --size=64k --nrfiles=2 --openfiles=9"),
    exact("openfiles with loops", "--rw=write --size=256k --nrfiles=4 --openfiles=1 --loops=3"),
    exact("openfiles and io_size", "--rw=write --size=256k --nrfiles=4 --openfiles=1 --io_size=100k"),
    exact("openfiles and io_size", "--rw=write --size=256k --nrfiles=4 --openfiles=3 --io_size=600k"),
    exact("openfiles and fsync", "--rw=write --size=256k --nrfiles=4 --openfiles=2 --fsync=5 --end_fsync=1"),
    exact("file_service_type=random", "--rw=write --size=1m --nrfiles=4 --file_service_type=random"),
    exact("file_service_type=random", "--rw=randread --size=1m --nrfiles=4 --file_service_type=random:4"),
    exact("file_service_type=roundrobin", "--rw=read --size=1000k --nrfiles=3 --file_service_type=roundrobin:7"),
    exact(
        "file_service_type=roundrobin",
        "--rw=write --nrfiles=3 --size=96k --file_service_type=roundrobin:2 --fsync=3",
    ),
    exact("file_service_type=sequential", "--rw=write --size=1000k --nrfiles=3 --file_service_type=sequential"),
    exact(
        "file_service_type=sequential",
        "--rw=write --nrfiles=3 --size=96k --file_service_type=sequential --number_ios=9",
    ),
    exact("file_service_type=sequential", "--rw=read --file_service_type=sequential --filename=a:b --openfiles=1")
        .with(&[("a", 64 * K), ("b", M)]),
    exact("file_service_type=zipf", "--rw=read --size=1m --nrfiles=4 --file_service_type=zipf:1.2"),
    exact("file_service_type=pareto", "--rw=randread --size=1m --nrfiles=4 --file_service_type=pareto:0.3"),
    exact("file_service_type=normal", "--rw=randread --size=1m --nrfiles=4 --file_service_type=normal:20"),
    fails("file_service_type=zipf:1", "--rw=read --size=1m --nrfiles=4 --file_service_type=zipf:1"),
    fails("file_service_type=pareto:2", "--rw=read --size=1m --nrfiles=4 --file_service_type=pareto:2"),
];

/// What is made of files before and after, and where in them a job begins.
pub const SHAPES: &[Line] = &[
    exact("offset_align", "--rw=read --filename=data --offset=33% --offset_align=64k").with(&[("data", 1_000_000)]),
    exact("offset_align", "--rw=read --filename=data --offset=33% --offset_align=512").with(&[("data", 1_000_000)]),
    exact("offset_align", "--rw=write --filename=data --offset=50% --offset_align=3000").with(&[("data", 1_000_000)]),
    exact("offset_align of bytes", "--rw=read --filename=data --offset=1000 --offset_align=64k").with(&[("data", M)]),
    exact(
        "offset_increment in percent",
        "--rw=write --filename=data --size=8k --offset=10% --offset_increment=20% --numjobs=4",
    )
    .with(&[("data", 100_000)]),
    exact("opendir", "--rw=read --opendir=d").with(&[("d/a", 64 * K), ("d/b", 40 * K), ("d/e/c", 20 * K)]),
    exact("opendir", "--rw=write --opendir=d --size=48k").with(&[("d/a", 64 * K), ("d/b", 40 * K), ("d/e/c", 20 * K)]),
    exact("pre_read", "--rw=read --size=256k --pre_read=1"),
    exact("pre_read", "--rw=randwrite --size=256k --nrfiles=2 --pre_read=1 --ioengine=libaio --iodepth=4"),
    exact("create_on_open, a folder to be made", "--rw=write --create_on_open=1 --filename=d/e/f --size=64k"),
    exact("unlink_each_loop", "--rw=write --size=64k --unlink_each_loop=1 --loops=3"),
    exact("unlink_each_loop", "--rw=write --size=64k --unlink_each_loop=1"),
    exact("fill_device with room", "--rw=write --size=256k --fill_device=1 --nrfiles=2"),
];
