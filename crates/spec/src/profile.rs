//! Canned workloads (`--profile`): a table of their own options, and the plain jobs that they stand for. What the jobs
//! are was found by letting fio 3.33 say which options it applies (`--debug=parse`).

use std::rc::Rc;

use crate::api::Host;
use crate::grammar::{self, Reading};
use crate::report::Report;
use crate::value::{Kind, TimeUnit, Value};
use crate::words::{Section, Spot, Word};

/// An option that only a profile has.
pub(crate) struct ProfileOption {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) summary: &'static str,
    /// What holds when it is not given; empty: nothing.
    default: &'static str,
}

/// A canned workload.
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    pub(crate) options: &'static [ProfileOption],
    jobs: fn(&Given<'_>) -> Result<Vec<JobWords>, String>,
}

/// A section's name (the first is `global`), and its options.
type JobWords = (String, Vec<(&'static str, String)>);

/// What a profile's options were given as.
struct Given<'a> {
    values: Vec<(&'static str, Value)>,
    host: &'a Host,
}

impl Given<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> &str {
        if let Some(Value::Text(text)) = self.value(name) { text } else { "" }
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Int(number)) => (*number).try_into().unwrap_or(0),
            Some(Value::Bytes(number) | Value::Nanos(number)) => *number,
            _ => 0,
        }
    }

    fn on(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Flag(true))
    }
}

const fn option(name: &'static str, kind: Kind, default: &'static str, summary: &'static str) -> ProfileOption {
    ProfileOption { name, kind, summary, default }
}

const MOST: i64 = u32::MAX as i64;
const POSITIVE: Kind = Kind::Int { min: 1, max: MOST };

/// All of them.
pub(crate) static PROFILES: &[Profile] = &[
    Profile {
        name: "tiobench",
        options: &[
            option("size", Kind::Text, "", "size of the files together: MiB, or with a unit"),
            option("block", Kind::Bytes { min: 1, max: 1 << 30 }, "4096", "block size"),
            option("numruns", POSITIVE, "1", "how many times each pass is made"),
            option("dir", Kind::Text, "./", "folder of the files"),
            option("threads", POSITIVE, "1", "clones of each job"),
        ],
        jobs: tiobench,
    },
    Profile {
        name: "act",
        options: &[
            option("device-names", Kind::Text, "", "devices, with commas between"),
            option("load", Kind::Int { min: 0, max: 1 << 20 }, "1", "multiple of the base load"),
            option("test-duration", Kind::Time(TimeUnit::Seconds), "24h", "how long it runs"),
            option("threads-per-queue", POSITIVE, "8", "threads that read, per device"),
            option("read-req-num-512-blocks", POSITIVE, "3", "length of a read, in 512 bytes"),
            option(
                "large-block-op-kbytes",
                Kind::Bytes { min: 512, max: 1 << 30 },
                "131072",
                "length of a write: bytes, whatever its name says",
            ),
            option("prep", Kind::Flag, "0", "fill the devices first, instead of the test"),
        ],
        jobs: act,
    },
];

/// The profile of this name.
pub(crate) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

fn words<const N: usize>(pairs: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    pairs.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// Four passes over four files: written and read, in order and at random.
fn tiobench(given: &Given<'_>) -> Result<Vec<JobWords>, String> {
    /// Without a size fio takes so many bytes for each MiB of memory.
    const BYTES_PER_MIB: u64 = 4096;
    let size = given.text("size").trim();
    let size = match size.parse::<u64>() {
        Ok(mib) => format!("{mib}m"),
        Err(_) if size.is_empty() => ((given.host.memory_bytes >> 20) * BYTES_PER_MIB).to_string(),
        Err(_) => size.to_owned(),
    };
    let mut global = words([
        ("direct", "1"),
        ("size", &size),
        ("bs", &given.number("block").to_string()),
        ("loops", &given.number("numruns").to_string()),
        ("directory", given.text("dir")),
        ("numjobs", &given.number("threads").to_string()),
        ("runtime", "600"),
        ("overwrite", "1"),
        ("filename", ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4"),
        ("ioengine", "sync"),
    ]);
    global.push(("thread", String::from("1")));
    Ok(vec![
        ("global".into(), global),
        ("seqwrite".into(), words([("rw", "write"), ("end_fsync", "1")])),
        ("randwrite".into(), words([("stonewall", "1"), ("rw", "randwrite"), ("end_fsync", "1")])),
        ("seqread".into(), words([("stonewall", "1"), ("rw", "read")])),
        ("randread".into(), words([("stonewall", "1"), ("rw", "randread")])),
    ])
}

/// The load of a database on its devices: small reads and large writes, at a rate.
fn act(given: &Given<'_>) -> Result<Vec<JobWords>, String> {
    /// Per device and multiple of the load.
    const READS_PER_SECOND: u64 = 2000;
    const RECORDS_WRITTEN_PER_SECOND: u64 = 1000;
    let devices: Vec<&str> = given.text("device-names").split(',').filter(|name| !name.is_empty()).collect();
    if devices.is_empty() {
        return Err("`act` needs devices: give --device-names=DEVICE,…".into());
    }
    let mut global =
        words([("direct", "1"), ("ioengine", "sync"), ("random_generator", "lfsr"), ("group_reporting", "1")]);
    global.push(("thread", String::from("1")));
    if given.on("prep") {
        let jobs = devices.iter().flat_map(|device| {
            let zeroes = words([("filename", device), ("bs", "1m"), ("zero_buffers", "1"), ("rw", "write")]);
            let more = [("bs", "4096"), ("ioengine", "libaio"), ("iodepth", "64"), ("rw", "randwrite")];
            let salt = [words([("stonewall", "1"), ("filename", device)]), words(more)].concat();
            [(format!("act-prep-zeroes-{device}"), zeroes), (format!("act-prep-salt-{device}"), salt)]
        });
        return Ok(std::iter::once(("global".into(), global)).chain(jobs).collect());
    }
    let (load, threads) = (given.number("load"), given.number("threads-per-queue"));
    let (read_bytes, write_bytes) =
        (given.number("read-req-num-512-blocks") * 512, given.number("large-block-op-kbytes"));
    let records = write_bytes / read_bytes;
    if records == 0 {
        return Err(format!("a write of {write_bytes} bytes is shorter than a read of {read_bytes}"));
    }
    let duration_ms = (given.number("test-duration") / 1_000_000).to_string();
    global.extend([("runtime", format!("{duration_ms}ms")), ("time_based", String::from("1"))]);
    let per_thread = (load * READS_PER_SECOND / threads).to_string();
    let writes = (load * RECORDS_WRITTEN_PER_SECOND).div_ceil(records).to_string();
    let jobs = devices.iter().flat_map(|device| {
        let common = |rw, bytes: u64| words([("filename", device), ("rw", rw), ("bs", &bytes.to_string())]);
        let paced = |rate: &str| if rate == "0" { Vec::new() } else { words([("rate_iops", rate)]) };
        let clones = words([("numjobs", &threads.to_string())]);
        let reads = [common("randread", read_bytes), clones, paced(&per_thread)].concat();
        let writes = [common("randwrite", write_bytes), paced(&writes)].concat();
        [(format!("act-read-{device}"), reads), (format!("act-write-{device}"), writes)]
    });
    Ok(std::iter::once(("global".into(), global)).chain(jobs).collect())
}

/// The sections that a profile stands for. `asked_at` is where it was asked for, `words` are its own options.
pub(crate) fn sections(
    profile: &Profile,
    asked_at: &Spot,
    words: &[Word],
    host: &Host,
    report: &mut Report,
) -> Vec<Section> {
    let mut given = Given { values: Vec::new(), host };
    for option in profile.options {
        let word = words.iter().rfind(|word| word.name == option.name);
        let text = word.map_or(option.default, |word| word.value.as_deref().unwrap_or("1"));
        if text.is_empty() {
            continue;
        }
        match grammar::parse(&option.kind, text, 1024, Reading::Plain) {
            Ok((value, _)) => given.values.push((option.name, value)),
            Err(fault) => {
                let spot = word.map_or_else(|| asked_at.clone(), |word| word.place_in_value(&fault.span));
                report.error(&spot, format!("`{}`: {}", option.name, fault.message), fault.help);
                return Vec::new();
            }
        }
    }
    let jobs = (profile.jobs)(&given).unwrap_or_else(|message| {
        report.error(asked_at, message, None);
        Vec::new()
    });
    jobs.into_iter().map(|(name, words)| section(name, words, asked_at)).collect()
}

fn section(name: String, words: Vec<(&'static str, String)>, asked_at: &Spot) -> Section {
    let spot = || Spot { line: Rc::clone(&asked_at.line), span: asked_at.span.clone() };
    let word = |(name, value): (&str, String)| Word {
        name: name.to_owned(),
        name_spot: spot(),
        value: Some(value),
        value_spot: spot(),
        uncut: None,
        verbatim: false,
    };
    Section { name, spot: spot(), words: words.into_iter().map(word).collect() }
}
