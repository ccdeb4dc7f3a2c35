//! The files of `verify_dump`: what came, and what should have come.

use std::path::Path;

/// What is written to files.
pub(super) enum Dumped<'a> {
    /// A block without its header.
    Header(&'a [u8]),
    /// A block with other data than were written, and those where they are known.
    Data {
        /// What came.
        received: &'a [u8],
        /// What should have come.
        expected: Option<&'a [u8]>,
    },
}

/// Writes the files, named as fio names them, into `folder`. Returns the tail of a sentence that says where
/// they are, or why there are none.
#[expect(clippy::disallowed_methods, reason = "files beside the run, no job's target")]
pub(super) fn write(folder: &Path, path: &Path, offset: u64, dumped: &Dumped<'_>) -> String {
    let parts: [Option<(&str, &[u8])>; 2] = match dumped {
        Dumped::Header(received) => [Some(("hdr_fail", received)), None],
        Dumped::Data { received, expected } => {
            [Some(("received", received)), expected.map(|expected| ("expected", expected))]
        }
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut told = Vec::new();
    for (kind, bytes) in parts.into_iter().flatten() {
        let file = folder.join(format!("{name}.{offset}.{kind}"));
        let shown = file.display();
        told.push(match std::fs::write(&file, bytes) {
            Ok(()) => shown.to_string(),
            Err(error) => format!("{shown} could not be written: {}", crate::error::plain(&error)),
        });
    }
    if matches!(dumped, Dumped::Data { expected: None, .. }) {
        told.push("what was expected cannot be known".into());
    }
    format!(" ({})", told.join(", "))
}
