//! What may be asked of a run while it goes on: reports, and an end before its time.

#![cfg(target_os = "linux")]

use std::time::Duration;

use iostrata_testkit::faults::Beside;
use iostrata_testkit::{Folder, iostrata, run};
use rustix::process::Signal;

/// A run that would take a minute.
const LONG: &str = "--name=a --ioengine=null --size=1g --rate=4m --time_based --runtime=60";

fn begin(folder: &Folder, words: &str) -> Beside {
    let words = format!("{LONG} {words}");
    Beside::start(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path())
}

#[test]
fn a_trigger_file_ends_the_run_in_order_and_asks_once() {
    let folder = Folder::new("attended");
    let beside = begin(&folder, "--trigger-file=go");
    folder.give("go", 0);
    let Ok(ended) = beside.end_within(Duration::from_secs(20)) else { panic!("the trigger did not end it") };
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(!folder.path().join("go").exists(), "it is taken away");
}

#[test]
fn a_trigger_fires_after_its_time_and_a_command_that_fails_is_told_of() {
    let folder = Folder::new("attended");
    let words: Vec<&str> = LONG.split_whitespace().chain(["--trigger-timeout=200ms"]).collect();
    let output = run(iostrata(), &[&words[..], &["--trigger=touch fired; exit 3"]].concat(), folder.path());
    assert_eq!(output.status.code(), Some(0));
    assert!(folder.path().join("fired").exists());
    assert!(String::from_utf8_lossy(&output.stderr).contains("exit 3"));
}

#[test]
fn reports_come_by_time_and_when_asked() {
    let folder = Folder::new("attended");
    let words = "--name=a --ioengine=null --size=1g --rate=4m --time_based --runtime=1100ms --status-interval=500ms";
    let output = run(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("a: (groupid=0, jobs=1): err= 0").count(), 3, "{text}");

    let beside = begin(&folder, "--output=report.txt");
    // The worker is there: so are the handlers. A job that has moved nothing yet is not in the text.
    beside.wait_for_thread("a");
    std::thread::sleep(Duration::from_millis(300));
    beside.signal(Signal::USR1);
    std::thread::sleep(Duration::from_millis(300));
    beside.signal(Signal::TERM);
    let Ok(ended) = beside.end_within(Duration::from_secs(20)) else { panic!("it did not end") };
    assert_eq!(ended.code(), Some(128), "{}", ended.stderr);
    let text = std::fs::read_to_string(folder.path().join("report.txt")).unwrap();
    assert!(text.matches("a: (groupid=0, jobs=1)").count() >= 2, "{text}");
}
