//! What the bench runs, in fio's own options.

use std::path::Path;

/// One job, run by both tools.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its name in the page and for `--case`.
    pub(crate) name: &'static str,
    pub(super) engine: &'static str,
    pub(super) rw: &'static str,
    pub(super) size: &'static str,
    pub(super) depth: u32,
    /// The target; none for `null`, which has no file.
    pub(super) file: Option<&'static str>,
    pub(super) extra: &'static [&'static str],
    /// I/Os of the long run; the short one has a tenth. About a second of fio's CPU time.
    pub(crate) ios: u64,
    /// So many times as much CPU must fio need; 0 for no such goal.
    pub(crate) goal: f64,
    /// So many user instructions may an I/O need; 0 for no such goal.
    pub(crate) most: f64,
    /// Why a goal is missed, where it is known to be.
    pub(crate) why: &'static str,
}

/// Plain words of the kernel's share, where it decides.
const KERNEL: &str = "the rest is the kernel's: see `docs/hot-loop.md`";

const NONE: &[&str] = &[];
/// Everything that fio offers to spend less per I/O on a ring.
const TUNED: &[&str] = &[
    "--fixedbufs=1",
    "--registerfiles=1",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

/// The same in what goes down and comes up together only.
const BATCHED: &[&str] =
    &["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32"];

const fn null(name: &'static str, rw: &'static str, depth: u32) -> Case {
    Case {
        name,
        engine: "null",
        rw,
        size: "512m",
        depth,
        file: None,
        extra: NONE,
        ios: 5_000_000,
        goal: 0.0,
        most: 0.0,
        why: "",
    }
}

/// Writes of `null` whose data cost something.
const fn filled(name: &'static str, extra: &'static [&'static str], ios: u64) -> Case {
    Case { extra, ios, goal: 2.5, ..null(name, "randwrite", 32) }
}

const fn zero(name: &'static str, engine: &'static str, depth: u32, extra: &'static [&'static str], ios: u64) -> Case {
    Case { engine, file: Some("/dev/zero"), extra, ios, why: KERNEL, ..null(name, "randread", depth) }
}

/// The case that the first limit on the cost of the loop was for.
pub(crate) const NULL_RANDREAD: Case = Case { goal: 4.5, most: 400.0, ..null("null-randread-32", "randread", 32) };

/// `/dev/zero` and `/dev/null` complete at once in every engine: what is left is the tool and the system call.
pub(crate) const CASES: &[Case] = &[
    NULL_RANDREAD,
    Case { goal: 3.0, most: 450.0, ..null("null-randread-1", "randread", 1) },
    null("null-read-1", "read", 1),
    null("null-randwrite-32", "randwrite", 32),
    null("null-randrw-32", "randrw", 32),
    Case { size: "1t", ..null("null-randread-32-1t", "randread", 32) },
    filled("null-refill-32", &["--refill_buffers"], 800_000),
    filled("null-compress-32", &["--buffer_compress_percentage=50", "--refill_buffers"], 800_000),
    filled("null-dedupe-32", &["--dedupe_percentage=50"], 800_000),
    Case { goal: 1.6, most: 300.0, ..zero("psync-zero-randread", "psync", 1, NONE, 2_000_000) },
    Case {
        rw: "randwrite",
        file: Some("/dev/null"),
        goal: 1.9,
        ..zero("psync-null-randwrite", "psync", 1, NONE, 2_000_000)
    },
    Case {
        goal: 2.0,
        why: "a round of one in a ring has 330 instructions of the engine's own, and its enter fetches events too",
        ..zero("io_uring-zero-randread-1", "io_uring", 1, NONE, 1_000_000)
    },
    Case { goal: 2.2, ..zero("io_uring-zero-randread-32", "io_uring", 32, NONE, 1_000_000) },
    Case {
        goal: 1.4,
        most: 350.0,
        why: "a quarter of its instructions makes the ring's entries: see `docs/hot-loop.md`",
        ..zero("io_uring-zero-randread-32-tuned", "io_uring", 32, TUNED, 2_000_000)
    },
    Case {
        rw: "randwrite",
        file: Some("/dev/null"),
        goal: 1.5,
        ..zero("io_uring-null-randwrite-32-tuned", "io_uring", 32, TUNED, 2_000_000)
    },
    Case { goal: 2.0, ..zero("libaio-zero-randread-32", "libaio", 32, NONE, 800_000) },
    Case { goal: 1.25, ..zero("libaio-zero-randread-32-batched", "libaio", 32, BATCHED, 1_500_000) },
];

const BLOCK_BYTES: u64 = 4096;

impl Case {
    /// The job as options for exactly `ios` I/Os; its JSON goes to `output`.
    pub(crate) fn options(&self, ios: u64, output: &Path) -> Vec<String> {
        let mut options = self.job();
        options.push(format!("--io_size={}", ios * BLOCK_BYTES));
        options.push("--output-format=json".to_owned());
        options.push(format!("--output={}", output.display()));
        options
    }

    /// The job as a person would type it, without its length.
    pub(crate) fn job(&self) -> Vec<String> {
        let mut options = vec!["--name=bench".to_owned(), format!("--ioengine={}", self.engine)];
        options.extend([format!("--rw={}", self.rw), format!("--bs={BLOCK_BYTES}"), format!("--size={}", self.size)]);
        options.push(format!("--iodepth={}", self.depth));
        options.extend(self.file.map(|file| format!("--filename={file}")));
        options.extend(self.extra.iter().map(|&word| word.to_owned()));
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        for case in CASES {
            assert_eq!(CASES.iter().filter(|other| other.name == case.name).count(), 1, "{}", case.name);
        }
    }

    #[test]
    fn the_length_of_a_run_is_given_in_bytes() {
        let options = NULL_RANDREAD.options(10, Path::new("o.json"));
        assert!(options.contains(&"--io_size=40960".to_owned()) && options.contains(&"--output=o.json".to_owned()));
    }
}
