//! Whether two programs that ran in the same rounds differ by more than one of them differs from itself.

use super::{Reading, Round};
use crate::bench::median;

/// A number of which both programs have one per run.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// What the number in the report is divided by to be in that unit.
    pub(super) divisor: f64,
    more_is_better: bool,
    of: fn(&Reading) -> f64,
    /// The least ratio above 1 that the report can show.
    step: f64,
}

/// A percentile is the edge of one of fio's bins, which are 1/64 wide at most.
const BIN: f64 = 1.0 + 1.0 / 64.0;

pub(super) const METRICS: &[Metric] = &[
    Metric { name: "IOPS", unit: "", divisor: 1.0, more_is_better: true, of: |run| run.iops, step: 1.0 },
    Metric { name: "p50", unit: " µs", divisor: 1e3, more_is_better: false, of: |run| run.p50_ns, step: BIN },
    Metric { name: "p99", unit: " µs", divisor: 1e3, more_is_better: false, of: |run| run.p99_ns, step: BIN },
];

/// One metric of one case.
pub(super) struct Comparison {
    pub(super) metric: &'static Metric,
    /// Median of iostrata's runs, and of all of fio's.
    pub(super) iostrata: f64,
    pub(super) fio: f64,
    /// Median of the paired ratios iostrata / fio.
    pub(super) ratio: f64,
    /// In how many rounds iostrata's number was the higher one.
    pub(super) higher: usize,
    /// The largest ratio of fio to itself, either way; at least 1.
    pub(super) limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Agrees,
    Better,
    Worse,
}

impl Comparison {
    fn of(metric: &'static Metric, rounds: &[Round]) -> Comparison {
        let of = metric.of;
        let pairs: Vec<f64> = rounds.iter().map(|round| (of(&round.iostrata) / of(&round.fio[0])).ln()).collect();
        let selves = rounds.iter().map(|round| (of(&round.fio[1]) / of(&round.fio[0])).ln().abs());
        let fio = rounds.iter().flat_map(|round| round.fio.iter().map(of));
        Comparison {
            metric,
            iostrata: median(rounds.iter().map(|round| of(&round.iostrata)).collect()),
            fio: median(fio.collect()),
            higher: pairs.iter().filter(|&&ratio| ratio > 0.0).count(),
            ratio: median(pairs).exp(),
            limit: selves.fold(metric.step.ln(), f64::max).exp(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        // The last digits of logarithms are not the report's.
        const ROUNDING: f64 = 1e-9;
        if self.ratio.ln().abs() <= self.limit.ln() + ROUNDING {
            Verdict::Agrees
        } else if (self.ratio > 1.0) == self.metric.more_is_better {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }
}

/// All metrics of a case.
pub(super) fn comparisons(rounds: &[Round]) -> Vec<Comparison> {
    METRICS.iter().map(|metric| Comparison::of(metric, rounds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(iops: f64, p50_ns: f64) -> Reading {
        Reading { iops, p50_ns, p99_ns: 1.0, cpu_ns_per_io: 1.0 }
    }

    /// Rounds of IOPS: iostrata's, fio's, fio's again.
    fn rounds(iops: &[[f64; 3]]) -> Vec<Round> {
        iops.iter().map(|&[ours, a, b]| Round { iostrata: run(ours, 1.0), fio: [run(a, 1.0), run(b, 1.0)] }).collect()
    }

    fn of_iops(iops: &[[f64; 3]]) -> Comparison {
        comparisons(&rounds(iops)).swap_remove(0)
    }

    #[test]
    fn what_lies_within_fios_own_spread_agrees_either_way() {
        // fio against itself: 0.8, 1 and 1; so 1/0.8 = 1.25 is the limit upwards too.
        for (ours, wanted) in [
            (79.0, Verdict::Worse),
            (80.0, Verdict::Agrees),
            (100.0, Verdict::Agrees),
            (125.0, Verdict::Agrees),
            (126.0, Verdict::Better),
        ] {
            let comparison = of_iops(&[[ours, 100.0, 80.0], [ours, 100.0, 100.0], [ours, 100.0, 100.0]]);
            assert!((comparison.limit - 1.25).abs() < 1e-9);
            assert_eq!(comparison.verdict(), wanted, "{ours}");
        }
    }

    #[test]
    fn a_higher_latency_is_worse_from_more_than_one_bin_on() {
        let rounds = |ours| vec![Round { iostrata: run(1.0, ours), fio: [run(1.0, 64.0), run(1.0, 64.0)] }];
        for (ours, wanted) in
            [(64.0, Verdict::Agrees), (65.0, Verdict::Agrees), (66.0, Verdict::Worse), (62.0, Verdict::Better)]
        {
            let all = comparisons(&rounds(ours));
            assert_eq!(all[1].metric.name, "p50");
            assert_eq!(all[1].verdict(), wanted, "{ours}");
        }
    }

    #[test]
    fn the_ratio_is_of_pairs_and_the_rounds_in_which_it_was_higher_are_counted() {
        let comparison = of_iops(&[[20.0, 10.0, 10.0], [100.0, 20.0, 20.0], [40.0, 80.0, 80.0]]);
        assert!((comparison.ratio - 2.0).abs() < 1e-9);
        assert_eq!((comparison.iostrata, comparison.fio, comparison.higher), (40.0, 20.0, 2));
    }
}
