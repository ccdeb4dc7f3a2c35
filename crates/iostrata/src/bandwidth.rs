//! `--bandwidth-log`: the bandwidth of all jobs together over time, a file for each direction. A file appears under its
//! name when the run has ended.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use iostrata_os::clock::monotonic_ns;

use crate::output::temporary;

const NS_PER_MS: u64 = 1_000_000;
/// A rest of the run that is shorter is no interval of its own.
const SHORTEST_NS: u64 = 10 * NS_PER_MS;
/// The columns for block size and priority, which rates have none of.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// The three files.
pub(crate) struct BandwidthLog {
    files: Vec<(PathBuf, PathBuf, BufWriter<File>)>,
    start_ns: u64,
    last_ns: u64,
    last: [u64; 3],
    failure: Option<io::Error>,
}

impl BandwidthLog {
    /// Files whose names begin with `prefix`.
    pub(crate) fn start(prefix: &str) -> anyhow::Result<BandwidthLog> {
        let open = |direction: &&str| {
            let path = PathBuf::from(format!("{prefix}-{direction}_bw.log"));
            let own = temporary(&path);
            let file = File::create(&own).with_context(|| format!("the log {} cannot be written", path.display()))?;
            Ok((path, own, BufWriter::new(file)))
        };
        let files = DIRECTIONS.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let now_ns = monotonic_ns();
        Ok(BandwidthLog { files, start_ns: now_ns, last_ns: now_ns, last: [0; 3], failure: None })
    }

    /// The jobs' time begins now: what was before made their files.
    pub(crate) fn begin(&mut self) {
        self.start_ns = monotonic_ns();
        self.last_ns = self.start_ns;
    }

    /// So much was done by now.
    pub(crate) fn add(&mut self, bytes: [u64; 3]) {
        let now_ns = monotonic_ns();
        let elapsed_ns = now_ns.saturating_sub(self.last_ns);
        if elapsed_ns < SHORTEST_NS {
            return;
        }
        let end_ms = (now_ns - self.start_ns) / NS_PER_MS;
        for (direction, (_, _, file)) in self.files.iter_mut().enumerate() {
            // The end of a ramp makes counts begin anew.
            let done = bytes[direction].checked_sub(self.last[direction]).unwrap_or(bytes[direction]);
            let kib_per_second = u128::from(done) * 1_000_000_000 / u128::from(elapsed_ns) / 1024;
            if let Err(error) = writeln!(file, "{end_ms}, {kib_per_second}, {direction}, 0, 0") {
                self.failure.get_or_insert(error);
            }
        }
        self.last_ns = now_ns;
        self.last = bytes;
    }

    /// The run has ended, with so much done: the files get their names.
    pub(crate) fn finish(mut self, bytes: [u64; 3]) -> anyhow::Result<()> {
        self.add(bytes);
        let mut outcome = self.failure.map_or(Ok(()), Err);
        for (path, own, file) in self.files {
            let named = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
                file.sync_all()?;
                std::fs::rename(&own, &path)
            });
            outcome = outcome.and(named);
        }
        outcome.context("writing the logs of --bandwidth-log")
    }
}
