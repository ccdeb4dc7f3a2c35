//! Histograms, moments and time series: pure, integer, mergeable. Nothing here reads a clock or does I/O.
//!
//! Two halves:
//!
//! * **live** recorders ([`LiveLatency`], [`LiveBuckets`], [`LiveCounter`] …), written by exactly one thread with
//!   plain loads and stores and readable by any other while they run; a [`SeqLock`] makes what a reader copies belong
//!   together;
//! * **finished** summaries ([`Moments`], [`HistogramBins`], [`LatencyBuckets`], [`LatencySummary`]), each a
//!   commutative monoid: `Default` is the neutral element and `merge` the operation, so that parts may be joined in any
//!   order.
#![deny(missing_docs)]

pub mod buckets;
pub mod decimal;
pub mod histogram;
pub mod latency;
pub mod live;
pub mod moments;
pub mod seqlock;

pub use buckets::{LatencyBuckets, LiveBuckets};
pub use histogram::{HistogramBins, LiveHistogram, NotAHistogram};
pub use latency::{LatencySummary, LiveLatency};
pub use live::LiveCounter;
pub use moments::{LiveMoments, Moments};
pub use seqlock::SeqLock;
