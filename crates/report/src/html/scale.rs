//! Axes: where their marks are, and what stands beside them.

use crate::number::{Base, short};

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bytes per second, by powers of 1024.
    BytesPerSecond,
    /// Things per second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// The name for programs that draw the same again.
    pub(super) fn word(self) -> &'static str {
        match self {
            Unit::BytesPerSecond => "bytes",
            Unit::PerSecond => "count",
            Unit::Nanoseconds => "ns",
            Unit::Seconds => "s",
        }
    }

    /// A value as it stands beside a mark.
    pub(super) fn label(self, value: f64) -> String {
        match self {
            Unit::BytesPerSecond => format!("{}B/s", short(value.max(0.0).round() as u128, 4, Base::Binary)),
            Unit::PerSecond => short(value.max(0.0).round() as u128, 4, Base::Decimal),
            Unit::Nanoseconds => duration(value),
            Unit::Seconds => format!("{}s", plain(value)),
        }
    }
}

/// A number without zeros that say nothing.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Nanoseconds in the unit in which they have one to three digits before the point.
pub(super) fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| ns >= *factor).unwrap_or((1.0, "ns"));
    let value = ns / factor;
    let decimals = if value >= 100.0 || unit == "ns" { 0 } else { usize::from(value < 10.0) + 1 };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// An axis from `low` to `high`, drawn over `length` units of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) length: f64,
    pub(super) logarithmic: bool,
    pub(super) unit: Unit,
}

impl Axis {
    /// From 0 to a round number above `highest`.
    pub(super) fn linear(highest: f64, length: f64, unit: Unit) -> Axis {
        let high = if highest > 0.0 { highest } else { 1.0 };
        Axis { low: 0.0, high, length, logarithmic: false, unit }
    }

    /// Over the decades that hold both values.
    pub(super) fn decades(lowest: f64, highest: f64, length: f64, unit: Unit) -> Axis {
        let low = 10f64.powf(lowest.max(1.0).log10().floor());
        let high = 10f64.powf(highest.max(1.0).log10().ceil());
        Axis { low, high: if high > low { high } else { low * 10.0 }, length, logarithmic: true, unit }
    }

    /// How far from the beginning a value is; those outside are at the nearer end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0) * self.length
    }

    /// The values with a mark, at most about `most` of them.
    pub(super) fn marks(&self, most: usize) -> Vec<f64> {
        if self.logarithmic {
            let decades = self.high.log10().round() as i32 - self.low.log10().round() as i32;
            let step = (decades as usize).div_ceil(most.max(1)).max(1);
            return (0..=decades).step_by(step).map(|decade| self.low * 10f64.powi(decade)).collect();
        }
        let base: f64 = if self.unit == Unit::BytesPerSecond { 2.0 } else { 10.0 };
        let wanted = (self.high - self.low) / most.max(1) as f64;
        let power = base.powf(wanted.log(base).floor());
        // Powers of two have no round numbers between them.
        let steps: &[f64] = if base == 2.0 { &[1.0, 2.0] } else { &[1.0, 2.0, 5.0, 10.0] };
        let step = steps.iter().map(|part| part * power).find(|step| *step >= wanted * 0.999).unwrap_or(power * base);
        let count = ((self.high - self.low) / step).floor() as usize;
        (0..=count.min(2 * most)).map(|number| self.low + number as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within_the_axis() {
        let axis = Axis::linear(87_000.0, 100.0, Unit::PerSecond);
        assert_eq!(axis.marks(5), [0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0]);
        let bytes = Axis::linear(900.0 * 1048576.0, 100.0, Unit::BytesPerSecond);
        let labels: Vec<String> = bytes.marks(5).into_iter().map(|mark| bytes.unit.label(mark)).collect();
        assert_eq!(labels, ["0B/s", "256MiB/s", "512MiB/s", "768MiB/s"]);
        let latency = Axis::decades(3_200.0, 4_000_000.0, 100.0, Unit::Nanoseconds);
        let labels: Vec<String> = latency.marks(6).into_iter().map(|mark| latency.unit.label(mark)).collect();
        assert_eq!(labels, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
    }

    #[test]
    fn nothing_is_drawn_outside() {
        for axis in [Axis::linear(0.0, 50.0, Unit::PerSecond), Axis::decades(0.0, 0.0, 50.0, Unit::Nanoseconds)] {
            for value in [0.0, 1.0, f64::MAX, u64::MAX as f64] {
                assert!((0.0..=50.0).contains(&axis.place(value)), "{axis:?}: {value}");
            }
            assert!(!axis.marks(5).is_empty());
        }
    }

    #[test]
    fn durations_have_three_digits_at_most() {
        let shown: Vec<String> = [0.0, 999.0, 1_000.0, 12_345.0, 2_500_000.0, 3.6e12].map(duration).into();
        assert_eq!(shown, ["0 ns", "999 ns", "1 µs", "12.3 µs", "2.5 ms", "3600 s"]);
    }
}
