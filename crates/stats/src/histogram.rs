//! fio's histogram layout carried to 64 bits: 59 groups of 64 bins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finished histogram: the non-empty bins only, ascending, as `(bin index, count)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramBins(pub Vec<(u16, u64)>);
