//! What goes in and what comes out.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::job::{Job, OptionWord};
use crate::tool::{Debug, IdleReport, Service};

/// Facts about the machine that the language needs (`$pagesize`, `$ncpus`, `$mb_memory`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Bytes in a page.
    pub page_size: u64,
    /// Online CPUs.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Whether this build drives a Mac (the default engine differs).
    pub macos: bool,
}

/// The outside world, for the parser.
pub trait Source {
    /// The text of a job file; `-` is standard input.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;
    /// The first `most` bytes of a file (a pattern may come from a device that never ends).
    fn head(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }
    /// An environment variable.
    fn env(&self, name: &str) -> Option<String>;
    /// Whether a path exists (a name with a colon that exists unsplit is a misreading to warn of).
    fn exists(&self, path: &Path) -> bool;
}

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing runs.
    Error,
    /// It runs, perhaps not as meant.
    Warning,
}

/// One thing wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where: the file ("command line" for arguments), the line's number from 1, its text, and the bytes underlined.
    pub place: Option<Place>,
    /// What to do ("did you mean `iodepth`?").
    pub help: Option<String>,
}

/// A place in a job file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name, or `command line`.
    pub origin: String,
    /// Line, from 1 (for the command line: 1).
    pub line: u32,
    /// The text of that line (for the command line: the arguments joined by blanks).
    pub text: String,
    /// Byte range in `text` that is meant.
    pub span: std::ops::Range<usize>,
}

/// `--output-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// fio's text.
    Normal,
    /// fio's terse lines.
    Terse,
    /// fio's JSON.
    Json,
    /// JSON with histogram bins.
    JsonPlus,
}

/// `--eta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal with the normal format.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A document that a result can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// A page with charts.
    Html,
    /// fio's text.
    Normal,
    /// fio's JSON.
    Json,
    /// The same with the bins of the histograms.
    JsonPlus,
    /// fio's terse lines.
    Terse,
    /// A table of the jobs.
    Csv,
    /// A table of what they did over time.
    CsvTimeline,
}

impl DocumentFormat {
    /// All of them.
    pub const ALL: [DocumentFormat; 7] = [
        DocumentFormat::Html,
        DocumentFormat::Normal,
        DocumentFormat::Json,
        DocumentFormat::JsonPlus,
        DocumentFormat::Terse,
        DocumentFormat::Csv,
        DocumentFormat::CsvTimeline,
    ];

    /// The word that asks for it.
    pub const fn word(self) -> &'static str {
        match self {
            DocumentFormat::Html => "html",
            DocumentFormat::Normal => "normal",
            DocumentFormat::Json => "json",
            DocumentFormat::JsonPlus => "json+",
            DocumentFormat::Terse => "terse",
            DocumentFormat::Csv => "csv",
            DocumentFormat::CsvTimeline => "csv-timeline",
        }
    }

    /// The one that a word asks for.
    pub fn of_word(word: &str) -> Option<DocumentFormat> {
        DocumentFormat::ALL.into_iter().find(|format| format.word() == word)
    }
}

/// Command-line options that are no job options.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOptions {
    /// `--output`.
    pub output: Option<PathBuf>,
    /// `--output-format`, in the order asked; never empty.
    pub formats: Vec<OutputFormat>,
    /// `--terse-version`: 2 to 5.
    pub terse_version: u32,
    /// `--save` (ours): where the RunResult goes.
    pub save: Option<PathBuf>,
    /// `--html` (ours): where the page goes.
    pub html: Option<PathBuf>,
    /// `--listen` (ours): where metrics are served while the run goes on.
    pub listen: Option<SocketAddr>,
    /// `--live` (ours): the run fills the screen.
    pub live: bool,
    /// `--also` (ours): further formats and their files.
    pub also: Vec<(DocumentFormat, PathBuf)>,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-interval`, nanoseconds.
    pub eta_interval_ns: u64,
    /// `--eta-newline`, nanoseconds (0 = off).
    pub eta_newline_ns: u64,
    /// `--readonly`.
    pub readonly: bool,
    /// `--warnings-fatal`.
    pub warnings_fatal: bool,
    /// `--allow-destroy` (ours), and `IOSTRATA_ALLOW_DESTROY`: device identities.
    pub allow_destroy: Vec<String>,
    /// `--status-interval`, nanoseconds.
    pub status_interval_ns: Option<u64>,
    /// `--status-lines` (ours): where the reports of `--status-interval` go as JSON Lines.
    pub status_lines: Option<PathBuf>,
    /// `--terse-header` (ours): a line with the names of the fields before terse lines.
    pub terse_header: bool,
    /// `--bandwidth-log`: what the names of the files with the bandwidth of all jobs together begin with.
    pub bandwidth_log: Option<String>,
    /// `--idle-prof`.
    pub idle: Option<IdleReport>,
    /// `--debug`.
    pub debug: Debug,
    /// `--trigger-file`.
    pub trigger_file: Option<PathBuf>,
    /// `--trigger-timeout`, nanoseconds.
    pub trigger_timeout_ns: Option<u64>,
    /// `--trigger`.
    pub trigger: Option<String>,
    /// `--aux-path`: where files that accompany a run go; the working directory if not given.
    pub aux_path: Option<PathBuf>,
    /// `--merge-blktrace-only`: traces are merged, and nothing runs.
    pub merge_only: bool,
    /// `--grace` (ours): how long outstanding I/Os may take after the end, nanoseconds (default 30 s).
    pub grace_ns: u64,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Run the jobs.
    Run,
    /// Check only; exit 0, no output.
    ParseOnly,
    /// Something else than jobs.
    Serve(Service),
    /// Print this text and exit 0 (`--version`, `--help`, `--cmdhelp`, `--enghelp`, `--showcmd`).
    Print(String),
}

/// A command line understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// Options of the tool.
    pub tool: ToolOptions,
    /// Options of the global section, as written.
    pub global_words: Vec<OptionWord>,
    /// The jobs, in order.
    pub jobs: Vec<Job>,
    /// The canned workload that the jobs come from.
    pub profile: Option<String>,
    /// Warnings (and, in the error case of [`crate::parse_command_line`], errors).
    pub diagnostics: Vec<Diagnostic>,
}
