//! What Prometheus and its like scrape: counters, gauges and histograms of a run that goes on.
//!
//! Two dialects: the text format 0.0.4 of Prometheus, and OpenMetrics 1.0. They differ in how a counter is named in its
//! `TYPE` line, and in the mark at the end.

use std::fmt::Write;

use iostrata_result::derive::{self, Direction, Latency, Report};
use iostrata_result::{End, RunResult};
use iostrata_stats::histogram::bin_range;

/// How the same numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `text/plain; version=0.0.4`.
    Prometheus,
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
}

impl Dialect {
    /// The one that a client's `Accept` header asks for.
    pub fn of_accept(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Upper edges of the latency buckets, nanoseconds. A bin of the histogram counts in the first bucket that holds all of
/// it: at most 1/64 above an edge is counted one bucket too high.
const EDGES_NS: [u64; 22] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// A counter of each job and direction: its name without `_total`, what it is, and its value.
type Counter = (&'static str, &'static str, fn(&Direction) -> u64);

const COUNTERS: [Counter; 4] = [
    ("iostrata_ios", "I/Os completed.", |row| row.ios),
    ("iostrata_bytes", "Bytes transferred.", |row| row.bytes),
    ("iostrata_short_ios", "I/Os that transferred less than asked.", |row| row.short_ios),
    ("iostrata_failed_ios", "I/Os that failed.", |row| row.failed_ios),
];

/// The metrics of a run; `None` before its jobs have begun.
pub fn render(run: Option<&RunResult>, dialect: Dialect) -> String {
    let mut page = Page { text: String::new(), dialect };
    let reports = run.map_or(Vec::new(), derive::reports);
    page.head("iostrata_up", "gauge", "The run goes on.");
    let goes_on = run.is_none_or(|run| run.end == End::Running);
    page.sample("iostrata_up", "", u8::from(goes_on));
    if let Some(run) = run {
        page.head("iostrata_run_info", "gauge", "What runs, and where.");
        let labels = format!("version=\"{}\",host=\"{}\"", escape(&run.tool_version), escape(&run.host.name));
        page.sample("iostrata_run_info", &labels, 1);
        page.head("iostrata_run_elapsed_seconds", "gauge", "Time since the run began.");
        let elapsed_ms = run.taken_unix_ms.saturating_sub(run.started_unix_ms).max(0);
        page.sample("iostrata_run_elapsed_seconds", "", elapsed_ms as f64 / 1e3);
    }
    let rows: Vec<(String, &Direction)> =
        reports.iter().enumerate().flat_map(|(at, report)| rows(at, report)).collect();
    for (name, about, value) in COUNTERS {
        page.counter_head(name, about);
        rows.iter().for_each(|(labels, row)| page.sample(&format!("{name}_total"), labels, value(row)));
    }
    page.head(
        "iostrata_latency_seconds",
        "histogram",
        "Completion latency, or total latency where that alone is measured.",
    );
    for (labels, row) in &rows {
        let (_, latency) = row.chief_latency();
        page.histogram("iostrata_latency_seconds", labels, latency);
    }
    page.head("iostrata_sync_latency_seconds", "histogram", "Latency of fsync and its kin.");
    for (at, report) in reports.iter().enumerate().filter(|(_, report)| report.sync.count() > 0) {
        page.histogram("iostrata_sync_latency_seconds", &job_labels(at, report), &report.sync);
    }
    page.counter_head("iostrata_tolerated_errors", "Errors that a job went on after.");
    for (at, report) in reports.iter().enumerate() {
        page.sample("iostrata_tolerated_errors_total", &job_labels(at, report), report.tolerated.total);
    }
    page.head("iostrata_job_error", "gauge", "The errno that ended a job; 0 for none.");
    for (at, report) in reports.iter().enumerate() {
        page.sample("iostrata_job_error", &job_labels(at, report), report.error);
    }
    if dialect == Dialect::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

/// Names may repeat: a job's place among the reports tells it from others.
fn job_labels(at: usize, report: &Report<'_>) -> String {
    format!("job=\"{}\",index=\"{at}\",group=\"{}\"", escape(&report.job.name), report.group)
}

fn rows<'a>(at: usize, report: &'a Report<'_>) -> Vec<(String, &'a Direction)> {
    let labels = job_labels(at, report);
    let row = |row: &'a Direction| (format!("{labels},direction=\"{}\"", row.kind.name()), row);
    report.directions.iter().map(row).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

struct Page {
    text: String,
    dialect: Dialect,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, about: &str) {
        let _ = write!(self.text, "# HELP {name} {about}\n# TYPE {name} {kind}\n");
    }

    fn counter_head(&mut self, name: &str, about: &str) {
        match self.dialect {
            Dialect::Prometheus => self.head(&format!("{name}_total"), "counter", about),
            Dialect::OpenMetrics => self.head(name, "counter", about),
        }
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    fn histogram(&mut self, name: &str, labels: &str, latency: &Latency) {
        // Without bins the count is all that is known.
        let bins = &latency.summary.bins.0;
        let (mut next, mut below) = (0, 0);
        for edge_ns in EDGES_NS {
            while next < bins.len() && *bin_range(bins[next].0.into()).end() <= edge_ns {
                below += bins[next].1;
                next += 1;
            }
            let edge = edge_ns as f64 / 1e9;
            self.sample(&format!("{name}_bucket"), &format!("{labels},le=\"{edge}\""), below);
        }
        // A snapshot's count and bins are of one moment; where no bins are kept all lies above.
        let count = if bins.is_empty() { latency.count() } else { latency.summary.bins.count() };
        self.sample(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), count);
        self.sample(&format!("{name}_sum"), labels, latency.moments().sum as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, count);
    }
}

#[cfg(test)]
mod tests {
    use iostrata_result::testing::{run, worker};
    use iostrata_result::{DirectionResult, LatencyResult};

    use super::*;

    fn of_latencies(name: &str, latencies_ns: &[u64]) -> RunResult {
        let mut worker = worker(name);
        let clat = LatencyResult::of(latencies_ns.iter().copied());
        let ios = latencies_ns.len() as u64;
        worker.read = Some(DirectionResult { ios, bytes: ios * 512, clat, ..DirectionResult::default() });
        run(vec![worker])
    }

    #[test]
    fn buckets_add_up_and_names_are_escaped() {
        let text =
            render(Some(&of_latencies("a\"b\\\nc", &[900, 1_500, 3_000_000, 30_000_000_000])), Dialect::Prometheus);
        let labels = "job=\"a\\\"b\\\\\\nc\",index=\"0\",group=\"0\",direction=\"read\"";
        for (rest, value) in [
            ("le=\"0.000001\"} ", "1"),
            ("le=\"0.000002\"} ", "2"),
            ("le=\"0.002\"} ", "2"),
            ("le=\"0.005\"} ", "3"),
            ("le=\"10\"} ", "3"),
            ("le=\"+Inf\"} ", "4"),
        ] {
            let line = format!("iostrata_latency_seconds_bucket{{{labels},{rest}{value}\n");
            assert!(text.contains(&line), "{line} in\n{text}");
        }
        assert!(text.contains(&format!("iostrata_ios_total{{{labels}}} 4\n")), "{text}");
    }

    #[test]
    fn a_counter_is_named_as_its_dialect_wants() {
        let run = of_latencies("j", &[5]);
        let (plain, open) = (render(Some(&run), Dialect::Prometheus), render(Some(&run), Dialect::OpenMetrics));
        assert!(plain.contains("# TYPE iostrata_ios_total counter") && !plain.contains("# EOF"));
        assert!(open.contains("# TYPE iostrata_ios counter") && open.ends_with("# EOF\n"));
    }

    #[test]
    fn before_the_jobs_begin_it_says_that_it_is_there() {
        assert!(render(None, Dialect::Prometheus).contains("iostrata_up 1\n"));
    }
}
