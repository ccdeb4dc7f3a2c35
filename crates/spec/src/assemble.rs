//! Sections to drafts: each word is looked up, read, judged and applied.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::api::{Host, Severity, Source};
use crate::draft::Draft;
use crate::engines;
use crate::grammar::{self, Fault, Note, Reading};
use crate::job::{Job, OddSize, OptionWord};
use crate::report::Report;
use crate::suggest;
use crate::table::{Lookup, OptionSpec, Status, all_options, lookup};
use crate::value::{Kind, Value};
use crate::words::{Section, Spot, Word};

/// How values are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// `--strict`.
    pub(crate) strict: bool,
    /// `--fio-exact`.
    pub(crate) fio_exact: bool,
    /// `--readonly`.
    pub(crate) readonly: bool,
}

/// A draft with the places its options came from.
#[derive(Clone, Default)]
pub(crate) struct Built {
    pub(crate) draft: Draft,
    pub(crate) spots: BTreeMap<&'static str, Spot>,
    pub(crate) words: Vec<OptionWord>,
    /// The words of the templates above.
    pub(crate) above: Rc<Vec<OptionWord>>,
}

pub(crate) struct Assembler<'a> {
    pub(crate) settings: Settings,
    pub(crate) host: &'a Host,
    pub(crate) source: &'a dyn Source,
    pub(crate) report: &'a mut Report,
}

/// One word and what it was found to be.
struct Found<'w> {
    word: &'w Word,
    row: &'static OptionSpec,
    /// The base that fio reads the word with: on a command line `kb_base` counts only for what stands right of it.
    fio_base: Option<u32>,
    /// Whether the shell has split it: then blanks in a text are meant.
    from_shell: bool,
}

impl Assembler<'_> {
    /// Applies the words of a section to what the template holds. On a command line (`from_shell`) `kb_base` counts for
    /// fio only from where it stands.
    pub(crate) fn apply(&mut self, template: &Built, section: &Section, from_shell: bool) -> Built {
        let mut built = Built { words: Vec::new(), ..template.clone() };
        if !section.is_global() {
            built.draft.job.name.clone_from(&section.name);
            built.draft.job.section.clone_from(&section.name);
        }
        let engine = self.engine(section, &built);
        let mut found = Vec::new();
        let mut base_so_far = Some(built.draft.job.reporting.kb_base);
        for word in &section.words {
            let Some(row) = self.find(word, engine.as_deref()) else { continue };
            if row.name == "kb_base" {
                base_so_far = None;
            }
            let fio_base = if from_shell { base_so_far } else { None };
            found.push(Found { word, row, fio_base, from_shell });
            let value = word.value.as_deref().unwrap_or_default();
            let text_like = matches!(row.kind, Kind::Text | Kind::Names);
            let value = match word.uncut.as_deref().filter(|_| text_like) {
                _ if self.settings.fio_exact || from_shell => value,
                Some(whole) => whole,
                None => value.trim(),
            };
            built.words.push(OptionWord { name: row.name.to_owned(), value: value.to_owned() });
        }
        found.sort_by_key(|f| f.row.rank());
        for one in found {
            self.word(&one, &mut built);
        }
        built
    }

    /// The engine the section's options are judged by; none when its name is wrong, so that nothing else is blamed.
    fn engine(&mut self, section: &Section, built: &Built) -> Option<String> {
        let Some(word) = section.words.iter().rfind(|w| w.name == "ioengine") else {
            return Some(built.draft.job.engine.clone());
        };
        let text = word.value.as_deref().unwrap_or_default().trim();
        engines::resolve(text).map(str::to_owned)
    }

    fn find(&mut self, word: &Word, engine: Option<&str>) -> Option<&'static OptionSpec> {
        match lookup(&word.name, engine.unwrap_or_default()) {
            Lookup::Found(row) => Some(row),
            Lookup::OtherEngine(row) => {
                if let Some(engine) = engine {
                    let owners = row.engines.join(", ");
                    let message = format!("`{}` is an option of {owners}; the engine here is {engine}", word.name);
                    let help = format!("set `ioengine={}` in the same section", row.engines[0]);
                    self.report.error(&word.name_spot, message, Some(help));
                }
                None
            }
            Lookup::Unknown => {
                let known = all_options().filter(|row| engine.is_none_or(|e| row.belongs_to(e)));
                let names = known.flat_map(|row| row.names());
                let near = if self.report.is_long() { None } else { suggest::nearest(&word.name, names) };
                let help = near.map(|near| format!("did you mean `{near}`?"));
                self.report.error(&word.name_spot, format!("unknown option `{}`", word.name), help);
                None
            }
        }
    }

    fn word(&mut self, found: &Found<'_>, built: &mut Built) {
        let Found { word, row, .. } = found;
        if let Status::NotYet | Status::Refused { .. } = row.status {
            return self.not_carried_out(word, row, &built.draft.job);
        }
        if row.linux_only && self.host.macos {
            let message = format!("`{}` exists only on Linux", row.name);
            return self.report.error(&word.name_spot, message, None);
        }
        let Some(value) = self.value(found, built.draft.job.reporting.kb_base) else { return };
        if row.name == "ioengine" && !self.known_engine(word) {
            return;
        }
        self.note_odd_size(found, &value, &mut built.draft.job);
        if let Some(set) = row.set {
            set(&mut built.draft, value);
        }
        built.spots.insert(row.name, word.value_spot.clone());
    }

    /// Keeps what a size comes to whose unit is read otherwise than one might think; it is shown before the run.
    fn note_odd_size(&self, found: &Found<'_>, value: &Value, job: &mut Job) {
        let row = found.row;
        let base = job.reporting.kb_base;
        let base = found.fio_base.filter(|_| self.settings.fio_exact).unwrap_or(base);
        let text = found.word.value.as_deref().map_or("", str::trim);
        job.reporting.odd_sizes.remove(row.name);
        if row.kind.is_size() && grammar::has_odd_unit(text, base) {
            let odd = OddSize { text: text.to_owned(), bytes: row.kind.format(value) };
            job.reporting.odd_sizes.insert(row.name, odd);
        }
    }

    fn value(&mut self, found: &Found<'_>, base: u32) -> Option<Value> {
        let Found { word, row, fio_base, from_shell } = found;
        let Some(text) = word.value.as_deref() else {
            if row.takes_no_value() {
                return Some(Value::Flag(true));
            }
            if row.bare {
                return Some(Value::Text(String::new()));
            }
            let message = format!("`{}` needs a value: {}", row.name, row.kind.describe());
            self.report.error(&word.name_spot, message, None);
            return None;
        };
        let text_like = matches!(row.kind, Kind::Text | Kind::Names);
        if let Some(whole) = word.uncut.as_deref().filter(|_| text_like && !self.settings.fio_exact) {
            return Some(self.beyond_the_comment_sign(word, row, whole));
        }
        let fio = || {
            let base = fio_base.unwrap_or(base);
            let (value, _) = grammar::parse_with_files(&row.kind, text, base, Reading::Fio, self.source)?;
            // Other percentages where none is wanted are the most there can be; of this one fio only reads.
            let reads_only = row.name == "rwmixwrite" && text.trim_end().ends_with('%');
            Ok::<_, Fault>(if reads_only { Value::Int(0) } else { value })
        };
        let literal = *from_shell && text_like;
        let reading = if literal { Reading::Fio } else { Reading::Plain };
        let (plain, mut notes) = match self.plain(row, text, base, reading) {
            Ok(read) => read,
            Err(fault) => {
                return match fio() {
                    Ok(value) if self.settings.fio_exact => Some(value),
                    _ => {
                        self.fault(word, row, fault);
                        None
                    }
                };
            }
        };
        if fio_base.is_some_and(|b| b != base) && fio().is_ok_and(|value| value != plain) {
            let why = "fio applies kb_base only to what stands right of it on a command line";
            notes.push(Note { span: 0..text.len(), why });
        }
        // Of an option that is ours fio says nothing.
        let Some(note) = notes.first().filter(|_| row.known_to_fio()) else { return Some(plain) };
        if self.settings.fio_exact {
            return match fio() {
                Ok(value) => Some(value),
                Err(fault) => {
                    self.fault(word, row, fault);
                    None
                }
            };
        }
        self.misreading(word, row, note, &plain, fio().ok().as_ref());
        Some(plain)
    }

    /// A text in which a `#` or `;` stands within a word: all of it is meant.
    fn beyond_the_comment_sign(&mut self, word: &Word, row: &OptionSpec, whole: &str) -> Value {
        let severity = if self.settings.strict { Severity::Error } else { Severity::Warning };
        let fio = word.value.as_deref().unwrap_or_default();
        let message = format!("`{}` is taken as `{whole}`; fio takes `{fio}`", row.name);
        let help =
            "fio begins a comment at the first `#` or `;` of a line; on the command line it can be given".to_owned();
        self.report.say(severity, &word.value_spot, message, Some(help));
        match grammar::parse(&row.kind, whole, 1024, Reading::Fio) {
            Ok((value, _)) => value,
            Err(_) => Value::Text(whole.to_owned()),
        }
    }

    /// What was plainly meant. A name with a colon that exists as it stands is one name, not a list.
    fn plain(&self, row: &OptionSpec, text: &str, base: u32, reading: Reading) -> Result<(Value, Vec<Note>), Fault> {
        let (value, mut notes) = grammar::parse_with_files(&row.kind, text, base, reading, self.source)?;
        if row.name == "filename"
            && matches!(&value, Value::Names(names) if names.len() > 1)
            && self.source.exists(Path::new(text.trim()))
        {
            let why = "a colon separates names; within a name it is written `\\:`";
            notes.push(Note { span: 0..text.len(), why });
            return Ok((Value::Names(vec![text.trim().to_owned()]), notes));
        }
        Ok((value, notes))
    }

    fn misreading(&mut self, word: &Word, row: &OptionSpec, note: &Note, plain: &Value, fio: Option<&Value>) {
        let name = row.name;
        let meant = row.kind.format(plain);
        let message = match fio {
            Some(value) if value == plain => format!("`{name}` is taken as `{meant}`, as fio does"),
            Some(value) => format!("`{name}` is taken as `{meant}`; fio takes `{}`", row.kind.format(value)),
            None => format!("`{name}` is taken as `{meant}`; fio refuses it"),
        };
        let severity = if self.settings.strict { Severity::Error } else { Severity::Warning };
        let blank = word.value.as_deref().is_some_and(|v| v.starts_with(char::is_whitespace)) && note.span.start == 0;
        let spot = if blank { word.value_spot.clone() } else { word.place_in_value(&note.span) };
        // Less than a microsecond, say, cannot be written so that fio reads it too.
        let read_alike = grammar::parse(&row.kind, &meant, 1024, Reading::Fio).is_ok_and(|(value, _)| value == *plain);
        let advice = if read_alike { format!("; write `{name}={meant}`") } else { String::new() };
        let help = format!("{}{advice}", note.why);
        self.report.say(severity, &spot, message, Some(help));
    }

    fn fault(&mut self, word: &Word, row: &OptionSpec, fault: Fault) {
        let spot = word.place_in_value(&fault.span);
        self.report.error(&spot, format!("`{}`: {}", row.name, fault.message), fault.help);
    }

    /// An option that does nothing here passes only with a value under which there is nothing to do.
    fn not_carried_out(&mut self, word: &Word, row: &OptionSpec, job: &Job) {
        let base = job.reporting.kb_base;
        let text = word.value.as_deref().map_or("1", str::trim);
        let read = |text: &str| grammar::parse(&row.kind, text, base, Reading::Plain).map(|(value, _)| value);
        let value = read(text);
        if value.is_ok() && row.harmless.iter().any(|harmless| read(harmless) == value) {
            return;
        }
        if !row.engines.is_empty() && engines::absent_engine(&job.engine).is_some() {
            // No such job can run, and the run says why: what is said about its engine need only be right.
            if let Err(fault) = value {
                self.fault(word, row, fault);
            }
            return;
        }
        let spot = &word.name_spot;
        if let Status::Refused { why, instead } = row.status {
            let message = format!("`{}` is not supported: {why}", row.name);
            return self.report.error(spot, message, Some(format!("instead: {instead}")));
        }
        let message = format!("`{}` is not carried out yet ({})", row.name, row.summary);
        let help = row.harmless.first().map(|h| format!("only `{}={h}` is possible so far", row.name));
        self.report.error(spot, message, help);
    }

    fn known_engine(&mut self, word: &Word) -> bool {
        let text = word.value.as_deref().unwrap_or_default();
        let text = if self.settings.fio_exact { text } else { text.trim() };
        if engines::resolve(text).is_some() {
            return true;
        }
        let spot = &word.value_spot;
        if text.starts_with("external:") {
            let message = "engines written in C for fio cannot be loaded";
            self.report.error(spot, message, Some("use a built-in engine; see --enghelp".to_owned()));
            return false;
        }
        let near = suggest::nearest(text, engines::ENGINES.iter().map(|e| e.name));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        self.report.error(spot, format!("there is no engine `{text}`"), help);
        false
    }
}
