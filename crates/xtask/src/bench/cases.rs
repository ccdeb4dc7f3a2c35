//! What the bench runs, in fio's own options.

use std::path::Path;

/// One job, run by both tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Its name in the page and for `--case`.
    pub(crate) name: &'static str,
    engine: &'static str,
    rw: &'static str,
    depth: u32,
    /// The target; none for `null`, which has no file.
    file: Option<&'static str>,
    extra: &'static [&'static str],
    /// I/Os of the long run; the short one has a tenth. About a second of fio's CPU time.
    pub(crate) ios: u64,
}

const NONE: &[&str] = &[];
/// Everything that fio offers to spend less per I/O on a ring.
const TUNED: &[&str] = &[
    "--fixedbufs=1",
    "--registerfiles=1",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

const fn null(name: &'static str, rw: &'static str, depth: u32) -> Case {
    Case { name, engine: "null", rw, depth, file: None, extra: NONE, ios: 5_000_000 }
}

const fn zero(name: &'static str, engine: &'static str, depth: u32, extra: &'static [&'static str], ios: u64) -> Case {
    Case { name, engine, rw: "randread", depth, file: Some("/dev/zero"), extra, ios }
}

/// The case that the callgrind gate of `cargo xtask test` holds.
pub(crate) const NULL_RANDREAD: Case = null("null-randread-32", "randread", 32);

/// `/dev/zero` and `/dev/null` complete at once in every engine: what is left is the tool and the system call.
pub(crate) const CASES: &[Case] = &[
    NULL_RANDREAD,
    null("null-randread-1", "randread", 1),
    null("null-read-1", "read", 1),
    null("null-randwrite-32", "randwrite", 32),
    zero("psync-zero-randread", "psync", 1, NONE, 2_000_000),
    Case {
        name: "psync-null-randwrite",
        engine: "psync",
        rw: "randwrite",
        depth: 1,
        file: Some("/dev/null"),
        extra: NONE,
        ios: 2_000_000,
    },
    zero("io_uring-zero-randread-1", "io_uring", 1, NONE, 1_000_000),
    zero("io_uring-zero-randread-32", "io_uring", 32, NONE, 1_000_000),
    zero("io_uring-zero-randread-32-tuned", "io_uring", 32, TUNED, 2_000_000),
    zero("libaio-zero-randread-32", "libaio", 32, NONE, 800_000),
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
        options.extend([format!("--rw={}", self.rw), format!("--bs={BLOCK_BYTES}"), "--size=512m".to_owned()]);
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
