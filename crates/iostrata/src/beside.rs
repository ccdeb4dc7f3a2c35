//! Documents beside the report: the whole result (`--save`), the page (`--html`), and what `--also` asks for.

use iostrata_report::{RenderOptions, csv, fio_json, html, terse, text};
use iostrata_result::{RunResult, to_json};
use iostrata_spec::{DocumentFormat, ToolOptions};

use crate::output::Destination;

/// A result in a format.
pub(crate) fn rendered(run: &RunResult, format: DocumentFormat, options: &RenderOptions) -> String {
    match format {
        DocumentFormat::Html => html::render(run, options),
        DocumentFormat::Normal => text::render(run, options),
        DocumentFormat::Json => fio_json::render(run, false, options),
        DocumentFormat::JsonPlus => fio_json::render(run, true, options),
        DocumentFormat::Terse => terse::render(run, terse::Version::V3, false),
        DocumentFormat::Csv => csv::summary(run),
        DocumentFormat::CsvTimeline => csv::timeline(run),
    }
}

/// What is written beside the report, and where; without a format it is the whole result.
pub(crate) struct Beside(Vec<(Option<DocumentFormat>, Destination)>);

impl Beside {
    /// What the command line asks for.
    pub(crate) fn of(tool: &ToolOptions) -> Beside {
        let page = tool.html.iter().map(|path| (Some(DocumentFormat::Html), path));
        let also = tool.also.iter().map(|(format, path)| (Some(*format), path));
        let all = tool.save.iter().map(|path| (None, path)).chain(page).chain(also);
        Beside(all.map(|(format, path)| (format, Destination::File(path.clone()))).collect())
    }

    /// Nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks before the run whether all of them could be written.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.0.iter().try_for_each(|(_, destination)| destination.check())
    }

    /// Writes all, also those after one that fails.
    pub(crate) fn write(&self, result: &RunResult, options: &RenderOptions) -> anyhow::Result<()> {
        let one = |format: Option<DocumentFormat>| match format {
            Some(format) => rendered(result, format, options),
            None => to_json(result),
        };
        self.0.iter().map(|(format, destination)| destination.write(&one(*format))).fold(Ok(()), anyhow::Result::and)
    }
}
