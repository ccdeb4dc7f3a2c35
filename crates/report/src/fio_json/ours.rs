//! The key `iostrata`: what fio's document has no place for.

use super::latency_with;
use crate::json::{Object, Value};
use crate::text::{DIFFERS, WARNING};
use iostrata_result::derive::{Direction, Latency, Report};
use iostrata_result::{BlockLives, End, Host, Note, RunResult, WorkerResult};

/// Everything of ours.
pub(super) fn root(run: &RunResult, reports: &[Report<'_>], plus: bool) -> Object {
    let (end, signal) = match run.end {
        End::Running => ("running", None),
        End::Finished => ("finished", None),
        End::Signal(signal) => ("signal", Some(signal)),
    };
    let with_code = |code: &str| notes(run.notes.iter().filter(|note| note.code == code));
    let others = run.notes.iter().filter(|note| note.code != DIFFERS && note.code != WARNING);
    Object::default()
        .with("version", &run.tool_version)
        .with("end", end)
        .with_some("signal", signal)
        .with("started_ms", run.started_unix_ms)
        .with("command_line", run.command_line.iter().collect::<Value>())
        .with("host", host(&run.host))
        .with("notes", notes(others))
        .with("warnings", with_code(WARNING))
        .with("differs", with_code(DIFFERS))
        .with("jobs", reports.iter().map(|report| job(report, plus)).collect::<Value>())
}

fn host(host: &Host) -> Object {
    Object::default()
        .with("name", &host.name)
        .with("os", &host.os)
        .with("arch", &host.arch)
        .with("cpus", host.cpus)
        .with("clock", &host.clock)
        .with("clock_error_ns", host.clock_error_ns)
}

fn notes<'a>(notes: impl Iterator<Item = &'a Note>) -> Value {
    let note = |note: &Note| {
        Object::default().with("code", &note.code).with_some("job", note.job.as_ref()).with("text", &note.text)
    };
    notes.map(note).collect()
}

/// One entry, in the order of fio's `jobs`: who is in it, and the evidence about its numbers.
fn job(report: &Report<'_>, plus: bool) -> Object {
    let rows = report.directions.iter().filter(|row| !row.is_empty());
    let folded = folded(report, plus);
    Object::default()
        .with("jobname", &report.job.name)
        .with("groupid", report.group)
        .with("engine", &report.job.engine)
        .with("depth", report.job.depth)
        .with("depth_granted", report.job.depth_granted)
        .with("due_not_issued", report.due_not_issued)
        .with("censored", report.censored)
        .with("percentiles_are_lower_bounds", report.censored > 0)
        .with_some("bins_folded", folded)
        .with_some("block_lives", report.block_lives.as_ref().map(block_lives))
        .with("members", report.members.iter().map(member).collect::<Value>())
        .with_all(rows.map(|row| (row.kind.name(), direction(row, plus))).collect())
}

/// The latencies of `json+` whose bins are cut at fio's last (17.1 s), where fio counts all larger ones too.
fn folded(report: &Report<'_>, plus: bool) -> Option<Value> {
    if !plus {
        return None;
    }
    let rows = report.directions.iter().flat_map(|row| {
        let kinds = [("slat_ns", &row.slat), ("clat_ns", &row.clat), ("lat_ns", &row.lat)];
        kinds.map(|(key, latency)| (format!("{}.{key}", row.kind.name()), latency))
    });
    let all = rows.chain([("sync.lat_ns".to_owned(), &report.sync)]);
    let beyond: Vec<String> = all
        .filter(|(_, latency)| latency.percentiles.is_some() && latency.exceeds_fio_bins())
        .map(|(path, _)| path)
        .collect();
    if beyond.is_empty() { None } else { Some(beyond.into_iter().collect()) }
}

fn block_lives(lives: &BlockLives) -> Object {
    Object::default()
        .with("unwritten", lives.unwritten)
        .with("trimmed", lives.trimmed)
        .with("written", lives.written)
        .with("trim_failed", lives.trim_failed)
        .with("write_failed", lives.write_failed)
        .with("lifetimes", lives.lifetimes.iter().copied().collect::<Value>())
}

fn member(worker: &WorkerResult) -> Object {
    Object::default()
        .with("name", &worker.job.name)
        .with("clone", worker.clone)
        .with("thread_number", worker.thread_number)
        .with("pid", worker.pid)
        .with("error", worker.error)
        .with_some("error_text", worker.error_text.as_ref())
        .with("batch_stamp_error_ns", worker.batch_stamp_error_ns)
        .with("engine_used", worker.engine_used.iter().collect::<Value>())
}

fn direction(row: &Direction, plus: bool) -> Object {
    let ours =
        |of: &Option<Latency>| of.as_ref().map(|of| latency_with(of, plus.then(|| of.summary.bins.values().collect())));
    Object::default()
        .with("completed_ios", row.ios)
        .with("failed_ios", row.failed_ios)
        .with_some("lat_intended_ns", ours(&row.lat_intended))
        .with_some("issue_lag_ns", ours(&row.issue_lag))
}
