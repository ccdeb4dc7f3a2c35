//! `sprandom`: the order of writes that brings an SSD into the steady state of random writes in one pass.
//!
//! In that state the flash is full, spare part and all, and of what was written long ago less is still valid than of
//! what was written lately: overwriting at random makes the valid share fall exponentially with age. The pass writes as
//! many blocks as the flash holds, `(1 + op)` times the region, in `n` parts of equal length. The blocks of a part are
//! new ones in random order, and among them, evenly, some of the part before, which thereby become invalid. Part `i` of
//! `n` keeps the share `exp(−a·(1 + op)·(n − 1 − i)/n)`; `a` is such that in the end as much is valid as the region
//! has. A cache in the device would swallow an overwrite that follows too soon, so it waits for as many parts as the
//! cache is long.

use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

use iostrata_spec::Precondition;

use super::Direction;
use super::offsets::{Block, OffsetSpec};
use super::permutation::{Cursor, Permutation, pass_key};
use super::random::{below, derive, generator};

/// Halvings of the interval in which `a` lies.
const HALVINGS: u32 = 60;
/// `a` is below this: the share of a part would be 0 to the last digit.
const STEEPEST: f64 = 700.0;

/// How much is written and overwritten, part by part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// Blocks written, and of these still valid at the end.
    parts: Vec<(u64, u64)>,
    /// An overwrite comes so many parts after what it overwrites.
    delay: usize,
}

impl Schedule {
    /// For `blocks` of `block_bytes` each. `None` if so few parts cannot keep so little: each must have one after it.
    pub(super) fn new(rules: &Precondition, blocks: u64, block_bytes: u64) -> Option<Schedule> {
        let whole = total_blocks(rules, blocks);
        let count = u64::from(rules.regions).min(blocks.max(1));
        let part_bytes = (whole / count).max(1).saturating_mul(block_bytes.max(1));
        let delay = 1 + rules.cache_bytes.div_ceil(part_bytes);
        if count <= delay || whole / count * delay > blocks {
            return None;
        }
        let ratio = whole as f64 / blocks as f64;
        let share = |a: f64, part: u64| (-a * ratio * (count.saturating_sub(delay + part)) as f64 / count as f64).exp();
        let valid = |a: f64| (0..count).map(|part| share(a, part)).sum::<f64>() * ratio / count as f64;
        let (mut low, mut high) = (0.0, STEEPEST);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if valid(middle) > 1.0 { low = middle } else { high = middle }
        }
        let mut parts = Vec::with_capacity(count as usize);
        let (mut written, mut kept, mut sum) = (0, 0, 0.0);
        for part in 0..count {
            let end = (u128::from(whole) * u128::from(part + 1) / u128::from(count)) as u64;
            sum += share(low, part) * ratio / count as f64;
            let last = part + delay >= count;
            // Rounded sums, so that the rest goes nowhere; the last parts keep everything.
            let keep = if last { end - written } else { ((sum * blocks as f64).round() as u64).saturating_sub(kept) };
            let keep = keep.min(end - written);
            parts.push((end - written, keep));
            (written, kept) = (end, kept + keep);
        }
        // What rounding left over or took too much is the first part's.
        let (wrote, keeps) = parts[0];
        parts[0] = (wrote, (keeps + blocks).checked_sub(kept).filter(|keeps| *keeps <= wrote)?);
        Some(Schedule { parts, delay: delay as usize })
    }

    /// Blocks of a part that are overwritten later.
    fn lost(&self, part: usize) -> u64 {
        self.parts.get(part).map_or(0, |(written, kept)| written - kept)
    }
}

/// Blocks written in all.
fn total_blocks(rules: &Precondition, blocks: u64) -> u64 {
    blocks.saturating_add((blocks as f64 * rules.over_provisioning) as u64)
}

/// Bytes that the pass writes over a region; `None` where so few parts cannot do it.
pub(crate) fn pass_bytes(rules: &Precondition, region_bytes: u64, block_bytes: u64) -> Option<u64> {
    let blocks = region_bytes.checked_div(block_bytes)?;
    Schedule::new(rules, blocks, block_bytes)?;
    total_blocks(rules, blocks).checked_mul(block_bytes)
}

/// The generator.
#[derive(Debug)]
pub(super) struct Preconditioning {
    spec: OffsetSpec,
    schedule: Schedule,
    permutation: Permutation,
    cursor: Cursor,
    rng: Xoshiro256PlusPlus,
    pass: u64,
    part: usize,
    /// Blocks of this part that were given.
    given: u64,
    /// Of them overwrites, and those that will be overwritten.
    overwrites: u64,
    chosen: u64,
    /// What is overwritten in this part and in those after it.
    due: VecDeque<Vec<u64>>,
}

impl Preconditioning {
    pub(super) fn new(spec: &OffsetSpec, rules: &Precondition) -> Option<Self> {
        let block_bytes = spec.block_bytes[Direction::Write.index()];
        let blocks = spec.region_bytes.checked_div(block_bytes)?;
        let mut made = Preconditioning {
            spec: spec.clone(),
            schedule: Schedule::new(rules, blocks, block_bytes)?,
            permutation: Permutation::new(blocks, 0),
            cursor: Cursor::default(),
            rng: generator(0),
            pass: 0,
            part: 0,
            given: 0,
            overwrites: 0,
            chosen: 0,
            due: VecDeque::new(),
        };
        made.restart(true);
        Some(made)
    }

    pub(super) fn restart(&mut self, repeat: bool) {
        self.pass += u64::from(!repeat);
        let key = pass_key(self.spec.key, self.pass);
        self.permutation.rekey(key);
        self.rng = generator(derive(key, 1));
        self.cursor = Cursor::default();
        (self.part, self.given, self.overwrites, self.chosen) = (0, 0, 0, 0);
        self.due.clear();
        // In the first parts there is nothing yet to overwrite.
        self.due.extend((0..self.schedule.delay).map(|_| Vec::new()));
        self.due.push_back(Vec::with_capacity(self.schedule.lost(0) as usize));
    }

    /// Bytes that remember what is to be overwritten.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.permutation.memory_bytes() + planned_bytes(&self.schedule)
    }

    pub(super) fn next(&mut self, direction: Direction) -> Option<Block> {
        if direction != Direction::Write {
            return None;
        }
        while self.given == self.schedule.parts.get(self.part)?.0 {
            self.next_part();
        }
        let (length, kept) = self.schedule.parts[self.part];
        let due = self.due.front().map_or(0, |list| list.len() as u64);
        // Evenly: so many of the blocks up to this one are overwrites.
        let overwritten = (u128::from(due) * u128::from(self.given + 1) / u128::from(length)) as u64;
        let number = if overwritten > self.overwrites {
            let number = self.due[0][self.overwrites as usize];
            self.overwrites += 1;
            number
        } else {
            let mut number = 0;
            self.permutation.walk(&mut self.cursor, 1, |_, next| number = next[0]);
            number
        };
        // Each block of the part has the same chance to be among those that are overwritten, and their number is exact.
        let (wanted, left) = (length - kept - self.chosen, length - self.given);
        if below(&mut self.rng, left) < wanted {
            self.chosen += 1;
            if let Some(list) = self.due.back_mut() {
                list.push(number);
            }
        }
        self.given += 1;
        let len = self.spec.block_bytes[Direction::Write.index()];
        Some(Block { offset: self.spec.region_start + number * len, len: len as u32 })
    }

    fn next_part(&mut self) {
        self.part += 1;
        (self.given, self.overwrites, self.chosen) = (0, 0, 0);
        let mut list = self.due.pop_front().unwrap_or_default();
        list.clear();
        let lost = self.schedule.lost(self.part) as usize;
        list.reserve(lost);
        self.due.push_back(list);
        // In another order than they were written in.
        if let Some(next) = self.due.front_mut() {
            for last in (1..next.len()).rev() {
                next.swap(last, below(&mut self.rng, last as u64 + 1) as usize);
            }
        }
    }
}

fn planned_bytes(schedule: &Schedule) -> u64 {
    let most = (0..schedule.parts.len()).map(|part| schedule.lost(part)).max().unwrap_or(0);
    8 * most * (schedule.delay as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 4096;

    fn rules(regions: u32, over_provisioning: f64, cache_bytes: u64) -> Precondition {
        Precondition { on: true, regions, over_provisioning, cache_bytes }
    }

    fn made(rules: &Precondition, blocks: u64) -> Preconditioning {
        let spec = OffsetSpec {
            region_start: 8 * BLOCK,
            region_bytes: blocks * BLOCK,
            file_bytes: (blocks + 8) * BLOCK,
            block_bytes: [0, BLOCK, 0],
            align_bytes: [0; 3],
            random: true,
            modifier: None,
            no_map: true,
            paired: false,
            key: 7,
            shape: None,
        };
        Preconditioning::new(&spec, rules).expect("a schedule")
    }

    fn all(order: &mut Preconditioning) -> Vec<u64> {
        std::iter::from_fn(|| order.next(Direction::Write)).map(|block| block.offset / BLOCK - 8).collect()
    }

    /// Of each part the share whose last write it is.
    fn valid_shares(writes: &[u64], parts: usize) -> Vec<f64> {
        let mut last = std::collections::HashMap::new();
        writes.iter().enumerate().for_each(|(at, block)| _ = last.insert(block, at));
        let part = |at: usize| at * parts / writes.len();
        let mut valid = vec![0; parts];
        last.values().for_each(|&at| valid[part(at)] += 1);
        valid.iter().map(|&count| f64::from(count) * parts as f64 / writes.len() as f64).collect()
    }

    #[test]
    fn the_pass_writes_what_the_flash_holds_and_covers_every_block() {
        for (regions, spare, cache) in [(100, 0.15, 0), (10, 0.07, 0), (50, 0.9, 0), (100, 0.28, 3 * 400 * BLOCK)] {
            let rules = rules(regions, spare, cache);
            let mut order = made(&rules, 20_000);
            let writes = all(&mut order);
            assert_eq!(writes.len() as u64, total_blocks(&rules, 20_000));
            let distinct: std::collections::HashSet<_> = writes.iter().collect();
            assert_eq!(distinct.len(), 20_000, "{rules:?}");
            order.restart(true);
            assert_eq!(all(&mut order), writes, "the same order again");
            order.restart(false);
            assert_ne!(all(&mut order), writes);
        }
    }

    #[test]
    fn of_each_part_as_much_is_valid_as_after_writing_at_random_for_ever() {
        let rules = rules(50, 0.25, 0);
        let shares = valid_shares(&all(&mut made(&rules, 40_000)), 50);
        assert!((shares[49] - 1.0).abs() < 1e-9, "nothing came after the last part");
        // The shares fall by the same factor from each part to the one before.
        let factor = shares[47] / shares[48];
        for pair in shares[..49].windows(2) {
            assert!((pair[0] / pair[1] - factor).abs() < 0.01, "{pair:?} for {factor}");
        }
        // A log that is cleaned from its end: of its oldest part 1 − a is valid, where 1 − exp(−(1 + op)·a) = a.
        let (mut low, mut high) = (1e-6, 1.0);
        for _ in 0..60 {
            let a = f64::midpoint(low, high);
            if 1.0 - (-1.25 * a).exp() > a { low = a } else { high = a }
        }
        assert!((shares[0] - (1.0 - low)).abs() < 0.02, "{} for {}", shares[0], 1.0 - low);
    }

    #[test]
    fn an_overwrite_waits_until_the_cache_has_passed_the_block_on() {
        for (cache_parts, delay) in [(0, 1), (1, 2), (3, 4)] {
            let part = 1_150;
            let rules = rules(20, 0.15, cache_parts * part * BLOCK);
            let writes = all(&mut made(&rules, 20_000));
            let mut seen = std::collections::HashMap::new();
            for (at, block) in writes.iter().enumerate() {
                if let Some(before) = seen.insert(block, at) {
                    assert_eq!(
                        at * 20 / writes.len() - before * 20 / writes.len(),
                        delay,
                        "cache of {cache_parts} parts"
                    );
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_kept_by_so_few_parts_is_no_schedule() {
        assert_eq!(Schedule::new(&rules(1, 0.15, 0), 1000, BLOCK), None);
        assert_eq!(Schedule::new(&rules(10, 0.15, 1 << 30), 1000, BLOCK), None);
        assert!(Schedule::new(&rules(2, 0.15, 0), 1000, BLOCK).is_some());
    }
}
