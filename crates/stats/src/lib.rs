//! Histograms, moments and time series: pure, integer, mergeable. Nothing here reads a clock.

pub mod histogram;
pub mod moments;

pub use histogram::HistogramBins;
pub use moments::Moments;
