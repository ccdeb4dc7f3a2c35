//! Options of io_uring.

use super::MAX32;
use crate::table::{Category, OptionSpec};
use crate::value::{Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Engine, summary, doc).engines(&["io_uring"]).linux_only()
}

pub(super) static OPTIONS: &[OptionSpec] = &[
    row("fixedbufs", Kind::Flag, "register buffers with the kernel", "They are pinned once, not for each I/O.")
        .default("0")
        .access(flag!(job.engine_options.fixed_buffers)),
    row("registerfiles", Kind::Flag, "register files with the kernel", "They are looked up once, not for each I/O.")
        .default("0")
        .access(flag!(job.engine_options.register_files)),
    row(
        "sqthread_poll",
        Kind::Flag,
        "a kernel thread submits",
        "No system call is needed to submit; the thread keeps \
        a CPU busy.",
    )
    .default("0")
    .access(flag!(job.engine_options.sq_poll)),
    row("sqthread_poll_cpu", Kind::Int { min: 0, max: 65_535 }, "CPU of that thread", "With `sqthread_poll`.")
        .access(int!(some job.engine_options.sq_poll_cpu)),
    row("hipri", Kind::Flag, "poll for completions", "The device must have poll queues.")
        .default("0")
        .access(flag!(job.engine_options.polled)),
    row(
        "nonvectored",
        Kind::Int { min: -1, max: 1 },
        "reads and writes without vectors",
        "0 uses vectors; -1 leaves \
        the choice to the engine, which takes none.",
    )
    .default("1")
    .access((
        |d, v| {
            if let Value::Int(n) = v {
                d.job.engine_options.vectored = n == 0
            }
        },
        |d| Some(Value::Int(i64::from(!d.job.engine_options.vectored))),
    )),
    row(
        "force_async",
        Kind::Int { min: 0, max: MAX32 },
        "every Nth I/O through a kernel worker",
        "Never tried \
        inline.",
    )
    .default("0")
    .access(int!(job.engine_options.force_async)),
    row("nowait", Kind::Bool, "fail rather than wait", "`RWF_NOWAIT`.")
        .default("0")
        .access(flag!(job.engine_options.nowait)),
    row("uncached", Kind::Bool, "leave nothing in the page cache", "`RWF_DONTCACHE`.")
        .default("0")
        .access(flag!(job.engine_options.uncached)),
];
