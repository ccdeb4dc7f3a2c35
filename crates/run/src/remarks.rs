//! What a plan alone says about its numbers, before anything is measured.

use iostrata_result::Note;

use crate::plan::{Plan, WorkerPlan};

/// All remarks on a plan.
pub(crate) fn remarks(plan: &Plan) -> Vec<Note> {
    let mut notes = merged(plan);
    notes.extend(plan.workers.iter().filter(|worker| worker.clone == 0).filter_map(buffered_queue));
    notes
}

fn note(code: &str, worker: Option<&WorkerPlan>, text: String) -> Note {
    Note { code: code.into(), job: worker.map(|worker| worker.job.name.clone()), text }
}

/// Jobs of different names that a report shows as one.
fn merged(plan: &Plan) -> Vec<Note> {
    let joins = |before: &WorkerPlan, next: &WorkerPlan| next.job.reporting.group && next.group == before.group;
    let mut notes = Vec::new();
    for members in plan.workers.chunk_by(joins) {
        let mut names: Vec<&str> = members.iter().map(|worker| worker.job.name.as_str()).collect();
        names.dedup();
        if let [first, _, ..] = names[..] {
            let list = names.join(", ");
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
