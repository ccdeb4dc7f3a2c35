//! Lines of a job's section that need no more than a few figures.

use crate::number::{self, Base, TimeUnit};
use iostrata_result::derive::{Percentile, Samples};
use iostrata_stats::Moments;

/// Names of the shares by depth.
const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Names of the shares by batch.
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Names of the shares by latency.
const EDGES: [&str; 12] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// `    clat (usec): min=…`: a short name is flush right in eight columns, a longer one begins in the fifth.
pub(super) fn latency_line(name: &str, moments: &Moments) -> String {
    let unit = TimeUnit::of_moments(moments);
    format!("    {name:>4} ({}): {}\n", unit.name(), number::moments_line(moments, unit))
}

/// `    clat percentiles (usec):` and its lines.
pub(super) fn percentile_block(name: &str, percentiles: &[Percentile], precision: u32) -> String {
    let (unit, lines) = number::percentile_lines(percentiles, precision);
    let body: String = lines.into_iter().map(|line| line + "\n").collect();
    format!("    {name} percentiles ({}):\n{body}", unit.name())
}

/// `   bw (  KiB/s): …`, or in MiB/s where the mean is above one Gi of bytes. fio shows the same figures with
/// `kb_base=1000` and calls them kB; we bring them to that base.
pub(super) fn bandwidth_line(kib: &Samples, percent_of_all: f64, base: Base) -> String {
    let (small, large) = match base {
        Base::Binary => ("KiB", "MiB"),
        Base::Decimal => ("kB", "MB"),
    };
    let factor = base.factor() as f64;
    let (unit, unit_bytes) =
        if kib.mean * 1024.0 > factor.powi(3) { (large, factor * factor) } else { (small, factor) };
    let scale = 1024.0 / unit_bytes;
    let extreme = |kib: u64| match base {
        // fio cuts the fraction off.
        Base::Binary => kib as f64 * scale,
        Base::Decimal => (kib as f64 * scale).round(),
    };
    format!(
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={percent_of_all:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}\n",
        extreme(kib.min) as u64,
        extreme(kib.max) as u64,
        kib.mean * scale,
        kib.stddev() * scale,
        kib.count
    )
}

/// `   iops        : …`.
pub(super) fn iops_line(samples: &Samples) -> String {
    format!(
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}\n",
        samples.min,
        samples.max,
        samples.mean,
        samples.stddev(),
        samples.count
    )
}

/// `  IO depths    : 1=100.0%, …`.
pub(super) fn depth_line(shares: &[f64; 7]) -> String {
    share_line("  IO depths    ", LEVELS, shares)
}

/// `     submit    : 0=0.0%, 4=100.0%, …`; `name` is "submit" or "complete".
pub(super) fn batch_line(name: &str, shares: &[f64; 7]) -> String {
    share_line(&format!("     {name:<10}"), BATCHES, shares)
}

fn share_line(head: &str, names: [&str; 7], shares: &[f64; 7]) -> String {
    let parts: Vec<String> = names.iter().zip(shares).map(|(name, share)| format!("{name}={share:3.1}%")).collect();
    format!("{head}: {}\n", parts.join(", "))
}

/// `  lat (usec)   : 2=0.01%, …`: the shares that are not 0, five a line.
pub(super) fn bucket_lines(unit: &str, shares: &[f64]) -> String {
    let parts: Vec<String> = EDGES
        .iter()
        .zip(shares)
        .filter(|(_, share)| **share > 0.0)
        .map(|(edge, share)| format!("{edge}={share:3.2}%"))
        .collect();
    parts.chunks(5).map(|line| format!("  lat ({unit})   : {}\n", line.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_that_are_empty_are_left_out_and_a_line_has_five() {
        let shares = [0.0, 0.01, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.004, 7.0, 80.0];
        assert_eq!(
            bucket_lines("msec", &shares),
            "  lat (msec)   : 4=0.01%, 10=1.00%, 20=2.00%, 50=3.00%, 100=4.00%\n  \
               lat (msec)   : 250=5.00%, 1000=0.00%, 2000=7.00%, >=2000=80.00%\n"
        );
        assert_eq!(bucket_lines("nsec", &[0.0; 10]), "");
    }

    #[test]
    fn shares_by_depth_and_batch() {
        assert_eq!(
            depth_line(&[0.1, 0.1, 0.17, 99.6, 0.0, 0.0, 0.0]),
            "  IO depths    : 1=0.1%, 2=0.1%, 4=0.2%, 8=99.6%, 16=0.0%, 32=0.0%, >=64=0.0%\n"
        );
        assert_eq!(
            batch_line("submit", &[0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            "     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%\n"
        );
        assert!(batch_line("complete", &[0.0; 7]).starts_with("     complete  : 0=0.0%, "));
    }
}
