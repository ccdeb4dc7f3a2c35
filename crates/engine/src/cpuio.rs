//! `cpuio`: no I/O at all, but work for a CPU: a share of the time it is burned, in pieces of `cpuchunks`, and the rest
//! the job sleeps.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iostrata_os::clock::monotonic_ns;
use iostrata_spec::{CpuLoad, CpuMode};

use crate::api::{Availability, Caps, EngineConfig, EngineError, EngineSpec, Instance, Step, Task};
use crate::random::Random;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "cpuio",
    caps: Caps { diskless: true, moves_data: false, task: true, ..Caps::SYNCHRONOUS },
    doc: "burns cpuload percent of a CPU in pieces of cpuchunks; each piece is an I/O of no bytes",
    availability: || Availability::Here,
    make,
};

/// Numbers that are sorted in one go: a millisecond or less.
const SORTED: usize = 8192;
/// Turns of the empty loop between two looks at the time.
const SPINS: u32 = 1000;

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let load = &config.options.cpu;
    if load.percent == 0 {
        let text = "cpuload= is missing: how many percent of a CPU it is to burn, from 1 to 100";
        return Err(EngineError::lacking(text));
    }
    if load.chunk_ns == 0 {
        return Err(EngineError::lacking("cpuchunks=0 is no time to burn a CPU in"));
    }
    Ok(Instance::Task(Box::new(Burner { load: load.clone(), random: Random::new(config.seed), numbers: Vec::new() })))
}

struct Burner {
    load: CpuLoad,
    random: Random,
    numbers: Vec<u64>,
}

impl Task for Burner {
    fn step(&mut self, stop: &AtomicBool, until_ns: u64) -> Result<Step, EngineError> {
        let end_ns = monotonic_ns().saturating_add(self.load.chunk_ns).min(until_ns);
        while monotonic_ns() < end_ns && !stop.load(Relaxed) {
            match self.load.mode {
                CpuMode::Noop => (0..SPINS).for_each(|turn| _ = black_box(turn)),
                CpuMode::Qsort => self.sort(),
            }
        }
        Ok(Step::Done { rest_ns: rest_ns(self.load.chunk_ns, self.load.percent) })
    }
}

impl Burner {
    fn sort(&mut self) {
        self.numbers.clear();
        self.numbers.extend((0..SORTED).map(|_| self.random.next()));
        self.numbers.sort_unstable();
        black_box(&self.numbers);
    }
}

/// How long a job sleeps after so much work, to work for this many percent of the time.
fn rest_ns(work_ns: u64, percent: u32) -> u64 {
    let idle = 100_u32.saturating_sub(percent);
    u64::try_from(u128::from(work_ns) * u128::from(idle) / u128::from(percent.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_rest_make_the_load() {
        for (percent, rest) in [(100, 0), (50, 20_000), (10, 180_000), (1, 1_980_000), (80, 5000)] {
            assert_eq!(rest_ns(20_000, percent), rest);
        }
        assert_eq!(rest_ns(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn a_piece_lasts_as_long_as_it_should_unless_it_is_ended() {
        for mode in [CpuMode::Noop, CpuMode::Qsort] {
            let load = CpuLoad { percent: 50, chunk_ns: 3_000_000, mode, ..CpuLoad::default() };
            let mut burner = Burner { load, random: Random::new(1), numbers: Vec::new() };
            let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
            let start_ns = monotonic_ns();
            assert!(matches!(burner.step(&go, u64::MAX), Ok(Step::Done { rest_ns: 3_000_000 })));
            assert!(monotonic_ns() - start_ns >= 3_000_000, "{mode:?}");
            burner.load.chunk_ns = u64::MAX;
            assert!(burner.step(&stop, u64::MAX).is_ok() && burner.step(&go, start_ns).is_ok(), "they came back");
        }
    }
}
