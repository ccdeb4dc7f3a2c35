//! The common job: one file, one direction, as fast as it goes, and nothing to be checked, taken down or waited for.
//!
//! What can set a job apart is looked at once in a pass. Its requests are planned in rows, its completions accounted
//! for in rows. The rest takes the general way, request by request; both do the same.

use iostrata_engine::{Completion, Op};
use iostrata_spec::RangeSync;

use super::core::{Core, Slot};
use crate::clock::Clock;
use crate::generate::Direction;
use crate::live::{Live, LiveDirection};

/// Completions that are accounted for together at most.
pub(super) const ROW: usize = 64;

/// Fewer are counted one by one: finding the end of a row costs more than it saves.
const FEW: usize = 4;

/// Submission, completion and total latency of a request.
pub(super) type Latencies = [u64; 3];

/// What is common about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    /// Its requests can be planned in rows ([`Feed::row`](super::feed::Feed::row)): the only direction they have.
    pub(super) planned: Option<Direction>,
    /// Its completions can be accounted for in rows: nobody looks at a request once it is counted.
    pub(super) counted: bool,
}

/// Where requests of one direction are counted, looked up once for many.
#[derive(Clone, Copy)]
pub(super) struct Counting<'a> {
    live: &'a Live,
    counters: &'a LiveDirection,
    slat: bool,
    clat: bool,
    lat: bool,
}

impl Counting<'_> {
    /// Counts a request that was done. The caller holds the live counters' write lock, here and below.
    #[inline(always)]
    pub(super) fn one(&self, bytes: u32, latencies: Latencies) {
        self.counters.bytes.add(u64::from(bytes));
        self.counters.ios.add(1);
        self.latencies(latencies);
    }

    #[inline(always)]
    fn latencies(&self, [slat_ns, clat_ns, lat_ns]: Latencies) {
        if self.clat {
            self.counters.clat.record(clat_ns);
            self.live.buckets.record(clat_ns);
        }
        if self.slat {
            self.counters.slat.record(slat_ns);
        }
        if self.lat {
            self.counters.lat.record(lat_ns);
        }
    }

    /// Counts requests that were done, `bytes` in all.
    #[inline(always)]
    fn row(&self, bytes: u64, row: &[Latencies]) {
        self.counters.bytes.add(bytes);
        self.counters.ios.add(row.len() as u64);
        if row.len() < FEW {
            return row.iter().for_each(|&latencies| self.latencies(latencies));
        }
        if self.clat {
            self.counters.clat.moments.record_all(row.iter().map(|latencies| latencies[1]));
            let buckets = &self.live.buckets;
            match &self.counters.clat.bins {
                // Both in one loop: each has little to do.
                Some(bins) => row.iter().for_each(|latencies| {
                    bins.record(latencies[1]);
                    buckets.record(latencies[1]);
                }),
                None => row.iter().for_each(|latencies| buckets.record(latencies[1])),
            }
        }
        if self.slat {
            self.counters.slat.record_all(row.iter().map(|latencies| latencies[0]));
        }
        if self.lat {
            self.counters.lat.record_all(row.iter().map(|latencies| latencies[2]));
        }
    }
}

impl<'a, C: Clock> Core<'a, C> {
    /// Looks at everything that could set this job apart.
    pub(super) fn common(&self) -> Common {
        let paced = self.pacer.is_some() || self.replay.is_some();
        let attended = self.careful || self.attends || self.files.in_parts() || self.placement.is_some();
        let counted = !(paced || attended || self.takes_down || self.feed.zoned());
        let ranged = self.job.syncs.range != RangeSync::default();
        let drawn = self.flow.is_some() || self.priorities.is_some() || self.recording.is_some();
        let planned = counted && !ranged && !drawn;
        Common { planned: self.feed.row_direction().filter(|_| planned), counted }
    }

    /// Where requests of a direction are counted, if the job can do it.
    #[inline]
    pub(super) fn counting(&self, direction: Direction) -> Option<Counting<'a>> {
        let (live, measure) = (self.live, self.job.measure);
        let slat = measure.slat && !self.plan.engine.caps.synchronous;
        live.direction(direction).map(|counters| Counting {
            live,
            counters,
            slat,
            clat: measure.clat,
            lat: measure.lat,
        })
    }

    /// Accounts for the first of these completions as far as they are common: all of one direction, whole, and none
    /// too slow. Returns how many. The caller holds the live counters' write lock.
    #[inline]
    pub(super) fn account_row(
        &self,
        slots: &[Slot],
        completions: &[Completion],
        now_ns: u64,
        row: &mut [Latencies; ROW],
    ) -> usize {
        let Some(first) = completions.first() else { return 0 };
        let op = slots[first.slot as usize].io.op;
        let Some(direction) = direction_of(op) else { return 0 };
        let Some(counting) = self.counting(direction) else { return 0 };
        let most_ns = self.most_ns[direction.index()];
        let (mut count, mut bytes) = (0, 0u64);
        for (completion, latencies) in completions.iter().zip(row.iter_mut()) {
            let slot = &slots[completion.slot as usize];
            *latencies = slot.latencies_ns(now_ns);
            if slot.io.op != op || completion.result != slot.io.len as i32 || latencies[2] > most_ns {
                break;
            }
            bytes = bytes.wrapping_add(u64::from(slot.asked_len));
            count += 1;
        }
        counting.row(bytes, &row[..count]);
        count
    }
}

/// The operation of a direction.
#[inline]
pub(super) fn op_of(direction: Direction) -> Op {
    match direction {
        Direction::Read => Op::Read,
        Direction::Write => Op::Write,
        Direction::Trim => Op::Trim,
    }
}

#[inline]
fn direction_of(op: Op) -> Option<Direction> {
    match op {
        Op::Read => Some(Direction::Read),
        Op::Write => Some(Direction::Write),
        Op::Trim => Some(Direction::Trim),
        Op::Sync | Op::DataSync => None,
    }
}
