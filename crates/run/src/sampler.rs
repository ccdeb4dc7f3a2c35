//! What the jobs do over time: from time to time the coordinator looks at what their workers count. The workers know
//! nothing of it.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostrata_os::clock::monotonic_ns;
use iostrata_os::thread::thread_usage;
use iostrata_result::{JobTimeline, PointDirection, Timeline, TimelinePoint};
use iostrata_stats::{HistogramBins, LiveLatency};

use crate::execute::VIRTUAL_START_NS;
use crate::live::{Live, LiveDirection};
use crate::plan::{Plan, WorkerPlan};
use crate::worker::Time;

/// The first windows, nanoseconds.
const FIRST_WINDOW_NS: u64 = 100_000_000;
/// With so many windows they are joined in pairs: a page is not wide enough for more.
const MOST_POINTS: usize = 600;
/// Above so many workers, to copy all their histograms would take a good part of a window.
const MOST_WITH_LATENCY: usize = 128;

/// What the jobs of a run do over time. In real time the coordinator looks; in virtual time a look is due when all
/// workers have come to its moment, and they stand still for it.
pub(crate) struct OverTime {
    sampler: Arc<Mutex<Sampler>>,
    virtual_time: bool,
}

impl OverTime {
    /// Of a run whose jobs begin now, or with virtual time.
    pub(crate) fn begin(plan: &Plan, lives: &[Arc<Live>], time: &Time) -> OverTime {
        let Time::Virtual(world) = time else {
            let sampler = Arc::new(Mutex::new(Sampler::new(plan, monotonic_ns())));
            return OverTime { sampler, virtual_time: false };
        };
        let sampler = Sampler::new(plan, VIRTUAL_START_NS);
        let first_ns = sampler.next_ns;
        let sampler = Arc::new(Mutex::new(sampler));
        let (own, lives) = (Arc::clone(&sampler), lives.to_vec());
        world.watch(first_ns, move |now_ns| {
            let mut sampler = lock(&own);
            sampler.look(&lives, now_ns);
            sampler.next_ns
        });
        OverTime { sampler, virtual_time: true }
    }

    /// When the coordinator's next look is due.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.virtual_time { u64::MAX } else { lock(&self.sampler).next_ns }
    }

    /// The coordinator looks, if it is time to.
    pub(crate) fn look(&self, lives: &[Arc<Live>]) {
        if self.virtual_time {
            return;
        }
        let mut sampler = lock(&self.sampler);
        let now_ns = monotonic_ns();
        if now_ns >= sampler.next_ns {
            let before_ns = cpu_ns();
            sampler.look(lives, now_ns);
            sampler.keep_cheap(cpu_ns().saturating_sub(before_ns));
        }
    }

    /// The timeline up to the last look.
    pub(crate) fn so_far(&self) -> Timeline {
        lock(&self.sampler).timeline.clone()
    }

    /// The whole timeline of a run that is over.
    pub(crate) fn whole(&self, lives: &[Arc<Live>], now_ns: u64) -> Timeline {
        let mut sampler = lock(&self.sampler);
        sampler.sample(lives, now_ns);
        sampler.timeline.clone()
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let usage = thread_usage();
    usage.user_ns + usage.system_ns
}

fn lock(sampler: &Mutex<Sampler>) -> MutexGuard<'_, Sampler> {
    sampler.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the workers of a run.
struct Sampler {
    timeline: Timeline,
    jobs: Vec<Sampled>,
    with_latency: bool,
    start_ns: u64,
    next_ns: u64,
}

/// One job, and what its workers had counted at the last look.
struct Sampled {
    index: u32,
    name: String,
    workers: Range<usize>,
    /// Its place in the timeline; `None` before it has begun.
    place: Option<usize>,
    last_ns: u64,
    last: [Option<PointDirection>; 3],
    over: bool,
}

impl Sampler {
    /// Of a run that begins now.
    fn new(plan: &Plan, now_ns: u64) -> Sampler {
        let mut jobs: Vec<Sampled> = Vec::new();
        for (number, worker) in plan.workers.iter().enumerate() {
            match jobs.last_mut() {
                Some(job) if worker.clone > 0 => job.workers.end = number + 1,
                _ => jobs.push(Sampled::new(worker, number)),
            }
        }
        Sampler {
            timeline: Timeline { window_ns: FIRST_WINDOW_NS, jobs: Vec::new() },
            jobs,
            with_latency: plan.workers.len() <= MOST_WITH_LATENCY,
            start_ns: now_ns,
            next_ns: now_ns.saturating_add(FIRST_WINDOW_NS),
        }
    }

    /// Joins windows until looks that cost so much take a hundredth of a processor at most.
    fn keep_cheap(&mut self, look_ns: u64) {
        while look_ns > self.timeline.window_ns / 100 {
            self.timeline.halve();
        }
    }

    /// Looks, if it is time to.
    fn look(&mut self, lives: &[Arc<Live>], now_ns: u64) {
        if now_ns < self.next_ns {
            return;
        }
        self.sample(lives, now_ns);
        if self.timeline.longest() > MOST_POINTS {
            self.timeline.halve();
        }
        // Looks keep to a grid, whenever each of them came: windows of all jobs lie side by side.
        let since_start_ns = now_ns.saturating_sub(self.start_ns);
        let next_ns = (since_start_ns / self.timeline.window_ns + 1).saturating_mul(self.timeline.window_ns);
        self.next_ns = self.start_ns.saturating_add(next_ns);
    }

    fn sample(&mut self, lives: &[Arc<Live>], now_ns: u64) {
        for job in self.jobs.iter_mut().filter(|job| !job.over) {
            let lives = &lives[job.workers.clone()];
            let Some(point) = job.point(lives, self.with_latency, now_ns) else { continue };
            let place = *job.place.get_or_insert_with(|| {
                let name = job.name.clone();
                self.timeline.jobs.push(JobTimeline { index: job.index, job: name, points: Vec::new() });
                self.timeline.jobs.len() - 1
            });
            let since_start = |ns: u64| ns.saturating_sub(self.start_ns);
            let (start_ns, end_ns) = (since_start(point.start_ns), since_start(point.end_ns));
            let point = TimelinePoint { start_ns, end_ns, ..point };
            let points = &mut self.timeline.jobs[place].points;
            // The rest of a job, if it is short, has no rate that means anything.
            let rest = job.over && point.length_ns() < self.timeline.window_ns / 2;
            match points.pop() {
                Some(last) if rest => points.push(last.joined(&point)),
                last => points.extend(last.into_iter().chain([point])),
            }
        }
    }
}

impl Sampled {
    fn new(plan: &WorkerPlan, first: usize) -> Sampled {
        Sampled {
            index: plan.job_index,
            name: plan.job.name.clone(),
            workers: first..first + 1,
            place: None,
            last_ns: 0,
            last: [const { None }; 3],
            over: false,
        }
    }

    /// What was done since the last look; `None` while nobody does anything that counts.
    fn point(&mut self, lives: &[Arc<Live>], with_latency: bool, now_ns: u64) -> Option<TimelinePoint> {
        let measured = || lives.iter().filter(|live| live.measure_start_ns.load(Relaxed) > 0);
        let begun_ns = measured().map(|live| live.measure_start_ns.load(Relaxed)).min()?;
        // Who is over was done before this look: the ends are read before the counts.
        let ends_ns: Vec<u64> = lives.iter().map(|live| live.end_ns.load(Relaxed)).collect();
        self.over = lives.iter().zip(&ends_ns).all(|(live, &end_ns)| end_ns > 0 || live.has_ended());
        let end_ns = if self.over { ends_ns.iter().copied().max().unwrap_or(now_ns) } else { now_ns };
        let mut counted: [Option<PointDirection>; 3] = [const { None }; 3];
        for live in measured() {
            // Without the lock: it would have the worker hold still. What is torn between two windows is put right by
            // the next, and nothing is torn once the worker has ended.
            copy(live, with_latency).into_iter().zip(&mut counted).for_each(|(own, sum)| {
                if let Some(own) = own {
                    sum.get_or_insert_default().merge(&own);
                }
            });
        }
        let start_ns = self.last_ns.max(begun_ns);
        let [read, write, trim] = std::array::from_fn(|index| {
            let now = counted[index].as_ref()?;
            Some(since(now, self.last[index].as_ref()))
        });
        self.last = counted;
        self.last_ns = end_ns;
        let point = TimelinePoint { start_ns, end_ns, read, write, trim };
        // Two looks at one moment, or one after the end, leave no window.
        (end_ns > start_ns).then_some(point)
    }
}

fn copy(live: &Live, with_latency: bool) -> [Option<PointDirection>; 3] {
    let bins = |latency: &LiveLatency| latency.bins.as_ref().filter(|_| with_latency).map(|bins| bins.snapshot());
    let one = |direction: &LiveDirection| PointDirection {
        ios: direction.ios.get(),
        bytes: direction.bytes.get(),
        latency: bins(&direction.clat).or_else(|| bins(&direction.lat)).unwrap_or_else(HistogramBins::default),
    };
    live.directions().each_ref().map(|direction| direction.as_ref().map(one))
}

fn since(now: &PointDirection, last: Option<&PointDirection>) -> PointDirection {
    let Some(last) = last else { return now.clone() };
    PointDirection {
        ios: now.ios.saturating_sub(last.ios),
        bytes: now.bytes.saturating_sub(last.bytes),
        latency: now.latency.since(&last.latency),
    }
}
