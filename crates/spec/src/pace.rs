//! What a job is held to in time: how I/Os arrive, limits of latency, when performance counts as steady.

use crate::job::PerDirection;

/// `rate_process`: how I/Os arrive under a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// As a Poisson process: the gaps are exponential, their mean is that of the even spacing.
    Poisson,
}

/// `rate` and its kin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// `rate`, bytes per second.
    pub bytes: PerDirection<Option<u64>>,
    /// `rate_iops`.
    pub iops: PerDirection<Option<u64>>,
    /// `rate_min`, bytes per second: below it the job fails.
    pub min_bytes: PerDirection<Option<u64>>,
    /// `rate_iops_min`.
    pub min_iops: PerDirection<Option<u64>>,
    /// `rate_cycle`, milliseconds: the window over which the lowest rates are judged.
    pub cycle_ms: u32,
    /// `rate_process`.
    pub process: RateProcess,
    /// `rate_ignore_thinktime`: what a pause cost is not caught up on.
    pub ignores_think: bool,
}

impl Default for Rates {
    fn default() -> Self {
        let none = PerDirection::all(None);
        Rates {
            bytes: none,
            iops: none,
            min_bytes: none,
            min_iops: none,
            cycle_ms: 1000,
            process: RateProcess::Linear,
            ignores_think: false,
        }
    }
}

/// `thinktime` and its kin: pauses between I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkTime {
    /// `thinktime`, nanoseconds; 0 = no pauses.
    pub pause_ns: u64,
    /// `thinktime_spin`: so much of a pause is spent spinning, nanoseconds.
    pub spin_ns: u64,
    /// `thinktime_blocks`; `u64::MAX` when `thinktime_iotime` alone says when to pause.
    pub blocks: u64,
    /// `thinktime_blocks_type`.
    pub count: ThinkCount,
    /// `thinktime_iotime`, nanoseconds: pause after so much time of I/O (0 = never).
    pub io_ns: u64,
    /// `thinkcycles`: cycles burned before each I/O but the first.
    pub cycles: u32,
}

impl Default for ThinkTime {
    fn default() -> Self {
        ThinkTime { pause_ns: 0, spin_ns: 0, blocks: 1, count: ThinkCount::Complete, io_ns: 0, cycles: 0 }
    }
}

/// `thinktime_blocks_type`: which I/Os count towards the next pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkCount {
    /// Those completed.
    #[default]
    Complete,
    /// Those issued.
    Issue,
}

/// `latency_target` and its kin: a search for the largest depth that keeps a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySearch {
    /// `latency_target`, nanoseconds; 0 = no search.
    pub target_ns: u64,
    /// `latency_window`, nanoseconds: each depth is judged by the I/Os of so much time.
    pub window_ns: u64,
    /// `latency_percentile`: the share of I/Os that must keep the target, percent.
    pub percentile: f64,
    /// `latency_run`: go on at the depth that was found.
    pub keep_running: bool,
}

impl Default for LatencySearch {
    fn default() -> Self {
        LatencySearch { target_ns: 0, window_ns: 0, percentile: 100.0, keep_running: false }
    }
}

/// What steady state is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyMeasure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

/// `steadystate=criterion:limit[%]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyCriterion {
    /// Of which series.
    pub measure: SteadyMeasure,
    /// The slope of its least-squares line counts; else the largest deviation from its mean.
    pub slope: bool,
    /// Performance is steady below this: I/Os per second, bytes per second or nanoseconds (for a slope, more of them
    /// with each sample), or percent of the series' mean.
    pub limit: f64,
    /// The limit is a percentage.
    pub percent: bool,
}

impl SteadyCriterion {
    /// fio's default, `iops_slope:0.01%`.
    pub const DEFAULT: SteadyCriterion =
        SteadyCriterion { measure: SteadyMeasure::Iops, slope: true, limit: 0.01, percent: true };

    /// The word before the colon.
    pub fn word(&self) -> &'static str {
        match (self.measure, self.slope) {
            (SteadyMeasure::Iops, false) => "iops",
            (SteadyMeasure::Iops, true) => "iops_slope",
            (SteadyMeasure::Bandwidth, false) => "bw",
            (SteadyMeasure::Bandwidth, true) => "bw_slope",
            (SteadyMeasure::Latency, false) => "lat",
            (SteadyMeasure::Latency, true) => "lat_slope",
        }
    }

    /// The criterion that a word selects, with its limit.
    pub fn new(word: &str, limit: f64, percent: bool) -> Option<Self> {
        let (series, slope) = match word.strip_suffix("_slope") {
            Some(series) => (series, true),
            None => (word, false),
        };
        let measure = match series {
            "iops" => SteadyMeasure::Iops,
            "bw" => SteadyMeasure::Bandwidth,
            "lat" => SteadyMeasure::Latency,
            _ => return None,
        };
        Some(SteadyCriterion { measure, slope, limit, percent })
    }
}

/// `steadystate` and its kin: the job ends when its performance is steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// `steadystate`.
    pub criterion: SteadyCriterion,
    /// `steadystate_duration`, nanoseconds: the window that is judged; 0 = off.
    pub duration_ns: u64,
    /// `steadystate_ramp_time`, nanoseconds: before it nothing is sampled.
    pub ramp_ns: u64,
    /// `steadystate_check_interval`, nanoseconds: a sample is taken and the window judged so often.
    pub interval_ns: u64,
}

impl Default for SteadyState {
    fn default() -> Self {
        SteadyState { criterion: SteadyCriterion::DEFAULT, duration_ns: 0, ramp_ns: 0, interval_ns: 1_000_000_000 }
    }
}

impl SteadyState {
    /// Samples in the window, at least 1.
    pub fn samples(&self) -> usize {
        let samples = self.duration_ns.div_ceil(self.interval_ns.max(1)).max(1);
        usize::try_from(samples).unwrap_or(usize::MAX)
    }
}
