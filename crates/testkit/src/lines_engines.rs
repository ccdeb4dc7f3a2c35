//! Lines about engines: what each does to its files, and how often.

use crate::lines::{K, Line, M, exact, fails};

/// One engine after the other.
pub const ENGINES: &[Line] = &[
    exact("mmap", "--ioengine=mmap --rw=randread --size=1m --nrfiles=3"),
    exact("mmap", "--ioengine=mmap --rw=write --size=256k --fsync=7 --end_fsync=1"),
    exact("mmap, a file to be made", "--ioengine=mmap --rw=randwrite --size=256k --fdatasync=5 --number_ios=20"),
    exact("mmap, loops", "--ioengine=mmap --rw=read --size=256k --loops=3 --bs=10k"),
    exact("mmap, direct", "--ioengine=mmap --rw=randwrite --size=256k --direct=1"),
    exact("mmap, fadvise_hint", "--ioengine=mmap --rw=randread --size=256k --fadvise_hint=sequential --iodepth=8"),
    exact("mmap, offset", "--ioengine=mmap --rw=randread --filename=data --offset=333333 --bs=512")
        .with(&[("data", M)]),
    exact("mmap, verify", "--ioengine=mmap --rw=randwrite --size=256k --verify=crc32c --verify_state_save=0"),
    exact("mmap, thp", "--ioengine=mmap --rw=randread --size=4m --thp=1"),
    exact("splice", "--ioengine=splice --rw=randread --size=1m --nrfiles=3"),
    exact("splice", "--ioengine=splice --rw=write --size=1m --bs=200k --fsync=2"),
    exact("splice, direct", "--ioengine=splice --rw=randwrite --size=256k --direct=1"),
    exact(
        "splice, verify",
        "--ioengine=splice --rw=randwrite --size=256k --bs=128k --verify=md5 --verify_state_save=0",
    ),
    exact("falloc", "--ioengine=falloc --rw=read --size=256k"),
    exact("falloc", "--ioengine=falloc --rw=randwrite --size=256k --fallocate=none"),
    exact("falloc", "--ioengine=falloc --rw=randtrim --filename=data").with(&[("data", 64 * K)]),
    exact("ftruncate", "--ioengine=ftruncate --rw=write --size=256k"),
    exact("ftruncate, blocks", "--ioengine=ftruncate --rw=write --size=64k --bs=1k --fallocate=none --nrfiles=2"),
    fails("ftruncate, read", "--ioengine=ftruncate --rw=read --filename=data").with(&[("data", 64 * K)]),
    fails("ftruncate, trim", "--ioengine=ftruncate --rw=trim --filename=data").with(&[("data", 64 * K)]),
    exact("vsync", "--ioengine=vsync --rw=randrw --size=1m --nrfiles=3 --rwmixread=100"),
    exact("vsync", "--ioengine=vsync --rw=write --size=1m --bs=12k --fsync=4"),
    exact("vsync, verify", "--ioengine=vsync --rw=randwrite --size=256k --verify=crc32c --verify_state_save=0"),
    exact("vsync, direct", "--ioengine=vsync --rw=randread --size=256k --direct=1"),
    exact("filecreate", "--ioengine=filecreate --nrfiles=7 --filesize=4k --bs=4k"),
    exact("filecreate, one file at a time", "--ioengine=filecreate --nrfiles=7 --filesize=4k --bs=4k --openfiles=1"),
    exact("filecreate, a file that is there", "--ioengine=filecreate --filename=a:b --filesize=4k --bs=4k")
        .with(&[("b", 100)]),
    exact("filecreate, loops", "--ioengine=filecreate --nrfiles=3 --size=12k --rw=write --loops=2"),
    exact("filecreate, unlink", "--ioengine=filecreate --nrfiles=3 --filesize=4k --unlink=1"),
    exact(
        "filecreate, unlink_each_loop",
        "--ioengine=filecreate --nrfiles=3 --filesize=4k --loops=3 --unlink_each_loop=1",
    ),
    exact("filecreate, io_size", "--ioengine=filecreate --nrfiles=5 --filesize=4k --io_size=8k"),
    exact("filecreate, number_ios", "--ioengine=filecreate --nrfiles=5 --filesize=4k --number_ios=3"),
    exact(
        "filecreate, create_on_open",
        "--ioengine=filecreate --nrfiles=5 --filesize=4k --create_on_open=1 --rw=randread",
    ),
    exact("filecreate, jobs", "--ioengine=filecreate --nrfiles=5 --filesize=4k --numjobs=3 --group_reporting"),
    exact("filestat", "--ioengine=filestat --nrfiles=7 --filesize=4k --bs=4k --loops=2"),
    exact("filestat, write", "--ioengine=filestat --nrfiles=7 --filesize=4k --bs=4k --rw=write --openfiles=2"),
    exact("filestat, lstat", "--ioengine=filestat --nrfiles=7 --filesize=4k --bs=4k --stat_type=lstat"),
    exact("filestat, statx", "--ioengine=filestat --filename=a:x/b --filesize=4k --bs=4k --stat_type=statx"),
    exact("filedelete", "--ioengine=filedelete --nrfiles=7 --filesize=4k --bs=4k"),
    exact("filedelete, some", "--ioengine=filedelete --nrfiles=7 --filesize=4k --bs=4k --number_ios=3"),
    exact("filedelete, unlink", "--ioengine=filedelete --nrfiles=7 --filesize=4k --bs=4k --rw=write --unlink=1"),
    fails("filestat, allow_file_create", "--ioengine=filestat --nrfiles=2 --filesize=4k --allow_file_create=0"),
    fails("falloc of no bytes", "--ioengine=falloc --rw=randwrite --size=0"),
];
