//! How idle the CPUs were, in percent.

use crate::model::CpuIdleness;

/// What is shown of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idleness {
    /// All CPUs together, percent.
    pub system_percent: f64,
    /// Each CPU, percent.
    pub cpus: Vec<(u32, f64)>,
    /// A unit of work, mean over the CPUs, microseconds.
    pub unit_mean_us: f64,
    /// Its standard deviation over the CPUs, microseconds.
    pub unit_stddev_us: f64,
}

impl Idleness {
    /// Of the kernel's counts.
    pub fn of(counts: &CpuIdleness) -> Idleness {
        let window = counts.window_ns.max(1) as f64;
        let cpus: Vec<(u32, f64)> =
            counts.cpus.iter().map(|one| (one.cpu, one.idle_ns as f64 * 100.0 / window)).collect();
        let (system_percent, _) = mean_and_deviation(&cpus.iter().map(|(_, percent)| *percent).collect::<Vec<_>>());
        let units: Vec<f64> = counts.units_ns.iter().map(|ns| *ns as f64 / 1000.0).collect();
        let (unit_mean_us, unit_stddev_us) = mean_and_deviation(&units);
        Idleness { system_percent, cpus, unit_mean_us, unit_stddev_us }
    }
}

/// The deviation is that of a sample (n - 1); 0 for a single value.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CpuIdle;

    #[test]
    fn all_together_are_the_mean_of_each() {
        let cpus = vec![CpuIdle { cpu: 0, idle_ns: 250 }, CpuIdle { cpu: 3, idle_ns: 750 }];
        let counts = CpuIdleness { per_cpu: true, window_ns: 1000, cpus, units_ns: vec![1000, 3000] };
        let idle = Idleness::of(&counts);
        assert_eq!((idle.system_percent, idle.cpus), (50.0, vec![(0, 25.0), (3, 75.0)]));
        assert_eq!((idle.unit_mean_us, idle.unit_stddev_us), (2.0, 2_f64.sqrt()));
        assert_eq!(Idleness::of(&CpuIdleness::default()), Idleness::default());
    }
}
