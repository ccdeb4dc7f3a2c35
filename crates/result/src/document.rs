//! The document in JSON.

use crate::layout::Layout;
use crate::model::{FORMAT_VERSION, RunResult};
use serde::Serialize;
use serde_json::Serializer;
use thiserror::Error;

/// Why a document cannot be read.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// Not JSON, or cut short.
    #[error("this is not a whole JSON document: {0}")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but of something else.
    #[error("this is not a result of iostrata: it has no integer \"format_version\"")]
    NotAResult,
    /// Written by a later program.
    #[error("this result has format {found}, this program reads formats up to {newest}: use a newer iostrata")]
    TooNew {
        /// Its format.
        found: u64,
        /// The newest that is understood.
        newest: u32,
    },
    /// A field is missing or of the wrong type.
    #[error("this result of format {version} is damaged: {source}")]
    Damaged {
        /// Its format.
        version: u64,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
}

/// The JSON schema of the document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunResult).to_value()
}

/// The document as JSON: a field a line, lists of numbers in one, with a line end at its end.
pub fn to_json(run: &RunResult) -> String {
    let mut text = Vec::new();
    let written = run.serialize(&mut Serializer::with_formatter(&mut text, Layout::default()));
    // Strings as keys and no failing `Serialize` in the model: writing to memory cannot fail.
    written.unwrap_or_else(|error| unreachable!("the document cannot be written: {error}"));
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_else(|error| unreachable!("JSON is text: {error}"))
}

/// Reads a document of this format or an older one.
///
/// # Errors
/// See [`DocumentError`].
pub fn from_json(text: &str) -> Result<RunResult, DocumentError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(DocumentError::NotJson)?;
    let version = value.get("format_version").and_then(serde_json::Value::as_u64).filter(|&version| version > 0);
    let version = version.ok_or(DocumentError::NotAResult)?;
    if version > FORMAT_VERSION.into() {
        return Err(DocumentError::TooNew { found: version, newest: FORMAT_VERSION });
    }
    // From the text again, so that an error names line and column.
    serde_json::from_str(text).map_err(|source| DocumentError::Damaged { version, source })
}
