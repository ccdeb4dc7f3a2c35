//! Who may have how many files open: a process may have only so many.

use iostrata_os::host;
use iostrata_spec::ZoneMode;

use crate::error::RunError;
use crate::plan::{Plan, WorkerPlan};

/// Descriptors that are left alone: for pipes and files that the system's library, the layout or a helper needs for a
/// moment.
const SPARE: u64 = 8;
/// Logs that one worker may write.
const LOGS: u64 = 6;

/// The descriptors of a run, of which each stage has what the process may have.
pub(crate) struct Budget {
    /// Those for logs.
    logs: u64,
}

impl Budget {
    pub(crate) fn of(plan: &Plan) -> Self {
        Budget { logs: plan.workers.iter().filter(|worker| worker.job.logs.any()).count() as u64 * LOGS }
    }

    /// How many files each of some workers may have open at a time, in their order; an error for one that can have
    /// none. The limit is at its highest already.
    pub(crate) fn share_out(&self, plan: &Plan, members: &[usize]) -> Vec<Result<usize, RunError>> {
        let workers: Vec<&WorkerPlan> = members.iter().map(|&index| &*plan.workers[index]).collect();
        let wants: Vec<u64> = workers.iter().map(|worker| wanted(worker)).collect();
        if wants.iter().all(|&want| want == 0) {
            return vec![Ok(0); members.len()];
        }
        let engines: u64 = workers.iter().map(|worker| engine_descriptors(worker)).sum();
        let (limit, used) = (host::open_files_limit(), host::open_files());
        let available = limit.saturating_sub(used + self.logs + engines + SPARE);
        let enough = |((share, want), worker): ((u64, u64), &&WorkerPlan)| match share {
            0 if want > 0 => Err(none_left(worker, limit)),
            share => Ok(share as usize),
        };
        shares(available, &wants).into_iter().zip(wants).zip(&workers).map(enough).collect()
    }
}

/// What keeps to a worker besides its files.
fn engine_descriptors(worker: &WorkerPlan) -> u64 {
    let instances = if worker.offloads() { worker.job.depth } else { 1 };
    // Zones are looked after through descriptors of their own.
    let zoned = if worker.job.shape.zone_mode == ZoneMode::Zoned { worker.files.len() as u64 } else { 0 };
    u64::from(worker.engine.caps.descriptors) * u64::from(instances) + zoned
}

/// Files that a worker has open at a time if it may.
fn wanted(worker: &WorkerPlan) -> u64 {
    if !worker.engine.caps.opens_files() { 0 } else { open_at_once(worker).min(worker.files.len()) as u64 }
}

/// `openfiles`. A law picks among all files, so all are open then; and so are those with zones.
pub(crate) fn open_at_once(worker: &WorkerPlan) -> usize {
    let job = &worker.job;
    let all = job.file_service.is_law() || job.shape.zone_mode == ZoneMode::Zoned;
    job.open_files.filter(|_| !all).map_or(usize::MAX, |files| files as usize)
}

/// Gives everybody as much as it wants, up to a level that all share. The first ones come first where there is not even
/// one for each.
fn shares(available: u64, wants: &[u64]) -> Vec<u64> {
    let mut ascending: Vec<u64> = wants.iter().copied().filter(|&want| want > 0).collect();
    ascending.sort_unstable();
    let (mut left, mut level) = (available, u64::MAX);
    for (before, &want) in ascending.iter().enumerate() {
        let each = left / (ascending.len() - before) as u64;
        if want > each {
            level = each;
            break;
        }
        left -= want;
    }
    if level > 0 {
        return wants.iter().map(|&want| want.min(level)).collect();
    }
    let mut left = available;
    let one = |&want: &u64| {
        let one = want.min(1).min(left);
        left -= one;
        one
    };
    wants.iter().map(one).collect()
}

fn none_left(worker: &WorkerPlan, limit: u64) -> RunError {
    let text = format!(
        "there is no descriptor left for its files: this process may have {limit} open (RLIMIT_NOFILE), which its jobs \
         share; raise the hard limit (`ulimit -Hn`, or LimitNOFILE= of a service), or use fewer jobs (numjobs=)"
    );
    RunError::job_errno(&worker.job, libc::EMFILE, text)
}

/// That a worker had to open files again and again.
pub(crate) fn reopened(worker: &WorkerPlan, at_once: usize) -> String {
    let (files, limit) = (open_at_once(worker).min(worker.files.len()), host::open_files_limit());
    format!(
        "of its {files} files {at_once} can be open at a time (this process may have {limit} open, RLIMIT_NOFILE, \
         which its jobs share): the others are opened as their turns come, which takes time between I/Os; a higher \
         hard limit (`ulimit -Hn`) or a smaller openfiles= avoids it"
    )
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn small_wishes_are_met_and_large_ones_share_what_is_left() {
        assert_eq!(shares(100, &[10, 20, 30]), [10, 20, 30]);
        assert_eq!(shares(100, &[1000, 10, 1000]), [45, 10, 45]);
        assert_eq!(shares(100, &[0, 1000]), [0, 100]);
        assert_eq!(shares(7, &[5, 5, 5]), [2, 2, 2]);
        assert!(shares(5, &[]).is_empty());
    }

    #[test]
    fn where_there_is_not_one_for_each_the_first_come_first() {
        assert_eq!(shares(2, &[3, 0, 1, 1]), [1, 0, 1, 0]);
        assert_eq!(shares(0, &[1]), [0]);
    }
}
