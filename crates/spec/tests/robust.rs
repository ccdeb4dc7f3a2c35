//! No input makes the parser panic or take long.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// So many tests share `IOSTRATA_FUZZ_SECONDS`: `cargo xtask test` gives them 60, its soak ten minutes. A look at this
/// many inputs each is taken in any case.
const FUZZERS: u64 = 4;
const FEWEST: u64 = 60;

/// Inputs, one after another, until the time is up: `make` gives the words of a command line and the text of every
/// file. A failure names the input; `IOSTRATA_FUZZ_SEED` (1 if unset) repeats it.
fn fuzz(what: &str, mut make: impl FnMut(u64, &mut Draw) -> (Vec<String>, Vec<u8>)) {
    let seed = number("IOSTRATA_FUZZ_SEED").unwrap_or(1);
    let time = Duration::from_millis(number("IOSTRATA_FUZZ_SECONDS").unwrap_or(0) * 1000 / FUZZERS);
    let mut draw = Draw(seed);
    let start = Instant::now();
    let mut round = 0;
    while round < FEWEST || start.elapsed() < time {
        let (words, text) = make(round, &mut draw);
        let started = cpu_time();
        let ended = std::panic::catch_unwind(|| go(&words, &text));
        let took = cpu_time().saturating_sub(started);
        let shown = || format!("{what}, seed {seed}, round {round}: {words:?} {:?}", String::from_utf8_lossy(&text));
        assert!(ended.is_ok(), "it panics: {}", shown());
        assert!(took < LONGEST, "it takes {took:?}: {}", shown());
        round += 1;
    }
}

/// Lines of a job file as arguments.
fn as_arguments(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(|line| format!("--{line}")).collect()
}

#[test]
fn every_kept_input_ends() {
    let kept = kept();
    assert!(kept.len() > 60);
    for text in kept {
        let started = cpu_time();
        go(&["x.fio".to_owned()], &text);
        go(&as_arguments(&text), b"[j]\nbs=4k\n");
        assert!(cpu_time().saturating_sub(started) < LONGEST, "{}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn fuzz_changed_job_files() {
    let kept = kept();
    fuzz("a changed job file", |_, draw| {
        (vec!["x.fio".to_owned()], changed(&kept[draw.below(kept.len())], &kept, draw))
    });
}

#[test]
fn fuzz_changed_lines_as_arguments() {
    let kept = kept();
    fuzz("changed lines as arguments", |_, draw| {
        let text = changed(&kept[draw.below(kept.len())], &kept, draw);
        (as_arguments(&text), kept[draw.below(kept.len())].clone())
    });
}

/// Values that are odd for one option or another.
const ODD: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1",
    "4k",
    "4k,8k,16k",
    "4k-64k",
    "4k/60:8k/40",
    "100%",
    "101%",
    "1.5",
    "1e308",
    "nan",
    "inf",
    "0x",
    "0xffffffffffffffff",
    "18446744073709551615",
    "-9223372036854775808",
    "9223372036854775808k",
    "10sec",
    "1d",
    "1s-2s",
    "read",
    "randrw:8",
    "read:-9223372036854775808",
    "io_uring",
    "external:x",
    "zipf:1.2:0.5",
    "zoned:50/5:50/",
    "sequence:1,2",
    "iops:0.3%",
    "'x'",
    "\"ab\"0xff%o",
    "EIO:ENOSPC,5",
    "0-1023",
    "65535-0",
    "bind:0-3",
    "$jobname.$jobnum",
    "${X}",
    "${",
    "$ncpus",
    "(1+2)*3k",
    "((((1))))",
    "2^63",
    "1/0",
    "a:b",
    "a\\:b",
    "global",
    "\u{e9}\u{0}",
];

/// One `name=value` from the pieces of the language: a name whole, cut or misspelt; a value that is odd, drawn, long,
/// or made of pieces.
fn made(names: &[&str], draw: &mut Draw) -> String {
    let mut name = names[draw.below(names.len())].to_owned();
    match draw.below(12) {
        0 => name.truncate(1 + draw.below(name.len())),
        1 => name.insert(draw.below(name.len()), 'x'),
        _ => {}
    }
    let piece = |draw: &mut Draw| String::from_utf8_lossy(PIECES[draw.below(PIECES.len())]).into_owned();
    let odd = |draw: &mut Draw| ODD[draw.below(ODD.len())].to_owned();
    let value = match draw.below(8) {
        0 => (0..draw.below(8)).map(|_| piece(draw)).collect(),
        1 => format!("{}{}{}", odd(draw), piece(draw), odd(draw)),
        2 => odd(draw).repeat(1 + draw.below(400)),
        3 => format!("{}{}", draw.below(1 << 40), ["", "k", "m", "g", "t", "p", "s", "ms", "%", "z"][draw.below(10)]),
        _ => odd(draw),
    };
    let value: String = value.chars().filter(|c| *c != '\n').collect();
    match draw.below(10) {
        0 => name,
        1 => format!("{name} = {value}"),
        _ => format!("{name}={value}"),
    }
}

fn names() -> Vec<&'static str> {
    all_options().flat_map(|row| row.names()).chain(TOOL_OPTIONS.iter().map(|row| row.name)).collect()
}

#[test]
fn fuzz_options_in_job_files() {
    let names = names();
    fuzz("options in a job file", |round, draw| {
        // Each option once at least, and then what is drawn.
        let mut lines = vec!["[global]".to_owned(), made(&names, draw), "[j]".to_owned()];
        lines.push(made(&names[round as usize % names.len()..][..1], draw));
        lines.extend((0..draw.below(6)).map(|_| made(&names, draw)));
        (vec!["x.fio".to_owned()], lines.join("\n").into_bytes())
    });
}

#[test]
fn fuzz_options_as_arguments() {
    let names = names();
    fuzz("options as arguments", |_, draw| {
        let first = if draw.below(3) == 0 { "x.fio" } else { "--name=j" };
        let dash = |draw: &mut Draw| ["--", "--", "--", "-", ""][draw.below(5)];
        let more = (0..draw.below(8)).map(|_| format!("{}{}", dash(draw), made(&names, draw)));
        let words = std::iter::once(first.to_owned()).chain(more).collect();
        (words, b"[j]\nbs=4k\n".to_vec())
    });
}
