//! Options before and after `--name`, shortened names, job files among them, options of the tool.

use std::ffi::OsString;
use std::path::PathBuf;

use iostrata_spec::{
    Action, DocumentFormat, Eta, Host, Job, OutputFormat, Source, parse_command_line, render_diagnostics,
};

use crate::corpus::{Disk, files as files_of_the_corpus};
use crate::world::{HOST, World, job};

fn files() -> World {
    World::default()
        .file("one.fio", "[global]\nioengine=null\n[f1]\n[f2]\nbs=1k\n")
        .file("two.fio", "[g1]\n[g2]\nstonewall\n")
}

fn seen(world: &World, args: &[&str]) -> Vec<(String, u64, bool)> {
    world.jobs(args).into_iter().map(|j| (j.name, j.block_size.read, j.stonewall)).collect()
}

#[test]
fn options_before_the_first_name_are_for_all_jobs() {
    let jobs = World::default().jobs(&["--bs=16k", "--name=a", "--name=b", "--bs=2k", "--name=c"]);
    let sizes: Vec<_> = jobs.iter().map(|j| j.block_size.read).collect();
    assert_eq!(sizes, [16384, 2048, 16384]);
}

#[test]
fn name_global_opens_the_template_again() {
    let jobs = World::default().jobs(&["--name=a", "--name=global", "--bs=8k", "--name=b", "--name=a"]);
    let seen: Vec<_> = jobs.iter().map(|j| (j.name.as_str(), j.block_size.read)).collect();
    assert_eq!(seen, [("a", 4096), ("b", 8192), ("a", 8192)]);
}

#[test]
fn job_files_take_the_template_and_nothing_of_other_jobs_or_files() {
    let jobs = seen(&files(), &["one.fio", "--bs=16k", "--name=cli", "--bs=2k", "two.fio"]);
    let expected =
        [("cli", 2048, false), ("f1", 16384, false), ("f2", 1024, false), ("g1", 16384, true), ("g2", 16384, true)];
    assert_eq!(jobs, expected.map(|(n, b, s)| (n.to_owned(), b, s)));
    let engines: Vec<_> = files().jobs(&["one.fio", "two.fio"]).into_iter().map(|j| j.engine).collect();
    assert_eq!(engines, ["null", "null", "psync", "psync"], "a file's globals stay in it");
}

#[test]
fn words_of_the_template_and_of_the_jobs_are_kept_apart() {
    let invocation = World::default().run(&["--blocksize=4K", "--name=x", "--iodepth", "2", "--thread"]).unwrap();
    let pairs = |words: &[iostrata_spec::OptionWord]| {
        words.iter().map(|w| format!("{}={}", w.name, w.value)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&invocation.global_words), ["bs=4K"]);
    assert_eq!(pairs(&invocation.jobs[0].words), ["name=x", "iodepth=2", "thread="]);
}

#[test]
fn options_are_written_in_four_ways() {
    for args in [["--iodepth=7", "--thread"], ["-iodepth=7", "-thread"], ["--iodepth", "7"], ["-iodepth", "7"]] {
        assert_eq!(job(&args).depth, 7, "{args:?}");
    }
}

#[test]
fn names_may_be_shortened_as_long_as_they_are_clear() {
    assert_eq!(job(&["--loop=2"]).loops, 2);
    assert!(job(&["--readw=write"]).workload.writes);
    assert_eq!(job(&["--timeo=5"]).runtime_ns, 5_000_000_000);
    assert!(job(&["--ioengine=io_uring", "--fixedb"]).engine_options.fixed_buffers);
    let errors = World::default().run(&["--name=t", "--time=4"]).unwrap_err();
    assert_eq!(errors[0].message, "option `time` is ambiguous");
    assert_eq!(errors[0].help.as_deref(), Some("it may be one of --timeout, --time_based"));
}

#[test]
fn what_is_unknown_is_an_error_with_the_nearest_name() {
    let errors = World::default().run(&["--nme=x"]).unwrap_err();
    assert_eq!(errors[0].message, "unknown option `nme`");
    assert_eq!(errors[0].help.as_deref(), Some("did you mean `--name`?"));
    let errors = World::default().run(&["--name=x", "--Direct=1"]).unwrap_err();
    assert_eq!(errors[0].help.as_deref(), Some("did you mean `--direct`?"), "names are case-sensitive");
}

#[test]
fn a_value_that_is_needed_is_asked_for() {
    assert_eq!(World::default().errors(&["--name=x", "--bs"]), ["option `--bs` needs a value"]);
    assert_eq!(World::default().errors(&["--name=x", "--readonly=1"]), ["option `--readonly` takes no value"]);
}

#[test]
fn after_two_dashes_only_files_come() {
    let world = World::default().file("--bs=4k", "[j]\n");
    assert_eq!(world.jobs(&["--", "--bs=4k"])[0].name, "j");
}

#[test]
fn options_of_the_tool_are_understood() {
    let args = [
        "--output=out.txt",
        "--output-format=json,normal",
        "--save=r.json",
        "--html=p.html",
        "--also=csv:t.csv",
        "--also=json+:a:b",
        "--listen=9101",
        "--live",
        "--eta=always",
        "--eta-interval=500ms",
        "--eta-newline=2",
        "--warnings-fatal",
        "--allow-destroy=a,b",
        "--grace=5",
        "--max-jobs=10",
        "--alloc-size=1024",
        "--name=x",
    ];
    let tool = World::default().env("IOSTRATA_ALLOW_DESTROY", "c, d").run(&args).unwrap().tool;
    assert_eq!(tool.output, Some(PathBuf::from("out.txt")));
    assert_eq!(tool.save, Some(PathBuf::from("r.json")));
    assert_eq!(tool.html, Some(PathBuf::from("p.html")));
    let also = [(DocumentFormat::Csv, PathBuf::from("t.csv")), (DocumentFormat::JsonPlus, PathBuf::from("a:b"))];
    assert_eq!(tool.also, also);
    assert_eq!((tool.listen, tool.live), (Some("127.0.0.1:9101".parse().unwrap()), true));
    let elsewhere = World::default().run(&["--name=x", "--listen=[::]:80"]).unwrap().tool;
    assert_eq!(elsewhere.listen, Some("[::]:80".parse().unwrap()));
    assert_eq!(tool.formats, [OutputFormat::Json, OutputFormat::Normal]);
    assert_eq!(tool.eta, Eta::Always);
    assert_eq!((tool.eta_interval_ns, tool.eta_newline_ns, tool.grace_ns), (500_000_000, 2_000_000_000, 5_000_000_000));
    assert_eq!(tool.allow_destroy, ["c", "d", "a", "b"]);
    assert!(tool.warnings_fatal && !tool.readonly);
    let plain = World::default().run(&["--name=x"]).unwrap().tool;
    assert_eq!((plain.formats, plain.terse_version), (vec![OutputFormat::Normal], 3));
    let formats = |args: &[&str]| World::default().run(&[&["--name=x"], args].concat()).unwrap().tool.formats;
    assert_eq!(formats(&["--minimal"]), [OutputFormat::Terse]);
    assert_eq!(formats(&["--append-terse", "--output-format=json"]), [OutputFormat::Json, OutputFormat::Terse]);
    assert_eq!(plain.grace_ns, 30_000_000_000);
}

#[test]
fn the_net_engine_keeps_its_own_listen() {
    for word in ["--listen", "--listen=1", "--listen=0"] {
        let words = ["--name=x", "--ioengine=net", "--size=4k", word];
        let world = World::default();
        let line = world.run(&words).unwrap_or_else(|said| panic!("{word}: {said:?}"));
        assert_eq!(line.tool.listen, None, "{word}");
        assert!(line.jobs[0].words.iter().any(|own| own.name == "listen"), "{word}: {:?}", line.jobs[0].words);
    }
    let ours = World::default().run(&["--name=x", "--listen=127.0.0.1:0"]).unwrap();
    assert_eq!(ours.tool.listen, Some("127.0.0.1:0".parse().unwrap()));
}

#[test]
fn options_of_the_tool_that_are_wrong_are_refused() {
    for argument in [
        "--output-format=xml",
        "--terse-version=9",
        "--eta=maybe",
        "--eta-interval=10ms",
        "--grace=soon",
        "--client=host",
        "--server",
        "--idle-prof=cpu",
        "--latency-log=x",
        "--debug=ios",
        "--section=global",
    ] {
        assert_eq!(World::default().errors(&["--name=x", argument]).len(), 1, "{argument}");
    }
}

#[test]
fn printing_comes_before_everything_else() {
    let text = |args: &[&str]| match World::default().run(args).unwrap().action {
        Action::Print(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(&["-v"]), "fio-3.42\n");
    assert_eq!(text(&["--version", "--nonsense"]), "fio-3.42\n");
    assert!(text(&["-h"]).contains("--output-format=LIST"));
    assert!(text(&["--cmdhelp"]).contains("\nbs                      : block size\n"));
    assert!(text(&["--cmdhelp=readwrite"]).contains("randtrimwrite"));
    assert!(text(&["--cmdhelp=all"]).contains("zonemode"));
    assert!(text(&["--enghelp"]).contains("\tio_uring\n"));
    assert!(text(&["--enghelp=io_uring"]).contains("registerfiles"));
    assert!(text(&["--enghelp=io_uring,hipri"]).contains("poll"));
    assert!(World::default().errors(&["--cmdhelp=blocksiz"])[0].contains("did you mean `blocksize`?"));
    assert!(World::default().errors(&["--enghelp=libao"])[0].contains("did you mean `libaio`?"));
}

#[test]
fn parsing_only_needs_no_job() {
    assert_eq!(World::default().run(&["--parse-only"]).unwrap().action, Action::ParseOnly);
    assert_eq!(World::default().run(&["--parse-only", "--name=x"]).unwrap().action, Action::ParseOnly);
    assert_eq!(World::default().errors(&["--parse-only", "--name=x", "--bs=z"]).len(), 1);
}

#[test]
fn showcmd_prints_a_line_that_gives_the_same_jobs() {
    let world = World::default().file("j.fio", "[global]\nbs=8k\nthread\n[a b]\nfilename=it's\n[c]\niodepth=4\n");
    let Action::Print(text) = world.run(&["j.fio", "--showcmd"]).unwrap().action else { panic!("nothing printed") };
    assert_eq!(text, "fio --bs=8k --thread '--name=a b' '--filename=it'\\''s' --name=c --iodepth=4 \n");
}

/// The jobs of a command line, and of what `--showcmd` prints for it, read as a shell reads it.
fn again(source: &dyn Source, args: &[&str]) -> (Vec<Job>, Vec<Job>) {
    again_if_right(source, args).unwrap_or_else(|d| panic!("{args:?}: {}", render_diagnostics(&d, false)))
}

/// The same, without jobs for a line that asks for something else; what is wrong with the command line, if anything is.
pub(crate) fn again_if_right(
    source: &dyn Source,
    args: &[&str],
) -> Result<(Vec<Job>, Vec<Job>), Vec<iostrata_spec::Diagnostic>> {
    let run = |args: &[&str]| {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        parse_command_line(&args, &HOST, source)
    };
    let first = run(args)?;
    if first.jobs.is_empty() || matches!(first.action, Action::Print(_)) {
        return Ok((Vec::new(), Vec::new()));
    }
    let first = first.jobs;
    let with: Vec<&str> = args.iter().copied().chain(["--showcmd"]).collect();
    let Action::Print(text) = run(&with)?.action else { panic!("{args:?}: nothing printed") };
    let words = shell_words(&text);
    assert_eq!(words[0], "fio");
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let second = run(&words).unwrap_or_else(|d| panic!("{text}: {}", render_diagnostics(&d, false))).jobs;
    Ok((bare(first), bare(second)))
}

/// Jobs without what tells only how they were written: the words, and the section when it is told by the file names.
fn bare(jobs: Vec<Job>) -> Vec<Job> {
    let one = |mut job: Job| {
        job.words.clear();
        if job.section != job.name {
            if job.filenames.is_empty() {
                job.filename_format.get_or_insert(format!("{}.$jobnum.$filenum", job.section));
            }
            job.section.clone_from(&job.name);
        }
        job
    };
    jobs.into_iter().map(one).collect()
}

pub(crate) fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut chars = line.trim_end_matches('\n').chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            '\\' if !quoted => word.get_or_insert_default().extend(chars.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[test]
fn showcmd_gives_back_jobs_of_several_templates_files_and_names() {
    let world = World::default()
        .file("a.fio", "[global]\nioengine=io_uring\nfixedbufs\n[x]\nname=y\n[global]\nbs=8k\n[z]\nioengine=null\n")
        .file("b.fio", "[q]\nkb_base=1000\nbs=4k\nfilename=a b#c:d\\:e\n[r]\nstonewall\ndirect=true\n");
    for args in [&["a.fio"][..], &["b.fio"], &["a.fio", "b.fio"], &["b.fio", "--iodepth=9", "a.fio", "--name=cli"]] {
        let (first, second) = again(&world, args);
        assert_eq!(first, second, "{args:?}");
        assert!(!first.is_empty());
    }
}

#[test]
fn showcmd_gives_back_every_job_of_the_corpus() {
    for file in files_of_the_corpus() {
        let (first, second) = again(&Disk, &[&file.to_string_lossy()]);
        assert_eq!(first, second, "{}", file.display());
    }
}

#[test]
fn a_mac_has_not_every_option() {
    let mac = Host { macos: true, ..HOST };
    let errors = World::default().run_on(&mac, &["--name=x", "--cpus_allowed=0"]).unwrap_err();
    assert_eq!(errors[0].message, "`cpus_allowed` exists only on Linux");
    assert!(World::default().run_on(&mac, &["--name=x", "--direct=1"]).is_ok());
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_utf8_are_refused() {
    use std::os::unix::ffi::OsStringExt;
    let args = ["--name=x".into(), OsString::from_vec(b"--filename=\xff".to_vec())];
    let errors = parse_command_line(&args, &HOST, &World::default()).unwrap_err();
    assert_eq!(errors[0].message, "this argument is not UTF-8");
}
