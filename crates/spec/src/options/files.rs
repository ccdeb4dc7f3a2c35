//! Files and their layout.

use super::MAX32;
use crate::job::{FadviseHint, Fallocate, FileLock, RangeSync, SyncFlag, WriteHint};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Files, summary, doc)
}

/// Words of `write_hint`.
const WRITE_HINTS: &[(&str, WriteHint)] = &[
    ("none", WriteHint::None),
    ("short", WriteHint::Short),
    ("medium", WriteHint::Medium),
    ("long", WriteHint::Long),
    ("extreme", WriteHint::Extreme),
];

const NOT_SILENTLY: Status = Status::Differs(
    "a job that cannot have them is refused; fio goes on without where its engine has no flag for them",
);

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "filename",
        Kind::Names,
        "files or devices to use",
        "A list with colons between; a colon within a name is \
        written `\\:`. All clones use the same files.",
    )
    .access(plain!(Names, job.filenames)),
    row(
        "filetype",
        Kind::Choice(words!["none": "look", "file": "a file", "block": "a block device",
        "char": "a character device"]),
        "what all files are",
        "Spares a look at each of very many files.",
    )
    .default("none")
    .status(Status::NoEffect("each file is looked at, which takes microseconds")),
    row(
        "directory",
        Kind::Names,
        "where files are",
        "Put before generated and given names. Of a list `a:b` each \
        clone takes the next one.",
    )
    .access((
        |d, v| {
            if let Value::Names(n) = v {
                d.job.directories = n.into_iter().map(Into::into).collect()
            }
        },
        |d| Some(Value::Names(d.job.directories.iter().map(|p| p.to_string_lossy().into_owned()).collect())),
    )),
    row(
        "filename_format",
        Kind::Text,
        "names of generated files",
        "`$jobname`, `$jobnum`, `$filenum` and \
        `$clientuid` stand for what they say.",
    )
    .default("$jobname.$jobnum.$filenum")
    .access(plain!(some Text, job.filename_format)),
    row("unique_filename", Kind::Bool, "client's name in generated names", "Only when clients share a directory.")
        .default("1")
        .status(Status::NoEffect("there is no client mode")),
    row("opendir", Kind::Text, "use all files below a directory", "Every file found there; links are not followed.")
        .access(plain!(some Text, job.open_directory)),
    row(
        "nrfiles",
        Kind::Int { min: 1, max: MAX32 },
        "files of each clone",
        "The job's `size` is divided among them. \
        With `filename` the list's length holds.",
    )
    .alias(&["nr_files"])
    .default("1")
    .access(int!(job.files)),
    row(
        "openfiles",
        Kind::Int { min: 1, max: MAX32 },
        "files open at a time",
        "All of them unless given. The next so many are opened when these are done.",
    )
    .access(int!(some job.open_files)),
    row(
        "file_service_type",
        Kind::FileService(words!["random": "any", "zipf": "by a Zipf law",
        "pareto": "by a Pareto law", "normal": "by a normal law", "gauss": "as normal",
        "roundrobin": "in turn", "sequential": "one file to its end, then the next"]),
        "which file the next I/O goes to",
        "After a colon: how many I/Os each gets, or the law's parameter.",
    )
    .default("roundrobin")
    .access(plain!(FileService, job.file_service)),
    row("filesize", Kind::Range { min: 1 }, "size of each file", "A range `low-high` gives each file a random size.")
        .access((
            |d, v| {
                if let Value::Range(low, high) = v {
                    d.job.file_size = Some((low, high))
                }
            },
            |d| d.job.file_size.map(|(low, high)| Value::Range(low, high)),
        )),
    row("file_append", Kind::Bool, "begin at the end of the file", "The size grows.")
        .default("0")
        .access(flag!(job.append)),
    row(
        "size",
        Kind::Share,
        "how much of the files the job covers",
        "Bytes over all of the job's files, or a \
        percentage of what is there. The I/O stays within it; `io_size` says how much is moved.",
    )
    .access(plain!(some Share, job.size)),
    row(
        "io_size",
        Kind::Share,
        "how many bytes to move",
        "More or less than `size`; the job begins again at its \
        start when it has covered `size`.",
    )
    .alias(&["io_limit"])
    .access(plain!(some Share, job.io_size)),
    row("fill_device", Kind::Bool, "write until the device is full", "No space left is then success.")
        .alias(&["fill_fs"])
        .default("0")
        .access(flag!(job.fill_device)),
    row("offset", Kind::Share, "where the job begins in the file", "Bytes or a percentage.")
        .alias(&["fileoffset"])
        .default("0")
        .access(plain!(Share, job.offset)),
    row(
        "offset_align",
        Kind::Bytes { min: 0, max: u64::MAX },
        "alignment of an offset in percent",
        "Rounded up to it; 0 stands for the smallest block.",
    )
    .default("0")
    .access(plain!(Bytes, job.offset_align_bytes)),
    row("offset_increment", Kind::Share, "offset between clones", "Clone number n begins n times this later.")
        .default("0")
        .access(plain!(Share, job.offset_increment)),
    row(
        "number_ios",
        Kind::Bytes { min: 0, max: u64::MAX },
        "end after this many I/Os",
        "It shortens a job and \
        never lengthens it. 0 is no limit.",
    )
    .default("0")
    .access((
        |d, v| {
            if let Value::Bytes(n) = v {
                d.job.number_ios = (n > 0).then_some(n)
            }
        },
        |d| Some(Value::Bytes(d.job.number_ios.unwrap_or(0))),
    )),
    row(
        "fallocate",
        Kind::Choice(words!["none": "not at all", "native": "by fallocate, or not at all",
        "posix": "by posix_fallocate", "keep": "by fallocate, the length stays", "truncate": "set the length",
        "0": "as none", "1": "as posix"]),
        "how files are preallocated",
        "When the job lays its files out.",
    )
    .default("native")
    .access(choice!(job.fallocate, "none" => Fallocate::None, "native" => Fallocate::Native,
            "posix" => Fallocate::Posix, "keep" => Fallocate::Keep, "truncate" => Fallocate::Truncate,
            "0" => Fallocate::None, "1" => Fallocate::Posix)),
    row(
        "fadvise_hint",
        Kind::Choice(words!["0": "no advice", "1": "as the workload is",
        "random": "random access", "sequential": "sequential access", "noreuse": "used once"]),
        "what the kernel is told of the access to come",
        "Given for each file when it is opened.",
    )
    .default("1")
    .access(choice!(job.fadvise, "1" => FadviseHint::ByWorkload, "0" => FadviseHint::None,
            "random" => FadviseHint::Random, "sequential" => FadviseHint::Sequential,
            "noreuse" => FadviseHint::NoReuse)),
    row(
        "overwrite",
        Kind::Bool,
        "lay files out before a write job",
        "So that the job writes into existing blocks. \
        Jobs that read lay out anyway.",
    )
    .default("0")
    .access(flag!(job.overwrite)),
    row("create_serialize", Kind::Bool, "lay out one job at a time", "Off: jobs lay out side by side.")
        .default("1")
        .access(flag!(job.create_serialize)),
    row("create_fsync", Kind::Bool, "flush files after layout", "So that the layout's writes are not measured.")
        .default("1")
        .access(flag!(job.create_fsync)),
    row("create_on_open", Kind::Bool, "create files when they are opened", "Not at setup.")
        .default("0")
        .access(flag!(job.create_on_open)),
    row("create_only", Kind::Bool, "lay out and stop", "No I/O is done.").default("0").access(flag!(job.create_only)),
    row("allow_file_create", Kind::Bool, "missing files may be created", "Off: a missing file is an error.")
        .default("1")
        .access(flag!(job.allow_create)),
    row("allow_mounted_write", Kind::Bool, "write to a mounted device", "What is mounted is never written to.")
        .default("0")
        .harmless(&["0"])
        .status(Status::Refused {
            why: "a device that is in use is never written to",
            instead: "unmount it; see also --allow-destroy",
        }),
    row("pre_read", Kind::Bool, "read the files before the job", "So that they are in the page cache.")
        .default("0")
        .access(flag!(job.pre_read)),
    row("unlink", Kind::Bool, "remove the files at the end", "Of the files of this job.")
        .default("0")
        .access(flag!(job.unlink)),
    row(
        "unlink_each_loop",
        Kind::Bool,
        "remove the files after each loop",
        "With `loops`: between them, not after the last.",
    )
    .default("0")
    .access(flag!(job.unlink_each_loop)),
    row(
        "lockfile",
        Kind::Choice(words!["none": "no lock", "exclusive": "one at a time",
        "readwrite": "one writer or many readers"]),
        "lock files around I/O",
        "Among the jobs of this run: an I/O waits until nobody else is at the file. The wait is in no latency.",
    )
    .default("none")
    .access(choice!(job.file_lock, "none" => FileLock::None, "exclusive" => FileLock::Exclusive,
        "readwrite" => FileLock::ReadWrite)),
    row("invalidate", Kind::Bool, "drop the files' cached pages first", "Before the job and at each of its rounds.")
        .default("1")
        .access(flag!(job.invalidate)),
    row("direct", Kind::Bool, "bypass the page cache", "`O_DIRECT`; on a Mac `F_NOCACHE`, which is only advice.")
        .default("0")
        .access(flag!(job.direct)),
    row("buffered", Kind::Bool, "use the page cache", "The opposite of `direct`; the later of the two holds.")
        .default("1")
        .access(flag!(not job.direct)),
    row(
        "atomic",
        Kind::Bool,
        "atomic writes",
        "`RWF_ATOMIC`: a write is done whole or not at all. They are direct, and the device and its file system must \
        have them; pvsync2, libaio and io_uring can ask for them.",
    )
    .linux_only()
    .default("0")
    .status(NOT_SILENTLY)
    .access(flag!(job.engine_options.atomic)),
    row(
        "sync",
        Kind::Choice(words!["none": "no flag", "0": "no flag", "sync": "O_SYNC", "1": "O_SYNC",
        "dsync": "O_DSYNC"]),
        "open files for synchronous writes",
        "Each write then returns when it is durable.",
    )
    .default("none")
    .access(choice!(job.sync_flag, "none" => SyncFlag::None, "sync" => SyncFlag::Sync,
            "dsync" => SyncFlag::DataSync, "0" => SyncFlag::None, "1" => SyncFlag::Sync)),
    row(
        "write_hint",
        Kind::Choice(words!["none": "none", "short": "soon overwritten", "medium": "later",
        "long": "much later", "extreme": "hardly ever"]),
        "how long written data will live",
        "For devices that sort it; said of each file when it is opened. `none` says that nothing is known.",
    )
    .linux_only()
    .access((
        |d, v| {
            if let Value::Choice(word) = v
                && let Some((_, hint)) = WRITE_HINTS.iter().find(|(known, _)| *known == word)
            {
                d.job.write_hint = *hint
            }
        },
        |d| {
            let hint = d.job.write_hint;
            WRITE_HINTS.iter().find(|(_, known)| *known == hint).map(|(word, _)| Value::Choice(word))
        },
    )),
    row(
        "fsync",
        Kind::Int { min: 0, max: MAX32 },
        "flush after this many writes",
        "An `fsync` of its own, with \
        latencies of its own. 0 is never.",
    )
    .default("0")
    .access(int!(job.syncs.every)),
    row(
        "fdatasync",
        Kind::Int { min: 0, max: MAX32 },
        "flush data after this many writes",
        "As `fsync`, but \
        metadata only where needed to read the data.",
    )
    .default("0")
    .access(int!(job.syncs.data_every)),
    row("write_barrier", Kind::Int { min: 0, max: MAX32 }, "mark every Nth write a barrier", "No engine acts on it.")
        .default("0")
        .status(Status::NoEffect("no engine acts on it, in fio neither")),
    row(
        "sync_file_range",
        Kind::Words(words!["wait_before": "wait for writes under way", "write": "start writing",
        "wait_after": "wait for the end"]),
        "sync_file_range after this many writes",
        "`flags:N`: after every N writes, on the span of a file that they reached over. Without a number never, as in \
        fio. It is counted nowhere and waits in the job's own thread.",
    )
    .linux_only()
    .access((
        |d, v| {
            if let Value::Text(text) = v {
                d.job.syncs.range = RangeSync::from_text(&text)
            }
        },
        |d| d.job.syncs.range.text().map(Value::Text),
    )),
    row("end_fsync", Kind::Bool, "flush files at the job's end", "The time is the job's.")
        .default("0")
        .access(flag!(job.syncs.end)),
    row("fsync_on_close", Kind::Bool, "flush a file when it is closed", "As `end_fsync`, at each close.")
        .default("0")
        .access(flag!(job.syncs.on_close)),
    row("end_syncfs", Kind::Bool, "flush the file system at the job's end", "`syncfs`.")
        .linux_only()
        .default("0")
        .access(flag!(job.syncs.end_fs)),
];
