//! What the tests of the program share: running it and the real fio, mounts that undo themselves, visible skips.
//!
//! For tests only: a fault of the machine ends the test with a panic that names it.
#![deny(missing_docs)]

pub mod compare;
pub mod faults;
pub mod lines;
pub mod lines_data;
pub mod lines_engines;
pub mod lines_files;
pub mod lines_flags;
pub mod lines_memory;
pub mod lines_oracle;
pub mod lines_process;
pub mod lines_shape;
pub mod lines_time;
pub mod lines_verify;
pub mod lines_zones;
pub mod pairs;
pub mod python;
pub mod strace;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;

/// Says that a test cannot run here, in the form that the test runner counts as skipped.
#[macro_export]
macro_rules! skip {
    ($what:expr, $how:expr) => {{
        $crate::say_skipped($what, $how);
        return;
    }};
}

/// Keeps the tests of one binary from running beside one another: they measure and mount.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the work for every item, some of them at once: fio spends most of its start asleep. The answers are in order.
pub fn some_at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const AT_ONCE: usize = 4;
    let next = AtomicUsize::new(0);
    let mut answers: Vec<(usize, R)> = std::thread::scope(|scope| {
        let take = || {
            let mut answers = Vec::new();
            loop {
                let index = next.fetch_add(1, Relaxed);
                let Some(item) = items.get(index) else { return answers };
                answers.push((index, work(item)));
            }
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("the work panicked")).collect()
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The line of a skipped test; [`skip!`] prints it and returns.
#[allow(clippy::print_stderr, reason = "the line is for whoever runs the tests")]
pub fn say_skipped(what: impl std::fmt::Display, how: impl std::fmt::Display) {
    eprintln!("SKIP: {what} ({how})");
}

/// The program under test: it lies beside the folder of the test programs.
pub fn iostrata() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| profile_folder().join("iostrata").display().to_string())
}

/// A folder for what the tests write, on the disk of the checkout.
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = profile_folder().with_file_name("tmp");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// `target/PROFILE`, from the test program in `target/PROFILE/deps`.
fn profile_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().to_path_buf()
}

/// The real fio, if it is installed.
pub fn fio() -> Option<PathBuf> {
    which("fio")
}

/// A program on the path.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether we may mount.
pub fn is_root() -> bool {
    iostrata_os::file::facts_at(Path::new("/proc/self")).is_ok() && run("id", &["-u"], Path::new("/")).stdout == b"0\n"
}

/// Runs a program in a folder and waits for it.
pub fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Output {
    Command::new(program.as_ref())
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.as_ref().to_string_lossy()))
}

/// Runs a helper that must succeed.
pub fn must(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments, Path::new("/"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// What a run of either program left behind.
pub struct Outcome {
    /// Exit code.
    pub code: i32,
    /// The JSON document, if there was one.
    pub json: Option<Value>,
    /// Standard error.
    pub stderr: String,
    /// Names and sizes of the files in the folder.
    pub files: Vec<(String, u64)>,
}

impl Outcome {
    /// Per job: name, error, and bytes and I/Os of each direction.
    pub fn counts(&self) -> Vec<Counts> {
        let Some(json) = &self.json else { return Vec::new() };
        let real_fio = json["fio version"].as_str().is_some_and(|version| version.starts_with("fio-3.33"));
        json["jobs"].as_array().map_or(Vec::new(), |jobs| jobs.iter().map(|job| Counts::of(job, real_fio)).collect())
    }
}

/// The counts of one job entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The job's name.
    pub name: String,
    /// Its reporting group.
    pub group: u64,
    /// Its error: an errno, 0 for none.
    pub error: i64,
    /// Bytes and I/Os of read, write, trim, and of all in one where the job reports so.
    pub done: [(u64, u64); 4],
    /// Syncs done.
    pub syncs: u64,
    /// The longest time that any direction was measured, milliseconds.
    pub runtime_ms: u64,
}

impl Counts {
    fn of(job: &Value, real_fio: bool) -> Counts {
        const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];
        let number = |direction: &str, key: &str| job[direction][key].as_u64().unwrap_or(0);
        // fio 3.33 counts an fdatasync as a short read.
        let misplaced = if real_fio { number("read", "short_ios") } else { 0 };
        Counts {
            name: job["jobname"].as_str().unwrap_or_default().to_string(),
            group: job["groupid"].as_u64().unwrap_or(0),
            error: job["error"].as_i64().unwrap_or(0),
            done: DIRECTIONS.map(|direction| (number(direction, "io_bytes"), number(direction, "total_ios"))),
            syncs: number("sync", "total_ios") + misplaced,
            runtime_ms: DIRECTIONS.into_iter().map(|direction| number(direction, "runtime")).max().unwrap_or(0),
        }
    }

    /// What the entry is about.
    pub fn key(&self) -> (&str, u64, i64) {
        (&self.name, self.group, self.error)
    }

    /// Bytes of all directions.
    pub fn bytes(&self) -> u64 {
        self.done.iter().map(|(bytes, _)| bytes).sum()
    }

    /// I/Os of all directions.
    pub fn ios(&self) -> u64 {
        self.done.iter().map(|(_, ios)| ios).sum()
    }
}

/// Runs a fio command line with JSON output in a folder.
pub fn measure(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Outcome {
    let mut all = arguments.to_vec();
    all.extend(["--output-format=json", "--output=.out.json"]);
    let output = run(program, &all, folder);
    let text = std::fs::read_to_string(folder.join(".out.json")).unwrap_or_default();
    let _ = std::fs::remove_file(folder.join(".out.json"));
    let json = text.find('{').and_then(|start| serde_json::from_str(&text[start..]).ok());
    Outcome {
        code: output.status.code().unwrap_or(-1),
        json,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        files: list(folder),
    }
}

/// Names and sizes of the files in a folder and below, sorted.
pub fn list(folder: &Path) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.path().strip_prefix(folder).unwrap_or(&entry.path()).to_string_lossy().into_owned();
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.is_file() {
                files.push((name, metadata.len()));
            }
        }
    }
    files.sort();
    files
}

/// A fresh folder that goes away with its contents.
pub struct Folder(PathBuf);

impl Folder {
    /// Below the build's scratch folder, on the disk of the checkout.
    pub fn new(name: &str) -> Folder {
        Folder::below(scratch(), name)
    }

    /// Below another folder, of a mount for instance.
    pub fn below(parent: &Path, name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = parent.join(format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What a file in it holds.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Puts a file of random bytes into it, and the folders above it.
    pub fn give(&self, name: &str, bytes: u64) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let random = std::fs::File::open("/dev/urandom").unwrap();
        std::io::copy(&mut random.take(bytes), &mut std::fs::File::create(path).unwrap()).unwrap();
    }

    /// Removes what is in it.
    pub fn clear(&self) {
        std::fs::remove_dir_all(&self.0).unwrap();
        std::fs::create_dir_all(&self.0).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A loop device over a sparse file; detached when dropped.
pub struct Loop {
    /// The device node.
    pub device: String,
    _image: Folder,
}

impl Loop {
    /// A device of so many MiB.
    pub fn new(name: &str, mebibytes: u64) -> Loop {
        let image = Folder::new(name);
        let path = image.path().join("image");
        std::fs::File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
        let device = must("losetup", &["--find", "--show", path.to_str().unwrap()]);
        Loop { device, _image: image }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.device], Path::new("/"));
    }
}

/// Huge pages of the system's size beside those that were there; given back when dropped.
pub struct HugePages {
    before: String,
}

impl HugePages {
    const SETTING: &str = "/proc/sys/vm/nr_hugepages";

    /// So many more; none where the system has none to give, or they are not ours to ask for.
    pub fn reserve(count: u64) -> Option<HugePages> {
        let before = std::fs::read_to_string(Self::SETTING).ok()?;
        let wanted = before.trim().parse::<u64>().ok()? + count;
        std::fs::write(Self::SETTING, wanted.to_string()).ok()?;
        let pages = HugePages { before };
        let now: u64 = std::fs::read_to_string(Self::SETTING).ok()?.trim().parse().ok()?;
        (now >= wanted).then_some(pages)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        let _ = std::fs::write(Self::SETTING, &self.before);
    }
}

/// A mounted file system; unmounted when dropped.
pub struct Mount {
    point: PathBuf,
    _loop: Option<Loop>,
    _folder: Folder,
}

impl Mount {
    /// A file system of this type on a loop device (or a tmpfs).
    pub fn new(kind: &str) -> Mount {
        let folder = Folder::new(&format!("mount-{kind}"));
        let point = folder.path().to_path_buf();
        let device = (kind != "tmpfs").then(|| {
            let device = Loop::new(&format!("loop-{kind}"), if kind == "xfs" { 400 } else { 256 });
            let quiet = if kind == "ext4" { "-qF" } else { "-qf" };
            must(&format!("mkfs.{kind}"), &[if kind == "btrfs" { "-qf" } else { quiet }, &device.device]);
            device
        });
        let source = device.as_ref().map_or("tmpfs", |device| device.device.as_str());
        must("mount", &["-t", kind, source, point.to_str().unwrap()]);
        Mount { point, _loop: device, _folder: folder }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["--lazy", self.point.to_str().unwrap()], Path::new("/"));
    }
}
