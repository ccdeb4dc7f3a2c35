//! What the coordinator attends to besides the jobs: full reports while they run, and the trigger that ends the run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostrata_os::clock::monotonic_ns;
use iostrata_os::signals;

/// A time that does not come.
const NEVER: u64 = u64::MAX;
/// How often files are looked for that ask for something, nanoseconds.
const LOOK_NS: u64 = 100_000_000;
/// Who makes a file of this name in the folder for temporary files asks for a report, as in fio.
const ASKING_FILE: &str = "fio-dump-status";

/// `--trigger` and its kin: something that ends the run and starts a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The trigger fires when this file is there; it is removed.
    pub file: Option<PathBuf>,
    /// It fires so long after the start, nanoseconds.
    pub after_ns: Option<u64>,
    /// The shell command.
    pub command: Option<String>,
}

/// When to do what.
pub(crate) struct Attendance {
    status_ns: Option<u64>,
    next_status_ns: u64,
    snapshot_ns: Option<u64>,
    next_snapshot_ns: u64,
    next_look_ns: u64,
    asking_file: PathBuf,
    trigger: Trigger,
    fires_at_ns: u64,
    /// Whether the trigger has fired.
    pub(crate) fired: bool,
}

impl Attendance {
    pub(crate) fn new(status_ns: Option<u64>, snapshot_ns: Option<u64>, trigger: &Trigger, now_ns: u64) -> Self {
        let at = |after_ns: Option<u64>| after_ns.map_or(NEVER, |after_ns| now_ns.saturating_add(after_ns));
        Attendance {
            status_ns,
            next_status_ns: at(status_ns),
            snapshot_ns,
            next_snapshot_ns: at(snapshot_ns),
            next_look_ns: now_ns,
            asking_file: std::env::temp_dir().join(ASKING_FILE),
            fires_at_ns: at(trigger.after_ns),
            trigger: trigger.clone(),
            fired: false,
        }
    }

    /// When there is something to do again.
    pub(crate) fn next_ns(&self) -> u64 {
        let look_ns = if self.trigger.file.is_some() { self.next_look_ns } else { NEVER };
        let fires_at_ns = if self.fired { NEVER } else { self.fires_at_ns };
        self.next_status_ns.min(self.next_snapshot_ns).min(look_ns).min(fires_at_ns)
    }

    /// Whether it is time for what others look at from outside.
    pub(crate) fn snapshot_is_due(&mut self) -> bool {
        let now_ns = monotonic_ns();
        let due = now_ns >= self.next_snapshot_ns;
        if due {
            self.next_snapshot_ns = now_ns.saturating_add(self.snapshot_ns.unwrap_or(NEVER));
        }
        due
    }

    /// Whether a report is due: by time, by SIGUSR1, or by a file.
    pub(crate) fn status_is_due(&mut self) -> bool {
        let now_ns = monotonic_ns();
        let mut due = signals::take_status_request();
        if now_ns >= self.next_status_ns {
            self.next_status_ns = now_ns.saturating_add(self.status_ns.unwrap_or(NEVER));
            due = true;
        }
        if now_ns >= self.next_look_ns {
            due |= taken(&self.asking_file);
        }
        due
    }

    /// Whether the trigger fires now. Afterwards the run must end, and [`Attendance::finish`] be called.
    pub(crate) fn trigger_fires(&mut self) -> bool {
        let now_ns = monotonic_ns();
        let mut fires = now_ns >= self.fires_at_ns;
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns.saturating_add(LOOK_NS);
            fires |= self.trigger.file.as_deref().is_some_and(taken);
        }
        let first = fires && !self.fired;
        self.fired |= fires;
        first
    }

    /// The run has ended: the command of a trigger that fired is carried out. A sentence if it failed.
    pub(crate) fn finish(&self) -> Option<String> {
        let command = self.trigger.command.as_ref().filter(|_| self.fired)?;
        match Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::null()).status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("the trigger command `{command}` failed ({status})")),
            Err(error) => Some(format!("the trigger command `{command}` could not be started: {error}")),
        }
    }
}

/// Whether a file was there; it is removed, so that it asks once.
fn taken(file: &Path) -> bool {
    file.exists() && std::fs::remove_file(file).is_ok()
}
