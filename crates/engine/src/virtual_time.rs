//! Virtual time for `sim` runs.
