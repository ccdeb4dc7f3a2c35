//! What a person sees when something is wrong.

use iostrata_spec::{Host, render_diagnostics};
use snapbox::{assert_data_eq, file, str};

use crate::world::{HOST, World};

fn shown(world: &World, args: &[&str]) -> String {
    match world.run(args) {
        Ok(invocation) => render_diagnostics(&invocation.diagnostics, false),
        Err(list) => render_diagnostics(&list, false),
    }
}

#[test]
fn errors_of_a_job_file() {
    let text = "[global]\nbs = 8k\nruntime=10min ; long\n\n[job one]\nrw=raed\nio_engine=null\nrate=1m\nrate_iops=5\n";
    let world = World::default().file("jobs/bad.fio", text);
    assert_data_eq!(shown(&world, &["jobs/bad.fio"]), file!["diagnostics/errors_of_a_job_file.txt"]);
}

#[test]
fn errors_of_a_command_line() {
    let args = ["--name=two words", "--bs=4-64k", "--hipri", "--zoneskip=2z", "--ioengine=sync", "--iodept=4"];
    assert_data_eq!(shown(&World::default(), &args), file!["diagnostics/errors_of_a_command_line.txt"]);
}

#[test]
fn an_option_that_will_never_be() {
    let args = ["--name=x", "--client=host", "--rwmixcycle=4"];
    assert_data_eq!(
        shown(&World::default(), &args),
        str![[r#"
error: `--client` is not supported: there is no client and server mode
 --> command line:1:10
  |
1 | --name=x --client=host --rwmixcycle=4
  |          ^^^^^^^^
  |
  = help: instead: `ssh HOST iostrata run …` for each host; every one gives a document of its own
error: `rwmixcycle` is not supported: fio has dropped it
 --> command line:1:24
  |
1 | --name=x --client=host --rwmixcycle=4
  |                        ^^^^^^^^^^^^
  |
  = help: instead: leave it out

"#]]
    );
}

#[test]
fn nothing_to_do() {
    assert_data_eq!(
        shown(&World::default(), &[]),
        str![[r#"
error: No job(s) defined
 |
 = help: name a job file, or give --name=JOB and its options; see --help

"#]]
    );
}

#[test]
fn a_value_from_the_environment_is_underlined_as_a_whole() {
    let world = World::default().file("e.fio", "[j]\nbs=${SIZE}\n").env("SIZE", "4q");
    assert_data_eq!(
        shown(&world, &["e.fio"]),
        str![[r#"
error: `bs`: `q` is no unit
 --> e.fio:2:1
  |
2 | bs=${SIZE}
  | ^^^^^^^^^^
  |
  = help: units are k, m, g, t, p (with `b` or `ib` after them, if you like)

"#]]
    );
}

#[test]
fn colour_is_there_when_asked_for() {
    let list = World::default().run(&["--nonsense"]).unwrap_err();
    assert!(render_diagnostics(&list, true).contains('\u{1b}'));
    assert!(!render_diagnostics(&list, false).contains('\u{1b}'));
}

/// Lines of a job, each with something else wrong in its value.
const WRONG: &[&str] = &[
    "bs=4q",
    "bs=4k,8k,16k,32k",
    "bs=,",
    "bs=4-64k",
    "bs=0",
    "size=99999999999999999999",
    "size=101%",
    "size=5%x",
    "size=%",
    "size=2z",
    "size=(2*",
    "size=(1/0)",
    "size=(1.5*2)",
    "size=(2)2",
    "size=(9^99)",
    "size=(a)",
    "bs=1.3k",
    "size=-4k",
    "runtime=4x",
    "runtime=-1",
    "runtime=(1m+30)",
    "runtime=(1s*1s)",
    "iodepth=0",
    "nice=20",
    "direct=2",
    "thread=y",
    "direct",
    "rw=raed",
    "rw=read:",
    "rw=randread:0",
    "rw=",
    "cpus_allowed=3-1",
    "cpus_allowed=x",
    "percentile_list=0",
    "percentile_list=a",
    "percentile_list=1.1234567890123456",
    "filename=:",
    "ioengine=iouring",
    "ioengine=external:x.so",
    "hipri",
    "nosuch=1",
    "numjobs=0",
    "=5",
    "include nowhere",
    "kb_base=512",
    "zoneskip=1.5z",
    "bssplit=4k/60:8k/60",
    "bssplit=4k/120:8k/",
    "bssplit=4k/50 8k/50",
    "random_distribution=zoned:50/5:30/15",
    "randseed==42",
    "size=1m:2m",
    "plids=1-",
    "sprandom=1",
    "dataplacement=streams\nplids=5",
    "dataplacement=streams\nplid_select=scheme",
    "size=(1",
    "size=(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
    "size=(9223372036854775807*9223372036854775807*9223372036854775807)",
    "size=(9223372036854775807^2+9223372036854775807^2+9223372036854775807^2)",
    "size=(9223372036854775807p)",
    "size=(1q)",
    "runtime=(5/1s)",
    "bs=k",
    "runtime=s",
    "rwmixcycle=5",
    "random_distribution=zipf:1",
    "random_distribution=pareto:1",
    "random_distribution=normal:100",
    "random_distribution=zipf:1.1:0.5:3",
    "random_distribution=zipf:1.1:2",
    "random_distribution=zipf:a",
    "random_distribution=zoned",
    "random_distribution=zoned:50/50",
    "random_distribution=zoned:50/60:50/60",
    "random_distribution=zoned_abs:50/1m:50",
    "random_distribution=sequence:\
        1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\
        1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
    "bsrange=1k-2k,1k-2k,1k-2k,1k-2k",
    "bsrange=4k",
    "bssplit=4k/60:8k/60",
    "bssplit=:",
    "bssplit=4k/50:8k/50,4k/50:8k/50,4k/50:8k/50,4k/50:8k/50",
    "percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21",
    "steadystate=iops",
    "steadystate=iops:x",
    "file_service_type=roundrobin:x",
    "file_service_type=zipf:x",
    "file_service_type=zipf:1",
    "file_service_type=zipf:0",
    "file_service_type=pareto:1",
    "file_service_type=normal:101",
    "buffer_pattern=",
    "buffer_pattern=\"\"",
    "buffer_pattern='big'1",
    "buffer_pattern=\"ab",
    "buffer_pattern='nowhere'",
    "buffer_pattern=%o",
    "buffer_pattern=0x",
    "buffer_pattern=ab",
    "buffer_pattern=99999999999",
    "verify_pattern=%x",
    "ignore_error=ENOTHING",
    "ignore_error=EIO,EIO,EIO,EIO",
    "numa_cpu_nodes=x",
    "numa_cpu_nodes=3-1",
    "numa_mem_policy=bind",
    "numa_mem_policy=prefer:0,1",
    "numa_mem_policy=some:1",
    "[j",
    "[j] k",
];

/// Jobs, lines apart by `|`, each with something that its options may not have together, or that has no effect.
const UNFIT: &[&str] = &[
    "ioengine=libaio|cmdprio_bssplit=4k/30/2/1/0/7",
    "ioengine=libaio|cmdprio_bssplit=4k/60:8k/60:4k/60/2",
    "ioengine=libaio|cmdprio_bssplit=4k/30:8k",
    "ioengine=libaio|cmdprio_bssplit=4k/30/9",
    "ioengine=libaio|cmdprio_bssplit=4k/30|cmdprio_percentage=5",
    "ioengine=io_uring|cmdprio_class=2|cmdprio=1",
    "rate=1m|rate_iops=5",
    "rate=1k|rate_min=1m",
    "rate_iops_min=200|rate_iops=100",
    "rate_min=1m|rate_iops_min=5",
    "latency_target=5ms",
    "steadystate=iops:5%",
    "size=4k|bs=8k",
    "size=1000|bs=4k",
    "size=0%",
    "zonesize=64k",
    "zonemode=strided",
    "mem=mmaphuge|hugepage-size=3m|size=1m",
    "mem=cudamalloc|size=1m",
    "profile=act|size=1m",
    "replay_align=512|size=1m",
    "read_iolog=x|replay_align=3",
    "read_iolog=x|verify=md5",
    "read_iolog=x|write_iolog=y",
    "read_iolog=x|time_based|runtime=5",
    "merge_blktrace_scalars=100|read_iolog=x",
    "read_iolog=x:y|merge_blktrace_file=m|merge_blktrace_scalars=100",
    "read_iolog=x:y|merge_blktrace_file=m|merge_blktrace_iters=1.5:1",
    "log_compression=1m|log_store_compressed=1|log_issue_time=1|write_bw_log|size=1m",
    "mem=malloc:/x|size=1m",
    "block_error_percentiles=1|nrfiles=2|size=1m",
    "ioengine=psync|atomic=1|size=1m",
    "ioengine=pvsync2|atomic=1|size=1m",
    "pre_read=1|direct=1|size=1m",
    "rw=write|verify=pattern|size=1m",
    "rw=write|verify=pattern_hdr|size=1m",
    "rw=write|verify=sha512|verify_interval=64|size=1m",
    "rw=write|verify=md5|time_based|runtime=5|size=1m",
    "wait_for=j",
    "wait_for=x",
    "[a]|size=1m|[a]|size=1m|[b]|wait_for=a",
];

/// Whole job files that cannot be read as such.
const UNREADABLE: &[&[u8]] = &[
    b"bs=4k\n",
    b"\0\x01\x02",
    b"[j]\ndescription=\xff\n",
    b"[j]\ninclude sections.fio\n",
    b"[j]\ninclude itself.fio\n",
    b"[j]\ninclude long.fio\n",
];

/// Jobs whose zones cannot be.
const WRONG_ZONES: &[&str] = &[
    "zonesize=1m",
    "zonemode=strided",
    "zonemode=zbd\nzonesize=256",
    "zonemode=zbd\nzonesize=1m\nzonecapacity=2m",
    "zonemode=zbd\nzonesize=1m\nzoneskip=1000",
    "zonemode=zbd\nzonesize=1m\nmax_open_zones=2\njob_max_open_zones=3",
];

/// Lines that fio reads otherwise than they say.
const MISREAD: &[&str] = &[
    "bs = 8k",
    "bs=4.5k",
    "bs=4 k",
    "bs=4kbytes",
    "bs=1k, 2k",
    "bs=4k/60:8k/40",
    "iodepth=3%",
    "number_ios=3%",
    "percentile_list=50,99",
    "bssplit=4k/50%:8k/50%",
    "bssplit=4k/60,8k/40",
    "bssplit=512/10,1536/10,2560/10,3584/70",
    "bssplit=4k/60:8k/30",
    "size=100%%",
    "direct=1G",
    "direct=true",
    "thread=2",
    "runtime=10sec",
    "runtime=1.5s",
    "rw = read",
    "description=a#b c",
    "filename=a:b",
    "time_based",
    "rwmixread=30",
    "random_distribution=zipf,1.2",
    "bssplit=4k/50,8k/50",
    "bssplit=4k/50:8k/40",
    "bssplit=4k-8k/50:16k/50",
    "runtime=1 m",
];

/// What is said of each line alone, in a job that is right otherwise.
fn of_each(lines: &[&str]) -> String {
    let said = lines.iter().map(|line| {
        let text = format!("[j]\n{line}\n");
        shown(&World::default().file("j.fio", &text).file("a:b", "").file("big", &"x".repeat(1 << 16)), &["j.fio"])
    });
    said.collect()
}

#[test]
fn every_error_of_a_value() {
    assert_data_eq!(of_each(WRONG), file!["diagnostics/every_error.txt"]);
}

#[test]
fn every_error_of_zones() {
    assert_data_eq!(of_each(WRONG_ZONES), file!["diagnostics/every_error_of_zones.txt"]);
}

#[test]
fn every_error_between_options() {
    let said = UNFIT.iter().map(|lines| {
        let text = format!("[j]\n{}\n", lines.replace('|', "\n"));
        shown(&World::default().file("j.fio", &text), &["j.fio"])
    });
    assert_data_eq!(said.collect::<String>(), file!["diagnostics/every_error_between_options.txt"]);
}

#[test]
fn every_error_of_a_whole_file() {
    let said = UNREADABLE.iter().map(|text| {
        let world = World::default()
            .bytes("j.fio", text)
            .file("sections.fio", "[k]\n")
            .file("itself.fio", "include itself.fio\n")
            .file("long.fio", &"bs=4k\n".repeat(20_000));
        shown(&world, &["j.fio"])
    });
    let from_standard_input = shown(&World::default().file("-", "bs=4k\n"), &["-"]);
    let said = said.collect::<String>() + &from_standard_input;
    assert_data_eq!(said, file!["diagnostics/every_error_of_a_whole_file.txt"]);
}

#[test]
fn what_only_some_machines_and_readings_refuse() {
    let world = World::default().file("j.fio", "[j]\nruntime= +5\n");
    let mac = Host { macos: true, ..HOST };
    let said = match world.run_on(&mac, &["--name=x", "--size=1m", "--prioclass=2"]) {
        Ok(_) => panic!("a Mac has no such thing"),
        Err(list) => render_diagnostics(&list, false),
    };
    let said = said + &shown(&world, &["--fio-exact", "j.fio"]);
    assert_data_eq!(said, file!["diagnostics/some_machines_and_readings.txt"]);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text() {
    use std::os::unix::ffi::OsStringExt;
    let args = ["--name=x".into(), std::ffi::OsString::from_vec(b"--size=\xff".to_vec())];
    let list = iostrata_spec::parse_command_line(&args, &HOST, &World::default()).unwrap_err();
    assert_data_eq!(render_diagnostics(&list, false), file!["diagnostics/an_argument_that_is_no_text.txt"]);
}

#[test]
fn every_misreading() {
    assert_data_eq!(of_each(MISREAD), file!["diagnostics/every_misreading.txt"]);
}

#[test]
fn every_error_of_the_command_line() {
    let said = [
        &["--bs"][..],
        &["--readonly=1"],
        &["--nme=x"],
        &["--name=x", "--buffer=1"],
        &["--output-format=jsn"],
        &["--eta=x"],
        &["--eta-interval=1ms"],
        &["--section=global"],
        &["--cmdhelp=blocksiz"],
        &["--enghelp=libao"],
        &["nowhere.fio"],
        &["--readonly", "--name=x", "--rw=write"],
        &["--readonly", "--name=x", "--ioengine=filedelete", "--size=4k"],
        &["--name=x", "--latency-log=x"],
        &["/dev/nowhere"],
        &["--terse-version=9"],
        &["--listen=here"],
        &["--also=csv"],
        &["--profile=x"],
        &["--profile=act"],
        &["--profile=tiobench", "--name=x"],
        &["--profile=act", "--device-names=/x", "--large-block-op-kbytes=1", "--read-req-num-512-blocks=8"],
        &["--crctest=x"],
        &["--idle-prof=x"],
        &["--debug=xyzzyx"],
        &["--name=x", "--bs=4k", "--kb_base=1000"],
    ];
    let said: String = said.iter().map(|args| shown(&World::default(), args)).collect();
    assert_data_eq!(said, file!["diagnostics/every_error_of_the_command_line.txt"]);
}

#[test]
fn memory_locks_and_flags_that_cannot_be_had() {
    let jobs = [
        "--name=a --mem=cudamalloc --gpu_dev_id=1",
        "--name=b --mem=shm:/x --size=1m",
        "--name=c --hugepage-size=3m --mem=mmaphuge",
        "--name=d --atomic=1 --ioengine=sync",
        "--name=e --block_error_percentiles=1 --nrfiles=2",
        "--name=f --num_range=4",
        "--name=g --lockfile=shared",
    ];
    let shown: Vec<String> =
        jobs.iter().map(|job| shown(&World::default(), &job.split_whitespace().collect::<Vec<_>>())).collect();
    assert_data_eq!(shown.concat(), file!["diagnostics/memory_locks_and_flags_that_cannot_be_had.txt"]);
}
