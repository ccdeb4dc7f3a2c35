//! What stands after the jobs: groups, disks, and what a reader should know.

use std::collections::HashMap;

use super::errors::one_line;
use super::job::style;
use crate::number::Style;
use iostrata_result::derive::{self, Disk, DiskCounts, GroupRow, Idleness, Report};
use iostrata_result::{CpuIdleness, DiskUse, Note};

/// The code of notes that tell where we do not do as fio does.
pub(crate) const DIFFERS: &str = "differs-from-fio";
/// The code of notes about what was asked for: an option that has no effect, a value taken in another way than
/// written.
pub(crate) const WARNING: &str = "warning";

/// `Run status group 0 (all jobs):` for each group.
pub(super) fn groups(reports: &[Report<'_>]) -> String {
    let mut text = String::new();
    let mut firsts: HashMap<u32, &Report<'_>> = HashMap::new();
    for report in reports {
        firsts.entry(report.group).or_insert(report);
    }
    for group in derive::groups(reports) {
        let style = firsts.get(&group.group).map(|report| style(&report.job.reporting)).unwrap_or_default();
        text += &format!("\nRun status group {} (all jobs):\n", group.group);
        text.extend(group.rows.iter().filter(|row| row.bytes > 0).map(|row| group_row(row, style)));
    }
    text
}

fn group_row(row: &GroupRow, style: Style) -> String {
    format!(
        "{:>7}: bw={} ({}), {}-{} ({}-{}), io={}, run={}-{}msec\n",
        row.kind.name().to_uppercase(),
        style.rate(row.bw_bytes),
        style.rate_other(row.bw_bytes),
        style.rate(row.min_bw_bytes),
        style.rate(row.max_bw_bytes),
        style.rate_other(row.min_bw_bytes),
        style.rate_other(row.max_bw_bytes),
        style.bytes_both(row.bytes),
        row.min_runtime_ms,
        row.max_runtime_ms
    )
}

/// `Disk stats (read/write):`, unless no disk is known.
pub(super) fn disks(disks: &[Disk<'_>]) -> String {
    if disks.is_empty() {
        return String::new();
    }
    let lines: String = disks.iter().map(disk).collect();
    format!("\nDisk stats (read/write):\n{lines}")
}

/// `CPU idleness:`, where that was asked for.
pub(super) fn idleness(counts: &CpuIdleness) -> String {
    let idle = Idleness::of(counts);
    let mut text = format!("\nCPU idleness:\n  system: {:3.2}%\n", idle.system_percent);
    if counts.per_cpu {
        let each: Vec<String> = idle.cpus.iter().map(|(_, percent)| format!("{percent:3.2}%")).collect();
        text += &format!("  percpu: {}\n", each.join(", "));
    }
    text + &unit_work(counts)
}

/// The line that says how long a unit of work takes.
pub fn unit_work(counts: &CpuIdleness) -> String {
    let idle = Idleness::of(counts);
    format!("  unit work: mean={:3.2}us, stddev={:3.2}\n", idle.unit_mean_us, idle.unit_stddev_us)
}

/// A disk and, below it, those that it is made of.
fn disk(disk: &Disk<'_>) -> String {
    let DiskUse { name, ios, sectors, merges, ticks_ms, in_queue_ms, .. } = disk.used;
    let indent = if disk.aggregate.is_some() { "    " } else { "  " };
    let mut text = format!(
        "{indent}{name}: ios={}, sectors={}, merge={}, ticks={}, in_queue={in_queue_ms}, util={:3.2}%",
        pair(ios),
        pair(sectors),
        pair(merges),
        pair(ticks_ms),
        disk.util_percent
    );
    if let Some(DiskCounts { ios, sectors, merges, ticks_ms, in_queue_ms, util_percent }) = &disk.aggregate {
        text += &format!(
            ", aggrios={}, aggsectors={}, aggrmerge={}, aggrticks={}, aggrin_queue={in_queue_ms}, \
             aggrutil={util_percent:3.2}%",
            pair(ios),
            pair(sectors),
            pair(merges),
            pair(ticks_ms)
        );
    }
    text.push('\n');
    text.extend(disk.members.iter().map(self::disk));
    text
}

fn pair([read, write]: &[u64; 2]) -> String {
    format!("{read}/{write}")
}

/// Our own sections, each only if it has something to say.
pub(super) fn notes(notes: &[Note]) -> String {
    let (differs, others): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(|note| note.code == DIFFERS);
    list("Notes", &others) + &list("Differs from fio", &differs)
}

fn list(title: &str, notes: &[&Note]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let lines: String = notes
        .iter()
        .map(|note| match &note.job {
            Some(job) => format!("  {}: {}\n", one_line(job), one_line(&note.text)),
            None => format!("  {}\n", one_line(&note.text)),
        })
        .collect();
    format!("\n{title}:\n{lines}")
}
