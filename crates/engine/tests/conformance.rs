//! One suite for all engines: the same stories on every kind of target that this machine has.
#![allow(unsafe_code)]
#![allow(clippy::print_stderr)] // a test that is skipped says so
#![allow(clippy::disallowed_methods)] // targets of its own making need no guard

#[cfg(target_os = "linux")]
#[path = "conformance/allocation.rs"]
mod allocation;
#[path = "conformance/bench.rs"]
mod bench;
#[cfg(target_os = "linux")]
#[path = "conformance/disks.rs"]
mod disks;
#[path = "conformance/faults.rs"]
mod faults;
#[path = "conformance/names.rs"]
mod names;
#[cfg(target_os = "linux")]
#[path = "conformance/never.rs"]
mod never;
#[cfg(target_os = "linux")]
#[path = "conformance/stalled.rs"]
mod stalled;
#[path = "conformance/stories.rs"]
mod stories;
#[path = "conformance/targets.rs"]
mod targets;

use targets::{FileTarget, for_each_manner};

#[test]
fn on_a_file_of_the_build_directory() {
    for_each_manner(&FileTarget::new(env!("CARGO_TARGET_TMPDIR")));
    names::tell(env!("CARGO_TARGET_TMPDIR").as_ref());
}

#[test]
#[cfg(target_os = "linux")]
fn on_tmpfs() {
    for_each_manner(&FileTarget::new("/dev/shm"));
    allocation::tell(&FileTarget::new("/dev/shm"));
    names::tell("/dev/shm".as_ref());
}

#[test]
#[cfg(target_os = "linux")]
fn on_file_systems_of_our_own() {
    if !disks::allowed() {
        return;
    }
    for kind in ["ext4", "xfs", "btrfs"] {
        match disks::Mounted::new(kind, env!("CARGO_TARGET_TMPDIR").as_ref()) {
            Ok(mounted) => {
                for_each_manner(&FileTarget::new(&mounted.directory));
                allocation::tell(&FileTarget::new(&mounted.directory));
                names::tell(mounted.directory.as_ref());
            }
            Err(missing) => eprintln!("SKIP: {kind}: {missing}"),
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_loop_device() {
    if !disks::allowed() {
        return;
    }
    match disks::Loop::new(1 << 20) {
        Ok(device) => targets::device(&device.path),
        Err(missing) => eprintln!("SKIP: {missing}"),
    }
}

#[test]
#[cfg(target_os = "linux")]
fn on_zram() {
    if !disks::allowed() {
        return;
    }
    match disks::Zram::new(1 << 20) {
        Ok(device) => targets::device(&device.path()),
        Err(missing) => eprintln!("SKIP: {missing}"),
    }
}
