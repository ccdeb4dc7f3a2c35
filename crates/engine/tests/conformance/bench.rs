//! One engine with its files and buffers, driven the way the worker loop drives it.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use iostrata_engine::{
    Availability, Completions, Deadline, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op,
    SlotArena, SlotId, Stuck, World,
};
use iostrata_spec::EngineOptions;

/// Bytes in a block of all stories.
pub(crate) const BLOCK: u64 = 4096;

/// One request of a story.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) op: Op,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Where in its slot the bytes start.
    pub(crate) slot_offset: u32,
}

/// A request of one whole block.
pub(crate) fn request(op: Op, offset: u64) -> Request {
    let len = if matches!(op, Op::Sync | Op::DataSync) { 0 } else { BLOCK as u32 };
    Request { op, offset, len, slot_offset: 0 }
}

/// A made engine.
pub(crate) struct Bench {
    pub(crate) instance: Instance,
    pub(crate) arena: Arc<SlotArena>,
    pub(crate) granted: Granted,
    pub(crate) done: Completions,
    world: Option<Arc<World>>,
}

/// The engines that can run here; the others are named.
pub(crate) fn engines() -> impl Iterator<Item = &'static EngineSpec> {
    // What a remote one needs is a server, which the tests of the whole program start; others need devices.
    let near = iostrata_engine::engines().iter().filter(|engine| !engine.caps.remote && engine.caps.devices.is_none());
    near.filter(|engine| match (engine.availability)() {
        Availability::Here => true,
        Availability::Missing(reason) => {
            eprintln!("SKIP: {}: {reason}", engine.name);
            false
        }
    })
}

/// The engines that move data from and to files, in the manners that they have.
pub(crate) fn on_files() -> Vec<(&'static EngineSpec, EngineOptions, &'static str)> {
    let movers =
        engines().filter(|engine| engine.caps.opens_files() && engine.caps.moves_data && engine.caps.devices.is_none());
    let plain = movers.map(|engine| (engine, EngineOptions::default(), ""));
    let mut all: Vec<_> = plain.collect();
    if let Some(&(uring, ..)) = all.iter().find(|(engine, ..)| engine.name == "io_uring") {
        let base = EngineOptions::default;
        all.extend([
            (uring, EngineOptions { fixed_buffers: true, register_files: true, ..base() }, " fixedbufs registerfiles"),
            (uring, EngineOptions { vectored: true, ..base() }, " nonvectored=0"),
            (uring, EngineOptions { sq_poll: true, ..base() }, " sqthread_poll"),
            (uring, EngineOptions { force_async: 2, ..base() }, " force_async=2"),
        ]);
    }
    if let Some(&(libaio, ..)) = all.iter().find(|(engine, ..)| engine.name == "libaio") {
        let options = EngineOptions { vectored_aio: true, userspace_reap: true, ..EngineOptions::default() };
        all.push((libaio, options, " libaio_vectored userspace_reap"));
    }
    all
}

impl Bench {
    /// Makes an engine for one file.
    pub(crate) fn new(
        spec: &EngineSpec,
        options: &EngineOptions,
        fd: RawFd,
        direct: bool,
        depth: u32,
    ) -> Result<Bench, EngineError> {
        let world = spec.caps.virtual_time.then(World::new);
        if let Some(world) = &world {
            world.enter(0, 0);
            world.wait_turn(0);
        }
        let config = EngineConfig { file_sizes: vec![1 << 20], world: world.clone(), ..EngineConfig::of(options) };
        let mut instance = (spec.make)(&config)?;
        let depth = if let Instance::Sync(_) = instance { 1 } else { depth };
        let arena = SlotArena::new(depth, BLOCK as usize, 4096).expect("map");
        let files = FileTable::new(vec![fd], direct);
        let granted = match &mut instance {
            Instance::Async(engine) => engine.attach(&files, Arc::clone(&arena), depth)?,
            Instance::Sync(engine) => engine.attach(&files, Arc::clone(&arena))?,
            Instance::Task(_) => panic!("{} takes no requests", spec.name),
        };
        Ok(Bench { instance, arena, granted, done: Completions::with_capacity(depth as usize), world })
    }

    /// Carries out all requests, as many at once as the engine holds. `fill` makes the bytes that a write takes,
    /// `check` sees the result and the bytes of each.
    pub(crate) fn run(
        &mut self,
        requests: &[Request],
        mut fill: impl FnMut(&Request, &mut [u8]),
        mut check: impl FnMut(&Request, i32, &[u8]),
    ) {
        let mut free: Vec<SlotId> = (0..self.granted.depth).collect();
        let mut in_slot: Vec<Option<Request>> = vec![None; self.granted.depth as usize];
        let mut waiting = requests.iter();
        let mut batch: Vec<Io> = Vec::new();
        let mut left = requests.len();
        while left > 0 {
            while let Some(slot) = free.pop() {
                let Some(&next) = waiting.next() else {
                    free.push(slot);
                    break;
                };
                self.arena.with_bytes(slot, |bytes| fill(&next, bytes));
                in_slot[slot as usize] = Some(next);
                batch.push(io(&next, slot));
            }
            self.step(&mut batch);
            for end in self.done.drain(..) {
                let request = in_slot[end.slot as usize].take().expect("each request is answered once");
                self.arena.with_bytes(end.slot, |bytes| check(&request, end.result, bytes));
                free.push(end.slot);
                left -= 1;
            }
        }
    }

    /// Submits what can be submitted, and waits for one completion.
    fn step(&mut self, batch: &mut Vec<Io>) {
        match &mut self.instance {
            Instance::Async(engine) => {
                let taken = engine.submit(batch, &mut self.done).expect("submit");
                batch.drain(..taken);
                engine.reap(1, Deadline::Never, &mut self.done).expect("reap");
            }
            Instance::Task(_) => {}
            Instance::Sync(engine) => self.done.extend(
                batch.drain(..).map(|io| iostrata_engine::Completion { slot: io.slot, result: engine.call(&io) }),
            ),
        }
    }

    /// The result of one request.
    pub(crate) fn one(&mut self, request: Request) -> i32 {
        let mut result = None;
        self.run(&[request], |_, _| (), |_, got, _| result = Some(got));
        result.expect("answered")
    }

    /// The engine, if it holds requests in flight.
    pub(crate) fn asynchronous(&mut self) -> Option<&mut Box<dyn iostrata_engine::Engine>> {
        match &mut self.instance {
            Instance::Async(engine) => Some(engine),
            Instance::Sync(_) | Instance::Task(_) => None,
        }
    }

    /// Puts `requests` in flight, slot 0 upward, without reaping; how many were taken before the engine took no more.
    pub(crate) fn put_in_flight(&mut self, requests: &[Request]) -> usize {
        let ios: Vec<Io> = (0..).zip(requests).map(|(slot, request)| io(request, slot)).collect();
        let Bench { instance: Instance::Async(engine), done, .. } = self else { return 0 };
        let mut taken = 0;
        while taken < ios.len() {
            match engine.submit(&ios[taken..], done).expect("submit") {
                0 => break,
                more => taken += more,
            }
        }
        taken
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(world) = &self.world {
            world.leave(0);
        }
    }
}

fn io(request: &Request, slot: SlotId) -> Io {
    Io { offset: request.offset, slot_offset: request.slot_offset, len: request.len, slot, ..Io::of(request.op) }
}

/// A deadline so long from now.
pub(crate) fn monotonic(after: Duration) -> Deadline {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    Deadline::At(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + after.as_nanos() as u64)
}

/// Cancels and drains, within so long a time.
pub(crate) fn quiesce(bench: &mut Bench, within: Duration) -> Stuck {
    let mut done = std::mem::take(&mut bench.done);
    let stuck = bench.asynchronous().expect("asynchronous").quiesce(monotonic(within), &mut done);
    bench.done = done;
    stuck
}

/// The numbers from 0 to below `count` in an order that looks random and is the same every time.
pub(crate) fn shuffled(count: u64, salt: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|number| (number + salt * 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31));
    order
}
