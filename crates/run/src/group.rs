//! What the workers of a reporting group decide together: the end of a ramp by size, and steady state.
//!
//! There is no thread for it: whichever worker of the group comes first to a moment at which something is to be
//! decided does it for all. So it happens in virtual time too, and at the same moment in every run.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use iostrata_result::derive::Steadiness;
use iostrata_result::{SteadyMeasure, SteadySample, SteadyState};
use iostrata_spec::{Job, SteadyMeasure as Measure};

use crate::live::Live;
use crate::plan::Plan;

/// Workers that are judged together: those of a group with `group_reporting`, else one alone.
pub(crate) struct Group {
    members: Vec<Arc<Live>>,
    ramp_bytes: u64,
    ramp_over: AtomicBool,
    steady: Option<Steady>,
    /// Tells the coordinator that workers were told to stop.
    notify: Box<dyn Fn() + Send + Sync>,
}

impl Group {
    /// The groups of all workers that need one.
    pub(crate) fn all(
        plan: &Plan,
        lives: &[Arc<Live>],
        notify: impl Fn() + Send + Sync + Copy + 'static,
    ) -> Vec<Option<Arc<Group>>> {
        // The members of each reporting group; a worker that is judged alone is in none.
        let mut together: HashMap<u32, Vec<usize>> = HashMap::new();
        let joins = |index: usize| plan.workers[index].job.reporting.group;
        for index in (0..lives.len()).filter(|&index| joins(index)) {
            together.entry(plan.workers[index].group).or_default().push(index);
        }
        let make = |members: &[usize]| {
            let jobs = || members.iter().map(|&member| &*plan.workers[member].job);
            let ramp_bytes = jobs().map(|job| job.ramp_bytes).max().unwrap_or(0);
            let steady = jobs().find(|job| job.steady.duration_ns > 0).map(Steady::new);
            (ramp_bytes > 0 || steady.is_some()).then(|| {
                Arc::new(Group {
                    members: members.iter().map(|&member| Arc::clone(&lives[member])).collect(),
                    ramp_bytes,
                    ramp_over: AtomicBool::new(ramp_bytes == 0),
                    steady,
                    notify: Box::new(notify),
                })
            })
        };
        let mut groups: Vec<_> =
            (0..lives.len()).map(|index| if joins(index) { None } else { make(&[index]) }).collect();
        for members in together.values() {
            let group = make(members);
            members.iter().for_each(|&member| groups[member].clone_from(&group));
        }
        groups
    }

    /// Whether the members have moved as many bytes as `ramp_size` says. Once over it stays so: each member forgets
    /// its own part of them then.
    pub(crate) fn ramp_is_over(&self) -> bool {
        if self.ramp_over.load(Relaxed) {
            return true;
        }
        let moved: u64 = self.members.iter().map(|live| Counts::of(live).bytes).sum();
        let over = moved >= self.ramp_bytes;
        self.ramp_over.store(over, Relaxed);
        over
    }

    /// A member begins to measure; the first of them starts the clock of steady state.
    pub(crate) fn measuring_begins(&self, now_ns: u64) {
        if let Some(steady) = &self.steady {
            let _ = steady.next_ns.compare_exchange(0, now_ns.saturating_add(steady.ramp_ns), Relaxed, Relaxed);
        }
    }

    /// When a member has to look next; `u64::MAX`: never.
    pub(crate) fn next_look_ns(&self) -> u64 {
        match self.steady.as_ref().map(|steady| steady.next_ns.load(Relaxed)) {
            None | Some(0) => u64::MAX,
            Some(next_ns) => next_ns,
        }
    }

    /// Takes the samples that are due, and stops all members once performance is steady.
    pub(crate) fn look(&self, now_ns: u64) {
        let Some(steady) = self.steady.as_ref().filter(|steady| now_ns >= steady.next_ns.load(Relaxed)) else { return };
        if steady.sample(&self.members, now_ns) {
            self.members.iter().for_each(|live| live.stop.store(true, Relaxed));
            (self.notify)();
        }
    }

    /// What was seen of steady state.
    pub(crate) fn steady_state(&self) -> Option<SteadyState> {
        self.steady.as_ref().map(|steady| steady.lock().state())
    }
}

/// A search for steady state.
struct Steady {
    ramp_ns: u64,
    interval_ns: u64,
    /// When the next sample is due: 0 before any member measures, `u64::MAX` after the end.
    next_ns: AtomicU64,
    window: Mutex<Window>,
}

/// The samples of the last window.
struct Window {
    /// The criterion; its list of samples is empty.
    asked: SteadyState,
    /// What each member had done at the last sample; empty before the first.
    last: Vec<Counts>,
    samples: VecDeque<SteadySample>,
}

impl Window {
    fn state(&self) -> SteadyState {
        SteadyState { samples: self.samples.iter().copied().collect(), ..self.asked.clone() }
    }
}

impl Steady {
    fn new(job: &Job) -> Self {
        let steady = job.steady;
        let asked = SteadyState {
            measure: match steady.criterion.measure {
                Measure::Iops => SteadyMeasure::Iops,
                Measure::Bandwidth => SteadyMeasure::Bandwidth,
                Measure::Latency => SteadyMeasure::Latency,
            },
            slope: steady.criterion.slope,
            limit: steady.criterion.limit,
            percent: steady.criterion.percent,
            duration_ns: steady.duration_ns,
            window: steady.samples() as u64,
            attained: false,
            samples: Vec::new(),
        };
        Steady {
            ramp_ns: steady.ramp_ns,
            interval_ns: steady.interval_ns,
            next_ns: AtomicU64::new(0),
            window: Mutex::new(Window { asked, last: Vec::new(), samples: VecDeque::new() }),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all samples due by `now_ns`; whether performance is steady now. What was done since the last look came
    /// in the first of them.
    fn sample(&self, members: &[Arc<Live>], now_ns: u64) -> bool {
        let mut window = self.lock();
        let mut next_ns = self.next_ns.load(Relaxed);
        while next_ns <= now_ns {
            let begins = window.last.is_empty();
            let counts: Vec<Counts> = members.iter().map(|live| Counts::of(live)).collect();
            if !begins {
                let mut sample = SteadySample { elapsed_ns: self.interval_ns, ..SteadySample::default() };
                for (now, before) in counts.iter().zip(&window.last) {
                    now.add_since(*before, &mut sample);
                }
                window.samples.push_back(sample);
                if window.samples.len() as u64 > window.asked.window {
                    window.samples.pop_front();
                }
            }
            window.last = counts;
            if !begins && Steadiness::of(&window.state()).steady {
                window.asked.attained = true;
                self.next_ns.store(u64::MAX, Relaxed);
                return true;
            }
            next_ns = next_ns.saturating_add(self.interval_ns);
        }
        self.next_ns.store(next_ns, Relaxed);
        false
    }
}

/// What one worker has done since it began to measure.
#[derive(Clone, Copy, Default)]
struct Counts {
    ios: u64,
    bytes: u64,
    clat_sum_ns: u64,
}

impl Counts {
    fn of(live: &Live) -> Self {
        live.lock.read(|| {
            live.directions().iter().flatten().fold(Counts::default(), |all, direction| Counts {
                ios: all.ios + direction.ios.get(),
                bytes: all.bytes + direction.bytes.get(),
                clat_sum_ns: all.clat_sum_ns.saturating_add(direction.clat.moments.snapshot().sum as u64),
            })
        })
    }

    /// A worker that has fewer than before began to measure in between.
    fn add_since(self, before: Counts, sample: &mut SteadySample) {
        let before = if self.ios < before.ios { Counts::default() } else { before };
        sample.ios += self.ios - before.ios;
        sample.bytes += self.bytes.saturating_sub(before.bytes);
        sample.clat_sum_ns += self.clat_sum_ns.saturating_sub(before.clat_sum_ns);
    }
}
