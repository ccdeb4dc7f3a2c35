//! One entry of a report: what was done, how fast, and how it was spread.

use iostrata_result::derive::{Direction, LEAST_DEPTH_SHARE, Latency, Report, shown_share};
use iostrata_result::{JobTimeline, OptionWord};
use iostrata_stats::histogram::bin_range;

use super::chart::{self, Frame, INNER_HEIGHT, INNER_WIDTH};
use super::over_time;
use super::page::{escape, facts, figure, table, term};
use super::scale::{Axis, Unit, duration};
use crate::number::{Base, Style, short};

/// Bars of a distribution in each power of ten.
const BARS_PER_DECADE: f64 = 20.0;
const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", "64 and above"];

/// The section of an entry; `number` tells it from the others on the page.
pub(super) fn section(number: usize, report: &Report<'_>, timeline: Option<&JobTimeline>) -> String {
    let job = report.job;
    let id = format!("job{number}");
    let mut html = format!("<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{}</h2>", heading(report));
    if let Some(text) = report.error_text {
        html += &format!("<p class=\"error\"><strong>Error:</strong> {}</p>", escape(text));
    }
    html += &facts(&[
        ("Description", job.description.clone().unwrap_or_default()),
        ("Work", work(report)),
        ("Engine", engine(report)),
        ("CPU", cpu(report)),
    ]);
    html += &rates(report);
    html += &latencies(report);
    for row in &report.directions {
        html += &distribution(&id, row);
    }
    html += &depths(report);
    html += match timeline {
        Some(timeline) => over_time::charts(&id, timeline),
        None => "<p>The document holds nothing of what was done over time.</p>".to_owned(),
    }
    .as_str();
    html + "</section>"
}

fn heading(report: &Report<'_>) -> String {
    let members = if report.jobs > 1 { format!(" ({} jobs)", report.jobs) } else { String::new() };
    let name = if report.job.name.trim().is_empty() { "a job without a name" } else { &report.job.name };
    format!("{}{members}", escape(name))
}

fn work(report: &Report<'_>) -> String {
    let job = report.job;
    let style = Style::default();
    let sizes = report.directions.iter().filter(|row| !row.is_empty()).filter_map(|row| {
        let (low, high) = *job.block_sizes.get(row.kind as usize).filter(|(_, high)| *high > 0)?;
        let blocks =
            if low == high { style.bytes(low) } else { format!("{} to {}", style.bytes(low), style.bytes(high)) };
        Some(format!("{} of {blocks}", row.kind.name()))
    });
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    if sizes.is_empty() { job.workload.clone() } else { format!("{}: {sizes}", job.workload) }
}

fn engine(report: &Report<'_>) -> String {
    let job = report.job;
    let used = report.members.first().map(|worker| worker.engine_used.join(", ")).unwrap_or_default();
    let depth = match job.depth_granted {
        granted if granted == job.depth || granted == 0 => format!("depth {}", job.depth),
        granted => format!("depth {granted} of {} asked", job.depth),
    };
    if used.is_empty() { format!("{}, {depth}", job.engine) } else { format!("{}, {depth}: {used}", job.engine) }
}

fn cpu(report: &Report<'_>) -> String {
    format!(
        "user {:.2}%, system {:.2}%, {} context switches",
        report.user_cpu_percent, report.system_cpu_percent, report.context_switches
    )
}

fn rates(report: &Report<'_>) -> String {
    let heads = [
        "Direction".to_owned(),
        term("Bandwidth", "bandwidth"),
        term("IOPS", "iops"),
        "I/Os".into(),
        "Bytes".into(),
        "Time".into(),
        "Short".into(),
        "Failed".into(),
    ];
    let style = Style::default();
    let row = |row: &Direction| {
        vec![
            row.kind.name().to_owned(),
            format!("{} ({})", style.rate(row.bw_bytes()), style.rate_other(row.bw_bytes())),
            short(row.iops().round() as u128, 4, Base::Decimal),
            row.ios.to_string(),
            style.bytes(row.bytes),
            duration(row.runtime_ms as f64 * 1e6),
            row.short_ios.to_string(),
            row.failed_ios.to_string(),
        ]
    };
    let rows: Vec<_> = report.directions.iter().filter(|row| !row.is_empty()).map(row).collect();
    if rows.is_empty() {
        return "<p>Nothing was moved.</p>".to_owned();
    }
    table("What was moved", &heads, &rows)
}

/// The kinds of latency of a row: name, page of the number, figures.
fn kinds(row: &Direction) -> Vec<(&'static str, &'static str, &Latency)> {
    let mut kinds =
        vec![("submission", "slat", &row.slat), ("completion", "clat", &row.clat), ("total", "lat", &row.lat)];
    kinds.extend(row.lat_intended.as_ref().map(|latency| ("from when it was due", "lat-intended", latency)));
    kinds.extend(row.issue_lag.as_ref().map(|latency| ("issued late by", "issue-lag", latency)));
    kinds.retain(|(.., latency)| latency.count() > 0);
    kinds
}

/// The percentiles of the table: heads, and which.
const SHOWN: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];

pub(super) fn shown_percentile(latency: &Latency, wanted: f64) -> String {
    latency.percentile(wanted).map_or_else(|| "–".to_owned(), |ns| duration(ns as f64))
}

fn latencies(report: &Report<'_>) -> String {
    let mut heads = vec!["Latency".to_owned(), "Smallest".into(), "Mean".into(), "Standard deviation".into()];
    heads.extend(SHOWN.iter().map(|(name, _)| term(name, "percentiles")));
    heads.push("Largest".into());
    let line = |head: String, latency: &Latency| {
        let mut cells =
            vec![head, duration(latency.min_ns() as f64), duration(latency.mean_ns()), duration(latency.stddev_ns())];
        cells.extend(SHOWN.iter().map(|(_, wanted)| shown_percentile(latency, *wanted)));
        cells.push(duration(latency.max_ns() as f64));
        cells
    };
    let mut rows = Vec::new();
    for row in &report.directions {
        for (name, page, latency) in kinds(row) {
            rows.push(line(format!("{}, {}", row.kind.name(), term(name, page)), latency));
        }
        for priority in &row.priorities {
            let (name, page) = if priority.total { ("total", "lat") } else { ("completion", "clat") };
            let which = format!("{}/{}/{}", priority.class, priority.level, priority.hint);
            let share = format!("priority {which}, {:.1}% of I/Os", priority.share);
            rows.push(line(format!("{}, {}, {share}", row.kind.name(), term(name, page)), &priority.latency));
        }
    }
    if report.sync.count() > 0 {
        rows.push(line(term("sync", "sync"), &report.sync));
    }
    table("How long it took", &heads, &rows)
}

/// All latencies of a row by their logarithm.
fn distribution(id: &str, row: &Direction) -> String {
    let (_, latency) = row.chief_latency();
    let bins = &latency.summary.bins;
    if bins.is_empty() {
        return String::new();
    }
    let cell = |ns: f64| (ns.max(1.0).log10() * BARS_PER_DECADE).floor();
    let edge = |cell: f64| 10f64.powf(cell / BARS_PER_DECADE);
    let mut bars: Vec<(f64, f64, f64)> = Vec::new();
    for &(bin, count) in &bins.0 {
        let number = cell(*bin_range(bin.into()).start() as f64);
        let (from, to) = (edge(number), edge(number + 1.0));
        match bars.last_mut() {
            Some(last) if last.0 == from => last.2 += count as f64,
            _ => bars.push((from, to, count as f64)),
        }
    }
    let marks: Vec<(String, f64)> = SHOWN
        .iter()
        .filter_map(|(name, wanted)| {
            let ns = latency.percentile(*wanted)?;
            Some((format!("{name} {}", duration(ns as f64)), ns as f64))
        })
        .collect();
    let most = bars.iter().map(|(.., count)| *count).fold(0.0, f64::max);
    let (low, high) = (bars[0].0, bars[bars.len() - 1].1);
    let name = row.kind.name();
    let title = format!("Latencies of {name} I/Os");
    let named = marks.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let about = format!("{} I/Os from {} to {}; {named}", latency.count(), duration(low), duration(high));
    let id = format!("{id}-d-{name}");
    let frame = Frame {
        id: &id,
        title: &title,
        about: &about,
        across: Axis::decades(low, high, INNER_WIDTH, Unit::Nanoseconds),
        up: Axis::linear(most * 1.05, INNER_HEIGHT, Unit::PerSecond),
        across_name: "latency, each bar a twentieth of a power of ten",
    };
    let legend = format!("<p class=\"legend\">{}</p>", escape(&about));
    figure(&term(&title, "distribution"), &chart::bars(&frame, &bars, &marks), &legend, None)
}

fn depths(report: &Report<'_>) -> String {
    if report.depth_shares.iter().all(|share| *share == 0.0) {
        return String::new();
    }
    let mut heads = vec![term("Depth", "depth")];
    heads.extend(LEVELS.map(str::to_owned));
    let mut cells = vec!["I/Os".to_owned()];
    cells.extend(report.depth_shares.map(|share| format!("{:.1}%", shown_share(share, LEAST_DEPTH_SHARE))));
    table("How many were in flight", &heads, &[cells])
}

/// The options of a job as lines of a job file.
pub(super) fn job_text(name: &str, options: &[OptionWord]) -> String {
    let mut text = format!("[{name}]\n");
    for word in options {
        text +=
            &if word.value.is_empty() { format!("{}\n", word.name) } else { format!("{}={}\n", word.name, word.value) };
    }
    text
}
