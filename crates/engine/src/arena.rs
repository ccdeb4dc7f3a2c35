//! The memory that requests in flight point into.
