//! The threads of `verify_async`: they check copies of what was read, so that the worker's buffer is free at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use iostrata_os::thread::pin_current;

use super::checker::{Checker, Place};

/// A block on its way to a thread.
struct Task {
    bytes: Vec<u8>,
    place: Place,
}

/// What the threads and the worker share.
#[derive(Default)]
struct Shared {
    /// Blocks that are not checked yet.
    pending: Mutex<u64>,
    idle: Condvar,
    faulty: AtomicBool,
    faults: Mutex<Vec<String>>,
    /// Buffers to be used again.
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Blocks that may wait for a thread, for each thread; the worker checks further ones itself.
const WAITING_PER_THREAD: u64 = 64;

/// The threads; they end when it is dropped.
pub(super) struct Pool {
    tasks: Option<Sender<Task>>,
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts `count` threads, on `cpus` unless that is empty.
    pub(super) fn start(checker: &Arc<Checker>, count: u32, cpus: &[u32]) -> std::io::Result<Pool> {
        let (tasks, queue) = channel::<Task>();
        let queue = Arc::new(Mutex::new(queue));
        let mut pool = Pool { tasks: Some(tasks), shared: Arc::default(), threads: Vec::new() };
        for _ in 0..count {
            let (checker, queue, shared) = (Arc::clone(checker), Arc::clone(&queue), Arc::clone(&pool.shared));
            let cpus = cpus.to_vec();
            pool.threads.push(std::thread::Builder::new().name("verify".into()).spawn(move || {
                iostrata_os::signals::block_in_this_thread();
                if !cpus.is_empty()
                    && let Err(error) = pin_current(&cpus)
                {
                    locked(&shared.faults).push(format!("verify_async_cpus: {}", crate::error::plain(&error)));
                    shared.faulty.store(true, Ordering::Release);
                }
                check_all(&checker, &queue, &shared);
            })?);
        }
        Ok(pool)
    }

    /// Hands a block to a thread; false if too many wait already.
    pub(super) fn give(&self, bytes: &[u8], place: Place) -> bool {
        let Some(tasks) = &self.tasks else { return false };
        {
            let mut pending = locked(&self.shared.pending);
            if *pending >= WAITING_PER_THREAD * self.threads.len() as u64 {
                return false;
            }
            *pending += 1;
        }
        let mut copy = locked(&self.shared.spare).pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        tasks.send(Task { bytes: copy, place }).is_ok()
    }

    /// What was found wrong since the last look.
    pub(super) fn fault(&self) -> Option<String> {
        if !self.shared.faulty.load(Ordering::Acquire) {
            return None;
        }
        self.shared.faulty.store(false, Ordering::Release);
        locked(&self.shared.faults).drain(..).reduce(|all, fault| format!("{all}; {fault}"))
    }

    /// Waits until all is checked.
    pub(super) fn wait(&self) {
        let mut pending = locked(&self.shared.pending);
        while *pending > 0 && self.threads.iter().any(|thread| !thread.is_finished()) {
            pending = self.shared.idle.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic in there has been told of by the panic hook; the blocks it had stay unchecked and pending.
            let _ = thread.join();
        }
    }
}

fn check_all(checker: &Checker, queue: &Mutex<Receiver<Task>>, shared: &Shared) {
    loop {
        let task = locked(queue).recv();
        let Ok(Task { mut bytes, place }) = task else { return };
        if let Some(fault) = checker.check(&mut bytes, place) {
            locked(&shared.faults).push(fault);
            shared.faulty.store(true, Ordering::Release);
        }
        locked(&shared.spare).push(bytes);
        *locked(&shared.pending) -= 1;
        shared.idle.notify_all();
    }
}
