//! Lines about the command line's own options.

use crate::lines::{Check, Line, M};

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: &[], check }
}

/// Canned workloads, beside fio's. fio 3.33 often hangs in `--prep`.
pub const PROFILES: &[Line] = &[
    line("act", "--profile=act --device-names=data --test-duration=1", Check::Time(10)).with(&[("data", 16 * M)]),
    line(
        "act with options",
        "--profile=act --device-names=a,b --load=2 --threads-per-queue=2 --read-req-num-512-blocks=8 \
         --large-block-op-kbytes=65536 --test-duration=1",
        Check::Time(10),
    )
    .with(&[("a", 16 * M), ("b", 16 * M)]),
    line("act without devices", "--profile=act", Check::Fails),
    line("no such profile", "--profile=none", Check::Fails),
    line("a profile in a job that is named", "--name=j --ioengine=null --size=64k --profile=none", Check::Fails),
];

/// Logs and reports that leave what is done as it is.
pub const LEFT_ALONE: &[Line] = &[
    line("idle-prof", "--rw=read --size=64k --idle-prof=system", Check::Exact),
    line("status-interval", "--rw=read --size=64k --status-interval=10", Check::Exact),
    line("idle-prof, a wrong word", "--rw=read --size=64k --idle-prof=cpu", Check::Fails),
];

/// What is done at once: the arguments, and whether the first line of standard output must be the same.
pub const AT_ONCE: &[(&str, bool)] = &[
    ("--memcpytest=none", false),
    ("--crctest=none", false),
    ("--cpuclock-test", true),
    ("--idle-prof=calibrate", true),
    ("--inflate-log=no-such-file", true),
    ("--debug=help", false),
    ("--terse-version=9", false),
    ("--latency-log=x", false),
];
