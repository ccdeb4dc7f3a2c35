//! fio's terse lines: one line a job, fields with semicolons between, versions 2 to 5.

use iostrata_result::derive::{
    self, Direction, Disk, Kind, LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE, Latency, Report, Samples, shown_share,
};
use iostrata_result::{Reporting, RunResult};

use crate::FIO_VERSION;

/// Places for percentiles in a line; those without one hold `0%=0`.
const PERCENTILES: usize = 20;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Without fio's version and disks; the description has a line of its own.
    V2,
    /// Reads and writes.
    V3,
    /// Trims too.
    V4,
    /// Samples of bandwidth and IOPS too.
    V5,
}

impl Version {
    /// By its number.
    pub fn of(number: u32) -> Option<Version> {
        [(2, Version::V2), (3, Version::V3), (4, Version::V4), (5, Version::V5)]
            .into_iter()
            .find_map(|(known, version)| (known == number).then_some(version))
    }

    fn number(self) -> u32 {
        match self {
            Version::V2 => 2,
            Version::V3 => 3,
            Version::V4 => 4,
            Version::V5 => 5,
        }
    }
}

/// The lines of all jobs.
pub fn render(run: &RunResult, version: Version) -> String {
    let disks = derive::disks(run);
    derive::reports(run).iter().map(|report| line(report, &disks, version)).collect()
}

/// Fields, and what goes between them.
struct Fields(Vec<String>);

impl Fields {
    fn add(&mut self, field: impl ToString) {
        self.0.push(field.to_string());
    }

    fn float(&mut self, value: f64) {
        self.0.push(format!("{value:.6}"));
    }
}

fn line(report: &Report<'_>, disks: &[Disk<'_>], version: Version) -> String {
    let mut fields = Fields(vec![version.number().to_string()]);
    if version > Version::V2 {
        fields.add(FIO_VERSION);
    }
    fields.add(&report.job.name);
    fields.add(report.group);
    fields.add(report.error);
    blocks(&mut fields, report, version);
    load(&mut fields, report);
    if version > Version::V2 && report.job.reporting.disk_util {
        disks.iter().for_each(|disk| self::disk(&mut fields, disk));
    }
    if report.tolerated.allowed {
        fields.add(report.tolerated.total);
        fields.add(report.tolerated.first_error);
    }
    let mut line = fields.0.join(";");
    if let Some(description) = &report.job.description {
        line.push_str(if version == Version::V2 { "\n;" } else { ";" });
        line.push_str(description);
    }
    line.push('\n');
    line
}

/// A block for each direction, whether there was I/O in it or not.
fn blocks(fields: &mut Fields, report: &Report<'_>, version: Version) {
    let mixed = report.direction(Kind::Mixed);
    let apart: &[Kind] = match (mixed, version) {
        (Some(_), _) if report.direction(Kind::Read).is_none() => &[],
        (_, Version::V3) => &[Kind::Read, Kind::Write],
        _ => &[Kind::Read, Kind::Write, Kind::Trim],
    };
    let rows = apart.iter().filter_map(|kind| report.direction(*kind));
    rows.chain(mixed).for_each(|row| block(fields, row, &report.job.reporting, version));
}

fn block(fields: &mut Fields, row: &Direction, reporting: &Reporting, version: Version) {
    fields.add(row.kib());
    fields.add(row.bw_kib());
    fields.add(row.iops_whole());
    fields.add(row.runtime_ms);
    moments(fields, &row.slat);
    moments(fields, &row.clat);
    let measured = row.clat.percentiles.as_ref().or(row.lat.percentiles.as_ref());
    let wanted = (reporting.clat && reporting.clat_percentiles) || (reporting.lat && reporting.lat_percentiles);
    let wanted = if wanted { reporting.percentiles.as_slice() } else { &[] };
    for place in 0..PERCENTILES {
        // Those of a direction without I/O are named all the same.
        let micros = measured.and_then(|list| list.get(place)).map_or(0, |percentile| percentile.ns / 1000);
        fields.add(wanted.get(place).map_or("0%=0".to_owned(), |percent| format!("{percent:.6}%={micros}")));
    }
    moments(fields, &row.lat);
    let Samples { min, max, mean, count, .. } = row.bandwidth_kib;
    fields.add(min);
    fields.add(max);
    fields.add(format!("{:.6}%", row.bandwidth_share));
    fields.float(mean);
    fields.float(row.bandwidth_kib.stddev());
    if version == Version::V5 {
        let iops = &row.iops_samples;
        fields.add(count);
        fields.add(iops.min);
        fields.add(iops.max);
        fields.float(iops.mean);
        fields.float(iops.stddev());
        fields.add(iops.count);
    }
}

/// Microseconds: whole ones for the extremes.
fn moments(fields: &mut Fields, latency: &Latency) {
    fields.add(latency.min_ns() / 1000);
    fields.add(latency.max_ns() / 1000);
    fields.float(latency.mean_ns() / 1000.0);
    fields.float(latency.stddev_ns() / 1000.0);
}

fn load(fields: &mut Fields, report: &Report<'_>) {
    fields.add(format!("{:.6}%", report.user_cpu_percent));
    fields.add(format!("{:.6}%", report.system_cpu_percent));
    fields.add(report.context_switches);
    fields.add(report.major_faults);
    fields.add(report.minor_faults);
    for share in report.depth_shares {
        fields.add(format!("{:.1}%", shown_share(share, LEAST_DEPTH_SHARE)));
    }
    // There are no fields for nanoseconds: the first of the microseconds has them.
    let mut micros = report.latency_us_shares;
    micros[0] += report.latency_ns_shares.iter().sum::<f64>();
    for share in micros.iter().chain(&report.latency_ms_shares) {
        fields.add(format!("{:.2}%", shown_share(*share, LEAST_LATENCY_SHARE)));
    }
}

fn disk(fields: &mut Fields, disk: &Disk<'_>) {
    let used = disk.used;
    fields.add(&used.name);
    for counts in [used.ios, used.merges, used.ticks_ms] {
        counts.into_iter().for_each(|count| fields.add(count));
    }
    fields.add(used.in_queue_ms);
    fields.add(format!("{:.2}%", disk.util_percent));
    disk.members.iter().for_each(|member| self::disk(fields, member));
}

#[cfg(test)]
mod tests {
    use iostrata_result::testing;

    use super::*;

    fn fields(version: u32, description: Option<&str>) -> usize {
        let mut worker = testing::worker("j");
        worker.read = Some(testing::direction(&[1_000, 2_000]));
        worker.job.description = description.map(str::to_owned);
        let text = render(&testing::run(vec![worker]), Version::of(version).unwrap());
        text.trim_end().split(';').count()
    }

    #[test]
    fn each_version_has_the_number_of_fields_that_programs_count_on() {
        // Without a disk, whose nine fields stand before the description.
        assert_eq!([2, 3, 4, 5].map(|version| fields(version, None)), [161, 121, 162, 180]);
        assert_eq!(fields(3, Some("about it")), 122);
        assert_eq!(Version::of(6), None);
    }
}
