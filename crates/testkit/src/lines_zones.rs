//! Lines about `zonemode=zbd` on a file: the zones are a model in both programs.

use crate::lines::{Check, Line};

const FILE: &[(&str, u64)] = &[("f", 1 << 20), ("g", 1 << 20)];

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: FILE, check }
}

const fn exact(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Exact)
}

const fn fails(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Fails)
}

/// `--zonemode=zbd --zonesize=64k --filename=f` and more.
macro_rules! zoned {
    ($more:literal) => {
        concat!("--zonemode=zbd --zonesize=64k --filename=f --bs=16k ", $more)
    };
}

/// A job that writes four zones, and another after it.
macro_rules! after_four {
    ($more:literal) => {
        concat!(
            "--zonemode=zbd --zonesize=64k --filename=f --name=w --rw=write --bs=16k --size=4z --name=t --stonewall ",
            $more
        )
    };
}

/// Each moves what fio moves.
pub const ZONES: &[Line] = &[
    exact("zonemode=zbd", zoned!("--rw=write --size=512k")),
    exact("zonemode=zbd, random", zoned!("--rw=randwrite --size=4z")),
    exact("size in zones", zoned!("--rw=write --size=4z")),
    exact("size of no whole zones", zoned!("--rw=write --size=150000")),
    exact("offset in zones", zoned!("--rw=write --offset=1z --size=2z")),
    exact("offset within a zone", zoned!("--rw=write --offset=100k --size=2z")),
    exact("offset_increment in zones", zoned!("--rw=write --size=4z --numjobs=2 --offset_increment=4z")),
    exact("io_size in zones", zoned!("--rw=randwrite --size=4z --io_size=8z")),
    // Whoever of the two meets a zone that the other filled resets it or passes on: their pace decides.
    line("zones shared by clones", zoned!("--rw=write --size=4z --numjobs=2"), Check::Ends),
    exact("zones, loops", zoned!("--rw=write --size=4z --loops=2")),
    exact("zones, depth", zoned!("--rw=randwrite --size=8z --ioengine=libaio --iodepth=8 --direct=1")),
    exact("zones, checked", zoned!("--rw=randwrite --size=4z --verify=crc32c --verify_state_save=0")),
    exact("zones, null", "--zonemode=zbd --zonesize=64k --rw=write --bs=16k --size=4z --ioengine=null"),
    exact("zonecapacity", zoned!("--rw=write --size=4z --zonecapacity=32k")),
    exact("zonecapacity, loops", zoned!("--rw=write --size=4z --zonecapacity=32k --loops=3")),
    exact("zonecapacity, random", zoned!("--rw=randwrite --size=4z --zonecapacity=32k --loops=3")),
    exact("zoneskip", zoned!("--rw=write --size=8z --io_size=3z --zoneskip=64k")),
    exact("zoneskip in zones", zoned!("--rw=write --size=8z --io_size=3z --zoneskip=1z")),
    exact("max_open_zones", zoned!("--rw=randwrite --size=8z --max_open_zones=2")),
    exact("job_max_open_zones", zoned!("--rw=randwrite --size=8z --max_open_zones=2 --job_max_open_zones=1")),
    exact("ignore_zone_limits", zoned!("--rw=randwrite --size=8z --max_open_zones=2 --ignore_zone_limits=1")),
    exact("zone_reset_frequency", zoned!("--rw=write --size=4z --zone_reset_threshold=0 --zone_reset_frequency=0.5")),
    exact("zone_reset_threshold", zoned!("--rw=randwrite --size=4z --zone_reset_threshold=0.5")),
    exact("reads of empty zones", zoned!("--rw=read --size=8z")),
    exact("reads of empty zones, random", zoned!("--rw=randread --size=8z")),
    exact("read_beyond_wp", zoned!("--rw=read --size=8z --read_beyond_wp=1")),
    exact("read_beyond_wp, random", zoned!("--rw=randread --size=8z --read_beyond_wp=1")),
    line("reads and writes of empty zones", zoned!("--rw=rw --size=8z"), Check::Ends),
    line("reads and writes of zones, random", zoned!("--rw=randrw --size=8z"), Check::Tossed),
    exact("reads of what was written", after_four!("--rw=read --bs=16k --size=8z")),
    exact("reads of what was written, random", after_four!("--rw=randread --bs=16k --size=8z")),
    exact("zones written again", after_four!("--rw=randwrite --bs=16k --size=4z")),
    exact("trims of zones", after_four!("--rw=trim --bs=64k --size=8z")),
    exact("trims of zones, random", after_four!("--rw=randtrim --bs=64k --size=8z")),
    exact("trims and writes of zones", after_four!("--rw=trimwrite --bs=64k --size=4z")),
    exact("trims of empty zones", zoned!("--rw=trim --bs=64k --size=8z")),
    exact("trims of empty zones, random", zoned!("--rw=randtrim --bs=64k --size=8z")),
    exact(
        "trims of no zones keep later jobs too from beginning",
        after_four!("--rw=trim --bs=16k --size=8z --name=g --filename=g --rw=write --bs=16k --size=2z"),
    ),
    fails("no zonesize", "--zonemode=zbd --filename=f --rw=write --size=512k"),
    fails("a zone of a few bytes", "--zonemode=zbd --zonesize=256 --filename=f --rw=write --size=512k"),
    fails("no whole zone", zoned!("--rw=write --size=32k")),
    fails("zonecapacity above zonesize", zoned!("--rw=write --size=4z --zonecapacity=128k")),
    fails("zoneskip of no whole zones", zoned!("--rw=write --size=4z --zoneskip=1000")),
    fails("trims of no zones", zoned!("--rw=trim --size=4z")),
    fails("blocks above zones", zoned!("--rw=write --bs=128k --size=4z")),
];

/// Lines whose zone resets are fio's, in the text of each job that writes.
pub const RESETS: &[&str] = &[
    zoned!("--rw=randwrite --size=4z"),
    zoned!("--rw=randwrite --size=4z --io_size=8z"),
    zoned!("--rw=write --size=4z --zonecapacity=32k --loops=3"),
    zoned!("--rw=randwrite --size=4z --zonecapacity=32k --loops=3"),
    zoned!("--rw=write --size=4z --zone_reset_threshold=0 --zone_reset_frequency=1"),
    zoned!("--rw=write --size=4z --zone_reset_threshold=0 --zone_reset_frequency=0.3"),
    after_four!("--rw=randwrite --bs=16k --size=4z"),
    after_four!("--rw=trimwrite --bs=64k --size=4z"),
];
