//! The same jobs in iostrata and in the real fio: what both did must agree.
//!
//! Known differences, all deliberate: fio 3.33 counts an fdatasync as a short read (3.42 does not, and we do not);
//! which I/Os of a random mix are reads, and what sizes a range of `filesize` gives, is a matter of each program's
//! random numbers; where directions have different block sizes, fio's random map lets blocks overlap and ends a pass
//! long before all is covered, while ours covers each byte once.

use std::path::{Path, PathBuf};

use iostrata_testkit::compare::{close, differences};
use iostrata_testkit::lines::{AMOUNTS, Check, FILES, JOBS, Line, TIMED};
use iostrata_testkit::lines_data::DATA;
use iostrata_testkit::lines_engines;
use iostrata_testkit::lines_files::{SERVICE, SHAPES};
use iostrata_testkit::lines_memory::{HUGE, MEMORY, ORDERED, TRIMMED};
use iostrata_testkit::lines_process;
use iostrata_testkit::lines_shape;
use iostrata_testkit::lines_time::{LIMITED, PACED};
use iostrata_testkit::lines_verify::CHECKED;
use iostrata_testkit::lines_zones::{RESETS, ZONES};
use iostrata_testkit::pairs::all_pairs;
use iostrata_testkit::{
    Folder, HugePages, Loop, Mount, Outcome, alone, fio, iostrata, is_root, measure, run, some_at_once, which,
};

const ENGINES: [&str; 10] =
    ["null", "psync", "pvsync", "pvsync2", "sync", "mmap", "splice", "libaio", "posixaio", "io_uring"];
const WORKLOADS: [&str; 5] = ["read", "write", "randread", "randwrite", "randrw"];
const TARGETS: [&str; 4] = ["ext4", "xfs", "tmpfs", "loop device"];
const DIRECT: [&str; 2] = ["0", "1"];
const DEPTHS: [&str; 2] = ["1", "32"];
/// How often a timed pair may be repeated: a busy machine stalls either program now and then.
const ATTEMPTS: u32 = 3;

/// Both programs run it, each in a fresh folder of its own with the given files in it.
fn both(parent: &Path, given: &[(&str, u64)], words: &[&str]) -> (Outcome, Outcome) {
    let one = |program: &Path| {
        let folder = Folder::below(parent, "run");
        for (name, bytes) in given {
            folder.give(name, *bytes);
        }
        measure(program, words, folder.path())
    };
    (one(&fio().expect("the caller looked for fio")), one(Path::new(iostrata())))
}

fn scratch() -> PathBuf {
    iostrata_testkit::scratch().to_path_buf()
}

/// One line in both; what differs, as a text.
fn try_line(line: &Line) -> Option<String> {
    let words = line.words();
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        let (fio, ours) = both(&scratch(), line.given, &words);
        found = differences(line.check, &fio, &ours);
        let Check::Time(percent) = line.check else { break };
        for (fio, ours) in fio.counts().iter().zip(&ours.counts()) {
            if !close(ours.runtime_ms, fio.runtime_ms, percent) {
                found.push(format!("{}: {} ms for fio's {} ms", fio.name, ours.runtime_ms, fio.runtime_ms));
            }
        }
        if found.is_empty() {
            break;
        }
    }
    (!found.is_empty()).then(|| format!("{}: {}\n    {}", line.about, words.join(" "), found.join("\n    ")))
}

fn try_all(lines: &[Line]) {
    let _alone = alone();
    if fio().is_none() {
        iostrata_testkit::skip!("comparing with fio", "apt-get install fio");
    }
    let timed = lines.iter().any(|line| matches!(line.check, Check::Time(_)));
    let found = if timed { lines.iter().map(try_line).collect() } else { some_at_once(lines, try_line) };
    let failures: Vec<String> = found.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {} lines differ:\n{}", failures.len(), lines.len(), failures.join("\n"));
}

#[test]
fn sizes_offsets_loops_and_orders_move_what_fio_moves() {
    try_all(AMOUNTS);
}

#[test]
fn files_are_made_synced_and_left_as_fio_leaves_them() {
    try_all(FILES);
}

#[test]
fn the_next_file_is_chosen_and_opened_as_in_fio() {
    try_all(SERVICE);
    try_all(SHAPES);
}

#[test]
fn jobs_groups_queues_and_reports_are_fios() {
    try_all(JOBS);
}

#[test]
fn what_is_checked_is_written_and_read_back_as_in_fio() {
    try_all(CHECKED);
}

#[test]
fn buffers_lie_elsewhere_and_the_same_is_moved() {
    try_all(MEMORY);
}

#[test]
fn buffers_lie_in_huge_pages_and_the_same_is_moved() {
    let Some(_pages) = HugePages::reserve(32) else {
        iostrata_testkit::skip!("huge pages", "run as root on a machine with memory to spare");
    };
    try_all(HUGE);
}

#[test]
fn locks_syncs_and_sizes_by_order_are_fios() {
    try_all(ORDERED);
}

#[test]
fn what_is_trimmed_before_it_is_read_back_is_counted_as_in_fio() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    if !is_root() {
        iostrata_testkit::skip!("comparing with fio on a device that trims", "run as root: it makes a loop device");
    }
    for line in TRIMMED {
        let one = |program: &Path| {
            let (device, folder) = (Loop::new("trimmed", 16), Folder::new("trimmed-run"));
            let words: Vec<String> = line.words().iter().map(|word| word.replace("DEVICE", &device.device)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--verify_state_save=0"]).collect();
            measure(program, &words, folder.path())
        };
        let found = differences(line.check, &one(&fio), &one(Path::new(iostrata())));
        assert!(found.is_empty(), "{}: {found:?}", line.arguments);
    }
}

#[test]
fn errors_orders_and_rights_are_fios() {
    try_all(lines_process::COUNTED);
}

#[test]
fn the_end_of_a_job_takes_along_whom_it_takes_along_in_fio() {
    try_all(lines_process::TIMED);
}

#[test]
fn drawn_sizes_laws_and_zones_move_what_fio_moves() {
    try_all(lines_shape::SHAPES);
}

#[test]
fn each_engine_does_to_its_files_what_it_does_in_fio() {
    try_all(lines_engines::ENGINES);
}

#[test]
fn zones_are_written_read_and_reset_as_in_fio() {
    try_all(ZONES);
}

#[test]
fn as_many_zones_are_reset_as_in_fio() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    let resets = |program: &Path, line: &str| {
        let folder = Folder::new("zone-resets");
        folder.give("f", 1 << 20);
        let named = if line.contains("--name") { &[][..] } else { &["--name=j"] };
        let words: Vec<&str> = named.iter().copied().chain(line.split_whitespace()).collect();
        let output = run(program, &words, folder.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let of_line = |line: &str| line.strip_suffix(" zone resets")?.rsplit(' ').next()?.parse::<u64>().ok();
        text.lines().filter_map(of_line).collect::<Vec<_>>()
    };
    for line in RESETS {
        let theirs = resets(&fio, line);
        assert!(!theirs.is_empty(), "{line}");
        assert_eq!(resets(Path::new(iostrata()), line), theirs, "{line}: ours left, fio's right");
    }
}

#[test]
fn what_is_written_changes_nothing_in_how_much_is() {
    try_all(DATA);
}

#[test]
fn runs_that_time_ends_take_fios_time() {
    try_all(TIMED);
}

#[test]
fn jobs_that_are_held_to_a_rate_or_a_latency_take_fios_time() {
    try_all(PACED);
}

#[test]
fn jobs_that_miss_a_limit_end_as_in_fio() {
    try_all(LIMITED);
}

#[test]
fn every_pair_of_engine_workload_target_caching_and_depth_agrees_with_fio() {
    let _alone = alone();
    if fio().is_none() || which("mkfs.xfs").is_none() {
        iostrata_testkit::skip!("comparing with fio on several file systems", "apt-get install fio xfsprogs");
    }
    if !is_root() {
        iostrata_testkit::skip!("comparing with fio on several file systems", "run as root: it mounts");
    }
    let (ext4, xfs, tmpfs) = (Mount::new("ext4"), Mount::new("xfs"), Mount::new("tmpfs"));
    let device = Loop::new("pairs", 64);
    let folders = [ext4.path(), xfs.path(), tmpfs.path(), tmpfs.path()];
    let sizes = [ENGINES.len(), WORKLOADS.len(), TARGETS.len(), DIRECT.len(), DEPTHS.len()];
    let mut failures = Vec::new();
    let rows = all_pairs(&sizes);
    for (number, row) in rows.iter().enumerate() {
        let [engine, workload, target, direct, depth] = row[..] else { panic!("a row has five factors") };
        let seed = 1000 + number;
        let line = format!(
            "--name=j --filename={} --size=1m --bs=4k --ioengine={} --rw={} --direct={} --iodepth={} --randseed={seed}",
            if target == 3 { &device.device } else { "data" },
            ENGINES[engine],
            WORKLOADS[workload],
            DIRECT[direct],
            DEPTHS[depth],
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        let (fio, ours) = both(folders[target], &[], &words);
        let check = if WORKLOADS[workload] == "randrw" { Check::Mix(50) } else { Check::Exact };
        let found = differences(check, &fio, &ours);
        if !found.is_empty() {
            failures.push(format!("{} on {}: {line}\n    {}", number + 1, TARGETS[target], found.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "{} of {} rows differ:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

/// fio 3.33 itself now and then sleeps for ever with thinktime_spin on a busy machine, so iostrata is its own measure.
#[test]
fn thinktime_spin_is_a_part_of_the_think_time() {
    let _alone = alone();
    let folder = Folder::new("spin");
    let base = ["--name=j", "--rw=write", "--size=128k", "--thinktime=20ms"];
    let mut times = (0, 0);
    for _ in 0..ATTEMPTS {
        let time = |spin: &str| {
            let words: Vec<&str> = base.into_iter().chain([spin]).collect();
            let outcome = measure(iostrata(), &words, folder.path());
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            outcome.counts()[0].runtime_ms
        };
        times = (time("--thinktime_spin=10ms"), time("--thinktime_spin=0"));
        if close(times.0, times.1, 20) {
            return;
        }
    }
    panic!("{} ms with spinning, {} ms without", times.0, times.1);
}

#[test]
fn buffers_hold_zeros_the_same_bytes_or_new_ones_as_in_fio() {
    let _alone = alone();
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    // Different blocks among the 64 of the file that one buffer wrote.
    let blocks = |program: &Path, option: &str| {
        let folder = Folder::new("buffers");
        let words = ["--name=j", "--rw=write", "--size=256k", "--filename=data", option];
        assert_eq!(measure(program, &words, folder.path()).code, 0, "{option}");
        let data = std::fs::read(folder.path().join("data")).unwrap();
        let different: std::collections::HashSet<&[u8]> = data.chunks(4096).collect();
        let zeros = data.iter().filter(|byte| **byte == 0).count();
        // Random bytes are zero one time in 256.
        (
            different.len(),
            if zeros == data.len() {
                "zeros"
            } else if zeros < data.len() / 64 {
                "random"
            } else {
                "mixed"
            },
        )
    };
    for option in ["--zero_buffers", "--scramble_buffers=0", "--scramble_buffers=1", "--refill_buffers"] {
        assert_eq!(blocks(Path::new(iostrata()), option), blocks(&fio, option), "{option}: ours left, fio's right");
    }
}

/// What must agree for a job file of the corpus, by what is in it.
fn check_of(text: &str) -> Check {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let ranged = |line: &str| line.starts_with("filesize=") && line.contains('-');
    let uneven = |line: &str| line.starts_with("bs=") && line.contains(',');
    match () {
        () if text.contains("exitall") || text.lines().any(|line| ranged(line) || uneven(line)) => Check::Ends,
        () if says(&["time_based", "runtime="]) => Check::Time(25),
        () if says(&["=randrw", "=rw\n", "=rw\r", "=readwrite"]) => Check::Tossed,
        () => Check::Exact,
    }
}

#[test]
fn the_job_files_of_the_corpus_do_what_they_do_in_fio() {
    let _alone = alone();
    if fio().is_none() {
        iostrata_testkit::skip!("comparing with fio", "apt-get install fio");
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    files.sort();
    assert!(files.len() >= 60, "{} job files", files.len());
    let try_file = |file: &PathBuf| {
        let check = check_of(&std::fs::read_to_string(file).unwrap());
        let (fio, ours) = both(&scratch(), &[], &[file.to_str().unwrap()]);
        let found = differences(check, &fio, &ours);
        (!found.is_empty()).then(|| format!("{}:\n    {}", file.display(), found.join("\n    ")))
    };
    let failures: Vec<String> = some_at_once(&files, try_file).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), files.len(), failures.join("\n"));
}

#[test]
fn sizes_of_files_are_drawn_from_their_range_and_size_bounds_the_bytes() {
    let _alone = alone();
    if fio().is_none() {
        iostrata_testkit::skip!("comparing with fio", "apt-get install fio");
    }
    let words = ["--name=j", "--rw=write", "--filesize=16k-64k", "--nrfiles=10", "--size=160k", "--randseed=7"];
    let (fio, ours) = both(&scratch(), &[], &words);
    assert_eq!(ours.counts()[0].done, fio.counts()[0].done);
    for outcome in [&fio, &ours] {
        assert_eq!(outcome.files.len(), 10, "{:?}", outcome.files);
        let fits = |bytes: u64| (16 << 10..=64 << 10).contains(&bytes) && bytes.is_multiple_of(4096);
        assert!(outcome.files.iter().all(|(_, bytes)| fits(*bytes)), "{:?}", outcome.files);
        assert!(outcome.files.iter().any(|(_, bytes)| *bytes != outcome.files[0].1), "{:?}", outcome.files);
    }
    let again = both(&scratch(), &[], &words).1;
    assert_eq!(again.files, ours.files, "the same seed draws the same sizes");
}

#[test]
fn an_all_pairs_table_has_every_pair() {
    let sizes = [6, 5, 4, 2, 2];
    let rows = all_pairs(&sizes);
    for first in 0..sizes.len() {
        for second in first + 1..sizes.len() {
            for a in 0..sizes[first] {
                for b in 0..sizes[second] {
                    let there = rows.iter().any(|row| row[first] == a && row[second] == b);
                    assert!(there, "no row has value {a} of factor {first} with value {b} of factor {second}");
                }
            }
        }
    }
    assert!(rows.len() < 45, "{} rows are no small table", rows.len());
}
