//! Charts as inline SVG: they need no script, and say in words what they show.

use std::fmt::Write;

use super::page::escape;
use super::scale::{Axis, Unit};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 36.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

/// Width of what is drawn within the axes.
pub(super) const INNER_WIDTH: f64 = WIDTH - LEFT - RIGHT;
/// Height of what is drawn within the axes.
pub(super) const INNER_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;

/// One line of a chart.
pub(super) struct Line {
    pub(super) name: String,
    /// Seconds and values, ascending in time.
    pub(super) points: Vec<(f64, f64)>,
}

/// What every chart has.
pub(super) struct Frame<'a> {
    /// A name that no other chart of the page has.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// What a reader who does not see it should know.
    pub(super) about: &'a str,
    pub(super) across: Axis,
    pub(super) up: Axis,
    pub(super) across_name: &'a str,
}

impl Frame<'_> {
    /// The chart around what is drawn in it.
    pub(super) fn svg(&self, drawn: &str) -> String {
        let Frame { id, title, about, .. } = self;
        let (title, about) = (escape(title), escape(about));
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{about}</desc>"
        );
        for mark in self.up.marks(5) {
            let y = TOP + INNER_HEIGHT - self.up.place(mark);
            let label = escape(&self.up.unit.label(mark));
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}h{INNER_WIDTH}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        for mark in self.across.marks(8) {
            let x = LEFT + self.across.place(mark);
            let label = escape(&self.across.unit.label(mark));
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}v{INNER_HEIGHT}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                TOP + INNER_HEIGHT + 18.0
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><g transform=\"translate({LEFT} {TOP})\">\
             {drawn}</g></svg>",
            LEFT + INNER_WIDTH / 2.0,
            HEIGHT - 8.0,
            escape(self.across_name)
        );
        svg
    }
}

/// Lines over time.
pub(super) fn lines(frame: &Frame<'_>, lines: &[Line]) -> String {
    let mut drawn = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut path = String::new();
        for (at, value) in &line.points {
            let (x, y) = (frame.across.place(*at), INNER_HEIGHT - frame.up.place(*value));
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        let _ = write!(drawn, "<path class=\"line l{}\" d=\"{path}\"/>", number % 5);
    }
    frame.svg(&drawn)
}

/// The legend of a chart's lines.
pub(super) fn legend(lines: &[Line]) -> String {
    let items = lines.iter().enumerate().map(|(number, line)| {
        format!("<li><span class=\"key l{}\" aria-hidden=\"true\"></span>{}</li>", number % 5, escape(&line.name))
    });
    format!("<ul class=\"legend\">{}</ul>", items.collect::<String>())
}

/// Bars of a distribution: from, to, and how much; with marks that have a name.
pub(super) fn bars(frame: &Frame<'_>, bars: &[(f64, f64, f64)], marks: &[(String, f64)]) -> String {
    let mut path = String::new();
    for (from, to, value) in bars {
        let (left, right) = (frame.across.place(*from), frame.across.place(*to));
        let height = frame.up.place(*value);
        let width = (right - left - 0.5).max(0.5);
        let _ = write!(path, "M{left:.1} {:.1}h{width:.1}v{height:.1}h-{width:.1}z", INNER_HEIGHT - height);
    }
    let mut drawn = format!("<path class=\"bar\" d=\"{path}\"/>");
    // Names that would lie on each other go below each other.
    let mut last = [f64::NEG_INFINITY; 4];
    for (name, value) in marks {
        let x = frame.across.place(*value);
        let row = last.iter().position(|end| x > end + 4.0).unwrap_or(0);
        last[row] = x + 8.0 * name.chars().count() as f64;
        let _ = write!(
            drawn,
            "<path class=\"mark\" d=\"M{x:.1} 0v{INNER_HEIGHT}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 3.0,
            10.0 + 13.0 * row as f64,
            escape(name)
        );
    }
    frame.svg(&drawn)
}

/// Shades of a heat map, from the faintest.
pub(super) const SHADES: usize = 8;

/// Cells of a heat map: left, right, bottom, top in the axes' values, and a shade.
pub(super) fn heat(frame: &Frame<'_>, cells: &[(f64, f64, f64, f64, usize)]) -> String {
    let mut paths = vec![String::new(); SHADES];
    for &(from, to, low, high, shade) in cells {
        let (left, right) = (frame.across.place(from), frame.across.place(to));
        let (bottom, top) = (INNER_HEIGHT - frame.up.place(low), INNER_HEIGHT - frame.up.place(high));
        let (width, height) = ((right - left).max(0.5), (bottom - top).max(0.5));
        let _ = write!(paths[shade.min(SHADES - 1)], "M{left:.1} {top:.1}h{width:.1}v{height:.1}h-{width:.1}z");
    }
    let drawn = paths.iter().enumerate().filter(|(_, path)| !path.is_empty());
    let drawn: String = drawn.map(|(shade, path)| format!("<path class=\"h{shade}\" d=\"{path}\"/>")).collect();
    frame.svg(&drawn)
}

/// The data of a chart of lines, for the script that makes it zoomable.
pub(super) fn data(unit: Unit, logarithmic: bool, lines: &[Line]) -> String {
    let times: Vec<String> =
        lines.first().map_or(Vec::new(), |line| line.points.iter().map(|(at, _)| format!("{at:.3}")).collect());
    let series: Vec<String> = lines
        .iter()
        .map(|line| {
            let values: Vec<String> = line.points.iter().map(|(_, value)| format!("{value:.0}")).collect();
            format!("{{\"name\":{},\"y\":[{}]}}", super::page::script_text(&line.name), values.join(","))
        })
        .collect();
    format!(
        "{{\"unit\":\"{}\",\"log\":{logarithmic},\"x\":[{}],\"lines\":[{}]}}",
        unit.word(),
        times.join(","),
        series.join(",")
    )
}
