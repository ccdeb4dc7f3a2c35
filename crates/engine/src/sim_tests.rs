use super::*;

const MIB: u64 = 1 << 20;

/// A device of one constant: no noise, no stalls, no errors.
fn steady(channels: u32) -> SimLaw {
    SimLaw { base_ns: 1000, bytes_per_second: 0, sigma_milli: 0, channels, ..SimLaw::default() }
}

/// A made engine in a world of its own, its arena and its clock.
struct Bench {
    engine: Box<dyn Engine>,
    world: Arc<World>,
    done: Completions,
}

impl Bench {
    fn new(law: SimLaw, seed: u64, depth: u32) -> Bench {
        let world = World::new();
        world.enter(0, 0);
        world.wait_turn(0);
        let config = EngineConfig {
            options: iostrata_spec::EngineOptions { sim: law, ..Default::default() },
            advice: None,
            seed,
            file_sizes: vec![MIB],
            names: Vec::new(),
            donor: None,
            job: Default::default(),
            world: Some(Arc::clone(&world)),
            worker: 0,
            zoned: Vec::new(),
        };
        let Ok(Instance::Async(mut engine)) = make(&config) else { panic!("sim is asynchronous") };
        let arena = SlotArena::new(depth, 4096, 4096).expect("map");
        let granted = engine.attach(&FileTable::default(), arena, depth).expect("attach");
        assert_eq!(granted.depth, depth);
        Bench { engine, world, done: Completions::with_capacity(depth as usize) }
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        self.engine.submit(ios, &mut self.done).expect("submit")
    }

    /// What came back, and when.
    fn reap(&mut self, min: u32, until: Deadline) -> (u64, Vec<(SlotId, i32)>) {
        self.engine.reap(min, until, &mut self.done).expect("reap");
        (self.world.now_ns(0), self.done.drain(..).map(|io| (io.slot, io.result)).collect())
    }
}

fn io(op: Op, slot: SlotId, offset: u64) -> Io {
    Io { offset, len: 4096, slot, ..Io::of(op) }
}

fn reads(count: u32) -> Vec<Io> {
    (0..count).map(|slot| io(Op::Read, slot, u64::from(slot) * 4096)).collect()
}

#[test]
fn two_channels_serve_two_at_once_and_the_rest_queue() {
    let mut bench = Bench::new(steady(2), 1, 5);
    assert_eq!(bench.submit(&reads(5)), 5);
    assert_eq!(bench.reap(1, Deadline::Never), (1000, vec![(0, 4096), (1, 4096)]));
    assert_eq!(bench.reap(3, Deadline::Never), (3000, vec![(2, 4096), (3, 4096), (4, 4096)]));
    assert_eq!(bench.reap(1, Deadline::Never), (3000, vec![]), "nothing is in flight: no wait");
}

#[test]
fn a_deadline_ends_the_wait_and_time_stands_there() {
    let mut bench = Bench::new(steady(1), 1, 2);
    bench.submit(&reads(2));
    assert_eq!(bench.reap(2, Deadline::At(1500)), (1500, vec![(0, 4096)]));
    assert_eq!(bench.reap(1, Deadline::At(1700)), (1700, vec![]));
    assert_eq!(bench.reap(1, Deadline::At(9000)), (2000, vec![(1, 4096)]));
}

#[test]
fn a_loop_that_only_polls_sees_time_pass() {
    let mut bench = Bench::new(steady(1), 1, 1);
    bench.submit(&reads(1));
    let mut polls = 0;
    while bench.reap(0, Deadline::Now).1.is_empty() {
        polls += 1;
        assert!(polls <= 1000 / EMPTY_POLL_NS, "time must reach the completion");
    }
}

#[test]
fn no_more_than_the_depth_is_taken() {
    let mut bench = Bench::new(steady(1), 1, 3);
    assert_eq!(bench.submit(&reads(3)), 3);
    assert_eq!(bench.submit(&reads(3)), 0);
}

#[test]
fn reads_end_where_the_file_ends_and_a_write_moves_that_end() {
    let mut bench = Bench::new(steady(1), 1, 1);
    let mut one = |op, offset| {
        bench.submit(&[io(op, 0, offset)]);
        bench.reap(1, Deadline::Never).1[0].1
    };
    assert_eq!(one(Op::Read, MIB - 100), 100);
    assert_eq!(one(Op::Read, MIB), 0);
    assert_eq!(one(Op::Read, u64::MAX), 0);
    assert_eq!(one(Op::Write, MIB), 4096);
    assert_eq!(one(Op::Read, MIB + 4000), 96);
    assert_eq!(one(Op::Trim, 0), 4096);
    assert_eq!(one(Op::Sync, 0), 0);
}

#[test]
fn a_flush_ends_after_all_that_came_before_it() {
    let mut bench = Bench::new(steady(4), 1, 4);
    bench.submit(&[io(Op::Write, 0, 0), io(Op::Write, 1, 4096), io(Op::DataSync, 2, 0)]);
    assert_eq!(bench.reap(3, Deadline::Never), (2000, vec![(0, 4096), (1, 4096), (2, 0)]));
}

#[test]
fn bandwidth_adds_its_share() {
    let law = SimLaw { bytes_per_second: 1_000_000_000, ..steady(1) };
    let mut bench = Bench::new(law, 1, 1);
    bench.submit(&reads(1));
    assert_eq!(bench.reap(1, Deadline::Never).0, 1000 + 4096);
}

/// A long run of a noisy device: ends and results in order.
fn history(seed: u64, law: &SimLaw) -> Vec<(u64, SlotId, i32)> {
    let mut bench = Bench::new(law.clone(), seed, 4);
    let mut seen = Vec::new();
    bench.submit(&reads(4));
    while seen.len() < 1000 {
        let (now_ns, done) = bench.reap(1, Deadline::Never);
        for (slot, result) in done {
            seen.push((now_ns, slot, result));
            bench.submit(&[io(Op::Read, slot, 0)]);
        }
    }
    seen
}

#[test]
fn a_seed_is_a_history() {
    let law = SimLaw { stall_every: 50, stall_ns: 1_000_000, error_every: 100, ..SimLaw::default() };
    assert_eq!(history(3, &law), history(3, &law));
    assert_ne!(history(3, &law), history(4, &law));
}

#[test]
fn errors_and_stalls_come_as_often_as_the_law_says() {
    let law = SimLaw { error_every: 100, ..SimLaw::default() };
    let failed = history(5, &law).iter().filter(|(.., result)| *result == -libc::EIO).count();
    assert!((9..=11).contains(&failed), "one in each hundred of the requests taken: {failed}");
    let stalled = SimLaw { stall_every: 10, stall_ns: 1_000_000_000, sigma_milli: 0, channels: 1, ..SimLaw::default() };
    let seconds = history(5, &stalled).last().map(|last| last.0 / 1_000_000_000);
    assert!(matches!(seconds, Some(99..=101)), "a hundred stalls of a second: {seconds:?}");
}

#[test]
fn what_is_left_at_the_deadline_is_named_and_its_slots_come_free_on_drop() {
    let mut bench = Bench::new(steady(1), 1, 3);
    bench.submit(&reads(3));
    let stuck = bench.engine.quiesce(Deadline::At(1000), &mut bench.done);
    assert_eq!(bench.done.len(), 1);
    assert_eq!(stuck.slots.len(), 2);
}
