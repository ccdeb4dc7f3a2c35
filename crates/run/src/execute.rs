//! The coordinator: lays out, starts stage after stage, watches, ends what must end, and always reports.

mod document;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use iostrata_device::Guard;
use iostrata_engine::virtual_time::World;
use iostrata_os::clock::{monotonic_ns, unix_ms};
use iostrata_os::signals::Signals;
use iostrata_result::{End, Note, OptionWord, RunResult};
use iostrata_spec::{Debug, IdleReport, Topic};

use crate::attend::{Attendance, Trigger};
use crate::budget::Budget;
use crate::clock::RealClock;
use crate::disks::Disks;
use crate::error::{Refused, RunError, no_thread};
use crate::flow::Flows;
use crate::gate::{Place, Roll};
use crate::group::Group;
use crate::helpers::HelperThreads;
use crate::idle::IdleWatch;
use crate::layout::{Made, Making};
use crate::live::{Live, State};
use crate::locks::Doors;
use crate::plan::Plan;
use crate::progress::{Progress, Rates};
use crate::recorder::LogSender;
use crate::remarks::remarks;
use crate::sampler::OverTime;
use crate::settings::Settings;
use crate::stage::{Order, Waves};
use crate::trace::Tracer;
use crate::worker::{Birth, Time, spawn};
use crate::zones::ZoneTables;

/// What the coordinator tells while it works.
pub enum Event<'a> {
    /// The run is about to start: the jobs are planned, nothing was touched.
    Planned(&'a Plan),
    /// A worker's files are being made.
    Layout {
        /// The job's name.
        job: &'a str,
        /// How many files.
        files: usize,
        /// Their sizes together.
        total_bytes: u64,
    },
    /// How far it is.
    Progress(&'a Progress),
    /// A line of `--debug`.
    Trace(&'a str),
    /// A sentence of a worker about an error that it went on after (`error_dump`).
    Saying(&'a str),
    /// What is known now, for those who look from outside.
    Snapshot(Box<RunResult>),
    /// A full report while the run goes on was asked for.
    Status(Box<RunResult>),
    /// A signal asked the run to end.
    Signal(i32),
    /// The end: the document.
    Done(Box<RunResult>),
}

/// Who is told.
pub trait Sink {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);
}

/// What a run needs besides its plan.
pub struct Context {
    /// The guard that admitted the targets.
    pub guard: Arc<Guard>,
    /// The installed signal handlers.
    pub signals: Signals,
    /// How long outstanding I/Os may take after the end, nanoseconds.
    pub grace_ns: u64,
    /// How often progress is told, nanoseconds; `None`: never.
    pub progress_ns: Option<u64>,
    /// The arguments, for the document.
    pub command_line: Vec<String>,
    /// Options of the global section, for the document.
    pub global_options: Vec<OptionWord>,
    /// Version of the program, for the document.
    pub tool_version: String,
    /// How often a full report is given while the run goes on, nanoseconds; `None`: when asked.
    pub status_ns: Option<u64>,
    /// How often what is known is told for those who look from outside, nanoseconds; `None`: never.
    pub snapshot_ns: Option<u64>,
    /// What ends the run before its time.
    pub trigger: Trigger,
    /// Where files that accompany a run go (`--aux-path`).
    pub aux_folder: Arc<Path>,
    /// Notes that were known before the run (differences from fio, misreadings).
    pub notes: Vec<Note>,
    /// Where logs over time go; `None`: nobody writes them.
    pub logs: Option<LogSender>,
    /// What is traced.
    pub debug: Debug,
    /// Whether, and how, it is reported how idle the CPUs were.
    pub idle: Option<IdleReport>,
}

/// After a signal: how long outstanding I/Os may take.
const SIGNAL_GRACE_NS: u64 = 900_000_000;
/// After workers were told to give up: how long they may take for it.
const ABANDON_NS: u64 = 700_000_000;
/// How often the coordinator looks after workers that should be ending.
const LOOK_NS: u64 = 50_000_000;
/// Where virtual time begins: not at 0, which stands for "not yet".
pub(crate) const VIRTUAL_START_NS: u64 = 1_000_000_000;
/// A time that does not come.
const NEVER: u64 = u64::MAX;

/// Runs the plan to its end, whatever that is.
///
/// The document goes to the sink, in every case. Faults of single jobs are in it.
pub fn execute(plan: &Plan, context: Context, sink: &mut dyn Sink) {
    let mut run = Run::new(plan, context);
    sink.event(Event::Planned(plan));
    tell(run.tracer.planned(plan), sink);
    for (index, worker) in plan.workers.iter().enumerate() {
        if let Some(fault) = &worker.fault {
            run.fault(index, fault.clone());
        }
    }
    let laid_out = run.lay_out_all(sink);
    run.watch_idleness();
    if laid_out && !plan.workers.iter().all(|worker| worker.job.create_only) {
        for stage in 0..plan.stages() {
            if !run.stage(stage, sink) {
                break;
            }
        }
    }
    if let Some(sentence) = run.attendance.finish() {
        sink.event(Event::Saying(&sentence));
    }
    let result = run.result();
    tell(run.tracer.ended(plan, &result), sink);
    sink.event(Event::Done(Box::new(result)));
}

fn tell(lines: Vec<String>, sink: &mut dyn Sink) {
    lines.iter().for_each(|line| sink.event(Event::Trace(line)));
}

/// The document of a run that could not start: every job with its fault, nothing measured.
pub fn refuse(refused: &Refused, context: Context) -> RunResult {
    let mut run = Run::new(&refused.plan, context);
    for (index, worker) in refused.plan.workers.iter().enumerate() {
        let of_job = |error: &&RunError| error.job.as_ref().is_none_or(|job| *job == worker.job.name);
        if let Some(error) = worker.fault.as_ref().or_else(|| refused.errors.iter().find(of_job)) {
            run.fault(index, error.clone());
        }
    }
    run.result()
}

struct Run<'a> {
    plan: &'a Plan,
    lives: Vec<Arc<Live>>,
    /// What each worker decides together with others.
    groups: Vec<Option<Arc<Group>>>,
    order: Order<'a>,
    flows: Flows,
    doors: Arc<Doors>,
    zones: Arc<ZoneTables>,
    budget: Budget,
    /// How many files each worker may have open at a time; told when its stage begins.
    open_files: Vec<usize>,
    attendance: Attendance,
    tracer: Tracer,
    idle: Option<IdleWatch>,
    settings: Settings,
    /// Notes that the plan alone gives.
    remarks: Vec<Note>,
    guard: Arc<Guard>,
    context: Context,
    time: Time,
    disks: Disks,
    over_time: OverTime,
    start_ns: u64,
    start_unix_ms: i64,
    signal: Option<i32>,
    /// Faults that kept workers from starting, by worker.
    faults: HashMap<usize, RunError>,
    rates: Rates,
    next_progress_ns: u64,
    /// When workers that are told to stop are told to give up.
    abandon_at_ns: u64,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, context: Context) -> Self {
        let lives: Vec<_> = plan.workers.iter().map(|worker| Arc::new(Live::new(worker))).collect();
        let signals = context.signals;
        let time = if plan.virtual_time { Time::Virtual(World::new()) } else { Time::Real(RealClock::detect()) };
        let start_ns = monotonic_ns();
        Run {
            plan,
            groups: Group::all(plan, &lives, move || signals.notify()),
            over_time: OverTime::begin(plan, &lives, &time),
            lives,
            order: Order::of(plan),
            budget: Budget::of(plan),
            open_files: vec![0; plan.workers.len()],
            flows: Flows::default(),
            doors: Arc::default(),
            zones: Arc::new(ZoneTables::of(plan)),
            attendance: Attendance::new(context.status_ns, context.snapshot_ns, &context.trigger, start_ns),
            tracer: Tracer::new(context.debug, plan),
            idle: None,
            settings: Settings::default(),
            remarks: remarks(plan),
            guard: Arc::clone(&context.guard),
            time,
            disks: Disks::none(start_ns),
            start_ns,
            start_unix_ms: unix_ms(),
            signal: None,
            faults: HashMap::new(),
            rates: Rates::since(start_ns),
            next_progress_ns: context.progress_ns.map_or(NEVER, |interval| start_ns.saturating_add(interval)),
            abandon_at_ns: NEVER,
            context,
        }
    }

    /// Makes the files of all workers, in their order. False if a signal ended it.
    ///
    /// Meanwhile signals are heard and progress is told. What hangs after a signal is left behind.
    fn lay_out_all(&mut self, sink: &mut dyn Sink) -> bool {
        let plan = self.plan;
        let signals = self.context.signals;
        let begun = Making::begin(&plan.workers, Arc::clone(&self.guard), move || signals.notify());
        let making = match begun {
            Ok(making) => making,
            Err(error) => {
                for (index, worker) in plan.workers.iter().enumerate() {
                    self.fault(index, RunError::system(&worker.job, None, "starting a thread", &error));
                }
                return false;
            }
        };
        // Whose files are being made.
        let mut current = None;
        loop {
            let told = making.told();
            if let Some(Made::All) = told {
                break;
            } else if let Some(Made::Begins { worker, files, total_bytes, folder }) = told {
                current = Some(worker);
                let job = &plan.workers[worker].job.name;
                if let Some(folder) = folder {
                    let text = format!("the folder {folder} did not exist and was made for the job's files");
                    self.context.notes.push(Note { code: "folder-made".into(), job: Some(job.clone()), text });
                }
                sink.event(Event::Layout { job, files, total_bytes });
                continue;
            } else if let Some(Made::Failed { worker, error }) = told {
                self.fault(worker, error);
                continue;
            }
            self.wait(monotonic_ns().saturating_add(LOOK_NS), sink);
            if self.signal.is_some() {
                making.stop.store(true, Relaxed);
            }
            if monotonic_ns() >= self.abandon_at_ns.saturating_add(ABANDON_NS) {
                let text = "the layout of its files does not come to an end: the device or its server does not answer";
                if let Some(worker) = current {
                    let job = &plan.workers[worker].job;
                    self.fault(worker, RunError::job_errno(job, libc::ETIMEDOUT, text.into()));
                }
                return false;
            }
            if self.progress_is_due() {
                sink.event(Event::Progress(&Progress::of_layout(making.so_far())));
            }
        }
        if self.signal.is_some() {
            return false;
        }
        self.disks = Disks::watch(plan, monotonic_ns());
        self.over_time = OverTime::begin(plan, &self.lives, &self.time);
        true
    }

    /// Begins to watch how idle the CPUs are, if that was asked for.
    fn watch_idleness(&mut self) {
        let Some(report) = self.context.idle.filter(|_| !self.plan.virtual_time) else { return };
        match IdleWatch::begin(report == IdleReport::PerCpu) {
            Ok(watch) => self.idle = Some(watch),
            Err(error) => {
                let text = format!("how idle the CPUs were cannot be told: {error}");
                self.context.notes.push(Note { code: "idle-prof".into(), job: None, text });
            }
        }
    }

    /// A worker cannot start; the others can.
    fn fault(&mut self, index: usize, error: RunError) {
        self.lives[index].set_state(State::Failed);
        self.faults.entry(index).or_insert(error);
    }

    /// Starts the workers of a stage together and waits for them. False if the run must not go on.
    fn stage(&mut self, stage: u32, sink: &mut dyn Sink) -> bool {
        let plan = self.plan;
        let members = self.members(stage);
        if members.is_empty() {
            return true;
        }
        let helpers = HelperThreads::watch(plan, &members);
        let mut waves = Waves::of(&members);
        let signals = self.context.signals;
        let each_matters = self.order.each_end_matters() || self.tracer.tells_states();
        let roll = Roll::of(members.len(), each_matters, move || signals.notify());
        self.begin_wave(&mut waves, &roll);
        let mut pause = Pause::default();
        loop {
            self.wait(self.next_look_ns(&members), sink);
            pause.rest();
            if self.must_end() {
                waves.open_all();
            }
            self.look_after(stage, &members);
            self.say(&members, sink);
            tell(self.tracer.states(plan, &self.lives), sink);
            self.attend(sink);
            self.over_time.look(&self.lives);
            if !self.must_end() {
                self.begin_wave(&mut waves, &roll);
            }
            if members.iter().all(|&index| self.is_over(index)) {
                helpers.share_out(&self.lives, &members);
                return !self.must_end();
            }
            if self.given_up(&members) {
                return false;
            }
            if self.progress_is_due() {
                let progress = self.rates.progress(self.plan, &self.lives, monotonic_ns());
                sink.event(Event::Progress(&progress));
            }
            pause.done();
        }
    }

    /// The workers of a stage that are to begin; each knows then how many files it may have open.
    fn members(&mut self, stage: u32) -> Vec<usize> {
        let mut members = self.order.members(stage, &self.lives);
        let shares = self.budget.share_out(self.plan, &members);
        for (&index, share) in members.iter().zip(shares) {
            match share {
                Ok(files) => self.open_files[index] = files,
                Err(error) => self.fault(index, error),
            }
        }
        members.retain(|&index| !self.is_over(index));
        members
    }

    /// Gives reports that are due, and ends the run if the trigger fires.
    fn attend(&mut self, sink: &mut dyn Sink) {
        if self.attendance.status_is_due() {
            sink.event(Event::Status(Box::new(self.result_as(End::Running))));
        }
        if self.attendance.snapshot_is_due() {
            sink.event(Event::Snapshot(Box::new(self.result_as(End::Running))));
        }
        if self.attendance.trigger_fires() {
            self.abandon_at_ns = monotonic_ns().saturating_add(self.context.grace_ns);
        }
    }

    /// Whether no more is to begin and what runs is to end.
    fn must_end(&self) -> bool {
        self.signal.is_some() || self.attendance.fired
    }

    /// Starts the workers that need wait for nobody any more.
    fn begin_wave(&mut self, waves: &mut Waves, roll: &Arc<Roll>) {
        while let Some((gate, wave)) = waves.next(&self.order, &self.lives) {
            if let Time::Virtual(world) = &self.time {
                let begin_ns = self.virtual_now_ns();
                wave.iter().for_each(|&index| world.enter(index as u32, begin_ns));
                // Readiness costs no virtual time: the baton alone orders the workers.
                gate.open();
            }
            for index in wave {
                self.start(index, Place::new(&gate, roll));
            }
        }
    }

    /// Whether a worker has ended, or will not begin any more.
    fn is_over(&self, index: usize) -> bool {
        let not_begun = self.lives[index].state() == State::NotStarted;
        self.order.is_done(index, &self.lives) || (self.must_end() && not_begun)
    }

    /// Passes on what workers want to have said.
    fn say(&self, members: &[usize], sink: &mut dyn Sink) {
        for &index in members {
            self.lives[index].take_sayings().iter().for_each(|sentence| sink.event(Event::Saying(sentence)));
        }
    }

    fn start(&mut self, index: usize, place: Place) {
        let birth = Birth {
            plan: Arc::clone(&self.plan.workers[index]),
            live: Arc::clone(&self.lives[index]),
            group: self.groups[index].clone(),
            guard: Arc::clone(&self.guard),
            place,
            time: self.time.clone(),
            logs: self.context.logs.clone(),
            traced: self.context.debug.traces(Topic::Io, self.plan.workers[index].thread_number),
            flow: self.flows.join(&self.plan.workers[index].job.flow, self.plan.virtual_time),
            doors: Arc::clone(&self.doors),
            zones: Arc::clone(&self.zones),
            aux_folder: Arc::clone(&self.context.aux_folder),
            open_files: self.open_files[index],
        };
        // From here on it is no more among those that have not begun, though its thread may not run yet.
        self.lives[index].set_state(State::SettingUp);
        let worker = &self.plan.workers[index];
        let begun =
            self.settings.apply(worker).and_then(|()| spawn(birth).map_err(|error| no_thread(&worker.job, &error)));
        if let Err(error) = begun {
            self.fault(index, error);
            if let Time::Virtual(world) = &self.time {
                world.leave(index as u32);
            }
            // Nobody else may be there to wake the coordinator.
            self.context.signals.notify();
        }
    }

    /// When the coordinator must look again if nobody notifies it.
    fn next_look_ns(&self, members: &[usize]) -> u64 {
        let now_ns = monotonic_ns();
        let ending = members.iter().any(|&index| self.lives[index].stop.load(Relaxed));
        let look_ns = if ending { LOOK_NS } else { 20 * LOOK_NS };
        let overdue_ns = members.iter().map(|&index| self.overdue_ns(index)).min().unwrap_or(NEVER);
        now_ns
            .saturating_add(look_ns)
            .min(self.next_progress_ns)
            .min(self.attendance.next_ns())
            .min(self.over_time.next_ns())
            .min(overdue_ns.max(now_ns + LOOK_NS))
    }

    /// When a worker with a run time should long have ended; [`NEVER`] for others.
    fn overdue_ns(&self, index: usize) -> u64 {
        let (job, live) = (&self.plan.workers[index].job, &self.lives[index]);
        let started_ns = live.io_start_ns.load(Relaxed);
        if job.runtime_ns == 0 || started_ns == 0 || self.plan.virtual_time {
            return NEVER;
        }
        let measured_from_ns = match live.measure_start_ns.load(Relaxed) {
            // Nobody knows how long a ramp by size takes.
            0 if job.ramp_bytes > 0 => return NEVER,
            0 => started_ns.saturating_add(job.ramp_ns),
            measured_ns => measured_ns,
        };
        measured_from_ns.saturating_add(job.runtime_ns).saturating_add(self.context.grace_ns)
    }

    /// Waits; hears signals.
    fn wait(&mut self, until_ns: u64, sink: &mut dyn Sink) {
        self.context.signals.wait_until_ns(until_ns);
        if self.signal.is_none()
            && let Some(signal) = self.context.signals.pending()
        {
            self.signal = Some(signal);
            self.abandon_at_ns = monotonic_ns().saturating_add(SIGNAL_GRACE_NS.min(self.context.grace_ns));
            sink.event(Event::Signal(signal));
        }
    }

    /// Tells workers to stop, to give up, and wakes those that sit in a system call.
    fn look_after(&mut self, stage: u32, members: &[usize]) {
        let now_ns = monotonic_ns();
        let taken_along = self.order.taken_along(stage, &self.lives);
        for &index in members {
            let live = &self.lives[index];
            let overdue = now_ns >= self.overdue_ns(index);
            let told = live.stop.load(Relaxed);
            if live.has_ended() || !(self.must_end() || overdue || told || taken_along.contains(&index)) {
                continue;
            }
            live.stop.store(true, Relaxed);
            if now_ns >= self.abandon_at_ns || overdue {
                live.abandon.store(true, Relaxed);
            }
            if let Some(waker) = &*live.waker.lock().unwrap_or_else(PoisonError::into_inner) {
                waker.wake();
            }
        }
    }

    /// Whether the workers that are left have had their time to give up and did not.
    fn given_up(&self, members: &[usize]) -> bool {
        let now_ns = monotonic_ns();
        members.iter().filter(|&&index| !self.is_over(index)).all(|&index| {
            let since_ns = self.abandon_at_ns.min(self.overdue_ns(index));
            now_ns >= since_ns.saturating_add(ABANDON_NS)
        })
    }

    fn progress_is_due(&mut self) -> bool {
        let now_ns = monotonic_ns();
        let due = now_ns >= self.next_progress_ns;
        if let (true, Some(interval)) = (due, self.context.progress_ns) {
            self.next_progress_ns = now_ns.saturating_add(interval);
        }
        due
    }

    /// The latest moment that any worker of a `sim` run has come to.
    fn virtual_now_ns(&self) -> u64 {
        self.lives.iter().map(|live| live.end_ns.load(Relaxed)).max().unwrap_or(0).max(VIRTUAL_START_NS)
    }
}

/// Keeps the coordinator from looking all the time where each end of a worker calls for a look, and a look at ten
/// thousand of them takes long.
#[derive(Default)]
struct Pause {
    until_ns: u64,
    began_ns: u64,
}

impl Pause {
    /// Rests, four times as long as what was done since the last rest took, and begins again. Waiting does not count.
    /// No signal is heard meanwhile: the rest is short, however long a slow terminal took to show what was told.
    fn rest(&mut self) {
        /// A shorter rest is not worth a system call.
        const LEAST_NS: u64 = 100_000;
        let now_ns = monotonic_ns();
        let left_ns = self.until_ns.saturating_sub(now_ns);
        if left_ns >= LEAST_NS {
            std::thread::sleep(Duration::from_nanos(left_ns));
        }
        self.began_ns = monotonic_ns();
    }

    /// A look is done.
    fn done(&mut self) {
        let now_ns = monotonic_ns();
        self.until_ns = now_ns + (4 * (now_ns - self.began_ns)).min(2 * LOOK_NS);
    }
}
