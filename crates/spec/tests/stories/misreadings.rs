//! Values that fio silently takes for something else than they say.

use iostrata_spec::{BlockSizes, Invocation, Job, Severity, Size};

use crate::world::World;

fn run(text: &str, flags: &[&str]) -> Result<Invocation, usize> {
    let world = World::default().file("j.fio", &format!("[j]\n{text}\n"));
    let mut args = vec!["j.fio"];
    args.extend(flags);
    world.run(&args).map_err(|list| list.iter().filter(|d| d.severity == Severity::Error).count())
}

struct Case {
    text: &'static str,
    what: fn(&Job) -> i64,
    plain: i64,
    /// None where fio refuses the value.
    fio: Option<i64>,
}

fn bytes(job: &Job) -> i64 {
    job.block_size.read as i64
}

fn runtime_us(job: &Job) -> i64 {
    (job.runtime_ns / 1000) as i64
}

fn random_percent(job: &Job) -> i64 {
    job.shape.random_percent[0].map_or(100, |percent| percent as i64)
}

fn percentiles(job: &Job) -> i64 {
    job.reporting.percentiles.values.len() as i64
}

fn shares(job: &Job) -> i64 {
    match &job.block_sizes()[0] {
        BlockSizes::Split(shares) => shares.len() as i64,
        _ => 0,
    }
}

const CASES: &[Case] = &[
    Case { text: "bs = 8k", what: bytes, plain: 8192, fio: Some(8) },
    Case { text: "bs=4.5k", what: bytes, plain: 4608, fio: Some(4) },
    Case { text: "bs=4 k", what: bytes, plain: 4096, fio: Some(4) },
    Case { text: "bs=4kbytes", what: bytes, plain: 4096, fio: Some(4096) },
    Case { text: "bs=1.9", what: bytes, plain: 1, fio: Some(1) },
    Case { text: "rw = write", what: |j| i64::from(j.workload.writes), plain: 1, fio: None },
    Case { text: "ioengine = null", what: |j| i64::from(j.engine == "null"), plain: 1, fio: None },
    Case { text: "direct=1G", what: |j| i64::from(j.direct), plain: 1, fio: Some(1) },
    Case { text: "direct=true", what: |j| i64::from(j.direct), plain: 1, fio: None },
    Case { text: "invalidate=Off", what: |j| i64::from(j.invalidate), plain: 0, fio: None },
    Case { text: "thread=yes", what: |j| i64::from(j.thread), plain: 1, fio: None },
    Case { text: "bs=4k/60:8k/40", what: bytes, plain: 4096, fio: Some(4096) },
    Case {
        text: "bssplit=36k-60k/30:4k/70",
        what: |j| j.block_limits().1 as i64,
        plain: 36 << 10,
        fio: Some(36 << 10),
    },
    Case { text: "bs=,8k/15:1024k:85,", what: |j| j.block_size.write as i64, plain: 8192, fio: Some(8192) },
    Case {
        text: "description=a#b c",
        what: |j| j.description.as_deref().map_or(0, str::len) as i64,
        plain: 5,
        fio: Some(1),
    },
    Case { text: "filename=x;y ; z", what: |j| j.filenames[0].len() as i64, plain: 3, fio: Some(1) },
    Case { text: "runtime=10sec", what: runtime_us, plain: 10_000_000, fio: Some(10) },
    Case { text: "runtime=10min", what: runtime_us, plain: 600_000_000, fio: Some(10) },
    Case { text: "runtime=1.5s", what: runtime_us, plain: 1_500_000, fio: Some(1_000_000) },
    Case { text: "runtime = 10ms", what: runtime_us, plain: 10_000, fio: Some(10_000_000) },
    Case { text: "rate=10MB/s", what: |j| j.rate.bytes.read.unwrap_or(0) as i64, plain: 10 << 20, fio: Some(10 << 20) },
    Case { text: "iodepth=3%", what: |j| i64::from(j.depth), plain: 3, fio: None },
    Case { text: "number_ios=100%", what: |j| j.number_ios.unwrap_or(0) as i64, plain: 100, fio: Some(-1) },
    Case { text: "rw=rw\nrwmixread=30%", what: |j| i64::from(j.mix_read_percent), plain: 30, fio: Some(100) },
    Case { text: "rw=rw\nrwmixwrite=30%", what: |j| i64::from(j.mix_read_percent), plain: 70, fio: Some(100) },
    Case { text: "rw=randread\npercentage_random=50%", what: random_percent, plain: 50, fio: Some(100) },
    Case { text: "rw=randread\nbssplit=4k/50%:8k/50%", what: shares, plain: 2, fio: Some(2) },
    Case { text: "rw=randread\nbssplit=4k/50,8k/50", what: shares, plain: 2, fio: Some(1) },
    Case { text: "percentile_list=50,99", what: percentiles, plain: 2, fio: Some(1) },
    Case { text: "percentile_list=50 99:99.9%", what: percentiles, plain: 3, fio: Some(2) },
];

#[test]
fn what_was_plainly_meant_is_taken_with_a_warning() {
    for case in CASES {
        let invocation = run(case.text, &[]).unwrap_or_else(|_| panic!("{} is refused", case.text));
        assert_eq!((case.what)(&invocation.jobs[0]), case.plain, "{}", case.text);
        assert_eq!(invocation.diagnostics.len(), 1, "{}", case.text);
        assert_eq!(invocation.diagnostics[0].severity, Severity::Warning);
    }
}

#[test]
fn strict_makes_it_an_error() {
    for case in CASES {
        assert_eq!(run(case.text, &["--strict"]).err(), Some(1), "{}", case.text);
    }
}

#[test]
fn fio_exact_takes_what_fio_takes_without_a_word() {
    for case in CASES {
        match (run(case.text, &["--fio-exact"]), case.fio) {
            (Ok(invocation), Some(fio)) => {
                assert_eq!((case.what)(&invocation.jobs[0]), fio, "{}", case.text);
                assert_eq!(invocation.diagnostics, Vec::new(), "{}", case.text);
            }
            (Err(1), None) => {}
            (result, fio) => panic!("{}: {result:?}, fio {fio:?}", case.text),
        }
    }
}

#[test]
fn what_is_not_plain_is_an_error_and_fio_exact_still_takes_it() {
    for (text, fio) in [("bs=4q", 4), ("bs=4-64k", 4), ("bs=1e3", 1), ("bs=4kk", 4096), ("bs=1k:2k", 1024)] {
        assert_eq!(run(text, &[]).err(), Some(1), "{text}");
        let invocation = run(text, &["--fio-exact"]).unwrap();
        assert_eq!(invocation.jobs[0].block_size.read, fio, "{text}");
    }
}

#[test]
fn fio_exact_takes_the_end_of_what_it_takes_for_a_range() {
    for (text, fio) in [("size=1m:2m", 2 << 20), ("size=2m-1m", 1 << 20), ("size=-8k", 8192)] {
        assert_eq!(run(text, &[]).err(), Some(1), "{text}");
        assert_eq!(run(text, &["--fio-exact"]).unwrap().jobs[0].size, Some(Size::Bytes(fio)), "{text}");
    }
    let exact = run("rw=randread:0", &["--fio-exact"]).unwrap();
    assert_eq!((run("rw=randread:0", &[]).err(), exact.jobs[0].workload.modifier), (Some(1), None));
}

#[test]
fn what_oddly_defined_sizes_come_to_is_kept_beside_them() {
    let odd = |text: &str| -> Vec<String> {
        let sizes = &run(text, &[]).unwrap().jobs[0].reporting.odd_sizes;
        sizes.iter().map(|(option, size)| format!("{option}={} {}", size.text, size.bytes)).collect()
    };
    assert_eq!(odd("size=1GiB\nbs=4k,8kib"), ["bs=4k,8kib 4096,8000", "size=1GiB 1000000000"]);
    assert_eq!(odd("kb_base=1000\nsize=1GiB\nbs=4k"), ["bs=4k 4000", "size=1GiB 1073741824"]);
    assert_eq!(odd("size=1GiB\nsize=1g\nbs=4096\nrate_iops=1kib\nruntime=1m"), [""; 0]);
    let world = World::default().file("j.fio", "[global]\nsize=1MiB\n[a]\n[b]\nsize=1m\n");
    let jobs = world.run(&["j.fio"]).unwrap().jobs;
    assert_eq!(jobs.iter().map(|job| job.reporting.odd_sizes.len()).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn odd_but_defined_values_are_kept_without_a_word() {
    for text in ["size=1GiB", "bs=4kib", "bs=4k,8k", "startdelay=5:1", "filesize=1m-4k"] {
        assert_eq!(run(text, &["--strict"]).unwrap().diagnostics, Vec::new(), "{text}");
    }
}

#[test]
fn of_options_that_fio_does_not_have_it_has_no_other_reading() {
    let invocation = run("ioengine=sim\nsim_latency=960ns", &["--strict"]).unwrap();
    assert_eq!(invocation.diagnostics, Vec::new());
}

#[test]
fn no_spelling_is_advised_that_fio_reads_otherwise() {
    let help = |text: &str| run(text, &[]).unwrap().diagnostics[0].help.clone().unwrap_or_default();
    assert_eq!(help("thinktime=1500ns"), "fio knows no such unit and takes microseconds");
    assert_eq!(help("thinktime=2000ns"), "fio knows no such unit and takes microseconds; write `thinktime=2us`");
}

#[test]
fn on_a_command_line_kb_base_is_meant_for_all() {
    let args = ["--name=x", "--bs=4k", "--kb_base=1000"];
    let invocation = World::default().run(&args).unwrap();
    assert_eq!(invocation.jobs[0].block_size.read, 4000);
    assert_eq!(invocation.diagnostics[0].message, "`bs` is taken as `4000`; fio takes `4096`");
    let exact = World::default().run(&["--fio-exact", "--name=x", "--bs=4k", "--kb_base=1000"]).unwrap();
    assert_eq!(exact.jobs[0].block_size.read, 4096);
    let right = World::default().run(&["--name=x", "--kb_base=1000", "--bs=4k", "--size=7"]);
    assert!(right.is_err(), "7 bytes are fewer than a block");
}

#[test]
fn a_file_with_a_colon_in_its_name_is_one_file() {
    let world = World::default().file("disk:0", "");
    let invocation = world.run(&["--name=x", "--filename=disk:0"]).unwrap();
    assert_eq!(invocation.jobs[0].filenames, ["disk:0"]);
    assert_eq!(invocation.diagnostics[0].message, "`filename` is taken as `disk\\:0`; fio takes `disk:0`");
    let exact = world.run(&["--fio-exact", "--name=x", "--filename=disk:0"]).unwrap();
    assert_eq!(exact.jobs[0].filenames, ["disk", "0"]);
}

#[test]
fn a_comment_with_a_blank_on_either_side_is_a_comment() {
    for text in ["description=a # b", "description=a #b", "description=a; b", "bs=4k#b", "bs=4k;b", "thread#b"] {
        assert_eq!(run(text, &[]).unwrap().diagnostics, Vec::new(), "{text}");
    }
}

#[test]
fn warnings_can_be_made_fatal() {
    assert_eq!(run("bs=4.5k", &["--warnings-fatal"]).err(), Some(1));
}
