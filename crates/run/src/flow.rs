//! Flows: jobs whose I/O counts keep the ratio of their weights.
//!
//! A job that is ahead of its share waits. Shares are kept by counts, not by time, so that the ratio holds whatever the
//! rates and speeds of the members are: the slowest one, by its weight, sets the pace.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iostrata_spec::Flow;

/// The shortest pause of a member that is ahead: long enough that it sleeps, for the others need a processor, too.
const SHORTEST_PAUSE_NS: u64 = 100_000;
/// How often a member without a pause of its own (`flow_sleep=0`) looks again before it sleeps.
const YIELDS: u32 = 64;

/// What the members that are at work have issued together, and their weights.
#[derive(Default)]
struct Together {
    ios: AtomicU64,
    weight: AtomicU64,
}

/// All flows of a run.
#[derive(Default)]
pub(crate) struct Flows(HashMap<u32, Arc<Together>>);

impl Flows {
    /// A worker joins its flow; `None` if it has none. A late one begins at its fair share: it need not catch up, and
    /// the others need not wait for it.
    ///
    /// In virtual time nothing is gained by looking again without a wait.
    pub(crate) fn join(&mut self, flow: &Flow, virtual_time: bool) -> Option<FlowShare> {
        let weight = u64::from(flow.weight.unsigned_abs());
        if weight == 0 {
            return None;
        }
        let together = Arc::clone(self.0.entry(flow.id).or_default());
        let (ios, others) = (together.ios.load(Relaxed), together.weight.load(Relaxed));
        let fair_ios = (ios * weight).checked_div(others).unwrap_or(0);
        together.ios.fetch_add(fair_ios, Relaxed);
        together.weight.fetch_add(weight, Relaxed);
        let pause_ns = flow.sleep_ns.max(SHORTEST_PAUSE_NS);
        let yields = if flow.sleep_ns == 0 && !virtual_time { YIELDS } else { 0 };
        Some(FlowShare { together, weight, own_ios: Cell::new(fair_ios), pause_ns, yields, left: Cell::new(false) })
    }
}

/// One worker's place in a flow.
pub(crate) struct FlowShare {
    together: Arc<Together>,
    weight: u64,
    own_ios: Cell<u64>,
    pause_ns: u64,
    yields: u32,
    left: Cell<bool>,
}

impl FlowShare {
    /// Whether the worker is ahead and must pause; it gives the others a moment to catch up first.
    pub(crate) fn must_pause(&self) -> bool {
        for _ in 0..self.yields {
            if !self.is_ahead() {
                return false;
            }
            std::thread::yield_now();
        }
        self.is_ahead()
    }

    /// Whether the worker has issued more than its share.
    fn is_ahead(&self) -> bool {
        let (ios, weight) = (self.together.ios.load(Relaxed), self.together.weight.load(Relaxed));
        u128::from(self.own_ios.get()) * u128::from(weight) > u128::from(self.weight) * u128::from(ios)
    }

    /// How long to wait before looking again, nanoseconds.
    pub(crate) fn pause_ns(&self) -> u64 {
        self.pause_ns
    }

    /// Counts an I/O.
    pub(crate) fn count(&self) {
        self.own_ios.set(self.own_ios.get() + 1);
        self.together.ios.fetch_add(1, Relaxed);
    }

    /// The worker does no more: the others share without it.
    pub(crate) fn leave(&self) {
        if !self.left.replace(true) {
            self.together.weight.fetch_sub(self.weight, Relaxed);
            self.together.ios.fetch_sub(self.own_ios.get(), Relaxed);
        }
    }
}

impl Drop for FlowShare {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(weight: i32) -> Flow {
        Flow { weight, id: 0, sleep_ns: 0 }
    }

    /// Rounds in which every member issues as much as it may, up to `burst`.
    fn rounds(members: &[&FlowShare], rounds: u32, burst: u32) {
        for _ in 0..rounds {
            for member in members {
                for _ in 0..burst {
                    if !member.is_ahead() {
                        member.count();
                    }
                }
            }
        }
    }

    #[test]
    fn counts_keep_the_ratio_of_the_weights_and_a_member_that_left_holds_nobody_up() {
        let mut flows = Flows::default();
        let (one, four) = (flows.join(&flow(1), false).unwrap(), flows.join(&flow(-4), false).unwrap());
        rounds(&[&one, &four], 1_000, 64);
        let ratio = four.own_ios.get() as f64 / one.own_ios.get() as f64;
        assert!((3.9..4.1).contains(&ratio), "{ratio}");
        let before = four.own_ios.get();
        drop(one);
        rounds(&[&four], 10, 64);
        assert_eq!(four.own_ios.get(), before + 640);
    }

    #[test]
    fn a_late_member_begins_at_its_share() {
        let mut flows = Flows::default();
        let first = flows.join(&flow(1), false).unwrap();
        rounds(&[&first], 100, 64);
        let late = flows.join(&flow(2), false).unwrap();
        let before = (first.own_ios.get(), late.own_ios.get());
        rounds(&[&first, &late], 300, 64);
        let (first, late) = (first.own_ios.get() - before.0, late.own_ios.get() - before.1);
        assert!(first > 200 && (late as f64 / first as f64 - 2.0).abs() < 0.1, "{first} and {late}");
        assert!(flows.join(&flow(0), false).is_none());
    }
}
