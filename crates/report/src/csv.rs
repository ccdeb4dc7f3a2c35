//! Tables for spreadsheets: RFC 4180, a line of heads first. Columns are only ever added at the end.

use iostrata_result::derive::{self, Direction, Latency, Report};
use iostrata_result::{PointDirection, RunResult, TimelinePoint};

const SUMMARY: &str = "job,group,jobs,direction,error,ios,bytes,short_ios,failed_ios,runtime_ms,bandwidth_bytes_per_s,\
                       iops,slat_mean_ns,clat_mean_ns,lat_min_ns,lat_mean_ns,lat_stddev_ns,lat_max_ns,percentiles_of,\
                       p50_ns,p95_ns,p99_ns,p99.9_ns,user_cpu_percent,system_cpu_percent\r\n";
const TIMELINE: &str = "job,start_ns,end_ns,direction,ios,bytes,iops,bandwidth_bytes_per_s,p50_ns,p99_ns,p99.9_ns\r\n";

/// A row for each job and direction.
pub fn summary(run: &RunResult) -> String {
    let reports = derive::reports(run);
    let rows = reports.iter().flat_map(|report| report.directions.iter().map(|row| summary_row(report, row)));
    std::iter::once(SUMMARY.to_owned()).chain(rows).collect()
}

fn summary_row(report: &Report<'_>, row: &Direction) -> String {
    let (kind, chief) = row.chief_latency();
    let cells = [
        field(&report.job.name),
        report.group.to_string(),
        report.jobs.to_string(),
        row.kind.name().to_owned(),
        report.error.to_string(),
        row.ios.to_string(),
        row.bytes.to_string(),
        row.short_ios.to_string(),
        row.failed_ios.to_string(),
        row.runtime_ms.to_string(),
        row.bw_bytes().to_string(),
        decimal(row.iops()),
        decimal(row.slat.mean_ns()),
        decimal(row.clat.mean_ns()),
        row.lat.min_ns().to_string(),
        decimal(row.lat.mean_ns()),
        decimal(row.lat.stddev_ns()),
        row.lat.max_ns().to_string(),
        kind.to_owned(),
        percentile(chief, 50.0),
        percentile(chief, 95.0),
        percentile(chief, 99.0),
        percentile(chief, 99.9),
        decimal(report.user_cpu_percent),
        decimal(report.system_cpu_percent),
    ];
    cells.join(",") + "\r\n"
}

/// A row for each job, window and direction of what was done over time.
pub fn timeline(run: &RunResult) -> String {
    let mut text = TIMELINE.to_owned();
    for job in run.timeline.iter().flat_map(|timeline| &timeline.jobs) {
        for point in &job.points {
            for (kind, counts) in derive::Kind::MEASURED.into_iter().zip(point.directions()) {
                text.extend(counts.map(|counts| timeline_row(&job.job, point, kind.name(), counts)));
            }
        }
    }
    text
}

fn timeline_row(job: &str, point: &TimelinePoint, direction: &str, counts: &PointDirection) -> String {
    let percentile = |percent| counts.latency.percentile(percent, None).map_or(String::new(), |ns| ns.to_string());
    let cells = [
        field(job),
        point.start_ns.to_string(),
        point.end_ns.to_string(),
        direction.to_owned(),
        counts.ios.to_string(),
        counts.bytes.to_string(),
        decimal(point.ios_per_second(counts)),
        decimal(point.bytes_per_second(counts)),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
    ];
    cells.join(",") + "\r\n"
}

fn percentile(latency: &Latency, wanted: f64) -> String {
    latency.percentile(wanted).map_or(String::new(), |ns| ns.to_string())
}

fn decimal(value: f64) -> String {
    format!("{value:.6}")
}

/// A text as a field: quoted where it must be, and never a formula for the spreadsheet that opens it.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_field_and_are_no_formulas() {
        assert_eq!(field("a,b \"c\"\nd"), "\"a,b \"\"c\"\"\nd\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("plain"), "plain");
    }

    #[test]
    fn every_row_has_the_columns_of_the_head() {
        let run = iostrata_result::testing::run(vec![iostrata_result::testing::worker("j")]);
        let text = summary(&run);
        let columns = |line: &str| line.split(',').count();
        assert!(text.lines().all(|line| columns(line) == columns(SUMMARY)), "{text}");
        assert_eq!(timeline(&run), TIMELINE, "a run without windows has the head alone");
    }
}
