//! Memory, and what is written.

use super::MAX32;
use crate::job::DedupeMode;
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Buffers, summary, doc)
}

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "mem",
        Kind::ChoiceWith(words!["malloc": "ordinary memory", "shm": "shared memory",
        "shmhuge": "shared memory in huge pages", "mmap": "a mapping", "mmapshared": "a shared mapping",
        "mmaphuge": "a mapping in huge pages", "cudamalloc": "memory of a GPU"]),
        "where I/O buffers are",
        "For \
        mappings a file may follow after a colon: one that is made for it and gone at the end, an empty one, or a \
        device's memory. What another file holds is never written over.",
    )
    .alias(&["iomem"])
    .default("malloc")
    .status(Status::Differs(
        "a file that holds something is not cut or written over; mmapshared makes its file long enough, which fio \
         does not; cudamalloc is refused",
    ))
    .access(plain!(some Text, texts.memory)),
    row(
        "iomem_align",
        Kind::Bytes { min: 0, max: 1 << 30 },
        "alignment of the first buffer",
        "The others follow without gaps, one block size apart. 0: each begins at a page.",
    )
    .alias(&["mem_align"])
    .default("0")
    .status(Status::Differs("fio adds it to the start of a page, so that 1m gives a buffer aligned to a page"))
    .access(plain!(Bytes, job.memory.align_bytes)),
    row(
        "hugepage-size",
        Kind::Bytes { min: 1, max: 1 << 40 },
        "size of a huge page",
        "With `mem=shmhuge` and `mem=mmaphuge`: one of the sizes that the system has, else memory comes in multiples \
        of it.",
    )
    .linux_only()
    .access(plain!(some Bytes, job.memory.huge_page_bytes)),
    row(
        "zero_buffers",
        Kind::Flag,
        "write zeroes",
        "Devices that compress or skip zeroes then look faster than they \
        are.",
    )
    .default("0")
    .access(flag!(job.buffers.zero)),
    row("refill_buffers", Kind::Flag, "new random data in every write", "Costs CPU time and defeats deduplication.")
        .default("0")
        .access(flag!(job.buffers.refill)),
    row("scramble_buffers", Kind::Bool, "change a few words in every write", "A cheap way past simple deduplication.")
        .default("1")
        .access(flag!(job.buffers.scramble)),
    row(
        "buffer_pattern",
        Kind::Pattern { offsets: false },
        "pattern to write",
        "Text in double quotes, a file in single quotes, numbers, or several of them. Each write begins with the \
        pattern's first byte. With `buffer_compress_percentage` it stands where zeroes would.",
    )
    .access(plain!(some Pattern, job.buffers.pattern)),
    row(
        "buffer_compress_percentage",
        Kind::Int { min: 0, max: 100 },
        "how compressible the data is",
        "So much of each `buffer_compress_chunk` is zeroes or `buffer_pattern`; the rest is new random data in every \
        write. It goes before `zero_buffers`.",
    )
    .default("0")
    .access(int!(job.buffers.compress_percent)),
    row(
        "buffer_compress_chunk",
        Kind::Bytes { min: 1, max: 1 << 40 },
        "unit of compressible data",
        "A write that is shorter is one chunk.",
    )
    .default("512")
    .access(plain!(Bytes, job.buffers.compress_chunk_bytes)),
    row(
        "dedupe_percentage",
        Kind::Int { min: 0, max: 100 },
        "share of repeated blocks",
        "So many blocks of a hundred repeat data that was written before; all others are new random data. A block has \
        the smallest size that the job writes. `buffer_pattern` makes all of them equal.",
    )
    .access(int!(some job.buffers.dedupe_percent)),
    row(
        "dedupe_mode",
        Kind::Choice(words!["repeat": "the last block", "working_set": "one of a set"]),
        "which block is repeated",
        "With `dedupe_percentage`.",
    )
    .default("repeat")
    .access(choice!(job.buffers.dedupe_mode, "repeat" => DedupeMode::Repeat, "working_set" => DedupeMode::WorkingSet)),
    row(
        "dedupe_working_set_percentage",
        Kind::Int { min: 0, max: 100 },
        "size of the set of repeated blocks",
        "Percent of the bytes that the job moves, at least one block.",
    )
    .default("5")
    .access(int!(job.buffers.dedupe_set_percent)),
    row("dedupe_global", Kind::Bool, "one set for all jobs", "With `dedupe_mode=working_set`.")
        .default("0")
        .status(Status::Differs("a job takes from as much of the common set as its own would have, not from all of it"))
        .access(flag!(job.buffers.dedupe_global)),
    row("gpu_dev_id", Kind::Int { min: 0, max: MAX32 }, "GPU whose memory is used", "With `mem=cudamalloc`.")
        .default("0")
        .harmless(&["0"])
        .status(Status::Refused {
            why: "memory of a GPU cannot be had: it takes NVIDIA's driver and a build with CUDA",
            instead: "mem=malloc, or mem=mmapshared:FILE with a file that the GPU's driver maps",
        }),
];
