//! Lines about block sizes that are drawn, laws of offsets and zones.

use crate::lines::{Check, Line};

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: &[("f", 1 << 20)], check }
}

const fn sizes(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Bytes)
}

const fn exact(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Exact)
}

/// Each moves what fio moves.
pub const SHAPES: &[Line] = &[
    sizes("bsrange", "--filename=f --rw=read --size=1m --bsrange=4k-64k"),
    sizes("bsrange, random", "--filename=f --rw=randread --size=1m --bsrange=4k-64k"),
    sizes("bsrange, norandommap", "--filename=f --rw=randread --size=1m --bsrange=4k-64k --norandommap"),
    sizes("bsrange, a tail", "--filename=f --rw=randread --size=1000k --bsrange=4k-20k"),
    sizes("bsrange, loops", "--filename=f --rw=randread --size=512k --bsrange=4k-64k --loops=3"),
    sizes("bsrange, depth", "--filename=f --rw=randwrite --size=1m --bsrange=4k-64k --ioengine=libaio --iodepth=8"),
    sizes("bssplit", "--filename=f --rw=read --size=1m --bssplit=4k/50:20k/30:64k/20"),
    sizes("bssplit, random", "--filename=f --rw=randread --size=1m --bssplit=4k/50:20k/30:64k/20"),
    sizes("bssplit, the rest shared", "--filename=f --rw=randwrite --size=1m --bssplit=4k/10:8k/:16k/"),
    sizes("bssplit, several files", "--rw=randwrite --size=1m --nrfiles=4 --bssplit=4k/50:8k/50"),
    exact("ba", "--filename=f --rw=randread --size=1m --bs=12k --ba=4k"),
    exact("percentage_random", "--filename=f --rw=randread --size=1m --bs=4k --percentage_random=50"),
    exact("percentage_random, none", "--filename=f --rw=randwrite --size=1m --bs=4k --percentage_random=0"),
    exact("rw_sequencer", "--filename=f --rw=randread:4 --size=256k --rw_sequencer=identical"),
    exact("rw_sequencer, sequential", "--filename=f --rw=randread:4 --size=256k --rw_sequencer=sequential"),
    exact("zipf", "--filename=f --rw=randread --size=1m --random_distribution=zipf:1.2"),
    exact("pareto", "--filename=f --rw=randwrite --size=1m --random_distribution=pareto:0.2"),
    exact("normal", "--filename=f --rw=randread --size=1m --random_distribution=normal:10"),
    exact("zoned", "--filename=f --rw=randread --size=1m --random_distribution=zoned:50/5:30/15:20/"),
    exact("zoned_abs", "--filename=f --rw=randread --size=1m --random_distribution=zoned_abs:60/64k:40/192k"),
    exact("zonemode", "--filename=f --rw=read --size=256k --zonemode=strided --zonesize=16k --zoneskip=48k"),
    exact("zonerange", "--filename=f --rw=randread --size=256k --zonemode=strided --zonesize=16k --zonerange=64k"),
    line("zonesize without zones", "--filename=f --rw=read --size=64k --zonesize=16k", Check::Fails),
];
