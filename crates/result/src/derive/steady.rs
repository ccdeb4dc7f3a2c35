//! Whether performance was steady: the criteria of `steadystate`.

use crate::model::{SteadyMeasure, SteadySample, SteadyState};

/// The series that a search for steady state looked at, and what it made of them. All is 0 where nothing was sampled:
/// no number here is ever not one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steadiness {
    /// Bytes per second of each sample.
    pub bw_bytes: Vec<u64>,
    /// I/Os per second of each sample.
    pub iops: Vec<u64>,
    /// Mean completion latency of each sample, nanoseconds.
    pub lat_ns: Vec<u64>,
    /// Mean of `bw_bytes`.
    pub bw_bytes_mean: u64,
    /// Mean of `iops`.
    pub iops_mean: u64,
    /// Mean of `lat_ns`.
    pub lat_ns_mean: u64,
    /// Largest distance of a sample of the judged series from its mean; 0 when its slope is judged.
    pub max_deviation: f64,
    /// Slope of the least-squares line through the judged series, for each sample; 0 when its deviation is judged.
    pub slope: f64,
    /// What is compared with the limit: the deviation or the slope, or either in percent of the mean.
    pub criterion: f64,
    /// Samples as many as the window holds, I/O in them, and the criterion below the limit.
    pub steady: bool,
}

impl Steadiness {
    /// Judges the samples of one window.
    pub fn of(state: &SteadyState) -> Self {
        let rate = |count: u64, sample: &SteadySample| {
            let per_second = u128::from(count) * 1_000_000_000 / u128::from(sample.elapsed_ns.max(1));
            u64::try_from(per_second).unwrap_or(u64::MAX)
        };
        let series = |value: &dyn Fn(&SteadySample) -> u64| -> Vec<u64> { state.samples.iter().map(value).collect() };
        let bw_bytes = series(&|sample| rate(sample.bytes, sample));
        let iops = series(&|sample| rate(sample.ios, sample));
        let lat_ns = series(&|sample| sample.clat_sum_ns.checked_div(sample.ios).unwrap_or(0));
        let judged: Vec<f64> = match state.measure {
            SteadyMeasure::Iops => &iops,
            SteadyMeasure::Bandwidth => &bw_bytes,
            SteadyMeasure::Latency => &lat_ns,
        }
        .iter()
        .map(|&value| value as f64)
        .collect();
        let mean = mean(&judged);
        let (max_deviation, slope) = match state.slope {
            true => (0.0, slope(&judged, mean)),
            false => (judged.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max), 0.0),
        };
        let absolute = max_deviation + slope;
        let criterion = match state.percent {
            true if mean > 0.0 => 100.0 * absolute / mean,
            true => 0.0,
            false => absolute,
        };
        Steadiness {
            bw_bytes_mean: whole_mean(&bw_bytes),
            iops_mean: whole_mean(&iops),
            lat_ns_mean: whole_mean(&lat_ns),
            bw_bytes,
            iops,
            lat_ns,
            max_deviation,
            slope,
            criterion,
            steady: state.samples.len() as u64 >= state.window && mean > 0.0 && criterion.abs() < state.limit,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn whole_mean(values: &[u64]) -> u64 {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    sum.checked_div(values.len() as u128).map_or(0, |mean| u64::try_from(mean).unwrap_or(u64::MAX))
}

/// Least squares over the positions 0, 1, 2, …: `Σ(x − x̄)(y − ȳ) / Σ(x − x̄)²`; 0 for fewer than two values.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len().max(1) - 1) as f64 / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (position, value) in values.iter().enumerate() {
        let distance = position as f64 - middle;
        products += distance * (value - mean);
        squares += distance * distance;
    }
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(measure: SteadyMeasure, slope: bool, limit: f64, percent: bool, ios: &[u64]) -> SteadyState {
        // Samples of half a second; 4 KiB and 100 µs an I/O.
        let sample =
            |&ios: &u64| SteadySample { elapsed_ns: 500_000_000, ios, bytes: ios * 4096, clat_sum_ns: ios * 100_000 };
        SteadyState {
            measure,
            slope,
            limit,
            percent,
            duration_ns: 2_000_000_000,
            window: 4,
            attained: false,
            samples: ios.iter().map(sample).collect(),
        }
    }

    #[test]
    fn the_largest_deviation_is_from_the_mean_in_units_or_percent() {
        let found = Steadiness::of(&state(SteadyMeasure::Iops, false, 21.0, false, &[50, 50, 40, 60]));
        assert_eq!(found.iops, [100, 100, 80, 120]);
        assert_eq!((found.iops_mean, found.max_deviation, found.slope, found.criterion), (100, 20.0, 0.0, 20.0));
        assert!(found.steady);
        let found = Steadiness::of(&state(SteadyMeasure::Bandwidth, false, 20.0, true, &[50, 50, 40, 60]));
        assert_eq!((found.bw_bytes_mean, found.max_deviation, found.criterion), (409_600, 81_920.0, 20.0));
        assert!(!found.steady, "20% is not below 20%");
    }

    #[test]
    fn a_slope_is_that_of_the_least_squares_line_and_its_sign_does_not_matter() {
        // Rates 100, 120, 140, 160: 20 more with each sample, 15.38% of the mean.
        let up = Steadiness::of(&state(SteadyMeasure::Iops, true, 21.0, false, &[50, 60, 70, 80]));
        assert_eq!((up.slope, up.criterion, up.max_deviation, up.steady), (20.0, 20.0, 0.0, true));
        let down = Steadiness::of(&state(SteadyMeasure::Iops, true, 15.0, true, &[80, 70, 60, 50]));
        assert_eq!((down.slope, down.steady), (-20.0, false));
        assert!((down.criterion + 100.0 * 20.0 / 130.0).abs() < 1e-9);
        let flat = Steadiness::of(&state(SteadyMeasure::Latency, true, 0.1, true, &[50, 60, 70, 80]));
        assert_eq!((flat.lat_ns_mean, flat.criterion, flat.steady), (100_000, 0.0, true));
    }

    #[test]
    fn nothing_is_steady_without_io_or_before_the_window_is_full_and_no_number_is_none() {
        for percent in [false, true] {
            for slope in [false, true] {
                for measure in [SteadyMeasure::Iops, SteadyMeasure::Bandwidth, SteadyMeasure::Latency] {
                    for ios in [&[][..], &[0], &[0; 4], &[7], &[7; 3]] {
                        let found = Steadiness::of(&state(measure, slope, 1e9, percent, ios));
                        assert!(!found.steady, "{measure:?} {ios:?}");
                        let numbers = [found.max_deviation, found.slope, found.criterion];
                        assert!(numbers.iter().all(|number| number.is_finite()), "{found:?}");
                    }
                }
            }
        }
    }
}
