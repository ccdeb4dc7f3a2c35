//! What the tests of this crate share.

use std::path::Path;

use iostrata_run::generate::{Block, Direction, OffsetSpec, Offsets};
use iostrata_spec::{Host, Job, Source};

/// A world without files and variables.
struct Nowhere;

impl Source for Nowhere {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn exists(&self, _: &Path) -> bool {
        false
    }
}

/// The job that these words of a command line describe.
pub(crate) fn job(words: &str) -> Job {
    let host = Host { page_size: 4096, cpus: 2, memory_bytes: 1 << 30, macos: false };
    let args: Vec<_> =
        ["--name=v", "--ioengine=null"].into_iter().chain(words.split_whitespace()).map(Into::into).collect();
    let invocation =
        iostrata_spec::parse_command_line(&args, &host, &Nowhere).unwrap_or_else(|e| panic!("{words}: {e:?}"));
    invocation.jobs.into_iter().next().expect("a job")
}

/// The offsets of that job in a file that ends with the region.
pub(crate) fn spec(words: &str, region_start: u64, region_bytes: u64) -> OffsetSpec {
    OffsetSpec::for_job(&job(words), region_start, region_bytes, region_start + region_bytes, 0x5eed)
}

/// All blocks of one direction until the pass ends, or `most`.
pub(crate) fn pass(offsets: &mut Offsets, direction: Direction, most: usize) -> Vec<Block> {
    std::iter::from_fn(|| offsets.next(direction)).take(most).collect()
}
