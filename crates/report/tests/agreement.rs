//! fio wrote JSON and text of the same run; from its JSON we write its text, line by line the same.
//!
//! The runs are of fio 3.33; what 3.42 writes in another way, and what we do on purpose, is listed in `Expected`.

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
    // 3.33's JSON does not say how many syncs there were (its text does).
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
    // 3.33 leaves out the figures of the mixed line if there are others beside it.
    if line.starts_with("  mixed: IOPS=0, BW=0 (0)(0B") {
        return None;
    }
    // 3.33's JSON has no sectors.
    if line.starts_with("  vda: ") {
        return Some(line.replace(", merge=", ", sectors=0/0, merge="));
    }
    Some(
        line.replace("target=0, window=0,", "target=0.00ns, window=0.00ns,")
            .replace("sync_file_range:", "sync_file_range/syncfs:"),
    )
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
            rows.flat_map(|row| [&row.slat, &row.clat, &row.lat]).chain([&worker.sync])
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
    ($($test:ident: $file:literal, $least:literal;)*) => {$(
        #[test]
        fn $test() {
            let compared = compare($file, include_str!(concat!("data/pairs/", $file, ".out")));
            assert!(compared >= $least, "{compared} lines");
        }
    )*};
}

agrees! {
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
