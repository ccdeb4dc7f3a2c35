//! The option table: one row per option, one lookup for everything that needs to know an option.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::draft::Draft;
use crate::options;
use crate::value::{Kind, Value};

/// Where an option stands in listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Names, order, processes, CPUs.
    Identity,
    /// Files and their layout.
    Files,
    /// Pattern and sizes of I/O.
    Shape,
    /// Engine and queue depth.
    Depth,
    /// When a job ends.
    Time,
    /// Rates, pauses, latency limits.
    Pacing,
    /// Memory and what is written.
    Buffers,
    /// Checking of data.
    Verify,
    /// Zones and data placement.
    Zones,
    /// Recording and replaying I/O.
    Replay,
    /// What is measured, reported, logged.
    Measure,
    /// What happens when I/O fails.
    Errors,
    /// Options that engines own.
    Engine,
}

impl Category {
    /// All, in the order of the reference.
    pub const ALL: [Category; 13] = [
        Category::Identity,
        Category::Files,
        Category::Shape,
        Category::Depth,
        Category::Time,
        Category::Pacing,
        Category::Buffers,
        Category::Verify,
        Category::Zones,
        Category::Replay,
        Category::Measure,
        Category::Errors,
        Category::Engine,
    ];

    /// Heading in the reference.
    pub fn title(self) -> &'static str {
        match self {
            Category::Identity => "Jobs, order, CPUs",
            Category::Files => "Files and layout",
            Category::Shape => "Shape of the I/O",
            Category::Depth => "Engine and queue depth",
            Category::Time => "Time and end",
            Category::Pacing => "Rates, pauses, latency limits",
            Category::Buffers => "Buffers and memory",
            Category::Verify => "Verification",
            Category::Zones => "Zones and data placement",
            Category::Replay => "Recording and replay",
            Category::Measure => "Measurement, reports, logs",
            Category::Errors => "Errors",
            Category::Engine => "Options of engines",
        }
    }
}

/// How an option stands to fio's of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Does what fio's does.
    Same,
    /// Does it, with this difference.
    Differs(&'static str),
    /// fio has none of this name.
    Ours,
    /// Accepted without effect, for this reason.
    NoEffect(&'static str),
    /// Will not be carried out.
    Refused {
        /// The reason.
        why: &'static str,
        /// What to use.
        instead: &'static str,
    },
    /// Will be carried out by a later version; until then it is refused.
    NotYet,
}

/// Puts a value of the row's kind into a draft.
pub type Setter = fn(&mut Draft, Value);

/// Reads the value that a setter put there; `None` when the draft holds none.
pub type Getter = fn(&Draft) -> Option<Value>;

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Main name.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// Grammar and limits.
    pub kind: Kind,
    /// What holds when the option is not given; none where nothing does.
    pub default: Option<&'static str>,
    /// Where it is listed.
    pub category: Category,
    /// Engines that own it; empty: every job has it.
    pub engines: &'static [&'static str],
    /// The name alone is enough; it stands for an empty value.
    pub bare: bool,
    /// Only on Linux.
    pub linux_only: bool,
    /// One line.
    pub summary: &'static str,
    /// Markdown for the reference.
    pub doc: &'static str,
    /// How it stands to fio.
    pub status: Status,
    /// Values of an option not carried out under which there is nothing to carry out (`verify=0`): they pass.
    pub harmless: &'static [&'static str],
    /// Puts a value into a draft.
    pub set: Option<Setter>,
    /// Reads the value back; `None` when the draft holds none.
    pub get: Option<Getter>,
}

impl OptionSpec {
    /// A row with the common defaults; the methods below complete it.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        category: Category,
        summary: &'static str,
        doc: &'static str,
    ) -> Self {
        OptionSpec {
            name,
            aliases: &[],
            kind,
            default: None,
            category,
            engines: &[],
            bare: false,
            linux_only: false,
            summary,
            doc,
            status: Status::NotYet,
            harmless: &[],
            set: None,
            get: None,
        }
    }

    pub(crate) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(crate) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    pub(crate) const fn status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    pub(crate) const fn engines(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    pub(crate) const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    pub(crate) const fn linux_only(mut self) -> Self {
        self.linux_only = true;
        self
    }

    pub(crate) const fn harmless(mut self, values: &'static [&'static str]) -> Self {
        self.harmless = values;
        self
    }

    /// Carried out as fio does, unless a status says otherwise.
    pub(crate) const fn access(mut self, access: (Setter, Getter)) -> Self {
        self.set = Some(access.0);
        self.get = Some(access.1);
        if matches!(self.status, Status::NotYet) {
            self.status = Status::Same;
        }
        self
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether a job with this engine has the option.
    pub fn belongs_to(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// Whether the option may stand without a value.
    pub fn takes_no_value(&self) -> bool {
        matches!(self.kind, Kind::Flag)
    }

    /// Whether fio has an option of this name.
    pub fn known_to_fio(&self) -> bool {
        !matches!(self.status, Status::Ours)
    }

    /// Rank within a section: what others depend on is applied first.
    pub(crate) fn rank(&self) -> u8 {
        match self.name {
            "kb_base" | "unit_base" => 0,
            "ioengine" => 1,
            "filename" | "filename_format" => 3,
            _ if !self.engines.is_empty() => 4,
            _ => 2,
        }
    }
}

/// Every option, category by category.
pub fn all_options() -> impl Iterator<Item = &'static OptionSpec> {
    options::TABLES.iter().flat_map(|table| table.iter())
}

/// What a name means to a job.
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// This option.
    Found(&'static OptionSpec),
    /// An option of other engines only.
    OtherEngine(&'static OptionSpec),
    /// Nothing.
    Unknown,
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static OptionSpec>>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, Vec<&'static OptionSpec>> = HashMap::new();
    for row in all_options() {
        for name in row.names() {
            index.entry(name).or_default().push(row);
        }
    }
    index
});

/// The option that `name` means to a job with `engine`.
pub fn lookup(name: &str, engine: &str) -> Lookup {
    let rows = BY_NAME.get(name).map(Vec::as_slice).unwrap_or_default();
    match (rows.iter().find(|row| row.belongs_to(engine)), rows.first()) {
        (Some(row), _) => Lookup::Found(row),
        (None, Some(row)) => Lookup::OtherEngine(row),
        (None, None) => Lookup::Unknown,
    }
}
