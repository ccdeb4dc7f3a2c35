//! Every document of one run in virtual time: a run that is the same everywhere, from its words to its pages.

#[path = "../../report/tests/support/golden.rs"]
mod golden;

use iostrata_testkit::{Folder, iostrata, run};

const GOLDENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens");

/// Two jobs: one at a depth, with stalls, failures that it passes over and priorities; one under a rate. Short, so that
/// people can read its documents.
const JOB: &str = "
[global]
ioengine=sim
sim_latency=100us
size=8m
bs=4k
group_reporting
randseed=7

[at a depth]
rw=randrw
rwmixread=75
iodepth=4
numjobs=2
sim_stall_every=500
sim_stall=20ms
sim_error_every=900
continue_on_error=all
lat_percentiles=1
slat_percentiles=1

[under a rate]
new_group
description=a stall that a closed loop would hide
rw=read
rate_iops=2000
time_based
runtime=300ms
sim_stall_every=250
sim_stall=50ms
write_lat_log=rated
log_avg_msec=100
write_bw_log=rated
write_iops_log=rated
write_hist_log=rated
log_hist_msec=100
log_hist_coarseness=6
";

#[test]
fn every_document_of_a_run_in_virtual_time() {
    let folder = Folder::new("golden-sim");
    std::fs::write(folder.path().join("j.fio"), JOB).expect("a file");
    let documents = ["normal", "json+", "terse", "csv", "csv-timeline", "html"];
    let also: Vec<String> = documents.iter().map(|format| format!("--also={format}:sim.{format}")).collect();
    let words: Vec<&str> =
        ["j.fio", "--output=sim.out", "--terse-version=5"].into_iter().chain(also.iter().map(String::as_str)).collect();
    let output = run(iostrata(), &words, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    golden::check(GOLDENS, "sim.out", &folder.text("sim.out"));
    for format in documents {
        let name = format!("sim.{format}");
        let text = folder.text(&name);
        golden::check(GOLDENS, &name, &if format == "html" { golden::of_this_run(&text) } else { text });
    }
    for log in ["bw", "iops", "slat", "clat", "lat", "clat_hist"] {
        let name = format!("rated_{log}.3.log");
        golden::check(GOLDENS, &name, &folder.text(&name));
    }
}
