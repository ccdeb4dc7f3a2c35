//! A keyed permutation of the numbers below a bound: every block once, in random order, without remembering any.
//!
//! Bounds of at least [`TABLE_BELOW`] use a Feistel network over pairs (left, right) of digits with moduli `a · b ≥ n`,
//! as near to n as can be: each round adds to one digit a keyed hash of the other, which can be undone, so the network
//! permutes the pairs; a pair that stands for a number outside goes through the network again until one inside comes
//! out (cycle-walking; Black and Rogaway 2002). With `b = ⌈√n⌉` and `a = ⌈n/b⌉` fewer than one pair in √n is outside.
//! Smaller bounds, where so few rounds over so short digits would show, use a shuffled table.

use rand_core::Rng;

use super::random::{below, derive, generator};

/// Bounds below this are permuted by a shuffled table (at most 8 KiB).
const TABLE_BELOW: u64 = 1 << 12;

/// Pairs of rounds: each digit is changed this many times.
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

    /// The number at the cursor, which moves on; None after the last.
    #[inline]
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<u64> {
        let mut number = None;
        self.walk(cursor, 1, |_, value| number = Some(value));
        number
    }

    /// Hands the next numbers, at most `count`, to `emit` with their place from 0; returns how many there were.
    #[inline]
    pub(super) fn walk(&self, cursor: &mut Cursor, count: usize, mut emit: impl FnMut(usize, u64)) -> usize {
        let left = self.bound - cursor.done;
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        match &self.order {
            Order::Table(table) => {
                let first = cursor.done as usize;
                for (place, &value) in table[first..first + count].iter().enumerate() {
                    emit(place, u64::from(value));
                }
            }
            Order::Feistel(network) => {
                for place in 0..count {
                    emit(place, network.permute(cursor.left, cursor.right));
                    cursor.right += 1;
                    if cursor.right == network.right_modulus {
                        cursor.right = 0;
                        cursor.left += 1;
                    }
                }
            }
        }
        cursor.done += count as u64;
        count
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.order {
            Order::Table(table) => 2 * table.capacity() as u64,
            Order::Feistel(_) => 0,
        }
    }
}

/// The network. Both moduli are at most 2^32 for any bound of at most 2^63.
#[derive(Debug)]
struct Feistel {
    bound: u64,
    left_modulus: u64,
    right_modulus: u64,
    keys: [u64; 2 * ROUND_PAIRS],
}

impl Feistel {
    fn new(bound: u64) -> Self {
        let root = bound.isqrt();
        let right_modulus = if root * root == bound { root } else { root + 1 };
        Feistel { bound, left_modulus: bound.div_ceil(right_modulus), right_modulus, keys: [0; 2 * ROUND_PAIRS] }
    }

    #[inline]
    fn permute(&self, mut left: u64, mut right: u64) -> u64 {
        loop {
            for pair in self.keys.chunks_exact(2) {
                left = add_modulo(left, round(right, pair[0], self.left_modulus), self.left_modulus);
                right = add_modulo(right, round(left, pair[1], self.right_modulus), self.right_modulus);
            }
            let value = left * self.right_modulus + right;
            if value < self.bound {
                return value;
            }
        }
    }
}

/// A keyed hash of a digit, scaled to `0..modulus`. Multiply, fold, multiply: the fold makes it non-linear, so that
/// consecutive digits do not give evenly spaced values.
#[inline]
fn round(digit: u64, key: u64, modulus: u64) -> u64 {
    let z = (digit ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 32) * modulus) >> 32
}

#[inline]
fn add_modulo(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a + b;
    if sum >= modulus { sum - modulus } else { sum }
}

/// The permutation's key for pass number `pass`.
pub(super) fn pass_key(key: u64, pass: u64) -> u64 {
    derive(key, pass)
}
