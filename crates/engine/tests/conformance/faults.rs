//! What goes wrong comes back as a completion, and nothing hangs.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use iostrata_engine::{EngineSpec, Op, Stuck};
use iostrata_spec::EngineOptions;

use crate::bench::{BLOCK, Bench, Request, on_files, quiesce, request};
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
        let expected = match engine.name {
            // Its driver has neither an asynchronous write, which is all that io_submit knows, nor a splice.
            "libaio" | "splice" => libc::EINVAL,
            "mmap" => libc::ENODEV,
            _ => libc::ENOSPC,
        };
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
