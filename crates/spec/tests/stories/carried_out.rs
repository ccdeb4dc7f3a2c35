//! Every option that is carried out, by name: what it puts into the job. One test sees to it that none is left out.

use std::path::PathBuf;

use iostrata_spec::table::{Status, all_options};
use iostrata_spec::*;

use crate::world::job;

type Check = fn(&Job) -> bool;

/// Option, arguments that use it, and what must hold then and not without it (a different default).
const CASES: &[(&str, &[&str], Check)] = &[
    ("name", &["--name=other", "--ioengine=null"], |j| j.section == "other"),
    ("description", &["--description=two words"], |j| j.description.as_deref() == Some("two words")),
    ("numjobs", &["--numjobs=7"], |j| j.clones == 7),
    ("thread", &["--thread"], |j| j.thread),
    ("stonewall", &["--stonewall"], |j| j.stonewall),
    ("new_group", &["--new_group"], |j| j.new_group),
    ("group_reporting", &["--group_reporting"], |j| j.reporting.group),
    ("startdelay", &["--startdelay=1-250ms"], |j| j.start_delay_ns == (250_000_000, 1_000_000_000)),
    ("exitall", &["--exitall"], |j| j.order.exit_all),
    ("nice", &["--nice=-20"], |j| j.process.nice == Some(-20)),
    ("comm", &["--comm=me"], |j| j.process.thread_name.as_deref() == Some("me")),
    ("wait_for", &["--name=u", "--wait_for=t"], |j| j.order.wait_for.as_deref() == Some("t")),
    ("exit_what", &["--exit_what=all"], |j| j.order.exit_scope == ExitScope::All),
    ("exitall_on_error", &["--exitall_on_error"], |j| j.order.exit_all_on_error),
    ("exec_prerun", &["--exec_prerun=a; b"], |j| j.process.before.as_deref() == Some("a; b")),
    ("exec_postrun", &["--exec_postrun=a"], |j| j.process.after.as_deref() == Some("a")),
    ("prio", &["--prio=3"], |j| j.process.io_priority == Some(3)),
    ("prioclass", &["--prioclass=2"], |j| j.process.io_class == 2),
    ("priohint", &["--priohint=1"], |j| j.process.io_hint == 1),
    ("numa_cpu_nodes", &["--numa_cpu_nodes=1,0"], |j| j.process.numa_cpus == Some(NumaNodes::List(vec![0, 1]))),
    ("numa_mem_policy", &["--numa_mem_policy=prefer:0"], |j| j.process.numa_memory == NumaPolicy::Prefer(0)),
    ("uid", &["--uid=1"], |j| j.process.user == Some(1)),
    ("gid", &["--gid=1"], |j| j.process.group == Some(1)),
    ("cgroup", &["--cgroup=x"], |j| j.process.cgroup.as_deref() == Some("x")),
    ("cgroup_weight", &["--cgroup_weight=500"], |j| j.process.cgroup_weight == Some(500)),
    ("cgroup_nodelete", &["--cgroup_nodelete=1"], |j| j.process.cgroup_keep),
    ("lockmem", &["--lockmem=1m"], |j| j.process.locked_bytes == 1 << 20),
    ("ioscheduler", &["--ioscheduler=none"], |j| j.process.io_scheduler.as_deref() == Some("none")),
    ("flow", &["--flow=-2"], |j| j.flow.weight == -2),
    ("flow_id", &["--flow_id=3"], |j| j.flow.id == 3),
    ("flow_sleep", &["--flow_sleep=10"], |j| j.flow.sleep_ns == 10_000),
    ("continue_on_error", &["--continue_on_error=io"], |j| j.errors.continue_on == ContinueOn::Io),
    ("ignore_error", &["--ignore_error=,28"], |j| j.errors.ignored == [vec![], vec![28], vec![]]),
    ("error_dump", &["--error_dump=1"], |j| j.errors.dump),
    ("io_submit_mode", &["--io_submit_mode=offload"], |j| j.submit_mode == SubmitMode::Offload),
    ("serialize_overlap", &["--serialize_overlap=1"], |j| j.serialize_overlap),
    ("cpus_allowed", &["--cpus_allowed=4,0-1"], |j| j.cpus == [0, 1, 4]),
    ("cpumask", &["--cpumask=0x11"], |j| j.cpus == [0, 4]),
    ("cpus_allowed_policy", &["--cpus_allowed_policy=split"], |j| j.cpu_policy == CpuPolicy::Split),
    ("filename", &["--filename=a:b\\:c"], |j| j.filenames == ["a", "b:c"] && j.files == 2),
    ("directory", &["--directory=/x:/y"], |j| j.directories == [PathBuf::from("/x"), PathBuf::from("/y")]),
    ("filename_format", &["--filename_format=$jobnum"], |j| j.filename_format.as_deref() == Some("$jobnum")),
    ("nrfiles", &["--nrfiles=3"], |j| j.files == 3),
    ("openfiles", &["--openfiles=2"], |j| j.open_files == Some(2)),
    ("file_service_type", &["--file_service_type=zipf:1.5"], |j| j.file_service == FileService::Zipf(1.5)),
    ("filesize", &["--filesize=1m-4k"], |j| j.file_size == Some((4096, 1 << 20))),
    ("size", &["--size=30%"], |j| j.size == Some(Size::Percent(30))),
    ("io_size", &["--io_size=2g"], |j| j.io_size == Some(Size::Bytes(2 << 30))),
    ("offset", &["--offset=4k"], |j| j.offset == Size::Bytes(4096)),
    ("offset_increment", &["--offset_increment=10%"], |j| j.offset_increment == Size::Percent(10)),
    ("number_ios", &["--number_ios=99"], |j| j.number_ios == Some(99)),
    ("fallocate", &["--fallocate=keep"], |j| j.fallocate == Fallocate::Keep),
    ("fadvise_hint", &["--fadvise_hint=0"], |j| j.fadvise == FadviseHint::None),
    ("overwrite", &["--rw=write", "--overwrite=1"], |j| j.overwrite),
    ("create_serialize", &["--create_serialize=0"], |j| !j.create_serialize),
    ("create_fsync", &["--create_fsync=0"], |j| !j.create_fsync),
    ("create_on_open", &["--create_on_open=1"], |j| j.create_on_open),
    ("create_only", &["--create_only=1"], |j| j.create_only),
    ("allow_file_create", &["--allow_file_create=0"], |j| !j.allow_create),
    ("opendir", &["--opendir=/x"], |j| j.open_directory.as_deref() == Some("/x")),
    ("offset_align", &["--offset_align=4k"], |j| j.offset_align_bytes == 4096),
    ("fill_device", &["--fill_device=1"], |j| j.fill_device),
    ("pre_read", &["--pre_read=1"], |j| j.pre_read && !j.invalidate),
    ("unlink_each_loop", &["--unlink_each_loop=1"], |j| j.unlink_each_loop),
    ("unlink", &["--unlink=1"], |j| j.unlink),
    ("invalidate", &["--invalidate=0"], |j| !j.invalidate),
    ("direct", &["--direct=1"], |j| j.direct),
    ("buffered", &["--buffered=0"], |j| j.direct),
    ("sync", &["--sync=dsync"], |j| j.sync_flag == SyncFlag::DataSync),
    ("fsync", &["--fsync=5"], |j| j.syncs.every == 5),
    ("fdatasync", &["--fdatasync=6"], |j| j.syncs.data_every == 6),
    ("file_append", &["--file_append=1"], |j| j.append),
    ("write_hint", &["--write_hint=long"], |j| j.write_hint == WriteHint::Long),
    ("sync_file_range", &["--sync_file_range=wait_before,write:8"], |j| {
        j.syncs.range == RangeSync { wait_before: true, write: true, wait_after: false, every: 8 }
    }),
    ("end_syncfs", &["--end_syncfs=1"], |j| j.syncs.end_fs),
    ("end_fsync", &["--end_fsync=1"], |j| j.syncs.end),
    ("fsync_on_close", &["--fsync_on_close=1"], |j| j.syncs.on_close),
    ("rw", &["--rw=randrw:8"], |j| {
        j.workload == Workload { reads: true, writes: true, trims: false, random: true, modifier: Some(8) }
    }),
    ("bs", &["--bs=1k,2k,4k"], |j| j.block_size.to_array() == [1024, 2048, 4096]),
    ("bsrange", &["--bsrange=1k-4k,8k-16k"], |j| {
        let [read, write, _] = j.block_sizes();
        read == BlockSizes::Range { min: 1024, max: 4096, unaligned: false } && write.max() == 16 << 10
    }),
    ("bssplit", &["--bssplit=1k/40:8k/60"], |j| {
        let share = |bytes, percent| SizeShare { bytes, percent };
        j.block_sizes()[0] == BlockSizes::Split(vec![share(1024, 40), share(8192, 60)])
    }),
    ("bs_unaligned", &["--bs_unaligned"], |j| j.shape.unaligned),
    ("ba", &["--ba=512,1k"], |j| j.shape.align[..2] == [Some(512), Some(1024)]),
    ("percentage_random", &["--percentage_random=20,30"], |j| j.shape.random_percent[..2] == [Some(20), Some(30)]),
    ("random_distribution", &["--random_distribution=zipf:1.3"], |j| {
        j.shape.distribution == Distribution::Zipf { theta: 1.3, center: None }
    }),
    ("rw_sequencer", &["--rw_sequencer=identical"], |j| j.shape.identical),
    ("zonemode", &["--zonemode=strided", "--zonesize=1m"], |j| j.shape.zone_mode == ZoneMode::Strided),
    ("zonesize", &["--zonemode=strided", "--zonesize=1m"], |j| j.shape.zones.size_bytes == 1 << 20),
    ("zonerange", &["--zonerange=2m"], |j| j.shape.zones.range_bytes == 2 << 20),
    ("zoneskip", &["--zoneskip=3m"], |j| j.shape.zones.skip == Size::Bytes(3 << 20)),
    ("fdp", &["--fdp=1"], |j| j.shape.placement.means == PlacementMeans::Fdp),
    ("dataplacement", &["--dataplacement=streams"], |j| j.shape.placement.means == PlacementMeans::Streams),
    ("plid_select", &["--plid_select=random"], |j| j.shape.placement.select == PlacementSelect::Random),
    ("plids", &["--plids=1,3-4"], |j| j.shape.placement.ids == [1, 3, 4]),
    ("dp_scheme", &["--dp_scheme=a"], |j| j.shape.placement.scheme.as_deref() == Some("a")),
    ("sprandom", &["--rw=randwrite", "--sprandom=1"], |j| j.shape.precondition.on),
    ("spr_num_regions", &["--spr_num_regions=20"], |j| j.shape.precondition.regions == 20),
    ("spr_op", &["--spr_op=0.28"], |j| j.shape.precondition.over_provisioning == 0.28),
    ("spr_cs", &["--spr_cs=1m"], |j| j.shape.precondition.cache_bytes == 1 << 20),
    ("zonecapacity", &["--zonecapacity=1m"], |j| j.shape.zoned.capacity_bytes == 1 << 20),
    ("read_beyond_wp", &["--read_beyond_wp=1"], |j| j.shape.zoned.read_beyond),
    ("max_open_zones", &["--max_open_zones=8"], |j| j.shape.zoned.max_open == 8),
    ("job_max_open_zones", &["--job_max_open_zones=4"], |j| j.shape.zoned.job_max_open == 4),
    ("ignore_zone_limits", &["--ignore_zone_limits=1"], |j| j.shape.zoned.ignore_limits),
    ("zone_reset_threshold", &["--zone_reset_threshold=0.5"], |j| j.shape.zoned.reset_threshold == Some(0.5)),
    ("zone_reset_frequency", &["--zone_reset_frequency=0.1"], |j| j.shape.zoned.reset_frequency == Some(0.1)),
    ("recover_zbd_write_error", &["--recover_zbd_write_error=1"], |j| j.shape.zoned.recover),
    ("write_zone_remainder", &["--write_zone_remainder=1"], |j| j.shape.zoned.write_remainder),
    ("rwmixread", &["--rw=rw", "--rwmixread=70"], |j| j.mix_read_percent == 70),
    ("rwmixwrite", &["--rw=rw", "--rwmixwrite=70"], |j| j.mix_read_percent == 30),
    // Any word is answered by the permutation: nothing in the job tells them apart.
    ("random_generator", &["--random_generator=lfsr", "--rw=randread"], |j| j.workload.random),
    ("randrepeat", &["--randrepeat=0"], |j| j.seed == Seed::Fresh),
    ("randseed", &["--randrepeat=0", "--randseed=5"], |j| j.seed == Seed::Fixed(5)),
    ("norandommap", &["--norandommap"], |j| j.no_random_map),
    ("loops", &["--loops=4"], |j| j.loops == 4),
    ("ioengine", &["--ioengine=libaio"], |j| j.engine == "libaio"),
    ("iodepth", &["--iodepth=64"], |j| j.depth == 64),
    ("iodepth_batch", &["--iodepth=9", "--iodepth_batch=4"], |j| j.batch_submit == Some(4)),
    ("iodepth_batch_complete_min", &["--iodepth_batch_complete_min=0"], |j| j.batch_complete_min == Some(0)),
    ("iodepth_batch_complete_max", &["--iodepth_batch_complete_max=3"], |j| j.batch_complete_max == Some(3)),
    ("iodepth_low", &["--iodepth=9", "--iodepth_low=2"], |j| j.depth_low == Some(2)),
    ("runtime", &["--runtime=90"], |j| j.runtime_ns == 90_000_000_000),
    ("time_based", &["--time_based", "--runtime=1"], |j| j.time_based),
    ("ramp_time", &["--ramp_time=300ms"], |j| j.ramp_ns == 300_000_000),
    ("rate", &["--rate=1m,,2m"], |j| j.rate.bytes.to_array() == [Some(1 << 20), None, Some(2 << 20)]),
    ("rate_iops", &["--rate_iops=10,20"], |j| j.rate.iops.to_array() == [Some(10), Some(20), Some(20)]),
    ("thinktime", &["--thinktime=10"], |j| j.think.pause_ns == 10_000),
    ("thinktime_spin", &["--thinktime=10", "--thinktime_spin=4"], |j| j.think.spin_ns == 4_000),
    ("thinktime_blocks", &["--thinktime_blocks=3"], |j| j.think.blocks == 3),
    ("thinktime_blocks_type", &["--thinktime_blocks_type=issue"], |j| j.think.count == ThinkCount::Issue),
    ("thinktime_iotime", &["--thinktime=10", "--thinktime_iotime=2"], |j| {
        j.think.io_ns == 2_000_000_000 && j.think.blocks == u64::MAX
    }),
    ("thinkcycles", &["--thinkcycles=1000"], |j| j.think.cycles == 1000),
    ("rate_min", &["--rate_min=1m"], |j| j.rate.min_bytes == PerDirection::all(Some(1 << 20))),
    ("rate_iops_min", &["--rate_iops_min=7,,8"], |j| j.rate.min_iops.to_array() == [Some(7), None, Some(8)]),
    ("rate_cycle", &["--rate_cycle=250"], |j| j.rate.cycle_ms == 250),
    ("rate_process", &["--rate_process=poisson"], |j| j.rate.process == RateProcess::Poisson),
    ("rate_ignore_thinktime", &["--rate_ignore_thinktime=1"], |j| j.rate.ignores_think),
    ("max_latency", &["--max_latency=1ms,0,5"], |j| {
        j.max_latency_ns.to_array() == [Some(1_000_000), None, Some(5_000)]
    }),
    ("latency_target", &["--latency_target=2ms", "--latency_window=1s"], |j| j.latency_search.target_ns == 2_000_000),
    ("latency_window", &["--latency_window=1s"], |j| j.latency_search.window_ns == 1_000_000_000),
    ("latency_percentile", &["--latency_percentile=99.5"], |j| j.latency_search.percentile == 99.5),
    ("latency_run", &["--latency_run=1"], |j| j.latency_search.keep_running),
    ("ramp_size", &["--ramp_size=1m"], |j| j.ramp_bytes == 1 << 20),
    ("job_start_clock_id", &["--job_start_clock_id=1"], |j| j.start_clock == 1),
    ("steadystate", &["--steadystate=lat_slope:2.5%", "--ss_dur=5"], |j| {
        let wanted = SteadyCriterion { measure: SteadyMeasure::Latency, slope: true, limit: 2.5, percent: true };
        j.steady.criterion == wanted
    }),
    ("steadystate_duration", &["--steadystate_duration=5"], |j| j.steady.duration_ns == 5_000_000_000),
    ("steadystate_ramp_time", &["--ss_dur=1", "--steadystate_ramp_time=5"], |j| j.steady.ramp_ns == 5_000_000_000),
    ("steadystate_check_interval", &["--ss_dur=9", "--steadystate_check_interval=3"], |j| {
        j.steady.interval_ns == 3_000_000_000
    }),
    ("zero_buffers", &["--zero_buffers"], |j| j.buffers.zero),
    ("refill_buffers", &["--refill_buffers"], |j| j.buffers.refill),
    ("scramble_buffers", &["--scramble_buffers=0"], |j| !j.buffers.scramble),
    ("buffer_pattern", &["--buffer_pattern=0xdeadbeef"], |j| {
        j.buffers.pattern.as_ref().is_some_and(|p| p.bytes == [0xde, 0xad, 0xbe, 0xef])
    }),
    ("buffer_compress_percentage", &["--buffer_compress_percentage=66"], |j| {
        j.buffers.compress_percent == 66 && j.buffers.refill
    }),
    ("buffer_compress_chunk", &["--buffer_compress_chunk=4k"], |j| j.buffers.compress_chunk_bytes == 4096),
    ("dedupe_percentage", &["--dedupe_percentage=40"], |j| j.buffers.dedupe_percent == Some(40)),
    ("dedupe_mode", &["--dedupe_mode=working_set"], |j| j.buffers.dedupe_mode == DedupeMode::WorkingSet),
    ("dedupe_working_set_percentage", &["--dedupe_working_set_percentage=7"], |j| j.buffers.dedupe_set_percent == 7),
    ("dedupe_global", &["--dedupe_mode=working_set", "--dedupe_global=1"], |j| j.buffers.dedupe_global),
    ("bwavgtime", &["--bwavgtime=250"], |j| j.measure.bw_window_ms == 250),
    ("iopsavgtime", &["--iopsavgtime=125"], |j| j.measure.iops_window_ms == 125),
    ("clat_percentiles", &["--clat_percentiles=0"], |j| !j.reporting.clat_percentiles),
    ("lat_percentiles", &["--lat_percentiles=1"], |j| j.reporting.lat_percentiles),
    ("slat_percentiles", &["--slat_percentiles=1"], |j| j.reporting.slat_percentiles),
    ("percentile_list", &["--percentile_list=99.9:50"], |j| {
        j.reporting.percentiles == Percentiles { values: vec![50.0, 99.9], precision: 1 }
    }),
    ("significant_figures", &["--significant_figures=7"], |j| j.reporting.significant_figures == 7),
    ("unified_rw_reporting", &["--unified_rw_reporting=2"], |j| j.reporting.unified == Unified::Both),
    ("disk_util", &["--disk_util=0"], |j| !j.reporting.disk_util),
    ("gtod_reduce", &["--gtod_reduce=1"], |j| {
        let m = &j.measure;
        m.gtod_reduce && !(m.lat || m.clat || m.slat || m.samples || j.reporting.clat_percentiles)
    }),
    ("disable_lat", &["--disable_lat=1"], |j| !j.measure.lat),
    ("disable_clat", &["--disable_clat=1"], |j| !j.measure.clat),
    ("disable_slat", &["--disable_slat=1"], |j| !j.measure.slat),
    ("disable_bw_measurement", &["--disable_bw_measurement=1"], |j| !j.measure.samples),
    ("write_bw_log", &["--write_bw_log=b"], |j| j.logs.bandwidth.as_deref() == Some("b")),
    ("write_lat_log", &["--write_lat_log"], |j| j.logs.latency.as_deref() == Some("")),
    ("write_iops_log", &["--write_iops_log=i"], |j| j.logs.iops.as_deref() == Some("i")),
    ("write_hist_log", &["--write_hist_log=h"], |j| j.logs.histogram.as_deref() == Some("h")),
    ("log_avg_msec", &["--log_avg_msec=500"], |j| j.logs.window_ms == 500),
    ("log_hist_msec", &["--log_hist_msec=50"], |j| j.logs.histogram_window_ms == 50),
    ("log_hist_coarseness", &["--log_hist_coarseness=2"], |j| j.logs.coarseness == 2),
    ("log_window_value", &["--log_window_value=both"], |j| j.logs.window_value == WindowValue::Both),
    ("log_offset", &["--log_offset=1"], |j| j.logs.offset),
    ("log_prio", &["--log_prio=1"], |j| j.logs.prio),
    ("log_issue_time", &["--log_issue_time=1"], |j| j.logs.issue_time),
    ("log_alternate_epoch", &["--log_alternate_epoch=1"], |j| j.logs.clock_time),
    ("log_alternate_epoch_clock_id", &["--log_alternate_epoch_clock_id=1"], |j| j.logs.clock_id == 1),
    ("log_compression", &["--log_compression=64k"], |j| j.logs.compressed_bytes == Some(64 << 10)),
    ("log_compression_cpus", &["--log_compression_cpus=1"], |j| j.logs.compression_cpus == [1]),
    ("log_store_compressed", &["--log_store_compressed=1"], |j| j.logs.compressed),
    ("per_job_logs", &["--per_job_logs=0"], |j| !j.logs.per_job),
    ("write_iolog", &["--write_iolog=x"], |j| j.record.as_deref() == Some("x")),
    ("read_iolog", &["--read_iolog=a\\:b:c"], |j| j.replay.recording(2) == Some("a:b")),
    ("read_iolog_chunked", &["--read_iolog=x", "--read_iolog_chunked=1"], |j| j.replay.chunked),
    ("replay_no_stall", &["--read_iolog=x", "--replay_no_stall=1"], |j| j.replay.no_stall),
    ("replay_redirect", &["--read_iolog=x", "--replay_redirect=y"], |j| j.replay.redirect.as_deref() == Some("y")),
    ("replay_scale", &["--read_iolog=x", "--replay_scale=3"], |j| j.replay.scale == 3),
    ("replay_align", &["--read_iolog=x", "--replay_align=4k"], |j| j.replay.align_bytes == 4096),
    ("replay_time_scale", &["--read_iolog=x", "--replay_time_scale=50"], |j| j.replay.speed_percent == 50),
    ("replay_skip", &["--read_iolog=x", "--replay_skip=trim,sync"], |j| {
        j.replay.skip == ReplaySkip { reads: false, writes: false, trims: true, syncs: true }
    }),
    ("merge_blktrace_file", &["--read_iolog=x:y", "--merge_blktrace_file=z"], |j| j.replay.recording(1) == Some("z")),
    (
        "merge_blktrace_scalars",
        &["--read_iolog=x:y", "--merge_blktrace_file=z", "--merge_blktrace_scalars=200:50"],
        |j| j.replay.merge_percent == [200.0, 50.0],
    ),
    ("merge_blktrace_iters", &["--read_iolog=x:y", "--merge_blktrace_file=z", "--merge_blktrace_iters=2:1"], |j| {
        j.replay.merge_repeats == [2.0, 1.0]
    }),
    ("verify", &["--verify=sha3-256"], |j| j.verify.method == VerifyMethod::Sha3_256 && j.buffers.refill),
    ("do_verify", &["--verify=md5", "--do_verify=0"], |j| !j.verify.read_back),
    ("verify_only", &["--verify=md5", "--verify_only"], |j| j.verify.only),
    ("verify_policy", &["--verify=md5", "--verify_policy=fsynced"], |j| j.verify.policy == VerifyPolicy::Fsynced),
    ("verify_interval", &["--verify=md5", "--verify_interval=512"], |j| j.verify.interval_bytes == Some(512)),
    ("verify_offset", &["--verify=md5", "--verify_offset=64"], |j| j.verify.header_offset_bytes == 64),
    ("verify_pattern", &["--verify_pattern=0xab"], |j| j.verify.method == VerifyMethod::PatternHeader),
    ("verify_pattern_interval", &["--verify_pattern_interval=512"], |j| j.verify.pattern_interval_bytes == 512),
    ("verify_fatal", &["--verify_fatal=1"], |j| j.verify.fatal),
    ("verify_dump", &["--verify_dump=1"], |j| j.verify.dump),
    ("verify_async", &["--verify_async=2"], |j| j.verify.threads == 2),
    ("verify_async_cpus", &["--verify_async_cpus=0-1"], |j| j.verify.thread_cpus == [0, 1]),
    ("verify_backlog", &["--verify_backlog=1k"], |j| j.verify.backlog == 1024),
    ("verify_backlog_batch", &["--verify_backlog_batch=8"], |j| j.verify.backlog_batch == 8),
    ("verify_state_save", &["--verify_state_save=0"], |j| !j.verify.save_state),
    ("verify_state_load", &["--verify_state_load=1"], |j| j.verify.load_state),
    ("verify_write_sequence", &["--verify_write_sequence=0"], |j| !j.verify.check_sequence),
    ("verify_header_seed", &["--verify_header_seed=0"], |j| !j.verify.check_seed),
    ("trim_percentage", &["--trim_percentage=30"], |j| j.verify.trim_percent == 30),
    ("trim_verify_zero", &["--trim_verify_zero=0"], |j| !j.verify.trimmed_is_zero),
    ("trim_backlog", &["--trim_backlog=8"], |j| j.verify.trim_backlog == 8),
    ("trim_backlog_batch", &["--trim_backlog_batch=3"], |j| j.verify.trim_batch == 3),
    ("block_error_percentiles", &["--block_error_percentiles=1"], |j| j.reporting.block_lives),
    ("stats", &["--stats=0"], |j| j.reporting.hidden),
    ("lockfile", &["--lockfile=readwrite"], |j| j.file_lock == FileLock::ReadWrite),
    ("atomic", &["--atomic=1", "--ioengine=pvsync2"], |j| j.engine_options.atomic && j.direct),
    ("bs_is_seq_rand", &["--rw=randread", "--bs=4k,16k", "--bs_is_seq_rand=1"], |j| {
        j.block_sizes()[0] == BlockSizes::One(16 << 10) && j.sequence_sizes() == Some(BlockSizes::One(4096))
    }),
    ("random_sequence_stride", &["--random_sequence_stride=1"], |j| j.shape.sequence_stride),
    ("mem", &["--mem=mmapshared:/x/y"], |j| j.memory.kind == MemoryKind::SharedFile("/x/y".into())),
    ("iomem_align", &["--iomem_align=1m"], |j| j.memory.align_bytes == 1 << 20),
    ("hugepage-size", &["--hugepage-size=2m"], |j| j.memory.huge_page_bytes == Some(2 << 20)),
    ("kb_base", &["--kb_base=1000"], |j| j.reporting.kb_base == 1000),
    ("unit_base", &["--unit_base=1"], |j| j.reporting.unit_base == 1),
    ("fixedbufs", &["--ioengine=io_uring", "--fixedbufs"], |j| j.engine_options.fixed_buffers),
    ("registerfiles", &["--ioengine=io_uring", "--registerfiles"], |j| j.engine_options.register_files),
    ("sqthread_poll", &["--ioengine=io_uring", "--sqthread_poll=1"], |j| j.engine_options.sq_poll),
    ("sqthread_poll_cpu", &["--ioengine=io_uring", "--sqthread_poll_cpu=1"], |j| {
        j.engine_options.sq_poll_cpu == Some(1)
    }),
    ("hipri", &["--ioengine=io_uring", "--hipri"], |j| j.engine_options.polled),
    ("nonvectored", &["--ioengine=io_uring", "--nonvectored=0"], |j| j.engine_options.vectored),
    ("hipri_percentage", &["--ioengine=pvsync2", "--hipri", "--hipri_percentage=7"], |j| {
        j.engine_options.polled_percent == 7
    }),
    ("cmdprio_percentage", &["--ioengine=io_uring", "--cmdprio_percentage=30,0"], |j| {
        j.engine_options.command_priority.shares(0) == [Prioritised { block_bytes: None, percent: 30, word: 1 << 13 }]
            && j.engine_options.command_priority.shares(1).is_empty()
    }),
    ("cmdprio_class", &["--ioengine=libaio", "--cmdprio_percentage=1", "--cmdprio_class=2"], |j| {
        j.engine_options.command_priority.shares(1)[0].word == 2 << 13
    }),
    ("cmdprio", &["--ioengine=libaio", "--cmdprio_percentage=1", "--cmdprio=7,3"], |j| {
        j.engine_options.command_priority.shares(1)[0].word == 1 << 13 | 3
    }),
    ("cmdprio_hint", &["--ioengine=libaio", "--cmdprio_percentage=1", "--cmdprio_hint=5"], |j| {
        j.engine_options.command_priority.shares(0)[0].word == 1 << 13 | 5 << 3
    }),
    ("cmdprio_bssplit", &["--ioengine=libaio", "--cmdprio_bssplit=4k/30/2/1:8k/50,1k/7"], |j| {
        let share = |bytes, percent, word| Prioritised { block_bytes: Some(bytes), percent, word };
        j.engine_options.command_priority.shares(0) == [share(4096, 30, 2 << 13 | 1), share(8192, 50, 1 << 13)]
            && j.engine_options.command_priority.shares(1) == [share(1024, 7, 1 << 13)]
    }),
    ("clustername", &["--ioengine=rbd", "--clustername=c"], |j| j.engine_options.ceph.cluster.is_some()),
    ("clientname", &["--ioengine=rados", "--clientname=c"], |j| j.engine_options.ceph.client.is_some()),
    ("pool", &["--ioengine=rados", "--pool=p"], |j| j.engine_options.ceph.pool.as_deref() == Some("p")),
    ("rbdname", &["--ioengine=rbd", "--rbdname=i"], |j| j.engine_options.ceph.image.as_deref() == Some("i")),
    ("busy_poll", &["--ioengine=rbd", "--busy_poll=1"], |j| j.engine_options.ceph.busy_poll),
    ("conf", &["--ioengine=rados", "--conf=f"], |j| j.engine_options.ceph.conf == "f"),
    ("touch_objects", &["--ioengine=rados", "--touch_objects=0"], |j| !j.engine_options.ceph.touch_objects),
    ("hostname", &["--ioengine=net", "--hostname=h"], |j| j.engine_options.net.host.as_deref() == Some("h")),
    ("port", &["--ioengine=net", "--port=7"], |j| j.engine_options.net.port == Some(7)),
    ("protocol", &["--ioengine=net", "--protocol=udpv6"], |j| j.engine_options.net.protocol == NetProtocol::UdpV6),
    ("listen", &["--ioengine=net", "--listen"], |j| j.engine_options.net.listen),
    ("pingpong", &["--ioengine=net", "--pingpong"], |j| j.engine_options.net.ping_pong),
    ("nodelay", &["--ioengine=net", "--nodelay=1"], |j| j.engine_options.net.no_delay),
    ("interface", &["--ioengine=net", "--interface=::"], |j| j.engine_options.net.interface.is_some()),
    ("ttl", &["--ioengine=netsplice", "--ttl=9"], |j| j.engine_options.net.ttl == 9),
    ("window_size", &["--ioengine=net", "--window_size=64k"], |j| j.engine_options.net.window_bytes == 64 << 10),
    ("mss", &["--ioengine=net", "--mss=900"], |j| j.engine_options.net.segment_bytes == 900),
    ("md_per_io_size", &["--ioengine=io_uring_cmd", "--md_per_io_size=64"], |j| {
        j.engine_options.nvme.metadata_bytes == 64
    }),
    ("pi_act", &["--ioengine=io_uring_cmd", "--pi_act=0"], |j| !j.engine_options.nvme.protection_action),
    ("pi_chk", &["--ioengine=io_uring_cmd", "--pi_chk=GUARD,APPTAG"], |j| {
        j.engine_options.nvme.checks("APPTAG") && !j.engine_options.nvme.checks("REFTAG")
    }),
    ("apptag", &["--ioengine=io_uring_cmd", "--apptag=0x77"], |j| j.engine_options.nvme.application_tag == 0x77),
    ("apptag_mask", &["--ioengine=io_uring_cmd", "--apptag_mask=0xff"], |j| {
        j.engine_options.nvme.application_mask == 0xff
    }),
    ("write_mode", &["--ioengine=io_uring_cmd", "--write_mode=zeroes"], |j| {
        j.engine_options.nvme.write == NvmeWrite::Zeroes
    }),
    ("deac", &["--ioengine=io_uring_cmd", "--deac=1"], |j| j.engine_options.nvme.deallocate),
    ("read_mode", &["--ioengine=io_uring_cmd", "--read_mode=verify"], |j| j.engine_options.nvme.verifies),
    ("readfua", &["--ioengine=io_uring_cmd", "--readfua=1"], |j| j.engine_options.nvme.read_through),
    ("writefua", &["--ioengine=io_uring_cmd", "--writefua=1"], |j| j.engine_options.nvme.write_through),
    ("uri", &["--ioengine=nbd", "--uri=nbd://h/x"], |j| j.engine_options.uri.as_deref() == Some("nbd://h/x")),
    ("userspace_reap", &["--ioengine=libaio", "--userspace_reap"], |j| j.engine_options.userspace_reap),
    ("libaio_vectored", &["--ioengine=libaio", "--libaio_vectored=1"], |j| j.engine_options.vectored_aio),
    ("force_async", &["--ioengine=io_uring", "--force_async=4"], |j| j.engine_options.force_async == 4),
    ("nowait", &["--ioengine=io_uring", "--nowait=1"], |j| j.engine_options.nowait),
    ("uncached", &["--ioengine=io_uring", "--uncached=1"], |j| j.engine_options.uncached),
    ("nowait", &["--ioengine=libaio", "--nowait=1"], |j| j.engine_options.nowait),
    ("nowait", &["--ioengine=pvsync2", "--nowait=1"], |j| j.engine_options.nowait),
    ("thp", &["--ioengine=mmap", "--thp=1"], |j| j.engine_options.huge_pages),
    ("stat_type", &["--ioengine=filestat", "--stat_type=lstat"], |j| j.engine_options.look_up == LookUp::Lstat),
    ("cpuload", &["--ioengine=cpuio", "--cpuload=7"], |j| j.engine_options.cpu.percent == 7),
    ("cpuchunks", &["--ioengine=cpuio", "--cpuchunks=7"], |j| j.engine_options.cpu.chunk_ns == 7000),
    ("cpumode", &["--ioengine=cpuio", "--cpumode=qsort"], |j| j.engine_options.cpu.mode == CpuMode::Qsort),
    ("exit_on_io_done", &["--ioengine=cpuio", "--exit_on_io_done=1"], |j| j.engine_options.cpu.ends_with_io),
    ("program", &["--ioengine=exec", "--program=a"], |j| j.engine_options.exec.program.as_deref() == Some("a")),
    ("arguments", &["--ioengine=exec", "--arguments=a b"], |j| {
        j.engine_options.exec.arguments.as_deref() == Some("a b")
    }),
    ("grace_time", &["--ioengine=exec", "--grace_time=2"], |j| j.engine_options.exec.grace_ns == 2_000_000_000),
    ("std_redirect", &["--ioengine=exec", "--std_redirect=0"], |j| !j.engine_options.exec.redirect),
    ("readfua", &["--ioengine=sg", "--readfua=1"], |j| j.engine_options.scsi.read_fua),
    ("writefua", &["--ioengine=sg", "--writefua=1"], |j| j.engine_options.scsi.write_fua),
    ("sg_write_mode", &["--ioengine=sg", "--sg_write_mode=write_same"], |j| {
        j.engine_options.scsi.write == ScsiWrite::Same
    }),
    ("stream_id", &["--ioengine=sg", "--stream_id=3"], |j| j.engine_options.scsi.stream == 3),
    ("donorname", &["--ioengine=e4defrag", "--donorname=d"], |j| j.engine_options.donor.as_deref() == Some("d")),
    ("inplace", &["--ioengine=e4defrag", "--inplace=1"], |j| j.engine_options.in_place),
    ("uncached", &["--ioengine=pvsync2", "--uncached=1"], |j| j.engine_options.uncached),
    ("sim_latency", &["--ioengine=sim", "--sim_latency=1ms"], |j| j.engine_options.sim.base_ns == 1_000_000),
    ("sim_bandwidth", &["--ioengine=sim", "--sim_bandwidth=1m"], |j| j.engine_options.sim.bytes_per_second == 1 << 20),
    ("sim_sigma", &["--ioengine=sim", "--sim_sigma=0.25"], |j| j.engine_options.sim.sigma_milli == 250),
    ("sim_channels", &["--ioengine=sim", "--sim_channels=2"], |j| j.engine_options.sim.channels == 2),
    ("sim_stall_every", &["--ioengine=sim", "--sim_stall_every=9"], |j| j.engine_options.sim.stall_every == 9),
    ("sim_submit", &["--ioengine=sim", "--sim_submit=30us"], |j| j.engine_options.sim.submit_ns == 30_000),
    ("sim_stall", &["--ioengine=sim", "--sim_stall=1s"], |j| j.engine_options.sim.stall_ns == 1_000_000_000),
    ("sim_zone_size", &["--ioengine=sim", "--sim_zone_size=1m"], |j| j.engine_options.sim.zones.size_bytes == 1 << 20),
    ("sim_zone_capacity", &["--ioengine=sim", "--sim_zone_capacity=1k"], |j| {
        j.engine_options.sim.zones.capacity_bytes == 1024
    }),
    ("sim_conventional_zones", &["--ioengine=sim", "--sim_conventional_zones=2"], |j| {
        j.engine_options.sim.zones.conventional == 2
    }),
    ("sim_max_open_zones", &["--ioengine=sim", "--sim_max_open_zones=3"], |j| j.engine_options.sim.zones.max_open == 3),
    ("sim_max_active_zones", &["--ioengine=sim", "--sim_max_active_zones=4"], |j| {
        j.engine_options.sim.zones.max_active == 4
    }),
    ("sim_error_every", &["--ioengine=sim", "--sim_error_every=8"], |j| j.engine_options.sim.error_every == 8),
];

fn is_option(argument: &str, name: &str) -> bool {
    let word = argument.trim_start_matches('-');
    word.split_once('=').map_or(word, |(word, _)| word) == name
}

#[test]
fn each_option_puts_its_value_into_the_job() {
    for (name, args, check) in CASES {
        let found = if *name == "name" { crate::world::World::default().jobs(args).remove(0) } else { job(args) };
        assert!(check(&found), "{name}: {args:?} gives {found:#?}");
        // The same without the option: then it must not hold, or the case shows nothing.
        // One of these without the other is refused.
        if ["zonemode", "zonesize"].contains(name) {
            continue;
        }
        let others: Vec<&str> = args.iter().copied().filter(|a| !is_option(a, name)).collect();
        let plain = job(&others);
        assert!(!check(&plain) || *name == "random_generator", "{name} is the default");
    }
}

#[test]
fn no_option_that_is_carried_out_is_without_a_case() {
    for row in all_options() {
        if matches!(row.status, Status::Same | Status::Differs(_) | Status::Ours) {
            assert!(CASES.iter().any(|(name, ..)| *name == row.name), "no test names {}", row.name);
        }
    }
}

#[test]
fn the_command_lines_of_every_tutorial_are_understood() {
    let line = "--randrepeat=1 --ioengine=posixaio --direct=1 --gtod_reduce=1 --name=test --filename=test --bs=4k \
                --iodepth=64 --size=4G --readwrite=randrw --rwmixread=75";
    let args: Vec<&str> = line.split_whitespace().collect();
    let jobs = crate::world::World::default().jobs(&args);
    let j = &jobs[0];
    assert_eq!((j.engine.as_str(), j.direct, j.depth, j.mix_read_percent), ("posixaio", true, 64, 75));
    assert_eq!(j.size, Some(Size::Bytes(4 << 30)));
    assert_eq!(j.seed, Seed::Repeat);

    let line = "--filename=/dev/loop3 --direct=1 --rw=randrw --rwmixwrite=50 --refill_buffers --norandommap \
                --randrepeat=0 --ioengine=posixaio --bs=128k --rate_iops=1280 --iodepth=16 --numjobs=1 --time_based \
                --runtime=86400 --group_reporting --name=benchtest";
    let args: Vec<&str> = line.split_whitespace().collect();
    let jobs = crate::world::World::default().jobs(&args);
    let j = &jobs[0];
    assert_eq!(j.rate.iops, PerDirection::all(Some(1280)));
    assert!(j.no_random_map && j.buffers.refill && j.time_based && j.reporting.group);
}
