//! Who begins when within a stage, and whom the end of one takes along.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use iostrata_spec::ExitScope;

use crate::gate::Gate;
use crate::live::{Live, State};
use crate::plan::{Plan, WorkerPlan};

/// Where the workers of a run stand that share its stages.
pub(crate) struct Order<'a> {
    plan: &'a Plan,
    /// Workers that do not begin any more: somebody's end took them along before they began.
    cancelled: Vec<bool>,
    /// Groups of which nobody begins any more, and whether that goes for all.
    ended_groups: HashSet<u32>,
    ended_all: bool,
    /// Whether any job takes others along.
    takes_along: bool,
    /// The workers of each job that another waits for, by its name.
    awaited: HashMap<&'a str, Vec<Range<usize>>>,
}

impl<'a> Order<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let takes = |worker: &WorkerPlan| worker.job.order.exit_all || worker.job.order.exit_all_on_error;
        let waited = |worker: &'a Arc<WorkerPlan>| Some((worker.job.order.wait_for.as_deref()?, Vec::new()));
        let mut awaited: HashMap<&str, Vec<Range<usize>>> = plan.workers.iter().filter_map(waited).collect();
        let mut first = 0;
        for clones in plan.workers.chunk_by(|left, right| left.job_index == right.job_index) {
            if let Some(jobs) = awaited.get_mut(clones[0].job.name.as_str()) {
                jobs.push(first..first + clones.len());
            }
            first += clones.len();
        }
        Order {
            plan,
            cancelled: vec![false; plan.workers.len()],
            ended_groups: HashSet::new(),
            ended_all: false,
            takes_along: plan.workers.iter().any(|worker| takes(worker) || ends_with_io(worker)),
            awaited,
        }
    }

    /// Whether the end of any worker lets others begin, or ends them.
    pub(crate) fn each_end_matters(&self) -> bool {
        self.takes_along || !self.awaited.is_empty()
    }

    /// The workers of a stage that are to begin.
    pub(crate) fn members(&self, stage: u32, lives: &[Arc<Live>]) -> Vec<usize> {
        self.workers_of(stage).filter(|&index| !self.is_done(index, lives)).collect()
    }

    /// Stages follow each other in the plan.
    fn workers_of(&self, stage: u32) -> Range<usize> {
        let workers = &self.plan.workers;
        workers.partition_point(|worker| worker.stage < stage)..workers.partition_point(|worker| worker.stage <= stage)
    }

    /// Whether a worker has ended, or will never begin.
    pub(crate) fn is_done(&self, index: usize, lives: &[Arc<Live>]) -> bool {
        let live = &lives[index];
        let ended = self.ended_all || self.ended_groups.contains(&self.plan.workers[index].group);
        self.cancelled[index] || live.has_ended() || ended && live.state() == State::NotStarted
    }

    /// Whom the ends in this stage take along: workers that run are returned, others will not begin.
    pub(crate) fn taken_along(&mut self, stage: u32, lives: &[Arc<Live>]) -> HashSet<usize> {
        if !self.takes_along {
            return HashSet::new();
        }
        let mut groups = HashSet::new();
        let mut stage_ends = false;
        for index in self.workers_of(stage) {
            let worker = &self.plan.workers[index];
            if takes_along(worker, &lives[index]) {
                match worker.job.order.exit_scope {
                    ExitScope::Group => _ = groups.insert(worker.group),
                    ExitScope::Stonewall => stage_ends = true,
                    ExitScope::All => (stage_ends, self.ended_all) = (true, true),
                }
            }
        }
        let does_io = |index: &usize| !self.plan.workers[*index].engine.caps.task;
        let io_is_done = self.workers_of(stage).filter(does_io).all(|index| self.is_done(index, lives));
        let mut running = HashSet::new();
        for index in self.workers_of(stage) {
            let worker = &self.plan.workers[index];
            let taken = stage_ends || groups.contains(&worker.group) || io_is_done && ends_with_io(worker);
            if !taken || self.is_done(index, lives) {
                continue;
            }
            if lives[index].state() == State::NotStarted {
                self.cancelled[index] = true;
            } else {
                running.insert(index);
            }
        }
        // A group may go on in later stages.
        self.ended_groups.extend(groups);
        running
    }

    /// Whether the job that a worker waits for has ended, all of its clones.
    fn may_begin(&self, index: usize, lives: &[Arc<Live>]) -> bool {
        let Some(name) = &self.plan.workers[index].job.order.wait_for else { return true };
        let earlier = self.awaited[name.as_str()].iter().take_while(|clones| clones.end <= index);
        !earlier.flat_map(Clone::clone).any(|other| !self.is_done(other, lives))
    }
}

/// Whether a worker ends with the last of its stage that does I/O.
fn ends_with_io(worker: &WorkerPlan) -> bool {
    worker.engine.caps.task && worker.job.engine_options.cpu.ends_with_io
}

/// Whether a worker's end takes others along.
fn takes_along(worker: &WorkerPlan, live: &Live) -> bool {
    let order = &worker.job.order;
    live.has_ended() && (order.exit_all || order.exit_all_on_error && live.state() == State::Failed)
}

/// Workers of a stage that begin together, and those that still wait for another job.
pub(crate) struct Waves {
    waiting: Vec<usize>,
    /// Behind them workers get ready.
    gates: Vec<Arc<Gate>>,
}

impl Waves {
    pub(crate) fn of(members: &[usize]) -> Self {
        Waves { waiting: members.to_vec(), gates: Vec::new() }
    }

    /// The workers that may begin now, and their gate.
    pub(crate) fn next(&mut self, order: &Order<'_>, lives: &[Arc<Live>]) -> Option<(Arc<Gate>, Vec<usize>)> {
        // Clones wait for the same.
        let mut last = None;
        let mut may_begin = |index: usize| {
            let job = order.plan.workers[index].job_index;
            match last {
                Some((known, may)) if known == job => may,
                _ => last.insert((job, order.may_begin(index, lives))).1,
            }
        };
        let mut now = Vec::new();
        self.waiting.retain(|&index| {
            let done = order.is_done(index, lives);
            let begins = !done && may_begin(index);
            if begins {
                now.push(index);
            }
            !done && !begins
        });
        if now.is_empty() {
            return None;
        }
        let gate = Gate::for_workers(now.len());
        self.gates.push(Arc::clone(&gate));
        Some((gate, now))
    }

    /// Opens all gates: whoever waits there sees that it is to end.
    pub(crate) fn open_all(&self) {
        self.gates.iter().for_each(|gate| gate.open());
    }
}
