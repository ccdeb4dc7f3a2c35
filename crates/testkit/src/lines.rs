//! One line or more for every option that a run of data depends on; each is given to iostrata and to the real fio.

/// A command line, the files that lie there before it, and how close the two must come.
pub struct Line {
    /// The options it is about.
    pub about: &'static str,
    /// The arguments, blanks between them. `--name=j` is put in front unless they name a job or a profile.
    pub arguments: &'static str,
    /// Files made before: name and size.
    pub given: &'static [(&'static str, u64)],
    /// What must agree.
    pub check: Check,
}

/// How close the two programs must come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Everything: exit code, errors, bytes and I/Os of each direction, syncs, files left.
    Exact,
    /// A toss decides each I/O's direction: the totals agree, and our share of reads lies within five standard
    /// deviations of this many percent.
    Mix(u32),
    /// Tosses decide each I/O's direction, with a chance that is not known here: the bytes agree but for a block, and
    /// the shares of reads lie within five standard deviations of each other.
    Tossed,
    /// Block sizes are drawn: the bytes of each direction agree, the number of I/Os does not matter.
    Bytes,
    /// The run's time ends it, or its pace: exit code, errors, files, directions used, and the measured time within
    /// this many percent of fio's.
    Time(u32),
    /// How much is moved is each program's matter: exit code, errors and files.
    Ends,
    /// Both must refuse it or fail: exit code and the jobs' error numbers.
    Fails,
}

impl Line {
    pub(crate) const fn with(mut self, given: &'static [(&'static str, u64)]) -> Line {
        self.given = given;
        self
    }

    /// The arguments as a list.
    pub fn words(&self) -> Vec<&'static str> {
        let named = self.arguments.contains("--name") || self.arguments.contains("--profile");
        let first = if named { None } else { Some("--name=j") };
        first.into_iter().chain(self.arguments.split_whitespace()).collect()
    }
}

const fn line(about: &'static str, arguments: &'static str, check: Check) -> Line {
    Line { about, arguments, given: &[], check }
}

pub(crate) const fn exact(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Exact)
}

const fn mix(about: &'static str, percent: u32, arguments: &'static str) -> Line {
    line(about, arguments, Check::Mix(percent))
}

const fn time(about: &'static str, percent: u32, arguments: &'static str) -> Line {
    line(about, arguments, Check::Time(percent))
}

pub(crate) const fn fails(about: &'static str, arguments: &'static str) -> Line {
    line(about, arguments, Check::Fails)
}

pub(crate) const K: u64 = 1024;
pub(crate) const M: u64 = K * K;

/// How much there is to do, and where.
pub const AMOUNTS: &[Line] = &[
    exact("size", "--rw=read --size=1m"),
    exact("size", "--rw=write --size=1m"),
    exact("size, a partial block at its end", "--rw=read --size=1000k --bs=64k"),
    exact("size, a partial block at its end", "--rw=write --size=1000k --bs=64k"),
    exact("size, a partial block at its end", "--rw=randread --size=1000k --bs=64k"),
    exact("size, a partial block at its end", "--rw=randwrite --size=1001001 --bs=4k"),
    exact("size of what is there", "--rw=read --filename=data").with(&[("data", M)]),
    exact("size of what is there", "--rw=randwrite --filename=data --bs=16k").with(&[("data", 1000 * K)]),
    exact("size below the file's", "--rw=read --filename=data --size=256k").with(&[("data", M)]),
    exact("size below the file's", "--rw=write --filename=data --size=256k").with(&[("data", M)]),
    exact("size above the file's", "--rw=read --filename=data --size=1m").with(&[("data", 300 * K)]),
    exact("size above the file's", "--rw=write --filename=data --size=1m").with(&[("data", 300 * K)]),
    exact("size in percent", "--rw=read --filename=data --size=50%").with(&[("data", M)]),
    exact("size in percent", "--rw=randread --filename=data --size=33% --bs=8k").with(&[("data", M)]),
    exact("size=0", "--rw=read --filename=data --size=0").with(&[("data", M)]),
    fails("no size", "--rw=read"),
    fails("no size", "--rw=write"),
    fails("a block above the size", "--rw=read --size=4k --bs=8k"),
    exact("io_size below size", "--rw=read --size=1m --io_size=100k"),
    exact("io_size below size", "--rw=randread --size=1m --io_size=100k"),
    exact("io_size above size", "--rw=read --size=256k --io_size=1m"),
    exact("io_size above size", "--rw=randwrite --size=256k --io_size=1m"),
    exact("io_size above size, partial", "--rw=write --size=250k --io_size=600k --bs=16k"),
    exact("io_size in percent", "--rw=write --size=1m --io_size=25%"),
    exact("io_size with loops", "--rw=write --size=256k --io_size=640k --loops=2"),
    exact("offset", "--rw=read --size=512k --offset=256k"),
    exact("offset", "--rw=write --size=512k --offset=256k"),
    exact("offset into what is there", "--rw=read --filename=data --offset=768k").with(&[("data", M)]),
    exact("offset and size", "--rw=randread --filename=data --offset=512k --size=256k").with(&[("data", M)]),
    exact("offset in percent", "--rw=read --filename=data --offset=50%").with(&[("data", M)]),
    exact("offset in percent", "--rw=read --filename=data --offset=33% --size=256k --bs=16k").with(&[("data", M)]),
    exact("offset not of blocks", "--rw=write --offset=1000 --size=64k"),
    exact("offset_increment", "--rw=write --filename=data --size=256k --offset_increment=256k --numjobs=3"),
    exact("offset_increment", "--rw=read --filename=data --size=128k --offset_increment=25% --numjobs=3")
        .with(&[("data", M)]),
    exact("number_ios", "--rw=read --size=1m --number_ios=10"),
    exact("number_ios", "--rw=randwrite --size=1m --number_ios=10"),
    exact("number_ios above what there is", "--rw=read --size=64k --number_ios=100"),
    exact("number_ios with loops", "--rw=write --size=64k --number_ios=10 --loops=3"),
    exact("loops", "--rw=read --size=256k --loops=3"),
    exact("loops", "--rw=randwrite --size=256k --loops=3"),
    exact("loops at a depth", "--rw=randread --size=256k --loops=3 --ioengine=libaio --iodepth=8"),
    exact("bs of each direction", "--rw=write --bs=4k,16k --size=1m"),
    exact("bs of each direction", "--rw=read --bs=16k,4k --size=1m"),
    exact("rw=read:N", "--rw=read:4k --size=256k"),
    exact("rw=read:N that wraps", "--rw=read:60k --size=256k"),
    exact("rw=write:N", "--rw=write:8k --size=256k"),
    exact("rw=read:-N", "--rw=read:-4k --size=256k"),
    exact("rw=randread:N", "--rw=randread:8 --size=1m"),
    exact("rw=randwrite:N", "--rw=randwrite:4 --size=1m --norandommap"),
    exact("norandommap", "--rw=randwrite --size=1m --norandommap"),
    exact("norandommap", "--rw=randread --size=1m --norandommap=1 --io_size=2m"),
    exact("randrepeat", "--rw=randread --size=1m --randrepeat=0"),
    exact("randseed", "--rw=randread --size=1m --randseed=4711"),
    mix("rwmixread", 70, "--rw=randrw --rwmixread=70 --size=4m"),
    mix("rwmixwrite", 75, "--rw=randrw --rwmixwrite=25 --size=4m"),
    mix("rw=rw", 50, "--rw=rw --size=4m --ioengine=libaio --iodepth=16"),
    exact("rwmixread at its limits", "--rw=randrw --rwmixread=100 --size=1m"),
    exact("rwmixread at its limits", "--rw=rw --rwmixread=0 --size=1m"),
];

/// Files: which, how many, how they are made and what becomes of them.
pub const FILES: &[Line] = &[
    exact("nrfiles", "--rw=read --size=1m --nrfiles=4"),
    exact("nrfiles", "--rw=randwrite --size=1m --nrfiles=4"),
    exact("nrfiles, a remainder", "--rw=write --size=1000k --nrfiles=3"),
    exact("filename list", "--rw=read --size=512k --filename=a:b"),
    exact("filename list", "--rw=write --filename=a:b --size=1m").with(&[("a", 64 * K)]),
    exact("filename with a colon", "--rw=write --filename=a\\:b --size=64k"),
    exact("filename in a new folder", "--rw=write --filename=new/er/data --size=64k"),
    exact("filename shared by clones", "--rw=read --filename=data --size=256k --numjobs=2"),
    exact("directory", "--rw=write --directory=d --size=64k").with(&[("d/x", 0)]),
    exact("directory list", "--rw=write --directory=d:e --numjobs=3 --size=64k").with(&[("d/x", 0), ("e/x", 0)]),
    fails("directory that is not there", "--rw=write --directory=nowhere/at/all --size=64k"),
    exact("filename_format", "--rw=write --size=64k --filename_format=$jobnum.x.$filenum.$jobname --numjobs=2"),
    exact("filesize", "--rw=write --filesize=256k"),
    exact("filesize", "--rw=read --filesize=128k --nrfiles=3"),
    exact("filesize and size", "--rw=write --filesize=256k --size=512k --nrfiles=4"),
    exact("filesize and a larger size", "--rw=read --filesize=64k --size=512k --nrfiles=4"),
    exact("create_serialize", "--rw=read --size=256k --numjobs=2 --create_serialize=0"),
    exact("create_fsync", "--rw=read --size=256k --create_fsync=0"),
    exact("create_on_open", "--rw=write --size=256k --create_on_open=1"),
    exact("create_only", "--rw=read --size=256k --create_only=1"),
    exact("create_only", "--rw=write --size=256k --create_only=1"),
    fails("allow_file_create", "--rw=write --size=256k --allow_file_create=0"),
    fails("allow_file_create", "--rw=read --size=256k --allow_file_create=0"),
    exact("overwrite", "--rw=write --size=256k --overwrite=1"),
    exact("overwrite", "--rw=randwrite --filename=data --size=1m --overwrite=1").with(&[("data", 300 * K)]),
    exact("fallocate=none", "--rw=read --size=256k --fallocate=none"),
    exact("fallocate=none", "--rw=write --size=256k --fallocate=none --number_ios=3"),
    exact("fallocate=native", "--rw=write --size=256k --fallocate=native --number_ios=3"),
    exact("fallocate=posix", "--rw=write --size=256k --fallocate=posix --number_ios=3"),
    exact("fallocate=posix", "--rw=read --size=256k --fallocate=posix"),
    exact("fallocate=keep", "--rw=write --size=256k --fallocate=keep --number_ios=3"),
    exact("fallocate=keep", "--rw=read --size=256k --fallocate=keep"),
    exact("fallocate=truncate", "--rw=write --size=256k --fallocate=truncate --number_ios=3"),
    exact("fallocate=truncate", "--rw=read --size=256k --fallocate=truncate"),
    exact("fadvise_hint=0", "--rw=read --size=256k --fadvise_hint=0"),
    exact("fadvise_hint=1", "--rw=randread --size=256k --fadvise_hint=1"),
    exact("fadvise_hint=sequential", "--rw=randread --size=256k --fadvise_hint=sequential"),
    exact("fadvise_hint=random", "--rw=write --size=256k --fadvise_hint=random"),
    exact("invalidate=0", "--rw=read --size=256k --invalidate=0"),
    exact("invalidate=1", "--rw=write --filename=data --size=256k --invalidate=1").with(&[("data", 256 * K)]),
    exact("direct", "--rw=read --size=256k --direct=1"),
    exact("direct", "--rw=randwrite --size=256k --direct=1 --ioengine=libaio --iodepth=4"),
    exact("buffered", "--rw=read --size=256k --buffered=0"),
    exact("sync", "--rw=write --size=64k --sync=1"),
    exact("sync=dsync", "--rw=write --size=64k --sync=dsync"),
    exact("unlink", "--rw=write --size=256k --unlink=1"),
    exact("unlink", "--rw=read --size=256k --unlink=1 --nrfiles=2"),
    exact("fsync", "--rw=write --size=256k --fsync=8"),
    exact("fsync", "--rw=randwrite --size=100k --fsync=1"),
    exact("fsync at a depth", "--rw=write --size=256k --fsync=8 --ioengine=libaio --iodepth=4"),
    exact("fdatasync", "--rw=write --size=256k --fdatasync=5"),
    exact("fsync and fdatasync", "--rw=write --size=256k --fsync=6 --fdatasync=4"),
    exact("fsync of a reader", "--rw=read --size=256k --fsync=4"),
    exact("fsync with loops", "--rw=write --size=64k --fsync=5 --loops=3"),
    exact("end_fsync", "--rw=write --size=256k --end_fsync=1"),
    exact("fsync_on_close", "--rw=write --size=256k --fsync_on_close=1"),
    exact("fsync_on_close of a reader", "--rw=read --size=64k --fsync_on_close=1"),
    exact("end_fsync of a reader", "--rw=read --size=64k --end_fsync=1"),
    exact("end_fsync with loops", "--rw=write --size=64k --end_fsync=1 --loops=2"),
    exact("end_fsync and fsync_on_close", "--rw=write --size=64k --end_fsync=1 --fsync_on_close=1"),
    exact("fsync_on_close with loops", "--rw=write --size=64k --fsync_on_close=1 --loops=2"),
    exact("zero_buffers", "--rw=write --size=256k --zero_buffers"),
    exact("refill_buffers", "--rw=write --size=256k --refill_buffers"),
    exact("scramble_buffers", "--rw=write --size=256k --scramble_buffers=0"),
    exact("scramble_buffers", "--rw=randwrite --size=256k --scramble_buffers=1 --ioengine=libaio --iodepth=4"),
];

/// Jobs beside and after one another, queues and batches.
pub const JOBS: &[Line] = &[
    exact("numjobs", "--rw=write --size=128k --numjobs=4"),
    exact("numjobs with group_reporting", "--rw=write --size=128k --numjobs=4 --group_reporting"),
    exact("thread", "--rw=read --size=128k --numjobs=2 --thread --group_reporting"),
    exact("cpus_allowed", "--rw=read --size=128k --cpus_allowed=0"),
    exact("cpus_allowed_policy", "--rw=read --size=128k --cpus_allowed=0-1 --cpus_allowed_policy=split --numjobs=2"),
    exact(
        "stonewall",
        "--name=a --rw=write --filename=data --size=256k --name=b --stonewall --rw=read --filename=data",
    ),
    exact("stonewall", "--size=64k --name=a --rw=write --name=b --stonewall --rw=randread --name=c --rw=read"),
    exact("new_group", "--group_reporting --size=64k --name=a --rw=write --name=b --new_group --rw=read --numjobs=2"),
    exact("group_reporting", "--group_reporting --size=64k --name=a --rw=write --name=b --rw=read --numjobs=2"),
    exact("group_reporting of some", "--size=64k --name=a --rw=write --numjobs=2 --group_reporting --name=b --rw=read"),
    exact("several jobs", "--size=64k --name=a --rw=write --name=b --rw=randread --bs=16k --name=c --rw=read"),
    exact("a name twice", "--size=64k --name=a --rw=write --name=a --rw=read"),
    exact("description", "--rw=read --size=64k --description=words"),
    exact("nice", "--rw=read --size=64k --nice=5"),
    exact("iodepth", "--rw=randread --size=1m --ioengine=libaio --iodepth=16"),
    exact("iodepth of a synchronous engine", "--rw=read --size=256k --ioengine=sync --iodepth=16"),
    exact("userspace_reap", "--rw=randread --size=1m --ioengine=libaio --direct=1 --iodepth=16 --userspace_reap"),
    exact("force_async", "--rw=randwrite --size=1m --ioengine=io_uring --iodepth=16 --force_async=3"),
    exact("nowait", "--rw=randread --pre_read=1 --size=1m --ioengine=io_uring --iodepth=4 --nowait=1"),
    exact("iodepth_batch", "--rw=read --size=1m --ioengine=libaio --iodepth=16 --iodepth_batch=8"),
    exact(
        "iodepth_batch_complete_min",
        "--rw=randread --size=1m --ioengine=libaio --iodepth=16 \
        --iodepth_batch_complete_min=4",
    ),
    exact("iodepth_low", "--rw=randwrite --size=1m --ioengine=io_uring --iodepth=16 --iodepth_low=4"),
    exact("null", "--ioengine=null --rw=randwrite --size=16m --iodepth=32"),
    exact("null", "--ioengine=null --rw=read --size=16m --bs=64k --numjobs=2"),
    exact("gtod_reduce", "--rw=read --size=256k --gtod_reduce=1"),
    exact("disable_lat", "--rw=read --size=256k --disable_lat=1 --disable_slat=1"),
    exact("disable_clat", "--rw=read --size=256k --disable_clat=1"),
    exact("lat_percentiles", "--rw=read --size=256k --lat_percentiles=1 --clat_percentiles=0"),
    exact("percentile_list", "--rw=write --size=256k --percentile_list=50:99:99.9"),
    exact("startdelay", "--rw=read --size=64k --startdelay=1"),
    exact("time_based without runtime", "--rw=read --size=64k --time_based"),
    exact("runtime not reached", "--rw=read --size=256k --runtime=30"),
];

/// Runs that the clock ends or paces.
pub const TIMED: &[Line] = &[
    time("runtime and time_based", 10, "--rw=read --size=256k --time_based --runtime=1"),
    time(
        "runtime and time_based",
        10,
        "--rw=randwrite --size=256k --time_based --runtime=1 --ioengine=libaio --iodepth=8",
    ),
    time("runtime cuts", 10, "--rw=read --size=1m --rate=256k --runtime=1"),
    time("ramp_time", 10, "--rw=randread --size=256k --time_based --runtime=1 --ramp_time=1"),
    time("ramp_time above the run's time", 25, "--rw=read --size=256k --rate=512k --ramp_time=20"),
    time("rate", 15, "--rw=read --size=512k --rate=512k"),
    time("rate of each direction", 15, "--rw=rw --size=512k --rate=256k,256k"),
    time("rate_iops", 15, "--rw=write --size=512k --rate_iops=128"),
    time("rate_iops at a depth", 15, "--rw=randread --size=512k --rate_iops=128 --ioengine=libaio --iodepth=8"),
    time("thinktime", 25, "--rw=read --size=128k --thinktime=20ms"),
    time("thinktime_blocks", 25, "--rw=read --size=256k --thinktime=50ms --thinktime_blocks=4"),
    time(
        "exitall",
        25,
        "--name=a --rw=read --size=256k --rate=256k --exitall \
        --name=b --rw=read --size=256k --time_based --runtime=20",
    ),
];
