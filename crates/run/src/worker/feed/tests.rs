//! What comes next, in stories of a few blocks.

use std::collections::HashSet;

use iostrata_spec::job::{FileService, Workload};

use super::*;
use crate::generate::OffsetSpec;

const BLOCK: u64 = 4096;

fn spec(blocks: u64) -> OffsetSpec {
    let bytes = blocks * BLOCK;
    OffsetSpec {
        region_start: 0,
        region_bytes: bytes,
        file_bytes: bytes,
        block_bytes: [BLOCK; 3],
        align_bytes: [BLOCK; 3],
        random: false,
        modifier: None,
        no_map: false,
        paired: false,
        key: 1,
        shape: None,
    }
}

fn file(blocks: u64) -> Offsets {
    Offsets::new(&spec(blocks))
}

fn limits(bytes: u64) -> FeedLimits {
    FeedLimits {
        bytes,
        ios: u64::MAX,
        loops: 1,
        fsync_every: 0,
        fdatasync_every: 0,
        open_files: usize::MAX,
        lengths_fit: true,
        repeat: true,
        random: false,
    }
}

fn feed(files: Vec<Offsets>, mix: Mix, paired: bool, limits: FeedLimits) -> Feed {
    let choice = FileChoice::new(FileService::RoundRobin(1), files.len(), 1);
    Feed::new(files, choice, mix, paired, limits)
}

/// Everything until the feed is dry, as "operation file block".
fn drain(feed: &mut Feed) -> (Vec<String>, Dry) {
    let mut all = Vec::new();
    loop {
        match feed.next(None) {
            Ok(io) if io.len == 0 => all.push(format!("{:?}", io.op)),
            Ok(io) => all.push(format!("{:?} {} {}", io.op, io.file, io.offset / BLOCK)),
            Err(dry) => return (all, dry),
        }
    }
}

fn writes() -> Mix {
    Mix::new(0, 1)
}

#[test]
fn a_sync_comes_before_the_io_that_follows_enough_writes_and_not_after_the_last() {
    let rules = FeedLimits { fsync_every: 2, ..limits(4 * BLOCK) };
    let (all, dry) = drain(&mut feed(vec![file(4)], writes(), false, rules));
    assert_eq!(all, ["Write 0 0", "Write 0 1", "Sync", "Write 0 2", "Write 0 3"]);
    assert_eq!(dry, Dry::Limit);
}

#[test]
fn between_passes_a_sync_comes_at_the_end_of_one_and_at_the_beginning_of_the_next() {
    let rules = FeedLimits { fsync_every: 2, loops: 2, ..limits(4 * BLOCK) };
    let only = Workload { reads: false, writes: true, trims: false, random: false, modifier: None };
    let mut feed = feed(vec![file(4)], Mix::for_workload(&only, 0, 1), false, rules);
    assert_eq!(drain(&mut feed).0.join(" "), "Write 0 0 Write 0 1 Sync Write 0 2 Write 0 3 Sync");
    assert!(feed.restart());
    assert_eq!(drain(&mut feed).0.join(" "), "Sync Write 0 0 Write 0 1 Sync Write 0 2 Write 0 3");
}

#[test]
fn files_take_turns_and_a_short_one_leaves_the_round() {
    let mut feed = feed(vec![file(1), file(3)], Mix::new(100, 1), false, limits(u64::MAX));
    assert_eq!(drain(&mut feed).0, ["Read 0 0", "Read 1 0", "Read 1 1", "Read 1 2"]);
}

#[test]
fn with_openfiles_the_next_files_come_when_those_before_are_done() {
    let rules = FeedLimits { open_files: 2, ..limits(u64::MAX) };
    let mut feed = feed((0..3).map(|_| file(2)).collect(), Mix::new(100, 1), false, rules);
    assert_eq!((drain(&mut feed).0, feed.open_files()), (text("Read 0 0|Read 1 0|Read 0 1|Read 1 1"), 0..2));
    assert!(feed.next_files());
    assert_eq!((drain(&mut feed).0, feed.open_files()), (text("Read 2 0|Read 2 1"), 2..3));
    assert!(!feed.next_files());
    assert!(feed.restart());
    assert_eq!((drain(&mut feed).0.len(), feed.open_files()), (4, 0..2));
}

#[test]
fn whoever_is_done_leaves_the_round_and_all_others_keep_their_turns() {
    for (service, order) in [
        (FileService::RoundRobin(1), [0, 1, 2, 3, 4, 5, 1, 3, 5, 1, 3, 5]),
        (FileService::Sequential, [0, 1, 1, 1, 2, 3, 3, 3, 4, 5, 5, 5]),
    ] {
        let files: Vec<_> = (0..6).map(|number| file(if number % 2 == 0 { 1 } else { 3 })).collect();
        let choice = FileChoice::new(service, files.len(), 1);
        let mut feed = Feed::new(files, choice, Mix::new(100, 1), false, limits(u64::MAX));
        let seen: Vec<u32> = (0..12).map(|_| feed.next(None).expect("a block").file).collect();
        assert_eq!(seen, order, "{service:?}");
        assert_eq!(feed.next(None), Err(Dry::Pass));
    }
    let choice = FileChoice::new(FileService::Random(1), 100, 1);
    let mut feed = Feed::new((0..100).map(|_| file(3)).collect(), choice, Mix::new(100, 1), false, limits(u64::MAX));
    let mut counts = [0; 100];
    while let Ok(io) = feed.next(None) {
        counts[io.file as usize] += 1;
    }
    assert_eq!(counts, [3; 100]);
}

fn text(words: &str) -> Vec<String> {
    words.split('|').map(str::to_owned).collect()
}

#[test]
fn a_file_that_a_law_wants_again_begins_anew_until_all_bytes_are_planned() {
    let choice = FileChoice::new(FileService::Zipf(9.0), 3, 1);
    let files = (0..3).map(|_| file(2)).collect();
    let mut feed = Feed::new(files, choice, Mix::new(100, 1), false, limits(20 * BLOCK));
    let (all, dry) = drain(&mut feed);
    assert_eq!((all.len(), dry), (20, Dry::Limit));
    let wanted = all[0].split_whitespace().nth(1).expect("a file");
    assert!(all.iter().filter(|io| io.split_whitespace().nth(1) == Some(wanted)).count() > 15, "{all:?}");
}

#[test]
fn the_last_block_may_reach_over_io_size_as_in_fio() {
    let (all, dry) = drain(&mut feed(vec![file(9)], writes(), false, limits(BLOCK * 2 + 1)));
    assert_eq!((all.len(), dry), (3, Dry::Limit));
}

#[test]
fn number_ios_counts_over_all_loops_together() {
    let rules = FeedLimits { ios: 2, loops: 3, ..limits(u64::MAX) };
    let mut feed = feed(vec![file(4)], writes(), false, rules);
    assert_eq!(drain(&mut feed).0, ["Write 0 0", "Write 0 1", "Write 0 2", "Write 0 3"]);
    assert!(feed.restart());
    assert_eq!(drain(&mut feed), (vec!["Write 0 0".to_string(), "Write 0 1".to_string()], Dry::Limit));
    assert!(!feed.restart());
}

#[test]
fn io_size_above_the_files_takes_passes_until_it_is_reached_and_loops_multiply_only_the_limit() {
    // Blocks planned in each pass, with files of 4 blocks; fio 3.33 moves the same.
    for (io_blocks, loops, passes) in [
        (10, 1, vec![4, 4, 2]),
        (10, 2, vec![4, 4, 4]),
        (5, 2, vec![4, 4]),
        (8, 3, vec![4, 4, 4]),
        (2, 2, vec![4]),
        (3, 3, vec![4, 4, 1]),
    ] {
        let rules = FeedLimits { loops, ..limits(io_blocks * BLOCK) };
        let mut feed = feed(vec![file(4)], writes(), false, rules);
        let mut planned = Vec::new();
        loop {
            planned.push(drain(&mut feed).0.len());
            let looped = planned.len() >= loops as usize;
            if looped && !feed.owes_bytes() || !feed.restart() {
                break;
            }
        }
        assert_eq!(planned, passes, "io_size of {io_blocks} blocks, {loops} loops");
    }
}

/// A file whose blocks come in a random order.
fn random_file(blocks: u64) -> Offsets {
    Offsets::new(&OffsetSpec { random: true, ..spec(blocks) })
}

#[test]
fn loops_below_the_file_go_on_in_one_pass_and_the_next_repeats_its_order_and_tosses() {
    // Planned ahead, and one by one, where reads and writes share the blocks.
    let reads = Workload { reads: true, writes: false, trims: false, random: true, modifier: None };
    for mix in [Mix::for_workload(&reads, 100, 1), Mix::new(50, 1)] {
        let rules = FeedLimits { loops: 4, random: true, ..limits(160 * BLOCK) };
        let mut feed = feed(vec![random_file(256)], mix, false, rules);
        let mut passes = vec![drain(&mut feed).0];
        while feed.restart() {
            passes.push(drain(&mut feed).0);
        }
        assert_eq!(passes.iter().map(Vec::len).collect::<Vec<_>>(), [256, 256, 128]);
        assert!(passes[0] == passes[1] && passes[0][..128] == passes[2]);
        let block = |io: &String| io.rsplit(' ').next().unwrap().to_owned();
        assert_eq!(passes[0].iter().map(block).collect::<HashSet<_>>().len(), 256);
    }
}

#[test]
fn a_sync_takes_the_turn_of_the_next_file() {
    // The turns that fio 3.33 was seen to take.
    let rules = FeedLimits { fsync_every: 4, ..limits(12 * BLOCK) };
    let mut feed = feed((0..3).map(|_| file(4)).collect(), writes(), false, rules);
    let turns: Vec<String> = std::iter::from_fn(|| feed.next(None).ok())
        .map(|io| if io.op == Op::Sync { format!("sync {}", io.file) } else { io.file.to_string() })
        .collect();
    let expected = "0,1,2,0,sync 1,2,0,1,2,sync 0,1,2,0,1";
    assert_eq!(turns.join(","), expected);
}

#[test]
fn a_pass_that_planned_nothing_is_not_tried_again() {
    let mut feed = feed(vec![file(0)], writes(), false, limits(u64::MAX));
    assert_eq!(drain(&mut feed), (Vec::new(), Dry::Pass));
    assert!(!feed.wrap());
    assert!(!feed.restart());
}

/// What is planned ahead is what is planned one by one, to the last block and whatever ends the job.
#[test]
fn rows_are_the_same_requests() {
    let random = || Offsets::new(&OffsetSpec { random: true, ..spec(6000) });
    let kind = Workload { reads: true, writes: false, trims: false, random: true, modifier: None };
    let reads = || Mix::for_workload(&kind, 100, 1);
    for (bytes, ios) in [(6000 * BLOCK, u64::MAX), (777 * BLOCK - 1, u64::MAX), (u64::MAX, 200), (u64::MAX, u64::MAX)] {
        let rules = || FeedLimits { ios, random: true, ..limits(bytes) };
        let mut apart = feed(vec![random()], reads(), false, rules());
        let mut rows = feed(vec![random()], reads(), false, rules());
        assert_eq!(rows.row_direction(), Some(Direction::Read));
        let mut most = 0;
        let dry = loop {
            most = most % 9 + 1;
            match rows.row(Direction::Read, most) {
                Ok(blocks) => {
                    assert!((1..=most).contains(&blocks.len()));
                    blocks.iter().for_each(|block| {
                        let next = apart.next(None).unwrap();
                        assert_eq!((next.offset, next.len), (block.offset, block.len));
                    });
                }
                Err(dry) => break dry,
            }
        };
        assert_eq!(apart.next(None), Err(dry), "{bytes} bytes, {ios} I/Os");
    }
}

/// Reads and writes that share an order are planned ahead too: each block once, in the order of the single direction.
#[test]
fn a_mix_that_shares_its_blocks_takes_them_in_one_order() {
    let random = || Offsets::new(&OffsetSpec { random: true, ..spec(5000) });
    let rules = || FeedLimits { random: true, ..limits(u64::MAX) };
    let mut mixed = feed(vec![random()], Mix::new(50, 3), false, rules());
    let mut single = feed(vec![random()], Mix::new(100, 3), false, rules());
    let (mut reads, mut order) = (0, Mix::new(50, 3));
    for _ in 0..5000 {
        let (io, alone) = (mixed.next(None).unwrap(), single.next(None).unwrap());
        assert_eq!((io.offset, io.direction()), (alone.offset, Some(order.next())));
        reads += usize::from(io.op == Op::Read);
    }
    assert!((2000..3000).contains(&reads), "{reads} reads");
    assert_eq!(mixed.next(None), Err(Dry::Pass));
}
