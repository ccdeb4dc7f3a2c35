//! An open recording: entry after entry, as the job wants them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use iostrata_engine::{FileId, Op};
use iostrata_os::block::Sysfs;
use iostrata_os::file::{DeviceNumber, Kind, facts_at};

use super::blktrace::{self, Reading, Record};
use super::text::{self, Line, What};
use super::{Action, Entry, LogFault, LogSpec};

/// Bytes read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Longer than any line that names a file.
const LONGEST_LINE: u64 = 64 << 10;
const NS_PER_US: u64 = 1_000;

/// A recording that is being read.
pub(crate) struct Log {
    spec: LogSpec,
    input: BufReader<Box<dyn Read + Send>>,
    form: Form,
    files: Files,
    /// Time of the first I/O that is done, nanoseconds; times count from there.
    first_ns: Option<u64>,
    /// What is not done: it is left out by wish, or moves nothing.
    pub(crate) left_out: u64,
}

/// How it is written.
enum Form {
    Text(Text),
    Trace,
}

/// Where a text stands.
struct Text {
    version: u32,
    /// Of the line read last, from 1.
    number: u64,
    line: Vec<u8>,
    /// Where the times of the lines that come count from, nanoseconds.
    base_ns: u64,
    /// The time of the line read last.
    now_ns: u64,
}

/// The files that it names, in the order of their first mention.
#[derive(Default)]
struct Files {
    paths: Vec<PathBuf>,
    /// Whether the text has opened them.
    open: Vec<bool>,
    by_name: HashMap<String, FileId>,
    by_device: HashMap<DeviceNumber, FileId>,
}

impl Files {
    fn add(&mut self, path: PathBuf) -> FileId {
        self.paths.push(path);
        self.open.push(false);
        (self.paths.len() - 1) as FileId
    }
}

/// An entry whose time, place and worth are still those of the recording.
struct Raw {
    at_ns: u64,
    action: Action,
    file: FileId,
    offset: u64,
    len: u32,
}

impl Log {
    /// Opens a recording and finds out what it is.
    pub(crate) fn open(spec: &LogSpec) -> Result<Log, LogFault> {
        let mut input = open(&spec.path).map_err(|error| LogFault::unread(&spec.path, &error))?;
        let mut head = Vec::new();
        input.as_mut().take(4).read_to_end(&mut head).map_err(|error| LogFault::unread(&spec.path, &error))?;
        let trace = <[u8; 4]>::try_from(&head[..]).is_ok_and(blktrace::is_trace);
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(input));
        let text = Text { version: 0, number: 0, line: Vec::new(), base_ns: 0, now_ns: 0 };
        let mut log = Log {
            spec: spec.clone(),
            input: BufReader::with_capacity(BUFFER_BYTES, whole),
            form: if trace { Form::Trace } else { Form::Text(text) },
            files: Files::default(),
            first_ns: None,
            left_out: 0,
        };
        if let Some(path) = &log.spec.redirect {
            log.files.add(path.clone());
        }
        Ok(log)
    }

    /// The files named so far.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files.paths
    }

    /// Whether it opens and closes its files itself.
    pub(crate) fn opens_files(&self) -> bool {
        matches!(self.form, Form::Text(_)) && self.spec.redirect.is_none()
    }

    /// The next entry; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, LogFault> {
        loop {
            let raw = match self.form {
                Form::Trace => self.next_record()?,
                Form::Text(_) => self.next_line()?,
            };
            let Some(raw) = raw else { return Ok(None) };
            if let Some(entry) = self.shaped(&raw) {
                return Ok(Some(entry));
            }
        }
    }

    /// What the job makes of an entry; `None` if it leaves it out.
    fn shaped(&mut self, raw: &Raw) -> Option<Entry> {
        let spec = &self.spec;
        let (skip, mut offset, mut len) = (spec.skip, raw.offset, raw.len);
        match raw.action {
            Action::Io(op) => {
                let skipped = match op {
                    Op::Read => skip.reads,
                    Op::Write => skip.writes,
                    Op::Trim => skip.trims,
                    Op::Sync | Op::DataSync => skip.syncs,
                };
                if skipped {
                    self.left_out += 1;
                    return None;
                }
                self.first_ns.get_or_insert(raw.at_ns);
            }
            Action::Open | Action::Close if spec.redirect.is_some() => return None,
            Action::Open | Action::Close => {}
        }
        offset /= spec.scale;
        if spec.align_bytes > 0 {
            offset -= offset % spec.align_bytes;
            if matches!(self.form, Form::Trace) {
                let whole = u64::from(len).next_multiple_of(spec.align_bytes);
                len = u32::try_from(whole).unwrap_or(len);
            }
        }
        let past_ns = u128::from(raw.at_ns.saturating_sub(self.first_ns.unwrap_or(raw.at_ns)));
        let at_ns = u64::try_from(past_ns * 100 / u128::from(spec.speed_percent.max(1))).unwrap_or(u64::MAX);
        Some(Entry { at_ns, offset, len, file: raw.file, action: raw.action })
    }

    fn next_record(&mut self) -> Result<Option<Raw>, LogFault> {
        let path = &self.spec.path;
        loop {
            let record = match Record::read(&mut self.input).map_err(|error| LogFault::unread(path, &error))? {
                Reading::Record(record) => record,
                Reading::End => return Ok(None),
                Reading::NoRecord => return Err(LogFault::whole(path, "between its records is something else")),
                Reading::OtherVersion(version) => {
                    return Err(LogFault::whole(path, &format!("block traces of version {version} are not known")));
                }
            };
            let Some(op) = record.request() else { continue };
            let file = match self.spec.redirect {
                Some(_) => 0,
                None => device(&mut self.files, record.device()).ok_or_else(|| no_device(path, record.device()))?,
            };
            let action = Action::Io(op);
            return Ok(Some(Raw { at_ns: record.at_ns(), action, file, offset: record.offset(), len: record.bytes() }));
        }
    }

    fn next_line(&mut self) -> Result<Option<Raw>, LogFault> {
        let Log { spec, input, form: Form::Text(text), files, left_out, .. } = self else { return Ok(None) };
        let path = &spec.path;
        loop {
            text.line.clear();
            let read = input.take(LONGEST_LINE).read_until(b'\n', &mut text.line);
            if read.map_err(|error| LogFault::unread(path, &error))? == 0 {
                return if text.number == 0 { Err(LogFault::whole(path, NO_RECORDING)) } else { Ok(None) };
            }
            text.number += 1;
            let number = text.number;
            let Ok(line) = std::str::from_utf8(&text.line) else {
                return Err(LogFault::whole(path, &format!("line {number} is no text")));
            };
            let line = line.trim_end_matches(['\n', '\r']);
            let wrong = |(span, message)| LogFault::line(path, number, line, span, message);
            if let Some(version) = text::version(line) {
                text.version = version_of(version).map_err(|message| wrong((0..line.len(), message)))?;
                // Another recording follows: its times begin anew, and its files are closed.
                text.base_ns = text.now_ns;
                files.open.fill(false);
                continue;
            }
            if text.version == 0 {
                return Err(wrong((0..line.len(), NO_RECORDING.into())));
            }
            if line.trim().is_empty() {
                continue;
            }
            let parsed = Line::parse(line, text.version).map_err(wrong)?;
            if let Some(at_us) = parsed.at_us {
                text.now_ns = text.base_ns.saturating_add(at_us.saturating_mul(NS_PER_US));
            }
            if let What::Wait(wait_us) = parsed.what {
                text.now_ns = text.now_ns.saturating_add(wait_us.saturating_mul(NS_PER_US));
            }
            *left_out += u64::from(parsed.what == What::Nothing);
            let span = || {
                let start = line.find(parsed.file).unwrap_or(0);
                start..start + parsed.file.len()
            };
            let done = files.follow(&parsed, spec.redirect.is_some());
            if let Some((action, file, offset, len)) = done.map_err(|why| wrong((span(), why)))? {
                return Ok(Some(Raw { at_ns: text.now_ns, action, file, offset, len }));
            }
        }
    }
}

impl Files {
    /// What a line does; `None` for one that does nothing now.
    fn follow(&mut self, line: &Line<'_>, redirected: bool) -> Result<Option<(Action, FileId, u64, u32)>, String> {
        let What::Do(action, offset, len) = line.what else {
            if line.what == What::Add && !self.by_name.contains_key(line.file) {
                let file = if redirected { 0 } else { self.add(line.file.into()) };
                self.by_name.insert(line.file.to_owned(), file);
            }
            return Ok(None);
        };
        let Some(&file) = self.by_name.get(line.file) else {
            return Err("this file is not known: a line with `add` comes first".into());
        };
        let open = &mut self.open[file as usize];
        match action {
            // Open it is already, or the recording was broken off before it was closed.
            Action::Open if std::mem::replace(open, true) => return Ok(None),
            Action::Close if !redirected && !std::mem::replace(open, false) => return Ok(None),
            Action::Io(_) if !*open => return Err("this file is not open here: a line with `open` comes first".into()),
            _ => {}
        }
        let len = u32::try_from(len).map_err(|_| "this is longer than any request".to_owned())?;
        Ok(Some((action, file, offset, len)))
    }
}

const NO_RECORDING: &str =
    "this is neither a recording (which begins with `fio version 3 iolog`) nor a block trace in binary form";

fn version_of(word: &str) -> Result<u32, String> {
    match word {
        "2" => Ok(2),
        "3" => Ok(3),
        _ => Err(format!("version {word} is not understood: only 2 and 3 are")),
    }
}

/// The file of a device, by its number on this machine.
fn device(files: &mut Files, number: DeviceNumber) -> Option<FileId> {
    if let Some(&file) = files.by_device.get(&number) {
        return Some(file);
    }
    let name = Sysfs::default().name_of(number)?;
    let file = files.add(Path::new("/dev").join(name));
    files.by_device.insert(number, file);
    Some(file)
}

fn no_device(path: &Path, number: DeviceNumber) -> LogFault {
    let text = format!("it is about the device {number}, and there is none here: say with replay_redirect= where to");
    LogFault::whole(path, &text)
}

/// A file, a socket, or standard input.
#[allow(clippy::disallowed_methods, reason = "a recording is read, and no job's target")]
fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    match facts_at(path)?.kind {
        Kind::Socket => Ok(Box::new(UnixStream::connect(path)?)),
        Kind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        _ => Ok(Box::new(File::open(path)?)),
    }
}

/// Whether it can be read a second time.
pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || facts_at(path).is_ok_and(|facts| facts.kind != Kind::Regular)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "recordings of a test, no job's targets")]
mod tests {
    use iostrata_spec::{Draft, Job, ReplaySkip};

    use super::super::blktrace::tests::record;
    use super::*;

    const HEAD: &str = "fio version 3 iolog\n0 a add\n0 a open\n";

    /// A recording of these bytes, as a job takes it.
    fn read(name: &str, bytes: &[u8], change: impl FnOnce(&mut Job)) -> Result<Vec<Entry>, String> {
        let path = std::env::temp_dir().join(format!("iostrata-log-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let mut job = Draft::new().job;
        change(&mut job);
        let mut log = Log::open(&LogSpec::new(&job, path.to_str().unwrap())).map_err(|fault| fault.to_string())?;
        let mut entries = Vec::new();
        let read = loop {
            match log.next() {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => break Ok(entries),
                Err(fault) => break Err(fault.to_string()),
            }
        };
        std::fs::remove_file(&path).unwrap();
        read
    }

    /// Time in microseconds, offset and length of the requests.
    fn requests(entries: &[Entry]) -> Vec<(u64, u64, u32)> {
        let requests = entries.iter().filter(|entry| matches!(entry.action, Action::Io(_)));
        requests.map(|entry| (entry.at_ns / 1000, entry.offset, entry.len)).collect()
    }

    #[test]
    fn times_count_from_the_first_request_and_follow_the_speed() {
        let text = format!("{HEAD}500 a write 4096 512\n900 a read 0 4096\n1000 a close\n");
        let entries = read("times", text.as_bytes(), |_| ()).unwrap();
        assert_eq!(requests(&entries), [(0, 4096, 512), (400, 0, 4096)]);
        let (first, last) = (entries[0], entries[3]);
        assert_eq!((first.action, last.action, last.at_ns), (Action::Open, Action::Close, 500_000));
        let slow = read("times", text.as_bytes(), |job| job.replay.speed_percent = 50).unwrap();
        assert_eq!(requests(&slow), [(0, 4096, 512), (800, 0, 4096)]);
    }

    #[test]
    fn version_2_waits_in_microseconds_and_a_second_recording_goes_on_after_the_first() {
        let text = "fio version 2 iolog\na add\na open\na read 0 1\na wait 1000 0\na wait 50 0\na read 1 1\n\
                    fio version 3 iolog\n0 a add\n7 a open\n10 a read 2 1\n";
        assert_eq!(requests(&read("waits", text.as_bytes(), |_| ()).unwrap()), [(0, 0, 1), (1000, 1, 1), (1010, 2, 1)]);
    }

    #[test]
    fn offsets_are_scaled_and_aligned_and_what_is_not_wanted_is_left_out() {
        let text = format!("{HEAD}1 a write 20481 4097\n2 a read 8191 1\n3 a trim 0 512\n4 a sync 0 0\n");
        let scaled = read("scaled", text.as_bytes(), |job| {
            job.replay.scale = 2;
            job.replay.align_bytes = 1024;
            job.replay.skip = ReplaySkip { trims: true, syncs: true, ..ReplaySkip::default() };
        });
        assert_eq!(requests(&scaled.unwrap()), [(0, 10240, 4097), (1, 3072, 1)]);
    }

    #[test]
    fn a_redirected_recording_has_one_file_that_is_open_all_the_time() {
        let text = format!("{HEAD}0 b add\n0 b open\n1 a read 0 1\n2 a close\n3 b read 1 1\n4 b close\n");
        let entries = read("redirect", text.as_bytes(), |job| job.replay.redirect = Some("x".into())).unwrap();
        assert_eq!(requests(&entries), [(0, 0, 1), (2, 1, 1)]);
        assert!(entries.len() == 2 && entries.iter().all(|entry| entry.file == 0), "{entries:?}");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named_and_underlined() {
        for (lines, number, mark) in [
            ("1 a frob 0 1\n", 4, "^^^^"),
            ("\n1 b read 0 1\n", 5, "^"),
            ("1 a close\n2 a read 0 1\n", 5, "^"),
            ("1 a read 0\n", 4, "^^^^^^^^^^"),
        ] {
            let fault = read("wrong", format!("{HEAD}{lines}").as_bytes(), |_| ()).unwrap_err();
            assert!(fault.contains(&format!(":{number}:")) && fault.ends_with(mark), "{lines}: {fault}");
        }
        for text in ["", "fio version 1 iolog\n", "[job]\nrw=read\n"] {
            let fault = read("wrong", text.as_bytes(), |_| ()).unwrap_err();
            assert!(fault.contains("version") || fault.contains("neither"), "{text}: {fault}");
        }
    }

    #[test]
    fn lengths_of_a_block_trace_are_aligned_too_and_its_devices_may_be_strange() {
        let trace = [record(5_000, 1, 1000, 2, false), record(9_000, 100, 512, 1, false)].concat();
        let redirected = read("trace", &trace, |job| {
            job.replay.redirect = Some("x".into());
            job.replay.align_bytes = 4096;
        });
        assert_eq!(requests(&redirected.unwrap()), [(0, 0, 4096), (4, 49152, 4096)]);
        let strange: Vec<u8> = trace.iter().enumerate().map(|(at, b)| if at == 39 { 255 } else { *b }).collect();
        let fault = read("trace", &strange, |_| ()).unwrap_err();
        assert!(fault.contains("replay_redirect="), "{fault}");
    }
}
