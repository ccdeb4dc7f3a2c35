//! Passes over a file: which repeat the order of the one before, and which meet every byte once. Where each is so in
//! fio 3.33, it is here; the orders themselves are each program's own.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;

use iostrata_testkit::{Folder, alone, fio, iostrata, run, some_at_once};

const SIZE: u64 = 1 << 20;
/// Bytes that are looked at: three passes.
const LOOKED_AT: u64 = 3 * SIZE;
/// So many I/Os in a row that are the same as at the start are no chance: one in 256^20.
const ROW: usize = 20;

/// Direction, bytes, offset.
type Io = (u64, u64, u64);

/// What a job of `size=1m` does, from a log of offsets.
fn ios(program: &Path, engine: &str, words: &str) -> Vec<Io> {
    let folder = Folder::new("passes");
    let base = format!(
        "--name=j --ioengine={engine} --filename=x --bs=4k --size={SIZE} --write_iops_log=p --log_offset=1 \
         --output=/dev/null {words}"
    );
    let output = run(program, &base.split_whitespace().collect::<Vec<_>>(), folder.path());
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let log = BufReader::new(std::fs::File::open(folder.path().join("p_iops.1.log")).unwrap());
    let io = |line: std::io::Result<String>| {
        let line = line.unwrap();
        let field = |place: usize| line.split(',').nth(place).unwrap().trim().parse().unwrap();
        (field(2), field(3), field(4))
    };
    log.lines().map(io).collect()
}

/// What both programs must have in common.
#[derive(Debug, PartialEq, Eq)]
struct Passes {
    /// Bytes moved before the order of the start comes again, each time.
    again_at: Vec<u64>,
    /// Of each whole pass: whether it met every byte once.
    once: Vec<bool>,
}

impl Passes {
    fn of(ios: &[Io]) -> Passes {
        let mut passes = Passes { again_at: Vec::new(), once: Vec::new() };
        let (mut moved, mut met, mut twice) = (0, HashSet::new(), false);
        for (place, io) in ios.iter().enumerate() {
            if moved >= LOOKED_AT {
                break;
            }
            if place > 0 && ios[place..].starts_with(&ios[..ROW]) {
                passes.again_at.push(moved);
            }
            moved += io.1;
            (io.2 / 512..(io.2 + io.1) / 512).for_each(|unit| twice |= !met.insert(unit));
            if moved / SIZE > passes.once.len() as u64 {
                passes.once.push(!twice && met.len() as u64 == SIZE / 512);
                (met, twice) = (HashSet::new(), false);
            }
        }
        passes
    }
}

/// Ways to do more than one pass.
const AGAIN: [&str; 4] =
    ["--loops=3", "--io_size=3m", "--loops=3 --randrepeat=0", "--time_based --runtime=1 --rate_iops=2000"];

/// Jobs whose passes are looked at in each of these ways.
const JOBS: &[&str] = &[
    "--rw=randread",
    "--rw=randread:4",
    "--rw=randread --norandommap",
    "--rw=randread --random_distribution=zipf:1.2",
];

/// Jobs of one way only. (With lfsr fio has one order, whatever is asked for; the random ones of percentage_random
/// have a map there, which is full after two passes and more.)
const OTHERS: &[&str] = &[
    "--rw=read --loops=3",
    "--rw=read --bsrange=4k-16k --loops=3",
    "--rw=randrw --loops=3",
    "--rw=randrw --io_size=3m",
    "--rw=randrw --io_size=640k --loops=4",
    "--rw=randtrimwrite --loops=2",
    "--rw=randread --bsrange=4k-16k --loops=3",
    "--rw=randread --bssplit=4k/50:12k/50 --io_size=3m",
    "--rw=randread --bsrange=4k-16k --norandommap --loops=3",
    "--rw=randread --bsrange=4k-8k --io_size=640k --loops=4",
    "--rw=randread --io_size=512k --loops=6",
    "--rw=randread --io_size=640k --loops=4",
    "--rw=randread --io_size=640k --loops=4 --randrepeat=0",
    "--rw=randread --number_ios=100 --loops=6",
    "--rw=randread --io_size=1536k --loops=2",
    "--rw=randread --nrfiles=2 --loops=3",
    "--rw=randread --offset=512k --loops=3",
    "--rw=randread --random_generator=lfsr --loops=3",
    "--rw=randread --random_generator=lfsr --io_size=3m",
    "--rw=randread --percentage_random=100 --loops=3",
    "--rw=randread --percentage_random=50 --loops=2",
    "--rw=randread --percentage_random=50 --io_size=2m",
    "--rw=randread --percentage_random=50 --time_based --runtime=1 --rate_iops=2000",
    "--rw=randread --random_distribution=zoned:50/10:50/90 --loops=3",
    "--rw=randread --zonemode=strided --zonesize=64k --loops=3",
    "--rw=randread --zonemode=strided --zonesize=32k --zonerange=64k --io_size=3m",
    "--rw=randread --zonemode=strided --zonesize=128k --zonerange=64k --io_size=3m",
];

#[test]
fn passes_repeat_an_order_and_cover_once_where_fio_does() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    let each = JOBS.iter().flat_map(|job| AGAIN.iter().map(move |again| format!("{job} {again}")));
    let lines: Vec<String> = each.chain(OTHERS.iter().map(|line| (*line).to_owned())).collect();
    let try_line = |words: &String| {
        // fio has no virtual time, but its null device.
        let [theirs, own] = [ios(&fio, "null", words), ios(Path::new(iostrata()), "sim", words)];
        let [theirs, own] = [theirs, own].map(|ios| Passes::of(&ios));
        (theirs != own).then(|| format!("{words}:\n    fio  {theirs:?}\n    ours {own:?}"))
    };
    let failures: Vec<String> = some_at_once(&lines, try_line).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {} lines differ:\n{}", failures.len(), lines.len(), failures.join("\n"));
}

#[test]
fn the_rules_of_passes_hold() {
    let seen = |words: &str| Passes::of(&ios(Path::new(iostrata()), "sim", words));
    let all = |value: bool| vec![value; 3];
    for again in ["--loops=3", "--io_size=3m"] {
        let passes = seen(&format!("--rw=randread {again}"));
        assert_eq!(passes, Passes { again_at: vec![SIZE, 2 * SIZE], once: all(true) }, "{again}");
        let fresh = seen(&format!("--rw=randread --randrepeat=0 {again}"));
        assert_eq!(fresh, Passes { again_at: Vec::new(), once: all(true) }, "{again}: another order each time");
    }
    let wrapped = seen("--rw=randread --time_based --runtime=1 --rate_iops=2000");
    assert_eq!(wrapped, Passes { again_at: Vec::new(), once: all(true) }, "a wrap takes a new order");
    for words in ["--rw=randread:4", "--rw=randread --percentage_random=50"] {
        assert_eq!(seen(&format!("{words} --loops=3")).once, all(false), "{words}");
    }
}
