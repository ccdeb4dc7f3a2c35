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

/// The lines of all jobs. With `header` the names of the fields stand before them, once more where they change.
pub fn render(run: &RunResult, version: Version, header: bool) -> String {
    let disks = derive::disks(run);
    let mut text = String::new();
    let mut names = String::new();
    for report in derive::reports(run) {
        let fields = fields(&report, &disks, version);
        let own = fields.names(&report, version);
        if header && own != names {
            text.push_str(&own);
        }
        names = own;
        text.push_str(&fields.line(&report, version));
    }
    text
}

/// Fields with their names; what goes between them is the same in both lines.
#[derive(Default)]
struct Fields {
    names: Vec<String>,
    values: Vec<String>,
}

impl Fields {
    fn add(&mut self, name: impl Into<String>, value: impl ToString) {
        self.names.push(name.into());
        self.values.push(value.to_string());
    }

    fn float(&mut self, name: String, value: f64) {
        self.add(name, format!("{value:.6}"));
    }

    fn names(&self, report: &Report<'_>, version: Version) -> String {
        joined(&self.names, report.job.description.as_ref().map(|_| "description"), version)
    }

    fn line(&self, report: &Report<'_>, version: Version) -> String {
        joined(&self.values, report.job.description.as_deref(), version)
    }
}

fn joined(fields: &[String], description: Option<&str>, version: Version) -> String {
    let mut line = fields.join(";");
    if let Some(description) = description {
        line.push_str(if version == Version::V2 { "\n;" } else { ";" });
        line.push_str(description);
    }
    line.push('\n');
    line
}

/// The names are those by which fio's manual lists the fields of version 3, and made like them for the others.
fn fields(report: &Report<'_>, disks: &[Disk<'_>], version: Version) -> Fields {
    let mut fields = Fields::default();
    let number = version.number();
    fields.add(format!("terse_version_{number}"), number);
    if version > Version::V2 {
        fields.add("fio_version", FIO_VERSION);
    }
    fields.add("jobname", &report.job.name);
    fields.add("groupid", report.group);
    fields.add("error", report.error);
    blocks(&mut fields, report, version);
    load(&mut fields, report);
    if version > Version::V2 && report.job.reporting.disk_util {
        disks.iter().for_each(|disk| self::disk(&mut fields, disk));
    }
    if report.tolerated.allowed {
        fields.add("total_error", report.tolerated.total);
        fields.add("first_error", report.tolerated.first_error);
    }
    fields
}

/// A block for each direction, whether there was I/O in it or not.
fn blocks(fields: &mut Fields, report: &Report<'_>, version: Version) {
    let mixed = report.direction(Kind::Mixed);
    let apart: &[Kind] = match (mixed, version) {
        (Some(_), _) if report.direction(Kind::Read).is_none() => &[],
        (_, Version::V3) => &[Kind::Read, Kind::Write],
        _ => &[Kind::Read, Kind::Write, Kind::Trim],
    };
    for kind in apart.iter().copied().chain(mixed.map(|_| Kind::Mixed)) {
        if let Some(row) = report.direction(kind) {
            block(fields, word_of(kind), row, &report.job.reporting, version);
        }
    }
}

fn word_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Mixed => "mixed",
    }
}

fn block(fields: &mut Fields, word: &str, row: &Direction, reporting: &Reporting, version: Version) {
    fields.add(format!("{word}_kb"), row.kib());
    fields.add(format!("{word}_bandwidth_kb"), row.bw_kib());
    fields.add(format!("{word}_iops"), row.iops_whole());
    fields.add(format!("{word}_runtime_ms"), row.runtime_ms);
    // The manual has `tlat` in one of the names.
    moments(fields, [word, "slat", "slat"], &row.slat);
    moments(fields, [word, "clat", "clat"], &row.clat);
    let measured = row.clat.percentiles.as_ref().or(row.lat.percentiles.as_ref());
    let wanted = (reporting.clat && reporting.clat_percentiles) || (reporting.lat && reporting.lat_percentiles);
    let wanted = if wanted { reporting.percentiles.as_slice() } else { &[] };
    for place in 0..PERCENTILES {
        // Those of a direction without I/O are named all the same.
        let micros = measured.and_then(|list| list.get(place)).map_or(0, |percentile| percentile.ns / 1000);
        let value = wanted.get(place).map_or("0%=0".to_owned(), |percent| format!("{percent:.6}%={micros}"));
        fields.add(format!("{word}_clat_pct{:02}", place + 1), value);
    }
    moments(fields, [word, "tlat", "lat"], &row.lat);
    let Samples { min, max, mean, count, .. } = row.bandwidth_kib;
    fields.add(format!("{word}_bw_min_kb"), min);
    fields.add(format!("{word}_bw_max_kb"), max);
    fields.add(format!("{word}_bw_agg_pct"), format!("{:.6}%", row.bandwidth_share));
    fields.float(format!("{word}_bw_mean_kb"), mean);
    fields.float(format!("{word}_bw_dev_kb"), row.bandwidth_kib.stddev());
    if version == Version::V5 {
        let iops = &row.iops_samples;
        fields.add(format!("{word}_bw_samples"), count);
        fields.add(format!("{word}_iops_min"), iops.min);
        fields.add(format!("{word}_iops_max"), iops.max);
        fields.float(format!("{word}_iops_mean"), iops.mean);
        fields.float(format!("{word}_iops_dev"), iops.stddev());
        fields.add(format!("{word}_iops_samples"), iops.count);
    }
}

/// Microseconds: whole ones for the extremes. `words`: direction, the latency's word in the first name, in the rest.
fn moments(fields: &mut Fields, words: [&str; 3], latency: &Latency) {
    let [word, first, rest] = words;
    fields.add(format!("{word}_{first}_min_us"), latency.min_ns() / 1000);
    fields.add(format!("{word}_{rest}_max_us"), latency.max_ns() / 1000);
    fields.float(format!("{word}_{rest}_mean_us"), latency.mean_ns() / 1000.0);
    fields.float(format!("{word}_{rest}_dev_us"), latency.stddev_ns() / 1000.0);
}

fn load(fields: &mut Fields, report: &Report<'_>) {
    const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", "64"];
    const MICROS: [&str; 10] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
    const MILLIS: [&str; 12] =
        ["2ms", "4ms", "10ms", "20ms", "50ms", "100ms", "250ms", "500ms", "750ms", "1000ms", "2000ms", "over_2000ms"];
    fields.add("cpu_user", format!("{:.6}%", report.user_cpu_percent));
    fields.add("cpu_sys", format!("{:.6}%", report.system_cpu_percent));
    fields.add("cpu_csw", report.context_switches);
    fields.add("cpu_mjf", report.major_faults);
    fields.add("cpu_minf", report.minor_faults);
    for (depth, share) in DEPTHS.iter().zip(report.depth_shares) {
        fields.add(format!("iodepth_{depth}"), format!("{:.1}%", shown_share(share, LEAST_DEPTH_SHARE)));
    }
    // There are no fields for nanoseconds: the first of the microseconds has them.
    let mut micros = report.latency_us_shares;
    micros[0] += report.latency_ns_shares.iter().sum::<f64>();
    let mut share = |name: String, share: f64| {
        fields.add(name, format!("{:.2}%", shown_share(share, LEAST_LATENCY_SHARE)));
    };
    MICROS.iter().zip(micros).for_each(|(edge, value)| share(format!("lat_{edge}us"), value));
    MILLIS.iter().zip(report.latency_ms_shares).for_each(|(edge, value)| share(format!("lat_{edge}"), value));
}

fn disk(fields: &mut Fields, disk: &Disk<'_>) {
    let used = disk.used;
    fields.add("disk_name", &used.name);
    let pairs = [
        (["disk_read_iops", "disk_write_iops"], used.ios),
        (["disk_read_merges", "disk_write_merges"], used.merges),
        (["disk_read_ticks", "write_ticks"], used.ticks_ms),
    ];
    for (names, counts) in pairs {
        names.into_iter().zip(counts).for_each(|(name, count)| fields.add(name, count));
    }
    fields.add("disk_queue_time", used.in_queue_ms);
    fields.add("disk_util", format!("{:.2}%", disk.util_percent));
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
        let text = render(&testing::run(vec![worker]), Version::of(version).unwrap(), true);
        let counts: Vec<usize> = text.lines().map(|line| line.split(';').count()).collect();
        assert_eq!(counts[0], counts[counts.len() / 2], "a header has a name for each field");
        text.lines().last().map_or(0, |line| line.split(';').count())
    }

    #[test]
    fn each_version_has_the_number_of_fields_that_programs_count_on() {
        // Without a disk, whose nine fields stand before the description.
        assert_eq!([2, 3, 4, 5].map(|version| fields(version, None)), [161, 121, 162, 180]);
        assert_eq!(fields(3, Some("about it")), 122);
        assert_eq!(Version::of(6), None);
    }
}
