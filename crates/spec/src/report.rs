//! Where diagnostics are gathered.

use crate::api::{Diagnostic, Severity};
use crate::words::Spot;

/// More diagnostics than this help nobody; the rest is counted.
const MOST: usize = 100;

/// Characters of a message; a value that is a megabyte long need not be repeated in whole.
const LONGEST: usize = 400;

/// Diagnostics so far, each said once.
#[derive(Debug, Default)]
pub(crate) struct Report {
    list: Vec<Diagnostic>,
    beyond: usize,
    repeats: usize,
    failed: bool,
}

impl Report {
    /// Says that something at `spot` is wrong.
    pub(crate) fn error(&mut self, spot: &Spot, message: impl Into<String>, help: Option<String>) {
        self.say(Severity::Error, spot, message, help);
    }

    /// Says something of either severity.
    pub(crate) fn say(&mut self, severity: Severity, spot: &Spot, message: impl Into<String>, help: Option<String>) {
        self.failed |= severity == Severity::Error;
        if self.list.len() >= MOST {
            self.beyond += 1;
            return;
        }
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(LONGEST) {
            message.truncate(end);
            message.push('…');
        }
        let diagnostic = Diagnostic { severity, message, place: Some(spot.place()), help };
        if self.list.contains(&diagnostic) {
            self.repeats += 1;
        } else {
            self.list.push(diagnostic);
        }
    }

    /// Whether so much was said that suggestions, which take time, are no longer worth it.
    pub(crate) fn is_long(&self) -> bool {
        self.list.len() >= MOST || self.repeats >= MOST
    }

    /// Whether anything is an error.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Adds what has no place.
    pub(crate) fn general(&mut self, message: &str, help: &str) {
        self.failed = true;
        let (message, help) = (message.to_owned(), Some(help.to_owned()));
        self.list.push(Diagnostic { severity: Severity::Error, message, place: None, help });
    }

    /// Makes every warning an error.
    pub(crate) fn warnings_are_fatal(&mut self) {
        self.failed |= !self.list.is_empty();
        self.list.iter_mut().for_each(|d| d.severity = Severity::Error);
    }

    /// All of them in the order of their places, and how many more there were.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        let mut origins: Vec<String> = Vec::new();
        for place in self.list.iter().filter_map(|d| d.place.as_ref()) {
            if !origins.contains(&place.origin) {
                origins.push(place.origin.clone());
            }
        }
        self.list.sort_by_key(|d| {
            let place = d.place.as_ref();
            place.map(|p| (origins.iter().position(|o| *o == p.origin), p.line, p.span.start))
        });
        if self.beyond > 0 {
            let severity = if self.failed { Severity::Error } else { Severity::Warning };
            let message = format!("and {} more", self.beyond);
            self.list.push(Diagnostic { severity, message, place: None, help: None });
        }
        self.list
    }
}
