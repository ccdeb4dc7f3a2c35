//! What goes wrong comes back as a completion, and nothing hangs.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostrata_engine::{Deadline, EngineError, EngineSpec, Op, Stuck};
use iostrata_spec::EngineOptions;

use crate::bench::{BLOCK, Bench, Request, on_files, request};
use crate::stalled::{FILE_BYTE, Stalled};
use crate::targets::FileTarget;

fn bench(engine: &EngineSpec, options: &EngineOptions, fd: RawFd, direct: bool) -> Bench {
    Bench::new(engine, options, fd, direct, 4).unwrap_or_else(|error| panic!("{}: {error}", engine.name))
}

#[test]
fn a_descriptor_that_is_none_is_ebadf() {
    for (engine, options, manner) in on_files() {
        let mut bench = bench(engine, &options, -1, false);
        for op in [Op::Read, Op::Write, Op::Sync, Op::DataSync, Op::Trim] {
            let expected = if cfg!(target_os = "linux") || op != Op::Trim { libc::EBADF } else { libc::EOPNOTSUPP };
            assert_eq!(bench.one(request(op, 0)), -expected, "{}{manner} {op:?}", engine.name);
        }
        let reads: Vec<Request> = (0..20).map(|block| request(Op::Read, block * BLOCK)).collect();
        let mut failed = 0;
        bench.run(&reads, |_, _| (), |_, result, _| failed += u32::from(result == -libc::EBADF));
        assert_eq!(failed, 20, "{}{manner}: each request of a batch fails by itself", engine.name);
    }
}

#[test]
fn the_wrong_direction_is_ebadf() {
    let target = FileTarget::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&target.path, [1; BLOCK as usize]).expect("write");
    let reader = File::open(&target.path).expect("open");
    let writer = OpenOptions::new().write(true).open(&target.path).expect("open");
    for (engine, options, manner) in on_files() {
        let result = bench(engine, &options, writer.as_raw_fd(), false).one(request(Op::Read, 0));
        assert_eq!(result, -libc::EBADF, "{}{manner}: reading a file open for writing", engine.name);
        let result = bench(engine, &options, reader.as_raw_fd(), false).one(request(Op::Write, 0));
        assert_eq!(result, -libc::EBADF, "{}{manner}: writing a file open for reading", engine.name);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_enospc() {
    let full = OpenOptions::new().read(true).write(true).open("/dev/full").expect("open");
    for (engine, options, manner) in on_files() {
        // Its driver has no asynchronous write, which is all that io_submit knows.
        let expected = if engine.name == "libaio" { libc::EINVAL } else { libc::ENOSPC };
        let result = bench(engine, &options, full.as_raw_fd(), false).one(request(Op::Write, 0));
        assert_eq!(result, -expected, "{}{manner}", engine.name);
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_slot_that_is_in_flight_cannot_be_lent_again_and_unwinding_does_not_hang() {
    let target = FileTarget::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&target.path, [1; 4 * BLOCK as usize]).expect("write");
    let file = File::open(&target.path).expect("open");
    for engine in crate::bench::engines().filter(|engine| !engine.caps.synchronous) {
        let panicked = std::panic::catch_unwind(|| {
            let mut bench = bench(engine, &EngineOptions::default(), file.as_raw_fd(), false);
            bench.put_in_flight(&[request(Op::Read, 0)]);
            bench.put_in_flight(&[request(Op::Read, BLOCK)]); // slot 0 again
        });
        let message = panicked.expect_err("lending twice must panic");
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains("slot 0 cannot become InFlight"), "{}: {message}", engine.name);
    }
}

#[test]
fn a_pipe_that_stays_empty_is_given_up_and_its_requests_come_back() {
    let uring = on_files().into_iter().filter(|(engine, ..)| engine.name == "io_uring");
    for (engine, options, manner) in uring {
        let (reader, _writer) = std::io::pipe().expect("pipe");
        let mut bench = bench(engine, &options, reader.as_raw_fd(), false);
        assert_eq!(bench.put_in_flight(&[request(Op::Read, 0); 4]), 4);
        let stuck = quiesce(&mut bench, Duration::from_secs(20));
        assert_eq!(stuck, Stuck::default(), "io_uring{manner}");
        assert_eq!(bench.done.len(), 4);
        assert!(bench.done.iter().all(|end| matches!(-end.result, libc::ECANCELED | libc::EINTR)), "{:?}", bench.done);
    }
}

fn monotonic(after: Duration) -> Deadline {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    Deadline::At(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + after.as_nanos() as u64)
}

fn quiesce(bench: &mut Bench, within: Duration) -> Stuck {
    let mut done = std::mem::take(&mut bench.done);
    let stuck = bench.asynchronous().expect("asynchronous").quiesce(monotonic(within), &mut done);
    bench.done = done;
    stuck
}

#[test]
#[cfg(target_os = "linux")]
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
    let mut bench = bench(engine, &options, file.as_raw_fd(), true);
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
