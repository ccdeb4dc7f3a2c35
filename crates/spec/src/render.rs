//! Diagnostics as text: the line, the place underlined, what to do.

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
            let span = visible(&place.text, place.span.clone());
            let snippet = Snippet::source(place.text.as_str())
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

/// A span that is within the text and on character boundaries, whoever made the diagnostic.
fn visible(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}
