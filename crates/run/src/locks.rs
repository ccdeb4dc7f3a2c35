//! `lockfile`: jobs of one run that keep away from a file while another one is at it.
//!
//! A worker never waits for a file while it is at another one, so that no two can wait for each other: it asks, and
//! while it may not go in it lets what it has in flight come back. One that has nothing in flight waits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iostrata_engine::{FileId, Op};
use iostrata_spec::FileLock;

use crate::plan::WorkerPlan;

/// How long to wait before the worker looks again at whether it has to stop.
const PATIENCE: Duration = Duration::from_millis(10);

/// Who is at a file.
#[derive(Default)]
struct Inside {
    /// Workers that share it.
    readers: u32,
    /// A worker that has it alone.
    alone: bool,
    /// Workers that wait.
    waiting: u32,
}

/// The door to one file.
#[derive(Default)]
struct Door {
    inside: Mutex<Inside>,
    changed: Condvar,
}

impl Door {
    fn look(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, shared: bool) -> bool {
        let mut inside = self.look();
        let free = !inside.alone && (shared || inside.readers == 0);
        if free && shared {
            inside.readers += 1;
        } else if free {
            inside.alone = true;
        }
        free
    }

    fn leave(&self, shared: bool) {
        let mut inside = self.look();
        if shared {
            inside.readers -= 1;
        } else {
            inside.alone = false;
        }
        self.changed.notify_all();
    }

    /// Waits until somebody left, or patience ends.
    fn wait(&self, shared: bool) {
        let mut inside = self.look();
        if inside.alone || (!shared && inside.readers > 0) {
            inside.waiting += 1;
            inside = self.changed.wait_timeout(inside, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            inside.waiting -= 1;
        }
    }
}

/// The doors to all files of a run.
#[derive(Default)]
pub(crate) struct Doors(Mutex<HashMap<PathBuf, Arc<Door>>>);

impl Doors {
    /// A worker's keys; none if its job locks nothing.
    pub(crate) fn keys_for(&self, plan: &WorkerPlan) -> Option<Box<Keys>> {
        let mode = plan.job.file_lock;
        if mode == FileLock::None || plan.engine.caps.diskless {
            return None;
        }
        let doors = plan.files.iter().map(|file| (self.door(&file.path), [0; 2])).collect();
        Some(Box::new(Keys { mode, doors, in_flight: 0 }))
    }

    fn door(&self, path: &Path) -> Arc<Door> {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_default())
    }
}

/// What a worker has in flight behind each door.
pub(crate) struct Keys {
    mode: FileLock,
    /// With the number of requests that have a file to themselves, and of those that share it.
    doors: Vec<(Arc<Door>, [u32; 2])>,
    in_flight: u32,
}

impl Keys {
    /// Whether a request may begin; then it is inside. Waits a little where the worker is nowhere inside.
    pub(crate) fn enter(&mut self, file: FileId, op: Op) -> bool {
        let shared = self.shares(op);
        let Some((door, inside)) = self.doors.get_mut(file as usize) else { return true };
        let enters = match *inside {
            [0, 0] => door.enter(shared),
            // Whoever is inside lets those who wait go first.
            _ => inside[usize::from(!shared)] == 0 && door.look().waiting == 0,
        };
        if enters {
            inside[usize::from(shared)] += 1;
            self.in_flight += 1;
        } else if self.in_flight == 0 {
            door.wait(shared);
        }
        enters
    }

    /// A request that was inside is over.
    pub(crate) fn leave(&mut self, file: FileId, op: Op) {
        let shared = self.shares(op);
        let Some((door, inside)) = self.doors.get_mut(file as usize) else { return };
        inside[usize::from(shared)] -= 1;
        self.in_flight -= 1;
        if *inside == [0, 0] {
            door.leave(shared);
        }
    }

    fn shares(&self, op: Op) -> bool {
        self.mode == FileLock::ReadWrite && op == Op::Read
    }
}

impl Drop for Keys {
    /// What was given up is inside no more.
    fn drop(&mut self) {
        for (door, inside) in self.doors.iter().filter(|(_, inside)| *inside != [0, 0]) {
            door.leave(inside[1] > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(doors: &Doors, mode: FileLock, names: &[&str]) -> Keys {
        let doors = names.iter().map(|name| (doors.door(Path::new(name)), [0; 2])).collect();
        Keys { mode, doors, in_flight: 0 }
    }

    #[test]
    fn only_one_is_at_an_exclusive_file_and_those_who_left_let_others_in() {
        let doors = Doors::default();
        let mut one = keys(&doors, FileLock::Exclusive, &["/no/a", "/no/b"]);
        let mut other = keys(&doors, FileLock::Exclusive, &["/no/b", "/no/a"]);
        assert!(one.enter(0, Op::Read) && one.enter(0, Op::Write), "a worker does not lock itself out");
        assert!(!other.enter(1, Op::Read) && other.enter(0, Op::Read));
        one.leave(0, Op::Read);
        assert!(!other.enter(1, Op::Read), "one request is inside still");
        one.leave(0, Op::Write);
        assert!(other.enter(1, Op::Read) && !one.enter(0, Op::Read));
        drop(other);
        assert!(one.enter(0, Op::Read), "who has gone holds nothing");
    }

    #[test]
    fn readers_share_a_file_and_a_writer_has_it_alone() {
        let doors = Doors::default();
        let mut one = keys(&doors, FileLock::ReadWrite, &["/no/a"]);
        let mut other = keys(&doors, FileLock::ReadWrite, &["/no/a"]);
        assert!(one.enter(0, Op::Read) && other.enter(0, Op::Read));
        assert!(!one.enter(0, Op::Write), "its own reads must come back first, and those of the other");
        one.leave(0, Op::Read);
        assert!(!one.enter(0, Op::Write));
        other.leave(0, Op::Read);
        assert!(one.enter(0, Op::Write) && !other.enter(0, Op::Read) && !one.enter(0, Op::Read));
    }

    #[test]
    fn whoever_is_inside_lets_those_who_wait_go_first() {
        let doors = Arc::new(Doors::default());
        let mut one = keys(&doors, FileLock::Exclusive, &["/no/a"]);
        assert!(one.enter(0, Op::Write));
        let waiter = std::thread::spawn({
            let doors = Arc::clone(&doors);
            move || {
                let mut other = keys(&doors, FileLock::Exclusive, &["/no/a"]);
                while !other.enter(0, Op::Write) {}
            }
        });
        // With a second request always under way it would never be let in, were it not let go first.
        let mut refused = false;
        while !refused {
            refused = !one.enter(0, Op::Write);
            if !refused {
                one.leave(0, Op::Write);
            }
        }
        one.leave(0, Op::Write);
        waiter.join().unwrap();
    }
}
