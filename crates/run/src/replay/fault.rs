//! What is wrong with a recording, with the place underlined.

use std::io;
use std::ops::Range;
use std::path::Path;

use iostrata_spec::{Diagnostic, Place, Severity, render_diagnostics};

use crate::error::plain;

/// A recording that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LogFault(String);

impl LogFault {
    /// Something about the recording as a whole.
    pub(crate) fn whole(path: &Path, what: &str) -> LogFault {
        LogFault(format!("{}: {what}", path.display()))
    }

    /// It cannot be read.
    pub(crate) fn unread(path: &Path, error: &io::Error) -> LogFault {
        LogFault(format!("the recording {} cannot be read: {}", path.display(), plain(error)))
    }

    /// It cannot be written.
    pub(crate) fn unwritten(path: &Path, error: &io::Error) -> LogFault {
        LogFault(format!("{} cannot be written: {}", path.display(), plain(error)))
    }

    /// A line that makes no sense.
    pub(crate) fn line(path: &Path, number: u64, line: &str, span: Range<usize>, message: String) -> LogFault {
        let place = Place {
            origin: path.display().to_string(),
            line: u32::try_from(number).unwrap_or(u32::MAX),
            text: line.to_owned(),
            span,
        };
        let diagnostic = Diagnostic { severity: Severity::Error, message, place: Some(place), help: None };
        let text = render_diagnostics(&[diagnostic], false);
        LogFault(text.trim_end().trim_start_matches("error: ").to_owned())
    }
}
