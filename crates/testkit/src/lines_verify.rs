//! Checking of data: how much is written and read back. (The state file has a form of our own, so it is not asked for.)

use crate::lines::{Check, Line, exact};

/// Which blocks come again, and so how many are read back, is drawn: exit code and errors.
const fn ends(about: &'static str, arguments: &'static str) -> Line {
    Line { about, arguments, given: &[], check: Check::Ends }
}

/// Lines whose amounts must be those of fio.
pub const CHECKED: &[Line] = &[
    exact("verify", "--rw=write --verify=md5 --size=64k --verify_state_save=0"),
    exact("verify", "--rw=randwrite --verify=crc32c --size=1m --verify_state_save=0"),
    exact("do_verify", "--rw=write --verify=md5 --do_verify=0 --size=64k --verify_state_save=0"),
    exact("verify with loops", "--rw=write --verify=md5 --loops=2 --size=64k --verify_state_save=0"),
    exact("verify with io_size", "--rw=write --verify=md5 --io_size=32k --size=64k --verify_state_save=0"),
    exact("verify with number_ios", "--rw=write --verify=md5 --number_ios=5 --size=64k --verify_state_save=0"),
    exact("verify_backlog", "--rw=write --verify=md5 --verify_backlog=5 --size=64k --verify_state_save=0"),
    exact("verify_interval", "--rw=write --verify=md5 --bs=16k --verify_interval=4k --size=64k --verify_state_save=0"),
    exact("verify_pattern", "--rw=write --verify_pattern=0xdeadbeef --size=64k --verify_state_save=0"),
    ends(
        "verify of unaligned sizes",
        "--rw=randwrite --verify=md5 --bsrange=4k-64k --bs_unaligned=1 --size=1m --verify_state_save=0",
    ),
    exact("verify with rw=write:N", "--rw=write:4k --verify=md5 --size=64k --verify_state_save=0"),
    exact(
        "verify with loops below size",
        "--rw=randwrite --verify=md5 --io_size=40k --loops=3 --size=64k \
        --verify_state_save=0",
    ),
    exact(
        "verify with zonemode",
        "--rw=randwrite --verify=md5 --zonemode=strided --zonesize=64k --size=256k \
        --verify_state_save=0",
    ),
    ends(
        "verify with a law",
        "--rw=randwrite --verify=md5 --random_distribution=zipf:1.2 --size=1m \
        --verify_state_save=0",
    ),
    ends(
        "verify with zones",
        "--rw=randwrite --verify=md5 --random_distribution=zoned:50/10:50/90 --size=1m \
        --verify_state_save=0",
    ),
    ends("verify with ba", "--rw=randwrite --verify=md5 --bs=8k --ba=4k --size=256k --verify_state_save=0"),
];
