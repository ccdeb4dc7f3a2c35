//! The section of one job, or of all jobs that are reported as one.

use super::errors::{one_line, reason, system_words};
use super::parts;
use crate::RenderOptions;
use crate::date::ctime;
use crate::number::{Base, Style};
use iostrata_result::derive::{
    Direction, Kind, LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE, Latency, PriorityLatency, Report, Steadiness, shown_share,
};
use iostrata_result::{BlockLives, LatencyTarget, Reporting, SteadyMeasure, SteadyState};

/// The style of a job's numbers.
pub(super) fn style(reporting: &Reporting) -> Style {
    Style {
        digits: reporting.significant_figures,
        base: Base::of_kb_base(reporting.kb_base),
        bits: reporting.unit_base == 1,
    }
}

/// Everything about one entry of the report. fio is silent about an entry that did nothing, even if it failed; under
/// our own name its error is still shown.
pub(super) fn section(report: &Report<'_>, taken_unix_ms: i64, options: &RenderOptions) -> String {
    if report.is_empty() {
        let silent = report.error == 0 || options.as_fio;
        return if silent { String::new() } else { head(report, taken_unix_ms, options) };
    }
    let reporting = &report.job.reporting;
    let mut text = head(report, taken_unix_ms, options);
    let ios_count = !options.as_fio;
    let shown = |direction: &&Direction| direction.bytes > 0 || direction.ios > 0 && ios_count;
    for direction in report.directions.iter().filter(shown) {
        let resets = report.zone_resets.filter(|_| direction.kind == Kind::Write);
        text += &self::direction(direction, reporting, resets);
    }
    let shown = |share: &f64| shown_share(*share, LEAST_LATENCY_SHARE);
    text += &parts::bucket_lines("nsec", &report.latency_ns_shares.each_ref().map(shown));
    text += &parts::bucket_lines("usec", &report.latency_us_shares.each_ref().map(shown));
    text += &parts::bucket_lines("msec", &report.latency_ms_shares.each_ref().map(shown));
    if report.sync.count() > 0 {
        text += "  fsync/fdatasync/sync_file_range/syncfs:\n";
        text += &latency("sync", &report.sync);
        text += &percentiles("sync", &report.sync, reporting.percentile_precision);
    }
    text + &totals(report)
}

/// `name: (groupid=0, jobs=1): err= 0: pid=4242: Mon Nov 30 19:34:08 2026`, and the description.
fn head(report: &Report<'_>, taken_unix_ms: i64, options: &RenderOptions) -> String {
    let reason = match report.error {
        0 => String::new(),
        error => format!(" ({})", reason(error, report.error_text)),
    };
    let description = report.job.description.as_deref().map(|text| format!("  Description  : [{}]\n", one_line(text)));
    format!(
        "{}: (groupid={}, jobs={}): err={:2}{reason}: pid={}: {}\n{}",
        one_line(&report.job.name),
        report.group,
        report.jobs,
        report.error,
        report.pid,
        ctime(taken_unix_ms, &options.time_zone),
        description.unwrap_or_default()
    )
}

fn direction(direction: &Direction, reporting: &Reporting, zone_resets: Option<u64>) -> String {
    let style = style(reporting);
    let bw = direction.bw_bytes();
    let mut text = format!(
        "  {}: IOPS={}, BW={} ({})({}/{}msec){}\n",
        direction.kind.name(),
        style.count(direction.iops_whole()),
        style.rate(bw),
        style.rate_other(bw),
        style.bytes(direction.bytes),
        direction.runtime_ms,
        zone_resets.map_or(String::new(), |resets| format!("; {resets} zone resets"))
    );
    let kinds = [("slat", &direction.slat), ("clat", &direction.clat), ("lat", &direction.lat)];
    text.extend(kinds.map(|(name, of)| latency(name, of)));
    text.extend(direction.priorities.iter().map(|priority| latency(&priority_name(priority), &priority.latency)));
    text.extend(kinds.map(|(name, of)| percentiles(name, of, reporting.percentile_precision)));
    for priority in &direction.priorities {
        let name = format!("{} ({:.2}% of IOs)", priority_name(priority), priority.share);
        text += &percentiles(&name, &priority.latency, reporting.percentile_precision);
    }
    if direction.bandwidth_kib.count > 0 {
        text += &parts::bandwidth_line(&direction.bandwidth_kib, direction.bandwidth_share, style.base);
    }
    if direction.iops_samples.count > 0 {
        text += &parts::iops_line(&direction.iops_samples);
    }
    text
}

/// `clat prio 2/1/0`.
fn priority_name(priority: &PriorityLatency) -> String {
    let kind = if priority.total { "lat" } else { "clat" };
    format!("{kind} prio {}/{}/{}", priority.class, priority.level, priority.hint)
}

fn latency(name: &str, latency: &Latency) -> String {
    if latency.count() == 0 { String::new() } else { parts::latency_line(name, latency.moments()) }
}

fn percentiles(name: &str, latency: &Latency, precision: u32) -> String {
    match latency.percentiles.as_deref() {
        None | Some([]) => String::new(),
        Some(list) => parts::percentile_block(name, list, precision),
    }
}

/// From `  cpu` to `     latency`.
fn totals(report: &Report<'_>) -> String {
    let shown = |share: &f64| shown_share(*share, LEAST_DEPTH_SHARE);
    let mut text = format!(
        "  cpu          : usr={:3.2}%, sys={:3.2}%, ctx={}, majf={}, minf={}\n",
        report.user_cpu_percent,
        report.system_cpu_percent,
        report.context_switches,
        report.major_faults,
        report.minor_faults
    );
    text += &parts::depth_line(&report.depth_shares.each_ref().map(shown));
    text += &parts::batch_line("submit", &report.submit_shares.each_ref().map(shown));
    text += &parts::batch_line("complete", &report.complete_shares.each_ref().map(shown));
    let count = |field: fn(&Direction) -> u64| triple(report, field);
    text += &format!(
        "     issued rwts: total={},{} short={},0 dropped={},0\n",
        count(Direction::issued_ios),
        report.sync_ios,
        count(|direction| direction.short_ios),
        count(|direction| direction.dropped_ios)
    );
    let tolerated = report.tolerated;
    if tolerated.allowed {
        text += &format!(
            "     errors    : total={}, first_error={}/<{}>\n",
            tolerated.total,
            tolerated.first_error,
            system_words(tolerated.first_error)
        );
    }
    text += &target_line(&report.latency_target);
    let style = style(&report.job.reporting);
    text += &report.block_lives.as_ref().map(|lives| block_lines(lives, &report.job.reporting)).unwrap_or_default();
    text + &report.steady_state.map(|state| steady_line(state, style)).unwrap_or_default()
}

/// How many trims failed blocks lived through, and what state all blocks are in. fio's place for the percentiles.
fn block_lines(lives: &BlockLives, reporting: &Reporting) -> String {
    let mut text = "  block lifetime percentiles :\n".to_owned();
    let of = |percentile: &f64| Some((*percentile, lives.lifetime(*percentile)?));
    let lifetimes: Vec<(f64, u32)> = reporting.percentiles.iter().filter_map(of).collect();
    for row in lifetimes.chunks(4) {
        let cells =
            row.iter().map(|(at, trims)| format!("{at:>6.*}th=[{trims}]", reporting.percentile_precision as usize));
        text += &format!("   | {}\n", cells.collect::<Vec<_>>().join(", "));
    }
    text + &format!(
        "   |        states               : unwritten={}, trimmed={}, written={}, trim failure={}, write failure={}\n",
        lives.unwritten, lives.trimmed, lives.written, lives.trim_failed, lives.write_failed
    )
}

/// Reads, writes and trims; a mixed report shows all in the first place.
fn triple(report: &Report<'_>, field: fn(&Direction) -> u64) -> String {
    let of = |kind| report.direction(kind).map(field);
    let first = of(Kind::Read).or_else(|| of(Kind::Mixed));
    let [read, write, trim] = [first, of(Kind::Write), of(Kind::Trim)].map(Option::unwrap_or_default);
    format!("{read},{write},{trim}")
}

/// What fio calls a measure of steady state.
pub(crate) fn steady_word(measure: SteadyMeasure) -> &'static str {
    match measure {
        SteadyMeasure::Iops => "iops",
        SteadyMeasure::Bandwidth => "bw",
        SteadyMeasure::Latency => "lat",
    }
}

/// `  steadystate  : attained=yes, bw=400KiB/s (410kB/s), iops=100, iops mean dev=0.000%`. (fio prints the number of
/// the first unit behind the second, too.)
fn steady_line(state: &SteadyState, style: Style) -> String {
    let found = Steadiness::of(state);
    let latency = match state.measure {
        SteadyMeasure::Latency => format!(", lat={}", time(found.lat_ns_mean.into())),
        SteadyMeasure::Iops | SteadyMeasure::Bandwidth => String::new(),
    };
    format!(
        "  steadystate  : attained={}, bw={} ({}), iops={}{latency}, {} {}={:.3}{}\n",
        if state.attained { "yes" } else { "no" },
        style.rate(found.bw_bytes_mean),
        style.rate_other(found.bw_bytes_mean),
        found.iops_mean,
        steady_word(state.measure),
        if state.slope { "slope" } else { "mean dev" },
        found.criterion,
        if state.percent { "%" } else { "" }
    )
}

fn target_line(target: &LatencyTarget) -> String {
    format!(
        "     latency   : target={}, window={}, percentile={:3.2}%, depth={}\n",
        time(target.target_ns.into()),
        time(u128::from(target.window_us) * 1000),
        target.percentile,
        target.depth
    )
}

/// `2.00ms`: in the largest unit that leaves at least 1, up to seconds.
fn time(ns: u128) -> String {
    let (unit, unit_ns) = match ns {
        0..1_000 => ("ns", 1.0),
        1_000..1_000_000 => ("us", 1e3),
        1_000_000..1_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{:.2}{unit}", ns as f64 / unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_of_blocks() {
        let lives = BlockLives { trimmed: 3, write_failed: 4, lifetimes: vec![1, 2, 3, 900], ..BlockLives::default() };
        let reporting =
            Reporting { percentiles: vec![25.0, 50.0, 99.9], ..iostrata_result::testing::job("j").reporting };
        assert_eq!(
            block_lines(&lives, &reporting),
            "  block lifetime percentiles :\n   |  25.00th=[1],  50.00th=[2],  99.90th=[900]\n   |        states  \
             \x20            : unwritten=0, trimmed=3, written=0, trim failure=0, write failure=4\n"
        );
        let none = block_lines(&BlockLives { unwritten: 64, ..BlockLives::default() }, &reporting);
        assert!(none.lines().count() == 2 && none.contains("unwritten=64"));
    }

    #[test]
    fn targets_and_windows() {
        let target = LatencyTarget { target_ns: 2_000_000, window_us: 200_000, percentile: 90.0, depth: 16 };
        assert_eq!(
            target_line(&target),
            "     latency   : target=2.00ms, window=200.00ms, percentile=90.00%, depth=16\n"
        );
        let none = LatencyTarget { target_ns: 0, window_us: 0, percentile: 100.0, depth: 1 };
        assert!(target_line(&none).contains("target=0.00ns, window=0.00ns, percentile=100.00%"));
        assert_eq!(time(1_500), "1.50us");
        assert_eq!(time(5_000_000_000), "5.00s");
    }
}
