//! Count, sum, sum of squares and extremes of integers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exact moments of a set of `u64`; merging is exact too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// Smallest; 0 when there is none.
    pub min: u64,
    /// Largest; 0 when there is none.
    pub max: u64,
    /// Sum.
    pub sum: u128,
    /// Sum of squares.
    pub sum_squares: u128,
}
