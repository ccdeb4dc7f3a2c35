//! Numbers as fio's text report writes them.

use iostrata_result::derive::Percentile;
use iostrata_stats::Moments;

/// The base that unit prefixes count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// 1024: Ki, Mi, Gi, Ti, Pi, Ei.
    Binary,
    /// 1000: k, M, G, T, P, E.
    Decimal,
}

impl Base {
    /// The base of `kb_base=`: 1000 is decimal, everything else binary.
    pub fn of_kb_base(kb_base: u32) -> Self {
        if kb_base == 1000 { Self::Decimal } else { Self::Binary }
    }

    /// The other one, for the figure in brackets.
    pub fn other(self) -> Self {
        match self {
            Self::Binary => Self::Decimal,
            Self::Decimal => Self::Binary,
        }
    }

    /// 1024 or 1000.
    pub fn factor(self) -> u64 {
        match self {
            Self::Binary => 1024,
            Self::Decimal => 1000,
        }
    }

    fn prefixes(self) -> [&'static str; 7] {
        match self {
            Self::Binary => ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
            Self::Decimal => ["", "k", "M", "G", "T", "P", "E"],
        }
    }
}

/// A number of at most `digits` characters (the point is one) and its prefix, as in `60.4k` or `1024Mi`.
///
/// The number is divided by the base until its whole part has no more characters than `digits`. If one character or
/// none is left over, the quotient is rounded to a whole number, else the rest of the last division fills the
/// decimals.
pub fn short(value: u128, digits: u32, base: Base) -> String {
    let prefixes = base.prefixes();
    let factor = u128::from(base.factor());
    let (mut whole, mut rest, mut power) = (value, 0, 0);
    while length(whole) > digits && power + 1 < prefixes.len() {
        (whole, rest, power) = (whole / factor, whole % factor, power + 1);
    }
    let prefix = prefixes[power];
    if power == 0 {
        return whole.to_string();
    }
    let left = digits.saturating_sub(length(whole));
    if left <= 1 {
        return format!("{}{prefix}", whole + u128::from(rest * 2 >= factor));
    }
    let decimals = left as usize - 1;
    let fraction = format!("{:.decimals$}", rest as f64 / factor as f64);
    // "1.00" means that rounding reached the next whole number.
    let carry = u128::from(fraction.starts_with('1'));
    format!("{}{}{prefix}", whole + carry, &fraction[1..])
}

fn length(whole: u128) -> u32 {
    whole.checked_ilog10().unwrap_or(0) + 1
}

/// How one job's bytes, rates and counts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// `significant_figures=`.
    pub digits: u32,
    /// `kb_base=`.
    pub base: Base,
    /// Rates in bits (`unit_base=1`).
    pub bits: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { digits: 4, base: Base::Binary, bits: false }
    }
}

impl Style {
    /// An amount: `300MiB`.
    pub fn bytes(&self, bytes: u64) -> String {
        self.bytes_in(bytes, self.base)
    }

    /// An amount in both bases: `300MiB (315MB)`.
    pub fn bytes_both(&self, bytes: u64) -> String {
        format!("{} ({})", self.bytes(bytes), self.bytes_in(bytes, self.base.other()))
    }

    fn bytes_in(&self, bytes: u64, base: Base) -> String {
        format!("{}B", short(bytes.into(), self.digits, base))
    }

    /// A rate: `150MiB/s`, in bits `1200Mibit/s`.
    pub fn rate(&self, bytes_per_second: u64) -> String {
        self.rate_in(bytes_per_second, self.base)
    }

    /// The rate in the other base: `157MB/s`.
    pub fn rate_other(&self, bytes_per_second: u64) -> String {
        self.rate_in(bytes_per_second, self.base.other())
    }

    fn rate_in(&self, bytes_per_second: u64, base: Base) -> String {
        let (factor, unit) = if self.bits { (8, "bit") } else { (1, "B") };
        format!("{}{unit}/s", short(u128::from(bytes_per_second) * factor, self.digits, base))
    }

    /// A count: `38.4k`.
    pub fn count(&self, count: u64) -> String {
        short(count.into(), self.digits, Base::Decimal)
    }
}

/// The unit of a latency line or of a block of percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nsec,
    /// Microseconds.
    Usec,
    /// Milliseconds.
    Msec,
}

impl TimeUnit {
    /// Of a line `min=, max=, avg=, stdev=`: the coarsest that all of smallest, largest and deviation are well above.
    pub fn of_moments(moments: &Moments) -> Self {
        let deviation = moments.stddev();
        let above = |min, max, least_deviation| moments.min > min && moments.max > max && deviation > least_deviation;
        if above(2_000_000, 99_999_999, 1_000_000.0) {
            Self::Msec
        } else if above(2_000, 99_999, 1_000.0) {
            Self::Usec
        } else {
            Self::Nsec
        }
    }

    /// Of a block of percentiles, by the lowest and the highest of them.
    pub fn of_range(lowest_ns: u64, highest_ns: u64) -> Self {
        if lowest_ns > 2_000_000 && highest_ns > 99_999_999 {
            Self::Msec
        } else if lowest_ns > 2_000 && highest_ns > 99_999 {
            Self::Usec
        } else {
            Self::Nsec
        }
    }

    /// As in `clat (usec):`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nsec => "nsec",
            Self::Usec => "usec",
            Self::Msec => "msec",
        }
    }

    /// Nanoseconds in it.
    pub fn ns(self) -> u64 {
        match self {
            Self::Nsec => 1,
            Self::Usec => 1_000,
            Self::Msec => 1_000_000,
        }
    }

    /// A value in this unit, rounded up at each step of 1000.
    pub fn round_up(self, ns: u64) -> u64 {
        match self {
            Self::Nsec => ns,
            Self::Usec => ns.div_ceil(1000),
            Self::Msec => ns.div_ceil(1000).div_ceil(1000),
        }
    }
}

/// `min=2, max=3998, avg= 6.63, stdev=46.29` in `unit`; the extremes are cut to whole units.
pub fn moments_line(moments: &Moments, unit: TimeUnit) -> String {
    let extreme = |ns: u64| short(u128::from(ns / unit.ns()), 6, Base::Decimal);
    let scaled = |ns: f64| ns / unit.ns() as f64;
    format!(
        "min={}, max={}, avg={:5.2}, stdev={:5.2}",
        extreme(moments.min),
        extreme(moments.max),
        scaled(moments.mean()),
        scaled(moments.stddev())
    )
}

/// The lines of a block of percentiles (ascending), without the heading: the unit that the heading names, and the
/// lines.
pub fn percentile_lines(percentiles: &[Percentile], precision: u32) -> (TimeUnit, Vec<String>) {
    let lowest = percentiles.iter().map(|percentile| percentile.ns).min().unwrap_or(0);
    let highest = percentiles.iter().map(|percentile| percentile.ns).max().unwrap_or(0);
    let unit = TimeUnit::of_range(lowest, highest);
    let precision = precision as usize;
    let value_width = (length(unit.round_up(highest).into()) as usize).max(5);
    let percent_width = precision + 3;
    let per_line = (73 / (precision + 10 + value_width)).max(1);
    let entries: Vec<String> = percentiles
        .iter()
        .map(|&Percentile { p, ns }| format!(" {p:percent_width$.precision$}th=[{:value_width$}]", unit.round_up(ns)))
        .collect();
    let lines: Vec<String> = entries.chunks(per_line).map(|line| format!("     |{}", line.join(","))).collect();
    let last = lines.len().saturating_sub(1);
    let lines = lines.into_iter().enumerate().map(|(i, line)| if i < last { line + "," } else { line }).collect();
    (unit, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of the table is a number that fio 3.33 printed both in its JSON and in its text of one run.
    #[test]
    fn short_numbers_are_those_that_fio_printed() {
        let table = include_str!("../tests/data/num2str.tsv");
        let mut compared = 0;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [value, digits, base, printed] = fields[..] else { panic!("not four fields: {line}") };
            let base = if base == "1000" { Base::Decimal } else { Base::Binary };
            let style = Style { digits: digits.parse().unwrap(), base, bits: false };
            assert_eq!(style.bytes(value.parse().unwrap()), printed, "{line}");
            compared += 1;
        }
        assert!(compared > 200);
    }

    #[test]
    fn short_numbers_at_the_edges() {
        let binary = |value, digits| short(value, digits, Base::Binary);
        let decimal = |value, digits| short(value, digits, Base::Decimal);
        assert_eq!(decimal(0, 4), "0");
        assert_eq!(binary(1023 << 20, 4), "1023Mi");
        assert_eq!(binary(1 << 30, 4), "1024Mi");
        assert_eq!(decimal(60_450, 4), "60.5k", "the double nearest to 0.45 is above it");
        assert_eq!(decimal(99_999, 4), "100.0k", "a carry out of the decimals");
        assert_eq!(binary(u64::MAX.into(), 4), "16.0Ei");
        assert_eq!(decimal(u64::MAX.into(), 1), "18E", "there is no prefix beyond E");
        assert_eq!(decimal(u128::from(u64::MAX) * 8, 4), "148E");
    }

    #[test]
    fn rates_in_bits_and_bytes() {
        let style = Style::default();
        assert_eq!(style.rate(157_286_400), "150MiB/s");
        assert_eq!(style.rate_other(157_286_400), "157MB/s");
        assert_eq!(Style { bits: true, ..style }.rate(20_479_488), "156Mibit/s");
        assert_eq!(Style { base: Base::Decimal, ..style }.bytes_both(41_000_000), "41.0MB (39.1MiB)");
        assert_eq!(Style { bits: true, ..style }.bytes(4096), "4096B", "amounts stay in bytes");
    }

    #[test]
    fn the_unit_of_a_latency_needs_all_three_figures() {
        let moments = |values: [u64; 2]| {
            let mut moments = Moments::default();
            values.into_iter().for_each(|value| moments.add(value));
            moments
        };
        assert_eq!(TimeUnit::of_moments(&moments([2_001, 100_000])), TimeUnit::Usec);
        assert_eq!(TimeUnit::of_moments(&moments([2_000, 100_000])), TimeUnit::Nsec);
        assert_eq!(TimeUnit::of_moments(&moments([100_000, 100_001])), TimeUnit::Nsec);
        assert_eq!(TimeUnit::of_moments(&moments([2_000_001, 100_000_000])), TimeUnit::Msec);
        assert_eq!(TimeUnit::of_moments(&Moments::default()), TimeUnit::Nsec);
        let largest = moments([u64::MAX, u64::MAX]);
        assert_eq!(
            moments_line(&largest, TimeUnit::of_moments(&largest)),
            "min=18447P, max=18447P, avg=18446744073709551616.00, stdev= 0.00"
        );
    }

    fn block(percentiles: &[(f64, u64)], precision: u32) -> (TimeUnit, Vec<String>) {
        let list: Vec<Percentile> = percentiles.iter().map(|&(p, ns)| Percentile { p, ns }).collect();
        percentile_lines(&list, precision)
    }

    /// Blocks that fio printed, line by line.
    #[test]
    fn blocks_of_percentiles() {
        let (unit, lines) = block(&[(50.0, 964), (99.0, 1560), (99.9, 14400)], 1);
        assert_eq!(unit, TimeUnit::Nsec);
        assert_eq!(lines, ["     | 50.0th=[  964], 99.0th=[ 1560], 99.9th=[14400]"]);

        let (_, lines) = block(&[(9.0, 30), (50.0, 31)], 0);
        assert_eq!(lines, ["     |   9th=[   30],  50th=[   31]"]);

        let (unit, lines) = block(&[(1.0, 2_640), (33.3333, 5_984), (99.9999, 9_633_792)], 4);
        assert_eq!(unit, TimeUnit::Usec);
        assert_eq!(lines, ["     |  1.0000th=[    3], 33.3333th=[    6], 99.9999th=[ 9634]"]);

        let wide = [(80.0, 4128), (90.0, 5088), (95.0, 10_304), (99.0, 33_536), (99.5, 1_318_912)];
        let (unit, lines) = block(&wide.map(|(percent, ns)| (percent, ns - 3_000)), 2);
        assert_eq!(unit, TimeUnit::Nsec);
        assert_eq!(
            lines,
            [
                "     | 80.00th=[   1128], 90.00th=[   2088], 95.00th=[   7304],",
                "     | 99.00th=[  30536], 99.50th=[1315912]"
            ]
        );

        let (unit, lines) = block(&[(1.0, 2_000_001), (99.0, u64::MAX)], 2);
        assert_eq!(unit, TimeUnit::Msec);
        assert_eq!(lines, ["     |  1.00th=[             3], 99.00th=[18446744073710]"]);
    }
}
