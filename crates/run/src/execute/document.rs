//! The document of a run, at its end or while it goes on.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_os::clock::{monotonic_ns, unix_ms};
use iostrata_os::host;
use iostrata_result::{End, FORMAT_VERSION, Host, Note, RunResult};

use super::{Run, VIRTUAL_START_NS};
use crate::collect::{Collected, Times, collect};
use crate::error::NO_ANSWER;
use crate::idle::IdleWatch;
use crate::live::{Live, State};
use crate::plan::WorkerPlan;
use crate::worker::Time;

impl Run<'_> {
    /// The document of what is known now.
    pub(super) fn result(&mut self) -> RunResult {
        self.result_as(self.signal.map_or(End::Finished, End::Signal))
    }

    /// The same, of a run that ended so, or goes on.
    pub(super) fn result_as(&mut self, end: End) -> RunResult {
        let real = !self.plan.virtual_time;
        let end_ns =
            if real { monotonic_ns() } else { self.lives.iter().map(|l| l.end_ns.load(Relaxed)).max().unwrap_or(0) };
        let times = Times {
            run_start_ns: if real { self.start_ns } else { VIRTUAL_START_NS },
            run_start_unix_ms: real.then_some(self.start_unix_ms),
            now_ns: end_ns,
        };
        let mut notes = [&self.context.notes[..], &self.remarks].concat();
        // Clones say the same thing once.
        let mut said: HashSet<Note> = notes.iter().cloned().collect();
        let mut workers = Vec::with_capacity(self.lives.len());
        for (index, (plan, live)) in self.plan.workers.iter().zip(&self.lives).enumerate() {
            let Collected { mut result, notes: own } = collect(plan, live, self.groups[index].as_deref(), times);
            if let Some(fault) = self.faults.get(&index) {
                result.error = fault.errno;
                result.error_text = Some(fault.to_string());
            } else if end == End::Running {
                // What is in flight is not lost yet.
                result.censored = 0;
            } else if !live.has_ended() && live.state() != State::NotStarted {
                result.error = libc::ETIMEDOUT;
                result.error_text = Some(format!("job {}: {}", plan.job.name, self.left_behind(plan, live)));
            }
            if end != End::Running {
                // Nor does one that never began need any more time.
                result.eta_s = Some(0);
            }
            workers.push(result);
            notes.extend(own.into_iter().filter(|note| said.insert(note.clone())));
        }
        RunResult {
            format_version: FORMAT_VERSION,
            tool_version: self.context.tool_version.clone(),
            started_unix_ms: if real { self.start_unix_ms } else { 0 },
            taken_unix_ms: if real { unix_ms() } else { (end_ns.saturating_sub(VIRTUAL_START_NS) / 1_000_000) as i64 },
            host: if real { self.host() } else { virtual_host() },
            command_line: self.context.command_line.clone(),
            global_options: self.context.global_options.clone(),
            workers,
            disks: if real { self.disks.used(end_ns) } else { Vec::new() },
            timeline: Some(match end {
                End::Running => self.over_time.so_far(),
                _ => self.over_time.whole(&self.lives, end_ns),
            }),
            cpu_idleness: self.idle.as_ref().and_then(IdleWatch::read),
            notes,
            end,
        }
    }

    /// The sentence for a worker that sits in a system call which does not return.
    fn left_behind(&self, plan: &WorkerPlan, live: &Live) -> String {
        let path_of = |file: u32| plan.files.get(file as usize).map(|file| file.path.display().to_string());
        let place = match (live.state(), live.current_place()) {
            (State::SettingUp, _) => format!("opening {}", path_of(0).unwrap_or_default()),
            (_, Some(("fsync", file, _))) => format!("fsync of {}", path_of(file).unwrap_or_default()),
            (_, Some((operation, file, offset))) => {
                format!("{operation} of {}, offset {offset}", path_of(file).unwrap_or_default())
            }
            _ => "a request".into(),
        };
        format!("{place}: it never came back: {NO_ANSWER}")
    }

    fn host(&self) -> Host {
        let (clock, error_ns) = match &self.time {
            Time::Real(clock) => (clock.source().name(), u64::from(clock.source().error_ns())),
            Time::Virtual(_) => ("virtual", 0),
        };
        Host {
            name: host::host_name(),
            os: host::os_release(),
            arch: host::arch(),
            cpus: host::online_cpus(),
            clock: clock.to_string(),
            clock_error_ns: error_ns,
        }
    }
}

/// A run in virtual time is the same on every machine.
fn virtual_host() -> Host {
    let word = || "virtual".to_string();
    Host { name: word(), os: word(), arch: word(), cpus: 1, clock: word(), clock_error_ns: 0 }
}
