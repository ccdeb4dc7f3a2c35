//! Engine and queue depth.

use super::MAX32;
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Depth, summary, doc)
}

const BATCHES: Status = Status::Differs(
    "as fio when given; when not, I/Os whose slots came free together may go down together, at most 8 a call",
);

const REAPS: Status = Status::Differs(
    "unless it or the minimum is given, all completions that are there are taken at once, where fio takes one",
);

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "ioengine",
        Kind::Text,
        "how I/O is done",
        "The list is in `--enghelp`. An engine that is known but cannot \
        run here says why.",
    )
    .default("psync")
    .access((
        |d, v| {
            if let Value::Text(word) = v
                && let Some(name) = crate::engines::resolve(&word)
                && d.job.engine != name
            {
                d.job.engine = name.to_owned();
                d.job.engine_options = Default::default();
            }
        },
        |d| Some(Value::Text(d.job.engine.clone())),
    ))
    .status(Status::Differs(
        "filecreate and its like have one I/O for each name, of which fio counts each block of the file and measures \
         the first; sg sends one command at a time to /dev/sgN, too",
    )),
    row(
        "iodepth",
        Kind::Int { min: 1, max: 1 << 20 },
        "I/Os in flight",
        "How many the worker tries to keep under \
        way. Engines that wait for each I/O have one, whatever this says.",
    )
    .default("1")
    .access(int!(job.depth)),
    row(
        "iodepth_batch",
        Kind::Int { min: 0, max: MAX32 },
        "I/Os submitted at a time",
        "At most so many; 0 is \
        `iodepth`.",
    )
    .alias(&["iodepth_batch_submit"])
    .default("1")
    .status(BATCHES)
    .access(int!(some job.batch_submit)),
    row(
        "iodepth_batch_complete_min",
        Kind::Int { min: 0, max: MAX32 },
        "completions to wait for",
        "At least so many \
        when the queue is full; 0 only looks.",
    )
    .alias(&["iodepth_batch_complete"])
    .default("1")
    .access(int!(some job.batch_complete_min)),
    row(
        "iodepth_batch_complete_max",
        Kind::Int { min: 0, max: MAX32 },
        "completions to take at a time",
        "As the \
        minimum unless given.",
    )
    .status(REAPS)
    .access(int!(some job.batch_complete_max)),
    row(
        "iodepth_low",
        Kind::Int { min: 0, max: MAX32 },
        "depth to drain to before refilling",
        "`iodepth` unless \
        given: no draining.",
    )
    .access(int!(some job.depth_low)),
];
