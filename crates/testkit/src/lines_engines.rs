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
    fails("falloc of no bytes", "--ioengine=falloc --rw=randwrite --size=0"),
];
