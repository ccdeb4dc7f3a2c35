//! The table itself.

use super::Source::{Absent, Direction, Disk, Job, Map, Members, Rendered, Run, Share};
use super::{Leaf, LeafRow};
use crate::derive::{LEAST_DEPTH_SHARE, LEAST_LATENCY_SHARE, Latency, Samples};

fn whole(value: impl Into<i128>) -> Leaf {
    Leaf::Whole(value.into())
}

fn min(latency: &Latency) -> Leaf {
    whole(latency.min_ns())
}

fn max(latency: &Latency) -> Leaf {
    whole(latency.max_ns())
}

fn mean(latency: &Latency) -> Leaf {
    Leaf::Real(latency.mean_ns())
}

fn stddev(latency: &Latency) -> Leaf {
    Leaf::Real(latency.stddev_ns())
}

fn count(latency: &Latency) -> Leaf {
    whole(latency.count())
}

fn spread(samples: &Samples) -> Leaf {
    Leaf::Real(samples.stddev())
}

/// `eta` when it is not known.
const ETA_UNKNOWN: u64 = i32::MAX as u64;

macro_rules! leaves {
    ($($path:literal: $source:expr;)*) => {
        &[$(LeafRow { path: $path, source: $source },)*]
    };
}

/// All leaves of fio 3.42's JSON and JSON+, in its order.
pub const FIO_JSON_LEAVES: &[LeafRow] = leaves! {
    "fio version": Rendered("the version of fio whose format this is, \"fio-3.42\"");
    "timestamp": Run(|run| whole(run.taken_unix_ms.div_euclid(1000)));
    "timestamp_ms": Run(|run| whole(run.taken_unix_ms));
    "time": Rendered("RunResult::taken_unix_ms as local time, in the form of ctime");
    "global options.*": Map("RunResult::global_options");
    "jobs[].jobname": Job(|job| Leaf::Text(job.job.name.clone()));
    "jobs[].groupid": Job(|job| whole(job.group));
    "jobs[].job_start": Job(|job| whole(job.job_start_ms));
    "jobs[].error": Job(|job| whole(job.error));
    "jobs[].eta": Job(|job| whole(job.eta_s.unwrap_or(ETA_UNKNOWN)));
    "jobs[].elapsed": Job(|job| whole(job.elapsed_s));
    "jobs[].job options.*": Map("JobFacts::options");
    "jobs[].DIRECTION.io_bytes": Direction(|row| whole(row.bytes));
    "jobs[].DIRECTION.io_kbytes": Direction(|row| whole(row.kib()));
    "jobs[].DIRECTION.bw_bytes": Direction(|row| whole(row.bw_bytes()));
    "jobs[].DIRECTION.bw": Direction(|row| whole(row.bw_kib()));
    "jobs[].DIRECTION.iops": Direction(|row| Leaf::Real(row.iops()));
    "jobs[].DIRECTION.runtime": Direction(|row| whole(row.runtime_ms));
    "jobs[].DIRECTION.total_ios": Direction(|row| whole(row.issued_ios()));
    "jobs[].DIRECTION.short_ios": Direction(|row| whole(row.short_ios));
    "jobs[].DIRECTION.drop_ios": Direction(|row| whole(row.dropped_ios));
    "jobs[].DIRECTION.slat_ns.min": Direction(|row| min(&row.slat));
    "jobs[].DIRECTION.slat_ns.max": Direction(|row| max(&row.slat));
    "jobs[].DIRECTION.slat_ns.mean": Direction(|row| mean(&row.slat));
    "jobs[].DIRECTION.slat_ns.stddev": Direction(|row| stddev(&row.slat));
    "jobs[].DIRECTION.slat_ns.N": Direction(|row| count(&row.slat));
    "jobs[].DIRECTION.slat_ns.percentile.*": Map("Direction::slat, Latency::percentiles");
    "jobs[].DIRECTION.slat_ns.bins.*": Map("Direction::slat, Latency::fio_bins");
    "jobs[].DIRECTION.clat_ns.min": Direction(|row| min(&row.clat));
    "jobs[].DIRECTION.clat_ns.max": Direction(|row| max(&row.clat));
    "jobs[].DIRECTION.clat_ns.mean": Direction(|row| mean(&row.clat));
    "jobs[].DIRECTION.clat_ns.stddev": Direction(|row| stddev(&row.clat));
    "jobs[].DIRECTION.clat_ns.N": Direction(|row| count(&row.clat));
    "jobs[].DIRECTION.clat_ns.percentile.*": Map("Direction::clat, Latency::percentiles");
    "jobs[].DIRECTION.clat_ns.bins.*": Map("Direction::clat, Latency::fio_bins");
    "jobs[].DIRECTION.lat_ns.min": Direction(|row| min(&row.lat));
    "jobs[].DIRECTION.lat_ns.max": Direction(|row| max(&row.lat));
    "jobs[].DIRECTION.lat_ns.mean": Direction(|row| mean(&row.lat));
    "jobs[].DIRECTION.lat_ns.stddev": Direction(|row| stddev(&row.lat));
    "jobs[].DIRECTION.lat_ns.N": Direction(|row| count(&row.lat));
    "jobs[].DIRECTION.lat_ns.percentile.*": Map("Direction::lat, Latency::percentiles");
    "jobs[].DIRECTION.lat_ns.bins.*": Map("Direction::lat, Latency::fio_bins");
    "jobs[].DIRECTION.prios[].*": Map("Direction::priorities");
    "jobs[].DIRECTION.bw_min": Direction(|row| whole(row.bandwidth_kib.min));
    "jobs[].DIRECTION.bw_max": Direction(|row| whole(row.bandwidth_kib.max));
    "jobs[].DIRECTION.bw_agg": Direction(|row| Leaf::Real(row.bandwidth_share));
    "jobs[].DIRECTION.bw_mean": Direction(|row| Leaf::Real(row.bandwidth_kib.mean));
    "jobs[].DIRECTION.bw_dev": Direction(|row| spread(&row.bandwidth_kib));
    "jobs[].DIRECTION.bw_samples": Direction(|row| whole(row.bandwidth_kib.count));
    "jobs[].DIRECTION.iops_min": Direction(|row| whole(row.iops_samples.min));
    "jobs[].DIRECTION.iops_max": Direction(|row| whole(row.iops_samples.max));
    "jobs[].DIRECTION.iops_mean": Direction(|row| Leaf::Real(row.iops_samples.mean));
    "jobs[].DIRECTION.iops_stddev": Direction(|row| spread(&row.iops_samples));
    "jobs[].DIRECTION.iops_samples": Direction(|row| whole(row.iops_samples.count));
    "jobs[].DIRECTION.cachehit": Absent("only with the engines that count hits of the page cache: none is there yet");
    "jobs[].sync.total_ios": Job(|job| whole(job.sync_ios));
    "jobs[].sync.lat_ns.min": Job(|job| min(&job.sync));
    "jobs[].sync.lat_ns.max": Job(|job| max(&job.sync));
    "jobs[].sync.lat_ns.mean": Job(|job| mean(&job.sync));
    "jobs[].sync.lat_ns.stddev": Job(|job| stddev(&job.sync));
    "jobs[].sync.lat_ns.N": Job(|job| count(&job.sync));
    "jobs[].sync.lat_ns.percentile.*": Map("Report::sync, Latency::percentiles");
    "jobs[].sync.lat_ns.bins.*": Map("Report::sync, Latency::fio_bins");
    "jobs[].job_runtime": Job(|job| whole(job.job_runtime_ms));
    "jobs[].usr_cpu": Job(|job| Leaf::Real(job.user_cpu_percent));
    "jobs[].sys_cpu": Job(|job| Leaf::Real(job.system_cpu_percent));
    "jobs[].ctx": Job(|job| whole(job.context_switches));
    "jobs[].majf": Job(|job| whole(job.major_faults));
    "jobs[].minf": Job(|job| whole(job.minor_faults));
    "jobs[].iodepth_level.1": Share(|job| &job.depth_shares, 0, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.2": Share(|job| &job.depth_shares, 1, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.4": Share(|job| &job.depth_shares, 2, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.8": Share(|job| &job.depth_shares, 3, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.16": Share(|job| &job.depth_shares, 4, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.32": Share(|job| &job.depth_shares, 5, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_level.>=64": Share(|job| &job.depth_shares, 6, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.0": Share(|job| &job.submit_shares, 0, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.4": Share(|job| &job.submit_shares, 1, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.8": Share(|job| &job.submit_shares, 2, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.16": Share(|job| &job.submit_shares, 3, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.32": Share(|job| &job.submit_shares, 4, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.64": Share(|job| &job.submit_shares, 5, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_submit.>=64": Share(|job| &job.submit_shares, 6, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.0": Share(|job| &job.complete_shares, 0, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.4": Share(|job| &job.complete_shares, 1, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.8": Share(|job| &job.complete_shares, 2, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.16": Share(|job| &job.complete_shares, 3, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.32": Share(|job| &job.complete_shares, 4, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.64": Share(|job| &job.complete_shares, 5, LEAST_DEPTH_SHARE);
    "jobs[].iodepth_complete.>=64": Share(|job| &job.complete_shares, 6, LEAST_DEPTH_SHARE);
    "jobs[].latency_ns.2": Share(|job| &job.latency_ns_shares, 0, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.4": Share(|job| &job.latency_ns_shares, 1, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.10": Share(|job| &job.latency_ns_shares, 2, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.20": Share(|job| &job.latency_ns_shares, 3, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.50": Share(|job| &job.latency_ns_shares, 4, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.100": Share(|job| &job.latency_ns_shares, 5, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.250": Share(|job| &job.latency_ns_shares, 6, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.500": Share(|job| &job.latency_ns_shares, 7, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.750": Share(|job| &job.latency_ns_shares, 8, LEAST_LATENCY_SHARE);
    "jobs[].latency_ns.1000": Share(|job| &job.latency_ns_shares, 9, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.2": Share(|job| &job.latency_us_shares, 0, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.4": Share(|job| &job.latency_us_shares, 1, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.10": Share(|job| &job.latency_us_shares, 2, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.20": Share(|job| &job.latency_us_shares, 3, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.50": Share(|job| &job.latency_us_shares, 4, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.100": Share(|job| &job.latency_us_shares, 5, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.250": Share(|job| &job.latency_us_shares, 6, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.500": Share(|job| &job.latency_us_shares, 7, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.750": Share(|job| &job.latency_us_shares, 8, LEAST_LATENCY_SHARE);
    "jobs[].latency_us.1000": Share(|job| &job.latency_us_shares, 9, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.2": Share(|job| &job.latency_ms_shares, 0, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.4": Share(|job| &job.latency_ms_shares, 1, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.10": Share(|job| &job.latency_ms_shares, 2, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.20": Share(|job| &job.latency_ms_shares, 3, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.50": Share(|job| &job.latency_ms_shares, 4, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.100": Share(|job| &job.latency_ms_shares, 5, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.250": Share(|job| &job.latency_ms_shares, 6, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.500": Share(|job| &job.latency_ms_shares, 7, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.750": Share(|job| &job.latency_ms_shares, 8, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.1000": Share(|job| &job.latency_ms_shares, 9, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.2000": Share(|job| &job.latency_ms_shares, 10, LEAST_LATENCY_SHARE);
    "jobs[].latency_ms.>=2000": Share(|job| &job.latency_ms_shares, 11, LEAST_LATENCY_SHARE);
    "jobs[].total_err": Job(|job| whole(job.tolerated.total));
    "jobs[].first_error": Job(|job| whole(job.tolerated.first_error));
    "jobs[].latency_depth": Job(|job| whole(job.latency_target.depth));
    "jobs[].latency_target": Job(|job| whole(job.latency_target.target_ns));
    "jobs[].latency_target_ns": Job(|job| whole(job.latency_target.target_ns));
    "jobs[].latency_percentile": Job(|job| Leaf::Real(job.latency_target.percentile));
    "jobs[].latency_window": Job(|job| whole(job.latency_target.window_us));
    "jobs[].latency_window_us": Job(|job| whole(job.latency_target.window_us));
    "jobs[].desc": Job(|job| Leaf::Text(job.job.description.clone().unwrap_or_default()));
    "jobs[].block.*": Absent("only with block_error_percentiles, which is not carried out yet");
    "jobs[].steadystate.*": Rendered("of the samples of a search for steady state, as derive::Steadiness judges them");
    "jobs[].zone_resets": Rendered("Report::zone_resets, with zonemode=zbd only");
    "disk_util[].name": Disk(|disk| Leaf::Text(disk.used.name.clone()));
    "disk_util[].read_ios": Disk(|disk| whole(disk.used.ios[0]));
    "disk_util[].write_ios": Disk(|disk| whole(disk.used.ios[1]));
    "disk_util[].read_sectors": Disk(|disk| whole(disk.used.sectors[0]));
    "disk_util[].write_sectors": Disk(|disk| whole(disk.used.sectors[1]));
    "disk_util[].read_merges": Disk(|disk| whole(disk.used.merges[0]));
    "disk_util[].write_merges": Disk(|disk| whole(disk.used.merges[1]));
    "disk_util[].read_ticks": Disk(|disk| whole(disk.used.ticks_ms[0]));
    "disk_util[].write_ticks": Disk(|disk| whole(disk.used.ticks_ms[1]));
    "disk_util[].in_queue": Disk(|disk| whole(disk.used.in_queue_ms));
    "disk_util[].util": Disk(|disk| Leaf::Real(disk.util_percent));
    "disk_util[].aggr_read_ios": Members(|members| whole(members.ios[0]));
    "disk_util[].aggr_write_ios": Members(|members| whole(members.ios[1]));
    "disk_util[].aggr_read_sectors": Members(|members| whole(members.sectors[0]));
    "disk_util[].aggr_write_sectors": Members(|members| whole(members.sectors[1]));
    "disk_util[].aggr_read_merges": Members(|members| whole(members.merges[0]));
    "disk_util[].aggr_write_merge": Members(|members| whole(members.merges[1]));
    "disk_util[].aggr_read_ticks": Members(|members| whole(members.ticks_ms[0]));
    "disk_util[].aggr_write_ticks": Members(|members| whole(members.ticks_ms[1]));
    "disk_util[].aggr_in_queue": Members(|members| whole(members.in_queue_ms));
    "disk_util[].aggr_util": Members(|members| Leaf::Real(members.util_percent));
    "cpu_idleness.*": Absent("only with --idle-prof, which is not carried out yet");
};
