//! CPU time of threads that a library starts to do a job's I/O (`posixaio`): the process's time that no thread of ours
//! accounts for.

use std::sync::{Arc, PoisonError};

use iostrata_os::thread::{Usage, process_usage, thread_usage};

use crate::live::Live;
use crate::plan::Plan;

/// What process and coordinator had used when a stage began.
pub(crate) struct HelperThreads {
    /// Workers whose engine has such threads.
    employers: Vec<usize>,
    process: Usage,
    coordinator: Usage,
}

impl HelperThreads {
    /// Begins to watch, before the workers of the stage start.
    pub(crate) fn watch(plan: &Plan, members: &[usize]) -> Self {
        let employs = |&index: &usize| plan.workers[index].engine.caps.helper_threads || plan.workers[index].offloads();
        HelperThreads {
            employers: members.iter().copied().filter(employs).collect(),
            process: process_usage(),
            coordinator: thread_usage(),
        }
    }

    /// Gives what is left over to the workers whose engines have such threads, to each the same share (nothing tells
    /// whose a thread was), cut to the part of its life that was measured. All workers of the stage have ended.
    pub(crate) fn share_out(&self, lives: &[Arc<Live>], members: &[usize]) {
        if self.employers.is_empty() {
            return;
        }
        let mut ours = thread_usage() - self.coordinator;
        for &index in members {
            if let Some(ending) = &*lives[index].ending.lock().unwrap_or_else(PoisonError::into_inner) {
                ours.user_ns += ending.life_usage.user_ns;
                ours.system_ns += ending.life_usage.system_ns;
            }
        }
        let left = process_usage() - self.process - ours;
        let count = self.employers.len() as u64;
        for &index in &self.employers {
            let (measured_ns, active_ns) = lives[index].windows_ns();
            let part =
                |ns: u64| (u128::from(ns / count) * u128::from(measured_ns) / u128::from(active_ns.max(1))) as u64;
            if let Some(ending) = &mut *lives[index].ending.lock().unwrap_or_else(PoisonError::into_inner) {
                ending.usage.user_ns += part(left.user_ns);
                ending.usage.system_ns += part(left.system_ns);
            }
        }
    }
}
