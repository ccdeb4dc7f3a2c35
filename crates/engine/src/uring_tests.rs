#![allow(clippy::print_stderr)] // a test that is skipped says so

use super::*;
use crate::flight::now_ns;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;

const MS: u64 = 1_000_000;

/// An engine with the reading end of an empty pipe as its file, where a read never ends by itself.
struct Bench {
    attached: Attached<Entries>,
    granted: Granted,
    writer: PipeWriter,
    done: Completions,
    _reader: PipeReader,
}

fn on_a_pipe(options: EngineOptions, depth: u32) -> Option<Bench> {
    if let Availability::Missing(reason) = availability() {
        eprintln!("SKIP: {reason}");
        return None;
    }
    let (reader, writer) = std::io::pipe().expect("pipe");
    let files = FileTable::new(vec![reader.as_raw_fd()], false);
    let slots = SlotArena::new(depth, 4096, 4096).expect("map");
    let engine = Uring { options, attached: None };
    let (attached, granted) = Uring::attach(&engine, &files, slots, depth).expect("attach");
    Some(Bench { attached, granted, writer, done: Completions::new(), _reader: reader })
}

impl Bench {
    fn read(&mut self, slots: std::ops::Range<u32>) {
        let ios: Vec<Io> = slots.map(|slot| Io { len: 100, slot, ..Io::of(Op::Read) }).collect();
        assert_eq!(self.attached.submit(&ios, &mut self.done).expect("submit"), ios.len());
    }

    fn reap(&mut self, min: u32, until: Deadline) -> usize {
        let before = self.done.len();
        self.attached.reap(min, until, &mut self.done).expect("reap");
        self.done.len() - before
    }
}

#[test]
fn a_kernel_without_timed_waits_is_polled_to_the_same_effect() {
    let Some(mut bench) = on_a_pipe(EngineOptions::default(), 2) else { return };
    bench.attached.ring.without_timeouts();
    bench.read(0..2);
    let until = now_ns() + 20 * MS;
    assert_eq!(bench.reap(1, Deadline::At(until)), 0);
    assert!(now_ns() >= until, "the wait lasts until its deadline");
    bench.writer.write_all(&[7; 100]).expect("write");
    assert_eq!(bench.reap(1, Deadline::At(now_ns() + 10_000 * MS)), 1);
    assert_eq!(bench.done[0].result, 100);
    assert!(bench.attached.quiesce(Deadline::At(now_ns() + 10_000 * MS), &mut bench.done).slots.is_empty());
}

#[test]
fn a_kernel_that_cannot_cancel_everything_is_asked_for_each() {
    let Some(mut bench) = on_a_pipe(EngineOptions::default(), 8) else { return };
    bench.read(0..8);
    bench.attached.cancel_any_refused = true;
    assert!(bench.attached.quiesce(Deadline::At(now_ns() + 10_000 * MS), &mut bench.done).slots.is_empty());
    assert_eq!(bench.done.len(), 8);
    assert!(bench.done.iter().all(|end| matches!(-end.result, libc::ECANCELED | libc::EINTR)), "{:?}", bench.done);
}

#[test]
fn a_thread_can_make_more_rings_than_it_can_register() {
    // The kernel registers 16 rings a thread: a ring that is dropped must give its place back.
    for _ in 0..40 {
        let Some(bench) = on_a_pipe(EngineOptions::default(), 1) else { return };
        let registered = bench.granted.used.iter().any(|word| word == "registered ring");
        assert!(registered || !bench.granted.used.iter().any(|word| word == "DEFER_TASKRUN"));
    }
}

#[test]
fn a_depth_beyond_a_ring_is_granted_in_part_and_said() {
    if let Availability::Missing(reason) = availability() {
        eprintln!("SKIP: {reason}");
        return;
    }
    let slots = SlotArena::new(1, 4096, 4096).expect("map");
    let engine = Uring { options: EngineOptions::default(), attached: None };
    let (_, granted) = Uring::attach(&engine, &FileTable::default(), slots, 100_000).expect("attach");
    assert!(granted.depth < 100_000 && granted.depth >= 4096);
    assert!(granted.notes.iter().any(|note| note.contains("a ring holds no more")), "{:?}", granted.notes);
}

#[test]
fn polling_without_direct_is_refused_with_the_remedy() {
    let slots = SlotArena::new(1, 4096, 4096).expect("map");
    let engine = Uring { options: EngineOptions { polled: true, ..Default::default() }, attached: None };
    let Err(error) = Uring::attach(&engine, &FileTable::default(), slots, 1) else { panic!("must be refused") };
    assert!(error.to_string().contains("add direct=1"), "{error}");
    assert_eq!(error.errno(), libc::EOPNOTSUPP);
}

#[test]
fn a_submission_thread_that_has_gone_to_sleep_is_woken() {
    let Some(mut bench) = on_a_pipe(EngineOptions { sq_poll: true, ..Default::default() }, 1) else { return };
    let limit = now_ns() + 20_000 * MS;
    while !bench.attached.ring.queues.submission().need_wakeup() {
        assert!(now_ns() < limit, "an idle thread sleeps");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    bench.writer.write_all(&[7; 100]).expect("write");
    bench.read(0..1);
    while bench.reap(0, Deadline::Now) == 0 {
        assert!(now_ns() < limit, "polling alone must bring the completion");
    }
    assert_eq!(bench.done[0].result, 100);
}

#[test]
fn registered_files_are_free_again_when_the_engine_is_gone() {
    if let Availability::Missing(reason) = availability() {
        eprintln!("SKIP: {reason}");
        return;
    }
    let (reader, writer) = std::io::pipe().expect("pipe");
    let files = FileTable::new(vec![writer.as_raw_fd()], false);
    let slots = SlotArena::new(1, 4096, 4096).expect("map");
    let mut engine = Uring { options: EngineOptions { register_files: true, ..Default::default() }, attached: None };
    Engine::attach(&mut engine, &files, slots, 1).expect("attach");
    drop(engine);
    drop(writer);
    // Nobody holds the writing end: the end of the pipe shows at once.
    let mut end = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live entry.
    unsafe { libc::poll(&raw mut end, 1, 0) };
    assert_ne!(end.revents & libc::POLLHUP, 0);
}
