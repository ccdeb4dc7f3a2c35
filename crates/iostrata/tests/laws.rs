//! Where I/Os go, how large they are and what they do, each by the law that the job names: a million I/Os on `sim`
//! from a fixed seed, held against the law as it is written here once more.
//!
//! Two measures, each of which a right sampler fails one time in a thousand (the seeds are fixed, so a test gives the
//! same answer always). Kolmogorov and Smirnov: the greatest distance between the measured and the true share of the
//! blocks below each is above 1.95/√n. χ² with f degrees of freedom: by Wilson and Hilferty its cube root is nearly
//! normal, and lies above the 3.09 standard deviations that the normal law passes one time in a thousand.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader};

use iostrata_testkit::{Folder, iostrata, run};

const IOS: usize = 1_000_000;
const BLOCK: u64 = 4096;
/// Blocks of the region, where every job has as many I/Os in one pass.
const BLOCKS: usize = IOS;
/// What one right sampler in a thousand passes: standard deviations of the normal law, one side.
const RARE: f64 = 3.09;
/// Kolmogorov's limit that is passed as rarely, times √n.
const RARE_DISTANCE: f64 = 1.95;
/// The least number of I/Os expected in a cell of a χ² test.
const CELL: f64 = 500.0;

/// One I/O of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Io {
    write: bool,
    bytes: u64,
    offset: u64,
}

impl Io {
    fn block(self) -> usize {
        (self.offset / BLOCK) as usize
    }
}

/// The I/Os of a job on `sim`, one after the other.
fn ios(words: &str) -> Vec<Io> {
    let folder = Folder::new("laws");
    let base = "--name=j --ioengine=sim --sim_sigma=0 --bs=4k --size=4096000000 --randseed=4711 --write_iops_log=o \
                --log_offset=1 --output=/dev/null";
    let all: Vec<&str> = base.split_whitespace().chain(words.split_whitespace()).collect();
    let output = run(iostrata(), &all, folder.path());
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::File::open(folder.path().join("o_iops.1.log")).unwrap();
    let io = |line: std::io::Result<String>| {
        // Time, value, direction, bytes, offset.
        let line = line.unwrap();
        let mut fields = line.split(',').map(|field| field.trim().parse::<u64>().unwrap()).skip(2);
        let mut next = || fields.next().unwrap();
        Io { write: next() == 1, bytes: next(), offset: next() }
    };
    BufReader::new(log).lines().map(io).collect()
}

/// χ² as standard deviations of the normal law (Wilson and Hilferty 1931).
fn excess(counts: &[u64], expected: &[f64]) -> f64 {
    assert!(counts.len() == expected.len() && counts.len() > 1 && expected.iter().all(|&e| e > 5.0));
    let square: f64 = counts.iter().zip(expected).map(|(&count, e)| (count as f64 - e).powi(2) / e).sum();
    let spread = 2.0 / (9.0 * (counts.len() - 1) as f64);
    ((square / (counts.len() - 1) as f64).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// `shares[b]` is the true share of the I/Os that go to block b; any scale.
fn assert_law(name: &str, blocks: impl Iterator<Item = usize>, shares: &[f64]) {
    let mut counts = vec![0u64; shares.len()];
    blocks.for_each(|block| counts[block] += 1);
    let (total, whole) = (counts.iter().sum::<u64>() as f64, shares.iter().sum::<f64>());
    let (mut distance, mut seen, mut wanted) = (0.0f64, 0.0, 0.0);
    let (mut cells, mut expected) = (vec![0], vec![0.0]);
    for (count, share) in counts.iter().zip(shares) {
        let due = share / whole * total;
        (seen, wanted) = (seen + *count as f64, wanted + due);
        distance = distance.max((seen - wanted).abs() / total);
        assert!(due > 0.0 || *count == 0, "{name}: a block that must never come");
        if expected[expected.len() - 1] >= CELL && total - (wanted - due) >= CELL {
            cells.push(0);
            expected.push(0.0);
        }
        let cell = cells.len() - 1;
        cells[cell] += count;
        expected[cell] += due;
    }
    let limit = RARE_DISTANCE / total.sqrt();
    assert!(distance < limit, "{name}: distance {distance:.6}, limit {limit:.6}");
    let z = excess(&cells, &expected);
    assert!(z < RARE, "{name}: χ² over {} cells lies {z:.2} standard deviations above its mean", cells.len());
}

/// How often each of these sizes came, against their shares.
fn assert_sizes(name: &str, ios: impl Iterator<Item = Io>, shares: &[(u64, f64)]) {
    let mut counts = vec![0; shares.len()];
    for io in ios {
        let place = shares.iter().position(|(bytes, _)| *bytes == io.bytes);
        counts[place.unwrap_or_else(|| panic!("{name}: a block of {} bytes", io.bytes))] += 1;
    }
    let total = counts.iter().sum::<u64>() as f64;
    let z = excess(&counts, &shares.iter().map(|(_, share)| share * total).collect::<Vec<_>>());
    assert!(z < RARE, "{name}: {z:.2}; {counts:?}");
}

#[test]
fn without_a_map_every_block_is_alike() {
    let ios = ios("--rw=randread --norandommap");
    assert_eq!(ios.len(), IOS);
    assert_law("uniform", ios.iter().map(|io| io.block()), &vec![1.0; BLOCKS]);
}

#[test]
fn a_part_of_a_pass_is_anywhere_and_nowhere_twice() {
    // A hundredth of the pass: what χ² loses by drawing without putting back is a hundredth.
    for generator in ["tausworthe", "lfsr"] {
        let words = format!("--rw=randread --size=409600000000 --io_size=4096000000 --random_generator={generator}");
        let ios = ios(&words);
        assert_eq!(ios.iter().map(|io| io.offset).collect::<HashSet<_>>().len(), IOS);
        assert_law(generator, ios.iter().map(|io| io.block() / 100), &vec![1.0; BLOCKS]);
    }
}

#[test]
fn zipf_gives_the_block_of_rank_k_a_share_of_k_to_the_power_of_minus_theta() {
    for theta in [0.6, 1.2, 2.5] {
        // Around the first block, ranks are block numbers.
        let ios = ios(&format!("--rw=randread --random_distribution=zipf:{theta}:0"));
        assert_eq!(ios.len(), IOS);
        let shares: Vec<f64> = (1..=BLOCKS).map(|rank| (rank as f64).powf(-theta)).collect();
        assert_law(&format!("zipf:{theta}"), ios.iter().map(|io| io.block()), &shares);
    }
}

/// The shares of cells whose ends `below` tells: the part of all that lies below x, for x from 0 to 1.
fn by_distribution_function(below: impl Fn(f64) -> f64) -> Vec<f64> {
    let at = |block: usize| below(block as f64 / BLOCKS as f64);
    (0..BLOCKS).map(|block| at(block + 1) - at(block)).collect()
}

#[test]
fn pareto_sends_all_but_h_of_the_ios_to_h_of_the_blocks_at_every_scale() {
    for h in [0.1f64, 0.2, 0.6] {
        let ios = ios(&format!("--rw=randread --random_distribution=pareto:{h}:0"));
        // F(h) = 1 − h, F(h²) = (1 − h)², …
        let shares = by_distribution_function(|x| x.powf((1.0 - h).ln() / h.ln()));
        assert_law(&format!("pareto:{h}"), ios.iter().map(|io| io.block()), &shares);
    }
}

#[test]
fn the_normal_law_has_its_deviation_and_center_and_ends_where_the_region_does() {
    for (parameters, deviation, center) in [("5:0.4", 0.05, 0.4), ("30:0.9", 0.3, 0.9), ("99:0.5", 0.99, 0.5)] {
        let ios = ios(&format!("--rw=randread --random_distribution=normal:{parameters}"));
        // The density in the middle of each block; 10^6 of them are as good as the integral.
        let density = |block: usize| ((block as f64 + 0.5) / BLOCKS as f64 - center) / deviation;
        let shares: Vec<f64> = (0..BLOCKS).map(|block| (-density(block).powi(2) / 2.0).exp()).collect();
        assert_law(&format!("normal:{parameters}"), ios.iter().map(|io| io.block()), &shares);
    }
}

#[test]
fn without_a_center_the_same_ranks_lie_scattered() {
    for (law, center) in [("zipf:1.2", ":0"), ("pareto:0.2", ":0"), ("normal:10", ":0.5")] {
        let [scattered, ranks] = ["", center].map(|center| {
            let all = ios(&format!("--rw=randread --random_distribution={law}{center} --io_size=409600000"));
            all.iter().map(|io| io.block()).collect::<Vec<_>>()
        });
        // Each rank has one block, and each block one rank: so the law is the same, whatever it is.
        let (mut block_of, mut rank_of) = (HashMap::new(), HashMap::new());
        for (&block, &rank) in scattered.iter().zip(&ranks) {
            assert_eq!(*block_of.entry(rank).or_insert(block), block, "{law}: rank {rank}");
            assert_eq!(*rank_of.entry(block).or_insert(rank), rank, "{law}: block {block}");
        }
        // The blocks themselves are anywhere.
        let mut cells = [0u64; 50];
        rank_of.keys().for_each(|block| cells[block * 50 / BLOCKS] += 1);
        let z = excess(&cells, &[rank_of.len() as f64 / 50.0; 50]);
        assert!(z < RARE, "{law}: {z:.2}");
    }
}

#[test]
fn zones_have_their_shares_and_are_even_inside_for_each_direction() {
    // (percent of the I/Os, end of the zone in percent of the region)
    let read: &[(f64, f64)] = &[(60.0, 10.0), (30.0, 30.0), (8.0, 60.0), (2.0, 100.0)];
    let write: &[(f64, f64)] = &[(25.0, 50.0), (75.0, 100.0)];
    let by_percent = "--random_distribution=zoned:60/10:30/20:8/30:2/40,25/50:75/50";
    // The same by bytes of 4096000000.
    let by_size = "--random_distribution=zoned_abs:60/409600000:30/819200000:8/1228800000:2/1638400000,\
                   25/2048000000:75/2048000000";
    for words in [by_percent, by_size] {
        let ios = ios(&format!("--rw=randrw --rwmixread=60 {words}"));
        for (write, zones) in [(false, read), (true, write)] {
            let mut shares = Vec::with_capacity(BLOCKS);
            for (percent, end) in zones {
                let length = (end / 100.0 * BLOCKS as f64).round() as usize - shares.len();
                shares.extend(std::iter::repeat_n(percent / length as f64, length));
            }
            let blocks = ios.iter().filter(|io| io.write == write).map(|io| io.block());
            assert_law(&format!("{words}, writes: {write}"), blocks, &shares);
        }
    }
}

#[test]
fn zones_that_leave_a_rest_of_the_region_leave_it_alone() {
    let ios = ios("--rw=randread --random_distribution=zoned_abs:75/409600000:25/819200000");
    let shares: Vec<f64> = (0..BLOCKS)
        .map(|block| match block {
            0..100_000 => 0.75 / 100_000.0,
            100_000..300_000 => 0.25 / 200_000.0,
            _ => 0.0,
        })
        .collect();
    assert_law("zoned_abs", ios.iter().map(|io| io.block()), &shares);
}

#[test]
fn a_split_of_sizes_has_its_shares_in_each_direction() {
    let words = "--norandommap --bssplit=4k/50:8k/30:64k/20,512/10:3k/ --rw=randrw --rwmixread=50 --number_ios=1000000 \
                 --size=100g";
    let ios = ios(words);
    assert_eq!(ios.len(), IOS);
    let of = |write: bool| ios.iter().copied().filter(move |io| io.write == write);
    assert_sizes("reads", of(false), &[(4 << 10, 0.5), (8 << 10, 0.3), (64 << 10, 0.2)]);
    assert_sizes("writes", of(true), &[(512, 0.1), (3 << 10, 0.9)]);
}

#[test]
fn sizes_of_a_range_are_even_and_its_top_takes_what_is_cut() {
    // fio 3.33 has these shares too: a range whose top is no multiple of its bottom has less of the top, and one of
    // single bytes has three quarters of all there.
    let even = (1..=16).map(|step| (step << 12, 1.0 / 16.0)).collect();
    let odd = vec![(3 << 10, 0.3), (6 << 10, 0.3), (9 << 10, 0.3), (10 << 10, 0.1)];
    let bytes = (3072..4096).map(|bytes| (bytes, 1.0 / 4096.0)).chain([(4096, 0.75)]).collect();
    let jobs: [(&str, Vec<(u64, f64)>); 3] = [
        ("--rw=read --bsrange=4k-64k", even),
        ("--rw=randread --norandommap --bsrange=3k-10k", odd),
        ("--rw=randread --norandommap --bsrange=3k-4k --bs_unaligned=1", bytes),
    ];
    for (words, shares) in jobs {
        let all = ios(&format!("{words} --number_ios=1000000 --size=100g"));
        assert_eq!(all.len(), IOS, "{words}");
        assert_sizes(words, all.iter().copied(), &shares);
    }
}

#[test]
fn reads_and_writes_have_their_shares() {
    for percent in [1, 10, 30, 50, 70, 99] {
        for rw in ["randrw", "rw"] {
            let ios = ios(&format!("--rw={rw} --rwmixread={percent} --size=409600000 --norandommap"));
            let (all, chance) = (ios.len() as f64, f64::from(percent) / 100.0);
            let reads = ios.iter().filter(|io| !io.write).count() as f64;
            let z = (reads - all * chance) / (all * chance * (1.0 - chance)).sqrt();
            assert!(z.abs() < RARE, "{rw}, {percent}%: {z:.2}");
        }
    }
}

#[test]
fn as_many_ios_jump_as_are_to_be_random() {
    for percent in [10, 50, 90] {
        let ios = ios(&format!("--rw=randread --percentage_random={percent} --size=409600000000 --number_ios=300000"));
        let follows = ios.windows(2).filter(|pair| pair[1].offset == pair[0].offset + BLOCK).count() as f64;
        let (all, chance) = ((ios.len() - 1) as f64, 1.0 - f64::from(percent) / 100.0);
        let z = (follows - all * chance) / (all * chance * (1.0 - chance)).sqrt();
        assert!(z.abs() < RARE, "{percent}%: {z:.2}");
    }
}

/// The block numbers of each file of a job with clones, by file, in the order in which the job went to them.
fn orders(blocks: u64, words: &str) -> BTreeMap<String, Vec<u64>> {
    let folder = Folder::new("laws-orders");
    let sizes = format!("--filesize={} --size={}", blocks * BLOCK, 2 * blocks * BLOCK);
    let base = "--name=j --ioengine=sim --sim_sigma=0 --rw=randread --bs=4k --nrfiles=2 --numjobs=3 --write_iolog=log \
                --output=/dev/null";
    let all: Vec<&str> = [base, &sizes, words].into_iter().flat_map(str::split_whitespace).collect();
    let output = run(iostrata(), &all, folder.path());
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let mut orders: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in std::fs::read_to_string(folder.path().join("log")).expect("a log").lines() {
        // Time, file, "read", offset, bytes.
        let fields: Vec<&str> = line.split(' ').collect();
        if let [_, file, "read", offset, bytes] = fields[..] {
            let (offset, bytes): (u64, u64) = (offset.parse().unwrap(), bytes.parse().unwrap());
            orders
                .entry(file.to_owned())
                .or_default()
                .extend((offset..offset + bytes).step_by(4096).map(|at| at / BLOCK));
        }
    }
    orders
}

#[test]
fn clones_and_files_have_orders_of_their_own_and_each_block_once_a_pass() {
    let around = (1..=13).step_by(3).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]);
    // How often two orders have the same block in the same place: once on average, whatever their length (Montmort).
    let (mut agreements, mut pairs) = (0, 0);
    for blocks in [1, 2, 3, 5, 7, 100, 101, 4093, 10_007].into_iter().chain(around) {
        for words in ["--loops=2", "--loops=2 --randseed=9", "--loops=2 --bssplit=4k/50:8k/50"] {
            let orders: Vec<Vec<u64>> = orders(blocks, words).into_values().collect();
            assert_eq!(orders.len(), 6, "{blocks} blocks, {words}: three clones, two files");
            for order in &orders {
                let [mut first, second] = [0, blocks as usize].map(|at| order[at..at + blocks as usize].to_vec());
                assert_eq!(order.len() as u64, 2 * blocks, "{blocks} blocks, {words}");
                assert!(
                    words.contains("bssplit") || first == second,
                    "{blocks} blocks, {words}: loops repeat the order"
                );
                first.sort_unstable();
                assert!(first.into_iter().eq(0..blocks), "{blocks} blocks, {words}: each once");
            }
            let one_size = !words.contains("bssplit") && blocks > 1;
            for (number, one) in orders.iter().enumerate().filter(|_| one_size) {
                for other in &orders[number + 1..] {
                    agreements += one.iter().zip(other).take(blocks as usize).filter(|(a, b)| a == b).count();
                    pairs += 1;
                }
            }
        }
    }
    // The number of agreements has the variance 1 too.
    let z = (agreements as f64 - f64::from(pairs)) / f64::from(pairs).sqrt();
    assert!(z.abs() < RARE, "{agreements} agreements of {pairs} pairs of orders: {z:.2}");
}
