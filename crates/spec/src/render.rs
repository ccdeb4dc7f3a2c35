//! Diagnostics as text: the line, the place underlined, what to do.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::api::{Diagnostic, Severity};

/// Columns that a rendered line may take; long command lines are cut around the place.
const WIDTH: usize = 140;

/// All diagnostics, one under the other, each with its place. Ends with a line feed unless empty.
pub fn render_diagnostics(diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() }.term_width(WIDTH);
    let mut text = String::new();
    for diagnostic in diagnostics {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()));
        if let Some(place) = &diagnostic.place {
            let (text, span) = around(&place.text, place.span.clone());
            let snippet = Snippet::source(text)
                .path(place.origin.as_str())
                .line_start(place.line as usize)
                .annotation(AnnotationKind::Primary.span(span));
            group = group.element(snippet);
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        text.push_str(&renderer.render(&[group]));
        text.push('\n');
    }
    text
}

/// Bytes kept on each side of the place in a line that is far longer than any screen.
const AROUND: usize = 1024;

/// The text about a span, and the span in it: within the text and on character boundaries, whoever made the diagnostic.
fn around(text: &str, span: Range<usize>) -> (&str, Range<usize>) {
    let floor = |at: usize| text.floor_char_boundary(at);
    let start = floor(span.start);
    let end = floor(span.end.min(start + AROUND)).max(start);
    if text.len() <= 4 * AROUND {
        return (text, start..floor(span.end).max(start));
    }
    let from = floor(start.saturating_sub(AROUND));
    (&text[from..floor(end + AROUND)], start - from..end - from)
}
