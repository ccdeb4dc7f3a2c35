//! Pattern and sizes of the I/O.

use super::{MAX32, merged};
use crate::job::{PerDirection, SubmitMode};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Choice, Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Shape, summary, doc)
}

/// The words of `rw`.
pub(crate) const WORKLOADS: &[Choice] = words![
    "read": "sequential reads",
    "write": "sequential writes",
    "trim": "sequential trims",
    "randread": "random reads",
    "randwrite": "random writes",
    "randtrim": "random trims",
    "rw": "sequential reads and writes, mixed",
    "readwrite": "as rw",
    "randrw": "random reads and writes, mixed",
    "trimwrite": "sequential: each block trimmed, then written",
    "randtrimwrite": "random: each block trimmed, then written",
];

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "rw",
        Kind::Workload,
        "direction and order of the I/O",
        "After a colon, for random patterns: how many I/Os \
        follow each random offset in sequence; for sequential ones: how many bytes are left out after each I/O \
        (negative: backwards).",
    )
    .alias(&["readwrite"])
    .default("read")
    .access(plain!(Workload, job.workload)),
    row(
        "rw_sequencer",
        Kind::Choice(words!["sequential": "the next offsets", "identical": "the same offset again"]),
        "what follows a random offset",
        "With `rw=rand…:N`.",
    )
    .default("sequential")
    .access(choice!(job.shape.identical, "sequential" => false, "identical" => true)),
    row(
        "bs",
        Kind::PerDirection { min: 1, max: 1 << 40 },
        "block size",
        "Bytes of one I/O, for reads, writes and \
        trims.",
    )
    .alias(&["blocksize"])
    .default("4096")
    .access((
        |d, v| {
            if let Value::PerDirection([read, write, trim]) = v {
                let old = d.job.block_size;
                d.job.block_size = PerDirection {
                    read: read.unwrap_or(old.read),
                    write: write.unwrap_or(old.write),
                    trim: trim.unwrap_or(old.trim),
                };
            }
        },
        |d| Some(Value::PerDirection(d.job.block_size.to_array().map(Some))),
    )),
    row(
        "bsrange",
        Kind::Ranges,
        "range of block sizes",
        "Each I/O has a random size within it, a multiple of the \
        smallest.",
    )
    .alias(&["blocksize_range"])
    .access((
        |d, v| {
            if let Value::Ranges(new) = v {
                d.job.shape.block_range = merged(&d.job.shape.block_range, new)
            }
        },
        |d| (d.job.shape.block_range != [None; 3]).then_some(Value::Ranges(d.job.shape.block_range)),
    )),
    row(
        "bssplit",
        Kind::Split,
        "block sizes by share",
        "`size/percent:size/percent…`; what has no percentage shares \
        the rest.",
    )
    .access((
        |d, v| {
            if let Value::Split(new) = v {
                d.job.shape.block_split = merged(&d.job.shape.block_split, new)
            }
        },
        |d| (d.job.shape.block_split != [None, None, None]).then(|| Value::Split(d.job.shape.block_split.clone())),
    )),
    row("bs_unaligned", Kind::Flag, "sizes of bsrange need not be multiples", "Any number of bytes.")
        .alias(&["blocksize_unaligned"])
        .default("0")
        .access(flag!(job.shape.unaligned)),
    row("bs_is_seq_rand", Kind::Bool, "bs is for sequential and random I/O", "Instead of for reads and writes.")
        .default("0")
        .access(flag!(job.shape.sizes_by_order)),
    row(
        "ba",
        Kind::PerDirection { min: 1, max: 1 << 40 },
        "alignment of random offsets",
        "The smallest block size \
        unless given.",
    )
    .alias(&["blockalign"])
    .access(each!(job.shape.align)),
    row(
        "rwmixread",
        Kind::Int { min: 0, max: 100 },
        "percentage of reads in a mix",
        "The later of this and \
        `rwmixwrite` holds.",
    )
    .default("50")
    .access(int!(job.mix_read_percent)),
    row(
        "rwmixwrite",
        Kind::Int { min: 0, max: 100 },
        "percentage of writes in a mix",
        "The later of this and \
        `rwmixread` holds.",
    )
    .default("50")
    .access((
        |d, v| {
            if let Value::Int(n) = v {
                d.job.mix_read_percent = u32::try_from(100 - n).unwrap_or(0)
            }
        },
        |d| Some(Value::Int(100 - i64::from(d.job.mix_read_percent))),
    )),
    row("rwmixcycle", Kind::Gone, "gone", "fio refuses it too.")
        .status(Status::Refused { why: "fio has dropped it", instead: "leave it out" }),
    row(
        "percentage_random",
        Kind::PerDirection { min: 0, max: 100 },
        "percentage of I/Os that are random",
        "The rest \
        follow in sequence.",
    )
    .default("100")
    .access(each!(job.shape.random_percent)),
    row("percentage_sequential", Kind::Gone, "gone", "fio refuses it too.")
        .status(Status::Refused { why: "fio has dropped it", instead: "percentage_random" }),
    row(
        "random_distribution",
        Kind::Distribution(words!["random": "every block alike", "zipf": "by a Zipf law",
        "pareto": "by a Pareto law", "normal": "by a normal law", "zoned": "zones by percent",
        "zoned_abs": "zones by size", "sequence": "a list of blocks"]),
        "where random I/O goes",
        "Parameters follow \
        after a colon.",
    )
    .default("random")
    .access(plain!(Distribution, job.shape.distribution))
    .status(Status::Differs(
        "`normal:D` has a standard deviation of D percent of the region, as the manual says; that of fio 3.33 hardly \
        depends on D: drawn as often as there are blocks it meets 29% of them for D = 5 and 34% for D = 50, where the \
        law has 22% and 63%",
    )),
    row(
        "random_sequence_stride",
        Kind::Bool,
        "the list of blocks moves on",
        "With `random_distribution=sequence`: each time round by its length.",
    )
    .default("0")
    .access(flag!(job.shape.sequence_stride)),
    row(
        "random_generator",
        Kind::Choice(words!["tausworthe": "fio's default", "lfsr": "each block once, no map",
        "tausworthe64": "for very many blocks"]),
        "source of random offsets",
        "All three are answered by one keyed \
        permutation of the blocks, which visits each once and needs no map.",
    )
    .default("tausworthe")
    .status(Status::Differs("a keyed permutation gives the offsets whatever the word; sequences are ours"))
    .access((|_, _| {}, |_| None)),
    row("randrepeat", Kind::Bool, "the same random sequence every run", "Off: another one each run.")
        .alias(&["allrandrepeat"])
        .default("1")
        .access(flag!(rand_repeat))
        .status(Status::Differs("runs repeat exactly; the sequences are ours, not fio's")),
    row(
        "randseed",
        Kind::Int { min: i64::MIN, max: i64::MAX },
        "seed of the random sequences",
        "Given, it holds \
        whatever `randrepeat` says.",
    )
    .default("0x89")
    .status(Status::Differs("runs repeat exactly; the sequences are ours, not fio's"))
    .access((
        |d, v| {
            if let Value::Int(n) = v {
                d.rand_seed = Some(n.cast_unsigned())
            }
        },
        |d| d.rand_seed.map(|n| Value::Int(n.cast_signed())),
    )),
    row(
        "norandommap",
        Kind::Flag,
        "blocks may come twice",
        "Each random offset is drawn afresh, so some blocks are \
        visited twice and others never.",
    )
    .default("0")
    .access(flag!(job.no_random_map)),
    row("softrandommap", Kind::Bool, "go on without a map", "If memory for it is short.")
        .default("0")
        .status(Status::NoEffect("covering every block takes next to no memory here")),
    row(
        "sprandom",
        Kind::Bool,
        "precondition an SSD by one pass",
        "With `rw=randwrite` and one block size. The pass writes (1 + `spr_op`) times the size, in `spr_num_regions` \
        parts, each of which overwrites some blocks of the part before. In the end of each part as much is valid as \
        after writing at random for long: the older, the less.",
    )
    .default("0")
    .status(Status::Differs("the order is its own; of each region the share stays valid that an age of its kind has"))
    .access(plain!(Flag, job.shape.precondition.on)),
    row("spr_num_regions", Kind::Int { min: 1, max: MAX32 }, "regions of sprandom", "Parts of the pass.")
        .default("100")
        .access(int!(job.shape.precondition.regions)),
    row(
        "spr_op",
        Kind::Floats { most: 1, above: 0.0, max: 1.0 },
        "over-provisioning of sprandom",
        "Flash beyond what the device shows, as a share of that.",
    )
    .default("0.15")
    .access((
        |d, v| {
            if let Value::Floats(list) = v
                && let Some(share) = list.values.first()
            {
                d.job.shape.precondition.over_provisioning = *share;
            }
        },
        |d| Some(Value::number(d.job.shape.precondition.over_provisioning)),
    )),
    row(
        "spr_cs",
        Kind::Bytes { min: 0, max: u64::MAX },
        "device cache of sprandom",
        "Bytes: overwrites wait until so much has been written after the block.",
    )
    .default("0")
    .access(plain!(Bytes, job.shape.precondition.cache_bytes)),
    row("num_range", Kind::Int { min: 1, max: 256 }, "ranges in one trim", "For engines that trim several at once.")
        .default("1")
        .harmless(&["1"])
        .status(Status::Refused {
            why: "only io_uring_cmd trims several ranges at once",
            instead: "a larger bs for trims, `bs=,,64k`",
        }),
    row("loops", Kind::Int { min: 1, max: MAX32 }, "how often the job is done", "The whole job, again and again.")
        .default("1")
        .access(int!(job.loops)),
    row(
        "io_submit_mode",
        Kind::Choice(words!["inline": "by the worker itself", "offload": "by helper threads"]),
        "who submits",
        "Offload keeps the pace when submitting blocks: each I/O in flight has a thread of its own.",
    )
    .default("inline")
    .access(choice!(job.submit_mode, "inline" => SubmitMode::Inline, "offload" => SubmitMode::Offload)),
    row(
        "serialize_overlap",
        Kind::Bool,
        "overlapping I/Os wait for each other",
        "An I/O that overlaps one in flight of the same job is held until that one has ended.",
    )
    .default("0")
    .status(Status::Differs("always within a job; fio looks across jobs too when they offload"))
    .access(flag!(job.serialize_overlap)),
];
