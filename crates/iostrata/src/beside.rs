//! Documents beside the report: the whole result (`--save`), the page (`--html`), the table (`--csv`).

use iostrata_report::{RenderOptions, csv, html};
use iostrata_result::{RunResult, to_json};
use iostrata_spec::ToolOptions;

use crate::output::Destination;

/// Makes a document of a result.
type Render = fn(&RunResult) -> String;

/// What is written beside the report, and where.
pub(crate) struct Beside(Vec<(Render, Destination)>);

impl Beside {
    /// What the command line asks for.
    pub(crate) fn of(tool: &ToolOptions) -> Beside {
        let page: Render = |run| html::render(run, &RenderOptions::default());
        let asked = [(to_json as Render, &tool.save), (page, &tool.html), (csv::summary, &tool.csv)];
        let files = asked.into_iter().filter_map(|(make, path)| Some((make, Destination::File(path.clone()?))));
        Beside(files.collect())
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
    pub(crate) fn write(&self, result: &RunResult) -> anyhow::Result<()> {
        self.0.iter().map(|(make, destination)| destination.write(&make(result))).fold(Ok(()), anyhow::Result::and)
    }
}
