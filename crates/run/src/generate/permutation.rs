//! A keyed permutation of the numbers below a bound: every block once, in random order, without remembering any.
//!
//! Bounds of at least [`TABLE_BELOW`] use a Feistel network over pairs (left, right) of digits with moduli `a · b ≥ n`,
//! as near to n as can be: each round adds to one digit a keyed hash of the other, which can be undone, so the network
//! permutes the pairs; a pair that stands for a number outside goes through the network again until one inside comes
//! out (cycle-walking; Black and Rogaway 2002). With `b = ⌈√n⌉` and `a = ⌈n/b⌉` fewer than one pair in √n is outside.
//! Smaller bounds, where so few rounds over so short digits would show, use a shuffled table.

use iostrata_os::vector::VectorUnit;
use rand_core::Rng;

use super::random::{below, derive, generator};

/// Bounds below this are permuted by a shuffled table (at most 8 KiB).
const TABLE_BELOW: u64 = 1 << 12;

/// Pairs of rounds: each digit is changed this many times. With one pair and a half the distances of successive numbers
/// are visibly uneven, with two still measurably at the smallest bounds, with two and a half no longer; three leave a
/// margin.
const ROUND_PAIRS: usize = 3;

/// A permutation of `0..bound`.
#[derive(Debug)]
pub(super) struct Permutation {
    bound: u64,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Table(Vec<u16>),
    Feistel(Feistel),
}

/// How far a walk through the permutation has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// Numbers handed out.
    done: u64,
    /// `done` as the pair of digits that the network takes; carried along since dividing is slow.
    left: u64,
    right: u64,
}

impl Permutation {
    pub(super) fn new(bound: u64, key: u64) -> Self {
        let order = if bound < TABLE_BELOW {
            Order::Table(Vec::with_capacity(bound as usize))
        } else {
            Order::Feistel(Feistel::new(bound))
        };
        let mut permutation = Permutation { bound, order };
        permutation.rekey(key);
        permutation
    }

    /// Changes the order; cursors must begin again. No allocation.
    pub(super) fn rekey(&mut self, key: u64) {
        let mut rng = generator(key);
        match &mut self.order {
            Order::Table(table) => {
                table.clear();
                table.extend(0..self.bound as u16);
                for last in (1..table.len()).rev() {
                    table.swap(last, below(&mut rng, last as u64 + 1) as usize);
                }
            }
            Order::Feistel(network) => network.keys.fill_with(|| rng.next_u64()),
        }
    }

    /// Hands the next numbers, at most `count`, to `emit`, some at a time with the place of the first of them, from 0;
    /// returns how many there were.
    #[inline]
    pub(super) fn walk(&self, cursor: &mut Cursor, count: usize, mut emit: impl FnMut(usize, &[u64])) -> usize {
        let left = self.bound - cursor.done;
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        match &self.order {
            Order::Table(table) => {
                let first = cursor.done as usize;
                for (place, &value) in table[first..first + count].iter().enumerate() {
                    emit(place, &[u64::from(value)]);
                }
            }
            Order::Feistel(network) => {
                let mut digits = (cursor.left, cursor.right);
                let wide = if network.unit.is_wide() { count - count % LANES } else { 0 };
                if wide > 0 {
                    digits = network.unit.run(
                        #[inline(always)]
                        || network.walk_lanes(digits, wide, &mut emit),
                    );
                }
                for place in wide..count {
                    emit(place, &[network.permute(digits.0, digits.1)]);
                    digits = network.after(digits, 1);
                }
                (cursor.left, cursor.right) = digits;
            }
        }
        cursor.done += count as u64;
        count
    }

    /// Where this number, below the bound, goes.
    pub(super) fn at(&self, number: u64) -> u64 {
        match &self.order {
            Order::Table(table) => table.get(number as usize).map_or(0, |&value| value.into()),
            Order::Feistel(network) => network.permute(number / network.right_modulus, number % network.right_modulus),
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.order {
            Order::Table(table) => 2 * table.capacity() as u64,
            Order::Feistel(_) => 0,
        }
    }
}

/// The network. Both moduli are below 2^32 for any bound of at most 2^63.
#[derive(Debug)]
struct Feistel {
    bound: u64,
    left_modulus: u64,
    right_modulus: u64,
    keys: [u64; 2 * ROUND_PAIRS],
    unit: VectorUnit,
}

/// Numbers that go through the network side by side where the processor has a unit for that; not more than a digit's
/// modulus.
const LANES: usize = 8;

impl Feistel {
    fn new(bound: u64) -> Self {
        let root = bound.isqrt();
        let right_modulus = if root * root == bound { root } else { root + 1 };
        Feistel {
            bound,
            left_modulus: bound.div_ceil(right_modulus),
            right_modulus,
            keys: [0; 2 * ROUND_PAIRS],
            unit: VectorUnit::detect(),
        }
    }

    /// The digits so many numbers later, at most [`LANES`].
    #[inline(always)]
    fn after(&self, (left, right): (u64, u64), numbers: u64) -> (u64, u64) {
        let right = right.wrapping_add(numbers);
        if right < self.right_modulus {
            (left, right)
        } else {
            (left.wrapping_add(1), right.wrapping_sub(self.right_modulus))
        }
    }

    /// Hands `count` numbers, a multiple of [`LANES`], from these digits on to `emit`; returns the digits after them.
    #[inline(always)]
    fn walk_lanes(&self, mut digits: (u64, u64), count: usize, emit: &mut impl FnMut(usize, &[u64])) -> (u64, u64) {
        let mut place = 0;
        while place < count {
            let (mut left, mut right) = ([digits.0; LANES], [digits.1; LANES]);
            for lane in 0..LANES {
                (left[lane], right[lane]) = self.after(digits, lane as u64);
            }
            let start = (left, right);
            for pair in self.keys.chunks_exact(2) {
                for lane in 0..LANES {
                    let by = round(right[lane], pair[0], self.left_modulus);
                    left[lane] = add_modulo(left[lane], by, self.left_modulus);
                }
                for lane in 0..LANES {
                    let by = round(left[lane], pair[1], self.right_modulus);
                    right[lane] = add_modulo(right[lane], by, self.right_modulus);
                }
            }
            let mut numbers = [0; LANES];
            for lane in 0..LANES {
                numbers[lane] = left[lane].wrapping_mul(self.right_modulus).wrapping_add(right[lane]);
            }
            // Almost never is one outside.
            let outside = numbers.iter().fold(false, |outside, &number| outside | (number >= self.bound));
            if outside {
                for (number, (left, right)) in numbers.iter_mut().zip(start.0.into_iter().zip(start.1)) {
                    *number = self.permute(left, right);
                }
            }
            emit(place, &numbers);
            digits = self.after(digits, LANES as u64);
            place += LANES;
        }
        digits
    }

    #[inline]
    fn permute(&self, mut left: u64, mut right: u64) -> u64 {
        loop {
            for pair in self.keys.chunks_exact(2) {
                left = add_modulo(left, round(right, pair[0], self.left_modulus), self.left_modulus);
                right = add_modulo(right, round(left, pair[1], self.right_modulus), self.right_modulus);
            }
            let value = left.wrapping_mul(self.right_modulus).wrapping_add(right);
            if value < self.bound {
                return value;
            }
        }
    }
}

/// A keyed hash of a digit, scaled to `0..modulus`. Multiplying alone would give evenly spaced values for consecutive
/// digits; the exclusive or of the product's halves breaks the spacing.
#[inline]
fn round(digit: u64, key: u64, modulus: u64) -> u64 {
    let product = (digit ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (product ^ (product >> 32)) & u64::from(u32::MAX);
    // Both are below 2^32: a vector unit multiplies such faster.
    (hash * u64::from(modulus as u32)) >> 32
}

/// `a + b` reduced, for `a` and `b` below a modulus of less than 2^32; without a branch, since none could be predicted.
#[inline]
fn add_modulo(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a.wrapping_add(b);
    let reduced = sum.wrapping_sub(modulus);
    if (reduced as i64) < 0 { sum } else { reduced }
}

/// The permutation's key for pass number `pass`.
pub(super) fn pass_key(key: u64, pass: u64) -> u64 {
    derive(key, pass)
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::Config;

    use super::*;

    fn order(permutation: &Permutation) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut cursor = Cursor::default();
        // Batches of changing length, so that a walk is seen to go on where it stopped.
        let mut batch = 1;
        while permutation.walk(&mut cursor, batch, |_, some| numbers.extend_from_slice(some)) == batch {
            batch = batch % 64 + 7;
        }
        numbers
    }

    fn assert_covers(bound: u64, key: u64) {
        let mut numbers = order(&Permutation::new(bound, key));
        assert_eq!(numbers.len() as u64, bound, "bound {bound}, key {key}");
        numbers.sort_unstable();
        assert!(numbers.iter().enumerate().all(|(place, &number)| place as u64 == number), "bound {bound}, key {key}");
    }

    #[test]
    fn every_number_comes_once_whatever_the_bound() {
        let around = (1..=14).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]);
        let primes = [11, 101, 4093, 4099, 10_007];
        let squares = [64 * 64, 65 * 65, 65 * 65 - 1, 65 * 65 + 1, 65 * 64];
        for bound in [0, 1, 2, 3, 5, 7, 100].into_iter().chain(around).chain(primes).chain(squares) {
            assert_covers(bound, 1);
            assert_covers(bound, u64::MAX - bound);
        }
    }

    proptest::proptest! {
        #![proptest_config(Config { cases: 32, failure_persistence: None, ..Default::default() })]
        #[test]
        fn every_number_comes_once_for_drawn_bounds_and_keys(bound in 0u64..20_000, key: u64) {
            assert_covers(bound, key);
        }
    }

    /// The network run backwards: proof of uniqueness for bounds too large to walk.
    fn invert(network: &Feistel, value: u64) -> u64 {
        let mut value = value;
        loop {
            let (mut left, mut right) = (value / network.right_modulus, value % network.right_modulus);
            for pair in network.keys.chunks_exact(2).rev() {
                let undo = |digit: u64, by: u64, modulus: u64| (digit + modulus - by) % modulus;
                right = undo(right, round(left, pair[1], network.right_modulus), network.right_modulus);
                left = undo(left, round(right, pair[0], network.left_modulus), network.left_modulus);
            }
            value = left * network.right_modulus + right;
            if value < network.bound {
                return value;
            }
        }
    }

    #[test]
    fn bounds_up_to_two_to_the_63_are_permuted() {
        for bound in [(1 << 32) + 15, (1 << 45) - 1, (1 << 53) + 1, (1 << 63) - 1, 1 << 63] {
            let permutation = Permutation::new(bound, bound ^ 5);
            let Order::Feistel(network) = &permutation.order else { panic!("a table for {bound}") };
            let mut cursor = Cursor::default();
            let mut expected = 0;
            let count = permutation.walk(&mut cursor, 20_000, |_, some| {
                for &number in some {
                    assert!(number < bound);
                    assert_eq!(invert(network, number), expected);
                    expected += 1;
                }
            });
            assert_eq!(count, 20_000);
            // The last number has a place too, and the walk ends after it.
            let last = bound - 1;
            let digits = (last / network.right_modulus, last % network.right_modulus);
            let mut end = Cursor { done: last, left: digits.0, right: digits.1 };
            assert_eq!(permutation.walk(&mut end, 5, |_, some| assert_eq!(invert(network, some[0]), last)), 1);
        }
    }

    /// Side by side or one by one, and wherever a walk is cut: the same order. The smallest bound has the most pairs
    /// outside.
    #[test]
    fn a_vector_unit_changes_nothing() {
        for bound in [4096, 4097, 4160, 5000, 65_537, (1 << 40) + 1, 1 << 63] {
            let mut permutation = Permutation::new(bound, bound + 1);
            let walk = |permutation: &Permutation, batch: usize| {
                let (mut numbers, mut cursor) = (Vec::new(), Cursor::default());
                while numbers.len() < 20_000
                    && permutation.walk(&mut cursor, batch, |place, some| {
                        assert_eq!(place, numbers.len() % batch);
                        numbers.extend_from_slice(some);
                    }) == batch
                {}
                numbers.truncate(4096);
                numbers
            };
            let together = [64, 8, 13, 1].map(|batch| walk(&permutation, batch));
            if let Order::Feistel(network) = &mut permutation.order {
                network.unit = VectorUnit::none();
            }
            let alone = walk(&permutation, 64);
            assert!(together.iter().all(|numbers| *numbers == alone), "{bound}");
        }
    }

    #[test]
    fn few_pairs_lie_outside_so_walking_is_rare() {
        for bound in [4096u64, 4097, 5000, 65_537, (1 << 40) + 1] {
            let network = Feistel::new(bound);
            let outside = network.left_modulus * network.right_modulus - bound;
            assert!(outside < network.right_modulus, "{outside} of {bound}");
        }
    }

    #[test]
    fn another_key_gives_another_order_and_the_same_key_the_same() {
        for bound in [1000, 10_000] {
            let mut permutation = Permutation::new(bound, 1);
            let first = order(&permutation);
            permutation.rekey(2);
            let second = order(&permutation);
            // Two random orders agree in about one place.
            assert!(first.iter().zip(&second).filter(|(a, b)| a == b).count() < 10);
            permutation.rekey(1);
            assert_eq!(order(&permutation), first);
        }
    }
}
