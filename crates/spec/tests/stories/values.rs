//! Numbers, times, lists and arithmetic.

use iostrata_spec::Size;

use crate::world::{job, job_errors};

fn bytes(text: &str, base: u32) -> u64 {
    match job(&[&format!("--kb_base={base}"), &format!("--size={text}"), "--bs=1"]).size {
        Some(Size::Bytes(n)) => n,
        other => panic!("{text} gives {other:?}"),
    }
}

#[test]
fn suffixes_by_both_bases_as_fio_defines_them() {
    let table = [
        ("7", 7, 7),
        ("7b", 7, 7),
        ("2k", 2 << 10, 2_000),
        ("2KB", 2 << 10, 2_000),
        ("2ki", 2 << 10, 2_000),
        ("2kib", 2_000, 2 << 10),
        ("2m", 2 << 20, 2_000_000),
        ("2Mi", 2 << 20, 2_000_000),
        ("2MiB", 2_000_000, 2 << 20),
        ("2g", 2 << 30, 2_000_000_000),
        ("1GiB", 1_000_000_000, 1 << 30),
        ("2tb", 2 << 40, 2_000_000_000_000),
        ("2TIB", 2_000_000_000_000, 2 << 40),
        ("2p", 2 << 50, 2_000_000_000_000_000),
        ("2pib", 2_000_000_000_000_000, 2 << 50),
        ("0x10", 16, 16),
        ("010", 10, 10),
        ("+4k", 4 << 10, 4_000),
    ];
    for (text, at_1024, at_1000) in table {
        assert_eq!(bytes(text, 1024), at_1024, "{text} by 1024");
        assert_eq!(bytes(text, 1000), at_1000, "{text} by 1000");
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for text in
        ["abc", "k", "4q", "4kk", "1e9", "--4", "18446744073709551616", "20000000000g", "-4k", "0x", "4.3k", "1.5"]
    {
        let result = job_errors_or_remarks(&format!("--size={text}"));
        assert!(result, "{text} went through without a word");
    }
}

/// Whether anything was said about the argument.
fn job_errors_or_remarks(argument: &str) -> bool {
    match crate::world::World::default().run(&["--name=t", argument, "--bs=1"]) {
        Ok(invocation) => !invocation.diagnostics.is_empty(),
        Err(_) => true,
    }
}

#[test]
fn times_have_units_and_a_default_that_the_option_chooses() {
    let cases = [
        ("10", 10_000_000_000),
        ("10s", 10_000_000_000),
        ("250ms", 250_000_000),
        ("250msec", 250_000_000),
        ("7US", 7_000),
        ("7usec", 7_000),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1d", 86_400_000_000_000),
        ("(1m+30)", 0),
        ("(1m+30s)", 90_000_000_000),
        ("(10)", 10_000_000_000),
        ("(2*30s)", 60_000_000_000),
    ];
    for (text, ns) in cases {
        if ns == 0 {
            assert_eq!(job_errors(&[&format!("--runtime={text}")]).len(), 1, "{text} mixes times and numbers");
        } else {
            assert_eq!(job(&[&format!("--runtime={text}")]).runtime_ns, ns, "{text}");
        }
    }
    assert_eq!(job(&["--thinktime=10"]).think.pause_ns, 10_000, "think times are microseconds");
    assert_eq!(job(&["--thinktime=10s"]).think.pause_ns, 10_000_000_000);
}

#[test]
fn arithmetic_in_parentheses() {
    for (text, n) in [
        ("(2*1024)", 2048),
        ("(1+2*3)", 7),
        ("((1+2)*3)", 9),
        ("(7/2*2)", 6),
        ("(10%4)", 2),
        ("(2^12)", 4096),
        ("(2^3^2)", 512),
        ("(4k+4)", 4100),
        ("(1kib)", 1000),
        ("(-4+8)", 4),
        ("(0x10 * 2)", 32),
        ("(2^40)", 1 << 40),
        ("(1+1)k", 2048),
    ] {
        assert_eq!(bytes(text, 1024), n, "{text}");
    }
    for text in ["(2*", "(2)2", "(1/0)", "(2**3)", "()", "(a)", "(2-4)", "(9^99)", "(1.5*2)"] {
        assert_eq!(job_errors(&[&format!("--size={text}"), "--bs=1"]).len(), 1, "{text}");
    }
    let deep = format!("--size={}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(job_errors(&[&deep])[0].contains("nested too deeply"));
}

#[test]
fn lists_per_direction_fill_up_as_fio_fills_them() {
    let sizes = |text: &str| job(&["--bs=512", &format!("--bs={text}")]).block_size.to_array();
    assert_eq!(sizes("4k"), [4096, 4096, 4096]);
    assert_eq!(sizes("4k,8k"), [4096, 8192, 8192]);
    assert_eq!(sizes(",8k"), [512, 8192, 8192]);
    assert_eq!(sizes("4k,"), [4096, 512, 512]);
    assert_eq!(sizes("4k,,16k"), [4096, 512, 16384]);
    assert_eq!(sizes(",,16k"), [512, 512, 16384]);
    assert_eq!(job_errors(&["--bs=1,2,3,4"]).len(), 1);
    assert_eq!(job_errors(&["--bs=,"]).len(), 1);
    assert_eq!(job_errors(&["--bs=0"]).len(), 1);
}

#[test]
fn a_rate_of_zero_is_no_rate() {
    let both = job(&["--rate=0", "--rate_iops=5"]);
    assert!(both.rate.bytes.to_array().iter().all(Option::is_none));
    assert_eq!(both.rate.iops.read, Some(5));
}

#[test]
fn cpu_lists_are_sets() {
    assert_eq!(job(&["--cpus_allowed=5,2-4,3-5,0"]).cpus, [0, 2, 3, 4, 5]);
    for text in ["a", "3-1", "1-", "0,,1", "99999999"] {
        assert_eq!(job_errors(&[&format!("--cpus_allowed={text}")]).len(), 1, "{text}");
    }
}

#[test]
fn names_keep_their_backslashes_but_not_those_before_a_colon() {
    assert_eq!(job(&["--filename=a\\:b:c\\d"]).filenames, ["a:b", "c\\d"]);
    assert_eq!(job(&["--filename= leading and trailing "]).filenames, [" leading and trailing "]);
    assert_eq!(job_errors(&["--filename=:"]).len(), 1);
}

#[test]
fn percentiles_are_sorted_counted_and_limited() {
    let list = job(&["--percentile_list=99:5:99.999"]).reporting.percentiles;
    assert_eq!((list.values, list.precision), (vec![5.0, 99.0, 99.999], 3));
    for text in ["0", "101", "a", "50:", "nan", "1e1", "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21"] {
        assert_eq!(job_errors(&[&format!("--percentile_list={text}")]).len(), 1, "{text}");
    }
}

#[test]
fn patterns_take_a_modifier() {
    assert_eq!(job(&["--rw=read:-8k"]).workload.modifier, Some(-8192));
    assert_eq!(job(&["--rw=randread:8"]).workload.modifier, Some(8));
    for text in ["read:", "Read", "rea", "readfoo", "read:x", "randread:0", "randread:-1"] {
        assert_eq!(job_errors(&[&format!("--rw={text}")]).len(), 1, "{text}");
    }
}

#[test]
fn switches_take_0_and_1_and_flags_may_stand_alone() {
    assert!(job(&["--direct=1"]).direct && !job(&["--direct=0"]).direct && job(&["--direct=01"]).direct);
    assert!(job(&["--thread"]).thread && !job(&["--thread=0"]).thread);
    for text in ["--direct=2", "--direct=maybe", "--direct=-1", "--direct=", "--thread=y"] {
        assert_eq!(job_errors(&[text]).len(), 1, "{text}");
    }
    assert_eq!(job_errors(&["--direct"]).len(), 1, "a switch needs its value");
}

#[test]
fn limits_are_kept() {
    for text in [
        "--numjobs=0",
        "--iodepth=0",
        "--nice=20",
        "--nice=-21",
        "--rwmixread=101",
        "--significant_figures=0",
        "--significant_figures=11",
        "--size=101%",
        "--size=2z",
        "--filesize=0",
        "--loops=0",
        "--bwavgtime=0",
        "--iodepth=5000000000",
    ] {
        assert_eq!(job_errors(&[text]).len(), 1, "{text}");
    }
}
