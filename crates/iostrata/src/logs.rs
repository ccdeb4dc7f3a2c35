//! Writes logs over time while they grow, in a thread of its own. A file appears under its name when the run has ended,
//! on a signal too; until then it has a temporary one.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow, bail};
use iostrata_os::file::facts_at;
use iostrata_os::thread;
use iostrata_report::logs::packed::Packer;
use iostrata_report::logs::{Entry, LogStyle, histogram_line};
use iostrata_result::Note;
use iostrata_result::series::{IoRecord, LogKind, LogPiece};
use iostrata_run::{LogSender, Plan, WorkerPlan, trace_line};
use iostrata_spec::{Debug, Logs, Topic, WindowValue};

use crate::output::temporary;
use crate::recording::RecordingFile;

/// Pieces that may wait for the writer.
const PIECES: usize = 64;
/// Bytes gathered before a file is written to.
const BUFFER_BYTES: usize = 16 << 10;
/// Bytes of records that are compressed together unless the job says how many.
const PACKED_BYTES: u64 = 256 << 10;

/// The thread, and where workers send their pieces.
pub(crate) struct LogWriter {
    pub(crate) sender: LogSender,
    pub(crate) notes: Vec<Note>,
    thread: JoinHandle<io::Result<()>>,
}

/// One log of one worker.
struct Part {
    kind: LogKind,
    /// The name that it gets, which with `per_job_logs=0` several parts share.
    path: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
    /// Compresses; lines go to the file as they are without it.
    packer: Option<Packer>,
    /// Room for what is written at a time.
    bytes: Vec<u8>,
}

/// The logs of one worker.
struct Parts {
    style: LogStyle,
    parts: Vec<Part>,
    /// Logs have a line for each I/O, not for each window.
    each: bool,
    /// Each I/O is traced, under this number and name.
    trace: Option<(u32, String)>,
    recording: Option<RecordingFile>,
}

/// Where lines of a trace go.
pub(crate) type Tell = fn(&str);

impl LogWriter {
    /// Starts the thread; `None` if no job writes a log or a recording and no I/O is traced.
    pub(crate) fn start(plan: &Plan, debug: Debug, tell: Tell) -> anyhow::Result<Option<LogWriter>> {
        let all: Vec<Parts> = plan.workers.iter().map(|worker| parts_of(worker, debug)).collect();
        if all.iter().all(|worker| worker.is_empty()) {
            return Ok(None);
        }
        for path in all.iter().flat_map(Parts::paths) {
            let why = || format!("the log {} cannot be written: make its folder first", path.display());
            std::fs::metadata(folder_of(path)).with_context(why)?;
        }
        all.iter().filter_map(|worker| worker.recording.as_ref()).try_for_each(RecordingFile::check)?;
        let notes = on_tested_disk(plan, &all).into_iter().collect();
        let cpus: Vec<u32> =
            plan.workers.iter().flat_map(|worker| compression_cpus(&worker.job.logs)).copied().collect();
        let allowed = thread::allowed_cpus();
        if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            bail!("log_compression_cpus: CPU {cpu} is not there, or not allowed");
        }
        let (sender, receiver) = sync_channel(PIECES);
        let thread = std::thread::Builder::new()
            .name("logs".into())
            .spawn(move || {
                iostrata_os::signals::block_in_this_thread();
                if !cpus.is_empty() {
                    thread::pin_current(&cpus)?;
                }
                write_all(all, &receiver, tell)
            })
            .context("starting a thread")?;
        Ok(Some(LogWriter { sender, notes, thread }))
    }

    /// All workers have ended, or were given up: what they sent is written, and the files get their names.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        // A worker that never came back still holds a sender: the end is told, not heard from closed channels.
        let _ = self.sender.send((END, LogPiece::Ios(Vec::new())));
        let written = self.thread.join().map_err(|_| anyhow!("a fault in iostrata itself ended the logs' thread"))?;
        written.context("writing logs")
    }
}

/// The worker number that ends the thread.
const END: usize = usize::MAX;

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The note that logs and jobs share a disk, if they do.
fn on_tested_disk(plan: &Plan, all: &[Parts]) -> Option<Note> {
    let device = |path: &Path| facts_at(path).ok().map(|facts| facts.device);
    // Many logs lie in few folders.
    let folders: BTreeSet<&Path> = all.iter().flat_map(Parts::paths).map(folder_of).collect();
    let disks: Vec<_> = folders.into_iter().filter_map(device).collect();
    let shared = plan.workers.iter().find(|worker| {
        let mut files = worker.files.iter().filter(|_| !worker.engine.caps.diskless);
        files.any(|file| device(&file.path).is_some_and(|disk| disks.contains(&disk)))
    })?;
    Some(Note {
        code: "logs-on-tested-disk".into(),
        job: Some(shared.job.name.clone()),
        text: "logs are written to the disk that is measured: their writes are among what it has to do".into(),
    })
}

fn parts_of(worker: &WorkerPlan, debug: Debug) -> Parts {
    let (job, logs) = (&worker.job, &worker.job.logs);
    let part = |kind: LogKind, prefix: &str| {
        let prefix = if prefix.is_empty() { job.name.as_str() } else { prefix };
        let number = if logs.per_job { format!(".{}", worker.thread_number) } else { String::new() };
        let compressed = logs.compressed && kind != LogKind::ClatHistogram;
        let ending = if compressed { ".fz" } else { "" };
        let path = PathBuf::from(format!("{prefix}_{}{number}.log{ending}", kind.word()));
        let packer = compressed.then(|| Packer::new(logs.compressed_bytes.unwrap_or(PACKED_BYTES) as usize));
        let mut own = temporary(&path).into_os_string();
        own.push(format!(".{}", worker.thread_number));
        Part { kind, path, temporary: own.into(), file: None, packer, bytes: Vec::new() }
    };
    let wanted = |kind: LogKind| prefix_of(logs, kind).map(|prefix| part(kind, prefix));
    let style = LogStyle {
        offset: logs.offset,
        prio: logs.prio,
        issue_time: logs.issue_time,
        mean: logs.window_value != WindowValue::Largest,
        largest: logs.window_value != WindowValue::Mean,
        base_ms: 0,
        priority: job.process.io_priority_word(),
    };
    let traced = debug.traces(Topic::Io, worker.thread_number);
    Parts {
        style,
        parts: LogKind::ALL.into_iter().filter_map(wanted).collect(),
        each: logs.window_ms == 0,
        recording: RecordingFile::of(worker),
        trace: traced.then(|| (worker.thread_number, job.name.clone())),
    }
}

/// The CPUs of the thread that compresses; none where nothing is compressed.
fn compression_cpus(logs: &Logs) -> &[u32] {
    if logs.compressed { &logs.compression_cpus } else { &[] }
}

fn prefix_of(logs: &Logs, kind: LogKind) -> Option<&str> {
    let prefix = match kind {
        LogKind::Bandwidth => &logs.bandwidth,
        LogKind::Iops => &logs.iops,
        LogKind::Slat | LogKind::Clat | LogKind::Lat => &logs.latency,
        LogKind::ClatHistogram => &logs.histogram,
    };
    prefix.as_deref()
}

fn write_all(mut all: Vec<Parts>, receiver: &Receiver<(usize, LogPiece)>, tell: Tell) -> io::Result<()> {
    let mut failure = None;
    while let Ok((worker, piece)) = receiver.recv() {
        if worker == END {
            break;
        }
        if let (LogPiece::Ios(ios), Some((number, name))) = (&piece, &all[worker].trace) {
            ios.iter().for_each(|io| tell(&trace_of(io, *number, name)));
        }
        // After a failure pieces are still taken: nobody must wait for a full disk.
        if failure.is_none() {
            failure = all[worker].take(&piece).err();
        }
    }
    let named = name_all(all);
    failure.map_or(named, Err)
}

/// The line of `--debug=io`.
fn trace_of(io: &IoRecord, number: u32, name: &str) -> String {
    let direction = ["read", "write", "trim"][usize::from(io.direction).min(2)];
    let IoRecord { offset, bytes, issued_ns, completed_ns, .. } = io;
    let text =
        format!("{name}: {direction} offset={offset} length={bytes} issued={issued_ns} completed={completed_ns}");
    trace_line(Topic::Io, number, &text)
}

impl Parts {
    /// Whether nothing is to be written.
    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.recording.is_none() && self.trace.is_none()
    }

    /// The names that they get.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| &*part.path).chain(self.recording.iter().map(RecordingFile::path))
    }

    fn take(&mut self, piece: &LogPiece) -> io::Result<()> {
        let style = self.style;
        match piece {
            LogPiece::Began(clock_ms) => self.style.base_ms = *clock_ms,
            LogPiece::Ios(_) if !self.each => {}
            LogPiece::Recorded(lines) => {
                self.recording.as_mut().map_or(Ok(()), |recording| recording.write(lines))?;
            }
            LogPiece::Ios(ios) => {
                for part in &mut self.parts {
                    let kind = part.kind;
                    part.write(ios.iter().filter_map(|io| Entry::of_io(kind, io)), &style)?;
                }
            }
            LogPiece::Windows(rows) => {
                for row in rows {
                    let part = self.parts.iter_mut().find(|part| part.kind == row.kind);
                    part.map_or(Ok(()), |part| part.write([Entry::of_window(row)], &style))?;
                }
            }
            LogPiece::Histogram(row) => {
                let part = self.parts.iter_mut().find(|part| part.kind == LogKind::ClatHistogram);
                let line = histogram_line(row, &style);
                part.map_or(Ok(()), |part| part.open()?.write_all(line.as_bytes()))?;
            }
        }
        Ok(())
    }
}

impl Part {
    fn write(&mut self, entries: impl IntoIterator<Item = Entry>, style: &LogStyle) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        for entry in entries {
            match &mut self.packer {
                Some(packer) => bytes.extend(packer.add(&entry, style).unwrap_or_default()),
                None => entry.write_line(style, &mut bytes),
            }
        }
        let written = if bytes.is_empty() { Ok(()) } else { self.open()?.write_all(&bytes) };
        self.bytes = bytes;
        written
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        if self.file.is_none() {
            self.file = Some(BufWriter::with_capacity(BUFFER_BYTES, File::create(&self.temporary)?));
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Every log gets its name, also an empty one; parts of one name follow one another in the order of the jobs.
fn name_all(all: Vec<Parts>) -> io::Result<()> {
    let mut whole: HashMap<PathBuf, File> = HashMap::new();
    let mut outcome = Ok(());
    let (parts, recordings): (Vec<_>, Vec<_>) = all.into_iter().map(|worker| (worker.parts, worker.recording)).unzip();
    for recording in recordings.into_iter().flatten() {
        outcome = outcome.and(recording.name());
    }
    for mut part in parts.into_iter().flatten() {
        let named = part.name(&mut whole);
        let removed = match &named {
            Ok(()) => Ok(()),
            Err(_) => std::fs::remove_file(&part.temporary),
        };
        outcome = outcome.and(named).and(removed);
    }
    whole.values().try_for_each(File::sync_all).and(outcome)
}

impl Part {
    fn name(&mut self, whole: &mut HashMap<PathBuf, File>) -> io::Result<()> {
        let rest = self.packer.take().and_then(Packer::finish).unwrap_or_default();
        self.open()?.write_all(&rest)?;
        let Some(writer) = self.file.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(whole) = whole.get_mut(&self.path) {
            io::copy(&mut File::open(&self.temporary)?, whole)?;
            return std::fs::remove_file(&self.temporary);
        }
        std::fs::rename(&self.temporary, &self.path)?;
        whole.insert(self.path.clone(), file);
        Ok(())
    }
}
