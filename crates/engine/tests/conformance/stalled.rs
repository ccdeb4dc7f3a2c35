//! A file system whose reads never return until it is told so: a FUSE server in a thread, without a library.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Operations and layouts from `linux/fuse.h`, protocol 7.31.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;
const ASYNC_DIO: u32 = 1 << 15;

/// The one file's size.
pub(crate) const FILE_BYTES: u64 = 1 << 20;

/// What its bytes are.
pub(crate) const FILE_BYTE: u8 = 0x5a;

const ROOT_NODE: u64 = 1;
const FILE_NODE: u64 = 2;

/// The mounted file system; unmounted when dropped, which ends what still hangs in it.
pub(crate) struct Stalled {
    directory: PathBuf,
    shared: Arc<Shared>,
    guard: Child,
}

struct Shared {
    device: File,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Reads that wait: the kernel's name of each and its length.
    held: Vec<(u64, u32)>,
    /// Reads are answered.
    flowing: bool,
}

impl Stalled {
    /// Mounts it at a new directory below `parent`. Needs root.
    pub(crate) fn mount(parent: &Path) -> std::io::Result<Stalled> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = parent.join(format!("stalled-{}-{number}", std::process::id()));
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
        std::fs::create_dir_all(&directory)?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", device.as_raw_fd());
        let target = format!("{}\0", directory.display());
        // SAFETY: all four are strings that end in a zero byte and live through the call.
        let answer = unsafe {
            libc::mount(
                c"stalled".as_ptr(),
                target.as_ptr().cast(),
                c"fuse".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV,
                options.as_ptr().cast(),
            )
        };
        if answer != 0 {
            let error = std::io::Error::last_os_error();
            std::fs::remove_dir(&directory)?;
            return Err(error);
        }
        let shared = Arc::new(Shared { device, state: Mutex::default() });
        let server = Arc::clone(&shared);
        std::thread::spawn(move || server.serve());
        let guard = unmount_if_we_die(&directory)?;
        Ok(Stalled { directory, shared, guard })
    }

    /// The one file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("file")
    }

    /// Lets all reads go, those that wait and those to come.
    pub(crate) fn release(&self) {
        let mut state = self.shared.lock();
        state.flowing = true;
        for (unique, len) in state.held.drain(..) {
            self.shared.reply(unique, 0, &vec![FILE_BYTE; len as usize]);
        }
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let target = format!("{}\0", self.directory.display());
        // SAFETY: a string that ends in a zero byte and lives through the call.
        unsafe { libc::umount2(target.as_ptr().cast(), libc::MNT_FORCE | libc::MNT_DETACH) };
        let _ = std::fs::remove_dir(&self.directory);
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// A process that dies with requests in its own file system could never end: another one unmounts it then.
fn unmount_if_we_die(directory: &Path) -> std::io::Result<Child> {
    // A process that is dying is neither running nor waiting for anything.
    const SCRIPT: &str = r#"
        while grep -q '^State:.[RSD]' "/proc/$1/status"; do sleep 0.5; done
        umount --force --lazy "$2"
        rmdir "$2"
    "#;
    let pid = std::process::id().to_string();
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "guard", &pid]).arg(directory);
    command.process_group(0); // what kills our group must not kill it
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers until the file system is unmounted.
    fn serve(&self) {
        let mut request = vec![0u8; 1 << 17];
        loop {
            match (&self.device).read(&mut request) {
                Ok(len) => self.answer(&request[..len]),
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => {}
                Err(_) => return,
            }
        }
    }

    fn answer(&self, request: &[u8]) {
        let word = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().expect("8 bytes"));
        let (operation, unique, node) = (word(4), long(8), long(16));
        match operation {
            FORGET | INTERRUPT | BATCH_FORGET => {}
            INIT => {
                let mut body = [7u32, 31, 0, ASYNC_DIO].map(u32::to_le_bytes).concat();
                body.extend([64u16, 64].map(u16::to_le_bytes).concat()); // background requests
                body.extend((1u32 << 16).to_le_bytes()); // the largest write
                body.resize(64, 0);
                self.reply(unique, 0, &body);
            }
            LOOKUP if request[40..].starts_with(b"file\0") => {
                let mut body = [FILE_NODE, 0, 3600, 3600, 0].map(u64::to_le_bytes).concat();
                body.extend(attributes(FILE_NODE));
                self.reply(unique, 0, &body);
            }
            LOOKUP => self.reply(unique, -libc::ENOENT, &[]),
            GETATTR => {
                let mut body = [3600u64, 0].map(u64::to_le_bytes).concat();
                body.extend(attributes(node));
                self.reply(unique, 0, &body);
            }
            OPEN => self.reply(unique, 0, &[0; 16]),
            READ => {
                let len = word(40 + 16);
                let mut state = self.lock();
                if state.flowing {
                    self.reply(unique, 0, &vec![FILE_BYTE; len as usize]);
                } else {
                    state.held.push((unique, len));
                }
            }
            FLUSH | RELEASE => self.reply(unique, 0, &[]),
            _ => self.reply(unique, -libc::ENOSYS, &[]),
        }
    }

    fn reply(&self, unique: u64, error: i32, body: &[u8]) {
        let mut message = (16 + body.len() as u32).to_le_bytes().to_vec();
        message.extend(error.to_le_bytes());
        message.extend(unique.to_le_bytes());
        message.extend(body);
        // It fails for a request that was given up meanwhile; nobody waits for that answer.
        let _ = (&self.device).write(&message);
    }
}

/// `struct fuse_attr`.
fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if node == ROOT_NODE { (0o040_755, 0) } else { (0o100_644, FILE_BYTES) };
    let mut body = [node, size, size / 512, 0, 0, 0].map(u64::to_le_bytes).concat();
    body.extend([0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].map(u32::to_le_bytes).concat());
    body
}
