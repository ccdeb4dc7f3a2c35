//! A job over time: throughput, I/Os, percentiles of latency, and all latencies as a heat map.

use iostrata_result::{JobTimeline, PointDirection, TimelinePoint};
use iostrata_stats::histogram::bin_range;

use super::chart::{self, Frame, INNER_HEIGHT, INNER_WIDTH, Line, SHADES};
use super::page::{escape, figure, term};
use super::scale::{Axis, Unit, duration};

const NAMES: [&str; 3] = ["reads", "writes", "trims"];
const NS_PER_S: f64 = 1e9;
/// The percentiles of the chart.
const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)];
/// Rows of a heat map in each power of ten.
const ROWS_PER_DECADE: f64 = 8.0;

/// The charts of a job, `id` being a part of their names; a sentence where there is too little to draw.
pub(super) fn charts(id: &str, job: &JobTimeline) -> String {
    if job.points.len() < 2 {
        return "<p>It was over too soon for charts over time.</p>".to_owned();
    }
    let end_s = job.points.last().map_or(0.0, |point| point.end_ns as f64 / NS_PER_S);
    let across = Axis::linear(end_s, INNER_WIDTH, Unit::Seconds);
    let mut html = String::new();
    html += &rates(id, "bw", job, across, Unit::BytesPerSecond, TimelinePoint::bytes_per_second);
    html += &rates(id, "iops", job, across, Unit::PerSecond, TimelinePoint::ios_per_second);
    for (direction, name) in NAMES.iter().enumerate() {
        html += &percentiles(&format!("{id}-p{direction}"), job, direction, name, across);
        html += &heat_map(&format!("{id}-h{direction}"), job, direction, name, across);
    }
    html
}

/// A value of each window of a direction, at the window's middle.
fn points(
    job: &JobTimeline,
    direction: usize,
    value: impl Fn(&TimelinePoint, &PointDirection) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let middle = |point: &TimelinePoint| (point.start_ns + point.length_ns() / 2) as f64 / NS_PER_S;
    let of = |point: &TimelinePoint| Some((middle(point), value(point, point.directions()[direction]?)?));
    job.points.iter().filter_map(of).collect()
}

fn highest(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value).fold(0.0, f64::max)
}

fn rates(
    id: &str,
    name: &str,
    job: &JobTimeline,
    across: Axis,
    unit: Unit,
    rate: fn(&TimelinePoint, &PointDirection) -> f64,
) -> String {
    let line = |(direction, name): (usize, &&str)| Line {
        name: (*name).to_owned(),
        points: points(job, direction, |point, counts| Some(rate(point, counts))),
    };
    let lines: Vec<Line> = NAMES.iter().enumerate().map(line).filter(|line| !line.points.is_empty()).collect();
    let (title, number) = match unit {
        Unit::BytesPerSecond => ("Throughput over time", "bandwidth"),
        _ => ("I/Os per second over time", "iops"),
    };
    let about = lines.iter().map(|line| told(line, unit)).collect::<Vec<_>>().join("; ");
    let id = format!("{id}-{name}");
    let up = Axis::linear(highest(&lines) * 1.05, INNER_HEIGHT, unit);
    let frame = Frame { id: &id, title, about: &about, across, up, across_name: "seconds since the run began" };
    let svg = chart::lines(&frame, &lines);
    figure(&term(title, number), &svg, &chart::legend(&lines), Some(&chart::data(unit, false, &lines)))
}

/// A line in words: where it lies.
fn told(line: &Line, unit: Unit) -> String {
    let values = line.points.iter().map(|(_, value)| *value);
    let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    format!("{} from {} to {}", line.name, unit.label(low), unit.label(high))
}

fn percentiles(id: &str, job: &JobTimeline, direction: usize, name: &str, across: Axis) -> String {
    let line = |(title, percent): &(&str, f64)| Line {
        name: (*title).to_owned(),
        points: points(job, direction, |_, counts| counts.latency.percentile(*percent, None).map(|ns| ns as f64)),
    };
    let lines: Vec<Line> = PERCENTILES.iter().map(line).collect();
    if lines[0].points.len() < 2 {
        return String::new();
    }
    let lowest = lines[0].points.iter().map(|(_, value)| *value).fold(f64::MAX, f64::min);
    let title = format!("Latency of {name} over time");
    let about = lines.iter().map(|line| told(line, Unit::Nanoseconds)).collect::<Vec<_>>().join("; ");
    let up = Axis::decades(lowest, highest(&lines), INNER_HEIGHT, Unit::Nanoseconds);
    let frame = Frame { id, title: &title, about: &about, across, up, across_name: "seconds since the run began" };
    let data = chart::data(Unit::Nanoseconds, true, &lines);
    figure(&term(&title, "percentiles"), &chart::lines(&frame, &lines), &chart::legend(&lines), Some(&data))
}

/// The row of a heat map in which a latency lies.
fn row_of(ns: f64) -> i32 {
    (ns.max(1.0).log10() * ROWS_PER_DECADE).floor() as i32
}

fn heat_map(id: &str, job: &JobTimeline, direction: usize, name: &str, across: Axis) -> String {
    let windows: Vec<(&TimelinePoint, &PointDirection)> = job
        .points
        .iter()
        .filter_map(|point| Some((point, point.directions()[direction]?)))
        .filter(|(_, counts)| !counts.latency.is_empty())
        .collect();
    let mut counts: Vec<(f64, f64, i32, u64)> = Vec::new();
    for (point, direction) in &windows {
        let first = counts.len();
        for &(bin, count) in &direction.latency.0 {
            let row = row_of(*bin_range(bin.into()).start() as f64);
            match counts[first..].last_mut() {
                Some(last) if last.2 == row => last.3 += count,
                _ => counts.push((point.start_ns as f64 / NS_PER_S, point.end_ns as f64 / NS_PER_S, row, count)),
            }
        }
    }
    let most = counts.iter().map(|(.., count)| *count).max().unwrap_or(0);
    if windows.len() < 2 {
        return String::new();
    }
    let edge = |row: i32| 10f64.powf(f64::from(row) / ROWS_PER_DECADE);
    let (low, high) = counts.iter().fold((i32::MAX, 0), |(low, high), cell| (low.min(cell.2), high.max(cell.2)));
    // By the logarithm: one slow I/O among a million is what a reader looks for.
    let shade =
        |count: u64| ((count as f64 + 1.0).ln() / (most as f64 + 1.0).ln() * (SHADES - 1) as f64).round() as usize;
    let cells: Vec<_> =
        counts.iter().map(|&(from, to, row, count)| (from, to, edge(row), edge(row + 1), shade(count))).collect();
    let title = format!("All latencies of {name}");
    let about = format!(
        "heat map: time across, latency up from {} to {}; the darkest cell has {most} of them",
        duration(edge(low)),
        duration(edge(high + 1))
    );
    let up = Axis::decades(edge(low), edge(high + 1), INNER_HEIGHT, Unit::Nanoseconds);
    let frame = Frame { id, title: &title, about: &about, across, up, across_name: "seconds since the run began" };
    let legend = format!("<p class=\"legend\">{}</p>", escape(&about));
    figure(&term(&title, "heat-map"), &chart::heat(&frame, &cells), &legend, None)
}
