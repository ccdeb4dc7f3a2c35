//! Block sizes that are drawn, patterns that are random in part, strided zones.

mod common;

use std::collections::HashMap;

use common::{pass, spec};
use iostrata_run::generate::{Block, Direction, Offsets};

const MIB: u64 = 1 << 20;

/// Blocks of a direction until the pass is over or `bytes` are moved, as a job would.
fn moved(words: &str, region_bytes: u64, bytes: u64) -> Vec<Block> {
    let mut offsets = Offsets::new(&spec(words, 0, region_bytes));
    let mut left = bytes;
    let mut blocks = Vec::new();
    while left > 0 {
        let Some(block) = offsets.next_within(Direction::Read, left) else { break };
        left = left.saturating_sub(block.len.into());
        blocks.push(block);
    }
    blocks
}

fn sum(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| u64::from(block.len)).sum()
}

/// How often each unit of 512 bytes came.
fn visits(blocks: &[Block]) -> HashMap<u64, u32> {
    let mut visits = HashMap::new();
    for block in blocks {
        (block.offset / 512..(block.offset + u64::from(block.len)) / 512)
            .for_each(|u| *visits.entry(u).or_default() += 1);
    }
    visits
}

#[test]
fn random_blocks_of_drawn_sizes_cover_each_byte_once() {
    for words in [
        "--rw=randread --bsrange=4k-64k",
        "--rw=randread --bssplit=4k/50:20k/30:64k/20",
        "--rw=randread --bssplit=512/10:3k/40:7k/50",
        "--rw=randread:4 --rw_sequencer=sequential --bs=4k --bsrange=4k-8k --io_size=0",
    ] {
        let blocks = moved(words, MIB, u64::MAX);
        let visits = visits(&blocks);
        if !words.contains(":4 ") {
            assert_eq!(sum(&blocks), MIB, "{words}");
            assert!(visits.values().all(|count| *count == 1), "{words}");
        }
        assert_eq!(visits.len() as u64, MIB / 512, "{words}");
    }
}

#[test]
fn sizes_can_go_by_whether_an_io_follows_another_one() {
    let random = moved("--rw=randread --bs=4k,16k --bs_is_seq_rand=1", MIB, MIB);
    assert!(random.iter().all(|block| block.len == 16 << 10) && random.len() == 64);
    let sequential = moved("--rw=read --bs=4k,16k --bs_is_seq_rand=1", MIB, MIB);
    assert!(sequential.iter().all(|block| block.len == 4096) && sequential.len() == 256);
    let runs = moved("--rw=randread:4 --bs=4k,16k --bs_is_seq_rand=1 --norandommap", MIB, MIB);
    let mut follows = 0;
    for pair in runs.windows(2) {
        let next = pair[0].offset + u64::from(pair[0].len);
        follows += usize::from(pair[1].len == 4096 && pair[1].offset == next);
    }
    let large = runs.iter().filter(|block| block.len == 16 << 10).count();
    assert!(follows >= runs.len() - large - 1 && large.abs_diff(runs.len() / 4) < 4, "{large} of {}", runs.len());
}

#[test]
fn sizes_of_a_range_are_multiples_of_the_smallest_and_all_alike() {
    let blocks = moved("--rw=read --bsrange=4k-64k", 1 << 30, u64::MAX);
    let mut counts = [0u64; 17];
    blocks.iter().for_each(|block| {
        assert_eq!(block.len % 4096, 0);
        counts[(block.len / 4096) as usize] += 1;
    });
    let all = blocks.len() as f64;
    for (step, count) in counts.iter().enumerate().skip(1) {
        assert!((*count as f64 / all - 1.0 / 16.0).abs() < 0.01, "{step}: {count} of {all}");
    }
}

#[test]
fn sizes_of_a_split_come_by_their_shares() {
    let blocks = moved("--rw=randread --norandommap --bssplit=4k/50:8k/30:64k/20", 1 << 30, 1 << 30);
    let share = |bytes: u32| blocks.iter().filter(|block| block.len == bytes).count() as f64 / blocks.len() as f64;
    for (bytes, wanted) in [(4096, 0.5), (8192, 0.3), (65536, 0.2)] {
        assert!((share(bytes) - wanted).abs() < 0.01, "{bytes}: {}", share(bytes));
    }
}

#[test]
fn the_last_block_is_drawn_to_fit_what_is_left() {
    for words in ["--rw=read --bsrange=4k-64k", "--rw=randread --norandommap --bsrange=4k-64k"] {
        assert_eq!(sum(&moved(words, MIB, MIB)), MIB, "{words}");
        assert_eq!(sum(&moved(words, MIB, 100 << 10)), 100 << 10, "{words}");
    }
}

#[test]
fn a_share_of_the_ios_is_random_and_the_rest_go_on_in_sequence() {
    for percent in [0, 25, 80] {
        let blocks = moved(&format!("--rw=randread --bs=4k --percentage_random={percent}"), 1 << 30, 256 * MIB);
        let follows = blocks.windows(2).filter(|pair| pair[1].offset == pair[0].offset + 4096).count();
        let share = follows as f64 / blocks.len() as f64;
        assert!((share - f64::from(100 - percent) / 100.0).abs() < 0.01, "{percent}: {share}");
    }
}

#[test]
fn an_identical_sequencer_stays_where_it_is() {
    let blocks = moved("--rw=randread:3 --rw_sequencer=identical --bs=4k", MIB, 96 << 10);
    assert_eq!(blocks.len(), 24);
    assert!(blocks.chunks(3).all(|run| run.iter().all(|block| block.offset == run[0].offset)));
}

#[test]
fn strided_zones_use_a_part_of_each_stretch() {
    let words = "--rw=read --bs=4k --zonemode=strided --zonesize=16k --zonerange=64k --zoneskip=32k";
    let offsets: Vec<u64> = moved(words, MIB, 32 << 10).iter().map(|block| block.offset >> 10).collect();
    assert_eq!(offsets, [0, 4, 8, 12, 96, 100, 104, 108]);
    let random = moved(&words.replace("read", "randread"), MIB, MIB / 2);
    for (number, zone) in random.chunks(4).enumerate() {
        // Zones go on at the start when the file is at its end: 11 of them fit.
        let start = (number as u64 % 11) * (96 << 10);
        assert!(zone.iter().all(|block| (start..start + (64 << 10)).contains(&block.offset)), "{number}: {zone:?}");
    }
}

#[test]
fn with_another_alignment_blocks_lie_between_each_other() {
    let blocks = moved("--rw=randread --bs=12k --ba=4k", MIB, MIB);
    assert!(blocks.iter().all(|block| block.len == 12 << 10 && block.offset % 4096 == 0));
    assert!(blocks.iter().any(|block| block.offset % (12 << 10) != 0));
    assert_eq!(blocks.len(), 86, "as in fio the last may reach over");
    let mut plain = Offsets::new(&spec("--rw=randread --bs=12k", 0, MIB));
    assert_eq!(pass(&mut plain, Direction::Read, 1000).len(), 85, "without, each lies by itself");
}

#[test]
fn a_turn_of_a_zone_takes_no_block_twice() {
    // (zonesize, zonerange) in KiB: all of the zone, half of it, and twice all of it.
    for (used, range) in [(64, 64), (32, 64), (128, 64)] {
        for sizes in ["--bs=4k", "--bsrange=4k-16k", "--bs=512"] {
            let words = format!("--rw=randread {sizes} --zonemode=strided --zonesize={used}k --zonerange={range}k");
            let mut left = used << 10;
            let mut met = vec![0u32; (range << 10) / 512];
            let mut offsets = Offsets::new(&spec(&words, 0, MIB));
            while left > 0 {
                let block = offsets.next_within(Direction::Read, left as u64).unwrap();
                assert!(block.offset + u64::from(block.len) <= (range as u64) << 10, "{words}: {block:?}");
                let units = block.offset as usize / 512..(block.offset as usize + block.len as usize) / 512;
                units.for_each(|unit| met[unit] += 1);
                left -= block.len as usize;
            }
            let most = met.iter().max().unwrap();
            let least = met.iter().min().unwrap();
            assert_eq!((*least, *most), ((used / range) as u32, used.div_ceil(range) as u32), "{words}");
        }
    }
}
