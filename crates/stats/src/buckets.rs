//! fio's coarse latency buckets. Their edges (750 ns, 10 µs …) lie inside bins of the histogram, so they are counted
//! apart.

use crate::live::LiveCounter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Buckets in all.
const BUCKETS: usize = 32;

/// I/O counts by completion latency, on the edges of fio's report: a value counts in the first bucket whose edge is
/// above it. As in fio they are counted only where completion latency is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBuckets {
    /// Below 1 µs; edges 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000 ns.
    pub ns: [u64; 10],
    /// Below 1 ms; the same edges in µs.
    pub us: [u64; 10],
    /// Edges 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000 ms, and all above.
    pub ms: [u64; 12],
}

impl LatencyBuckets {
    /// Takes in all of `other`.
    pub fn merge(&mut self, other: &Self) {
        let add = |to: &mut [u64], from: &[u64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = to.saturating_add(*from));
        };
        add(&mut self.ns, &other.ns);
        add(&mut self.us, &other.us);
        add(&mut self.ms, &other.ms);
    }

    /// Takes in one latency.
    pub fn add(&mut self, ns: u64) {
        *self.cell(bucket_of(ns)) += 1;
    }

    /// Number of I/Os.
    pub fn count(&self) -> u64 {
        self.ns.iter().chain(&self.us).chain(&self.ms).fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn cell(&mut self, bucket: usize) -> &mut u64 {
        match bucket {
            0..10 => &mut self.ns[bucket],
            10..20 => &mut self.us[bucket - 10],
            _ => &mut self.ms[bucket - 20],
        }
    }
}

/// All edges in ascending order, nanoseconds.
const EDGES: [u64; BUCKETS - 1] = edges();

const fn edges() -> [u64; BUCKETS - 1] {
    const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let mut edges = [2_000_000_000; BUCKETS - 1];
    let (mut index, mut unit) = (0, 1);
    while index < BUCKETS - 2 {
        edges[index] = STEPS[index % 10] * unit;
        index += 1;
        if index.is_multiple_of(10) {
            unit *= 1000;
        }
    }
    edges
}

/// One power of two of values: no more than two edges lie in it.
#[derive(Clone, Copy)]
struct Octave {
    /// Bucket of its smallest value.
    first: u8,
    /// The largest values below the edges inside; `u64::MAX` stands for no edge.
    below: [u64; 2],
}

/// By the position of a value's leading one.
const OCTAVES: [Octave; 64] = octaves();

const fn octaves() -> [Octave; 64] {
    let mut octaves = [Octave { first: 0, below: [u64::MAX; 2] }; 64];
    let mut msb = 0;
    while msb < 64 {
        // 0 shares the octave of 1.
        let (low, high) = (1u64 << msb, (1u64 << msb) + ((1u64 << msb) - 1));
        let (mut edge, mut inside) = (0, 0);
        while edge < EDGES.len() {
            if EDGES[edge] <= low {
                octaves[msb].first = edge as u8 + 1;
            } else if EDGES[edge] <= high {
                octaves[msb].below[inside] = EDGES[edge] - 1;
                inside += 1;
            }
            edge += 1;
        }
        msb += 1;
    }
    octaves
}

/// Position of the bucket of a latency among all 32: 10 of ns, 10 of µs, 12 of ms.
#[inline(always)]
fn bucket_of(ns: u64) -> usize {
    let octave = &OCTAVES[63 - (ns | 1).leading_zeros() as usize];
    octave.first as usize + usize::from(ns > octave.below[0]) + usize::from(ns > octave.below[1])
}

/// [`LatencyBuckets`] in the making: one thread records, any may look.
#[derive(Debug, Default)]
pub struct LiveBuckets([LiveCounter; BUCKETS]);

impl LiveBuckets {
    /// Takes in one latency. Only for the writer.
    #[inline(always)]
    pub fn record(&self, ns: u64) {
        // The mask only spares the bounds check: there is no bucket above 31.
        self.0[bucket_of(ns) & (BUCKETS - 1)].add(1);
    }

    /// Forgets everything. Only for the writer.
    pub fn reset(&self) {
        self.0.iter().for_each(|bucket| bucket.set(0));
    }

    /// A copy. The buckets belong to one moment only inside [`SeqLock::read`](crate::SeqLock::read).
    pub fn snapshot(&self) -> LatencyBuckets {
        let mut buckets = LatencyBuckets::default();
        for (index, count) in self.0.iter().enumerate() {
            *buckets.cell(index) = count.get();
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every edge, one below and one above, and every power of two, against a plain search through the edges.
    #[test]
    fn the_table_agrees_with_a_search() {
        let near = EDGES.iter().copied().chain((0..64).map(|bit| 1u64 << bit)).chain([0, u64::MAX]);
        for value in near.flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]) {
            let expected = EDGES.iter().filter(|&&edge| value >= edge).count();
            assert_eq!(bucket_of(value), expected, "{value} ns");
        }
    }

    #[test]
    fn the_edges_are_those_of_the_report() {
        assert_eq!(EDGES[..3], [2, 4, 10]);
        assert_eq!(EDGES[8..12], [750, 1000, 2000, 4000]);
        assert_eq!(EDGES[19..21], [1_000_000, 2_000_000]);
        assert_eq!(EDGES[28..], [750_000_000, 1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn live_and_finished_count_alike() {
        let live = LiveBuckets::default();
        let mut finished = LatencyBuckets::default();
        for value in [0, 1, 2, 999, 1000, 1999, 2000, 999_999, 1_000_000, 1_999_999_999, 2_000_000_000, u64::MAX] {
            live.record(value);
            finished.add(value);
        }
        assert_eq!(live.snapshot(), finished);
        assert_eq!(finished.count(), 12);
        assert_eq!(finished.ms[11], 2);
        live.reset();
        assert_eq!(live.snapshot(), LatencyBuckets::default());
    }
}
