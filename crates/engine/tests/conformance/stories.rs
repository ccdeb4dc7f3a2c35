//! What every engine must do, told on an open target.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use iostrata_engine::{Deadline, EngineSpec, Op};
use iostrata_spec::EngineOptions;

use crate::bench::{BLOCK, Bench, Request, on_files, request, shuffled};

/// Requests in flight at once in all stories.
const DEPTH: u32 = 32;

/// Where a story is told.
pub(crate) struct Target<'a> {
    /// Shown when a story fails.
    pub(crate) name: String,
    /// Open for reading and writing.
    pub(crate) file: &'a File,
    /// It was opened with `O_DIRECT`.
    pub(crate) direct: bool,
    /// Blocks that the stories may overwrite, from the start of the target to its end.
    pub(crate) blocks: u64,
    /// What a trim must answer.
    pub(crate) trim: i32,
}

/// Tells every story with every engine.
pub(crate) fn tell_all(target: &Target<'_>) {
    for (engine, options, manner) in on_files() {
        eprintln!("{}{manner} on {}", engine.name, target.name);
        let mut bench = match bench(engine, &options, target) {
            Ok(bench) => bench,
            Err(error) => panic!("{}{manner} on {}: {error}", engine.name, target.name),
        };
        data_come_back(&mut bench, target);
        reads_end_at_the_end(&mut bench, target, engine.name == "mmap");
        if !target.direct {
            a_short_transfer_can_be_finished(&mut bench);
        }
        flushes_are_answered(&mut bench);
        assert_eq!(bench.one(request(Op::Trim, 0)), target.trim, "trim");
        the_whole_depth_is_held(&mut bench);
        drop_with_requests_in_flight(bench);
    }
}

fn bench(
    engine: &EngineSpec,
    options: &EngineOptions,
    target: &Target<'_>,
) -> Result<Bench, iostrata_engine::EngineError> {
    Bench::new(engine, options, target.file.as_raw_fd(), target.direct, DEPTH)
}

/// Every block carries its own number all over; `salt` tells one pass from the next.
fn fill(offset: u64, salt: u64, bytes: &mut [u8]) {
    let word = (offset ^ salt.wrapping_mul(0xa076_1d64_78bd_642f)).to_le_bytes();
    bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&word));
}

fn data_come_back(bench: &mut Bench, target: &Target<'_>) {
    // Another salt each time, so that no engine lives on what the one before it wrote.
    static SALT: AtomicU64 = AtomicU64::new(1);
    let salt = SALT.fetch_add(1, Ordering::Relaxed);
    let writes: Vec<Request> =
        shuffled(target.blocks, 1).into_iter().map(|block| request(Op::Write, block * BLOCK)).collect();
    bench.run(
        &writes,
        |request, bytes| fill(request.offset, salt, bytes),
        |request, result, _| assert_eq!(result, BLOCK as i32, "{request:?}"),
    );
    let reads: Vec<Request> =
        shuffled(target.blocks, 2).into_iter().map(|block| request(Op::Read, block * BLOCK)).collect();
    let mut expected = vec![0; BLOCK as usize];
    bench.run(
        &reads,
        |_, bytes| bytes.fill(0xee),
        |request, result, bytes| {
            assert_eq!(result, BLOCK as i32, "{request:?}");
            fill(request.offset, salt, &mut expected);
            assert!(bytes[..expected.len()] == expected, "{request:?}: other bytes came back");
        },
    );
}

fn reads_end_at_the_end(bench: &mut Bench, target: &Target<'_>, mapped: bool) {
    let end = target.blocks * BLOCK;
    assert_eq!(bench.one(request(Op::Read, end)), 0, "a read at the end");
    assert_eq!(bench.one(request(Op::Read, end - BLOCK)), BLOCK as i32, "a read up to the end");
    // Over the end, and out of line: what the kernel says of the same `pread` is right (O_DIRECT often refuses it).
    // Memory has no such rules.
    for offset in [end - BLOCK / 2, end - BLOCK - 1] {
        let there = BLOCK.min(end - offset) as i32;
        let expected = if mapped { there } else { pread_of_a_block(target.file, offset) };
        assert_eq!(bench.one(request(Op::Read, offset)), expected, "a read at {offset}");
        if !target.direct {
            assert_eq!(expected, there, "a read at {offset}");
        }
    }
}

/// The rest of a transfer has its own offset in the file and in the slot, and leaves the bytes before it alone.
fn a_short_transfer_can_be_finished(bench: &mut Bench) {
    const DONE: usize = 1000;
    let rest = |op| Request { op, offset: DONE as u64, len: (BLOCK as usize - DONE) as u32, slot_offset: DONE as u32 };
    let mut whole = |request: Request, before: u8, expected: [u8; 2]| {
        bench.run(
            &[request],
            |_, bytes| bytes.fill(before),
            |request, result, bytes| {
                assert_eq!(result, request.len as i32, "{request:?}");
                let (first, last) = bytes[..BLOCK as usize].split_at(DONE);
                assert!(first.iter().all(|&byte| byte == expected[0]), "{request:?}: the first part");
                assert!(last.iter().all(|&byte| byte == expected[1]), "{request:?}: the rest");
            },
        );
    };
    whole(request(Op::Write, 0), 1, [1, 1]);
    whole(rest(Op::Write), 2, [2, 2]);
    whole(request(Op::Read, 0), 9, [1, 2]);
    whole(rest(Op::Read), 9, [9, 2]);
}

fn pread_of_a_block(file: &File, offset: u64) -> i32 {
    let block = BLOCK as usize;
    let mut memory = vec![0u8; 2 * block];
    let start = memory.as_ptr().align_offset(block);
    let aligned = &mut memory[start..start + block];
    // SAFETY: a live buffer of one block.
    unsafe { iostrata_os::io::pread(file.as_raw_fd(), aligned.as_mut_ptr(), block, offset) as i32 }
}

fn flushes_are_answered(bench: &mut Bench) {
    assert_eq!(bench.one(request(Op::Sync, 0)), 0, "fsync");
    assert_eq!(bench.one(request(Op::DataSync, 0)), 0, "fdatasync");
    // In the midst of writes, as fsync= issues them.
    let mixed: Vec<Request> =
        (0..64).map(|n| request(if n % 8 == 7 { Op::DataSync } else { Op::Write }, n % 16 * BLOCK)).collect();
    bench.run(
        &mixed,
        |_, bytes| bytes.fill(1),
        |request, result, _| assert_eq!(result, request.len as i32, "{request:?}"),
    );
}

fn the_whole_depth_is_held(bench: &mut Bench) {
    if bench.asynchronous().is_none() {
        return;
    }
    assert_eq!(bench.granted.depth, DEPTH);
    let reads: Vec<Request> = (0..u64::from(DEPTH)).map(|block| request(Op::Read, block % 16 * BLOCK)).collect();
    assert_eq!(bench.put_in_flight(&reads), DEPTH as usize, "taken before any was reaped");
    let mut done = std::mem::take(&mut bench.done);
    let engine = bench.asynchronous().expect("asynchronous");
    while done.len() < DEPTH as usize {
        engine.reap(DEPTH - done.len() as u32, Deadline::Never, &mut done).expect("reap");
    }
    done.sort_by_key(|end| end.slot);
    assert!(done.iter().zip(0..).all(|(end, slot)| (end.slot, end.result) == (slot, BLOCK as i32)), "{done:?}");
    engine.reap(1, Deadline::Never, &mut done).expect("nothing in flight: answered at once");
    assert_eq!(done.len(), DEPTH as usize);
}

/// Dropping cancels and drains: afterwards nothing points to the memory, which is unmapped at once.
fn drop_with_requests_in_flight(mut bench: Bench) {
    let reads: Vec<Request> = (0..u64::from(DEPTH)).map(|block| request(Op::Read, block % 16 * BLOCK)).collect();
    bench.put_in_flight(&reads);
    drop(bench);
}
