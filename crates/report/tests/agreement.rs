//! fio wrote JSON and text of the same run; from its JSON we write its text, line by line the same.
//!
//! The runs are of fio 3.33 and 3.41; what 3.42 writes in another way, and what we do on purpose, is listed in
//! `expected`.

#[path = "support/fio.rs"]
mod fio;

use fio::Pair;
use iostrata_report::{RenderOptions, text};
use iostrata_result::RunResult;
use jiff::tz::TimeZone;

/// Under the name fio, dates in UTC.
fn as_fio() -> RenderOptions {
    RenderOptions { as_fio: true, time_zone: TimeZone::UTC }
}

/// fio's line in the form that ours has, or `None` if there can be no twin of it.
fn expected(line: &str, run: &RunResult) -> Option<String> {
    // 3.42 says it only of zoned devices.
    let line = line.trim_end_matches("; 0 zone resets");
    // Syncs count in fio's parts but not in its whole, so its shares come to more than 100%; ours add up.
    let synced = run.workers.iter().any(|worker| worker.sync.moments.count > 0);
    if synced && line.starts_with("  IO depths ") {
        return None;
    }
    // JSON does not say how many of the syncs were of which kind; text counts fsyncs, and fdatasyncs as short reads.
    if synced && line.starts_with("     issued rwts: ") {
        return None;
    }
    // JSON has the figures of the group, text has the number of its members, which went into one here.
    if line.contains("jobs=3)") {
        return None;
    }
    // fio prints KiB under the name of kB.
    if line.starts_with("   bw (   kB/s)") {
        return None;
    }
    // The mixed line beside others has no figures in 3.33, and no units in 3.41.
    if line.starts_with("  mixed: IOPS=0, BW=0 (0)(0B") || line.starts_with("  mixed: ") && line.contains("Mi (") {
        return None;
    }
    // 3.41 rounds the means down before it goes on with them, and gives the second rate the first one's divisor.
    if line.starts_with("  steadystate  : ") {
        return None;
    }
    // 3.33's JSON has no sectors, and its text neither.
    if line.starts_with("  vda: ") && !line.contains("sectors=") {
        return Some(line.replace(", merge=", ", sectors=0/0, merge="));
    }
    // 3.42 gives both with units.
    let line = line.replace("target=0, window=0,", "target=0.00ns, window=0.00ns,");
    let line = line.replace("target=10000000, window=200000,", "target=10.00ms, window=200.00ms,");
    Some(line.replace("sync_file_range:", "sync_file_range/syncfs:"))
}

/// Whether two lines of percentiles differ only where fio shows the middle of the bin of the largest latency and we
/// show that latency itself.
fn capped(ours: &str, theirs: &str, run: &RunResult) -> bool {
    let entries = |line: &str| -> Vec<(String, u64)> {
        let entries = line.split(['|', ',']).filter_map(|entry| entry.split_once("=["));
        entries.map(|(name, value)| (name.to_owned(), value.trim_matches([' ', ']']).parse().unwrap())).collect()
    };
    let maxima: Vec<u64> = run
        .workers
        .iter()
        .flat_map(|worker| {
            let rows = [&worker.read, &worker.write, &worker.trim].into_iter().flatten();
            let by_priority = rows.clone().flat_map(|row| row.priorities.iter().map(|priority| &priority.latency));
            rows.flat_map(|row| [&row.slat, &row.clat, &row.lat]).chain([&worker.sync]).chain(by_priority)
        })
        .map(|latency| latency.moments.max)
        .flat_map(|max| [max, max.div_ceil(1000), max.div_ceil(1_000_000)])
        .collect();
    let (ours, theirs) = (entries(ours), entries(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| {
            let above = theirs.1 > ours.1 && theirs.1 - ours.1 <= theirs.1 / 64 + 1;
            ours == theirs || (ours.0 == theirs.0 && above && maxima.contains(&ours.1))
        })
}

/// Compares the two texts; answers how many lines were compared.
fn compare(name: &str, output: &str) -> usize {
    let pair = Pair::parse(output);
    let run = pair.result();
    let ours = text::render(&run, &as_fio());
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), pair.text.lines().collect());
    assert_eq!(ours.len(), theirs.len(), "{name}: lines of\n{}\nagainst\n{}", ours.join("\n"), theirs.join("\n"));
    let mut compared = 0;
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        if let Some(theirs) = expected(theirs, &run) {
            if !(ours.starts_with("     | ") && capped(ours, &theirs, &run)) {
                assert_eq!(*ours, theirs, "{name}, line {}", number + 1);
            }
            compared += 1;
        }
    }
    compared
}

macro_rules! agrees {
    ($folder:literal: $($test:ident: $file:literal, $least:literal;)*) => {$(
        #[test]
        fn $test() {
            let compared = compare($file, include_str!(concat!("data/", $folder, "/", $file, ".out")));
            assert!(compared >= $least, "{compared} lines");
        }
    )*};
}

agrees! {
    "pairs":
    reads_and_writes_in_flight_with_syncs: "libaio_randrw", 45;
    groups_one_after_another_with_other_percentiles: "stonewalls", 60;
    decimal_prefixes: "kb_base_1000", 30;
    rates_in_bits_with_six_digits: "bits", 20;
    all_directions_as_one: "mixed", 18;
    all_directions_and_each: "both", 35;
    clones_each_for_itself: "clones", 50;
    clones_as_one: "group", 25;
    nothing_measured: "reduced", 20;
}

agrees! {
    "pairs_3.41":
    latencies_by_priority_class_level_and_hint: "prios", 75;
    total_latencies_by_priority: "prios_lat", 35;
    members_of_other_priorities: "prios_group", 45;
    a_steady_state: "steady", 24;
    a_latency_target: "target", 24;
    percentiles_of_all_kinds_with_four_decimals: "percentiles", 28;
    samples_of_rates: "samples", 35;
    trims_and_writes: "trims", 30;
    no_completion_latency: "idle", 15;
    no_other_latency: "nolat", 22;
    later_reads_and_writes_in_flight_with_syncs: "libaio_randrw", 40;
    later_groups: "stonewalls", 70;
    later_decimal_prefixes: "kb_base_1000", 35;
    later_all_directions_and_each: "both", 45;
    later_clones_as_one: "group", 25;
}
