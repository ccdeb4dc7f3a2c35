//! What the disks under the jobs' files did.

use super::percent;
use crate::model::{DiskUse, RunResult};

/// One disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk<'a> {
    /// What the kernel counted.
    pub used: &'a DiskUse,
    /// Time with I/O in flight in percent of the window, at most 100.
    pub util_percent: f64,
    /// Of the devices it is made of: their mean, whole numbers rounded down, as in fio. `None` when it is made of
    /// none.
    pub aggregate: Option<DiskCounts>,
    /// The devices it is made of.
    pub members: Vec<Disk<'a>>,
}

/// Mean counts of some devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounts {
    /// Reads and writes completed.
    pub ios: [u64; 2],
    /// 512-byte sectors read and written.
    pub sectors: [u64; 2],
    /// Merges.
    pub merges: [u64; 2],
    /// Milliseconds spent reading and writing.
    pub ticks_ms: [u64; 2],
    /// Weighted milliseconds in the queue.
    pub in_queue_ms: u64,
    /// Utilization of the busiest of them, percent.
    pub util_percent: f64,
}

/// The disks of a run.
pub fn disks(run: &RunResult) -> Vec<Disk<'_>> {
    run.disks.iter().map(disk).collect()
}

fn disk(used: &DiskUse) -> Disk<'_> {
    let members: Vec<Disk<'_>> = used.members.iter().map(disk).collect();
    let util_percent = percent(used.busy_ms as f64, used.window_ms as f64).min(100.0);
    Disk { used, util_percent, aggregate: aggregate(&members), members }
}

fn aggregate(members: &[Disk<'_>]) -> Option<DiskCounts> {
    if members.is_empty() {
        return None;
    }
    let mean = |field: &dyn Fn(&DiskUse) -> u64| {
        let sum: u128 = members.iter().map(|member| u128::from(field(member.used))).sum();
        (sum / members.len() as u128) as u64
    };
    let means = |field: fn(&DiskUse) -> &[u64; 2]| [0, 1].map(|way| mean(&|used| field(used)[way]));
    Some(DiskCounts {
        ios: means(|used| &used.ios),
        sectors: means(|used| &used.sectors),
        merges: means(|used| &used.merges),
        ticks_ms: means(|used| &used.ticks_ms),
        in_queue_ms: mean(&|used| used.in_queue_ms),
        util_percent: members.iter().map(|member| member.util_percent).fold(0.0, f64::max),
    })
}
