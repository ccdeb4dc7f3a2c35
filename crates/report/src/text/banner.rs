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
    /// Sizes whose units do not mean here what they say elsewhere: as written (`size=1GiB`), and bytes.
    pub odd_sizes: &'a [(String, String)],
    /// What stands for the job's line where it does no I/O: it comes at the end, once for each clone.
    pub task: Option<&'a str>,
}

/// A line for each job, `...` for the further clones of one, the version, and how many threads start. What fio does not
/// say follows the job's line, unless fio's own text is wanted.
pub fn banner(jobs: &[BannerJob<'_>], options: &RenderOptions) -> String {
    let mut text = String::new();
    for BannerJob { job, group, clones, odd_sizes, .. } in jobs.iter().filter(|job| job.task.is_none()) {
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
        if !odd_sizes.is_empty() && !options.as_fio {
            text += &odd_line(job, odd_sizes);
        }
    }
    let threads: u32 = jobs.iter().map(|job| job.clones).sum();
    let version = if options.as_fio { FIO_VERSION } else { concat!("iostrata-", env!("CARGO_PKG_VERSION")) };
    let plural = if threads == 1 { "" } else { "s" };
    text += &format!("{version}\nStarting {threads} thread{plural}\n");
    for (task, clones) in jobs.iter().filter_map(|job| Some((job.task?, job.clones))) {
        text += &task.repeat(clones as usize);
    }
    text
}

/// Tells what sizes come to.
fn odd_line(job: &JobFacts, sizes: &[(String, String)]) -> String {
    let list: Vec<String> = sizes.iter().map(|(written, bytes)| format!("{written} is {bytes}")).collect();
    let units = if job.reporting.kb_base == 1000 { "k is 1000 and KiB 1024" } else { "k is 1024 and KiB 1000" };
    let (name, base) = (one_line(&job.name), job.reporting.kb_base);
    format!("{name}: with kb_base={base}, as in fio, {units}: {} (sizes in bytes)\n", list.join(", "))
}

/// The line that tells before the run what it makes; fio has none. `kept`: files that are there when it is over.
pub fn making(files: u64, bytes: u64, kept: u64, options: &RenderOptions) -> String {
    if files == 0 || options.as_fio {
        return String::new();
    }
    let plural = if files == 1 { "" } else { "s" };
    let stay = match kept {
        0 => "removed afterwards".to_owned(),
        _ if kept == files => "kept afterwards (unlink=1 removes)".to_owned(),
        _ => format!("{kept} kept afterwards (unlink=1 removes)"),
    };
    format!("Making {files} file{plural}, {bytes} bytes; {stay}\n")
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
    fn what_is_made_is_told_but_not_under_the_name_of_fio() {
        let ours = RenderOptions::default();
        assert_eq!(making(1, 4096, 1, &ours), "Making 1 file, 4096 bytes; kept afterwards (unlink=1 removes)\n");
        assert_eq!(making(3, 9000, 0, &ours), "Making 3 files, 9000 bytes; removed afterwards\n");
        assert_eq!(making(3, 9000, 2, &ours), "Making 3 files, 9000 bytes; 2 kept afterwards (unlink=1 removes)\n");
        assert_eq!(making(0, 0, 0, &ours), "");
        assert_eq!(making(3, 9000, 2, &RenderOptions { as_fio: true, ..ours }), "");
    }

    #[test]
    fn layout_lines_are_those_of_fio() {
        assert_eq!(layout("rrw", 1, 16 << 20), "rrw: Laying out IO file (1 file / 16MiB)\n");
        assert_eq!(layout("dirs", 3, 3 << 20), "dirs: Laying out IO files (3 files / total 3MiB)\n");
        assert_eq!(layout("x", 1, 4096), "x: Laying out IO file (1 file / 0MiB)\n");
    }
}
