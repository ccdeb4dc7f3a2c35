//! What a person sees while a run goes on: banner, layout lines, the status line; and the document at its end.

use std::sync::Arc;

use iostrata_report::eta::{self, JobState, RateLimits, Row, Traffic};
use iostrata_report::text::one_line;
use iostrata_report::{RenderOptions, text};
use iostrata_result::RunResult;
use iostrata_run::{Event, Plan, Progress, Sink, State, ToMake, WorkerPlan};
use iostrata_spec::{CpuLoad, CpuMode, PerDirection};

use crate::bandwidth::BandwidthLog;
use crate::listen::Listener;
use crate::output::{complain, print};
use crate::screen::Screen;
use crate::status::StatusLines;

/// Collects or prints the text that accompanies a run.
pub(crate) struct Watch {
    render: RenderOptions,
    /// The normal text is asked for: banner and messages are part of it.
    normal: bool,
    /// It goes to standard output as it comes; else it is kept for the file.
    live: bool,
    /// What was kept.
    pub(crate) kept: String,
    /// The status line is wanted.
    pub(crate) eta: bool,
    newline_ns: u64,
    next_newline_ns: u64,
    row: Row,
    workers: Vec<Traffics>,
    limits: Option<RateLimits>,
    /// Reports while the run goes on, as JSON.
    pub(crate) status_lines: Option<StatusLines>,
    /// The bandwidth of all jobs together.
    pub(crate) bandwidth: Option<BandwidthLog>,
    /// Who looks from outside.
    pub(crate) listener: Option<Listener>,
    /// The run fills the screen.
    pub(crate) screen: Option<Screen>,
    /// The document, once there is one.
    pub(crate) result: Option<Box<RunResult>>,
}

#[derive(Clone, Copy)]
struct Traffics {
    traffic: Traffic,
    random: bool,
}

impl Watch {
    pub(crate) fn new(render: RenderOptions, normal: bool, live: bool, eta: bool, newline_ns: u64) -> Self {
        Watch {
            render,
            normal,
            live,
            kept: String::new(),
            eta,
            newline_ns,
            next_newline_ns: newline_ns,
            row: Row::default(),
            workers: Vec::new(),
            limits: None,
            status_lines: None,
            bandwidth: None,
            listener: None,
            screen: None,
            result: None,
        }
    }

    fn say(&mut self, text: &str) {
        if self.live {
            // A closed standard output is told of when the report is written.
            let _ = print(text);
        } else {
            self.kept.push_str(text);
        }
    }

    /// To standard error; while the screen is a picture, later.
    pub(crate) fn complain(&mut self, text: &str) {
        match &mut self.screen {
            Some(screen) => screen.say(text),
            None => complain(text),
        }
    }

    fn banner(&mut self, plan: &Plan) {
        self.workers = plan.workers.iter().map(|worker| traffics(worker)).collect();
        self.limits = rate_limits(plan);
        if !self.normal {
            return;
        }
        let first_clones: Vec<&Arc<WorkerPlan>> = plan.workers.iter().filter(|worker| worker.clone == 0).collect();
        let facts: Vec<_> =
            first_clones.iter().map(|worker| iostrata_run::facts(worker, &Default::default())).collect();
        let odd: Vec<Vec<(String, String)>> = first_clones.iter().map(|worker| odd_sizes(&worker.job)).collect();
        let tasks: Vec<Option<String>> = first_clones.iter().map(|worker| task_lines(worker)).collect();
        let jobs: Vec<text::BannerJob<'_>> = first_clones
            .iter()
            .zip(facts.iter().zip(odd.iter().zip(&tasks)))
            .map(|(worker, (job, (odd_sizes, task)))| text::BannerJob {
                job,
                group: worker.group,
                clones: worker.job.clones,
                odd_sizes,
                task: task.as_deref(),
            })
            .collect();
        let banner = text::banner(&jobs, &self.render);
        self.say(&banner);
        let ToMake { files, bytes, kept_files } = plan.to_make;
        let making = text::making(files, bytes, kept_files, &self.render);
        self.say(&making);
    }

    fn status(&mut self, progress: &Progress) {
        if !self.eta {
            return;
        }
        let line = match progress.layout {
            // Before the first file all are counted.
            Some(laid) if laid.files_in_all == 0 => return,
            Some(laid) if laid.files_in_all > 1 || laid.bytes_in_all == 0 => {
                format!("Laying out: file {} of {}\r", laid.files, laid.files_in_all)
            }
            Some(laid) => {
                let percent = laid.bytes as f64 * 100.0 / laid.bytes_in_all as f64;
                format!("Laying out: {percent:.1}% of {} MiB\r", laid.bytes_in_all >> 20)
            }
            None => self.row.next(&self.status_of(progress)),
        };
        let _ = print(&line);
        let now_ns = iostrata_os::clock::monotonic_ns();
        if self.newline_ns > 0 && now_ns >= self.next_newline_ns {
            self.next_newline_ns = now_ns.saturating_add(self.newline_ns);
            self.row.left();
            let _ = print("\n");
        }
    }

    fn status_of(&self, progress: &Progress) -> eta::Progress {
        let used = |values: [u64; 3]| std::array::from_fn(|index| progress.used[index].then_some(values[index]));
        eta::Progress {
            running: progress.running,
            open_files: progress.open_files,
            limits: self.limits,
            states: progress.states.iter().zip(&self.workers).map(|(state, worker)| letter(*state, *worker)).collect(),
            percent: progress.done.map(|share| share * 100.0),
            bytes_per_second: used(progress.bytes_per_second),
            iops: used(progress.ios_per_second),
            eta_seconds: progress.seconds_left,
        }
    }
}

impl Sink for Watch {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Planned(plan) => {
                self.banner(plan);
                if let Some(screen) = &mut self.screen {
                    screen.planned(plan);
                }
            }
            Event::Layout { job, files, total_bytes } => {
                if let Some(log) = &mut self.bandwidth {
                    log.begin();
                }
                if self.normal {
                    self.say(&text::layout(job, files as u32, total_bytes));
                }
            }
            Event::Progress(progress) => {
                match (&mut self.bandwidth, progress.layout) {
                    (Some(log), None) => log.add(progress.bytes),
                    (Some(log), Some(_)) => log.begin(),
                    (None, _) => {}
                }
                if let Some(screen) = &mut self.screen {
                    screen.progress(progress);
                }
                self.status(progress);
            }
            Event::Trace(line) if self.normal => self.say(line),
            Event::Trace(line) => self.complain(line),
            Event::Status(result) => {
                if let Some(lines) = &mut self.status_lines {
                    lines.add(&result, &self.render);
                }
                if self.normal {
                    self.say(&text::render(&result, &self.render));
                }
            }
            Event::Snapshot(result) => {
                if let Some(screen) = &mut self.screen {
                    screen.snapshot((*result).clone());
                }
                if let Some(listener) = &self.listener {
                    listener.show(*result);
                }
            }
            Event::Saying(sentence) => self.complain(&text::saying(sentence, &self.render)),
            Event::Signal(signal) => {
                if self.normal {
                    self.say(&text::terminating(signal, &self.render));
                }
            }
            Event::Done(result) => {
                // From here on the terminal is the report's.
                self.screen = None;
                self.result = Some(result);
            }
        }
    }
}

/// Sizes as written, and what they come to, bytes.
fn odd_sizes(job: &iostrata_spec::Job) -> Vec<(String, String)> {
    let each = job.reporting.odd_sizes.iter();
    each.map(|(option, size)| (format!("{option}={}", size.text), size.bytes.clone())).collect()
}

/// What all jobs together are held to, for the status line.
fn rate_limits(plan: &Plan) -> Option<RateLimits> {
    let sum = |pick: fn(&iostrata_spec::Job) -> PerDirection<Option<u64>>| -> u64 {
        let of = |worker: &Arc<WorkerPlan>| {
            let kind = worker.job.workload;
            let used = [kind.reads, kind.writes, kind.trims];
            let rates = pick(&worker.job).to_array();
            rates.into_iter().zip(used).filter_map(|(rate, used)| rate.filter(|_| used)).sum::<u64>()
        };
        plan.workers.iter().map(of).sum()
    };
    let (bytes, iops) = (sum(|job| job.rate.bytes), sum(|job| job.rate.iops));
    match (bytes, iops) {
        (0, 0) => None,
        (0, iops) => Some(RateLimits::Iops(0, iops)),
        (bytes, _) => Some(RateLimits::Bytes(0, bytes)),
    }
}

fn traffics(worker: &WorkerPlan) -> Traffics {
    let kind = worker.job.workload;
    let traffic = match (kind.reads, kind.writes, kind.trims) {
        (true, false, false) => Traffic::Reads,
        (false, true, false) => Traffic::Writes,
        (false, false, _) => Traffic::Trims,
        _ => Traffic::Mixed,
    };
    Traffics { traffic, random: kind.random }
}

fn letter(state: State, worker: Traffics) -> JobState {
    match state {
        State::NotStarted => JobState::NotStarted,
        State::SettingUp => JobState::SettingUp,
        State::Ready => JobState::Created,
        State::Ramp => JobState::Ramp,
        State::Running => JobState::Running { traffic: worker.traffic, random: worker.random },
        State::Verifying => JobState::Verifying,
        State::Syncing => JobState::Syncing,
        State::Finishing => JobState::Finishing,
        State::Ended => JobState::Reaped,
        State::Failed => JobState::Failed,
    }
}

/// What is said of a job that does no I/O, in fio's words; nothing of one that lacks what it needs.
fn task_lines(worker: &WorkerPlan) -> Option<String> {
    let (job, options) = (&worker.job, &worker.job.engine_options);
    let name = one_line(&job.name);
    if !worker.engine.caps.task {
        return None;
    }
    if job.engine == "cpuio" {
        let CpuLoad { percent, chunk_ns, mode, .. } = options.cpu;
        let mode = if mode == CpuMode::Qsort { "qsort" } else { "noop" };
        let line = format!("{name} ({mode}): ioengine=cpuio, cpuload={percent}, cpucycle={}\n", chunk_ns / 1000);
        return Some(if percent > 0 { line } else { String::new() });
    }
    let Some(program) = &options.exec.program else { return Some(String::new()) };
    let (program, arguments) = (one_line(program), one_line(options.exec.arguments.as_deref().unwrap_or_default()));
    let told = format!("{name} : program={program}, arguments={arguments}\n{name} : ");
    Some(if options.exec.redirect {
        told + &format!("Saving output of {program} {arguments} : stdout={name}.stdout stderr={name}.stderr\n")
    } else {
        told + &format!("Running {program} {arguments}\n")
    })
}
