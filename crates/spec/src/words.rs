//! Words as typed, with their places: what the parsers of job files and command lines hand on.

use std::ops::Range;
use std::rc::Rc;

use crate::api::Place;

/// One line of a job file, or the whole command line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) origin: Rc<str>,
    pub(crate) number: u32,
    pub(crate) text: String,
}

/// Bytes of a line.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) line: Rc<Line>,
    pub(crate) span: Range<usize>,
}

impl Spot {
    pub(crate) fn place(&self) -> Place {
        let length = self.line.text.len();
        Place {
            origin: self.line.origin.to_string(),
            line: self.line.number,
            text: self.line.text.clone(),
            span: self.span.start.min(length)..self.span.end.min(length),
        }
    }

    /// The bytes `range` of this spot; the whole spot if they are not within it.
    pub(crate) fn within(&self, range: &Range<usize>) -> Spot {
        let span = self.span.start + range.start..self.span.start + range.end;
        let text = &self.line.text;
        let fits = span.end <= self.span.end && text.is_char_boundary(span.start) && text.is_char_boundary(span.end);
        Spot { line: Rc::clone(&self.line), span: if fits { span } else { self.span.clone() } }
    }
}

/// `name` or `name=value`.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) name: String,
    pub(crate) name_spot: Spot,
    /// None for a bare name. In a job file a blank after `=` is part of it, as for fio.
    pub(crate) value: Option<String>,
    /// Where the value is; where the name is, if there is none.
    pub(crate) value_spot: Spot,
    /// The value up to where a comment is meant to begin, when a `#` or `;` within a word cut it short.
    pub(crate) uncut: Option<String>,
    /// Whether the value stands in the line letter by letter, so that places within it can be shown.
    pub(crate) verbatim: bool,
}

impl Word {
    /// The place of bytes `range` of the value.
    pub(crate) fn place_in_value(&self, range: &Range<usize>) -> Spot {
        if self.verbatim && !range.is_empty() { self.value_spot.within(range) } else { self.value_spot.clone() }
    }
}

/// A `[section]`, or what follows a `--name`.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) spot: Spot,
    pub(crate) words: Vec<Word>,
}

impl Section {
    /// A name that begins so is a template for the jobs that follow.
    pub(crate) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}
