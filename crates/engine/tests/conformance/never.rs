//! A request that never returns: waits keep their deadlines, and memory that the kernel has is not taken back.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostrata_engine::{Deadline, EngineError, EngineSpec, Op};
use iostrata_spec::EngineOptions;

use crate::bench::{BLOCK, Bench, Request, monotonic, on_files, quiesce, request};
use crate::stalled::{FILE_BYTE, Stalled};

#[test]
fn a_disk_that_never_answers_is_waited_for_no_longer_than_asked_and_its_memory_stays() {
    if !crate::disks::allowed() {
        return;
    }
    let stories = on_files().into_iter().filter(|(engine, ..)| !engine.caps.synchronous);
    // Each waits for its 2 seconds of grace: all at once.
    let threads: Vec<_> = stories.map(|story| std::thread::spawn(move || never_answered(story))).collect();
    for thread in threads {
        thread.join().expect("the story ends well");
    }
}

fn never_answered((engine, options, manner): (&'static EngineSpec, EngineOptions, &'static str)) {
    let name = format!("{}{manner}", engine.name);
    let disk = match Stalled::mount(std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        Ok(disk) => disk,
        Err(error) => return eprintln!("SKIP: no FUSE here: {error}"),
    };
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(disk.file()).expect("open");
    let mut bench = Bench::new(engine, &options, file.as_raw_fd(), true, 4).expect("attach");
    let reads: Vec<Request> = (0..4).map(|block| request(Op::Read, block * BLOCK)).collect();
    assert_eq!(bench.put_in_flight(&reads), 4, "{name}");

    let start = Instant::now();
    let until = monotonic(Duration::from_millis(30));
    let mut done = std::mem::take(&mut bench.done);
    bench.asynchronous().expect("asynchronous").reap(1, until, &mut done).expect("reap");
    assert!(done.is_empty(), "{name}: {done:?}");
    assert!(start.elapsed() >= Duration::from_millis(30), "{name}: the deadline ends the wait, not before");

    signalled(|| bench.asynchronous().expect("asynchronous").reap(1, Deadline::Never, &mut done)).expect("reap");
    assert!(done.is_empty(), "{name}: a signal ended the wait: {done:?}");

    bench.done = done;
    let stuck = quiesce(&mut bench, Duration::from_millis(100));
    assert_eq!(stuck.slots.len() + bench.done.len(), 4, "{name}: each is answered or named: {stuck:?}");
    let &slot = stuck.slots.first().unwrap_or_else(|| panic!("{name}: the disk has answered none"));
    let address = bench.arena.ptr(slot);
    drop(bench);
    // SAFETY: the memory of stuck requests is leaked, never unmapped; the kernel may write to it at any time.
    let byte = || unsafe { address.read_volatile() };
    assert_eq!(byte(), 0, "{name}");
    disk.release();
    let limit = Instant::now() + Duration::from_secs(20);
    while byte() != FILE_BYTE && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(byte(), FILE_BYTE, "{name}: the late answer went where it was asked for");
}

/// Runs `wait` in this thread while another sends it signals, and answers what `wait` does.
fn signalled(wait: impl FnOnce() -> Result<(), EngineError>) -> Result<(), EngineError> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a zeroed action with a handler that does nothing; without SA_RESTART, so that it ends a wait.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
    }
    // SAFETY: no arguments.
    let me = unsafe { libc::pthread_self() } as usize;
    let over = Arc::new(AtomicBool::new(false));
    let waker = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
                // SAFETY: the thread waits for this one to end.
                unsafe { libc::pthread_kill(me as libc::pthread_t, libc::SIGUSR2) };
            }
        })
    };
    let answer = wait();
    over.store(true, Ordering::Relaxed);
    waker.join().expect("waker");
    answer
}
