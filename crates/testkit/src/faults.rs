//! What the tests of faults and signals share: a program that runs beside the test, and a disk server that fails.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use serde_json::Value;

use crate::{Folder, Loop, must, which};

/// How long anything here may take before the test gives up; nothing comes near it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs beside the test, in a process group of its own, with its output in files.
pub struct Beside {
    child: Child,
    folder: PathBuf,
}

impl Beside {
    /// Starts it in a folder; its output goes to files beside that folder. It hears SIGHUP even if these tests run
    /// under `nohup`.
    pub fn start(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Beside {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", "--block-signal=HUP"]).arg(program.as_ref());
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(folder.with_extension("stdout")).unwrap());
        command.stderr(File::create(folder.with_extension("stderr")).unwrap());
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.as_ref().to_string_lossy()));
        Beside { child, folder: folder.to_path_buf() }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It fails for a process that has ended, which the caller finds out by itself.
        let _ = kill_process(self.pid(), signal);
    }

    /// Whether the process has ended or begun to end (the kernel's `PF_EXITING`).
    pub fn is_exiting(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let flags: u64 = fields.get(6).and_then(|flags| flags.parse().ok()).unwrap_or(4);
        fields[0] == "Z" || flags & 4 != 0
    }

    /// Waits until one of its threads is named so: jobs name theirs.
    pub fn wait_for_thread(&self, name: &str) {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        until(&format!("a thread named {name}"), || {
            let entries = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok())
                .any(|comm| comm.trim() == name)
        });
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let mut status = None;
        until("the end of the process", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.ended(status.unwrap())
    }

    /// Its end, if it comes within this time.
    pub fn end_within(mut self, limit: Duration) -> Result<Ended, Beside> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(self.ended(status));
            }
            if start.elapsed() > limit {
                return Err(self);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        let read = |extension| {
            let path = self.folder.with_extension(extension);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::remove_file(&path).unwrap();
            text
        };
        let left_behind = test_kill_process_group(self.pid()).is_ok();
        Ended { status, stdout: read("stdout"), stderr: read("stderr"), left_behind }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
    }
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// A process of its group still runs.
    pub left_behind: bool,
}

impl Ended {
    /// The exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Waits until something is so; fails the test if it takes too long.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A JSON file that is there; fails the test if it is not one whole document.
pub fn whole_json(path: &Path) -> Option<Value> {
    let text = std::fs::read(path).ok()?;
    Some(serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// One file of 64 MiB on a FUSE file system whose server fails or sleeps on demand: nbdkit behind nbdfuse.
pub struct Server {
    fuse: Child,
    kit: Pid,
    folder: Folder,
    point: PathBuf,
}

impl Server {
    /// Why there can be none here.
    pub fn missing() -> Option<&'static str> {
        if which("nbdkit").is_none() || which("nbdfuse").is_none() {
            return Some("apt-get install nbdkit libnbd-bin");
        }
        (!super::is_root() || !Path::new("/dev/fuse").exists()).then_some("needs root and /dev/fuse")
    }

    /// Starts one; `name` keeps its files apart from those of others.
    pub fn new(name: &str) -> Server {
        let folder = Folder::new(&format!("server-{name}"));
        let point = folder.path().join("mount");
        std::fs::create_dir(&point).unwrap();
        let trigger = format!("error-file={}", folder.path().join("fail").display());
        let mut command = Command::new("nbdfuse");
        command.arg(format!("{}/", point.display())).args(["--command", "nbdkit", "-s", "--filter=error", "memory"]);
        command.args(["64M", "error=EIO", "error-rate=100%", &trigger]).stdin(Stdio::null());
        let fuse = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("nbdfuse", || point.join("nbd").is_file());
        let child = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", fuse.id())).unwrap();
        let kit = child.split_whitespace().next().and_then(|pid| Pid::from_raw(pid.parse().ok()?)).expect("nbdkit");
        Server { fuse, kit, folder, point }
    }

    /// The file that it serves.
    pub fn file(&self) -> PathBuf {
        self.point.join("nbd")
    }

    /// From now on every request fails with EIO.
    pub fn fail(&self) {
        File::create(self.folder.path().join("fail")).unwrap();
    }

    /// From now on no request is answered.
    pub fn stop(&self) {
        kill_process(self.kit, Signal::STOP).unwrap();
    }

    /// From now on nothing is answered, not even what the file's size is.
    pub fn stop_all(&self) {
        self.stop();
        kill_process(Pid::from_child(&self.fuse), Signal::STOP).unwrap();
    }

    /// Answers again, also what it was asked meanwhile.
    pub fn wake(&self) {
        kill_process(Pid::from_child(&self.fuse), Signal::CONT).unwrap();
        kill_process(self.kit, Signal::CONT).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.fuse), Signal::CONT);
        let _ = kill_process(self.kit, Signal::CONT);
        super::run("umount", &["--lazy", self.point.to_str().unwrap()], Path::new("/"));
        let _ = self.fuse.wait();
    }
}

/// A loop device with sectors of this size.
pub fn loop_of_sectors(name: &str, mebibytes: u64, sector_bytes: u32) -> Loop {
    let image = Folder::new(&format!("sectors-{name}"));
    let path = image.path().join("image");
    File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
    let sector = sector_bytes.to_string();
    let device = must("losetup", &["--sector-size", &sector, "--find", "--show", path.to_str().unwrap()]);
    Loop { device, _image: image }
}

/// A tmpfs of a few MiB; unmounted when dropped.
pub struct Small(Folder);

impl Small {
    /// A file system of so many MiB.
    pub fn new(name: &str, mebibytes: u32) -> Small {
        Small::mount(name, "tmpfs", &format!("size={mebibytes}M"))
    }

    /// A ramfs instead: it knows no direct I/O.
    pub fn ram(name: &str) -> Small {
        Small::mount(name, "ramfs", "mode=755")
    }

    fn mount(name: &str, kind: &str, options: &str) -> Small {
        let folder = Folder::new(&format!("small-{name}"));
        must("mount", &["-t", kind, "-o", options, kind, folder.path().to_str().unwrap()]);
        Small(folder)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        super::run("umount", &["--lazy", self.0.path().to_str().unwrap()], Path::new("/"));
    }
}
