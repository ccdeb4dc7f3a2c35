//! Threads of the test process, pinned, measured and woken for real.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::clock::{Slept, sleep_until_ns};

#[test]
fn every_thread_has_a_number_of_its_own() {
    let mine = current_tid();
    let other = std::thread::spawn(current_tid).join().unwrap();
    assert_ne!(mine, other);
    assert_eq!(mine, current_tid());
}

#[cfg(target_os = "linux")]
#[test]
fn a_pinned_thread_is_allowed_that_cpu_only() {
    let cpus = allowed_cpus();
    let chosen = *cpus.last().unwrap();
    std::thread::spawn(move || {
        pin_current(&[chosen]).unwrap();
        assert_eq!(allowed_cpus(), [chosen]);
        assert_eq!(pin_current(&[]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(pin_current(&[u32::MAX]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(allowed_cpus(), [chosen], "a refused call changes nothing");
    })
    .join()
    .unwrap();
    assert_eq!(allowed_cpus(), cpus, "other threads keep theirs");
}

#[cfg(target_os = "linux")]
#[test]
fn nice_is_of_the_thread_alone() {
    let nice = || rustix::process::getpriority_process(None).unwrap();
    let before = nice();
    let inside = std::thread::spawn(move || {
        set_nice_current(before + 1).unwrap();
        nice()
    });
    assert_eq!(inside.join().unwrap(), before + 1);
    assert_eq!(nice(), before);
}

/// CPU time of a thread that works until it has used 20 ms, and of one that only sleeps.
#[test]
fn usage_counts_work_and_not_sleep() {
    let busy = std::thread::spawn(|| {
        let start = thread_usage();
        let mut used = Usage::default();
        while used.cpu_ns() < 20_000_000 {
            used = thread_usage() - start;
        }
        used
    });
    let idle = std::thread::spawn(|| {
        let start = thread_usage();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        thread_usage() - start
    });
    let (busy, idle) = (busy.join().unwrap(), idle.join().unwrap());
    assert!(idle.cpu_ns() < busy.cpu_ns());
    if cfg!(target_os = "linux") {
        // Involuntary where the thread was preempted on its way to sleep.
        let switches = idle.voluntary_switches + idle.involuntary_switches;
        assert!(switches >= 20, "each sleep gives up the CPU: {idle:?}");
    }
    assert!(process_usage().cpu_ns() >= busy.cpu_ns() + idle.cpu_ns(), "threads that ended count");
}

#[test]
fn exact_time_is_split_as_the_kernel_estimates() {
    // SAFETY: plain integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    assert_eq!(Usage::from_rusage(&usage, 500).user_ns, 500, "no estimate yet: all is the program's own");
    usage.ru_utime.tv_usec = 1;
    usage.ru_stime.tv_usec = 3;
    let split = Usage::from_rusage(&usage, 5001);
    assert_eq!((split.user_ns, split.system_ns), (1250, 3751));
}

/// Wakes until `answered` says so: a wake-up before the sleep begins is lost by design.
fn wake_until(waker: &Waker, answered: impl Fn() -> bool) {
    while !answered() {
        assert!(waker.wake());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sleeper_is_woken_and_no_other() {
    let (send, wakers) = mpsc::channel();
    let woken = AtomicU32::new(0);
    let release = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (send, woken, release) = (send.clone(), &woken, &release);
            scope.spawn(move || {
                send.send(Waker::current()).unwrap();
                let slept = sleep_until_ns(u64::MAX);
                assert_eq!(slept, Slept::Interrupted);
                woken.fetch_add(1, Ordering::SeqCst);
                // Alive until told, so that `wake` keeps answering true.
                while !release.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let (first, second) = (wakers.recv().unwrap(), wakers.recv().unwrap());
        wake_until(&first, || woken.load(Ordering::SeqCst) == 1);
        for _ in 0..5 {
            first.wake();
        }
        assert_eq!(woken.load(Ordering::SeqCst), 1, "signals to the first do not reach the second");
        wake_until(&second, || woken.load(Ordering::SeqCst) == 2);
        release.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_blocked_read_ends_with_eintr() {
    let (mut reader, writer) = io::pipe().unwrap();
    let (send, wakers) = mpsc::channel();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send.send(Waker::current()).unwrap();
            let error = reader.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Interrupted);
            done.store(true, Ordering::SeqCst);
        });
        let waker = wakers.recv().unwrap();
        while !done.load(Ordering::SeqCst) {
            waker.wake();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    drop(writer);
}

#[test]
fn a_thread_that_has_ended_is_never_signalled() {
    let waker = std::thread::spawn(Waker::current).join().unwrap();
    assert!(!waker.wake());
    assert!(!waker.clone().wake());
}

#[cfg(target_os = "linux")]
#[test]
fn rights_and_placement_belong_to_one_thread() {
    let status = |field: &str| -> Vec<u32> {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
    };
    let before = (status("Uid:"), status("Gid:"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            set_io_priority_current(2, 5, 0).unwrap();
            let nodes = numa_nodes().unwrap();
            assert!(cpus_of_node(nodes[0]).unwrap().contains(&0));
            assert!(cpus_of_node(1_000).is_err());
            set_memory_policy_current(MemoryPolicy::Local).unwrap();
            set_memory_policy_current(MemoryPolicy::Bind(&nodes)).unwrap();
            assert!(set_memory_policy_current(MemoryPolicy::Bind(&[1_023])).is_err());
            if before.0[0] == 0 {
                become_group_current(65_534).unwrap();
                become_user_current(65_534).unwrap();
                assert_eq!((status("Uid:"), status("Gid:")), (vec![65_534; 4], vec![65_534; 4]));
                assert!(become_user_current(0).is_err(), "there is no way back");
            }
        });
    });
    assert_eq!((status("Uid:"), status("Gid:")), before, "the other threads stay as they were");
}
