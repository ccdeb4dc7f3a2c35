//! Logs over time, as files that other programs read. Most stories run on `sim`, whose time is virtual.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use iostrata_testkit::{Folder, iostrata, measure, run};

/// A job whose device answers in well under a millisecond.
const SIM: &[&str] = &["--name=t", "--ioengine=sim", "--bs=4k", "--size=1g", "--time_based"];

/// The lines of a log as numbers.
fn rows(folder: &Folder, name: &str) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let number = |word: &str| word.trim().parse().unwrap_or_else(|_| panic!("{name}: {word}"));
    text.lines().map(|line| line.split(',').map(number).collect()).collect()
}

/// Runs a job that must succeed; bytes and I/Os of reads and writes of its first entry.
fn job(folder: &Folder, words: &[&str]) -> [(u64, u64); 2] {
    let outcome = measure(iostrata(), words, folder.path());
    assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.stderr);
    let counts = outcome.counts();
    [counts[0].done[0], counts[0].done[1]]
}

fn names(folder: &Path) -> Vec<String> {
    iostrata_testkit::list(folder).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn windows_are_aligned_and_add_up_to_every_byte() {
    let folder = Folder::new("logs-windows");
    let more = ["--rw=randrw", "--runtime=1030ms", "--iodepth=4", "--write_bw_log=l", "--write_iops_log=l"];
    let done = job(&folder, &[SIM, &more, &["--log_avg_msec=100"]].concat());
    for direction in 0..2 {
        let of = |name| rows(&folder, name).into_iter().filter(|row| row[2] == direction).collect::<Vec<_>>();
        let (bandwidth, iops) = (of("l_bw.1.log"), of("l_iops.1.log"));
        let ends: Vec<u64> = bandwidth.iter().map(|row| row[0]).collect();
        assert_eq!(ends[..9], [100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert_eq!(ends.len(), 10, "the rest of 30 ms belongs to the last window: {ends:?}");
        assert!((1030..1040).contains(&ends[9]), "{ends:?}");
        let lengths = ends.iter().scan(0, |begin, end| Some(end - std::mem::replace(begin, *end)));
        let sum = |rows: &[Vec<u64>], unit: u64| -> u64 {
            lengths.clone().zip(rows).map(|(length_ms, row)| row[1] * unit * length_ms / 1000).sum()
        };
        let (bytes, ios) = done[direction as usize];
        // Each row is rounded down to its unit, and the last end to a millisecond.
        let near = |sum: u64, whole: u64| sum.abs_diff(whole) <= whole / 100;
        assert!(near(sum(&bandwidth, 1024), bytes), "{} of {bytes}", sum(&bandwidth, 1024));
        assert!(near(sum(&iops, 1), ios), "{} of {ios}", sum(&iops, 1));
    }
}

#[test]
fn without_windows_every_io_has_a_line_in_each_log() {
    let folder = Folder::new("logs-each");
    let words = ["--name=each", "--ioengine=sim", "--rw=randrw", "--bs=4k", "--size=1m", "--log_offset=1"];
    let [reads, writes] = job(&folder, &[&words[..], &["--write_lat_log", "--write_bw_log"]].concat());
    let (clat, lat) = (rows(&folder, "each_clat.1.log"), rows(&folder, "each_lat.1.log"));
    assert_eq!(clat.len() as u64, reads.1 + writes.1);
    let mut offsets: Vec<u64> = clat.iter().map(|row| row[4]).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..256).map(|block| block * 4096).collect::<Vec<_>>());
    for (clat, lat) in clat.iter().zip(&lat) {
        assert_eq!((clat[0], clat[2], clat[3], clat.len()), (lat[0], lat[2], 4096, 6));
        assert!(clat[1] > 0 && clat[1] <= lat[1]);
    }
    assert_eq!(rows(&folder, "each_bw.1.log").len(), clat.len());
}

#[test]
fn clones_share_one_file_when_asked_to() {
    let folder = Folder::new("logs-shared");
    let words = ["--name=s", "--ioengine=sim", "--bs=4k", "--size=64k", "--numjobs=3", "--write_lat_log=x"];
    job(&folder, &[&words[..], &["--per_job_logs=0"]].concat());
    assert_eq!(names(folder.path()), ["x_clat.log", "x_lat.log", "x_slat.log"]);
    assert_eq!(rows(&folder, "x_clat.log").len(), 3 * 16);
    job(&folder, &words);
    assert!(names(folder.path()).contains(&"x_lat.3.log".to_owned()));
}

#[test]
fn histograms_hold_every_io_once() {
    let folder = Folder::new("logs-histograms");
    let words = ["--rw=randread", "--runtime=1", "--write_hist_log=h", "--log_hist_msec=250"];
    for (coarseness, columns) in [("0", 1856), ("3", 232)] {
        let coarse = format!("--log_hist_coarseness={coarseness}");
        let [reads, _] = job(&folder, &[SIM, &words, &[&coarse]].concat());
        let rows = rows(&folder, "h_clat_hist.1.log");
        assert!(rows.iter().all(|row| row.len() == 3 + columns && row[1..3] == [0, 4096]));
        assert_eq!(rows.iter().map(|row| row[3..].iter().sum::<u64>()).sum::<u64>(), reads.1);
        assert_eq!(rows[..4].iter().map(|row| row[0]).collect::<Vec<_>>(), [250, 500, 750, 1000]);
    }
}

#[test]
fn the_largest_of_a_window_is_no_less_than_its_mean() {
    let folder = Folder::new("logs-both");
    let words = ["--rw=randread", "--runtime=1", "--write_lat_log=b", "--log_avg_msec=100", "--log_window_value=both"];
    job(&folder, &[SIM, &words].concat());
    let rows = rows(&folder, "b_clat.1.log");
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.len() == 6 && row[2] > row[1]), "{rows:?}");
}

#[test]
fn a_log_into_a_folder_that_is_not_there_is_refused_before_the_run() {
    let folder = Folder::new("logs-nowhere");
    let output = run(iostrata(), &["--name=t", "--ioengine=null", "--size=1m", "--write_bw_log=no/l"], folder.path());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no/l_bw.1.log") && said.contains("folder"), "{said}");
    assert!(names(folder.path()).is_empty());
}

/// After a stall that is longer than a window many lines had the same time.
#[test]
fn bug_b40() {
    let folder = Folder::new("b40");
    let stall = ["--rw=read", "--runtime=3", "--sim_stall_every=2000", "--sim_stall=500ms"];
    job(&folder, &[SIM, &stall, &["--write_lat_log=l", "--write_bw_log=l", "--log_avg_msec=50"]].concat());
    for name in ["l_lat.1.log", "l_clat.1.log", "l_bw.1.log"] {
        let rows = rows(&folder, name);
        assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{name}: {rows:?}");
    }
    let bandwidth = rows(&folder, "l_bw.1.log");
    assert!(bandwidth.iter().filter(|row| row[1] == 0).count() >= 9, "a stall is ten windows of nothing");
}

/// Short windows gave absurd rates.
#[test]
fn bug_b41() {
    let folder = Folder::new("b41");
    let words = ["--rw=randread", "--runtime=1", "--rate_iops=2000", "--write_iops_log=l", "--log_avg_msec=10"];
    job(&folder, &[SIM, &words].concat());
    let rows = rows(&folder, "l_iops.1.log");
    assert_eq!(rows.len(), 100);
    assert!(rows.iter().all(|row| (1700..=2300).contains(&row[1])), "{rows:?}");
}

/// Long windows gave rates that were six times too low.
#[test]
fn bug_b42() {
    let folder = Folder::new("b42");
    let words = ["--rw=randread", "--runtime=75", "--rate_iops=100", "--write_iops_log=l", "--log_avg_msec=25000"];
    job(&folder, &[SIM, &words].concat());
    let rows = rows(&folder, "l_iops.1.log");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [25_000, 50_000, 75_000]);
    assert!(rows.iter().all(|row| (99..=101).contains(&row[1])), "{rows:?}");
}

/// After the ramp a log fell back to a line for each I/O.
#[test]
fn bug_b43() {
    let folder = Folder::new("b43");
    let words = ["--rw=read", "--ramp_time=1", "--runtime=2", "--write_lat_log=l", "--log_avg_msec=500"];
    job(&folder, &[SIM, &words].concat());
    for name in ["l_slat.1.log", "l_clat.1.log", "l_lat.1.log"] {
        let ends: Vec<u64> = rows(&folder, name).iter().map(|row| row[0]).collect();
        assert_eq!(ends, [500, 1000, 1500, 2000], "{name}");
    }
}

/// The second direction's windows were shifted, and the last one was missing.
#[test]
fn bug_b44() {
    let folder = Folder::new("b44");
    let words = ["--rw=rw", "--rate_iops=10,10", "--runtime=3", "--write_iops_log=l", "--log_avg_msec=1000"];
    job(&folder, &[SIM, &words].concat());
    let rows: Vec<[u64; 3]> = rows(&folder, "l_iops.1.log").iter().map(|row| [row[0], row[1], row[2]]).collect();
    let wanted = [1000, 2000, 3000].map(|end| [[end, 10, 0], [end, 10, 1]]);
    assert_eq!(rows, wanted.concat());
}

/// With many jobs most logs were empty or had gaps.
#[test]
fn bug_b45() {
    let folder = Folder::new("b45");
    let words = ["--rw=read", "--runtime=3", "--numjobs=32", "--rate_iops=200"];
    job(&folder, &[SIM, &words, &["--write_bw_log=l", "--log_avg_msec=1000"]].concat());
    for number in 1..=32 {
        let ends: Vec<u64> = rows(&folder, &format!("l_bw.{number}.log")).iter().map(|row| row[0]).collect();
        assert_eq!(ends, [1000, 2000, 3000], "job {number}");
    }
}

/// More was written than the files hold, and nobody said why. Here the reference says that each time round counts.
#[test]
fn bug_b49() {
    let folder = Folder::new("b49");
    let words = ["--name=t", "--ioengine=sim", "--rw=write", "--bs=4k", "--size=64k", "--time_based", "--runtime=1"];
    let [_, (bytes, ios)] = job(&folder, &words);
    assert_eq!(bytes, ios * 4096);
    assert!(bytes > 20 * (64 << 10), "{bytes}");
    let page = run(iostrata(), &["--cmdhelp=time_based"], folder.path());
    let said = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(said.contains("each time round counts, so more may be written"), "{said}");
}

/// A run that was terminated left no logs.
#[test]
fn bug_b47() {
    let folder = Folder::new("b47");
    let words = ["--name=t", "--ioengine=null", "--size=1g", "--time_based", "--runtime=600", "--rate_iops=5000"];
    let mut child = Command::new(iostrata())
        .args(words)
        .arg("--write_bw_log=l")
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Under a temporary name until the end.
    for _ in 0..600 {
        if !names(folder.path()).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    run("kill", &["-TERM", &child.id().to_string()], folder.path());
    assert_eq!(child.wait().unwrap().code(), Some(128));
    assert!(!rows(&folder, "l_bw.1.log").is_empty());
    assert_eq!(names(folder.path()), ["l_bw.1.log"]);
}

/// The logs of any job may lie on a disk that any job measures.
#[test]
fn logs_on_a_disk_that_is_measured_are_told_of() {
    let (folder, memory) = (Folder::new("logs-there"), Folder::below(Path::new("/dev/shm"), "logs-elsewhere"));
    let elsewhere = format!("--write_lat_log={}/l", memory.path().display());
    let first = ["--name=a", "--ioengine=null", "--size=64k", &elsewhere];
    let second = ["--name=b", "--ioengine=psync", "--rw=write", "--filename=f", "--size=64k"];
    let told = |words: &[&str]| {
        let output = run(iostrata(), &[words, &["--output-format=json"]].concat(), folder.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        text.contains("logs-on-tested-disk")
    };
    assert!(!told(&[&first[..], &second].concat()), "one in memory, the other without a log");
    assert!(told(&[&first[..], &second, &["--write_bw_log=l"]].concat()));
}
