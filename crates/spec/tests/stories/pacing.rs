//! What the options of time and rate mean to each other.

use iostrata_spec::{SteadyCriterion, SteadyMeasure};

use crate::world::{World, job, job_errors};

#[test]
fn a_lowest_rate_is_below_the_highest_and_of_one_kind() {
    assert_eq!(job_errors(&["--rate=20k", "--rate_min=10m"]), ["rate_min exceeds the rate that the job is held to"]);
    assert_eq!(
        job_errors(&["--rate_iops=100", "--rate_iops_min=,200"]),
        ["rate_iops_min exceeds the rate that the job is held to"]
    );
    assert_eq!(job_errors(&["--rate_min=1m", "--rate_iops_min=10"]), ["rate and rate_iops are mutually exclusive"]);
    assert!(job(&["--rate=10m", "--rate_min=10m"]).rate.min_bytes.read.is_some());
}

#[test]
fn io_time_alone_decides_when_to_pause_unless_blocks_are_given_too() {
    assert_eq!(job(&["--thinktime=1s", "--thinktime_iotime=9"]).think.blocks, u64::MAX);
    let both = job(&["--thinktime=1s", "--thinktime_iotime=9", "--thinktime_blocks=5"]);
    assert_eq!((both.think.blocks, both.think.io_ns), (5, 9_000_000_000));
}

#[test]
fn a_search_for_a_latency_needs_a_window() {
    let errors = job_errors(&["--latency_target=2ms"]);
    assert_eq!(errors, ["latency_target needs a window over which each depth is judged"]);
    let search = job(&["--latency_target=2ms", "--latency_window=200ms", "--latency_percentile=99.9"]).latency_search;
    assert_eq!((search.target_ns, search.window_ns, search.percentile), (2_000_000, 200_000_000, 99.9));
}

#[test]
fn steady_state_is_off_without_a_duration_and_has_fio_s_default_with_one() {
    let invocation = World::default().run(&["--name=x", "--steadystate=iops:5%"]).unwrap();
    assert_eq!(invocation.diagnostics[0].message, "steadystate has no effect without steadystate_duration");
    let steady = job(&["--ss_dur=10"]).steady;
    assert_eq!((steady.criterion, steady.samples()), (SteadyCriterion::DEFAULT, 10));
    assert_eq!(job(&["--ss_dur=5", "--ss_interval=2"]).steady.samples(), 3);
    assert_eq!(job(&["--ss_dur=1", "--ss_interval=0"]).steady.samples(), 1);
}

#[test]
fn a_criterion_is_a_word_and_a_limit() {
    let criterion = job(&["--ss_dur=1", "--ss=bw : 12.5 %"]).steady.criterion;
    let wanted = SteadyCriterion { measure: SteadyMeasure::Bandwidth, slope: false, limit: 12.5, percent: true };
    assert_eq!(criterion, wanted);
    assert_eq!(job_errors(&["--ss=iops"]), ["`steadystate`: a limit is missing after the criterion"]);
    for bad in ["--ss=foo:5%", "--ss=iops:", "--ss=iops:%", "--ss=iops:-3", "--ss=iops:nan", "--ss=lat:1e400"] {
        assert_eq!(job_errors(&[bad]).len(), 1, "{bad}");
    }
}
