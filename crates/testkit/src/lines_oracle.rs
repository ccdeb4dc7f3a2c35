//! Jobs of the whole language that strace watches in both programs: offsets, sizes, operations, flags, depth, and where
//! among the transfers the syncs stand.

use crate::lines::{K, M};

/// A job to watch.
pub struct Watched {
    /// What it is about.
    pub about: &'static str,
    /// The arguments, blanks between them; `--name=j` is put in front unless they name a job.
    pub arguments: &'static str,
    /// Files made before: name and size.
    pub given: &'static [(&'static str, u64)],
    /// What the transfers must have in common.
    pub order: Order,
}

/// What the transfers of both programs must have in common, file by file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All: the same, one after the other, files in the same turns.
    Same,
    /// The same ones, in an order of each program's own.
    Covers,
    /// Reads among themselves, and writes, go up from the region's start block by block; which is next is tossed.
    /// As many in all.
    TwoSequences,
    /// As many of the same size; each at a multiple of `block` (from `from` on), from `from` to below `to`.
    Drawn {
        /// Bytes.
        block: u64,
        /// Bytes.
        from: u64,
        /// Bytes.
        to: u64,
    },
    /// Sizes are drawn; together they meet every byte from `from` to below `to` once.
    Tiles {
        /// Bytes.
        from: u64,
        /// Bytes.
        to: u64,
    },
}

impl Watched {
    const fn of(mut self, given: &'static [(&'static str, u64)]) -> Watched {
        self.given = given;
        self
    }

    /// The arguments as a list.
    pub fn words(&self) -> Vec<&'static str> {
        let first = if self.arguments.contains("--name") { None } else { Some("--name=j") };
        first.into_iter().chain(self.arguments.split_whitespace()).collect()
    }
}

const fn watched(about: &'static str, arguments: &'static str, order: Order) -> Watched {
    Watched { about, arguments, given: &[], order }
}

const fn same(about: &'static str, arguments: &'static str) -> Watched {
    watched(about, arguments, Order::Same)
}

const fn covers(about: &'static str, arguments: &'static str) -> Watched {
    watched(about, arguments, Order::Covers)
}

const fn drawn(about: &'static str, block: u64, to: u64, arguments: &'static str) -> Watched {
    watched(about, arguments, Order::Drawn { block, from: 0, to })
}

const DATA: &[(&str, u64)] = &[("data", M)];

/// Where in a file and in what steps.
pub const PLACES: &[Watched] = &[
    same("a hole after each", "--rw=read:4k --size=64k"),
    same("a hole that wraps", "--rw=write:60k --size=256k"),
    same("a hole and a partial end", "--rw=read:12k --size=100k --bs=8k"),
    same("backwards", "--rw=read:-8k --size=64k"),
    same("backwards from within", "--rw=read:-8k --filename=data --offset=512k --size=256k").of(DATA),
    same("bs of each direction", "--rw=write --bs=4k,16k --size=256k"),
    same("bs of each direction", "--rw=read --bs=8k,4k --size=256k"),
    same("a tail shorter than a block", "--rw=write --size=10000 --bs=4k"),
    same("a block that is no power of two", "--rw=read --filename=data --bs=3000 --size=100000").of(DATA),
    same("offset", "--rw=read --filename=data --offset=300k --size=100k").of(DATA),
    same("offset in percent", "--rw=read --filename=data --offset=33% --size=64k").of(DATA),
    same("offset_align", "--rw=read --filename=data --offset=33% --offset_align=64k --size=128k").of(DATA),
    same("offset_align", "--rw=read --filename=data --offset=41% --offset_align=512 --size=64k").of(DATA),
    covers("offset_increment", "--rw=read --filename=data --offset_increment=64k --numjobs=3 --size=64k").of(DATA),
    covers("offset_increment in percent", "--rw=read --filename=data --offset_increment=20% --numjobs=3 --size=40k")
        .of(DATA),
    same("loops", "--rw=read --size=64k --loops=3"),
    same("loops of a hole", "--rw=read:4k --size=64k --loops=2"),
    same("io_size above size", "--rw=write --size=64k --io_size=150k"),
    same("io_size below size, loops", "--rw=read --size=64k --io_size=24k --loops=3"),
    same("number_ios", "--rw=read --size=64k --number_ios=5 --loops=2"),
    same("strided zones", "--rw=read --filename=data --zonemode=strided --zonesize=16k --zoneskip=48k --size=128k")
        .of(DATA),
    same(
        "strided zones in a range",
        "--rw=read --filename=data --zonemode=strided --zonesize=16k --zonerange=64k --zoneskip=32k --size=256k",
    )
    .of(DATA),
    covers("random zones", "--rw=randread --filename=data --zonemode=strided --zonesize=64k --size=1m").of(DATA),
    same("percentage_random, none", "--rw=randread --filename=data --percentage_random=0 --size=256k").of(DATA),
    watched("reads and writes", "--rw=rw --size=256k --rwmixread=60", Order::TwoSequences),
    watched("reads and writes, two sizes", "--rw=rw --bs=4k --size=256k --rwmixwrite=20", Order::TwoSequences),
    same("a mix of reads alone", "--rw=rw --rwmixread=100 --size=64k"),
];

/// Random places and drawn sizes.
pub const DRAWN: &[Watched] = &[
    covers("every block once", "--rw=randread --filename=data --size=1m").of(DATA),
    covers("every block once, a tail", "--rw=randwrite --size=1000k --bs=16k"),
    covers("every block once, loops", "--rw=randread --filename=data --size=256k --loops=2").of(DATA),
    covers("loops below size", "--rw=randread --filename=data --size=256k --io_size=128k --loops=2").of(DATA),
    covers("random_generator", "--rw=randread --filename=data --size=256k --random_generator=lfsr").of(DATA),
    drawn("norandommap", 4 * K, M, "--rw=randread --filename=data --size=1m --norandommap").of(DATA),
    drawn("ba above bs", 8 * K, M, "--rw=randread --filename=data --size=1m --ba=8k").of(DATA),
    drawn("ba below bs", 4 * K, M, "--rw=randread --filename=data --size=1m --bs=16k --ba=4k --norandommap").of(DATA),
    drawn("zipf", 4 * K, M, "--rw=randread --filename=data --size=1m --random_distribution=zipf:1.2").of(DATA),
    drawn("pareto", 4 * K, M, "--rw=randread --filename=data --size=1m --random_distribution=pareto:0.3").of(DATA),
    drawn("normal", 4 * K, M, "--rw=randread --filename=data --size=1m --random_distribution=normal:20").of(DATA),
    drawn("zoned", 4 * K, M, "--rw=randread --filename=data --size=1m --random_distribution=zoned:50/5:50/95").of(DATA),
    drawn(
        "zoned_abs that leaves a rest alone",
        4 * K,
        256 * K,
        "--rw=randread --filename=data --size=1m --random_distribution=zoned_abs:60/64k:40/192k",
    )
    .of(DATA),
    drawn("percentage_random", 4 * K, M, "--rw=randread --filename=data --size=1m --percentage_random=50").of(DATA),
    drawn("a run after each random one", 4 * K, M, "--rw=randread:4 --filename=data --size=1m").of(DATA),
    drawn("rw_sequencer", 4 * K, M, "--rw=randread:4 --rw_sequencer=identical --filename=data --size=1m").of(DATA),
    watched(
        "an offset and no map",
        "--rw=randread --filename=data --offset=512k --size=256k --norandommap",
        Order::Drawn { block: 4 * K, from: 512 * K, to: 768 * K },
    )
    .of(DATA),
    watched("bsrange", "--rw=read --filename=data --bsrange=4k-32k --size=1m", Order::Tiles { from: 0, to: M })
        .of(DATA),
    watched("bsrange, random", "--rw=randread --filename=data --bsrange=4k-32k", Order::Tiles { from: 0, to: M })
        .of(DATA),
    watched("bssplit", "--rw=randread --filename=data --bssplit=4k/50:16k/50", Order::Tiles { from: 0, to: M })
        .of(DATA),
    watched(
        "bssplit and an offset",
        "--rw=read --filename=data --bssplit=4k/50:8k/50 --offset=256k --size=256k",
        Order::Tiles { from: 256 * K, to: 512 * K },
    )
    .of(DATA),
];

/// Which file is next, and what is made of files.
pub const FILES: &[Watched] = &[
    same("nrfiles", "--rw=write --nrfiles=3 --size=96k"),
    same("nrfiles, a remainder", "--rw=write --nrfiles=3 --size=100k"),
    same("file_service_type=roundrobin:3", "--rw=write --nrfiles=3 --size=96k --file_service_type=roundrobin:3"),
    same("file_service_type=sequential", "--rw=read --nrfiles=3 --size=96k --file_service_type=sequential"),
    covers("file_service_type=random", "--rw=write --nrfiles=3 --size=96k --file_service_type=random"),
    same("openfiles", "--rw=write --nrfiles=4 --size=128k --openfiles=2"),
    same("openfiles one by one", "--rw=write --nrfiles=3 --size=96k --openfiles=1"),
    same("a list of files", "--rw=read --filename=a:b:c --size=96k").of(&[("a", 32 * K), ("b", 32 * K), ("c", 32 * K)]),
    same("files of unlike sizes", "--rw=read --filename=a:b").of(&[("a", 16 * K), ("b", 64 * K)]),
    covers("opendir", "--rw=read --opendir=d").of(&[("d/a", 64 * K), ("d/b", 32 * K)]),
    same("filename_format", "--rw=write --size=32k --nrfiles=2 --filename_format=$jobname-$jobnum-$filenum"),
    same("directory", "--rw=write --directory=d --size=32k").of(&[("d/x", 0)]),
    same("create_on_open", "--rw=write --size=64k --create_on_open=1"),
    same("overwrite", "--rw=write --size=64k --overwrite=1"),
    same("unlink_each_loop", "--rw=write --size=32k --unlink_each_loop=1 --loops=2"),
    same("write_hint", "--rw=write --size=32k --write_hint=short"),
    same("jobs one after the other", "--filename=f --size=64k --name=a --rw=write --name=b --stonewall --rw=read"),
    same("wait_for", "--filename=f --size=64k --name=a --rw=write --name=b --wait_for=a --rw=read:4k"),
];

/// Flags, syncs, depth, checking, pace.
pub const WAYS: &[Watched] = &[
    same("direct", "--rw=write --size=64k --direct=1"),
    same("sync", "--rw=write --size=32k --sync=sync"),
    same("dsync and direct", "--rw=write --size=32k --sync=dsync --direct=1"),
    same("pvsync", "--rw=write --size=64k --ioengine=pvsync"),
    same("pvsync2", "--rw=read --size=64k --ioengine=pvsync2"),
    same("pvsync2, hipri", "--rw=read --size=64k --ioengine=pvsync2 --hipri --direct=1"),
    same("sync engine", "--rw=read:4k --size=64k --ioengine=sync"),
    same("libaio at a depth", "--rw=read --size=256k --ioengine=libaio --iodepth=8 --direct=1"),
    same("libaio writes at a depth", "--rw=write:4k --size=256k --ioengine=libaio --iodepth=4 --direct=1"),
    covers("libaio at random", "--rw=randread --size=256k --ioengine=libaio --iodepth=16 --direct=1"),
    same("fsync", "--rw=write --size=100k --fsync=7"),
    same("fsync with loops", "--rw=write --size=32k --fsync=3 --loops=2"),
    same("fsync over files", "--rw=write --size=96k --nrfiles=3 --fsync=4"),
    same("fdatasync", "--rw=write --size=64k --fdatasync=4"),
    same("fsync and fdatasync", "--rw=write --size=96k --fsync=6 --fdatasync=4"),
    covers("fsync at random", "--rw=randwrite --size=64k --fsync=5"),
    same("sync_file_range", "--rw=write --size=64k --sync_file_range=write:4"),
    same("sync_file_range and waits", "--rw=write --size=64k --sync_file_range=wait_before,write,wait_after:8"),
    same("end_fsync and fsync", "--rw=write --size=64k --end_fsync=1 --fsync=10"),
    same("write_barrier", "--rw=write --size=64k --write_barrier=4"),
    same("verify", "--rw=write --size=64k --verify=crc32c --verify_state_save=0"),
    same("verify with fsync", "--rw=write --size=64k --verify=crc32c --fsync=6 --verify_state_save=0"),
    covers("verify at random", "--rw=randwrite --size=64k --verify=md5 --verify_state_save=0"),
    same("verify with holes", "--rw=write:4k --size=64k --verify=crc32c --verify_state_save=0"),
    same("do_verify", "--rw=write --size=64k --verify=crc32c --do_verify=0 --verify_state_save=0"),
    same("verify_backlog", "--rw=write --size=64k --verify=crc32c --verify_backlog=5 --verify_state_save=0"),
    same("a rate", "--rw=read:4k --size=64k --rate_iops=100"),
    same("a thinktime", "--rw=write --size=32k --thinktime=5ms --thinktime_blocks=2 --fsync=3"),
    same("number_ios and a runtime", "--rw=write --size=64k --number_ios=9 --runtime=10"),
    same("fill_device with room", "--rw=write --size=64k --fill_device=1"),
];
