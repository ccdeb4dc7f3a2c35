//! The normal report, as fio writes it, and what stands before it.

mod banner;
mod errors;
mod job;
mod parts;
mod run;

pub use banner::{BannerJob, banner, layout, making};
pub use errors::{error_line, one_line, saying, terminating};
pub(crate) use job::steady_word;
pub use run::unit_work;
pub(crate) use run::{DIFFERS, WARNING};

use crate::RenderOptions;
use iostrata_result::{End, RunResult, derive};

/// The report of a run, all that follows the start-up lines. That of a finished run begins with the [lines of its
/// errors](error_line); fio prints them as they happen, before the report.
pub fn render(run: &RunResult, options: &RenderOptions) -> String {
    let mut text = String::new();
    if run.end != End::Running {
        text.extend(run.workers.iter().filter_map(|worker| error_line(worker, options)));
    }
    text.push('\n');
    let reports = derive::reports(run);
    text.extend(reports.iter().map(|report| job::section(report, run.taken_unix_ms, options)));
    text += &run::groups(&reports);
    text += &run::disks(&derive::disks(run));
    text.extend(run.cpu_idleness.as_ref().map(run::idleness));
    if !options.as_fio {
        text += &run::notes(&run.notes);
    }
    text
}
