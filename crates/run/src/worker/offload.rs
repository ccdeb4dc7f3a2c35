//! `io_submit_mode=offload`: each I/O in flight is done by a helper thread with an engine of its own.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iostrata_engine::{
    Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io,
    SlotArena, SlotId, Stuck,
};
use iostrata_os::clock::monotonic_ns;
use iostrata_os::thread::Waker;

use crate::live::Live;

/// The longest wait before looking whether the run shall end.
const LOOK_NS: u64 = 50_000_000;

/// An engine of engines.
pub(super) struct Offload {
    spec: &'static EngineSpec,
    config: EngineConfig,
    live: Arc<Live>,
    pool: Arc<Pool>,
}

/// What the worker and its helpers share.
#[derive(Default)]
struct Pool {
    work: Mutex<Work>,
    /// There is something to do, or nothing will be any more.
    todo: Condvar,
    /// Something has been done.
    done: Condvar,
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Io>,
    /// Waiting, or in a helper's hands.
    in_flight: Vec<SlotId>,
    done: Vec<Completion>,
    /// The helpers go home.
    over: bool,
    wakers: Vec<Waker>,
    broken: Option<EngineError>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.lock().over = true;
        self.todo.notify_all();
    }
}

impl Offload {
    pub(super) fn new(spec: &'static EngineSpec, config: EngineConfig, live: Arc<Live>) -> Self {
        Offload { spec, config, live, pool: Arc::default() }
    }
}

impl Engine for Offload {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        // Those of an earlier pass have other files.
        self.pool.end();
        self.pool = Arc::default();
        {
            let mut work = self.pool.lock();
            work.waiting.reserve(depth as usize);
            work.in_flight.reserve(depth as usize);
            work.done.reserve(depth as usize);
        }
        let (tell, told) = mpsc::channel();
        for _ in 0..depth {
            let helper = Helper {
                spec: self.spec,
                config: self.config.clone(),
                files: files.clone(),
                slots: Arc::clone(&slots),
                pool: Arc::clone(&self.pool),
            };
            let tell = tell.clone();
            std::thread::Builder::new().name("offload".into()).spawn(move || helper.live(tell)).map_err(|error| {
                EngineError::System { call: "clone", errno: error.raw_os_error().unwrap_or(libc::EAGAIN) }
            })?;
        }
        drop(tell);
        let mut granted = Granted { depth, used: Vec::new(), notes: Vec::new() };
        for answer in told {
            granted = Granted { depth, ..answer? };
        }
        granted.used.push(format!("{depth} helper threads"));
        Ok(granted)
    }

    fn submit(&mut self, ios: &[Io], _done: &mut Completions) -> Result<usize, EngineError> {
        let mut work = self.pool.lock();
        work.waiting.extend(ios);
        work.in_flight.extend(ios.iter().map(|io| io.slot));
        drop(work);
        if ios.len() == 1 {
            self.pool.todo.notify_one()
        } else {
            self.pool.todo.notify_all()
        }
        Ok(ios.len())
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        let mut work = self.pool.lock();
        loop {
            if let Some(error) = work.broken.take() {
                return Err(error);
            }
            let all = work.in_flight.len() + work.done.len();
            let left_ns = match until {
                Deadline::Now => 0,
                Deadline::At(at_ns) => at_ns.saturating_sub(monotonic_ns()),
                Deadline::Never => u64::MAX,
            };
            let enough = work.done.len() >= (min as usize).min(all);
            if enough || left_ns == 0 || self.live.stop.load(Relaxed) && !work.done.is_empty() {
                done.append(&mut work.done);
                return Ok(());
            }
            if self.live.abandon.load(Relaxed) {
                return Ok(());
            }
            let wait = Duration::from_nanos(left_ns.min(LOOK_NS));
            work = self.pool.done.wait_timeout(work, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        let until_ns = match until {
            Deadline::Now => 0,
            Deadline::At(at_ns) => at_ns,
            Deadline::Never => u64::MAX,
        };
        let mut work = self.pool.lock();
        // What no helper has begun is recalled.
        let recalled: Vec<SlotId> = work.waiting.drain(..).map(|io| io.slot).collect();
        work.in_flight.retain(|slot| !recalled.contains(slot));
        work.done.extend(recalled.iter().map(|&slot| Completion { slot, result: -libc::ECANCELED }));
        while !work.in_flight.is_empty() && monotonic_ns() < until_ns {
            work.wakers.iter().for_each(|waker| _ = waker.wake());
            let wait = Duration::from_nanos(LOOK_NS);
            work = self.pool.done.wait_timeout(work, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        done.append(&mut work.done);
        Stuck { slots: work.in_flight.clone() }
    }
}

impl Drop for Offload {
    /// Helpers that are stuck in a call keep the memory that it works on.
    fn drop(&mut self) {
        self.pool.end();
        let mut work = self.pool.lock();
        let until_ns = monotonic_ns() + LOOK_NS;
        while !work.in_flight.is_empty() && monotonic_ns() < until_ns {
            work = self
                .pool
                .done
                .wait_timeout(work, Duration::from_nanos(LOOK_NS))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// One helper thread.
struct Helper {
    spec: &'static EngineSpec,
    config: EngineConfig,
    files: FileTable,
    slots: Arc<SlotArena>,
    pool: Arc<Pool>,
}

impl Helper {
    fn live(self, tell: Sender<Result<Granted, EngineError>>) {
        let (mut instance, answer) = match self.begin() {
            Ok((instance, granted)) => (instance, Ok(granted)),
            Err(error) => {
                _ = tell.send(Err(error));
                return;
            }
        };
        self.pool.lock().wakers.push(Waker::current());
        let awaited = tell.send(answer).is_ok();
        // The worker hears no more of us than that: it waits until all have answered.
        drop(tell);
        if !awaited {
            return;
        }
        let mut done = Vec::with_capacity(1);
        while let Some(io) = self.next() {
            let outcome = carry_out(&mut instance, &io, &mut done);
            let mut work = self.pool.lock();
            work.in_flight.retain(|slot| *slot != io.slot);
            match outcome {
                Ok(result) => work.done.push(Completion { slot: io.slot, result }),
                Err(error) => work.broken = Some(error),
            }
            drop(work);
            self.pool.done.notify_one();
        }
    }

    fn begin(&self) -> Result<(Instance, Granted), EngineError> {
        let mut instance = (self.spec.make)(&self.config)?;
        let granted = match &mut instance {
            Instance::Async(engine) => engine.attach(&self.files, Arc::clone(&self.slots), 1)?,
            Instance::Sync(engine) => engine.attach(&self.files, Arc::clone(&self.slots))?,
            Instance::Task(_) => return Err(EngineError::Unsupported("it has no requests to offload".into())),
        };
        Ok((instance, granted))
    }

    fn next(&self) -> Option<Io> {
        let mut work = self.pool.lock();
        loop {
            if let Some(io) = work.waiting.pop_front() {
                return Some(io);
            }
            if work.over {
                return None;
            }
            work = self.pool.todo.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// One request from beginning to end.
fn carry_out(instance: &mut Instance, io: &Io, done: &mut Vec<Completion>) -> Result<i32, EngineError> {
    match instance {
        Instance::Sync(engine) => Ok(engine.call(io)),
        Instance::Task(_) => Ok(-libc::EINVAL),
        Instance::Async(engine) => {
            while engine.submit(std::slice::from_ref(io), done)? == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
            while done.is_empty() {
                engine.reap(1, Deadline::Never, done)?;
            }
            Ok(done.pop().map_or(-libc::EIO, |completion| completion.result))
        }
    }
}
