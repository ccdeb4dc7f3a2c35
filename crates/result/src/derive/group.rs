//! "Run status group": what a group moved together.

use super::direction::{Direction, Kind};
use super::per_second;
use super::report::Report;

/// What one group moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSummary {
    /// The group.
    pub group: u32,
    /// `kb_base` of its first entry: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base` of its first entry: 0 automatic, 8 bytes, 1 bits.
    pub unit_base: u32,
    /// One row for each direction in which something ran, in the order read, write, trim, mixed.
    pub rows: Vec<GroupRow>,
}

/// One direction of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Which.
    pub kind: Kind,
    /// Bytes transferred.
    pub bytes: u64,
    /// Bytes per second over the longest runtime.
    pub bw_bytes: u64,
    /// Smallest bandwidth of an entry, bytes per second.
    pub min_bw_bytes: u64,
    /// Largest bandwidth of an entry, bytes per second.
    pub max_bw_bytes: u64,
    /// Shortest runtime of an entry, milliseconds.
    pub min_runtime_ms: u64,
    /// Longest runtime of an entry, milliseconds.
    pub max_runtime_ms: u64,
}

/// The groups of all entries, ascending. One without any I/O has no rows.
pub fn groups(reports: &[Report<'_>]) -> Vec<GroupSummary> {
    let mut ascending: Vec<&Report<'_>> = reports.iter().collect();
    ascending.sort_by_key(|report| report.group);
    let mut groups = Vec::new();
    for of_group in ascending.chunk_by(|left, right| left.group == right.group) {
        let members = || of_group.iter().copied();
        let kinds = [Kind::Read, Kind::Write, Kind::Trim, Kind::Mixed];
        let rows = kinds.into_iter().filter_map(|kind| row(kind, members())).collect();
        let bases = members().next().map(|report| (report.job.reporting.kb_base, report.job.reporting.unit_base));
        let (kb_base, unit_base) = bases.unwrap_or((1024, 0));
        groups.push(GroupSummary { group: of_group[0].group, kb_base, unit_base, rows });
    }
    groups
}

/// The row of a kind: `None` when nothing ran that way.
fn row<'a>(kind: Kind, members: impl Iterator<Item = &'a Report<'a>> + Clone) -> Option<GroupRow> {
    // What moved no bytes (`cpuio`) has no rate that could be one of a group's.
    let ran = |direction: &&Direction| direction.runtime_ms > 0 && direction.bytes > 0;
    let whole = members.clone().filter_map(|report| report.direction(kind)).filter(ran);
    // A mixed row beside the three others spans their rates, not its own.
    let parts = members.flat_map(|report| {
        let beside = kind == Kind::Mixed && report.directions.len() > 1;
        report.directions.iter().filter(move |part| (part.kind == kind) != beside)
    });
    let rates = || parts.clone().filter(ran).map(Direction::bw_bytes);
    let max_runtime_ms = whole.clone().map(|direction| direction.runtime_ms).max()?;
    let bytes = whole.clone().map(|direction| direction.bytes).fold(0, u64::saturating_add);
    Some(GroupRow {
        kind,
        bytes,
        bw_bytes: per_second(bytes, max_runtime_ms),
        min_bw_bytes: rates().min()?,
        max_bw_bytes: rates().max()?,
        min_runtime_ms: whole.map(|direction| direction.runtime_ms).min()?,
        max_runtime_ms,
    })
}

/// Fills in what share of its group's bandwidth each row has.
pub(super) fn set_shares(reports: &mut [Report<'_>]) {
    let groups = groups(reports);
    for report in reports {
        let Ok(at) = groups.binary_search_by_key(&report.group, |group| group.group) else { continue };
        let group = &groups[at];
        for direction in &mut report.directions {
            let row = group.rows.iter().find(|row| row.kind == direction.kind);
            direction.set_share(row.map_or(0, |row| row.bw_bytes));
        }
    }
}
