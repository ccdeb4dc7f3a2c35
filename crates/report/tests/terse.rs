//! fio wrote JSON and terse lines of the same run; from its JSON we write its terse lines, field by field the same.

#[path = "support/fio.rs"]
mod fio;

use fio::Pair;
use iostrata_report::terse::{self, Version};

/// Whether two fields say the same: equal, numbers that differ in the last printed place, or a percentile for which fio
/// shows the middle of the bin of the largest latency and we show that latency itself.
fn same(ours: &str, theirs: &str) -> bool {
    if ours == theirs {
        return true;
    }
    if let (Some((name, ours)), Some((other, theirs))) = (ours.split_once("%="), theirs.split_once("%=")) {
        let (ours, theirs): (u64, u64) = (ours.parse().unwrap(), theirs.parse().unwrap());
        return name == other && theirs > ours && theirs - ours <= theirs / 64 + 1;
    }
    let number = |field: &str| field.trim_end_matches('%').parse::<f64>().ok();
    let decimals = |field: &str| field.trim_end_matches('%').split_once('.').map_or(0, |(_, places)| places.len());
    match (number(ours), number(theirs)) {
        (Some(a), Some(b)) if decimals(ours) == decimals(theirs) && decimals(ours) > 0 => {
            // A mean that JSON has to six places is known no better than that.
            (a - b).abs() <= 1.5 * 10f64.powi(-(decimals(ours) as i32)) + b.abs() * 1e-5
        }
        _ => false,
    }
}

fn compare(version: u32, output: &str) {
    let lines: Vec<&str> = output.lines().collect();
    let first = lines.iter().position(|line| line.starts_with(&format!("{version};"))).expect("terse lines");
    let theirs: Vec<&str> = lines[first..].iter().copied().take_while(|line| *line != "{").collect();
    let run = Pair::parse(output).result();
    let ours = terse::render(&run, Version::of(version).unwrap(), false);
    let ours: Vec<&str> = ours.lines().collect();
    assert_eq!(ours.len(), theirs.len(), "{ours:#?}\n{theirs:#?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.split(';').collect(), theirs.split(';').collect());
        assert_eq!(ours.len(), theirs.len(), "{ours:?}\n{theirs:?}");
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let version_field = *theirs == "fio-3.33";
            assert!(version_field || same(ours, theirs), "version {version}, field {}: {ours} for {theirs}", index + 1);
        }
    }
}

#[test]
fn version_2_without_disks() {
    compare(2, include_str!("data/terse/v2.out"));
}

#[test]
fn version_3_the_one_that_most_programs_read() {
    compare(3, include_str!("data/terse/v3.out"));
}

#[test]
fn version_4_with_trims() {
    compare(4, include_str!("data/terse/v4.out"));
}

#[test]
fn version_5_with_samples() {
    compare(5, include_str!("data/terse/v5.out"));
}
