//! Reports of `--status-interval` as JSON Lines, in a file of their own: a document a line, whole when it is there.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use iostrata_report::{RenderOptions, fio_json};
use iostrata_result::{Note, RunResult};
use iostrata_spec::{OutputFormat, ToolOptions};

use crate::output::complain;

/// What is added to the name of the output's file.
const ENDING: &str = ".status.jsonl";

/// Where the lines go.
pub(crate) struct StatusLines {
    path: PathBuf,
    /// With the bins of the histograms.
    plus: bool,
    /// Made with the first line.
    file: Option<File>,
    failed: bool,
}

/// The file, if there is one to be: named, or beside the output where that is JSON.
pub(crate) fn status_lines(tool: &ToolOptions) -> Option<StatusLines> {
    let beside = |output: &Path| {
        let mut path = OsString::from(output);
        path.push(ENDING);
        PathBuf::from(path)
    };
    let output = tool.output.as_deref().filter(|_| asks_for_json(tool));
    let path = tool.status_lines.clone().or_else(|| output.map(beside))?;
    let plus = tool.formats.contains(&OutputFormat::JsonPlus);
    Some(StatusLines { path, plus, file: None, failed: false })
}

/// What to say where reports were asked for and have no place to go.
pub(crate) fn status_note(tool: &ToolOptions) -> Option<Note> {
    let nowhere = tool.status_interval_ns.is_some() && asks_for_json(tool) && status_lines(tool).is_none();
    nowhere.then(|| Note {
        code: "status-lines".into(),
        job: None,
        text: "reports of --status-interval are no part of a JSON document; with --status-lines=FILE or --output=FILE \
               they are written as one document a line"
            .into(),
    })
}

fn asks_for_json(tool: &ToolOptions) -> bool {
    tool.formats.iter().any(|format| matches!(format, OutputFormat::Json | OutputFormat::JsonPlus))
}

impl StatusLines {
    /// Adds a report; what fails is said once.
    pub(crate) fn add(&mut self, result: &RunResult, render: &RenderOptions) {
        if self.failed {
            return;
        }
        let line = fio_json::render_line(result, self.plus, render);
        if let Err(error) = self.write(line.as_bytes()) {
            self.failed = true;
            complain(&format!("{}: {}: {error}\n", render.program(), self.path.display()));
        }
    }

    /// In one piece: whoever reads along sees whole lines.
    fn write(&mut self, line: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(&self.path)?),
        };
        file.write_all(line)
    }
}
