//! `sim`: a seeded device in virtual time.
//!
//! The law is [`SimLaw`]: `channels` servers, first come first served, each taking
//! `(base + bytes / bandwidth) · factor (+ stall)` per request. The same seed and the same requests give the same
//! completions to the nanosecond, on any machine. With `sim_zone_size` the device is a [`ZonedDisk`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use iostrata_os::zoned::ZoneCommand;
use iostrata_spec::SimLaw;

use crate::api::{
    Availability, Caps, Completion, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable,
    Granted, Instance, Io, Op, SlotId, Stuck,
};
use crate::arena::SlotArena;
use crate::blocking::whole;
use crate::random::Random;
use crate::virtual_time::World;
use crate::zoned_disk::ZonedDisk;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "sim",
    caps: Caps { diskless: true, virtual_time: true, ..Caps::ASYNCHRONOUS },
    doc: "a seeded device with a latency law, in virtual time",
    availability: || Availability::Here,
    make,
};

/// What a look at the device costs when nothing is ready, nanoseconds of virtual time. Computing costs nothing there,
/// so a loop that only polls would else never see time pass.
const EMPTY_POLL_NS: u64 = 100;

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let Some(world) = config.world.clone() else {
        return Err(EngineError::Unsupported("the sim engine runs in virtual time, and there is none here".into()));
    };
    Ok(Instance::Async(Box::new(Sim {
        world,
        worker: config.worker,
        device: Device {
            zoned: config.zoned.clone(),
            ..Device::new(&config.options.sim, config.seed, config.file_sizes.clone())
        },
        in_flight: BinaryHeap::new(),
        depth: 0,
        slots: None,
    })))
}

struct Sim {
    world: Arc<World>,
    worker: u32,
    device: Device,
    /// The earliest end on top.
    in_flight: BinaryHeap<Reverse<Served>>,
    depth: usize,
    slots: Option<Arc<SlotArena>>,
}

/// A request and its end; ordered by time, then by order of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Served {
    end_ns: u64,
    number: u64,
    slot: SlotId,
    result: i32,
}

impl Sim {
    /// Hands back all that has ended by `now_ns`; how many these were.
    fn collect(&mut self, now_ns: u64, done: &mut Completions) -> u32 {
        let mut collected = 0;
        while let Some(Reverse(next)) = self.in_flight.peek().copied()
            && next.end_ns <= now_ns
        {
            self.in_flight.pop();
            self.give_back(next.slot);
            done.push(Completion { slot: next.slot, result: next.result });
            collected += 1;
        }
        collected
    }

    /// Waits for `min` requests or the deadline, whichever is first in virtual time.
    fn wait(&mut self, min: u32, until: Deadline, done: &mut Completions) -> u32 {
        let mut got = self.collect(self.world.now_ns(self.worker), done);
        while got < min {
            let Some(Reverse(next)) = self.in_flight.peek() else { break };
            let at_ns = match until {
                Deadline::Now => break,
                Deadline::At(at_ns) => next.end_ns.min(at_ns),
                Deadline::Never => next.end_ns,
            };
            self.world.wait_until(self.worker, at_ns);
            got += self.collect(at_ns, done);
            if matches!(until, Deadline::At(deadline_ns) if deadline_ns <= at_ns) {
                break;
            }
        }
        got
    }

    fn give_back(&self, slot: SlotId) {
        if let Some(slots) = &self.slots {
            slots.give_back(slot);
        }
    }
}

impl Engine for Sim {
    fn attach(&mut self, _: &FileTable, slots: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        self.slots = Some(slots);
        self.depth = depth as usize;
        self.in_flight.reserve(self.depth);
        Ok(Granted { depth, used: vec!["virtual time".into()], notes: Vec::new() })
    }

    fn submit(&mut self, ios: &[Io], _: &mut Completions) -> Result<usize, EngineError> {
        let mut now_ns = self.world.now_ns(self.worker);
        let taken = &ios[..ios.len().min(self.depth - self.in_flight.len())];
        for io in taken {
            if let Some(slots) = &self.slots {
                slots.lend(io.slot);
            }
            self.in_flight.push(Reverse(self.device.serve(io, now_ns)));
            now_ns = now_ns.saturating_add(self.device.law.submit_ns);
        }
        if self.device.law.submit_ns > 0 {
            self.world.wait_until(self.worker, now_ns);
        }
        Ok(taken.len())
    }

    fn reap(&mut self, min: u32, until: Deadline, done: &mut Completions) -> Result<(), EngineError> {
        if self.wait(min, until, done) == 0 && (min == 0 || until == Deadline::Now) && !self.in_flight.is_empty() {
            self.world.wait_until(self.worker, self.world.now_ns(self.worker) + EMPTY_POLL_NS);
        }
        Ok(())
    }

    /// A device cannot be told to forget: cancelling is waiting.
    fn quiesce(&mut self, until: Deadline, done: &mut Completions) -> Stuck {
        self.wait(u32::MAX, until, done);
        Stuck { slots: self.in_flight.iter().map(|Reverse(served)| served.slot).collect() }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // No kernel holds these bytes: the device exists in name only.
        while let Some(Reverse(served)) = self.in_flight.pop() {
            self.give_back(served.slot);
        }
    }
}

/// The device itself: requests in, ends out.
struct Device {
    law: SimLaw,
    /// When each channel is free again.
    free_ns: Vec<u64>,
    sizes: Vec<u64>,
    /// What the files are zones of, if they are.
    zoned: Vec<Arc<ZonedDisk>>,
    random: Random,
    stalls: OneIn,
    errors: OneIn,
    served: u64,
}

impl Device {
    fn new(law: &SimLaw, seed: u64, sizes: Vec<u64>) -> Self {
        Device {
            free_ns: vec![0; law.channels.max(1) as usize],
            sizes,
            zoned: Vec::new(),
            random: Random::new(seed),
            stalls: OneIn::new(law.stall_every),
            errors: OneIn::new(law.error_every),
            served: 0,
            law: law.clone(),
        }
    }

    /// Queues a request at `now_ns`: its end and its result.
    fn serve(&mut self, io: &Io, now_ns: u64) -> Served {
        let service_ns = self.service_ns(io);
        // A flush ends after all that was taken before it; anything else goes to the channel that is free first.
        let free = match io.op {
            Op::Sync | Op::DataSync => self.free_ns.iter_mut().max(),
            Op::Read | Op::Write | Op::Trim => self.free_ns.iter_mut().min(),
        };
        let mut end_ns = now_ns.saturating_add(service_ns);
        if let Some(free) = free {
            end_ns = now_ns.max(*free).saturating_add(service_ns);
            *free = end_ns;
        }
        let failed = self.errors.hit(&mut self.random);
        let result = if failed { -libc::EIO } else { self.zone_refuses(io).map_or_else(|| self.transfer(io), |e| -e) };
        self.served += 1;
        Served { end_ns, number: self.served, slot: io.slot, result }
    }

    /// On a disk of zones: carries out what zones keep account of; the errno of what they refuse.
    fn zone_refuses(&self, io: &Io) -> Option<i32> {
        let disk = self.zoned.get(io.file as usize)?;
        match io.op {
            Op::Write => disk.write(io.offset, u64::from(io.len)).err(),
            Op::Trim => {
                let error = disk.command(ZoneCommand::Reset, io.offset).err()?;
                Some(error.raw_os_error().unwrap_or(libc::EIO))
            }
            Op::Read | Op::Sync | Op::DataSync => None,
        }
    }

    fn service_ns(&mut self, io: &Io) -> u64 {
        let bytes = match io.op {
            Op::Read => self.readable(io),
            Op::Write => io.len,
            Op::Trim | Op::Sync | Op::DataSync => 0,
        };
        let law = &self.law;
        // A bandwidth of 0 stands for an infinite one. 2^32 bytes · 10^9 fits in 64 bits.
        let transfer_ns = (u64::from(bytes) * 1_000_000_000).checked_div(law.bytes_per_second).unwrap_or(0);
        let steady_ns = law.base_ns.saturating_add(transfer_ns);
        let factor = self.random.log_normal(f64::from(law.sigma_milli) / 1000.0);
        let stall_ns = if self.stalls.hit(&mut self.random) { law.stall_ns } else { 0 };
        // A conversion from floating point saturates.
        ((steady_ns as f64 * factor + 0.5) as u64).saturating_add(stall_ns)
    }

    /// How many bytes of a read lie before the end of the file.
    fn readable(&self, io: &Io) -> u32 {
        let size = self.sizes.get(io.file as usize).copied().unwrap_or(0);
        u32::try_from(size.saturating_sub(io.offset)).unwrap_or(u32::MAX).min(io.len)
    }

    fn transfer(&mut self, io: &Io) -> i32 {
        match io.op {
            Op::Read => whole(self.readable(io)),
            Op::Write => {
                let moved = whole(io.len);
                if let Some(size) = self.sizes.get_mut(io.file as usize) {
                    *size = (*size).max(io.offset.saturating_add(moved as u64));
                }
                moved
            }
            Op::Trim => whole(io.len),
            Op::Sync | Op::DataSync => 0,
        }
    }
}

/// Hits exactly one of every `period` calls, at a place drawn anew each period.
struct OneIn {
    period: u64,
    /// Calls left in this period.
    left: u64,
    /// The hit comes when so many are left.
    hit_at: u64,
}

impl OneIn {
    fn new(period: u64) -> Self {
        OneIn { period, left: 0, hit_at: 0 }
    }

    fn hit(&mut self, random: &mut Random) -> bool {
        if self.period == 0 {
            return false;
        }
        if self.left == 0 {
            self.left = self.period;
            self.hit_at = 1 + random.below(self.period);
        }
        let hit = self.left == self.hit_at;
        self.left -= 1;
        hit
    }
}

#[cfg(test)]
#[path = "sim_tests.rs"]
mod tests;
