//! Every summary may be cut into parts and joined in any order, and says the same as the values themselves.

use iostrata_stats::histogram::{bin_of, bin_range};
use iostrata_stats::{
    HistogramBins, LatencyBuckets, LatencySummary, LiveBuckets, LiveLatency, LiveMoments, Moments, SeqLock,
};
use proptest::prelude::*;

/// Latencies of all magnitudes, the extremes among them.
fn latency() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
        1 => Just(u64::MAX),
        1 => Just(0),
    ]
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(latency(), 0..60)
}

fn buckets_of(values: &[u64]) -> LatencyBuckets {
    let mut buckets = LatencyBuckets::default();
    values.iter().for_each(|&value| buckets.add(value));
    buckets
}

/// Checks the laws for one summary type: `a·(b·c) = (a·b)·c = whole`, `a·b = b·a`, and that the empty summary changes
/// nothing.
fn laws<T: Clone + Default + PartialEq + std::fmt::Debug>(
    parts: [&[u64]; 3],
    of: impl Fn(&[u64]) -> T,
    merge: impl Fn(&mut T, &T),
) {
    let joined = |left: &T, right: &T| {
        let mut left = left.clone();
        merge(&mut left, right);
        left
    };
    let [a, b, c] = parts.map(&of);
    let whole = of(&parts.concat());
    assert_eq!(joined(&a, &joined(&b, &c)), whole);
    assert_eq!(joined(&joined(&a, &b), &c), whole);
    assert_eq!(joined(&a, &b), joined(&b, &a));
    assert_eq!(joined(&a, &T::default()), a);
    assert_eq!(joined(&T::default(), &a), a);
}

proptest! {
    #[test]
    fn summaries_are_commutative_monoids(a in latencies(), b in latencies(), c in latencies()) {
        let parts = [&a[..], &b[..], &c[..]];
        laws(parts, |values| LatencySummary::of(values.iter().copied()), LatencySummary::merge);
        laws(parts, buckets_of, LatencyBuckets::merge);
    }

    #[test]
    fn live_recorders_say_what_the_values_say(values in latencies()) {
        let (latency, buckets, lock) = (LiveLatency::new(true), LiveBuckets::default(), SeqLock::default());
        for batch in values.chunks(7) {
            let _batch = lock.write();
            batch.iter().for_each(|&value| {
                latency.record(value);
                buckets.record(value);
            });
        }
        let (latency_copy, buckets_copy) = lock.read(|| (latency.snapshot(), buckets.snapshot()));
        prop_assert_eq!(latency_copy, LatencySummary::of(values.iter().copied()));
        prop_assert_eq!(buckets_copy, buckets_of(&values));
        latency.reset();
        prop_assert_eq!(latency.snapshot(), LatencySummary::default());
    }

    /// The value reported lies in the bin of the value that stands at that rank of the sorted list.
    #[test]
    fn percentiles_agree_with_the_sorted_list(mut values in prop::collection::vec(latency(), 1..200), p in 1u32..=100) {
        values.sort_unstable();
        // Whole percentages are exact as doubles, so that the rank can be told in integers.
        let rank = (values.len() * p as usize).div_ceil(100).max(1);
        let bins = HistogramBins::of(values.iter().copied());
        let reported = bins.percentile(f64::from(p), None).unwrap();
        prop_assert!(bin_range(bin_of(values[rank - 1])).contains(&reported));
        let capped = bins.percentile(f64::from(p), values.last().copied()).unwrap();
        prop_assert!(capped <= values[values.len() - 1]);
    }

    #[test]
    fn a_later_histogram_less_an_earlier_one_is_the_difference(early in latencies(), late in latencies()) {
        let before = HistogramBins::of(early.iter().copied());
        let after = HistogramBins::of(early.iter().chain(&late).copied());
        prop_assert_eq!(after.since(&before), HistogramBins::of(late));
    }

    /// Two passes over the values in floating point are the oracle.
    #[test]
    fn mean_and_deviation_are_those_of_the_values(
        offset in 0u64..1 << 40,
        spread in prop::collection::vec(0u64..5000, 2..50),
    ) {
        let mut moments = Moments::default();
        spread.iter().for_each(|&value| moments.add(offset + value));
        let count = spread.len() as f64;
        let mean = spread.iter().sum::<u64>() as f64 / count;
        let squares: f64 = spread.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        prop_assert!((moments.mean() - mean - offset as f64).abs() <= 1e-3);
        let error = (moments.stddev() - deviation).abs();
        prop_assert!(error <= 1e-9 * (1.0 + deviation), "{} {deviation}", moments.stddev());
    }

    #[test]
    fn documents_bring_every_number_back(values in latencies()) {
        let summary = LatencySummary::of(values);
        let text = serde_json::to_string(&summary).unwrap();
        prop_assert_eq!(serde_json::from_str::<LatencySummary>(&text).unwrap(), summary);
    }
}

#[test]
fn nothing_recorded_is_zero_everywhere() {
    let empty = LiveMoments::default().snapshot();
    assert_eq!(empty, Moments::default());
    assert_eq!((empty.mean(), empty.stddev()), (0.0, 0.0));
}

#[test]
fn one_value_has_no_spread() {
    let mut moments = Moments::default();
    moments.add(u64::MAX);
    assert_eq!((moments.mean(), moments.stddev()), (u64::MAX as f64, 0.0));
}

/// Two of the largest values exceed 128 bits of squares: the sum stays at its limit, live and finished alike.
#[test]
fn squares_saturate_instead_of_wrapping() {
    let (live, mut finished) = (LiveMoments::default(), Moments::default());
    for _ in 0..3 {
        live.record(u64::MAX);
        finished.add(u64::MAX);
    }
    assert_eq!(live.snapshot(), finished);
    assert_eq!((finished.sum_squares, finished.sum), (u128::MAX, 3 * u128::from(u64::MAX)));
    assert!(finished.stddev().is_finite());
}

/// A damaged document must not reach code that trusts its bins.
#[test]
fn lists_that_are_no_histogram_are_refused() {
    for broken in ["[[3776,1]]", "[[65535,1]]", "[[5,1],[5,1]]", "[[5,1],[4,1]]", "[[5,0]]", "[[-1,1]]"] {
        assert!(serde_json::from_str::<HistogramBins>(broken).is_err(), "{broken} was taken");
    }
    assert_eq!(serde_json::from_str::<HistogramBins>("[[0,1],[3775,2]]").unwrap().count(), 3);
}

#[test]
fn wide_sums_are_written_as_strings() {
    let mut moments = Moments::default();
    moments.add(u64::MAX);
    let text = serde_json::to_value(moments).unwrap();
    assert_eq!(text["sum_squares"], "340282366920938463426481119284349108225");
    for broken in [r#""""#, r#""-1""#, r#""+1""#, "1", r#""340282366920938463463374607431768211456""#] {
        let document = format!(r#"{{"count":1,"min":1,"max":1,"sum":"1","sum_squares":{broken}}}"#);
        assert!(serde_json::from_str::<Moments>(&document).is_err(), "{broken} was taken");
    }
}
