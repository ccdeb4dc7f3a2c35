//! `--debug`: what the coordinator can tell of a run, as lines. Workers tell nothing while they work: their states are
//! looked at, and what they did stands in their result.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iostrata_result::RunResult;
use iostrata_spec::{Debug, Seed, Topic, VerifyMethod};

use crate::collect::workload_name;
use crate::live::{Live, State};
use crate::plan::{Plan, WorkerPlan};

/// A line of a trace, with its line end.
pub fn trace_line(topic: Topic, job: u32, text: &str) -> String {
    format!("{:<11} {job:<5} {text}\n", topic.word())
}

/// Follows a run.
pub(crate) struct Tracer {
    debug: Debug,
    /// The state that each worker was last seen in.
    seen: Vec<State>,
}

impl Tracer {
    pub(crate) fn new(debug: Debug, plan: &Plan) -> Tracer {
        let workers = if debug.any() { plan.workers.len() } else { 0 };
        Tracer { debug, seen: vec![State::NotStarted; workers] }
    }

    /// Whether states are looked at at all.
    pub(crate) fn tells_states(&self) -> bool {
        !self.seen.is_empty()
    }

    fn say(&self, lines: &mut Vec<String>, topic: Topic, worker: &WorkerPlan, text: impl FnOnce() -> String) {
        if self.debug.traces(topic, worker.thread_number) {
            lines.push(trace_line(topic, worker.thread_number, &format!("{}: {}", worker.job.name, text())));
        }
    }

    /// What is about to run.
    pub(crate) fn planned(&self, plan: &Plan) -> Vec<String> {
        let mut lines = Vec::new();
        for worker in plan.workers.iter().filter(|_| self.debug.any()) {
            self.job(worker, &mut lines);
            for file in &worker.files {
                self.say(&mut lines, Topic::File, worker, || {
                    let there = file.kind.map_or("not there yet".into(), |kind| format!("{kind:?}").to_lowercase());
                    let (path, start, length) = (file.path.display(), file.region_start, file.region_bytes);
                    format!("{path} ({there}), {} bytes; I/O from {start} for {length} bytes", file.file_bytes)
                });
            }
        }
        lines
    }

    fn job(&self, worker: &WorkerPlan, lines: &mut Vec<String>) {
        let job = &worker.job;
        self.say(lines, Topic::Job, worker, || {
            let [read, write, trim] = job.block_sizes().map(|sizes| format!("{}-{}", sizes.min(), sizes.max()));
            format!(
                "clone {} of {} in group {}, stage {}: {} by {}, depth {}, blocks {read}, {write}, {trim}, {} bytes",
                worker.clone + 1,
                job.clones,
                worker.group,
                worker.stage,
                workload_name(job),
                job.engine,
                job.depth,
                worker.io_bytes
            )
        });
        self.say(lines, Topic::Random, worker, || {
            let origin = match job.seed {
                Seed::Repeat => "the one of randrepeat",
                Seed::Fixed(_) => "randseed",
                Seed::Fresh => "drawn for this run",
            };
            format!("seed {:#x} ({origin}), offsets by {:?}", worker.seed, job.shape.distribution)
        });
        self.say(lines, Topic::Mem, worker, || {
            let largest = job.block_sizes().map(|sizes| sizes.max()).into_iter().max().unwrap_or(0);
            format!("{} buffers of {largest} bytes", job.depth)
        });
        self.say(lines, Topic::Time, worker, || {
            format!(
                "starts after {} ms, ramp {} ms, runtime {} ms{}, {} loops",
                job.start_delay_ns.0 / 1_000_000,
                job.ramp_ns / 1_000_000,
                job.runtime_ns / 1_000_000,
                if job.time_based { " (time based)" } else { "" },
                job.loops
            )
        });
        if job.rate.bytes.to_array().iter().chain(&job.rate.iops.to_array()).any(Option::is_some) {
            self.say(lines, Topic::Rate, worker, || {
                format!("bytes a second {:?}, I/Os a second {:?}", job.rate.bytes.to_array(), job.rate.iops.to_array())
            });
        }
        if job.verify.method != VerifyMethod::None {
            self.say(lines, Topic::Verify, worker, || format!("blocks are checked by {:?}", job.verify.method));
        }
        if job.steady.duration_ns > 0 {
            self.say(lines, Topic::SteadyState, worker, || format!("{:?}", job.steady));
        }
        if job.logs.compressed {
            let bytes = job.logs.compressed_bytes.map_or("the usual".into(), |bytes| bytes.to_string());
            self.say(lines, Topic::Compress, worker, || format!("logs are compressed, {bytes} bytes together"));
        }
    }

    /// Workers that are in another state than when last looked at.
    pub(crate) fn states(&mut self, plan: &Plan, lives: &[Arc<Live>]) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, (worker, live)) in plan.workers.iter().zip(lives).enumerate().take(self.seen.len()) {
            let state = live.state();
            if std::mem::replace(&mut self.seen[index], state) != state {
                self.say(&mut lines, Topic::Process, worker, || {
                    format!("thread {} is {state:?}, {} I/Os done", live.tid.load(Relaxed), live.ios())
                });
            }
        }
        lines
    }

    /// What came of it.
    pub(crate) fn ended(&self, plan: &Plan, result: &RunResult) -> Vec<String> {
        let mut lines = Vec::new();
        for (worker, did) in plan.workers.iter().zip(&result.workers).filter(|_| self.debug.any()) {
            self.say(&mut lines, Topic::Process, worker, || {
                let error = did.error_text.as_deref().unwrap_or("no error");
                let used = did.engine_used.join(", ");
                let used = if used.is_empty() { "nothing special" } else { &used };
                format!("thread {} used {used}; {error}", did.pid)
            });
            self.say(&mut lines, Topic::Time, worker, || {
                format!("ended after {} us, measured for {} us", did.elapsed_ns / 1000, did.measured_ns / 1000)
            });
        }
        if self.debug.traces(Topic::DiskUtil, self.debug.only_job.unwrap_or(0)) {
            let disk = |disk: &iostrata_result::DiskUse| {
                let text = format!("{}: {} ms busy of {} ms", disk.name, disk.busy_ms, disk.window_ms);
                trace_line(Topic::DiskUtil, 0, &text)
            };
            lines.extend(result.disks.iter().map(disk));
        }
        lines
    }
}
