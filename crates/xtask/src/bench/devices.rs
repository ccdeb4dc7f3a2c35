//! `cargo xtask bench --devices`: iostrata and Debian's fio side by side on a file of the disk below the target folder
//! and on a loop device over it, both with direct I/O.
//!
//! How fast a device answers depends on the moment, so fio runs twice in every round: how far it strays from itself is
//! the measure for how far iostrata may stray from it.

mod run;
mod table;
mod target;
mod verdict;

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use self::run::Reading;
use self::target::{DataFile, LoopDevice};
use self::verdict::Verdict;
use super::{Tool, page};
use crate::build;
use crate::packages;
use crate::process;
use crate::workspace::Workspace;

/// Rounds of each case; odd, so that the median is one of them.
const ROUNDS: usize = 9;

const ENGINES: &[&str] = &["psync", "posixaio", "libaio", "io_uring"];
const WORKLOADS: &[(&str, u32)] = &[("randread", 1), ("randread", 32), ("randwrite", 32)];
/// Engines whose submit call can take several requests.
const BATCHING: &[&str] = &["libaio", "io_uring"];

/// What a case does its I/O on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    File,
    Loop,
}

/// One job, run by both tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    place: Place,
    engine: &'static str,
    rw: &'static str,
    depth: u32,
    /// Both tools are told how many requests go down and come up together; else each has its own default.
    batched: bool,
}

impl Case {
    /// All, in the order of the page.
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for place in [Place::File, Place::Loop] {
            for engine in ENGINES {
                for &(rw, depth) in WORKLOADS {
                    let case = Case { place, engine, rw, depth, batched: false };
                    cases.push(case);
                    if depth > 1 && BATCHING.contains(engine) {
                        cases.push(Case { batched: true, ..case });
                    }
                }
            }
        }
        cases
    }

    /// Its name in the page and for `--case`.
    fn name(self) -> String {
        let place = match self.place {
            Place::File => "file",
            Place::Loop => "loop",
        };
        let batched = if self.batched { "-batched" } else { "" };
        format!("{place}-{}-{}-{}{batched}", self.engine, self.rw, self.depth)
    }
}

/// What one round read: iostrata once, fio twice.
#[derive(Clone, Copy, Debug)]
struct Round {
    iostrata: Reading,
    /// Which of the two runs is the first is chosen by lot, not by time.
    fio: [Reading; 2],
}

/// What was measured of one case.
struct Measured {
    case: Case,
    rounds: Vec<Round>,
    /// System calls per I/O, iostrata's and fio's.
    calls: (f64, f64),
}

/// What the page says besides the numbers.
struct Conditions {
    rounds: usize,
    seed: u64,
    /// The file system and the disk that held the file.
    disk: String,
}

#[derive(Debug)]
struct Options {
    rounds: usize,
    seed: u64,
    cases: Vec<Case>,
}

/// `cargo xtask bench --devices [--rounds N] [--seed N] [--case NAME]…`; `Ok(false)` if iostrata is worse anywhere.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    let options = parse(args)?;
    let need = |name: &str| process::which(name).with_context(|| format!("needs `{name}`: apt-get install {name}"));
    let fio = Tool { name: "fio", program: need("fio")? };
    need("strace")?;
    ensure!(packages::is_root()?, "--devices makes a loop device: only root may");
    let iostrata = Tool { name: "iostrata", program: build::release(workspace)? };
    let scratch = workspace.scratch("bench-devices")?;
    let file = DataFile::laid_out(&scratch, &fio)?;
    let device = LoopDevice::over(&file)?;
    println!("seed {}, {} on {}", options.seed, device.path().display(), file.path().display());
    let mut lots = Lots(options.seed);
    let mut measured = Vec::new();
    for &case in &options.cases {
        let target = match case.place {
            Place::File => file.path(),
            Place::Loop => device.path(),
        };
        let bench = run::Bench { case, target, iostrata: &iostrata, fio: &fio, scratch: &scratch };
        measured.push(measure(&bench, options.rounds, &mut lots)?);
        println!("{}", table::row(measured.last().context("just measured")?));
    }
    if options.cases == Case::all() {
        let conditions = Conditions { rounds: options.rounds, seed: options.seed, disk: file.disk()? };
        let body = table::section(&page::Machine::here(workspace, &fio)?, &conditions, &measured);
        page::write(workspace, page::Section::Devices, &body)?;
    }
    Ok(measured.iter().all(|one| verdict::comparisons(&one.rounds).iter().all(|c| c.verdict() != Verdict::Worse)))
}

fn parse(args: &[String]) -> Result<Options> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let mut options = Options { rounds: ROUNDS, seed: now.as_secs(), cases: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--rounds" => options.rounds = value()?.parse().context("--rounds takes a number")?,
            "--seed" => options.seed = value()?.parse().context("--seed takes a number")?,
            "--case" => {
                let name = value()?;
                let known = || Case::all().iter().map(|case| case.name()).collect::<Vec<_>>().join(", ");
                let case = Case::all().into_iter().find(|case| case.name() == *name);
                options
                    .cases
                    .push(case.with_context(|| format!("no case is called `{name}`; there are: {}", known()))?);
            }
            other => bail!("`{other}` is no option of `cargo xtask bench --devices`"),
        }
    }
    ensure!(options.rounds > 0, "--rounds takes at least 1");
    if options.cases.is_empty() {
        options.cases = Case::all();
    }
    Ok(options)
}

fn measure(bench: &run::Bench, rounds: usize, lots: &mut Lots) -> Result<Measured> {
    let starting = (bench.starting_cpu(bench.iostrata)?, bench.starting_cpu(bench.fio)?);
    // The first run after another case finds the disk's and the host's caches as that case left them.
    bench.timed(bench.fio, lots.seed(), starting.1)?;
    let mut measured = Vec::new();
    for _ in 0..rounds {
        // The same offsets for all three.
        let seed = lots.seed();
        let mut readings: [Option<Reading>; 3] = [None; 3];
        for who in lots.order() {
            let (tool, starting) = if who == 0 { (bench.iostrata, starting.0) } else { (bench.fio, starting.1) };
            readings[who] = Some(bench.timed(tool, seed, starting)?);
        }
        let [Some(iostrata), Some(first), Some(second)] = readings else { bail!("an order left somebody out") };
        measured.push(Round { iostrata, fio: [first, second] });
    }
    let calls = (bench.calls_per_io(bench.iostrata)?, bench.calls_per_io(bench.fio)?);
    Ok(Measured { case: bench.case, rounds: measured, calls })
}

/// Numbers by lot, the same for the same seed: Steele, Lea and Flood's `SplitMix64`.
struct Lots(u64);

impl Lots {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A `randseed`; fio takes none above 2^63.
    fn seed(&mut self) -> u64 {
        self.draw() >> 32
    }

    /// Who of three runs first, second and third (Fisher and Yates).
    fn order(&mut self) -> [usize; 3] {
        let mut order = [0, 1, 2];
        order.swap(2, (self.draw() % 3) as usize);
        order.swap(1, (self.draw() % 2) as usize);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_engine_is_measured_at_both_depths_in_both_places() {
        let names: Vec<String> = parsed(&[]).unwrap().cases.into_iter().map(Case::name).collect();
        for place in ["file", "loop"] {
            for engine in ["psync", "posixaio", "libaio", "io_uring"] {
                for work in ["randread-1", "randread-32", "randwrite-32"] {
                    let name = format!("{place}-{engine}-{work}");
                    assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{name}");
                }
            }
        }
    }

    #[test]
    fn wrong_words_are_answered_with_what_is_right() {
        assert!(parsed(&["--case", "floppy"]).unwrap_err().to_string().contains("loop-psync-randread-1"));
        assert!(parsed(&["--rounds", "0"]).is_err());
        assert!(parsed(&["--seed", "x"]).is_err());
        assert!(parsed(&["--speed", "1"]).unwrap_err().to_string().contains("--speed"));
    }

    #[test]
    fn an_order_is_drawn_fairly_and_again_for_the_same_seed() {
        let orders = |seed| {
            let mut lots = Lots(seed);
            (0..600).map(|_| lots.order()).collect::<Vec<_>>()
        };
        assert_eq!(orders(7), orders(7));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            // 100 are expected of each of the six, with a standard deviation of 9; the seed is fixed.
            let drawn = orders(7).iter().filter(|other| **other == order).count();
            assert!((60..140).contains(&drawn), "{order:?} {drawn} times");
        }
    }
}
