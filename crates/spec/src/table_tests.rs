//! The table tests itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::draft::Draft;
use crate::grammar::{self, Reading};
use crate::job::{
    AccessZone, Distribution, FileService, Pattern, Percentiles, PriorityShare, Size, SizeShare, SteadyCriterion,
    Workload,
};
use crate::table::{OptionSpec, Status, all_options};
use crate::value::{Choice, Kind, Value};

/// Values drawn per row.
const DRAWS: u64 = 256;

/// splitmix64: a fixed sequence, so that a failure repeats.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `min` to `max`: the limits first, then small and large ones.
    fn between(&mut self, nth: u64, min: u64, max: u64) -> u64 {
        match nth {
            0 => min,
            1 => max,
            _ => {
                let shifted = self.next() >> (self.next() % 64);
                if max - min == u64::MAX { shifted } else { min + shifted % (max - min + 1) }
            }
        }
    }

    fn int(&mut self, nth: u64, min: i64, max: i64) -> i64 {
        let width = max.wrapping_sub(min).cast_unsigned();
        min.wrapping_add(self.between(nth, 0, width).cast_signed())
    }

    fn three(&mut self, nth: u64, min: u64, max: u64) -> Value {
        let holes = self.next();
        let mut values = [0, 1, 2].map(|i| (holes >> i & 1 == 1).then(|| self.between(nth + i / 2, min, max)));
        if values == [None; 3] {
            values = [Some(self.between(nth, min, max)); 3];
        }
        Value::PerDirection(values)
    }

    fn pick<'a, T>(&mut self, nth: u64, list: &'a [T]) -> &'a T {
        let at = if nth < list.len() as u64 { nth } else { self.next() % list.len() as u64 };
        &list[at as usize]
    }

    fn text(&mut self) -> String {
        const LETTERS: &[char] = &['a', 'Z', '0', '.', '-', '_', '/', '%', '$', '=', ',', 'é', '"', '*'];
        let length = 1 + self.next() % 12;
        (0..length).map(|_| *self.pick(u64::MAX, LETTERS)).collect()
    }

    fn workload(&mut self, nth: u64) -> Value {
        let random = self.next().is_multiple_of(2);
        let (reads, writes, trims) = *self.pick(
            nth,
            &[
                (true, false, false),
                (false, true, false),
                (false, false, true),
                (true, true, false),
                (false, true, true),
            ],
        );
        let modifier = match self.next() % 3 {
            0 => None,
            _ if random => Some(self.int(nth, 1, i64::MAX)),
            _ => Some(self.int(nth, i64::MIN, i64::MAX)),
        };
        Value::Workload(Workload { reads, writes, trims, random, modifier })
    }

    fn floats(&mut self, nth: u64, most: usize, above: f64, max: f64) -> Value {
        let precision = (self.next() % 4) as u32;
        let scale = 10f64.powi(precision as i32);
        let highest = (max * scale) as u64;
        let lowest = if above < 0.0 { 0 } else { (above * scale) as u64 + 1 };
        let count = if nth == 0 { most } else { 1 + (self.next() as usize) % most };
        let mut values: Vec<f64> =
            (0..count).map(|i| self.between(nth + i as u64, lowest.min(highest), highest) as f64 / scale).collect();
        values.sort_by(f64::total_cmp);
        Value::Floats(Percentiles { values, precision })
    }

    fn words(&mut self, nth: u64, choices: &[Choice]) -> String {
        let first = self.pick(nth, choices).word;
        match self.next() % 3 {
            0 => first.to_owned(),
            1 => format!("{first},{}", self.pick(u64::MAX, choices).word),
            _ => format!("{first}:{}", self.next()),
        }
    }

    /// The `nth` value of a kind; none for a kind without values.
    fn value(&mut self, kind: &Kind, nth: u64) -> Option<Value> {
        Some(match *kind {
            Kind::Flag | Kind::Bool => Value::Flag(nth.is_multiple_of(2)),
            Kind::Int { min, max } => Value::Int(self.int(nth, min, max)),
            Kind::Bytes { min, max } => Value::Bytes(self.between(nth, min, max)),
            Kind::PerDirection { min, max } => self.three(nth, min, max),
            Kind::PerDirectionTime(_) => self.three(nth, 0, u64::MAX),
            Kind::Share | Kind::Zones if nth.is_multiple_of(5) => {
                Value::Share(Size::Zones(self.between(nth, 0, u64::MAX)))
            }
            Kind::Share if nth.is_multiple_of(2) => Value::Share(Size::Percent(self.between(nth / 2, 0, 100) as u32)),
            Kind::Share | Kind::Zones => Value::Share(Size::Bytes(self.between(nth / 2, 0, u64::MAX))),
            Kind::Range { min } => {
                let low = self.between(nth, min, u64::MAX);
                Value::Range(low, self.between(nth, low, u64::MAX))
            }
            Kind::Time(_) => Value::Nanos(self.between(nth, 0, u64::MAX)),
            Kind::TimeRange(_) => {
                let low = self.between(nth, 0, u64::MAX);
                Value::NanosRange(low, self.between(nth, low, u64::MAX))
            }
            Kind::Choice(choices) => Value::Choice(self.pick(nth, choices).word),
            Kind::ChoiceWith(choices) => {
                let word = self.pick(nth, choices).word;
                let tail = if self.next().is_multiple_of(2) { ":1.2" } else { "" };
                Value::Text(format!("{word}{tail}"))
            }
            Kind::FileService(choices) => {
                let word = self.pick(nth, choices).word;
                Value::FileService(FileService::new(word, None).ok()?)
            }
            Kind::Words(choices) => Value::Text(self.words(nth, choices)),
            Kind::Workload => self.workload(nth),
            Kind::Text => Value::Text(self.text()),
            Kind::Names => {
                let count = 1 + self.next() % 4;
                Value::Names((0..count).map(|i| if i == 1 { "a:b".into() } else { self.text() }).collect())
            }
            Kind::Cpus => {
                let cpus: BTreeSet<u32> = (0..6).map(|i| self.between(nth + i, 0, 65_535) as u32).collect();
                Value::Cpus(cpus.into_iter().collect())
            }
            Kind::CpuMask => {
                let mask = self.between(nth, 0, u64::MAX);
                Value::Cpus((0..64).filter(|bit| mask >> bit & 1 == 1).collect())
            }
            Kind::Floats { most, above, max } => self.floats(nth, most, above, max),
            Kind::Numbers { most } => {
                let count = if nth == 0 { most } else { 1 + (self.next() as usize) % most };
                Value::Numbers((0..count).map(|i| self.between(nth + i as u64, 1, 1 << 50) as f64 / 8.0).collect())
            }
            Kind::Steady(choices) => {
                let word = self.pick(nth, choices).word;
                let limit = self.between(nth, 0, u64::MAX) as f64 / 1000.0;
                Value::Steady(SteadyCriterion::new(word, limit, self.next().is_multiple_of(2))?)
            }
            Kind::Ranges => Value::Ranges(self.directions(|draw| {
                let low = draw.between(nth, 1, u64::MAX);
                (low, draw.between(nth, low, u64::MAX))
            })),
            Kind::Split => Value::Split(self.directions(|draw| {
                let shares = draw.hundred().into_iter();
                shares.map(|percent| SizeShare { bytes: draw.between(nth, 1, u64::MAX), percent }).collect()
            })),
            Kind::Priorities => Value::Priorities(self.directions(|draw| {
                let part = |draw: &mut Draw, max| (draw.next() & 1 == 1).then(|| draw.between(nth, 0, max) as u16);
                let shares = draw.hundred().into_iter().enumerate();
                let one = |(at, percent): (usize, u32)| PriorityShare {
                    block_bytes: at as u64 + 1,
                    percent,
                    class: part(draw, 3),
                    level: part(draw, 7),
                    hint: part(draw, 1023),
                };
                shares.map(one).collect()
            })),
            Kind::Distribution(_) => Value::Distribution(self.distribution(nth)),
            Kind::Pattern { offsets } => Value::Pattern(self.pattern(nth, offsets)),
            Kind::Gone => return None,
        })
    }

    /// Something for each direction, with holes.
    fn directions<T: Clone>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> [Option<T>; 3] {
        let holes = self.next();
        let mut each = [0, 1, 2].map(|i| (holes >> i & 1 == 1).then(|| one(self)));
        if each.iter().all(Option::is_none) {
            let all = one(self);
            each = [Some(all.clone()), Some(all.clone()), Some(all)];
        }
        each
    }

    /// Up to four shares that add to 100.
    fn hundred(&mut self) -> Vec<u32> {
        let mut shares = Vec::new();
        let mut left = 100;
        for _ in 0..self.next() % 4 {
            shares.push(self.next() as u32 % (left + 1));
            left -= shares[shares.len() - 1];
        }
        shares.push(left);
        shares
    }

    fn zones(&mut self, nth: u64, absolute: bool) -> Vec<AccessZone> {
        let (percents, sizes) = (self.hundred(), self.hundred());
        let size = |draw: &mut Self, at: usize| match absolute {
            true => draw.between(nth, 0, u64::MAX),
            false => sizes.get(at).map_or(0, |size| u64::from(*size)),
        };
        percents
            .iter()
            .enumerate()
            .map(|(at, percent)| AccessZone { percent: *percent, size: size(self, at) })
            .collect()
    }

    fn distribution(&mut self, nth: u64) -> Distribution {
        let center = (self.next().is_multiple_of(2)).then(|| (self.next() % 1001) as f64 / 1000.0);
        match nth % 7 {
            0 => Distribution::Random,
            1 => Distribution::Zipf { theta: 0.01 + (self.next() % 90) as f64 / 100.0, center },
            2 => Distribution::Pareto { power: (1 + self.next() % 99) as f64 / 100.0, center },
            3 => Distribution::Normal { deviation: (self.next() % 1000) as f64 / 10.0, center },
            4 => Distribution::Zoned(self.directions(|draw| draw.zones(nth, false)).into()),
            5 => Distribution::ZonedAbs(self.directions(|draw| draw.zones(nth, true)).into()),
            _ => Distribution::Sequence((0..=self.next() % 64).map(|_| self.next()).collect()),
        }
    }

    fn pattern(&mut self, nth: u64, with_offsets: bool) -> Pattern {
        let mut pattern = Pattern::default();
        let wanted = self.between(nth, 1, Pattern::MOST_BYTES as u64) as usize;
        while pattern.bytes.len() < wanted {
            let room = wanted - pattern.bytes.len();
            if with_offsets && room >= Pattern::OFFSET_BYTES && self.next().is_multiple_of(4) {
                pattern.offsets.push(pattern.bytes.len());
                pattern.bytes.extend([0; Pattern::OFFSET_BYTES]);
            } else {
                pattern.bytes.push(self.next() as u8);
            }
        }
        pattern
    }
}

fn values(row: &OptionSpec) -> Vec<Value> {
    let mut draw = Draw(row.name.len() as u64);
    (0..DRAWS).filter_map(|nth| draw.value(&row.kind, nth)).collect()
}

fn parse(row: &OptionSpec, text: &str, kb_base: u32) -> Value {
    match grammar::parse(&row.kind, text, kb_base, Reading::Plain) {
        Ok((value, _)) => value,
        Err(fault) => panic!("{}={text}: {}", row.name, fault.message),
    }
}

#[test]
fn no_two_rows_share_a_name_in_one_engine() {
    let mut seen: BTreeMap<&str, Vec<&OptionSpec>> = BTreeMap::new();
    for row in all_options() {
        for name in row.names() {
            for other in seen.get(name).into_iter().flatten() {
                let overlap = row.engines.is_empty()
                    || other.engines.is_empty()
                    || row.engines.iter().any(|e| other.engines.contains(e));
                assert!(!overlap, "two rows are named {name}");
            }
            seen.entry(name).or_default().push(row);
        }
    }
    // Which of the two is meant, the value of `listen` says: `the_net_engine_keeps_its_own_listen`.
    for row in crate::TOOL_OPTIONS.iter().filter(|row| row.name != "listen") {
        assert!(!seen.contains_key(row.name), "{} is in both tables", row.name);
    }
}

#[test]
fn engines_of_rows_are_known() {
    for row in all_options() {
        for engine in row.engines {
            assert_eq!(crate::engines::resolve(engine), Some(*engine), "{}", row.name);
        }
    }
}

#[test]
fn every_row_is_documented() {
    for row in all_options() {
        assert!(!row.summary.is_empty() && !row.summary.ends_with('.'), "summary of {}", row.name);
        assert!(!row.doc.is_empty(), "doc of {}", row.name);
        assert!(row.kind.choices().iter().all(|c| !c.meaning.is_empty()), "choices of {}", row.name);
        assert!(!row.kind.describe().is_empty());
        if let Status::Differs(text) | Status::NoEffect(text) | Status::Refused { why: text, .. } = row.status {
            assert!(!text.is_empty() && !text.ends_with('.'), "status of {}", row.name);
        }
    }
}

#[test]
fn defaults_and_harmless_values_parse() {
    for row in all_options() {
        for text in row.default.iter().chain(row.harmless) {
            parse(row, text, 1024);
        }
    }
}

#[test]
fn the_default_is_what_a_draft_holds() {
    let draft = Draft::new();
    for row in all_options() {
        let (Some(get), Some(default)) = (row.get, row.default) else { continue };
        let Some(held) = get(&draft) else { continue };
        if row.name != "filename_format" {
            assert_eq!(held, parse(row, default, 1024), "{}", row.name);
        }
    }
}

#[test]
fn what_is_formatted_parses_to_the_same_value() {
    for row in all_options() {
        for value in values(row) {
            let text = row.kind.format(&value);
            for kb_base in [1024, 1000] {
                assert_eq!(parse(row, &text, kb_base), value, "{}={text}", row.name);
            }
        }
    }
}

/// Rows whose getter cannot give back exactly what was set, and why.
const LOSSY: &[&str] = &[
    "ioengine",  // unknown names are refused before, other names of an engine are resolved
    "bs",        // a list with holes leaves what was
    "rate",      // a rate of 0 is none, holes leave what was
    "rate_iops", // as rate
    "rate_min",  // as rate
    "rate_iops_min",
    "max_latency",
    "latency_percentile",   // trailing zeros are not kept
    "nonvectored",          // -1 is the engine's choice
    "sim_sigma",            // kept in thousandths
    "sync_file_range",      // the order of the words is not kept
    "zone_reset_threshold", // trailing zeros are not kept
    "zone_reset_frequency",
    "spr_op",
    "fdp", // off leaves another means as it is
];

#[test]
fn a_setter_and_its_getter_agree() {
    for row in all_options() {
        let (Some(set), Some(get)) = (row.set, row.get) else { continue };
        for value in values(row) {
            let mut draft = Draft::new();
            set(&mut draft, value.clone());
            let Some(held) = get(&draft) else { continue };
            if !LOSSY.contains(&row.name) && !matches!(value, Value::Choice(_)) {
                assert_eq!(held, value, "{}", row.name);
            }
            let mut again = draft.clone();
            set(&mut again, held);
            assert_eq!(again, draft, "{}: setting what was read back changes nothing", row.name);
        }
    }
}

/// Rows that mean one thing, or of which one speaks for others.
const TOGETHER: &[(&str, &str)] = &[
    ("direct", "buffered"),
    ("rwmixread", "rwmixwrite"),
    ("fdp", "dataplacement"),
    ("cpus_allowed", "cpumask"),
    ("gtod_reduce", "disable_lat"),
    ("gtod_reduce", "disable_clat"),
    ("gtod_reduce", "disable_slat"),
    ("gtod_reduce", "disable_bw_measurement"),
    ("gtod_reduce", "clat_percentiles"),
];

#[test]
fn a_setter_changes_its_own_option_and_no_other() {
    let fresh = Draft::new();
    for row in all_options() {
        let Some(set) = row.set else { continue };
        let mut changed = row.name == "random_generator" || row.name == "ioengine";
        for value in values(row).into_iter().take(16) {
            let mut draft = Draft::new();
            set(&mut draft, value);
            changed |= draft != fresh;
            for other in all_options().filter(|o| o.name != row.name) {
                let tied = TOGETHER.iter().any(|(a, b)| {
                    (*a == row.name && *b == other.name) || (*b == row.name && *a == other.name && *a != "gtod_reduce")
                });
                if let Some(get) = other.get.filter(|_| !tied) {
                    assert_eq!(get(&draft), get(&fresh), "{} changes {}", row.name, other.name);
                }
            }
        }
        assert!(changed, "{} changes nothing", row.name);
    }
}

#[test]
fn what_is_carried_out_has_a_setter_and_what_is_not_has_none() {
    for row in all_options() {
        let carried_out = matches!(row.status, Status::Same | Status::Differs(_) | Status::Ours);
        assert_eq!(carried_out, row.set.is_some(), "{}", row.name);
        assert_eq!(row.set.is_some(), row.get.is_some(), "{}", row.name);
        assert!(
            !carried_out || row.harmless.is_empty(),
            "{}: harmless values are for options not carried out",
            row.name
        );
    }
}

/// The options that most job files use.
const MOST_USED: &[&str] = &[
    "name",
    "description",
    "numjobs",
    "thread",
    "stonewall",
    "new_group",
    "group_reporting",
    "startdelay",
    "exitall",
    "cpus_allowed",
    "cpus_allowed_policy",
    "filename",
    "directory",
    "filename_format",
    "nrfiles",
    "openfiles",
    "file_service_type",
    "filesize",
    "size",
    "io_size",
    "offset",
    "offset_increment",
    "number_ios",
    "fallocate",
    "overwrite",
    "create_serialize",
    "create_on_open",
    "create_only",
    "allow_file_create",
    "unlink",
    "invalidate",
    "direct",
    "buffered",
    "sync",
    "fsync",
    "fdatasync",
    "end_fsync",
    "rw",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "rwmixread",
    "rwmixwrite",
    "percentage_random",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "norandommap",
    "loops",
    "ioengine",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete_min",
    "iodepth_low",
    "runtime",
    "time_based",
    "ramp_time",
    "steadystate",
    "rate",
    "rate_iops",
    "thinktime",
    "mem",
    "zero_buffers",
    "refill_buffers",
    "scramble_buffers",
    "buffer_pattern",
    "buffer_compress_percentage",
    "buffer_compress_chunk",
    "dedupe_percentage",
    "verify",
    "do_verify",
    "verify_pattern",
    "verify_fatal",
    "verify_dump",
    "verify_backlog",
    "write_iolog",
    "read_iolog",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "clat_percentiles",
    "lat_percentiles",
    "percentile_list",
    "disk_util",
    "gtod_reduce",
    "disable_slat",
    "kb_base",
    "unit_base",
    "continue_on_error",
];

#[test]
fn the_most_used_options_all_have_a_row() {
    for name in MOST_USED {
        assert!(all_options().any(|row| row.name == *name), "{name} has no row");
    }
}
