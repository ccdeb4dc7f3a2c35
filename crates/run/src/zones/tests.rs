//! The state machine of zones, on a disk that refuses what is wrong and on a model.

use std::sync::Mutex;

use iostrata_engine::ZonedDisk;
use iostrata_spec::SimZones;

use super::table::Table;
use super::*;

const ZONE: u64 = 1 << 16;
const BLOCK: u64 = 4096;
const IN_ZONE: u64 = ZONE / BLOCK;

fn rules() -> Rules {
    Rules {
        sequence: false,
        writes: true,
        smallest: BLOCK,
        read_beyond: false,
        write_remainder: false,
        recover: false,
        one_at_a_time: false,
        job_max_open: 0,
        threshold: 0.0,
        period: 0,
    }
}

/// A disk of eight zones, of which the first `conventional` are.
fn disk(conventional: u32, max_open: u32) -> Arc<ZonedDisk> {
    let shape = SimZones { size_bytes: ZONE, conventional, max_open, ..SimZones::default() };
    Arc::new(ZonedDisk::new(&shape, 8 * ZONE))
}

/// A worker on all of the disk.
fn worker(number: u32, rules: Rules, disk: &Arc<ZonedDisk>, table: &SharedTable) -> Zoning {
    let device = Simulated(Arc::clone(disk));
    {
        let mut table = lock(table);
        table.extend(&device.zones().expect("zones"));
        table.limit_open(disk.facts().max_open);
        table.counts_open = table.open_limit > 0 || rules.job_max_open > 0;
        table.test(0, 8);
    }
    let file = FileZones { table: Arc::clone(table), device: Box::new(device), first: 0, end: 8, skip_bytes: 0 };
    Zoning { files: vec![file], rules, worker: number, counted_writes: 0, resets: 0, retries: 0, fault: None }
}

fn alone(rules: Rules, disk: &Arc<ZonedDisk>) -> Zoning {
    worker(1, rules, disk, &SharedTable::new(Mutex::new(Table::default())))
}

fn at(block: u64) -> Block {
    Block { offset: block * BLOCK, len: BLOCK as u32 }
}

fn io(op: Op, block: Block) -> Io {
    Io { offset: block.offset, len: block.len, ..Io::of(op) }
}

/// Where a write of `block` goes; the disk takes it, and it is done.
fn write(zoning: &mut Zoning, disk: &ZonedDisk, block: Block) -> Option<u64> {
    let Placed::At { direction: Direction::Write, block, .. } =
        zoning.place(0, Direction::Write, block).expect("place")
    else {
        return None;
    };
    disk.write(block.offset, block.len.into()).expect("the disk takes it");
    zoning.done(&io(Op::Write, block), false);
    Some(block.offset / BLOCK)
}

#[test]
fn a_permutation_of_all_blocks_fills_every_zone_once_and_resets_none() {
    let disk = disk(0, 0);
    let mut zoning = alone(rules(), &disk);
    // 5 and 128 have no common divisor.
    let mut placed: Vec<u64> =
        (0..8 * IN_ZONE).filter_map(|n| write(&mut zoning, &disk, at(n * 5 % (8 * IN_ZONE)))).collect();
    placed.sort_unstable();
    assert_eq!(placed, (0..8 * IN_ZONE).collect::<Vec<_>>());
    assert_eq!((zoning.take_resets(), disk.counts().refused), (0, 0));
    assert_eq!(write(&mut zoning, &disk, at(3)), Some(0), "a full zone is reset");
    assert_eq!((zoning.take_resets(), disk.counts().resets), (1, 1));
}

#[test]
fn never_more_zones_are_open_than_may_be() {
    let disk = disk(1, 3);
    let table = SharedTable::default();
    let mut workers: Vec<Zoning> = (1..=2).map(|number| worker(number, rules(), &disk, &table)).collect();
    let mut seed = 1u64;
    for _ in 0..4000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let zoning = &mut workers[(seed >> 40) as usize % 2];
        write(zoning, &disk, at((seed >> 33) % (8 * IN_ZONE)));
    }
    let counts = disk.counts();
    assert_eq!((counts.most_open, counts.refused), (3, 0));
    let resets: u64 = workers.iter_mut().map(Zoning::take_resets).sum();
    assert_eq!(resets, counts.resets);
    assert!(resets > 50, "{resets}");
}

#[test]
fn a_job_keeps_to_its_own_limit_and_leaves_the_rest_to_others() {
    let disk = disk(0, 0);
    let table = SharedTable::default();
    let rules = Rules { job_max_open: 1, ..rules() };
    let mut workers: Vec<Zoning> = (1..=2).map(|number| worker(number, rules, &disk, &table)).collect();
    for n in 0..40 {
        write(&mut workers[n % 2], &disk, at(n as u64 * 37 % (8 * IN_ZONE)));
    }
    assert_eq!((disk.counts().most_open, disk.counts().refused), (2, 0));
}

#[test]
fn a_zone_with_anothers_write_in_flight_waits_and_one_that_is_left_behind_is_asked_anew() {
    let disk = disk(0, 0);
    let table = SharedTable::default();
    let mut workers: Vec<Zoning> = (1..=2).map(|number| worker(number, rules(), &disk, &table)).collect();
    let placed = workers[0].place(0, Direction::Write, at(0)).expect("place");
    assert_eq!(placed, Placed::At { direction: Direction::Write, block: at(0), then: None });
    assert_eq!(workers[1].place(0, Direction::Write, at(1)).expect("place"), Placed::Wait);
    assert_eq!(workers[1].place(0, Direction::Trim, at(0)).expect("place"), Placed::Wait);
    // Its own second write follows the first.
    let placed = workers[0].place(0, Direction::Write, at(7)).expect("place");
    assert_eq!(placed, Placed::At { direction: Direction::Write, block: at(1), then: Some(2 * BLOCK) });
    // The worker goes without having made them: the disk knows better than the table.
    drop(workers.remove(0));
    assert_eq!(write(&mut workers[0], &disk, at(9)), Some(0));
}

#[test]
fn a_failed_write_is_made_again_at_the_disks_write_pointer() {
    let disk = disk(0, 0);
    let mut zoning = alone(Rules { recover: true, one_at_a_time: true, ..rules() }, &disk);
    write(&mut zoning, &disk, at(0));
    // Somebody else wrote behind our back.
    disk.write(BLOCK, BLOCK).expect("taken");
    let Placed::At { block, .. } = zoning.place(0, Direction::Write, at(0)).expect("place") else { panic!("placed") };
    assert_eq!(disk.write(block.offset, BLOCK), Err(libc::EIO));
    assert_eq!(zoning.recover(&io(Op::Write, block)), Some(2 * BLOCK));
    assert_eq!(disk.write(2 * BLOCK, BLOCK), Ok(()));
    zoning.done(&io(Op::Write, at(2)), false);
    assert_eq!(write(&mut zoning, &disk, at(0)), Some(3));
}

#[test]
fn reads_are_held_to_what_was_written_unless_they_may_go_beyond() {
    let disk = disk(1, 0);
    let mut zoning = alone(Rules { writes: false, ..rules() }, &disk);
    let read = |zoning: &mut Zoning, block| match zoning.place(0, Direction::Read, at(block)).expect("place") {
        Placed::At { block, .. } => Some(block.offset / BLOCK),
        _ => None,
    };
    assert_eq!(read(&mut zoning, 5), Some(5), "a conventional zone has no write pointer");
    for _ in 0..3 {
        write(&mut zoning, &disk, at(4 * IN_ZONE));
    }
    assert_eq!(read(&mut zoning, 4 * IN_ZONE + 2), Some(4 * IN_ZONE + 2));
    assert_eq!(read(&mut zoning, 4 * IN_ZONE + 4), Some(4 * IN_ZONE + 1), "one that is there stands for it");
    assert_eq!(read(&mut zoning, 3 * IN_ZONE + 1), Some(4 * IN_ZONE + 1), "the next zone with data");
    zoning.rules.read_beyond = true;
    assert_eq!(read(&mut zoning, 3 * IN_ZONE + 1), Some(3 * IN_ZONE + 1));
}

#[test]
fn a_sequence_leaves_out_what_is_less_than_a_block_or_fills_it() {
    let block = |offset: u64| Block { offset, len: 20 << 10 };
    for (fills, lens) in [(false, vec![20, 20, 20, 20]), (true, vec![20, 20, 20, 4, 20])] {
        let disk = disk(0, 0);
        let sequence = Rules { sequence: true, smallest: 20 << 10, write_remainder: fills, ..rules() };
        let mut zoning = alone(sequence, &disk);
        let mut offset = 0;
        let mut seen = Vec::new();
        while seen.len() < lens.len() {
            let Placed::At { block, then, .. } = zoning.place(0, Direction::Write, block(offset)).expect("place")
            else {
                panic!("there is room")
            };
            assert_eq!(disk.write(block.offset, block.len.into()), Ok(()));
            zoning.done(&io(Op::Write, block), false);
            offset = then.unwrap_or(block.offset + u64::from(block.len));
            seen.push(block.len >> 10);
        }
        assert_eq!(seen, lens);
        assert_eq!(disk.zone_at(0).expect("a zone").condition, iostrata_os::zoned::ZoneCondition::Full);
    }
}

#[test]
fn a_trim_is_the_reset_of_a_zone_and_a_random_one_takes_those_with_data() {
    let disk = disk(1, 0);
    let mut zoning = alone(rules(), &disk);
    let zone = |number: u64| Block { offset: number * ZONE, len: ZONE as u32 };
    assert_eq!(zoning.place(0, Direction::Trim, zone(2)).expect("place"), Placed::Nothing);
    write(&mut zoning, &disk, at(5 * IN_ZONE));
    let Placed::At { block, .. } = zoning.place(0, Direction::Trim, zone(2)).expect("place") else { panic!("placed") };
    assert_eq!(block, zone(5));
    assert_eq!(zoning.place(0, Direction::Write, at(5 * IN_ZONE)).expect("place"), Placed::Wait, "it is under way");
    disk.command(ZoneCommand::Reset, block.offset).expect("reset");
    zoning.done(&io(Op::Trim, block), false);
    assert_eq!((zoning.take_resets(), write(&mut zoning, &disk, at(5 * IN_ZONE))), (1, Some(5 * IN_ZONE)));
    // In sequence empty ones are reset too, and conventional ones left out.
    zoning.rules.sequence = true;
    let Placed::At { block, then, .. } = zoning.place(0, Direction::Trim, zone(0)).expect("place") else {
        panic!("placed")
    };
    assert_eq!((block, then, zoning.take_resets()), (zone(1), Some(2 * ZONE), 0));
}

/// What fio 3.33 did with these zones in this order: four zones of four blocks, `io_size` = `size`.
#[test]
fn resets_before_their_time_come_when_fios_come() {
    const ORDER: [u64; 16] = [0, 2, 3, 1, 1, 3, 2, 1, 3, 0, 0, 2, 0, 1, 2, 3];
    for (threshold, period, resets) in [(0.0, 1, 12), (0.0, 2, 6), (0.5, 1, 4), (0.5, 0, 0)] {
        let shape = SimZones { size_bytes: ZONE, ..SimZones::default() };
        let disk = Arc::new(ZonedDisk::new(&shape, 4 * ZONE));
        let table = SharedTable::default();
        let mut zoning = worker(1, Rules { smallest: ZONE / 4, threshold, period, ..rules() }, &disk, &table);
        zoning.files[0].end = 4;
        for zone in ORDER {
            write(&mut zoning, &disk, Block { offset: zone * ZONE, len: (ZONE / 4) as u32 });
        }
        assert_eq!(zoning.take_resets(), resets, "threshold {threshold}, period {period}");
    }
}
