//! A worker: one clone of one job on a thread of its own, from opening its files to putting them away.

mod async_loop;
mod between;
mod checks;
mod common;
mod complaint;
mod core;
mod durable;
mod engines;
mod feed;
mod files;
mod hooks;
mod limits;
mod lives;
mod memory;
mod offload;
mod place;
mod placement;
mod replay;
mod rota;
mod sync_loop;
mod task_loop;
mod think;
mod timeline;
mod watch;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_device::Guard;
use iostrata_engine::virtual_time::World;
use iostrata_engine::{EngineError, Granted, Instance, SlotArena};
use iostrata_os::clock::clock_ms;
use iostrata_os::file::facts_at;
use iostrata_os::signals;
use iostrata_os::thread::{Waker, current_tid, thread_usage, wake_precisely_current};
use iostrata_spec::{Job, Seed, ZoneMode};

use self::async_loop::AsyncLoop;
use self::between::{change_files, first_files, put_away, reopen, unlink_between};
use self::core::{Core, PassEnd};
use self::durable::RangeSpan;
use self::engines::{engine_fault, make_engine, rules_of};
use self::feed::{Feed, FeedLimits};
use self::files::OpenFiles;
use self::lives::Lives;
use self::placement::Placement;
use self::replay::Replay;
use self::think::Thinking;
use self::timeline::Timeline;
use self::watch::Watch;
use crate::budget::open_at_once;
use crate::buffers::{BufferFacts, BufferMaker};
use crate::clock::{Clock, RealClock, VirtualClock};
use crate::error::RunError;
use crate::flow::FlowShare;
use crate::gate::Place;
use crate::generate::random::derive;
use crate::generate::{Direction, FileChoice, Mix, OffsetSpec, Offsets, Priorities, Streams};
use crate::group::Group;
use crate::live::{Ending, Live, State};
use crate::locks::Doors;
use crate::pace::Pacer;
use crate::plan::WorkerPlan;
use crate::recorder::{LogSender, Recorder};
use crate::replay::Recording;
use crate::verify::Verifier;
use crate::zones::{ZoneTables, Zoning};

/// A worker's stack: it uses some kilobytes of it, and there may be ten thousand workers.
const STACK_BYTES: usize = 512 << 10;

/// How long a worker may try to cancel what is in flight once it is given up.
const CANCEL_NS: u64 = 400_000_000;

/// Said where several jobs write what one of them checks.
const SHARED_BLOCKS: &str = "other jobs, or other files of this one, write the same blocks at the same time: which \
    write a block comes from is not checked, and one that is read while it is being written may look wrong";

/// Which clock a worker lives by.
#[derive(Clone)]
pub(crate) enum Time {
    /// The machine's.
    Real(RealClock),
    /// The world of a `sim` run.
    Virtual(Arc<World>),
}

/// Everything a worker is born with.
pub(crate) struct Birth {
    pub(crate) plan: Arc<WorkerPlan>,
    pub(crate) live: Arc<Live>,
    /// Those that it decides some things together with.
    pub(crate) group: Option<Arc<Group>>,
    pub(crate) guard: Arc<Guard>,
    /// Where it waits for the others; dropped, with the rest, when it has ended.
    pub(crate) place: Place,
    pub(crate) time: Time,
    pub(crate) logs: Option<LogSender>,
    /// Its I/Os are traced.
    pub(crate) traced: bool,
    /// Its share of a flow, if it is in one.
    pub(crate) flow: Option<FlowShare>,
    /// The files that jobs keep others away from.
    pub(crate) doors: Arc<Doors>,
    /// The zones of the run's devices.
    pub(crate) zones: Arc<ZoneTables>,
    /// Where files that accompany a run go.
    pub(crate) aux_folder: Arc<Path>,
    /// How many files it may have open at a time.
    pub(crate) open_files: usize,
}

/// Starts the worker's thread. It is detached: the coordinator watches `live`, and can report without it.
pub(crate) fn spawn(birth: Birth) -> std::io::Result<()> {
    let job = &birth.plan.job;
    let name: String = job.process.thread_name.as_ref().unwrap_or(&job.name).chars().take(15).collect();
    std::thread::Builder::new()
        .name(name.replace('\0', ""))
        .stack_size(STACK_BYTES)
        .spawn(move || live_and_end(birth))
        .map(drop)
}

/// The whole life of the thread; a panic becomes the job's error.
fn live_and_end(birth: Birth) {
    signals::block_in_this_thread();
    wake_precisely_current();
    let live = Arc::clone(&birth.live);
    live.tid.store(current_tid(), Relaxed);
    *live.waker.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Waker::current());
    let number = birth.plan.thread_number - 1;
    let ending = catch_unwind(AssertUnwindSafe(|| match &birth.time {
        Time::Real(clock) => run(&birth, clock),
        Time::Virtual(world) => {
            world.wait_turn(number);
            run(&birth, &VirtualClock::new(Arc::clone(world), number))
        }
    }))
    .unwrap_or_else(|panic| Ending { error: Some(panic_error(&birth.plan, &*panic)), ..Ending::default() });
    let ending = Ending { life_usage: thread_usage(), ..ending };
    if let Time::Virtual(world) = &birth.time {
        world.leave(number);
    }
    let state = if ending.error.is_some() { State::Failed } else { State::Ended };
    *live.ending.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(ending);
    live.open_files.store(0, Relaxed);
    live.set_state(state);
    drop(birth);
}

fn panic_error(plan: &WorkerPlan, panic: &(dyn Any + Send)) -> RunError {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let text = format!("a fault in iostrata itself ended this job: {text}; please report it");
    RunError::job_errno(&plan.job, libc::EFAULT, text)
}

/// Sets up, runs, tears down. Errors land in the ending beside what was measured until then.
fn run<C: Clock>(birth: &Birth, clock: &C) -> Ending {
    let mut ending = Ending::default();
    if let Err(error) = run_job(birth, clock, &mut ending) {
        ending.error.get_or_insert(error);
    }
    if let Some(flow) = &birth.flow {
        flow.leave();
    }
    match hooks::after(&birth.plan, &birth.live, &birth.aux_folder) {
        Ok(note) => ending.notes.extend(note),
        Err(error) => _ = ending.error.get_or_insert(error),
    }
    if birth.live.io_start_ns.load(Relaxed) > 0 && birth.live.end_ns.load(Relaxed) == 0 {
        birth.live.end_ns.store(clock.now_ns(), Relaxed);
    }
    ending
}

/// What a worker has made before it waits for its start.
struct Ready {
    instance: Instance,
    /// What the engine took of the depth asked.
    depth: u32,
    arena: Arc<SlotArena>,
    files: OpenFiles,
    buffers: BufferMaker,
    verifier: Option<Box<Verifier>>,
    placement: Option<Box<Placement>>,
    zones: Option<Box<Zoning>>,
    replay: Option<Replay>,
    recording: Option<Recording>,
    streams: Streams,
}

fn set_up<C: Clock>(birth: &Birth, clock: &C, ending: &mut Ending) -> Result<Ready, RunError> {
    let (plan, live) = (&birth.plan, &*birth.live);
    let job = &*plan.job;
    let (mut instance, config) = make_engine(birth)?;
    let recording = Recording::begin(plan, birth.logs.as_ref(), clock.now_ns());
    let mut replay = Replay::for_worker(plan)?;
    let mut files = first_files(birth, replay.as_mut())?;
    durable::check_atomic(plan, &files)?;
    files.pre_read(plan, &live.stop)?;
    ending.files_at_once = files.in_parts().then(|| files.len());
    let synchronous = !matches!(instance, Instance::Async(_));
    let asked_depth = if synchronous { 1 } else { job.depth };
    let arena = memory::make_arena(plan, asked_depth)?;
    let granted = attach(&mut instance, &files, &arena, asked_depth).map_err(|error| engine_fault(plan, &error))?;
    ending.engine_used = granted.used;
    ending.notes = granted.notes;
    ending.depth_granted = granted.depth;
    // As in fio, files that exist in name only count as open.
    let open = if plan.engine.caps.diskless { plan.files.len() } else { files.len() };
    live.open_files.store(open as u32, Relaxed);
    let streams = Streams::new(plan.seed, u64::from(plan.thread_number));
    let mut buffers = BufferMaker::new(&job.buffers, &buffer_facts(plan, &streams));
    for slot in 0..arena.slots() {
        arena.with_bytes(slot, |bytes| buffers.prepare(bytes));
    }
    let verifier = Verifier::for_worker(plan, arena.slots(), streams.buffers, &birth.aux_folder)?;
    drop(config);
    let placement = Placement::for_worker(plan, streams.think)?;
    let zones = Zoning::of(plan, &birth.zones, |file| files.duplicate(file))?;
    let depth = granted.depth;
    Ok(Ready { instance, depth, arena, files, buffers, verifier, placement, zones, replay, recording, streams })
}

fn run_job<C: Clock>(birth: &Birth, clock: &C, ending: &mut Ending) -> Result<(), RunError> {
    let (plan, live) = (&birth.plan, &*birth.live);
    let job = &*plan.job;
    live.set_state(State::SettingUp);
    let _placed = place::place_thread(plan)?;
    hooks::before(plan, live, &birth.aux_folder)?;
    let ready = set_up(birth, clock, ending)?;
    live.set_state(State::Ready);
    if !birth.place.wait(&live.stop) {
        return Ok(());
    }
    delay_start(plan, clock, live, &ready.streams);

    let start_ns = clock.now_ns();
    let timeline = Timeline::new(job, birth.group.as_ref(), start_ns);
    let ramps = !timeline.measures();
    if job.start_clock > 0 && !plan.engine.caps.virtual_time {
        let _ = live.started_clock_ms.set(start_clock_ms(job)?);
    }
    live.set_state(if ramps { State::Ramp } else { State::Running });
    live.io_start_ns.store(start_ns, Relaxed);
    if !ramps {
        live.measure_start_ns.store(start_ns, Relaxed);
    }
    let depth = ready.depth;
    let (mut core, instance) = begin(birth, clock, ready, timeline, start_ns);
    core.record_open(start_ns);
    if !ramps {
        core.begin_log(start_ns);
        core.watch.measuring_begins(live, start_ns);
    }
    core.timeline.watch_at(core.watch.next_ns());
    if core.verifier.is_some() && plan.shares_blocks {
        core.notes.push(SHARED_BLOCKS.into());
    }
    let result = passes(birth, &mut core, instance, depth, ending);
    wind_up(&mut core, ending, start_ns, &birth.aux_folder);
    result?;
    put_away(&mut core)
}

/// What the loops work with, and the engine that they drive.
fn begin<'a, C: Clock>(
    birth: &'a Birth,
    clock: &'a C,
    ready: Ready,
    timeline: Timeline,
    start_ns: u64,
) -> (Core<'a, C>, Instance) {
    let (plan, live) = (&birth.plan, &*birth.live);
    let job = &*plan.job;
    let Ready { instance, depth, arena, files, buffers, verifier, placement, zones, replay, recording, streams } =
        ready;
    let (log, lives, keys) = (recorder(birth), Lives::of(plan), birth.doors.keys_for(plan));
    let priorities = Priorities::of(&job.engine_options.command_priority, derive(streams.mix, 1)).map(Box::new);
    let core = Core {
        plan,
        job,
        clock,
        live,
        feed: make_feed(plan, &streams).with_zones(zones),
        replay: replay.map(Box::new),
        pacer: Pacer::for_job(job, derive(streams.think, 1), start_ns),
        buffers,
        careful: verifier.is_some() || keys.is_some(),
        verifier,
        held: None,
        keys,
        at_door: None,
        arena,
        files,
        flow: birth.flow.as_ref(),
        timeline,
        watch: Watch::new(job, birth.group.clone(), depth, start_ns),
        most_ns: most_ns(job),
        verdict: None,
        takes_down: log.is_some() || lives.is_some() || priorities.is_some() || job.syncs.range.every > 0,
        priorities,
        log,
        lives,
        recording: recording.map(Box::new),
        error: None,
        notes: Vec::new(),
        attends: job.think.pause_ns > 0 || job.think.cycles > 0 || job.latency_search.target_ns > 0,
        thinking: Thinking::of(job),
        usage_start: thread_usage(),
        stopping: false,
        range_sync: RangeSpan::new(job.syncs.range),
        placement,
    };
    (core, instance)
}

fn recorder(birth: &Birth) -> Option<Recorder> {
    let (plan, logs) = (&birth.plan, birth.logs.as_ref());
    let worker = plan.thread_number as usize - 1;
    Recorder::for_job(&plan.job, plan.engine.caps.synchronous, worker, logs, birth.traced)
}

/// The last pass is over: what only the worker's own thread can tell goes into its ending.
fn wind_up<C: Clock>(core: &mut Core<'_, C>, ending: &mut Ending, start_ns: u64, aux_folder: &Path) {
    let (plan, live) = (core.plan, core.live);
    let end_ns = core.clock.now_ns();
    live.end_ns.store(end_ns, Relaxed);
    if live.measure_start_ns.load(Relaxed) == 0 {
        // Its ramp never ended: what it did counts from its start, as in fio.
        live.measure_start_ns.store(start_ns, Relaxed);
        ending.ended_in_ramp = true;
    }
    if !plan.engine.caps.virtual_time {
        ending.usage = thread_usage() - core.usage_start;
    }
    ending.due_not_issued = due_not_issued(core, end_ns);
    core.end_log(end_ns);
    core.end_replay();
    if let Some(Err(note)) = core.verifier.as_ref().map(|verifier| verifier.save_state(plan, aux_folder)) {
        core.notes.push(note);
    }
    ending.block_lives = core.lives.as_ref().map(|lives| lives.result());
    ending.notes.append(&mut core.notes);
    ending.error = core.error.take();
}

/// The clock that `job_start_clock_id` names, milliseconds.
fn start_clock_ms(job: &Job) -> Result<i64, RunError> {
    clock_ms(job.start_clock as i32).and_then(|ms| ms.try_into().ok()).ok_or_else(|| {
        RunError::job(job, format!("job_start_clock_id={}: the system has no clock of this number", job.start_clock))
    })
}

/// Above which latency an I/O is to be looked at, by direction.
fn most_ns(job: &Job) -> [u64; 3] {
    let target_ns = if job.latency_search.target_ns > 0 { job.latency_search.target_ns } else { u64::MAX };
    job.max_latency_ns.to_array().map(|most_ns| most_ns.unwrap_or(u64::MAX).min(target_ns))
}

/// I/Os that the rate wanted before the end of the run time and that were never issued.
fn due_not_issued<C: Clock>(core: &Core<'_, C>, end_ns: u64) -> u64 {
    let Some(pacer) = &core.pacer else { return 0 };
    if core.timeline.end_ns() > end_ns {
        return 0;
    }
    let blocks = core.job.block_sizes().map(|sizes| sizes.min());
    Direction::ALL
        .into_iter()
        .map(|direction| pacer.unissued(direction, core.timeline.end_ns(), blocks[direction.index()] as u32))
        .sum()
}

/// Runs pass after pass until the job is done.
fn passes<C: Clock>(
    birth: &Birth,
    core: &mut Core<'_, C>,
    mut instance: Instance,
    depth: u32,
    ending: &mut Ending,
) -> Result<(), RunError> {
    let (plan, job) = (core.plan, core.job);
    let mut asynchronous = AsyncLoop::new(rules_of(plan, depth), job.serialize_overlap);
    if let Some(search) = &core.watch.search {
        asynchronous.limit(search.depth());
    }
    let mut loops_left = job.loops;
    let region_bytes: u64 = plan.files.iter().map(|file| file.region_bytes).sum();
    let several_passes = plan.io_bytes > region_bytes;
    let result = loop {
        let end = match one_pass(core, &mut instance, &mut asynchronous) {
            Ok(PassEnd::Pass) if core.replay_changes_files() => match change_files(birth, core, &mut instance, depth) {
                Ok(()) => continue,
                Err(error) => break Err(error),
            },
            Ok(PassEnd::Pass) if core.begin_check() => read_back(birth, core, &mut instance, &mut asynchronous, depth),
            end => end,
        };
        core.end_check();
        let end = match end {
            Ok(end) => end,
            Err(error) => break Err(error),
        };
        if end == PassEnd::Pass && next_files(core) {
            match reopen(birth, core, &mut instance, depth) {
                Ok(()) => continue,
                Err(error) => break Err(error),
            }
        }
        // Each pass is a loop; but io_size above the size of the files takes as many as it needs, and then loops= adds
        // only what is more, as in fio.
        loops_left = loops_left.saturating_sub(1);
        let another = match end {
            PassEnd::Stop => false,
            PassEnd::Pass => loops_left > 0 || (several_passes && core.feed.owes_bytes()),
        };
        if !another || !core.feed.restart() {
            break Ok(());
        }
        if let Err(error) = unlink_between(core).and_then(|()| reopen(birth, core, &mut instance, depth)) {
            break Err(error);
        }
    };
    if let Instance::Async(engine) = &mut instance {
        let until_ns = core.clock.now_ns().saturating_add(CANCEL_NS);
        if let Some(lost) = asynchronous.finish(core, engine.as_mut(), until_ns) {
            ending.censored = lost.requests;
            core.error.get_or_insert_with(|| RunError::job_errno(job, libc::ETIMEDOUT, lost.text));
        }
    }
    result
}

/// With `openfiles`: whether the pass goes on with files that are not open yet; a time-based job goes round again.
fn next_files<C: Clock>(core: &mut Core<'_, C>) -> bool {
    core.feed.opens_in_parts() && (core.feed.next_files() || core.job.time_based && core.feed.wrap())
}

fn one_pass<C: Clock>(
    core: &mut Core<'_, C>,
    instance: &mut Instance,
    asynchronous: &mut AsyncLoop,
) -> Result<PassEnd, RunError> {
    match instance {
        Instance::Sync(engine) => Ok(sync_loop::pass(core, engine.as_mut())),
        Instance::Task(task) => task_loop::run(core, task.as_mut()).map_err(|error| engine_fault(core.plan, &error)),
        Instance::Async(engine) => {
            asynchronous.pass(core, engine.as_mut()).map_err(|error| engine_fault(core.plan, &error))
        }
    }
}

/// The pass that reads back what the one before wrote: from files opened anew, so that it comes from below the cache.
fn read_back<C: Clock>(
    birth: &Birth,
    core: &mut Core<'_, C>,
    instance: &mut Instance,
    asynchronous: &mut AsyncLoop,
    depth: u32,
) -> Result<PassEnd, RunError> {
    let state = core.live.state();
    core.live.set_state(State::Verifying);
    let since_ns = core.clock.now_ns();
    core.live.check_since_ns.store(since_ns, Relaxed);
    reopen(birth, core, instance, depth)?;
    let end = one_pass(core, instance, asynchronous)?;
    let now_ns = core.clock.now_ns();
    core.live.check_since_ns.store(0, Relaxed);
    core.live.check_ns.add(now_ns.saturating_sub(since_ns.max(core.live.measure_start_ns.load(Relaxed))));
    core.live.set_state(state);
    Ok(end)
}

fn attach(
    instance: &mut Instance,
    files: &OpenFiles,
    arena: &Arc<SlotArena>,
    depth: u32,
) -> Result<Granted, EngineError> {
    let table = files.table();
    match instance {
        Instance::Async(engine) => engine.attach(&table, Arc::clone(arena), depth),
        Instance::Sync(engine) => engine.attach(&table, Arc::clone(arena)),
        Instance::Task(_) => Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() }),
    }
}

fn buffer_facts(plan: &WorkerPlan, streams: &Streams) -> BufferFacts {
    BufferFacts {
        seed: streams.buffers,
        common_seed: plan.seed,
        block_bytes: plan.job.block_sizes()[1].min(),
        job_bytes: plan.io_bytes,
    }
}

/// Whether the last block of a plain sequence ends behind the region, if the file goes on there.
fn has_tail(job: &Job, region_bytes: u64) -> bool {
    let odd = job.block_size.to_array().iter().any(|bytes| *bytes > 0 && !region_bytes.is_multiple_of(*bytes));
    odd && !job.workload.random && job.workload.modifier.is_none()
}

fn make_feed(plan: &WorkerPlan, streams: &Streams) -> Feed {
    let job = &plan.job;
    let offsets = plan.files.iter().enumerate().map(|(index, file)| {
        let key = streams.file_offsets(index as u64);
        // Strided zones go on behind the region, as far as the file does.
        let goes_behind = job.shape.zone_mode == ZoneMode::Strided || has_tail(job, file.region_bytes);
        let there = if goes_behind { facts_at(&file.path).ok() } else { None };
        let file_bytes = there.map_or(0, |facts| facts.size_bytes).max(file.file_bytes);
        Offsets::new(&OffsetSpec::for_job(job, file.region_start, file.region_bytes, file_bytes, key))
    });
    let limits = FeedLimits {
        bytes: if job.time_based { u64::MAX } else { plan.io_bytes },
        ios: if job.time_based { u64::MAX } else { job.number_ios.unwrap_or(u64::MAX) },
        loops: job.loops.max(1),
        fsync_every: job.syncs.every,
        fdatasync_every: job.syncs.data_every,
        open_files: open_at_once(plan),
        lengths_fit: job.io_size.is_none(),
        repeat: job.seed != Seed::Fresh,
        random: job.workload.random,
    };
    let paired = job.workload.trims && job.workload.writes;
    let choice = FileChoice::new(job.file_service, plan.files.len(), streams.files);
    let mix = Mix::for_workload(&job.workload, job.mix_read_percent, streams.mix);
    Feed::new(offsets.collect(), choice, mix, paired, limits)
}

/// Waits out `startdelay`: a range is drawn from.
fn delay_start<C: Clock>(plan: &WorkerPlan, clock: &C, live: &Live, streams: &Streams) {
    let (low, high) = plan.job.start_delay_ns;
    let span = high.saturating_sub(low);
    // The stream's seed is itself a uniform number: one draw needs no generator.
    let delay_ns = low + ((u128::from(streams.think) * u128::from(span)) >> 64) as u64;
    if delay_ns == 0 {
        return;
    }
    let until_ns = clock.now_ns().saturating_add(delay_ns);
    while clock.now_ns() < until_ns && !live.stop.load(Relaxed) {
        clock.sleep_until(until_ns);
    }
}
