//! Priorities of single I/Os: how many have which, in both programs, and what logs and kernel see of them.

use std::collections::BTreeMap;
use std::path::Path;

use iostrata_testkit::compare::unlikely_share;
use iostrata_testkit::{Folder, alone, fio, iostrata, run, which};
use serde_json::Value;

const READS: u64 = 2_000;

/// Class and level.
type Priority = (u64, u64);

/// Options, and the percent of reads of each priority.
const CASES: &[(&str, &[(Priority, u32)])] = &[
    ("--cmdprio_percentage=30", &[((0, 0), 70), ((1, 0), 30)]),
    ("--cmdprio_percentage=30 --cmdprio_class=2 --cmdprio=6", &[((0, 0), 70), ((2, 6), 30)]),
    ("--cmdprio_bssplit=4k/20/2/3:4k/10/1/4:8k/50", &[((0, 0), 70), ((2, 3), 20), ((1, 4), 10)]),
    ("--prioclass=2 --prio=5 --cmdprio_percentage=30 --cmdprio=1", &[((2, 5), 70), ((1, 1), 30)]),
    ("--cmdprio_percentage=100", &[]),
    ("--cmdprio_percentage=0,50", &[]),
    ("--cmdprio_percentage=30 --prioclass=1 --prio=0", &[]),
    ("--cmdprio_percentage=30 --lat_percentiles=1 --clat_percentiles=0", &[((0, 0), 70), ((1, 0), 30)]),
];

/// What a run told of its reads.
struct Seen {
    /// How many had which priority, in the order of the report.
    prios: Vec<(Priority, u64)>,
    /// How many had which in the log's column.
    logged: BTreeMap<u64, u64>,
}

fn seen(program: &Path, engine: &str, options: &str) -> Seen {
    let folder = Folder::new("priorities");
    folder.give("x", 16 << 20);
    let base = format!(
        "--name=j --ioengine={engine} --filename=x --rw=randread --bs=4k --direct=1 --iodepth=4 --number_ios={READS} \
         --output-format=json --write_iops_log=p --log_prio=1 {options}"
    );
    let output = run(program, &base.split_whitespace().collect::<Vec<_>>(), folder.path());
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let read = &document["jobs"][0]["read"];
    let number = |value: &Value| value.as_u64().expect("a count");
    let entry = |prio: &Value| {
        let latency = if prio["lat_ns"].is_null() { &prio["clat_ns"] } else { &prio["lat_ns"] };
        ((number(&prio["prioclass"]), number(&prio["prio"])), number(&latency["N"]))
    };
    let prios = read["prios"].as_array().into_iter().flatten().map(entry).collect();
    let mut logged = BTreeMap::new();
    for line in folder.text("p_iops.1.log").lines() {
        let column = line.split(", ").nth(4).and_then(|word| word.strip_prefix("0x")).expect("a priority");
        *logged.entry(u64::from_str_radix(column, 16).expect("hexadecimal")).or_default() += 1;
    }
    Seen { prios, logged }
}

#[test]
fn as_many_ios_have_a_priority_of_their_own_as_in_fio() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    for engine in ["libaio", "io_uring"] {
        for (options, wanted) in CASES {
            let theirs = seen(&fio, engine, options).prios;
            let Seen { prios: ours, logged } = seen(Path::new(iostrata()), engine, options);
            let names = |of: &[(Priority, u64)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            let expected: Vec<_> = wanted.iter().map(|(name, _)| *name).collect();
            assert_eq!(names(&theirs), expected, "fio, {engine} {options}");
            assert_eq!(names(&ours), expected, "{engine} {options}");
            for (((class, level), count), (_, percent)) in ours.iter().zip(*wanted) {
                assert_eq!(unlikely_share(*count, READS, *percent), None, "{options}: {class}/{level}");
                assert_eq!(logged.get(&(class << 13 | level)), Some(count), "{options}: {logged:?}");
            }
            assert_eq!(logged.values().sum::<u64>(), READS);
        }
    }
}

/// The kernel is told: the words stand in the blocks of `io_submit`.
#[test]
fn the_kernel_sees_the_priorities() {
    let _alone = alone();
    let Some(strace) = which("strace") else { iostrata_testkit::skip!("tracing calls", "apt-get install strace") };
    let folder = Folder::new("priorities-kernel");
    folder.give("x", 1 << 20);
    let words = [
        &[
            "-f",
            "-qq",
            "-X",
            "raw",
            "-e",
            "trace=io_submit",
            "-o",
            "calls",
            iostrata(),
            "--name=j",
            "--ioengine=libaio",
        ][..],
        &["--filename=x", "--direct=1", "--number_ios=50", "--rw=randrw", "--cmdprio_percentage=100,0"],
        &["--cmdprio_class=2", "--cmdprio=3"],
    ];
    let output = run(strace, &words.concat(), folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = folder.text("calls");
    let of = |what: &str| calls.lines().filter(|line| line.contains(what)).collect::<Vec<_>>();
    // IOCB_CMD_PREAD and IOCB_CMD_PWRITE.
    let (reads, writes) = (of("aio_lio_opcode=0,"), of("aio_lio_opcode=1,"));
    assert!(reads.len() > 10 && writes.len() > 10, "{calls}");
    let word = format!("aio_reqprio={:#x},", 2 << 13 | 3);
    assert!(reads.iter().all(|line| line.contains(&word)), "{calls}");
    assert!(writes.iter().all(|line| !line.contains("aio_reqprio")), "{calls}");
}
