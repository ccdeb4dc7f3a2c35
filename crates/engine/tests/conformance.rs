//! One suite for all engines: the same stories on every kind of target that this machine has.
#![allow(unsafe_code)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

#[path = "conformance/bench.rs"]
mod bench;
#[path = "conformance/stories.rs"]
mod stories;
#[path = "conformance/targets.rs"]
mod targets;

use targets::{FileTarget, for_each_manner};

#[test]
fn on_a_file_of_the_build_directory() {
    for_each_manner(&FileTarget::new(env!("CARGO_TARGET_TMPDIR")));
}

#[test]
#[cfg(target_os = "linux")]
fn on_tmpfs() {
    for_each_manner(&FileTarget::new("/dev/shm"));
}
