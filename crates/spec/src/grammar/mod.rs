//! The grammar of values: text and kind in, typed value out.
//!
//! Where fio silently takes something else than what its own manual and the text plainly say, there are two readings:
//! what was plainly meant, with a note, and fio's.

mod arithmetic;
mod distribution;
mod lists;
mod number;
mod pattern;
mod priorities;
mod shares;

use std::ops::Range;

use crate::api::Source;
use crate::job::{Size, Workload};
use crate::value::{Choice, Kind, Value};

pub(crate) use arithmetic::evaluate_plain;
pub(crate) use number::has_odd_unit;

/// Which of the two readings is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// What was plainly meant; notes tell where fio reads something else.
    Plain,
    /// fio's.
    Fio,
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Bytes of the value that are meant.
    pub(crate) span: Range<usize>,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

impl Fault {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Fault { span, message: message.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A place where the two readings part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// Bytes of the value that are meant.
    pub(crate) span: Range<usize>,
    /// What fio does there.
    pub(crate) why: &'static str,
}

/// A piece of a value, and where it begins in the whole.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Piece<'a> {
    fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// The part from byte `from` on.
    fn from(self, from: usize) -> Piece<'a> {
        Piece { text: &self.text[from..], at: self.at + from }
    }

    fn to(self, to: usize) -> Piece<'a> {
        Piece { text: &self.text[..to], at: self.at }
    }

    /// Pieces between `separator`.
    fn split(self, separator: char) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut at = self.at;
        for text in self.text.split(separator) {
            pieces.push(Piece { text, at });
            at += text.len() + separator.len_utf8();
        }
        pieces
    }

    fn trimmed(self) -> Piece<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        Piece { text: self.text.trim(), at: self.at + start }
    }
}

/// One parse of one value.
pub(crate) struct Grammar<'s> {
    /// 1024 or 1000: what the suffixes mean.
    kb_base: u32,
    reading: Reading,
    notes: Vec<Note>,
    /// Where files named in a value are read; none: there are no files.
    source: Option<&'s dyn Source>,
}

/// Reads `text` as a value of `kind` that names no file.
pub(crate) fn parse(kind: &Kind, text: &str, kb_base: u32, reading: Reading) -> Result<(Value, Vec<Note>), Fault> {
    Grammar { kb_base, reading, notes: Vec::new(), source: None }.parse(kind, text)
}

/// Reads `text` as a value of `kind`; files that it names are read from `source`.
pub(crate) fn parse_with_files(
    kind: &Kind,
    text: &str,
    kb_base: u32,
    reading: Reading,
    source: &dyn Source,
) -> Result<(Value, Vec<Note>), Fault> {
    Grammar { kb_base, reading, notes: Vec::new(), source: Some(source) }.parse(kind, text)
}

impl Grammar<'_> {
    fn parse(mut self, kind: &Kind, text: &str) -> Result<(Value, Vec<Note>), Fault> {
        let value = self.value(kind, text)?;
        Ok((value, self.notes))
    }

    fn note(&mut self, span: Range<usize>, why: &'static str) {
        self.notes.push(Note { span, why });
    }

    fn value(&mut self, kind: &Kind, text: &str) -> Result<Value, Fault> {
        let whole = Piece { text, at: 0 };
        let piece = self.without_blanks(kind, whole);
        if piece.text.is_empty() {
            return Err(Fault::new(whole.span(), "a value is missing"));
        }
        match *kind {
            Kind::Flag => self.switch(piece, "a flag stands alone, or takes 0 or 1").map(Value::Flag),
            Kind::Bool => self.switch(piece, "a switch takes 0 or 1").map(Value::Flag),
            Kind::Int { min, max } => self.int(piece, min, max).map(Value::Int),
            Kind::Bytes { min, max } => self.bytes(piece, min, max).map(Value::Bytes),
            Kind::PerDirection { min, max } => {
                self.per_direction(piece, |g, p| g.bytes(p, min, max)).map(Value::PerDirection)
            }
            Kind::Share => self.share(piece).map(Value::Share),
            Kind::Zones => self.bytes_or_zones(piece).map(Value::Share),
            Kind::Range { min } => self.range(piece, |g, p| g.bytes(p, min, u64::MAX)).map(|(a, b)| Value::Range(a, b)),
            Kind::Time(unit) => self.time(piece, unit).map(Value::Nanos),
            Kind::TimeRange(unit) => self.range(piece, |g, p| g.time(p, unit)).map(|(a, b)| Value::NanosRange(a, b)),
            Kind::PerDirectionTime(unit) => self.per_direction(piece, |g, p| g.time(p, unit)).map(Value::PerDirection),
            Kind::Choice(choices) => choice(piece, choices).map(Value::Choice),
            Kind::ChoiceWith(choices) => {
                let word = piece.to(piece.text.find(':').unwrap_or(piece.text.len()));
                choice(word, choices).map(|_| Value::Text(piece.text.to_owned()))
            }
            Kind::FileService(choices) => lists::file_service(piece, choices).map(Value::FileService),
            Kind::Words(choices) => words(piece, choices).map(|()| Value::Text(piece.text.to_owned())),
            Kind::Workload => self.workload(piece).map(Value::Workload),
            Kind::Text => Ok(Value::Text(piece.text.to_owned())),
            Kind::Names => lists::names(piece).map(Value::Names),
            Kind::Cpus => lists::cpus(piece).map(Value::Cpus),
            Kind::CpuMask => self.cpu_mask(piece).map(Value::Cpus),
            Kind::Numbers { most } => {
                self.floats_in_order(piece, most, 0.0, f64::MAX).map(|list| Value::Numbers(list.values))
            }
            Kind::Floats { most, above, max } => self.floats(piece, most, above, max).map(Value::Floats),
            Kind::Steady(choices) => lists::steady(piece, choices).map(Value::Steady),
            Kind::Ranges => self.ranges(piece).map(Value::Ranges),
            Kind::Split => self.split(piece).map(Value::Split),
            Kind::Priorities => self.priorities(piece).map(Value::Priorities),
            Kind::Distribution(choices) => self.distribution(piece, choices).map(Value::Distribution),
            Kind::Pattern { offsets } => self.pattern(piece, offsets).map(Value::Pattern),
            Kind::Gone => Err(Fault::new(piece.span(), "this option is gone")),
        }
    }

    /// Blanks around a value are not meant; fio keeps those before it.
    fn without_blanks<'a>(&mut self, kind: &Kind, whole: Piece<'a>) -> Piece<'a> {
        let trimmed = whole.trimmed();
        let text_like = matches!(kind, Kind::Text | Kind::Names);
        if trimmed.at > 0 && !trimmed.text.is_empty() {
            if self.reading == Reading::Fio {
                return whole;
            }
            self.note(0..trimmed.at, "fio keeps a blank after `=` as part of the value");
        }
        if text_like && trimmed.at == 0 { whole } else { trimmed }
    }

    fn switch(&mut self, piece: Piece<'_>, what: &str) -> Result<bool, Fault> {
        let text = piece.text.trim_start();
        let skip = if text.starts_with("0x") || text.starts_with("0X") { 2 } else { 0 };
        let digits = skip + text[skip..].bytes().take_while(u8::is_ascii_digit).count();
        let rest = &text[digits..];
        let any_number_is_on = what.starts_with("a flag");
        match (text[skip..digits].parse::<u64>(), rest.is_empty()) {
            (Ok(0), true) => return Ok(false),
            (Ok(1), true) => return Ok(true),
            (Ok(n), _) if n == 1 || n > 1 && rest.is_empty() && any_number_is_on => {
                self.note(piece.span(), "fio takes any such number for `1`");
                return Ok(true);
            }
            _ => {}
        }
        let meant = match piece.text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        };
        if let (Some(on), Reading::Plain) = (meant, self.reading) {
            self.note(piece.span(), "fio knows only 0 and 1 here");
            return Ok(on);
        }
        Err(Fault::new(piece.span(), format!("`{}`: {what}", piece.text)))
    }

    /// `word[:number]`.
    fn workload(&mut self, piece: Piece<'_>) -> Result<Workload, Fault> {
        let (word, modifier) = match piece.text.find(':') {
            Some(colon) => (piece.to(colon), Some(piece.from(colon + 1))),
            None => (piece, None),
        };
        let name = choice(word, crate::options::shape::WORKLOADS)?;
        let modifier = match modifier {
            Some(p) if p.text.is_empty() => {
                return Err(Fault::new(p.at - 1..p.at, "a number is missing after the colon"));
            }
            Some(p) => Some(self.int(p, i64::MIN, i64::MAX)?),
            None => None,
        };
        let random = name.starts_with("rand");
        let (reads, writes, trims) = match name.trim_start_matches("rand") {
            "read" => (true, false, false),
            "write" => (false, true, false),
            "trim" => (false, false, true),
            "trimwrite" => (false, true, true),
            _ => (true, true, false),
        };
        let none = modifier.is_some_and(|n| n < 1);
        if random && none && self.reading == Reading::Fio {
            return Ok(Workload { reads, writes, trims, random, modifier: None });
        }
        if random && none {
            return Err(Fault::new(piece.span(), "the number of I/Os per random offset is 1 or more"));
        }
        Ok(Workload { reads, writes, trims, random, modifier })
    }

    /// Bytes or `Nz`.
    fn bytes_or_zones(&mut self, piece: Piece<'_>) -> Result<Size, Fault> {
        let Some(number) = piece.text.strip_suffix(['z', 'Z']) else {
            return self.bytes(piece, 0, u64::MAX).map(Size::Bytes);
        };
        number.trim().parse().map(Size::Zones).map_err(|_| Fault::new(piece.span(), "zones are a whole number and `z`"))
    }

    /// Bytes, `N%` or `Nz`.
    fn share(&mut self, piece: Piece<'_>) -> Result<Size, Fault> {
        // fio takes a dash or a colon for a range, and its end for the value.
        let piece = match piece.text.rfind(['-', ':']).filter(|_| self.reading == Reading::Fio) {
            Some(at) if !piece.text.starts_with('(') => piece.from(at + 1),
            _ => piece,
        };
        let percent = piece.text.find('%').filter(|_| !piece.text.starts_with('('));
        let Some(percent) = percent else {
            return self.bytes_or_zones(piece);
        };
        if !piece.text[percent..].chars().all(|c| c == '%') {
            return Err(Fault::new(piece.from(percent).span(), "nothing may follow the percent sign"));
        }
        if piece.text.len() > percent + 1 {
            self.note(piece.from(percent).span(), "fio passes over a doubled percent sign");
        }
        match piece.text[..percent].trim().parse::<u32>() {
            Ok(n) if n <= 100 => Ok(Size::Percent(n)),
            Ok(_) => Err(Fault::new(piece.span(), "a percentage is between 0 and 100")),
            Err(_) => Err(Fault::new(piece.to(percent).span(), "a percentage is a whole number from 0 to 100")),
        }
    }

    fn cpu_mask(&mut self, piece: Piece<'_>) -> Result<Vec<u32>, Fault> {
        let mask = self.bytes(piece, 0, u64::MAX)?;
        Ok((0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect())
    }
}

/// One of `choices`, exactly.
fn choice(piece: Piece<'_>, choices: &'static [Choice]) -> Result<&'static str, Fault> {
    if let Some(found) = choices.iter().find(|c| c.word == piece.text) {
        return Ok(found.word);
    }
    let list = choices.iter().map(|c| c.word).collect::<Vec<_>>().join(", ");
    let fault = Fault::new(piece.span(), format!("`{}` is none of: {list}", piece.text));
    Err(match crate::suggest::nearest(piece.text, choices.iter().map(|c| c.word)) {
        Some(word) => fault.help(format!("did you mean `{word}`?")),
        None => fault,
    })
}

/// Words of a list with commas between, the last perhaps with `:number`.
fn words(piece: Piece<'_>, choices: &'static [Choice]) -> Result<(), Fault> {
    let list = match piece.text.rfind(':') {
        Some(colon) if piece.text[colon + 1..].bytes().all(|b| b.is_ascii_digit()) => piece.to(colon),
        _ => piece,
    };
    list.split(',').into_iter().try_for_each(|word| choice(word, choices).map(|_| ()))
}
