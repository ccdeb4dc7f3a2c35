//! Several block traces become one.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use iostrata_os::file::{Kind, facts_at};
use iostrata_spec::Job;

use super::blktrace::{Reading, Record, filled, is_trace};
use super::fault::LogFault;
use crate::error::RunError;

/// Merges the traces of a job that has `merge_blktrace_file`; for any other there is nothing to do.
///
/// Each trace counts from its own first event, stretched by its share of `merge_blktrace_scalars` and repeated as
/// `merge_blktrace_iters` says. One event of each is in memory at a time.
///
/// # Errors
/// A trace that cannot be read or is none; a file that cannot be written. What the file held before is kept then.
pub fn merge_traces(job: &Job) -> Result<(), RunError> {
    let Some(target) = job.replay.merge_into.as_ref().filter(|_| job.replay.on()) else { return Ok(()) };
    let target = Path::new(target);
    if facts_at(target).is_ok_and(|facts| facts.kind != Kind::Regular) {
        return Err(RunError::job(job, format!("merge_blktrace_file={}: it is no regular file", target.display())));
    }
    let mut traces = Vec::new();
    for (index, path) in job.replay.recordings.iter().enumerate() {
        let percent = job.replay.merge_percent.get(index).copied().unwrap_or(100.0);
        let repeats = job.replay.merge_repeats.get(index).map_or(1, |repeats| *repeats as u64);
        let trace = Trace::open(path.into(), percent, repeats);
        traces.push(trace.map_err(|fault| RunError::job(job, fault.to_string()))?);
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let merged = merge(&mut traces, &temporary, target).map_err(|fault| RunError::job(job, fault.to_string()));
    merged.inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    })
}

#[allow(clippy::disallowed_methods, reason = "a trace is written, and no job's target")]
fn merge(traces: &mut [Trace], temporary: &Path, target: &Path) -> Result<(), LogFault> {
    let fault = |error: io::Error| LogFault::unwritten(target, &error);
    let mut output = BufWriter::new(File::create_new(temporary).map_err(fault)?);
    let earliest = |traces: &[Trace]| {
        let times = traces.iter().enumerate().filter_map(|(index, trace)| Some((trace.next.as_ref()?.at_ns(), index)));
        times.min().map(|(_, index)| index)
    };
    while let Some(index) = earliest(traces) {
        if let Some(record) = traces[index].take()? {
            record.write(&mut output).map_err(fault)?;
        }
    }
    output.flush().and_then(|()| output.get_ref().sync_all()).map_err(fault)?;
    fs::rename(temporary, target).map_err(fault)
}

/// A trace among others.
struct Trace {
    path: PathBuf,
    input: BufReader<File>,
    percent: f64,
    /// How often it comes again.
    repeats_left: u64,
    /// Of its first event, and how long one repetition takes.
    first_ns: Option<u64>,
    length_ns: u64,
    /// What the repetitions before took.
    before_ns: u64,
    /// The next event, its time set.
    next: Option<Record>,
}

impl Trace {
    fn open(path: PathBuf, percent: f64, repeats: u64) -> Result<Trace, LogFault> {
        let input = open(&path)?;
        let repeats_left = repeats.saturating_sub(1);
        let (first_ns, next) = (None, None);
        let mut trace = Trace { path, input, percent, repeats_left, first_ns, length_ns: 0, before_ns: 0, next };
        trace.next = trace.read()?;
        Ok(trace)
    }

    fn take(&mut self) -> Result<Option<Record>, LogFault> {
        let next = self.read()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn read(&mut self) -> Result<Option<Record>, LogFault> {
        loop {
            match Record::read(&mut self.input).map_err(|error| LogFault::unread(&self.path, &error))? {
                Reading::Record(record) if record.is_message() => {}
                Reading::Record(mut record) => {
                    let past_ns = record.at_ns().saturating_sub(*self.first_ns.get_or_insert(record.at_ns()));
                    self.length_ns = self.length_ns.max(past_ns);
                    let stretched_ns = (self.before_ns.saturating_add(past_ns) as f64 * self.percent / 100.0) as u64;
                    record.set_at_ns(stretched_ns);
                    return Ok(Some(record));
                }
                Reading::End if self.repeats_left > 0 && self.first_ns.is_some() => {
                    self.repeats_left -= 1;
                    self.before_ns = self.before_ns.saturating_add(self.length_ns);
                    self.input = open(&self.path)?;
                }
                Reading::End => return Ok(None),
                Reading::NoRecord | Reading::OtherVersion(_) => return Err(no_trace(&self.path)),
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a trace is read, and no job's target")]
fn open(path: &Path) -> Result<BufReader<File>, LogFault> {
    let unread = |error: io::Error| LogFault::unread(path, &error);
    let mut file = File::open(path).map_err(unread)?;
    let mut head = [0; 4];
    let begun = filled(&mut file, &mut head).map_err(unread)?;
    if !begun || !is_trace(head) {
        return Err(no_trace(path));
    }
    file.rewind().map_err(unread)?;
    Ok(BufReader::new(file))
}

fn no_trace(path: &Path) -> LogFault {
    LogFault::whole(path, "this is no block trace, and nothing else can be merged")
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "recordings of a test, no job's targets")]
mod tests {
    use super::super::blktrace::tests::record;
    use super::*;

    const READ: u32 = 1;
    const WRITE: u32 = 2;

    fn events(path: &Path) -> Vec<(u64, u64)> {
        let bytes = fs::read(path).unwrap();
        let mut input = &bytes[..];
        let mut events = Vec::new();
        while let Reading::Record(record) = Record::read(&mut input).unwrap() {
            events.push((record.at_ns(), record.offset() / 512));
        }
        events
    }

    #[test]
    fn traces_are_joined_by_time_each_from_its_own_beginning_stretched_and_repeated() {
        let folder = std::env::temp_dir().join(format!("iostrata-merge-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).display().to_string();
        let write = |name: &str, times: &[u64], category: u32, big: bool| {
            let trace = times.iter().enumerate().flat_map(|(at, &ns)| record(ns, at as u64, 512, category, big));
            fs::write(path(name), trace.collect::<Vec<_>>()).unwrap();
        };
        write("a", &[1000, 1100, 1400], WRITE, false);
        write("b", &[5, 205], READ, true);
        let mut job = job();
        job.replay.recordings = vec![path("a"), path("b")];
        job.replay.merge_into = Some(path("merged"));
        merge_traces(&job).unwrap();
        assert_eq!(events(&folder.join("merged")), [(0, 0), (0, 0), (100, 1), (200, 1), (400, 2)]);
        job.replay.merge_percent = vec![50.0, 100.0];
        job.replay.merge_repeats = vec![2.0, 1.0];
        merge_traces(&job).unwrap();
        let wanted = [(0, 0), (0, 0), (50, 1), (200, 2), (200, 0), (200, 1), (250, 1), (400, 2)];
        assert_eq!(events(&folder.join("merged")), wanted);
        fs::write(path("b"), "fio version 3 iolog\n").unwrap();
        let fault = merge_traces(&job).unwrap_err().to_string();
        assert!(fault.contains("no block trace"), "{fault}");
        assert_eq!(events(&folder.join("merged")), wanted, "the file is as it was");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }

    fn job() -> Job {
        iostrata_spec::Draft::new().job
    }
}
