//! The kinds of value that options take, and the values themselves.

use crate::job::{
    AccessZone, Distribution, FileService, Pattern, PerDirection, Percentiles, PriorityShare, Size, SizeShare,
    SteadyCriterion, Workload,
};

/// One word that a choice accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word as typed.
    pub word: &'static str,
    /// What it selects, in a few words.
    pub meaning: &'static str,
}

/// The unit of a time that has none written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
}

/// The grammar of an option's value, with its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A bare name, or `0`/`1`.
    Flag,
    /// `0` or `1`.
    Bool,
    /// A whole number; size suffixes are understood.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// Bytes.
    Bytes {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// Up to three numbers for reads, writes and trims, with commas between.
    PerDirection {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// Bytes, a percentage of the file or device, or a number of its zones.
    Share,
    /// Bytes, or a number of zones.
    Zones,
    /// `low-high` in bytes, or one number for both.
    Range {
        /// Smallest value.
        min: u64,
    },
    /// A time.
    Time(TimeUnit),
    /// A time or a range of times.
    TimeRange(TimeUnit),
    /// Up to three times.
    PerDirectionTime(TimeUnit),
    /// One of some words.
    Choice(&'static [Choice]),
    /// One of some words, after which a colon and parameters may follow.
    ChoiceWith(&'static [Choice]),
    /// One of some words, after which a colon and a number may follow: `zipf:1.2`, `roundrobin:8`.
    FileService(&'static [Choice]),
    /// Some of some words, with commas between; a colon and a number may follow.
    Words(&'static [Choice]),
    /// A data direction pattern, `rw=`.
    Workload,
    /// Any text.
    Text,
    /// Names with colons between; `\:` is a colon in a name.
    Names,
    /// CPU numbers and ranges: `0,2-5`.
    Cpus,
    /// CPUs as a bit mask.
    CpuMask,
    /// Decimal numbers with colons between.
    Floats {
        /// How many there may be.
        most: usize,
        /// All are above this.
        above: f64,
        /// All are at most this.
        max: f64,
    },
    /// Decimal numbers above 0 with colons between, in an order that counts.
    Numbers {
        /// How many there may be.
        most: usize,
    },
    /// One of some words, a colon and a limit, perhaps in percent: `iops_slope:0.3%`.
    Steady(&'static [Choice]),
    /// `low-high` for each direction.
    Ranges,
    /// `size/percent:…` for each direction.
    Split,
    /// `size/percent/class/level/hint:…` for reads and writes, the last three optional.
    Priorities,
    /// A law of random offsets: one of some words, after which a colon and parameters may follow.
    Distribution(&'static [Choice]),
    /// Bytes that repeat: `"text"`, `'file'`, numbers, one after the other.
    Pattern {
        /// Whether `%o`, the offset of the block, may stand in it.
        offsets: bool,
    },
    /// No value is right: the option is gone.
    Gone,
}

/// A value, typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// Bytes.
    Bytes(u64),
    /// What was given for reads, writes and trims.
    PerDirection([Option<u64>; 3]),
    /// Bytes, percent or zones.
    Share(Size),
    /// From, to.
    Range(u64, u64),
    /// Nanoseconds.
    Nanos(u64),
    /// Nanoseconds from, to.
    NanosRange(u64, u64),
    /// The word chosen.
    Choice(&'static str),
    /// A pattern.
    Workload(Workload),
    /// Text as written.
    Text(String),
    /// Names.
    Names(Vec<String>),
    /// CPU numbers, ascending.
    Cpus(Vec<u32>),
    /// Numbers, ascending, and the most decimals that any had.
    Floats(Percentiles),
    /// Numbers in the order given.
    Numbers(Vec<f64>),
    /// Bytes that repeat.
    Pattern(Pattern),
    /// Which file comes next.
    FileService(FileService),
    /// What steady state is judged by.
    Steady(SteadyCriterion),
    /// Ranges of block sizes for reads, writes and trims.
    Ranges([Option<(u64, u64)>; 3]),
    /// Block sizes and their shares for reads, writes and trims.
    Split([Option<Vec<SizeShare>>; 3]),
    /// Priorities of I/Os by size and share, for reads, writes and trims.
    Priorities([Option<Vec<PriorityShare>>; 3]),
    /// A law of random offsets.
    Distribution(Distribution),
}

impl Value {
    /// One number as the list that a row of numbers takes, with as many decimals as it needs.
    pub(crate) fn number(value: f64) -> Value {
        let text = value.to_string();
        let precision = text.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
        Value::Floats(Percentiles { values: vec![value], precision })
    }
}

const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

fn nanos_text(nanos: u64) -> String {
    if nanos.is_multiple_of(NANOS_PER_SECOND) {
        format!("{}s", nanos / NANOS_PER_SECOND)
    } else if nanos.is_multiple_of(NANOS_PER_MICRO) {
        format!("{}us", nanos / NANOS_PER_MICRO)
    } else {
        format!("{nanos}ns")
    }
}

/// The shortest list that reads back as `values`: one for all, two whose second serves trims too, or all three.
fn three_text<T: PartialEq>(values: &[Option<T>; 3], one: impl Fn(&T) -> String) -> String {
    let texts = values.each_ref().map(|v| v.as_ref().map(&one).unwrap_or_default());
    match values {
        [Some(a), Some(b), Some(c)] if a == b && b == c => one(a),
        [_, Some(b), Some(c)] if b == c => texts[..2].join(","),
        _ => texts.join(","),
    }
}

fn shares_text(shares: &[SizeShare]) -> String {
    shares.iter().map(|s| format!("{}/{}", s.bytes, s.percent)).collect::<Vec<_>>().join(":")
}

fn zones_text(zones: &PerDirection<Option<Vec<AccessZone>>>) -> String {
    let one =
        |list: &Vec<AccessZone>| list.iter().map(|z| format!("{}/{}", z.percent, z.size)).collect::<Vec<_>>().join(":");
    three_text(&[zones.read.clone(), zones.write.clone(), zones.trim.clone()], one)
}

fn distribution_text(law: &Distribution) -> String {
    let centered = |word: &str, parameter: f64, center: Option<f64>| {
        let center = center.map(|c| format!(":{c}")).unwrap_or_default();
        format!("{word}:{parameter}{center}")
    };
    match law {
        Distribution::Random => "random".into(),
        Distribution::Zipf { theta, center } => centered("zipf", *theta, *center),
        Distribution::Pareto { power, center } => centered("pareto", *power, *center),
        Distribution::Normal { deviation, center } => centered("normal", *deviation, *center),
        Distribution::Zoned(zones) => format!("zoned:{}", zones_text(zones)),
        Distribution::ZonedAbs(zones) => format!("zoned_abs:{}", zones_text(zones)),
        Distribution::Sequence(blocks) => {
            format!("sequence:{}", blocks.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
        }
    }
}

/// The word for a pattern, without its modifier.
pub(crate) fn workload_word(w: &Workload) -> &'static str {
    match (w.reads, w.writes, w.trims, w.random) {
        (true, true, _, false) => "rw",
        (true, true, _, true) => "randrw",
        (false, true, true, false) => "trimwrite",
        (false, true, true, true) => "randtrimwrite",
        (true, _, _, false) => "read",
        (true, _, _, true) => "randread",
        (_, true, _, false) => "write",
        (_, true, _, true) => "randwrite",
        (_, _, _, false) => "trim",
        (_, _, _, true) => "randtrim",
    }
}

fn names_text(names: &[String]) -> String {
    names.iter().map(|n| n.replace(':', "\\:")).collect::<Vec<_>>().join(":")
}

/// Hexadecimal numbers, which are taken byte by byte, and `%o` where an offset stands.
fn pattern_text(pattern: &Pattern) -> String {
    let mut text = String::new();
    let mut at = 0;
    let ends = pattern.offsets.iter().copied().chain([pattern.bytes.len()]);
    for end in ends {
        if at < end {
            text.push_str("0x");
            text.extend(pattern.bytes[at..end].iter().map(|byte| format!("{byte:02x}")));
        }
        if end < pattern.bytes.len() {
            text.push_str("%o");
        }
        at = end + Pattern::OFFSET_BYTES;
    }
    text
}

fn priorities_text(shares: &[PriorityShare]) -> String {
    let one = |share: &PriorityShare| {
        let parts = [share.class, share.level, share.hint].map(|part| part.map(|n| n.to_string()).unwrap_or_default());
        let text = format!("{}/{}/{}", share.block_bytes, share.percent, parts.join("/"));
        text.trim_end_matches('/').to_owned()
    };
    shares.iter().map(one).collect::<Vec<_>>().join(":")
}

fn cpus_text(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Kind {
    /// Whether its numbers are amounts with units that `kb_base` decides on.
    pub(crate) fn is_size(&self) -> bool {
        match self {
            Kind::Share | Kind::Bytes { .. } | Kind::Range { .. } | Kind::Ranges | Kind::Split => true,
            Kind::Priorities => true,
            // Lists with a low limit are rates of I/Os and percentages.
            Kind::PerDirection { max, .. } => *max > u64::from(u32::MAX),
            _ => false,
        }
    }

    /// The value as text that parses to the same value, whatever `kb_base` is.
    pub fn format(&self, value: &Value) -> String {
        match value {
            Value::Flag(on) => u8::from(*on).to_string(),
            Value::Int(n) => n.to_string(),
            Value::Bytes(n) => n.to_string(),
            Value::PerDirection(three) if matches!(self, Kind::PerDirectionTime(_)) => {
                three_text(three, |n| nanos_text(*n))
            }
            Value::PerDirection(three) => three_text(three, u64::to_string),
            Value::Share(Size::Bytes(n)) => n.to_string(),
            Value::Share(Size::Percent(p)) => format!("{p}%"),
            Value::Share(Size::Zones(n)) => format!("{n}z"),
            Value::Range(low, high) if low == high => low.to_string(),
            Value::Range(low, high) => format!("{low}-{high}"),
            Value::Nanos(n) => nanos_text(*n),
            Value::NanosRange(low, high) if low == high => nanos_text(*low),
            Value::NanosRange(low, high) => format!("{}-{}", nanos_text(*low), nanos_text(*high)),
            Value::Choice(word) => (*word).to_owned(),
            Value::Workload(w) => match w.modifier {
                Some(n) => format!("{}:{n}", workload_word(w)),
                None => workload_word(w).to_owned(),
            },
            Value::Text(text) => text.clone(),
            Value::Names(names) => names_text(names),
            Value::Cpus(cpus) if matches!(self, Kind::CpuMask) => {
                cpus.iter().fold(0u64, |mask, cpu| mask | 1u64.checked_shl(*cpu).unwrap_or(0)).to_string()
            }
            Value::Cpus(cpus) => cpus_text(cpus),
            Value::FileService(service) => service.text(),
            Value::Steady(criterion) => {
                let percent = if criterion.percent { "%" } else { "" };
                format!("{}:{}{percent}", criterion.word(), criterion.limit)
            }
            Value::Floats(list) => {
                let texts: Vec<String> =
                    list.values.iter().map(|v| format!("{v:.*}", list.precision as usize)).collect();
                texts.join(":")
            }
            Value::Numbers(list) => list.iter().map(f64::to_string).collect::<Vec<_>>().join(":"),
            Value::Pattern(pattern) => pattern_text(pattern),
            Value::Ranges(three) => three_text(three, |(low, high)| format!("{low}-{high}")),
            Value::Split(three) => three_text(three, |shares| shares_text(shares)),
            Value::Priorities(three) => three_text(three, |shares| priorities_text(shares)),
            Value::Distribution(law) => distribution_text(law),
        }
    }

    /// What the value looks like, for `--cmdhelp` and the reference.
    pub fn describe(&self) -> String {
        match self {
            Kind::Flag => "empty or boolean value ([0|1])".into(),
            Kind::Bool => "boolean value (opt=1)".into(),
            Kind::Int { .. } => "integer value (opt=100)".into(),
            Kind::Bytes { .. } => "integer value with size suffix (opt=16k)".into(),
            Kind::PerDirection { .. } => "integer values for read,write,trim (opt=4k,8k,16k)".into(),
            Kind::Share => "integer value with size suffix, a percentage, or zones (opt=1g, opt=50%, opt=4z)".into(),
            Kind::Zones => "integer value with size suffix, or zones (opt=1m, opt=4z)".into(),
            Kind::Range { .. } => "integer range (opt=1k-4k)".into(),
            Kind::Time(_) => "time with unit us, ms, s, m, h or d (opt=10s)".into(),
            Kind::TimeRange(_) => "time or range of times (opt=1s-5s)".into(),
            Kind::PerDirectionTime(_) => "times for read,write,trim (opt=10ms,20ms)".into(),
            Kind::Choice(_) | Kind::Workload => "one word of a list (opt=bla)".into(),
            Kind::ChoiceWith(_) | Kind::Distribution(_) | Kind::FileService(_) => {
                "one word of a list, parameters after a colon (opt=bla:1)".into()
            }
            Kind::Words(_) => "words of a list, with commas between (opt=foo,bar)".into(),
            Kind::Text => "text (opt=bla)".into(),
            Kind::Names => "names with colons between (opt=a:b)".into(),
            Kind::Cpus => "CPU numbers and ranges (opt=0,2-5)".into(),
            Kind::CpuMask => "integer value, one bit per CPU (opt=3)".into(),
            Kind::Floats { .. } | Kind::Numbers { .. } => {
                "list of floating point values separated by ':' (opt=5.9:7.8)".into()
            }
            Kind::Steady(_) => "word of a list, a colon and a limit (opt=bla:0.5%)".into(),
            Kind::Ranges => "ranges for read,write,trim (opt=1k-4k,8k-32k)".into(),
            Kind::Split => "sizes with percentages (opt=4k/60:8k/40)".into(),
            Kind::Priorities => "sizes with percentages and priorities (opt=4k/30/1/0:8k/50)".into(),
            Kind::Pattern { offsets: false } => {
                "text in double quotes, file in single quotes, numbers (opt=\"ab\"0xff)".into()
            }
            Kind::Pattern { offsets: true } => {
                "text in double quotes, file in single quotes, numbers, %o (opt=\"ab\"0xff%o)".into()
            }
            Kind::Gone => "none: the option is gone".into(),
        }
    }

    /// Limits in words, for kinds that have them.
    pub fn limits(&self) -> Option<String> {
        match self {
            Kind::Int { min, max } => {
                let low = if *min == i64::MIN { String::new() } else { format!("min={min}") };
                let high = if *max >= i64::from(u32::MAX) { String::new() } else { format!("max={max}") };
                let both = [low, high].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
                (!both.is_empty()).then_some(both)
            }
            Kind::Bytes { min, .. } | Kind::PerDirection { min, .. } | Kind::Range { min } if *min > 0 => {
                Some(format!("min={min}"))
            }
            Kind::Floats { most, above, max } => Some(format!("at most {most}, each above {above} and up to {max}")),
            Kind::Numbers { most } => Some(format!("at most {most}, each above 0")),
            Kind::Share => Some("percentage: min=0, max=100".into()),
            _ => None,
        }
    }

    /// The words that are valid, if the kind has a list.
    pub fn choices(&self) -> &'static [Choice] {
        match self {
            Kind::Choice(list)
            | Kind::ChoiceWith(list)
            | Kind::Distribution(list)
            | Kind::FileService(list)
            | Kind::Words(list)
            | Kind::Steady(list) => list,
            Kind::Workload => crate::options::shape::WORKLOADS,
            _ => &[],
        }
    }
}
