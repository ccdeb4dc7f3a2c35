//! No input makes the parser panic or take long.

use std::ffi::OsString;
use std::path::Path;

use iostrata_spec::table::all_options;
use iostrata_spec::{Host, Source, TOOL_OPTIONS, parse_command_line, render_diagnostics};
use proptest::prelude::*;

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
