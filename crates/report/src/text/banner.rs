//! What is printed before the run.

use super::errors::one_line;
use super::job::style;
use crate::{FIO_VERSION, RenderOptions};
use iostrata_result::JobFacts;

/// A job as the start-up lines show it.
#[derive(Clone, Copy, Debug)]
pub struct BannerJob<'a> {
    /// The job.
    pub job: &'a JobFacts,
    /// Its reporting group.
    pub group: u32,
    /// How many clones of it run, at least 1.
    pub clones: u32,
}

/// A line for each job, `...` for the further clones of one, the version, and how many threads start.
pub fn banner(jobs: &[BannerJob<'_>], options: &RenderOptions) -> String {
    let mut text = String::new();
    for BannerJob { job, group, clones } in jobs {
        let style = style(&job.reporting);
        let range = |(smallest, largest)| format!("{}-{}", style.bytes(smallest), style.bytes(largest));
        let [read, write, trim] = job.block_sizes.map(range);
        text += &format!(
            "{}: (g={group}): rw={}, bs=(R) {read}, (W) {write}, (T) {trim}, ioengine={}, iodepth={}\n",
            one_line(&job.name),
            job.workload,
            job.engine,
            job.depth
        );
        if *clones > 1 {
            text += "...\n";
        }
    }
    let threads: u32 = jobs.iter().map(|job| job.clones).sum();
    let version = if options.as_fio { FIO_VERSION } else { concat!("iostrata-", env!("CARGO_PKG_VERSION")) };
    let plural = if threads == 1 { "" } else { "s" };
    text + &format!("{version}\nStarting {threads} thread{plural}\n")
}

/// The line that tells that files are being filled before the run; `bytes` is the size of all of them.
pub fn layout(job: &str, files: u32, bytes: u64) -> String {
    let mib = bytes >> 20;
    match files {
        1 => format!("{}: Laying out IO file (1 file / {mib}MiB)\n", one_line(job)),
        _ => format!("{}: Laying out IO files ({files} files / total {mib}MiB)\n", one_line(job)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_lines_are_those_of_fio() {
        assert_eq!(layout("rrw", 1, 16 << 20), "rrw: Laying out IO file (1 file / 16MiB)\n");
        assert_eq!(layout("dirs", 3, 3 << 20), "dirs: Laying out IO files (3 files / total 3MiB)\n");
        assert_eq!(layout("x", 1, 4096), "x: Laying out IO file (1 file / 0MiB)\n");
    }
}
