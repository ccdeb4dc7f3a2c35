//! Which blocks a job visits: sequences against what fio 3.33 was seen to do, random orders by what they must cover.
#![allow(clippy::print_stdout)]

mod common;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use common::{pass, spec};
use iostrata_run::generate::Direction::{Read, Trim, Write};
use iostrata_run::generate::{Block, Direction, Mix, OffsetSpec, Offsets, Streams};
use proptest::prelude::*;

const KIB: u64 = 1024;

/// Starts of the first I/Os, in units of 512 bytes; a pass that ends is begun again, as `io_size` above `size` does.
fn sectors(spec: &OffsetSpec, direction: Direction, count: usize) -> Vec<u64> {
    let mut offsets = Offsets::new(spec);
    let mut seen = Vec::new();
    while seen.len() < count {
        let before = seen.len();
        seen.extend(pass(&mut offsets, direction, count - before).iter().map(|block| block.offset / 512));
        assert!(seen.len() > before, "no block fits");
        offsets.restart(true);
    }
    seen
}

/// A capture of fio's I/Os, `(direction, offset, bytes)`; None, told on standard output, when there are none here.
fn vector(name: &str) -> Option<Vec<(String, Block)>> {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        println!("SKIP: offset sequences of fio (set IOSTRATA_SHARED to the folder of reference data)");
        return None;
    };
    let folders = ["reference/fio-samples", "fio-samples"].map(|inner| PathBuf::from(&shared).join(inner));
    let folder = folders.iter().find(|folder| folder.is_dir()).expect("IOSTRATA_SHARED holds fio-samples");
    let text = std::fs::read_to_string(folder.join("vectors").join(name)).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[1].to_owned(), Block { offset: words[2].parse().unwrap(), len: words[3].parse().unwrap() })
    };
    Some(text.lines().map(line).collect())
}

#[test]
fn sequential_captures_of_fio_are_reproduced_block_by_block() {
    let captures = [
        ("seq_rw.txt", "--rw=rw --bs=4k", 0),
        ("read_hole.txt", "--rw=read:4k --bs=4k", 0),
        ("read_back.txt", "--rw=read:-8k --bs=4k", 512 * KIB),
        ("fsync4.txt", "--rw=write --bs=4k", 0),
        ("trimwrite.txt", "--rw=trimwrite --bs=4k", 0),
    ];
    for (name, words, region_start) in captures {
        let Some(lines) = vector(name) else { return };
        let mut offsets = Offsets::new(&spec(words, region_start, 1024 * KIB));
        for (direction, word) in [(Read, "read"), (Write, "write"), (Trim, "trim")] {
            let expected: Vec<Block> = lines.iter().filter(|(w, _)| w == word).map(|&(_, block)| block).collect();
            assert_eq!(pass(&mut offsets, direction, expected.len()), expected, "{name}, {word}");
        }
    }
}

#[test]
fn trims_and_writes_take_turns_as_in_fios_capture() {
    let job = common::job("--rw=trimwrite --bs=4k --size=1m");
    let Some(lines) = vector("trimwrite.txt") else { return };
    let mut mix = Mix::for_workload(&job.workload, job.mix_read_percent, 1);
    for (word, _) in lines {
        assert_eq!(mix.next(), if word == "trim" { Trim } else { Write });
    }
}

#[test]
fn holes_wrap_at_the_files_end_and_end_the_pass_inside_it() {
    // (modifier, region in KiB, first I/Os in sectors), each seen in fio 3.33 with 4 KiB blocks at offset 0.
    let seen: [(&str, u64, &[u64]); 8] = [
        ("4k", 40, &[0, 16, 32, 48, 64, 0, 16, 32, 48, 64]),
        ("4k", 36, &[0, 16, 32, 48, 64, 0, 16]),
        ("12k", 40, &[0, 32, 64, 0, 32, 64, 0]),
        ("5k", 40, &[0, 18, 36, 54, 72, 0]),
        ("-4k", 40, &[0, 0, 0]),
        ("-16k", 40, &[0, 48, 24, 0, 48, 24, 0]),
        ("-6k", 40, &[0, 68, 64, 60, 56, 52, 48, 44, 40, 36]),
        ("-2k", 40, &[0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 0, 4]),
    ];
    for (modifier, region_kib, expected) in seen {
        let spec = spec(&format!("--rw=read:{modifier} --bs=4k"), 0, region_kib * KIB);
        assert_eq!(sectors(&spec, Read, expected.len()), expected, "read:{modifier} in {region_kib} KiB");
    }
    // A hole of 512 KiB: two blocks of 128 KiB in 1 MiB, again and again; in 1281 KiB the third would lie in the file
    // but not fit, which ends the pass after two.
    let wide = spec("--rw=read:512k --bs=128k", 0, 1024 * KIB);
    assert_eq!(pass(&mut Offsets::new(&wide), Read, 100).len(), 100);
    let wide = spec("--rw=read:512k --bs=128k", 0, 1281 * KIB);
    assert_eq!(pass(&mut Offsets::new(&wide), Read, 100).len(), 2);
    // A region that ends inside the file is not wrapped around either.
    let inner = OffsetSpec { file_bytes: 100 * KIB, ..spec("--rw=read:4k --bs=4k", 0, 40 * KIB) };
    assert_eq!(pass(&mut Offsets::new(&inner), Read, 100).len(), 5);
}

#[test]
fn backward_sequences_begin_and_wrap_where_fio_does() {
    // (region's start in KiB, first I/Os in sectors) for read:-8k, 4 KiB blocks, a region of 40 KiB.
    let seen: [(u64, &[u64]); 6] = [
        (0, &[0, 64, 56, 48, 40, 32, 24, 16, 8, 0]),
        (4, &[64, 56, 48, 40, 32, 24, 16, 8, 72, 64]),
        (16, &[64, 56, 48, 40, 32, 96, 88, 80, 72, 64]),
        (32, &[64, 128, 120, 112, 104, 96, 88, 80, 72, 64]),
        (36, &[136, 128, 120, 112, 104, 96, 88, 80, 72, 136]),
        (1024, &[2112, 2104, 2096, 2088, 2080, 2072, 2064, 2056, 2048, 2112]),
    ];
    for (start_kib, expected) in seen {
        let spec = spec("--rw=read:-8k --bs=4k", start_kib * KIB, 40 * KIB);
        assert_eq!(sectors(&spec, Read, 10), expected, "offset {start_kib}k");
    }
    // A step longer than the region leaves one block, and a pass of one.
    assert_eq!(pass(&mut Offsets::new(&spec("--rw=read:-100k --bs=4k", 0, 40 * KIB)), Read, 9).len(), 1);
}

#[test]
fn a_time_based_wrap_begins_one_sequence_again_and_leaves_the_other() {
    let mut offsets = Offsets::new(&spec("--rw=rw --bs=4k", 0, 40 * KIB));
    assert_eq!(pass(&mut offsets, Write, 4).len(), 4);
    assert_eq!(pass(&mut offsets, Read, 99).len(), 10);
    offsets.wrap(Read);
    assert_eq!(offsets.next(Read).unwrap().offset, 0);
    assert_eq!(offsets.next(Write).unwrap().offset, 16 * KIB);
    offsets.restart(true);
    assert_eq!(offsets.next(Write).unwrap().offset, 0);
}

#[test]
fn a_tail_shorter_than_a_block_is_left_out() {
    for (words, blocks) in [
        ("--rw=read --bs=4k", 2),
        ("--rw=randread --bs=4k", 2),
        ("--rw=read --bs=10000", 1),
        ("--rw=randread --bs=10000", 1),
        ("--rw=read --bs=10001", 0),
        ("--rw=randread --bs=10001", 0),
        ("--rw=randread --bs=10001 --norandommap", 0),
    ] {
        let mut offsets = Offsets::new(&spec(words, 4096, 10_000));
        let seen = pass(&mut offsets, Read, 99);
        assert_eq!(seen.len(), blocks, "{words}");
        assert!(seen.iter().all(|block| block.offset >= 4096 && block.offset + u64::from(block.len) <= 14_096));
        assert_eq!(pass(&mut offsets, Write, 9), [], "a direction that the job does not use");
    }
}

#[test]
fn a_block_of_four_gibibytes_fits_nowhere_and_is_not_cut() {
    for words in ["--rw=read", "--rw=randread", "--rw=randread --norandommap"] {
        assert_eq!(Offsets::new(&spec(&format!("{words} --bs=4294967296"), 0, 1 << 40)).next(Read), None, "{words}");
    }
}

#[test]
fn reads_and_writes_of_one_file_share_its_blocks() {
    for blocks in [1u64, 2, 3, 5, 7, 100, 4095, 4096, 4097, 10_007] {
        let mut offsets = Offsets::new(&spec("--rw=randrw --bs=512", 512 * 9, blocks * 512 + 511));
        let mut seen = HashSet::new();
        let mut turn = [Read, Write, Write].into_iter().cycle();
        while let Some(block) = offsets.next(turn.next().unwrap()) {
            assert_eq!((block.len, block.offset % 512), (512, 0));
            assert!((9..9 + blocks).contains(&(block.offset / 512)));
            assert!(seen.insert(block.offset), "{} twice", block.offset);
        }
        assert_eq!(seen.len() as u64, blocks);
        assert_eq!((offsets.next(Read), offsets.next(Write)), (None, None));
    }
}

#[test]
fn a_random_trim_is_followed_by_the_write_of_its_block() {
    for words in ["--rw=randtrimwrite --bs=4k", "--rw=randtrimwrite --bs=4k --norandommap", "--rw=trimwrite --bs=4k"] {
        let mut offsets = Offsets::new(&spec(words, 0, 1024 * KIB));
        for _ in 0..256 {
            let trim = offsets.next(Trim).unwrap();
            assert_eq!(offsets.next(Write), Some(trim), "{words}");
        }
    }
}

#[test]
fn planning_ahead_gives_the_blocks_of_single_steps() {
    for words in [
        "--rw=read --bs=4k",
        "--rw=write:4k --bs=4k",
        "--rw=randread --bs=4k",
        "--rw=randread --bs=512",
        "--rw=randrw --bs=4k --norandommap",
        "--rw=randrw --bs=4k,8k",
        "--rw=randwrite:8 --bs=4k",
    ] {
        let spec = spec(words, 8192, 3_000_000);
        let direction = if spec.block_bytes[0] > 0 { Read } else { Write };
        let (mut single, mut planned) = (Offsets::new(&spec), Offsets::new(&spec));
        let mut out = [Block::default(); 64];
        for batch in (0..=64).cycle().take(300) {
            let count = planned.plan(direction, &mut out[..batch]);
            assert_eq!(out[..count], pass(&mut single, direction, batch), "{words}");
        }
        assert_eq!(single.next(direction), planned.next(direction));
    }
}

#[test]
fn a_pass_can_be_repeated_or_given_another_order() {
    for words in ["--rw=randread --bs=4k", "--rw=randrw --bs=4k,8k", "--rw=randread --bsrange=4k-16k"] {
        for region_bytes in [1024 * KIB, 64 * 1024 * KIB] {
            let spec = spec(words, 0, region_bytes);
            let mut offsets = Offsets::new(&spec);
            let mut passes = Vec::new();
            for repeat in [true, false, true, false] {
                passes.push(pass(&mut offsets, Read, 200));
                offsets.restart(repeat);
            }
            assert_eq!(passes[0], passes[1], "{words}: repeated");
            assert_ne!(passes[1], passes[2], "{words}: another order");
            assert_eq!(passes[2], passes[3]);
            assert_eq!(pass(&mut Offsets::new(&spec), Read, 200), passes[0], "{words}: the next run");
            let other = OffsetSpec { key: spec.key + 1, ..spec };
            assert_ne!(pass(&mut Offsets::new(&other), Read, 200), passes[0], "{words}: another key");
        }
    }
}

#[test]
fn what_is_drawn_without_memory_is_drawn_on_in_the_next_pass() {
    for words in [
        "--rw=randread --bs=4k --norandommap",
        "--rw=randread --bs=8k --ba=4k",
        "--rw=randread --bs=4k --percentage_random=50",
        "--rw=randread --bsrange=4k-16k --norandommap",
        "--rw=randread --bs=4k --random_distribution=zipf:1.1",
        "--rw=randread --bs=4k --random_distribution=zoned:50/10:50/90",
    ] {
        let mut offsets = Offsets::new(&spec(words, 0, 1024 * KIB));
        let first = pass(&mut offsets, Read, 40);
        offsets.restart(true);
        assert_ne!(pass(&mut offsets, Read, 40), first, "{words}");
    }
}

#[test]
fn clones_and_files_have_orders_of_their_own() {
    let mut orders = HashSet::new();
    for worker in 1..5 {
        for file in 0..4 {
            let key = Streams::new(0x89, worker).file_offsets(file);
            let spec = OffsetSpec { key, ..spec("--rw=randread --bs=4k", 0, 1 << 30) };
            orders.insert(pass(&mut Offsets::new(&spec), Read, 8).iter().map(|b| b.offset).collect::<Vec<_>>());
        }
    }
    assert_eq!(orders.len(), 16);
}

#[test]
fn without_a_map_offsets_are_aligned_inside_and_reach_both_ends() {
    // (block size, alignment, choices in 40 KiB) as fio counts them.
    for (block_bytes, align_bytes, choices) in [(4096, 4096, 10), (12_288, 4096, 8), (4096, 8192, 5), (4096, 512, 73)] {
        let block_bytes = [block_bytes, 0, 0];
        let base = spec("--rw=randread", 512, 40 * KIB);
        let mut offsets = Offsets::new(&OffsetSpec { block_bytes, align_bytes: [align_bytes; 3], ..base });
        let seen: HashSet<u64> = pass(&mut offsets, Read, 4000).iter().map(|block| block.offset - 512).collect();
        assert_eq!(seen.len(), choices, "bs {block_bytes:?}, ba {align_bytes}");
        assert!(seen.iter().all(|offset| offset % align_bytes == 0 && offset + block_bytes[0] <= 40 * KIB));
    }
}

#[test]
fn a_run_follows_each_random_start() {
    let mut offsets = Offsets::new(&spec("--rw=randread:8 --bs=4k", 4096, 4096 * KIB));
    let blocks = pass(&mut offsets, Read, 1024);
    assert_eq!(blocks.len(), 1024);
    let jumps = blocks.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4096).count();
    // 128 runs; a run that meets the region's end goes on elsewhere, and one start in 1024 follows its predecessor.
    assert!((120..=140).contains(&jumps), "{jumps}");
    let starts: HashMap<u64, usize> = blocks.chunks(8).fold(HashMap::new(), |mut starts, run| {
        *starts.entry(run[0].offset).or_default() += 1;
        starts
    });
    assert!(starts.values().all(|&count| count == 1), "the map gives each start once");
    assert!(blocks.iter().all(|block| block.offset >= 4096 && block.offset + 4096 <= 4096 + 4096 * KIB));
    // One I/O per random offset is plain random.
    let one = spec("--rw=randread:1 --bs=4k", 0, 400 * KIB);
    assert_eq!(pass(&mut Offsets::new(&one), Read, 999).len(), 100);
}

/// Takes reads and writes in a drawn order until neither has a block; every unit must be met once.
fn assert_map_covers(read_bytes: u64, write_bytes: u64, units: u64, unit_bytes: u64, turns: u64) {
    let block_bytes = [read_bytes, write_bytes, 0];
    let base = spec("--rw=randrw", 4096, units * unit_bytes + unit_bytes / 2);
    let spec = OffsetSpec { block_bytes, align_bytes: block_bytes, key: turns, ..base };
    let mut offsets = Offsets::new(&spec);
    assert_eq!(offsets.memory_bytes(), spec.memory_bytes());
    let mut met = vec![false; units as usize];
    for turn in 0.. {
        let direction = if turns >> (turn % 64) & 1 == 0 { Read } else { Write };
        let Some(block) = offsets.next(direction).or_else(|| offsets.next(Direction::ALL[1 - direction.index()]))
        else {
            break;
        };
        assert!(block.len > 0 && u64::from(block.len) <= read_bytes.max(write_bytes));
        assert_eq!((block.offset - 4096) % unit_bytes, 0);
        for unit in (block.offset - 4096) / unit_bytes..(block.offset - 4096 + u64::from(block.len)) / unit_bytes {
            assert!(!std::mem::replace(&mut met[unit as usize], true), "unit {unit} twice");
        }
    }
    // If the region holds no whole block of a direction, it has no place to draw from; with neither nothing is met.
    let expected = read_bytes.min(write_bytes) <= units * unit_bytes;
    assert!(met.iter().all(|&met| met == expected), "{read_bytes},{write_bytes} in {units} units");
}

#[test]
fn different_block_sizes_cover_every_unit_once() {
    for (read_bytes, write_bytes) in [(4096, 8192), (8192, 4096), (4096, 65_536)] {
        for units in [1, 2, 25, 63, 64, 65, 256, 4095, 4096, 4097, 5000] {
            assert_map_covers(read_bytes, write_bytes, units, 4096, 0x5555_1234_f00f_9999);
        }
    }
    // Neither is a multiple of the other: units of 4 KiB.
    assert_map_covers(8192, 12_288, 1000, 4096, 0x1357_9bdf_0246_8ace);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_two_block_sizes_cover_every_unit_once(read in 1u64..20, more in 1u64..20, units in 1u64..3000, turns: u64) {
        let step = |a: u64, b: u64| { let (mut a, mut b) = (a, b); while b > 0 { (a, b) = (b, a % b); } a };
        let write = read + more;
        let unit = step(read, write);
        assert_map_covers(read / unit * 512, write / unit * 512, units, 512, turns);
    }
}

#[test]
fn memory_is_constant_except_for_a_map_that_is_stated_beforehand() {
    let tib = 1u64 << 40;
    for words in ["--rw=read --bs=4k", "--rw=randread --bs=4k", "--rw=randrw --bs=4k,8k --norandommap"] {
        assert_eq!(spec(words, 0, tib).memory_bytes(), 0, "{words}");
        assert_eq!(Offsets::new(&spec(words, 0, tib)).memory_bytes(), 0, "{words}");
    }
    // Reads alone have one size, whatever size writes would have.
    assert_eq!(spec("--rw=randread --bs=4k,8k", 0, tib).memory_bytes(), 0);
    let map = spec("--rw=randrw --bs=4k,8k", 0, tib).memory_bytes();
    assert!((32 << 20..33 << 20).contains(&map), "a bit for each 4 KiB and a 64th more, not {map}");
}

#[test]
fn a_file_of_more_than_two_to_the_32_blocks_is_reached_to_its_end() {
    let region_bytes = 1 << 50;
    for words in ["--rw=randread --bs=512", "--rw=randread --bs=512 --norandommap"] {
        let blocks = pass(&mut Offsets::new(&spec(words, 0, region_bytes)), Read, 4096);
        let top = blocks.iter().filter(|block| block.offset >= region_bytes / 16 * 15).count();
        // 256 expected, standard deviation 15.5.
        assert!((178..334).contains(&top), "{words}: {top}");
        assert!(blocks.iter().any(|block| block.offset / 512 % 2 == 1), "odd blocks too");
    }
}
