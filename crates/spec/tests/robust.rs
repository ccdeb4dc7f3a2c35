//! No input makes the parser panic or take long.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use iostrata_spec::table::all_options;
use iostrata_spec::{Host, Source, TOOL_OPTIONS, parse_command_line, render_diagnostics};
use proptest::prelude::*;

/// No input may take longer.
const LONGEST: Duration = Duration::from_secs(1);

const HOST: Host = Host { page_size: 4096, cpus: 2, memory_bytes: 1 << 30, macos: false };

/// Every file has the same text, so includes never end by themselves.
struct Everywhere(Vec<u8>);

impl Source for Everywhere {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }

    fn env(&self, name: &str) -> Option<String> {
        (name.len() % 2 == 1).then(|| "${X} = 4k".to_owned())
    }

    fn exists(&self, path: &Path) -> bool {
        path.as_os_str().len() % 2 == 1
    }
}

fn go(args: &[String], file: &[u8]) {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let list = match parse_command_line(&args, &HOST, &Everywhere(file.to_vec())) {
        Ok(invocation) => invocation.diagnostics,
        Err(list) => list,
    };
    render_diagnostics(&list, false);
    render_diagnostics(&list, true);
}

/// Names of options, whole and in pieces.
fn name() -> impl Strategy<Value = String> {
    let rows = all_options().flat_map(|row| row.names()).chain(TOOL_OPTIONS.iter().map(|row| row.name));
    let names: Vec<String> = rows.map(str::to_owned).collect();
    (prop::sample::select(names), 0usize..24).prop_map(|(name, cut)| match cut {
        0..4 => name.chars().take(cut + 1).collect(),
        _ => name,
    })
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,4}([kmgtKMG]|ib|%|z|s|ms|us|m|h|sec)?",
        2 => "[-0-9a-z,:.()+*/^%\\\\ ]{0,16}",
        1 => "\\(+[-0-9km+*/^%() ]{0,12}\\)*",
        1 => "\\PC{0,12}",
        1 => Just("$pagesize*2".to_owned()),
        1 => Just("${ODD}${open".to_owned()),
        1 => prop::sample::select(vec!["read", "randrw", "io_uring", "psync", "1", "0"]).prop_map(String::from),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (name(), prop::sample::select(vec!["=", " = ", "= ", ""]), value())
            .prop_map(|(n, e, v)| format!("{n}{e}{v}")),
        2 => "\\[[ a-z\\]]{0,6}\\]?",
        1 => Just("include x".to_owned()),
        1 => "\\PC{0,20}",
        1 => "[\\t\\r;#=$\\[\\]{} ]{0,8}",
    ]
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (name(), value()).prop_map(|(n, v)| format!("--{n}={v}")),
        2 => name().prop_map(|n| format!("-{n}")),
        1 => value(),
        1 => Just("file.fio".to_owned()),
        1 => "-{0,3}\\PC{0,10}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_command_line(args in prop::collection::vec(argument(), 0..10)) {
        go(&args, b"[j]\nbs=4k\n");
    }

    #[test]
    fn any_job_file(lines in prop::collection::vec(line(), 0..12)) {
        go(&["x.fio".to_owned()], lines.join("\n").as_bytes());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        go(&["x.fio".to_owned()], &bytes);
    }
}

#[test]
fn long_and_deep_inputs_end() {
    let mut bombs = vec![
        format!("[j]\ncpus_allowed={}0\n", "0-65535,".repeat(4000)),
        format!("[j]\nsize={}1\n", "-".repeat(100_000)),
        format!("[j]\nsize=({}1\n", "1+".repeat(50_000)),
        format!("[j]\nsize={}\n", "9".repeat(100_000)),
        format!("[j]\nbs=1.{}k\n", "3".repeat(100_000)),
        format!("[j]\nfilename={}\n", ":".repeat(100_000)),
        format!("[j]\n{}", "qwertz=1\n".repeat(5_000)),
        format!("[j]\n{}", "bs = 4.5k\n".repeat(5_000)),
        "[j]\n".repeat(5_000),
        "include x\n".repeat(500),
    ];
    bombs.push(format!("[j]\n{}", "include x\n".repeat(500)));
    for bomb in bombs {
        go(&["x.fio".to_owned()], bomb.as_bytes());
    }
    let long: Vec<String> = (0..2_000).map(|n| format!("--nonsense{n}=4.5k")).collect();
    go(&long, b"");
}

/// Inputs that once were interesting, and every job file of the corpus.
fn kept() -> Vec<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/kept"), here.join("../../tests/corpus")];
    let mut files: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "fio"))
        .collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// splitmix64: a fixed sequence for a seed, so that a failure repeats.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

/// Pieces that the language gives a meaning.
const PIECES: &[&[u8]] = &[
    b"=",
    b"\n",
    b"[",
    b"]",
    b"[global]",
    b":",
    b",",
    b"/",
    b"%",
    b"-",
    b"(",
    b")",
    b"${",
    b"}",
    b"$ncpus",
    b"#",
    b";",
    b"0x",
    b"99999999999999999999",
    b"'",
    b"\"",
    b"\\",
    b" ",
    b"\xff",
    b"\0",
    b"include x\n",
    b"k",
    b"Gi",
    b"%o",
    b".",
    b"bssplit=4k/",
    b"random_distribution=zoned:",
    b"verify_pattern=",
    b"kb_base=1000\n",
    b"\xc3\xa9",
];

/// A few changes to `text`: bytes removed, doubled, changed, pieces put in, a part of another input.
fn changed(text: &[u8], others: &[Vec<u8>], draw: &mut Draw) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=draw.below(6) {
        let from = draw.below(text.len() + 1);
        let to = (from + draw.below(12)).min(text.len());
        match draw.below(5) {
            0 => drop(text.drain(from..to)),
            1 => drop(text.splice(from..from, text[from..to].to_vec())),
            2 => text.iter_mut().skip(from).take(1).for_each(|byte| *byte = draw.below(256) as u8),
            3 => drop(text.splice(from..from, PIECES[draw.below(PIECES.len())].iter().copied())),
            _ => {
                let other = &others[draw.below(others.len())];
                let start = draw.below(other.len() + 1);
                let end = (start + draw.below(64)).min(other.len());
                drop(text.splice(from..to, other[start..end].iter().copied()));
            }
        }
    }
    text
}

/// What this thread has used of the CPU.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// A number from the environment: the soak gives each round another seed, and more rounds.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn changed_inputs_of_the_kept_corpus_neither_panic_nor_take_long() {
    let kept = kept();
    assert!(kept.len() > 60);
    let seed = number("IOSTRATA_FUZZ_SEED", 1);
    let rounds = number("IOSTRATA_FUZZ_ROUNDS", 100);
    let mut draw = Draw(seed);
    for round in 0..rounds + kept.len() as u64 {
        let text = match kept.get(round as usize) {
            Some(text) => text.clone(),
            None => changed(&kept[draw.below(kept.len())], &kept, &mut draw),
        };
        // As a job file, and its lines as the arguments of a command line.
        let shown = String::from_utf8_lossy(&text).into_owned();
        let words: Vec<String> = shown.lines().map(|line| format!("--{line}")).collect();
        let started = cpu_time();
        let ended = std::panic::catch_unwind(|| {
            go(&["x.fio".to_owned()], &text);
            go(&words, b"[j]\nbs=4k\n");
        });
        let took = cpu_time().saturating_sub(started);
        assert!(ended.is_ok(), "seed {seed}, round {round} panics: {shown}");
        assert!(took < LONGEST, "seed {seed}, round {round} takes {took:?}: {shown}");
    }
}
