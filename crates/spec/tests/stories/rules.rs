//! What options mean to each other.

use iostrata_spec::Seed;

use crate::world::{World, errors_of, job, job_errors, jobs_of};

#[test]
fn a_rate_in_bytes_and_one_in_ios_exclude_each_other() {
    assert_eq!(job_errors(&["--rate=1m", "--rate_iops=10"]), ["rate and rate_iops are mutually exclusive"]);
    assert_eq!(errors_of("[global]\nrate=1m\n[a]\nrate_iops=5\n[b]\nrate_iops=5\n").len(), 2);
    assert_eq!(errors_of("[global]\nrate=1m\nrate_iops=5\n[a]\n[b]\n").len(), 1, "said once, where it stands");
}

#[test]
fn time_based_needs_a_runtime() {
    let invocation = World::default().run(&["--name=x", "--time_based"]).unwrap();
    assert!(!invocation.jobs[0].time_based);
    assert_eq!(invocation.diagnostics[0].message, "time_based has no effect without runtime");
    assert_eq!(World::default().errors(&["--warnings-fatal", "--name=x", "--time_based"]).len(), 1);
}

#[test]
fn the_later_of_two_opposites_holds() {
    assert!(job(&["--buffered=1", "--direct=1"]).direct);
    assert!(!job(&["--direct=1", "--buffered=1"]).direct);
    assert_eq!(job(&["--rw=rw", "--rwmixread=90", "--rwmixwrite=60"]).mix_read_percent, 40);
    assert_eq!(job(&["--rw=rw", "--rwmixwrite=60", "--rwmixread=90"]).mix_read_percent, 90);
    assert!(job(&["--gtod_reduce=1", "--disable_lat=0"]).measure.lat);
}

#[test]
fn batches_are_within_the_depth() {
    let j = job(&["--iodepth=4", "--iodepth_batch=9", "--iodepth_low=7", "--iodepth_batch_complete_min=8"]);
    assert_eq!((j.batch_submit, j.depth_low, j.batch_complete_min), (Some(4), Some(4), Some(4)));
    let j = job(&["--iodepth=4", "--iodepth_batch=0", "--iodepth_low=0"]);
    assert_eq!((j.batch_submit, j.depth_low), (Some(4), Some(4)), "0 is the depth");
    let j = job(&["--iodepth=8", "--iodepth_batch_complete_min=6", "--iodepth_batch_complete_max=2"]);
    assert_eq!(j.batch_complete_max, Some(6), "the most is at least the least");
    let j = job(&["--iodepth=8"]);
    assert_eq!((j.batch_submit, j.batch_complete_min, j.batch_complete_max, j.depth_low), (None, None, None, None));
}

#[test]
fn a_job_that_reads_lays_its_files_out() {
    assert!(job(&["--rw=read"]).overwrite && job(&["--rw=randrw"]).overwrite);
    assert!(!job(&["--rw=write"]).overwrite && !job(&["--rw=trim"]).overwrite);
}

#[test]
fn a_seed_is_stronger_than_repetition() {
    assert_eq!(job(&["--randrepeat=0", "--randseed=3"]).seed, Seed::Fixed(3));
    assert_eq!(job(&["--randseed=3", "--randrepeat=1"]).seed, Seed::Fixed(3));
    assert_eq!(job(&["--randrepeat=0"]).seed, Seed::Fresh);
    assert_eq!(job(&[]).seed, Seed::Repeat);
}

#[test]
fn spinning_is_part_of_the_pause() {
    assert_eq!(job(&["--thinktime=3", "--thinktime_spin=9"]).think.spin_ns, 3_000);
}

#[test]
fn a_size_holds_a_block_of_the_smallest_kind_in_use() {
    assert!(job_errors(&["--size=1k"])[0].contains("smaller than the block size"));
    assert_eq!(job(&["--size=1k", "--bs=512,4k"]).block_size.write, 4096, "writes are not in use");
    assert_eq!(job_errors(&["--size=1k", "--bs=512,4k", "--rw=write"]).len(), 1);
    assert_eq!(job_errors(&["--size=0%"]).len(), 1);
}

#[test]
fn readonly_forbids_writing_wherever_it_stands() {
    for args in [["--readonly", "--name=x", "--rw=write"], ["--name=x", "--rw=randtrim", "--readonly"]] {
        assert_eq!(World::default().errors(&args), ["this job writes or trims, and --readonly forbids it"]);
    }
    assert!(World::default().run(&["--readonly", "--name=x", "--rw=randread"]).is_ok());
    for engine in ["filecreate", "filedelete", "dircreate", "dirdelete", "falloc"] {
        let told = format!("ioengine={engine} changes what is there, and --readonly forbids it");
        let engine = format!("--ioengine={engine}");
        assert_eq!(World::default().errors(&["--readonly", "--name=x", &engine]), [told]);
    }
    for engine in ["filestat", "dirstat", "cpuio"] {
        let engine = format!("--ioengine={engine}");
        assert!(World::default().run(&["--readonly", "--name=x", &engine]).is_ok(), "{engine}");
    }
}

#[test]
fn a_share_without_a_mix_is_remarked_on_unless_it_agrees() {
    let remarks = |args: &[&str]| World::default().run(args).unwrap().diagnostics.len();
    assert_eq!(remarks(&["--name=x", "--rw=randwrite", "--rwmixread=70"]), 1);
    assert_eq!(remarks(&["--name=x", "--rw=randwrite", "--rwmixread=0"]), 0);
    assert_eq!(remarks(&["--name=x", "--rw=randread", "--rwmixwrite=0"]), 0);
    assert_eq!(remarks(&["--name=x", "--rw=randrw", "--rwmixread=70"]), 0);
}

#[test]
fn options_belong_to_their_engine() {
    let errors = errors_of("[a]\nfixedbufs\n[b]\nioengine=libaio\nhipri=1\n");
    assert_eq!(errors.len(), 2);
    assert!(errors[0].starts_with("`fixedbufs` is an option of io_uring"), "{}", errors[0]);
    assert_eq!(
        errors_of("[global]\nhipri\n[a]\nioengine=io_uring\n").len(),
        1,
        "as in fio: the template has no engine"
    );
}

#[test]
fn a_job_that_takes_another_engine_leaves_the_template_s_options_behind() {
    let jobs = jobs_of("[global]\nioengine=io_uring\nfixedbufs\n[a]\nioengine=null\n[b]\nioengine=io_uring\n");
    let fixed: Vec<_> = jobs.iter().map(|j| j.engine_options.fixed_buffers).collect();
    assert_eq!(fixed, [false, true]);
}

#[test]
fn engines_have_other_names_and_neighbours() {
    assert_eq!(job(&["--ioengine=linuxaio"]).engine, "libaio");
    let list = World::default().run(&["--name=x", "--ioengine=iouring"]).unwrap_err();
    assert_eq!(list[0].message, "there is no engine `iouring`");
    assert_eq!(list[0].help.as_deref(), Some("did you mean `io_uring`?"));
    assert!(job_errors(&["--ioengine=external:/lib/x.so"])[0].contains("cannot be loaded"));
    assert_eq!(job_errors(&["--ioengine=nosuch", "--hipri"]).len(), 1, "options of an unknown engine are not judged");
}

#[test]
fn what_is_not_carried_out_is_refused_and_never_ignored() {
    for argument in ["--rwmixcycle=5", "--allow_mounted_write=1"] {
        assert_eq!(job_errors(&[argument]).len(), 1, "{argument}");
    }
}

#[test]
fn what_asks_for_nothing_passes() {
    for argument in [
        "--verify=0",
        "--verify_state_save=0",
        "--mem=malloc",
        "--random_distribution=random",
        "--percentage_random=100",
        "--rate_process=linear",
        "--zonemode=none",
        "--continue_on_error=none",
        "--stats=1",
        "--allow_mounted_write=0",
        "--clocksource=cpu",
        "--softrandommap=1",
    ] {
        let args = ["--name=x", argument];
        assert!(World::default().run(&args).is_ok_and(|i| i.diagnostics.is_empty()), "{argument}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let errors = errors_of("[a]\nbz=4k\nbs=4q\nrw=raed\n[b]\niodepth=0\nzonemode=zdb\n");
    assert_eq!(errors.len(), 5, "{errors:#?}");
}

#[test]
fn thousands_of_errors_are_counted_not_listed() {
    let errors = errors_of(&format!("[a]\n{}", "nonsense\n".repeat(3000)));
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[100], "and 2900 more");
}

#[test]
fn a_recording_overrides_what_else_says_what_is_done_and_that_is_said() {
    let invocation = World::default().run(&["--name=x", "--read_iolog=r", "--write_iolog=w", "--size=1m", "--loops=2"]);
    let invocation = invocation.unwrap();
    assert_eq!(invocation.jobs[0].record, None);
    let said: Vec<&str> = invocation.diagnostics.iter().map(|d| d.message.as_str()).collect();
    let (writes, unheard) = (
        "read_iolog overrides write_iolog: nothing is recorded",
        "the recording says what is done: no effect has size, loops",
    );
    assert!(said.len() == 2 && said.contains(&writes) && said.contains(&unheard), "{said:?}");
    let invocation = World::default().run(&["--name=x", "--replay_no_stall=1"]).unwrap();
    assert_eq!(invocation.diagnostics[0].message, "replay_no_stall has no effect without read_iolog");
}

#[test]
fn what_a_replay_cannot_do_is_refused_and_nothing_is_written_when_nothing_may_be() {
    for (words, error) in [
        (&["--replay_align=3000"][..], "replay_align is 3000, and must be a power of two"),
        (&["--verify=md5"], "a replay checks no data: a recording holds none"),
        (
            &["--merge_blktrace_file=m", "--merge_blktrace_scalars=1:2:3"],
            "merge_blktrace_scalars has 3 values for 2 traces",
        ),
        (&["--merge_blktrace_file=m", "--merge_blktrace_iters=1:2.5"], "a trace comes a whole number of times"),
    ] {
        assert_eq!(job_errors(&[&["--read_iolog=a:b"], words].concat()), [error]);
    }
    let readonly = World::default().run(&["--readonly", "--name=x", "--rw=write", "--read_iolog=r"]).unwrap();
    let skip = readonly.jobs[0].replay.skip;
    assert!(skip.writes && skip.trims && !skip.reads, "a replay is held to it, whatever rw says");
}
