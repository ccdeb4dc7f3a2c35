//! Canned workloads become plain jobs.

use iostrata_spec::{Action, IdleReport, Service, Size};

use crate::world::World;

fn errors(args: &[&str]) -> Vec<String> {
    World::default().run(args).unwrap_err().into_iter().map(|diagnostic| diagnostic.message).collect()
}

#[test]
fn tiobench_takes_its_own_options_wherever_they_stand() {
    for args in [["--profile=tiobench", "--size=8", "--threads=2"], ["--threads=2", "--size=8", "--profile=tiobench"]] {
        let jobs = World::default().jobs(&args);
        let seen: Vec<_> =
            jobs.iter().map(|job| (job.name.as_str(), job.stonewall, job.clones, job.overwrite)).collect();
        let rest = ["randwrite", "seqread", "randread"].map(|name| (name, true, 2, true));
        assert_eq!(seen, [&[("seqwrite", false, 2, true)][..], &rest].concat());
        assert!(jobs.iter().all(|job| job.size == Some(Size::Bytes(8 << 20)) && job.direct && job.files == 4));
    }
    let jobs = World::default().jobs(&["--profile=tiobench", "--size=64k", "--runtime=5"]);
    assert_eq!((&jobs[0].size, jobs[0].runtime_ns), (&Some(Size::Bytes(65536)), 5_000_000_000));
    // As in fio: so many pages as the machine has MiB.
    assert_eq!(World::default().jobs(&["--profile=tiobench"])[3].size, Some(Size::Bytes(3072 * 4096)));
}

#[test]
fn act_reads_and_writes_each_device_at_its_load() {
    let own = ["--load=3", "--threads-per-queue=2", "--read-req-num-512-blocks=8", "--large-block-op-kbytes=65536"];
    let args = [&["--profile=act", "--device-names=x,y", "--test-duration=1h"][..], &own].concat();
    let jobs = World::default().jobs(&args);
    let seen: Vec<_> =
        jobs.iter().map(|job| (job.name.as_str(), job.clones, job.rate.iops.read, job.block_size.read)).collect();
    let device = |read, write| [(read, 2, Some(3000), 4096), (write, 1, Some(188), 65536)];
    assert_eq!(seen, [device("act-read-x", "act-write-x"), device("act-read-y", "act-write-y")].concat());
    assert!(jobs.iter().all(|job| job.runtime_ns == 3_600_000_000_000 && job.time_based && job.reporting.group));
    let jobs = World::default().jobs(&["--profile=act", "--device-names=x", "--prep"]);
    let seen: Vec<_> = jobs.iter().map(|job| (job.name.as_str(), job.stonewall, job.depth)).collect();
    assert_eq!(seen, [("act-prep-zeroes-x", false, 1), ("act-prep-salt-x", true, 64)]);
}

#[test]
fn a_profile_that_cannot_be_is_explained() {
    assert!(errors(&["--profile=none"])[0].contains("`none` not found"));
    assert!(errors(&["--profile=act"])[0].contains("--device-names"));
    assert!(errors(&["--profile=act", "--device-names=x", "--large-block-op-kbytes=1024"])[0].contains("shorter"));
    assert!(errors(&["--profile=tiobench", "--threads=0"])[0].contains("threads"));
    assert!(errors(&["--profile=tiobench", "--name=x"])[0].contains("jobs of its own"));
    assert!(errors(&["--name=x", "--ioengine=null", "--size=1m", "--threads=2"])[0].contains("unknown option"));
    let world = World::default().file("j.fio", "[x]\nioengine=null\nsize=1m\nprofile=act\n");
    let invocation = world.run(&["j.fio"]).unwrap();
    assert!(invocation.diagnostics[0].message.contains("does nothing in a job file"));
}

#[test]
fn services_are_done_at_once() {
    let action = |args: &[&str]| World::default().run(args).unwrap().action;
    assert_eq!(action(&["--inflate-log=x.fz", "--name=a"]), Action::Serve(Service::InflateLog("x.fz".into())));
    assert_eq!(action(&["--cpuclock-test"]), Action::Serve(Service::ClockTest));
    assert!(matches!(action(&["--crctest"]), Action::Serve(Service::Checksums(all)) if all.len() == 14));
    assert!(matches!(action(&["--crctest=md5,crc7"]), Action::Serve(Service::Checksums(two)) if two.len() == 2));
    assert!(matches!(action(&["--memcpytest"]), Action::Serve(Service::Copies(all)) if all.len() == 4));
    assert!(matches!(action(&["--crctest=help"]), Action::Print(text) if text.starts_with("md5\n")));
    assert!(errors(&["--memcpytest=md5"])[0].contains("`md5`"));
    let tool = World::default().run(&["--idle-prof=percpu", "--name=a", "--size=4k"]).unwrap().tool;
    assert_eq!(tool.idle, Some(IdleReport::PerCpu));
    let unfit = ["--name=a", "--size=4k", "--log_store_compressed=1", "--log_issue_time=1"];
    assert!(errors(&unfit)[0].contains("`log_issue_time`"));
}
