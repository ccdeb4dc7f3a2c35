//! Who begins when within a stage, and whom the end of one takes along.

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
    /// Whether any job takes others along.
    takes_along: bool,
}

impl<'a> Order<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let takes = |worker: &WorkerPlan| worker.job.order.exit_all || worker.job.order.exit_all_on_error;
        Order { plan, cancelled: vec![false; plan.workers.len()], takes_along: plan.workers.iter().any(takes) }
    }

    /// The workers of a stage that are to begin.
    pub(crate) fn members(&self, stage: u32, lives: &[Arc<Live>]) -> Vec<usize> {
        let of_stage = |&index: &usize| self.plan.workers[index].stage == stage && !self.is_done(index, lives);
        (0..self.plan.workers.len()).filter(of_stage).collect()
    }

    /// Whether a worker has ended, or will never begin.
    pub(crate) fn is_done(&self, index: usize, lives: &[Arc<Live>]) -> bool {
        self.cancelled[index] || lives[index].has_ended()
    }

    /// Whom the ends in this stage take along: workers that run are returned, others will not begin.
    pub(crate) fn taken_along(&mut self, stage: u32, lives: &[Arc<Live>]) -> Vec<usize> {
        if !self.takes_along {
            return Vec::new();
        }
        let workers = &self.plan.workers;
        let takers: Vec<usize> = (0..workers.len())
            .filter(|&index| workers[index].stage == stage && takes_along(&workers[index], &lives[index]))
            .collect();
        let mut running = Vec::new();
        for index in 0..workers.len() {
            let taken = takers.iter().any(|&taker| taker != index && reaches(&workers[taker], &workers[index]));
            if !taken || self.is_done(index, lives) {
                continue;
            }
            if lives[index].state() == State::NotStarted {
                self.cancelled[index] = true;
            } else {
                running.push(index);
            }
        }
        running
    }

    /// Whether the job that a worker waits for has ended, all of its clones.
    fn may_begin(&self, index: usize, lives: &[Arc<Live>]) -> bool {
        let workers = &self.plan.workers;
        let Some(name) = &workers[index].job.order.wait_for else { return true };
        let earlier = workers[index].job_index;
        let holds_up = |other: usize| {
            workers[other].job_index < earlier && workers[other].job.name == *name && !self.is_done(other, lives)
        };
        !(0..workers.len()).any(holds_up)
    }
}

/// Whether a worker's end takes others along.
fn takes_along(worker: &WorkerPlan, live: &Live) -> bool {
    let order = &worker.job.order;
    live.has_ended() && (order.exit_all || order.exit_all_on_error && live.state() == State::Failed)
}

fn reaches(taker: &WorkerPlan, other: &WorkerPlan) -> bool {
    match taker.job.order.exit_scope {
        ExitScope::Group => taker.group == other.group,
        ExitScope::Stonewall => taker.stage == other.stage,
        ExitScope::All => true,
    }
}

/// Workers of a stage that begin together, and those that still wait for another job.
pub(crate) struct Waves {
    waiting: Vec<usize>,
    /// Those that get ready, behind a gate that opens when all are.
    preparing: Vec<(Arc<Gate>, Vec<usize>)>,
}

impl Waves {
    pub(crate) fn of(members: &[usize]) -> Self {
        Waves { waiting: members.to_vec(), preparing: Vec::new() }
    }

    /// The workers that may begin now, and their gate.
    pub(crate) fn next(&mut self, order: &Order<'_>, lives: &[Arc<Live>]) -> Option<(Arc<Gate>, Vec<usize>)> {
        self.waiting.retain(|&index| !order.is_done(index, lives));
        let (now, later) = self.waiting.iter().partition(|&&index| order.may_begin(index, lives));
        self.waiting = later;
        let now: Vec<usize> = now;
        if now.is_empty() {
            return None;
        }
        let wave = (Arc::new(Gate::default()), now);
        self.preparing.push(wave.clone());
        Some(wave)
    }

    /// Opens the gates behind which all are ready; with `all` every gate.
    pub(crate) fn open(&mut self, lives: &[Arc<Live>], all: bool) {
        let ready = |index: &usize| !matches!(lives[*index].state(), State::NotStarted | State::SettingUp);
        self.preparing.retain(|(gate, members)| {
            let open = all || members.iter().all(ready);
            if open {
                gate.open();
            }
            !open
        });
    }
}
