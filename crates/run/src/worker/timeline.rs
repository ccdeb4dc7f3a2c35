//! The moments at which a worker has something to do besides I/O: end of the ramp, sample windows, end of the run.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_spec::Job;

use crate::group::Group;
use crate::live::{Live, LiveDirection, State};

/// What a look at the clock brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing.
    None,
    /// Only something that is watched ([`Timeline::watch_at`]).
    Look,
    /// The ramp is over: measuring begins.
    RampEnd,
    /// The run time is over.
    End,
}

/// One worker's times, on the run's clock.
pub(super) struct Timeline {
    ramp: Option<Ramp>,
    end_ns: u64,
    /// When something else is to be looked at.
    watch_ns: u64,
    /// The earliest of all: one comparison a batch.
    next_ns: u64,
    /// The earliest that time alone brings: until then a waiter may sleep.
    wake_ns: u64,
    bandwidth: Option<Windows>,
    iops: Option<Windows>,
    runtime_ns: u64,
}

/// What comes before measuring.
struct Ramp {
    end_ns: u64,
    /// Decides by size; it has to be asked at every look.
    by_size: Option<Arc<Group>>,
}

/// Samples of one rate: a value for each window, those without I/O among them.
struct Windows {
    length_ns: u64,
    next_ns: u64,
    last: [u64; 3],
}

impl Windows {
    fn new(length_ms: u32, start_ns: u64) -> Self {
        let length_ns = u64::from(length_ms.max(1)) * 1_000_000;
        Windows { length_ns, next_ns: start_ns + length_ns, last: [0; 3] }
    }

    /// Closes the windows that ended by `now_ns`. What was counted since the last look came in the first of them.
    fn close(&mut self, now_ns: u64, mut counted: impl FnMut(usize) -> u64, mut record: impl FnMut(usize, u64)) {
        while self.next_ns <= now_ns {
            for direction in 0..3 {
                let total = counted(direction);
                let rate = u128::from(total - self.last[direction]) * 1_000_000_000 / u128::from(self.length_ns);
                self.last[direction] = total;
                record(direction, rate as u64);
            }
            self.next_ns += self.length_ns;
        }
    }
}

impl Timeline {
    /// A job that starts at `start_ns`.
    pub(super) fn new(job: &Job, group: Option<&Arc<Group>>, start_ns: u64) -> Self {
        let by_size = group.filter(|_| job.ramp_bytes > 0).cloned();
        let ramps = job.ramp_ns > 0 || by_size.is_some();
        let ramp = ramps.then(|| Ramp { end_ns: start_ns.saturating_add(job.ramp_ns), by_size });
        let mut timeline = Timeline {
            end_ns: u64::MAX,
            watch_ns: u64::MAX,
            next_ns: 0,
            wake_ns: 0,
            bandwidth: None,
            iops: None,
            runtime_ns: job.runtime_ns,
            ramp,
        };
        if timeline.ramp.is_none() {
            timeline.begin_measuring(job, start_ns);
        }
        timeline.plan_next();
        timeline
    }

    /// When I/O must stop; `u64::MAX` if time does not end it.
    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The next moment that needs a look, for waits.
    pub(super) fn wake_ns(&self) -> u64 {
        self.wake_ns
    }

    /// Whether measuring has begun.
    pub(super) fn measures(&self) -> bool {
        self.ramp.is_none()
    }

    /// There is something else to be looked at then.
    pub(super) fn watch_at(&mut self, at_ns: u64) {
        self.watch_ns = at_ns;
        self.plan_next();
    }

    /// Begins to measure once more: all before is forgotten. The end of the run time stays.
    pub(super) fn measure_anew(&mut self, job: &Job, live: &Live, now_ns: u64) {
        let end_ns = self.end_ns;
        self.forget(job, live, now_ns);
        self.end_ns = end_ns;
        self.plan_next();
    }

    fn forget(&mut self, job: &Job, live: &Live, now_ns: u64) {
        live.reset();
        live.measure_start_ns.store(now_ns, Relaxed);
        self.begin_measuring(job, now_ns);
    }

    fn begin_measuring(&mut self, job: &Job, start_ns: u64) {
        self.end_ns = if self.runtime_ns > 0 { start_ns.saturating_add(self.runtime_ns) } else { u64::MAX };
        if job.measure.samples {
            self.bandwidth = Some(Windows::new(job.measure.bw_window_ms, start_ns));
            self.iops = Some(Windows::new(job.measure.iops_window_ms, start_ns));
        }
    }

    fn plan_next(&mut self) {
        let window = |windows: &Option<Windows>| windows.as_ref().map_or(u64::MAX, |windows| windows.next_ns);
        let ramp_ns = self.ramp.as_ref().map_or(u64::MAX, |ramp| match ramp.by_size {
            // Bytes, not time, bring its end.
            Some(_) => u64::MAX,
            None => ramp.end_ns,
        });
        let windows_ns = window(&self.bandwidth).min(window(&self.iops));
        self.wake_ns = self.end_ns.min(ramp_ns).min(windows_ns).min(self.watch_ns);
        let by_size = self.ramp.as_ref().is_some_and(|ramp| ramp.by_size.is_some());
        self.next_ns = if by_size { 0 } else { self.wake_ns };
    }

    /// Looks at the clock. Almost always one comparison.
    #[inline]
    pub(super) fn look(&mut self, job: &Job, live: &Live, now_ns: u64) -> Event {
        if now_ns < self.next_ns { Event::None } else { self.happen(job, live, now_ns) }
    }

    #[cold]
    fn happen(&mut self, job: &Job, live: &Live, now_ns: u64) -> Event {
        let ended = now_ns >= self.end_ns;
        self.sample(live, now_ns.min(self.end_ns));
        let mut event = if ended { Event::End } else { Event::Look };
        let is_over =
            |ramp: &Ramp| now_ns >= ramp.end_ns && ramp.by_size.as_ref().is_none_or(|group| group.ramp_is_over());
        if self.ramp.as_ref().is_some_and(is_over) {
            self.ramp = None;
            self.forget(job, live, now_ns);
            live.set_state(State::Running);
            event = Event::RampEnd;
        }
        self.plan_next();
        event
    }

    fn sample(&mut self, live: &Live, now_ns: u64) {
        let directions = live.directions();
        let _batch = live.lock.write();
        let of = |index: usize| directions[index].as_ref();
        if let Some(windows) = &mut self.bandwidth {
            let bytes = |direction: &LiveDirection| direction.bytes.get();
            windows.close(
                now_ns,
                |index| of(index).map_or(0, bytes),
                |index, rate| {
                    if let Some(direction) = of(index) {
                        direction.bandwidth_samples.record(rate);
                    }
                },
            );
        }
        if let Some(windows) = &mut self.iops {
            let ios = |direction: &LiveDirection| direction.ios.get();
            windows.close(
                now_ns,
                |index| of(index).map_or(0, ios),
                |index, rate| {
                    if let Some(direction) = of(index) {
                        direction.iops_samples.record(rate);
                    }
                },
            );
        }
    }
}
