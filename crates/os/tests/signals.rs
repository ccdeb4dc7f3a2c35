//! Signals end processes, so each story is played by a child: this same test executable, told its part by an
//! environment variable.
#![allow(clippy::print_stdout)]

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use iostrata_os::clock::{Slept, monotonic_ns, sleep_until_ns};
use iostrata_os::signals::{Signals, Woken, block_in_this_thread};
use rustix::process::{Pid, Signal, kill_process};

const PART: &str = "IOSTRATA_TEST_SIGNALS_PART";
const FOREVER: u64 = u64::MAX;

/// Whether this process is the child of `test`.
fn is_child() -> bool {
    std::env::var_os(PART).is_some()
}

/// A line for the parent, apart from what the test harness prints.
fn say(line: &str) {
    println!("\n> {line}");
    io::stdout().flush().unwrap();
}

/// The child of one test; killed if the test fails while it runs.
struct Player {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Player {
    fn start(test: &str) -> Player {
        // SIGHUP is ignored in whatever runs under `nohup`, these tests perhaps.
        let mut child = Command::new("env")
            .arg("--default-signal=HUP")
            .arg(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(PART, "child")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Player { child, lines }
    }

    /// The child's next line; empty when it has ended.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            if let Some(said) = line.strip_prefix("> ") {
                return said.trim().to_owned();
            }
            line.clear();
        }
        String::new()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn ends(&mut self) -> ExitStatus {
        assert_eq!(self.hear(), "", "nothing more is said");
        self.child.wait().unwrap()
    }
}

#[test]
fn the_first_signal_is_kept_and_all_are_told() {
    if is_child() {
        let signals = Signals::install().unwrap();
        assert_eq!((signals.pending(), signals.received()), (None, 0));
        for _ in 0..3 {
            say("waiting");
            let woken = signals.wait_until_ns(FOREVER);
            say(&format!("{woken:?} first {:?} of {}", signals.pending(), signals.received()));
        }
        std::process::exit(7);
    }
    let mut player = Player::start("the_first_signal_is_kept_and_all_are_told");
    for (count, signal) in [(1, Signal::TERM), (2, Signal::INT), (3, Signal::HUP)] {
        assert_eq!(player.hear(), "waiting");
        player.signal(signal);
        assert_eq!(player.hear(), format!("Signal first Some({}) of {count}", libc::SIGTERM));
    }
    assert_eq!(player.ends().code(), Some(7));
}

#[test]
fn a_second_interrupt_ends_even_a_process_that_does_not_listen() {
    if is_child() {
        let signals = Signals::install().unwrap();
        say("deaf");
        while signals.pending().is_none() {
            std::hint::spin_loop();
        }
        say("still deaf");
        loop {
            sleep_until_ns(FOREVER);
        }
    }
    let mut player = Player::start("a_second_interrupt_ends_even_a_process_that_does_not_listen");
    assert_eq!(player.hear(), "deaf");
    player.signal(Signal::INT);
    assert_eq!(player.hear(), "still deaf");
    player.signal(Signal::INT);
    assert_eq!(player.ends().code(), Some(128));
}

#[test]
fn workers_that_block_them_sleep_on_while_the_coordinator_is_told() {
    if is_child() {
        let signals = Signals::install().unwrap();
        let (send, results) = mpsc::channel();
        let end_ns = monotonic_ns() + 300_000_000;
        for _ in 0..4 {
            let send = send.clone();
            std::thread::spawn(move || {
                block_in_this_thread();
                send.send(Slept::Done).unwrap();
                send.send(sleep_until_ns(end_ns)).unwrap();
            });
        }
        (0..4).for_each(|_| assert_eq!(results.recv().unwrap(), Slept::Done));
        say("workers sleep");
        assert_eq!(signals.wait_until_ns(FOREVER), Woken::Signal);
        say("told");
        (0..4).for_each(|_| assert_eq!(results.recv().unwrap(), Slept::Done, "a worker was interrupted"));
        std::process::exit(7);
    }
    let mut player = Player::start("workers_that_block_them_sleep_on_while_the_coordinator_is_told");
    assert_eq!(player.hear(), "workers sleep");
    player.signal(Signal::INT);
    assert_eq!(player.hear(), "told");
    assert_eq!(player.ends().code(), Some(7));
}

#[test]
fn a_wait_ends_by_deadline_by_notice_and_not_twice_for_one_signal() {
    if is_child() {
        let signals = Signals::install().unwrap();
        let again = Signals::install().unwrap();
        assert_eq!(signals.wait_until_ns(0), Woken::Deadline);
        let deadline = monotonic_ns() + 5_000_000;
        assert_eq!(signals.wait_until_ns(deadline), Woken::Deadline);
        assert!(monotonic_ns() >= deadline);

        (0..100_000).for_each(|_| again.notify());
        assert_eq!(signals.wait_until_ns(FOREVER), Woken::Notified, "a full pipe blocks nobody");
        assert_eq!(signals.wait_until_ns(0), Woken::Deadline, "many notices are one");
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            again.notify();
        });
        assert_eq!(signals.wait_until_ns(FOREVER), Woken::Notified);

        kill_process(rustix::process::getpid(), Signal::TERM).unwrap();
        assert_eq!(signals.wait_until_ns(FOREVER), Woken::Signal);
        assert_eq!(signals.wait_until_ns(0), Woken::Deadline);
        assert_eq!(signals.pending(), Some(libc::SIGTERM), "and yet it is remembered");
        std::process::exit(7);
    }
    let mut player = Player::start("a_wait_ends_by_deadline_by_notice_and_not_twice_for_one_signal");
    assert_eq!(player.ends().code(), Some(7));
}

#[test]
fn signals_that_the_parent_blocked_are_heard_those_that_wait_too() {
    if is_child() {
        say("deaf");
        let mut line = String::new();
        io::stdin().read_line(&mut line).unwrap();
        let signals = Signals::install().unwrap();
        assert_eq!((signals.wait_until_ns(FOREVER), signals.pending()), (Woken::Signal, Some(libc::SIGINT)));
        std::process::exit(7);
    }
    // The mask is inherited.
    block_in_this_thread();
    let mut player = Player::start("signals_that_the_parent_blocked_are_heard_those_that_wait_too");
    assert_eq!(player.hear(), "deaf");
    player.signal(Signal::INT);
    player.child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(player.ends().code(), Some(7));
}

#[test]
fn in_the_end_any_of_them_ends_the_process() {
    if is_child() {
        let signals = Signals::install().unwrap();
        signals.end_at_once();
        say("at once");
        loop {
            sleep_until_ns(FOREVER);
        }
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut player = Player::start("in_the_end_any_of_them_ends_the_process");
        assert_eq!(player.hear(), "at once");
        player.signal(signal);
        assert_eq!(player.ends().code(), Some(128));
    }
}

/// Under `nohup` SIGHUP stays ignored; a writer to a closed pipe gets an error and lives; SIGUSR2 keeps its meaning.
#[test]
fn other_signals_are_as_they_were() {
    if is_child() {
        let signals = Signals::install().unwrap();
        kill_process(rustix::process::getpid(), Signal::HUP).unwrap();
        assert_eq!((signals.wait_until_ns(0), signals.pending()), (Woken::Deadline, None));
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        say("alive");
        kill_process(rustix::process::getpid(), Signal::USR2).unwrap();
        unreachable!("SIGUSR2 ends a process that does not handle it");
    }
    use std::os::unix::process::ExitStatusExt;
    let mut command = Command::new("sh");
    // The shell hands on what it ignores.
    command.arg("-c").arg("trap '' HUP; exec \"$0\" other_signals_are_as_they_were --exact --nocapture");
    let mut child =
        command.arg(std::env::current_exe().unwrap()).env(PART, "child").stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let mut player = Player { child, lines };
    assert_eq!(player.hear(), "alive");
    assert_eq!(player.ends().signal(), Some(libc::SIGUSR2));
}
