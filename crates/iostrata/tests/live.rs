//! `--live` on a real pseudo-terminal, read by a terminal emulator: what is seen, and that all is as before afterwards.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iostrata_testkit::{Folder, iostrata, run};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

const SIGQUIT: i32 = 3;
const SIGBUS: i32 = 7;
const SIGSEGV: i32 = 11;
/// So long something may take that takes a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal, what is on it, and a run in it.
struct Terminal {
    controller: File,
    before: Termios,
    screen: Arc<Mutex<vt100::Parser>>,
    /// All that was ever sent to it.
    sent: Arc<Mutex<Vec<u8>>>,
    process: Child,
    folder: Folder,
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Terminal {
    /// Runs with `--live`.
    fn run(words: &str) -> Terminal {
        Terminal::begin(&format!("--live {words}"))
    }

    fn begin(words: &str) -> Terminal {
        let folder = Folder::new("live");
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&controller).expect("it is ours");
        unlockpt(&controller).expect("it is open");
        let name = ptsname(&controller, Vec::new()).expect("its name").into_string().expect("text");
        let open = || -> OwnedFd { File::options().read(true).write(true).open(&name).expect("the terminal").into() };
        let terminal = open();
        tcsetwinsize(&terminal, size(24, 80)).expect("a size");
        let before = tcgetattr(&terminal).expect("settings");
        // A session of its own, so that Ctrl-C is for it.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", iostrata()]).args(words.split_whitespace());
        command.current_dir(folder.path()).env("TERM", "xterm-256color");
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        let process = command.spawn().expect("setsid");
        let controller = File::from(controller);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 500)));
        let (mut reader, shown) = (controller.try_clone().expect("a copy"), Arc::clone(&screen));
        let sent = Arc::<Mutex<Vec<u8>>>::default();
        let copy = Arc::clone(&sent);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error when nobody has the terminal open any more.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                copy.lock().unwrap().extend(&bytes[..read]);
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        Terminal { controller, before, screen, sent, process, folder }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn wait_for(&self, what: &str, seen: impl Fn(&vt100::Screen) -> bool) {
        let begin = Instant::now();
        while !seen(self.screen.lock().unwrap().screen()) {
            assert!(begin.elapsed() < PATIENCE, "no {what}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_for_text(&self, what: &str) {
        self.wait_for(what, |screen| screen.contents().contains(what));
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let child = run("pgrep", &["-P", &pid], self.folder.path());
        // Whether setsid had to fork is its own matter.
        let child = String::from_utf8_lossy(&child.stdout).trim().to_owned();
        let pid = if child.is_empty() { pid } else { child };
        assert!(run("kill", &[signal, &pid], self.folder.path()).status.success());
    }

    /// The end of the run; the terminal must be as it was.
    fn end(&mut self) -> ExitStatus {
        let begin = Instant::now();
        let status = loop {
            match self.process.try_wait().expect("a process") {
                Some(status) => break status,
                None => assert!(begin.elapsed() < PATIENCE, "it does not end:\n{}", self.text()),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.wait_for("screen from before", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        let after = tcgetattr(&self.controller).expect("settings");
        assert_eq!(after.local_modes, self.before.local_modes, "keys are echoed again");
        assert_eq!((after.input_modes, after.output_modes), (self.before.input_modes, self.before.output_modes));
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const LONG: &str = "--name=first --ioengine=null --rw=randrw --bs=4k --size=1g --time_based --runtime=600 --iodepth=4";

#[test]
fn the_run_is_seen_as_it_goes_on_and_ctrl_c_gives_the_report() {
    let mut terminal = Terminal::run(LONG);
    for wanted in ["iostrata  1 of 1 jobs running", "Throughput:", "IOPS:", "Latency", "first", "left", "0%"] {
        terminal.wait_for_text(wanted);
    }
    terminal.wait_for("latencies", |screen| screen.contents().contains('█'));
    terminal.wait_for("rates", |screen| {
        screen.rows(0, 80).any(|row| row.contains("first") && row.contains("running") && row.contains("B/s"))
    });
    assert!(terminal.screen.lock().unwrap().screen().alternate_screen());
    // A larger window is used at once.
    terminal.screen.lock().unwrap().screen_mut().set_size(40, 120);
    tcsetwinsize(&terminal.controller, size(40, 120)).expect("a size");
    terminal.wait_for("picture of the new size", |screen| {
        let right = screen.rows(0, 120).any(|row| row.chars().count() > 110);
        right && screen.contents().contains("IOPS:")
    });
    terminal.controller.write_all(b"\x03").expect("Ctrl-C");
    let status = terminal.end();
    assert_eq!(status.code(), Some(128));
    terminal.wait_for_text("Run status group 0");
    assert!(terminal.text().contains("READ: bw="), "{}", terminal.text());
}

#[test]
fn a_second_ctrl_c_and_a_signal_leave_the_terminal_as_it_was_too() {
    let ends = [("-TERM", 128), ("-HUP", 128), ("-SEGV", SIGSEGV), ("-BUS", SIGBUS)];
    let ends = ends.map(|(signal, end)| (&b""[..], Some(signal), end));
    for (keys, signal, end) in ends.into_iter().chain([(&b"\x03\x03"[..], None, 128)]) {
        let mut terminal = Terminal::run(LONG);
        terminal.wait_for_text("jobs running");
        terminal.controller.write_all(keys).expect("keys");
        if let Some(signal) = signal {
            terminal.signal(signal);
        }
        let status = terminal.end();
        assert_eq!(status.code().or(status.signal()), Some(end), "{keys:?} {signal:?}");
    }
}

#[test]
fn keys_that_stop_or_kill_the_run_leave_the_terminal_as_it_was() {
    let mut terminal = Terminal::run(LONG);
    terminal.wait_for("rates", |screen| screen.contents().contains("running") && screen.contents().contains("B/s"));
    terminal.controller.write_all(b"\x1a").expect("Ctrl-Z");
    terminal.wait_for("screen from before", |screen| !screen.alternate_screen() && !screen.hide_cursor());
    assert_eq!(tcgetattr(&terminal.controller).expect("settings").local_modes, terminal.before.local_modes);
    terminal.signal("-CONT");
    terminal.wait_for("whole picture again", |screen| {
        let text = screen.contents();
        screen.alternate_screen()
            && ["Throughput:", "IOPS:", "Latency", "running"].iter().all(|word| text.contains(word))
    });
    terminal.controller.write_all(b"\x1c").expect("Ctrl-\\");
    assert_eq!(terminal.end().signal(), Some(SIGQUIT));
}

#[test]
fn a_short_run_ends_with_its_whole_report_and_what_was_said_meanwhile() {
    let mut terminal = Terminal::run(
        "--name=bad --ioengine=psync --rw=read --bs=4k --size=64k --name=good --ioengine=null --rw=read --size=1m \
         --bs=4k --filename=missing/x --allow_file_create=0",
    );
    let _ = terminal.end();
    terminal.wait_for_text("Run status group 0");
}

#[test]
fn the_making_of_files_is_shown_too() {
    let mut terminal = Terminal::run("--name=j --rw=read --bs=4k --nrfiles=30000 --size=120000k --create_only=1");
    terminal.wait_for_text("laying out");
    let status = terminal.end();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let folder = Folder::new("live-pipe");
    let output = run(iostrata(), &["--live", "--name=j", "--ioengine=null", "--size=4k"], folder.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("--live needs a terminal") && said.contains("--listen"),
        "{said}"
    );
}

/// As in fio: the line is for the person at the terminal, wherever the report goes, unless only programs read there.
#[test]
fn the_line_of_progress_is_shown_unless_the_terminal_gets_nothing_but_documents() {
    const JOB: &str = "--name=j --ioengine=null --rw=read --bs=4k --size=1g --rate_iops=100 --time_based --runtime=3";
    let cases = [
        ("", true),
        ("--output=report.txt", true),
        ("--output-format=json --output=report.json", true),
        ("--output-format=json,normal", true),
        ("--output-format=json", false),
        ("--output-format=json --eta=always", false),
        ("--minimal", false),
        ("--eta=never", false),
    ];
    let runs = cases.map(|(more, shown)| (Terminal::begin(&format!("{more} {JOB}")), more, shown));
    for (mut terminal, more, shown) in runs {
        assert!(terminal.end().success());
        let text = String::from_utf8_lossy(&terminal.sent.lock().unwrap()).into_owned();
        assert_eq!(text.contains("[eta 0"), shown, "{more}: {text:?}");
    }
}
