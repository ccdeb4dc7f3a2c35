//! What a plan alone says about its numbers, before anything is measured.

use std::sync::Arc;

use iostrata_result::Note;

use crate::plan::{Plan, WorkerPlan};

/// All remarks on a plan.
pub(crate) fn remarks(plan: &Plan) -> Vec<Note> {
    let mut notes = merged(plan);
    notes.extend(plan.workers.iter().filter(|worker| worker.clone == 0).filter_map(|worker| buffered_queue(worker)));
    notes
}

fn note(code: &str, worker: Option<&WorkerPlan>, text: String) -> Note {
    Note { code: code.into(), job: worker.map(|worker| worker.job.name.clone()), text }
}

/// Jobs of different names that a report shows as one.
fn merged(plan: &Plan) -> Vec<Note> {
    /// A note lists no more names than this.
    const MOST_NAMES: usize = 20;
    let joins =
        |before: &Arc<WorkerPlan>, next: &Arc<WorkerPlan>| next.job.reporting.group && next.group == before.group;
    let mut notes = Vec::new();
    for members in plan.workers.chunk_by(joins) {
        let mut names: Vec<&str> = members.iter().map(|worker| worker.job.name.as_str()).collect();
        names.dedup();
        if let [first, _, ..] = names[..] {
            let more = names.len().saturating_sub(MOST_NAMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let list = names[..names.len().min(MOST_NAMES)].join(", ") + &more;
            let text = format!("the jobs {list} are of one group and reported as one, under the name {first}");
            notes.push(note("jobs-merged", None, text));
        }
    }
    notes
}

/// The kernel's asynchronous interface is asynchronous with direct I/O only.
fn buffered_queue(worker: &WorkerPlan) -> Option<Note> {
    let job = &worker.job;
    let waits = worker.engine.name == "libaio" && !job.direct && job.depth > 1;
    let text = || {
        format!(
            "ioengine=libaio without direct=1 does each I/O in the submit call: iodepth={} does not keep so many under \
             way; io_uring does, or direct=1",
            job.depth
        )
    };
    waits.then(|| note("buffered-queue", Some(worker), text()))
}
