//! The same words to fio and to us: both accept or both refuse.

use std::process::{Command, Stdio};

use crate::corpus;
use crate::world::World;

/// Arguments after `--name=x --ioengine=null --size=1m`. Only options of fio 3.33; nothing that is not carried out yet,
/// and nothing that fio only finds wrong when it runs.
const LINES: &[&str] = &[
    "--rw=read:8",
    "--rw=randread:8",
    "--rw=Read",
    "--rw=rea",
    "--rw=readfoo",
    "--readwrite=randrw",
    "--readw=write",
    "--bs=4k,8k",
    "--bs=,8k",
    "--bs=4k,",
    "--bs=4k,,16k",
    "--bs=0",
    "--bs=abc",
    "--bs=k",
    "--bs=",
    "--bs=0x1000",
    "--blocksize=4K",
    "--size=80%",
    "--size=18446744073709551616",
    "--io_size=50%",
    "--io_limit=4k",
    "--offset=50%",
    "--offset_increment=10%",
    "--filesize=0",
    "--filesize=4k-1m",
    "--filesize=1m-4k",
    "--direct=2",
    "--direct=01",
    "--direct=0x1",
    "--direct=",
    "--direct",
    "--buffered=0",
    "--nice=19",
    "--nice=20",
    "--iodepth=0",
    "--iodepth=8",
    "--rwmixread=101",
    "--rw=rw --rwmixread=30",
    "--runtime=1d",
    "--runtime=10",
    "--timeout=5",
    "--time=5",
    "--time_based=1 --runtime=1",
    "--time_based=maybe",
    "--ioengine=nosuch",
    "--bs=1m/2",
    "--iodepth=abc",
    "--rate_cycle=abc",
    "--group_reporting=foo",
    "--group_reporting",
    "--thread=0",
    "--percentile_list=99:50",
    "--percentile_list=a",
    "--fallocate=yes",
    "--fallocate=0",
    "--fadvise_hint=foo",
    "--fadvise_hint=random",
    "--cpus_allowed=0",
    "--startdelay=1-5",
    "--kb_base=1000k",
    "--kb_base=512",
    "--kb_base=1000",
    "--unit_base=8",
    "--unit_base=3",
    "--sync=2",
    "--sync=1",
    "--sync=dsync",
    "--significant_figures=11",
    "--significant_figures=0",
    "--thinktime=10ms",
    "--unified_rw_reporting=3",
    "--unified_rw_reporting=both",
    "--exitall=1",
    "--random_generator=foo",
    "--random_generator=lfsr",
    "--clocksource=foo",
    "--clocksource=cpu",
    "--loop=2",
    "--buffer=1",
    "--nosuch=1",
    "--fixedbufs=1",
    "--ioengine=libai",
    "--ioengine=aio",
    "--verify=0",
    "--verify=none",
    "--mem=malloc",
    "--iodepth_batch_complete=0",
    "--rate=1m,2m",
    "--rate_iops=,",
    "--randseed=7",
    "--stonewall",
    "--wait_for_previous",
    "--latency-log=x",
    "--output-format=xml",
    "--eta-interval=10ms",
    "--section=global",
    "--terse-version=9",
];

fn fio(args: &[&str]) -> Option<bool> {
    let status =
        Command::new("fio").args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.ok().map(|s| s.success())
}

/// Says visibly that fio is missing.
#[allow(clippy::print_stderr)]
fn skipped() -> bool {
    let missing = fio(&["--version"]).is_none();
    if missing {
        eprintln!("SKIP: against_fio: fio is not installed (apt-get install fio)");
    }
    missing
}

/// The job that a line makes, under its own name.
fn job_of(number: usize, line: &str) -> Vec<String> {
    let mut args = vec![format!("--name=x{number}"), "--ioengine=null".to_owned(), "--size=1m".to_owned()];
    args.extend(line.split(' ').map(str::to_owned));
    args
}

fn with_parse_only(args: &[String]) -> Vec<&str> {
    std::iter::once("--parse-only").chain(args.iter().map(String::as_str)).collect()
}

#[test]
fn fio_and_we_accept_the_same_lines() {
    if skipped() {
        return;
    }
    let (accepted, refused): (Vec<_>, Vec<_>) = (LINES.iter().enumerate())
        .map(|(number, line)| (line, job_of(number, line)))
        .partition(|(_, args)| World::default().run(&with_parse_only(args)).is_ok());
    assert!(accepted.len() > 50 && refused.len() > 40);
    for (line, args) in refused {
        assert_eq!(fio(&with_parse_only(&args)), Some(false), "fio accepts {line}, we refuse it");
    }
    // To start fio takes long: what is accepted goes to it as jobs of one line, and singly only to find the culprit.
    let all: Vec<String> = accepted.iter().flat_map(|(_, args)| args.clone()).collect();
    if fio(&with_parse_only(&all)) != Some(true) {
        for (line, args) in accepted {
            assert_eq!(fio(&with_parse_only(&args)), Some(true), "fio refuses {line}, we accept it");
        }
        panic!("fio accepts each of the lines but not all together");
    }
}

#[test]
fn fio_accepts_the_corpus() {
    if skipped() {
        return;
    }
    let files: Vec<String> = corpus::files().iter().map(|file| file.to_string_lossy().into_owned()).collect();
    assert_eq!(fio(&with_parse_only(&files)), Some(true));
}
