//! `zonemode=zbd` end to end, on the disk of zones that `sim` has: it refuses what a real one refuses, so a job that
//! ends without an error did nothing wrong.

use std::process::Output;

use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

const DISK: &str = "--ioengine=sim --filename=disk --zonemode=zbd --sim_zone_size=64k --bs=4k";

fn command(caller: &str, more: &str) -> Output {
    let folder = Folder::new(&format!("zones-{caller}"));
    let words: Vec<&str> = DISK.split_whitespace().chain(more.split_whitespace()).collect();
    run(iostrata(), &words, folder.path())
}

/// The jobs of a run that succeeds.
fn jobs(caller: &str, more: &str) -> Vec<Value> {
    let output = command(caller, &format!("--output-format=json {more}"));
    assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["jobs"].as_array().unwrap().clone()
}

fn ios(job: &Value, direction: &str) -> u64 {
    job[direction]["total_ios"].as_u64().unwrap()
}

fn resets(job: &Value) -> u64 {
    job["zone_resets"].as_u64().unwrap()
}

#[test]
fn every_zone_is_filled_once_and_reset_once_to_be_filled_again() {
    for pattern in ["write", "randwrite"] {
        let more = format!("--name=j --rw={pattern} --size=32z --iodepth=16 --sim_conventional_zones=2");
        let once = &jobs("once", &more)[0];
        assert_eq!((ios(once, "write"), resets(once)), (512, 0), "{pattern}");
        let twice = &jobs("twice", &format!("{more} --loops=2"))[0];
        assert_eq!((ios(twice, "write"), resets(twice)), (1024, 30), "{pattern}: two zones are conventional");
    }
}

#[test]
fn jobs_that_share_a_disk_never_open_a_zone_too_many() {
    let more = "--name=j --rw=randwrite --size=32z --iodepth=16 --numjobs=4 --sim_max_open_zones=4";
    let all = jobs("shared", more);
    assert!(all.iter().all(|job| ios(job, "write") == 512), "{all:?}");
    // Four times the disk is written, and only full zones are reset.
    let resets: u64 = all.iter().map(resets).sum();
    assert!((4 * 32 - 32 - 4..=4 * 32).contains(&resets), "{resets}");
    // Sequences wait for one another.
    let more = "--name=j --rw=write --size=8z --offset_increment=8z --iodepth=4 --numjobs=4 --sim_max_open_zones=2";
    let all = jobs("sequences", more);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|job| (ios(job, "write"), self::resets(job)) == (128, 0)), "{all:?}");
}

#[test]
fn what_is_read_was_written_and_what_is_trimmed_is_gone() {
    let more = "--name=w --rw=write --size=6z --name=r --stonewall --rw=randread --size=32z --iodepth=8 --name=t \
                --stonewall --rw=randtrim --bs=64k --size=32z --name=again --stonewall --rw=read --bs=4k --size=32z";
    let all = jobs("life", more);
    let counts: Vec<_> = all.iter().map(|job| ["read", "write", "trim"].map(|direction| ios(job, direction))).collect();
    assert_eq!(counts, [[0, 96, 0], [512, 0, 0], [0, 0, 6], [0, 0, 0]]);
    assert_eq!(resets(&all[2]), 6);
}

#[test]
fn a_zone_that_blocks_do_not_divide_is_finished_or_filled() {
    let more = "--name=j --rw=write --bs=20k --size=16z --iodepth=4 --sim_max_active_zones=1";
    let finished = &jobs("finished", more)[0];
    assert_eq!((ios(finished, "write"), finished["write"]["io_bytes"].as_u64()), (48, Some((48 * 20) << 10)));
    let filled = &jobs("filled", &format!("{more} --write_zone_remainder=1"))[0];
    assert_eq!((ios(filled, "write"), filled["write"]["io_bytes"].as_u64()), (64, Some(1 << 20)));
}

#[test]
fn a_failed_write_ends_the_job_unless_it_is_to_be_recovered() {
    let more = "--name=j --rw=write --size=16z --iodepth=4 --sim_error_every=50";
    assert!(!command("failed", more).status.success());
    let recovered = &jobs("recovered", &format!("{more} --recover_zbd_write_error=1"))[0];
    assert_eq!(ios(recovered, "write"), 256);
}

#[test]
fn garbage_collection_is_simulated_by_resets_before_their_time() {
    let more = "--name=j --rw=randwrite --size=16z --zone_reset_threshold=0.5 --zone_reset_frequency=0.25";
    let job = &jobs("collected", more)[0];
    // From half of the 256 writes on one in four.
    assert!((16..=32).contains(&resets(job)), "{job}");
}

#[test]
fn the_disk_tells_its_zones_and_its_limits() {
    let error = |caller: &str, more: &str| {
        let output = command(caller, &format!("--name=j --rw=write --size=4z {more}"));
        assert_eq!(output.status.code(), Some(1), "{more}");
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
    };
    assert!(error("told", "--zonesize=32k").contains("the zones of disk have 65536 bytes"));
    let limit = error("limit", "--sim_max_open_zones=2 --max_open_zones=3");
    assert!(limit.contains("disk takes 2 open zones"), "{limit}");
    assert!(error("large", "--bs=128k").contains("blocks of 131072 bytes do not fit into zones of 65536"));
}

#[test]
fn more_zones_than_memory_is_meant_for_are_refused() {
    let output =
        command("many", "--name=j --zonesize=512 --sim_zone_size=512 --bs=512 --rw=randwrite --size=99999999z");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("99999999 zones of 512 bytes") && said.contains("larger zonesize="), "{said}");
}
