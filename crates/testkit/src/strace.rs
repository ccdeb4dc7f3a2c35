//! What a program did to its data files, as strace saw it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};

/// The calls that matter.
const CALLS: &str = "open,openat,openat2,close,fadvise64,fallocate,ftruncate,fsync,fdatasync,sync_file_range,unlink,\
     unlinkat,ioctl,fcntl,lseek,read,write,pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,io_submit,io_getevents,\
     io_pgetevents";
/// Flags that change nothing about the data: ours never leak into children, fio spares a device node's access time,
/// and where fio unlinks and makes anew, we append.
const PLAIN_FLAGS: [&str; 4] = ["O_CLOEXEC", "O_LARGEFILE", "O_NOATIME", "O_TRUNC"];

/// One transfer of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// A write, else a read.
    pub write: bool,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// What happened to one file.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Opens, advice, allocation, syncs and so on in their order, with the bytes moved between them.
    pub steps: Vec<Step>,
    /// Transfers of the job itself, not of its layout.
    pub transfers: Vec<Transfer>,
    /// Flags of single transfers (`RWF_…`), each that was seen.
    pub flags: BTreeSet<String>,
}

/// One step of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call that moves no data.
    Call(String),
    /// Bytes moved in one go.
    Moved(u64),
}

/// All that strace saw.
#[derive(Debug, Default)]
pub struct Trace {
    /// By name below the folder, or full name of a device.
    pub files: BTreeMap<String, Story>,
    /// The files of the job's transfers, in their order.
    pub turns: Vec<String>,
    /// The most requests that were in flight in the kernel's asynchronous I/O.
    pub deepest: i64,
    /// How many were in flight at the end.
    pub left: i64,
}

/// What differs between two traces: which files there are, and what `differ` tells of each that both have.
pub fn by_file(fio: &Trace, ours: &Trace, differ: impl Fn(&Story, &Story) -> Vec<String>) -> Vec<String> {
    let names = |trace: &Trace| trace.files.keys().cloned().collect::<Vec<_>>();
    let other_names = names(fio) != names(ours);
    let mut found: Vec<String> =
        other_names.then(|| format!("files {:?} for fio's {:?}", names(ours), names(fio))).into_iter().collect();
    for (name, story) in &fio.files {
        let own = ours.files.get(name);
        found.extend(own.into_iter().flat_map(|own| differ(story, own)).map(|text| format!("{name}: {text}")));
    }
    found
}

/// Runs a program under strace in a folder; the calls on files below it and on `device` are told.
pub fn trace(program: &Path, words: &[&str], folder: &Path, device: Option<&str>) -> Trace {
    let log = folder.with_extension("strace");
    let status = Command::new("strace")
        .args([
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-y",
            "-v",
            "-s",
            "0",
            "-e",
            "signal=none",
            "-e",
            &format!("trace={CALLS}"),
            "-o",
        ])
        .arg(&log)
        .arg(program)
        .args(words)
        .arg("--output=/dev/null")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace runs");
    let text = std::fs::read_to_string(&log).expect("strace wrote its log");
    let _ = std::fs::remove_file(&log);
    assert!(status.success(), "{} {words:?} ended with {status}", program.display());
    let mut reader = Reader::new(folder, device);
    whole_lines(&text).iter().filter_map(|line| Call::parse(line)).for_each(|call| reader.take(&call));
    reader.trace
}

/// Lines without their thread, calls that others interrupted put together again.
fn whole_lines(text: &str) -> Vec<String> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start);
        } else if let Some((_, end)) = call.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            lines.push(begun.remove(thread).unwrap_or_default().to_string() + end);
        } else {
            lines.push(call.to_string());
        }
    }
    lines
}

/// A system call that succeeded.
struct Call<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    result: i64,
    /// The file behind a returned descriptor.
    result_path: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn parse(line: &'a str) -> Option<Call<'a>> {
        let (name, rest) = line.split_once('(')?;
        let (inside, answer) = rest.rsplit_once(" = ")?;
        let inside = inside.trim_end().strip_suffix(')')?;
        let digits = answer.find(|c: char| !c.is_ascii_digit()).unwrap_or(answer.len());
        let result = answer[..digits].parse().ok()?;
        Some(Call { name, words: split_words(inside), result, result_path: path_of(&answer[digits..]) })
    }

    fn number(&self, place: usize) -> u64 {
        self.words.get(place).and_then(|word| word.parse().ok()).unwrap_or(0)
    }
}

/// The path in `3</path>`.
fn path_of(word: &str) -> Option<&str> {
    Some(word.split_once('<')?.1.split_once('>')?.0)
}

/// Arguments, split where a comma stands outside of brackets and quotes.
fn split_words(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start) = (0, false, 0);
    let mut words = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' | '(' if !quoted => depth += 1,
            '}' | ']' | ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                words.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(text[start..].trim());
    words
}

/// Follows the calls.
struct Reader<'a> {
    folder: &'a Path,
    device: Option<&'a str>,
    trace: Trace,
    /// Files that are being laid out: open for writing only.
    layout: HashMap<String, bool>,
    /// Positions of files that are read and written without an offset.
    positions: HashMap<String, u64>,
    in_flight: i64,
}

impl<'a> Reader<'a> {
    fn new(folder: &'a Path, device: Option<&'a str>) -> Self {
        Reader {
            folder,
            device,
            trace: Trace::default(),
            layout: HashMap::new(),
            positions: HashMap::new(),
            in_flight: 0,
        }
    }

    /// The name that a path goes by, if it is about data.
    fn name(&self, path: &str) -> Option<String> {
        if self.device == Some(path) {
            return Some(path.to_string());
        }
        let path = path.trim_end_matches(" (deleted)");
        let below = Path::new(path).strip_prefix(self.folder).ok()?.to_string_lossy().into_owned();
        (!below.is_empty()).then_some(below)
    }

    fn take(&mut self, call: &Call<'_>) {
        match call.name {
            "open" | "openat" | "openat2" => self.open(call),
            "unlink" | "unlinkat" => self.unlink(call),
            "io_submit" => self.submit(call),
            "io_getevents" | "io_pgetevents" => {
                self.in_flight -= call.result;
                self.trace.left = self.in_flight;
            }
            _ => {
                if let Some(name) = call.words.first().and_then(|word| path_of(word)).and_then(|path| self.name(path)) {
                    self.on_file(call, name);
                }
            }
        }
    }

    fn open(&mut self, call: &Call<'_>) {
        let Some(name) = call.result_path.and_then(|path| self.name(path)) else { return };
        let text = call.words.iter().find(|word| word.contains("O_RD") || word.contains("O_WR")).copied();
        let flags = text.unwrap_or_default();
        let flags = flags.trim_start_matches("{flags=");
        let mut kept: Vec<&str> = flags.split('|').filter(|flag| !PLAIN_FLAGS.contains(flag)).collect();
        kept.sort_unstable();
        self.layout.insert(name.clone(), kept.contains(&"O_WRONLY"));
        self.positions.insert(name.clone(), 0);
        let story = self.trace.files.entry(name).or_default();
        // Whatever fio unlinked in order to make it anew, we append to.
        if kept.contains(&"O_CREAT") && story.steps.last() == Some(&Step::Call("unlink".into())) {
            story.steps.pop();
        }
        story.steps.push(Step::Call(format!("open {}", kept.join("|"))));
    }

    fn unlink(&mut self, call: &Call<'_>) {
        let Some(path) = call.words.iter().find_map(|word| word.strip_prefix('"')) else { return };
        let name = self.folder.join(path.trim_end_matches('"'));
        if let Some(name) = self.name(&name.to_string_lossy()) {
            self.trace.files.entry(name).or_default().steps.push(Step::Call("unlink".into()));
        }
    }

    fn on_file(&mut self, call: &Call<'_>, name: String) {
        let step = match call.name {
            "fadvise64" => format!("fadvise {}", call.words[1..].join(" ")),
            "fallocate" => format!("fallocate {}", call.words[1..].join(" ")),
            "ftruncate" => format!("ftruncate {}", call.number(1)),
            "fsync" | "fdatasync" => call.name.to_string(),
            // The kernel begins to write a layout out early, so that a signal need not wait for one long fsync.
            "sync_file_range" if self.layout.get(&name) == Some(&true) => return,
            "sync_file_range" => format!("sync_file_range {}", call.words[1..].join(" ")),
            "ioctl" if call.words.get(1) == Some(&"BLKFLSBUF") => "BLKFLSBUF".to_string(),
            "ioctl" if call.words.get(1) == Some(&"BLKDISCARD") => call.words[1..].join(" "),
            "fcntl" if call.words.get(1).is_some_and(|word| word.ends_with("RW_HINT")) => call.words[1..].join(" "),
            "lseek" => {
                self.positions.insert(name, call.result as u64);
                return;
            }
            "pread64" | "pwrite64" => {
                let offset = call.number(3);
                return self.moved(name, call.name == "pwrite64", offset, call.result as u64);
            }
            "preadv" | "pwritev" | "preadv2" | "pwritev2" => {
                let flags = call.words.get(4).filter(|flags| **flags != "0").copied().unwrap_or_default();
                let story = self.trace.files.entry(name.clone()).or_default();
                story.flags.extend(flags.split('|').filter(|flag| !flag.is_empty()).map(str::to_string));
                return self.moved(name, call.name.starts_with("pwrite"), call.number(3), call.result as u64);
            }
            "read" | "write" => {
                let offset = self.positions.get(&name).copied().unwrap_or(0);
                self.positions.insert(name.clone(), offset + call.result as u64);
                return self.moved(name, call.name == "write", offset, call.result as u64);
            }
            _ => return,
        };
        self.trace.files.entry(name).or_default().steps.push(Step::Call(step));
    }

    /// Each request of an `io_submit` that the kernel took.
    fn submit(&mut self, call: &Call<'_>) {
        let list = call.words.get(2).copied().unwrap_or_default();
        let list = list.trim_start_matches('[').trim_end_matches(']');
        for request in split_words(list).into_iter().take(call.result as usize) {
            let fields: HashMap<&str, &str> = split_words(request.trim_start_matches('{').trim_end_matches('}'))
                .into_iter()
                .filter_map(|field| field.split_once('='))
                .collect();
            let number = |key: &str| fields.get(key).and_then(|value| value.parse().ok()).unwrap_or(0);
            let write = fields.get("aio_lio_opcode").is_some_and(|code| code.contains("PWRITE"));
            let path = fields.get("aio_fildes").and_then(|word| path_of(word));
            if let Some(name) = path.and_then(|path| self.name(path)) {
                self.moved(name, write, number("aio_offset"), number("aio_nbytes"));
            }
        }
        self.in_flight += call.result;
        self.trace.left = self.in_flight;
        self.trace.deepest = self.trace.deepest.max(self.in_flight);
    }

    fn moved(&mut self, name: String, write: bool, offset: u64, len: u64) {
        let layout = self.layout.get(&name).copied().unwrap_or(false);
        if !layout {
            self.trace.turns.push(name.clone());
        }
        let story = self.trace.files.entry(name).or_default();
        if !layout {
            story.transfers.push(Transfer { write, offset, len });
        }
        match story.steps.last_mut() {
            Some(Step::Moved(bytes)) => *bytes += len,
            _ => story.steps.push(Step::Moved(len)),
        }
    }
}
