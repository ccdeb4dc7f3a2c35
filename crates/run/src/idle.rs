//! How idle the CPUs are (`--idle-prof`): the kernel's counts before and after, and how long a unit of work takes.

use std::hint::black_box;
use std::io;

use iostrata_os::clock::monotonic_ns;
use iostrata_os::{host, thread};
use iostrata_result::{CpuIdle, CpuIdleness};

/// Words that a unit of work mixes.
const UNIT_WORDS: usize = 8192;
/// Units of which the mean is taken.
const UNITS: u64 = 16;

/// CPUs under watch.
pub(crate) struct IdleWatch {
    per_cpu: bool,
    start_ns: u64,
    before: Vec<(u32, u64)>,
    units_ns: Vec<u64>,
}

impl IdleWatch {
    /// Calibrates, then begins to watch. `per_cpu`: each CPU is shown besides all together.
    pub(crate) fn begin(per_cpu: bool) -> io::Result<IdleWatch> {
        let units_ns = unit_work_ns()?;
        Ok(IdleWatch { per_cpu, before: host::cpu_idle_ns()?, start_ns: monotonic_ns(), units_ns })
    }

    /// What was counted since.
    pub(crate) fn read(&self) -> Option<CpuIdleness> {
        let window_ns = monotonic_ns().saturating_sub(self.start_ns);
        let after = host::cpu_idle_ns().ok()?;
        let before = |cpu| self.before.iter().find(|(known, _)| *known == cpu).map(|(_, idle_ns)| *idle_ns);
        // The kernel counts in ticks, which may overlap the ends of the window.
        let cpus = after.iter().filter_map(|&(cpu, idle_ns)| {
            Some(CpuIdle { cpu, idle_ns: idle_ns.saturating_sub(before(cpu)?).min(window_ns) })
        });
        let (cpus, units_ns) = (cpus.collect(), self.units_ns.clone());
        Some(CpuIdleness { per_cpu: self.per_cpu, window_ns, cpus, units_ns })
    }
}

/// How long a unit of work takes on each CPU that this process may use, nanoseconds.
///
/// # Errors
///
/// No thread could be started, or placed on its CPU.
pub fn unit_work_ns() -> io::Result<Vec<u64>> {
    let on_cpu = |cpu: u32| {
        let work = move || {
            thread::pin_current(&[cpu])?;
            let mut words: Vec<u64> = (0..UNIT_WORDS as u64).collect();
            unit(&mut words);
            let start_ns = monotonic_ns();
            (0..UNITS).for_each(|_| unit(&mut words));
            Ok((monotonic_ns() - start_ns) / UNITS)
        };
        let started = std::thread::Builder::new().name("unit".into()).spawn(work)?;
        started.join().unwrap_or_else(|_| Err(io::Error::other("the work of a unit ended early")))
    };
    thread::allowed_cpus().into_iter().map(on_cpu).collect()
}

fn unit(words: &mut [u64]) {
    for index in 1..words.len() {
        words[index] = words[index].rotate_left(7) ^ words[index - 1].wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(words);
}
