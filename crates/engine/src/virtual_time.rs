//! Virtual time for `sim` runs: the workers' clocks, and the baton that lets one of them run at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The virtual time that the workers of one run share.
///
/// Each worker has a clock of its own. Exactly one of them runs at a time: when it waits, the baton goes to the worker
/// with the smallest time (of equal times the smallest number). What they do is therefore a function of their inputs
/// alone, however the machine schedules their threads.
///
/// For that the workers that start together must all have entered before the first of their threads runs. A worker
/// that cannot start must leave again; any thread may say so for it.
#[derive(Debug, Default)]
pub struct World {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// All workers that ever entered, by number.
    workers: Vec<Worker>,
    /// Those that have not left: time and number.
    present: BTreeSet<(u64, u32)>,
    /// The one that runs; `None` until the first of `present` asks for its turn.
    baton: Option<u32>,
    /// Who is told when all have come to a moment.
    watcher: Option<Watcher>,
}

struct Watcher {
    next_ns: u64,
    tell: Box<dyn FnMut(u64) -> u64 + Send>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("next_ns", &self.next_ns).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Worker {
    now_ns: u64,
    /// Woken when the baton may be this worker's.
    turn: Arc<Condvar>,
}

impl World {
    /// An empty world.
    pub fn new() -> Arc<World> {
        Arc::default()
    }

    /// From now on `tell` is called when no worker's clock is before `first_ns` any more; it answers the next such
    /// moment, which must be later. Meanwhile no worker runs; `tell` must not ask anything of the world.
    pub fn watch(&self, first_ns: u64, tell: impl FnMut(u64) -> u64 + Send + 'static) {
        self.lock().watcher = Some(Watcher { next_ns: first_ns, tell: Box::new(tell) });
    }

    /// Puts a worker into the world, its clock at `at_ns`. The coordinator calls it before the worker's thread starts.
    pub fn enter(&self, worker: u32, at_ns: u64) {
        let mut state = self.lock();
        let index = worker as usize;
        if state.workers.len() <= index {
            state.workers.resize_with(index + 1, Worker::default);
        }
        let before = std::mem::replace(&mut state.workers[index].now_ns, at_ns);
        state.present.remove(&(before, worker));
        state.present.insert((at_ns, worker));
    }

    /// Blocks until it is the worker's turn. The worker's thread calls it before anything else.
    pub fn wait_turn(&self, worker: u32) {
        drop(self.await_baton(self.lock(), worker));
    }

    /// The worker's clock, nanoseconds; 0 for one that never entered.
    pub fn now_ns(&self, worker: u32) -> u64 {
        self.lock().now_ns(worker)
    }

    /// Moves the worker's clock to `at_ns` (never back), hands on the baton, and returns when it is this worker's turn
    /// again.
    pub fn wait_until(&self, worker: u32, at_ns: u64) {
        let mut state = self.lock();
        let before = state.now_ns(worker);
        if !state.present.remove(&(before, worker)) {
            return; // it has left: nobody waits for it, and it waits for nobody
        }
        let now = before.max(at_ns);
        state.workers[worker as usize].now_ns = now;
        state.present.insert((now, worker));
        if state.baton == Some(worker) {
            state.hand_on();
        }
        drop(self.await_baton(state, worker));
    }

    /// Takes the worker out of the world, hands on the baton if it held it, and answers its final time.
    pub fn leave(&self, worker: u32) -> u64 {
        let mut state = self.lock();
        let now = state.now_ns(worker);
        state.present.remove(&(now, worker));
        if state.baton == Some(worker) || state.baton.is_none() {
            state.hand_on();
        }
        if let Some(left) = state.workers.get(worker as usize) {
            left.turn.notify_all();
        }
        now
    }

    /// Nothing panics while the lock is held, so a poisoned lock still guards a whole state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks until the worker holds the baton, or is no longer in the world.
    fn await_baton<'a>(&'a self, mut state: MutexGuard<'a, State>, worker: u32) -> MutexGuard<'a, State> {
        loop {
            let now = state.now_ns(worker);
            if state.baton == Some(worker) || !state.present.contains(&(now, worker)) {
                return state;
            }
            if state.baton.is_none() && state.present.first() == Some(&(now, worker)) {
                state.baton = Some(worker);
                return state;
            }
            let turn = Arc::clone(&state.workers[worker as usize].turn);
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn now_ns(&self, worker: u32) -> u64 {
        self.workers.get(worker as usize).map_or(0, |worker| worker.now_ns)
    }

    /// Gives the baton to the first in the world and wakes it.
    fn hand_on(&mut self) {
        if let (Some(watcher), Some(&(now, _))) = (&mut self.watcher, self.present.first()) {
            while watcher.next_ns <= now {
                watcher.next_ns = (watcher.tell)(watcher.next_ns);
            }
        }
        self.baton = self.present.first().map(|&(_, worker)| worker);
        if let Some(next) = self.baton {
            self.workers[next as usize].turn.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Leaves the world also when its thread panics, as a worker must.
    struct Presence(Arc<World>, u32);

    impl Drop for Presence {
        fn drop(&mut self) {
            self.0.leave(self.1);
        }
    }

    /// Three workers that tick at their own pace; what they write down, in the order in which they ran.
    fn story() -> Vec<(u64, u32)> {
        let world = World::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for worker in 0..3 {
            world.enter(worker, 0);
        }
        let threads: Vec<_> = [7u64, 5, 11]
            .into_iter()
            .zip(0..)
            .map(|(step_ns, worker)| {
                let (world, seen) = (Arc::clone(&world), Arc::clone(&seen));
                thread::spawn(move || {
                    world.wait_turn(worker);
                    let _presence = Presence(Arc::clone(&world), worker);
                    for tick in 1..=50u64 {
                        seen.lock().expect("no panic here").push((world.now_ns(worker), worker));
                        world.wait_until(worker, tick * step_ns);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("worker");
        }
        Arc::into_inner(seen).expect("all joined").into_inner().expect("no panic")
    }

    #[test]
    fn workers_run_in_the_order_of_their_clocks_every_time() {
        let first = story();
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(first, sorted, "ordered by time, then by number");
        assert_eq!(first.len(), 150);
        assert_eq!(first, story());
    }

    #[test]
    fn a_watcher_is_told_of_each_of_its_moments_once_all_have_come_to_it() {
        let (world, seen) = (World::new(), Arc::new(Mutex::new(Vec::new())));
        let told = Arc::clone(&seen);
        world.watch(10, move |now_ns| {
            told.lock().expect("no panic here").push(now_ns);
            now_ns + 10
        });
        let seen = || seen.lock().expect("no panic here").clone();
        world.enter(0, 0);
        world.wait_turn(0);
        world.wait_until(0, 9);
        assert_eq!(seen(), [0; 0]);
        world.wait_until(0, 10);
        assert_eq!(seen(), [10]);
        world.wait_until(0, 35);
        assert_eq!(seen(), [10, 20, 30]);
    }

    #[test]
    fn the_clock_never_goes_back_and_leave_tells_it() {
        let world = World::new();
        world.enter(0, 100);
        world.wait_turn(0);
        world.wait_until(0, 50);
        assert_eq!(world.now_ns(0), 100);
        world.wait_until(0, 250);
        assert_eq!(world.leave(0), 250);
        assert_eq!(world.leave(0), 250, "leaving twice is harmless");
    }

    #[test]
    fn a_worker_that_panics_hands_on_the_baton() {
        let world = World::new();
        world.enter(0, 0);
        world.enter(1, 0);
        let doomed = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                world.wait_turn(0);
                let _presence = Presence(Arc::clone(&world), 0);
                panic!("on purpose");
            })
        };
        let heir = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                world.wait_turn(1);
                world.wait_until(1, 10);
                world.leave(1)
            })
        };
        assert!(doomed.join().is_err());
        assert_eq!(heir.join().expect("the other lives on"), 10);
    }

    #[test]
    fn a_worker_that_never_starts_can_be_taken_out_by_another_thread() {
        let world = World::new();
        world.enter(0, 0);
        world.enter(1, 5);
        let waiting = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                world.wait_turn(1);
                world.leave(1)
            })
        };
        assert_eq!(world.leave(0), 0);
        assert_eq!(waiting.join().expect("got its turn"), 5);
    }

    #[test]
    fn a_later_group_starts_where_the_earlier_ended() {
        let world = World::new();
        world.enter(0, 0);
        world.wait_turn(0);
        world.wait_until(0, 1000);
        let end = world.leave(0);
        world.enter(1, end);
        world.wait_turn(1);
        assert_eq!(world.now_ns(1), 1000);
        world.leave(1);
    }
}
