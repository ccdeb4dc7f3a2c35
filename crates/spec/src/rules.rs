//! What must hold between options, and what follows from them.

mod memory;
mod placement;
mod process;
mod replay;
mod zones;

pub(crate) use process::waits;

use crate::api::Severity;
use crate::assemble::{Built, Settings};
use crate::engines::reading_changes;
use crate::job::{BlockSizes, Job, PerDirection, Seed, Size, Verify, VerifyMethod, WindowValue};
use crate::report::Report;
use crate::words::Spot;

struct Rules<'a> {
    built: Built,
    /// Where the job is declared, for what has no place of its own.
    declared: &'a Spot,
    report: &'a mut Report,
}

/// The job that a finished draft makes.
pub(crate) fn finish(built: Built, declared: &Spot, settings: Settings, report: &mut Report) -> Job {
    let mut rules = Rules { built, declared, report };
    rules.rates();
    rules.times();
    rules.depths();
    rules.zones();
    rules.placement();
    rules.sizes();
    rules.direction(settings.readonly);
    rules.seeds();
    rules.process();
    rules.replay(settings.readonly);
    rules.checks();
    rules.buffers();
    rules.memory();
    rules.engine_requests();
    rules.priorities();
    rules.logs();
    rules.profile();
    let words = std::mem::take(&mut rules.built.words);
    Job { words, ..rules.built.draft.job }
}

impl Rules<'_> {
    /// The place where the first of these options was given.
    fn spot(&self, names: &[&str]) -> Spot {
        names.iter().find_map(|name| self.built.spots.get(name)).unwrap_or(self.declared).clone()
    }

    fn given(&self, name: &str) -> bool {
        self.built.spots.contains_key(name)
    }

    fn say(&mut self, severity: Severity, names: &[&str], message: &str, help: &str) {
        let help = (!help.is_empty()).then(|| help.to_owned());
        let spot = self.spot(names);
        self.report.say(severity, &spot, message, help);
    }

    fn profile(&mut self) {
        if self.given("profile") {
            let help = "`--profile=NAME` on the command line runs it";
            self.say(Severity::Warning, &["profile"], "`profile` does nothing in a job file, as in fio", help);
        }
    }

    /// A compressed record has one value, and no time of issue.
    fn logs(&mut self) {
        let logs = &self.built.draft.job.logs;
        let unfit = match (logs.compressed, logs.issue_time, logs.window_value) {
            (true, true, _) => "log_issue_time",
            (true, _, WindowValue::Both) => "log_window_value",
            _ => return,
        };
        let message = format!("a compressed log has no room for what `{unfit}` asks for");
        let help = "leave out one of log_store_compressed and the option named";
        self.say(Severity::Error, &[unfit, "log_store_compressed"], &message, help);
    }

    fn priorities(&mut self) {
        let asked = &self.built.draft.job.engine_options.command_priority;
        let by_size = asked.split.iter().any(Option::is_some);
        if by_size && asked.percent.iter().flatten().any(|percent| *percent > 0) {
            let help = "leave one of them out";
            let names = ["cmdprio_bssplit", "cmdprio_percentage"];
            self.say(Severity::Error, &names, "cmdprio_percentage and cmdprio_bssplit are mutually exclusive", help);
        }
        let shares = ["cmdprio_percentage", "cmdprio_bssplit"].iter().any(|name| self.given(name));
        let given = ["cmdprio", "cmdprio_class", "cmdprio_hint"].into_iter().find(|name| self.given(name));
        if let Some(name) = given.filter(|_| !shares) {
            let message = format!("`{name}` says under which priority I/Os go down, and nothing says which of them");
            self.say(Severity::Warning, &[name], &message, "add `cmdprio_percentage` or `cmdprio_bssplit`");
        }
    }

    fn rates(&mut self) {
        let job = &self.built.draft.job;
        let any = |rates: PerDirection<Option<u64>>| rates.to_array().iter().any(Option::is_some);
        let both = any(job.rate.bytes) && any(job.rate.iops);
        let both_least = any(job.rate.min_bytes) && any(job.rate.min_iops);
        let above = |least: PerDirection<Option<u64>>, most: PerDirection<Option<u64>>| {
            let pairs = least.to_array().into_iter().zip(most.to_array());
            pairs.into_iter().any(|(least, most)| least.zip(most).is_some_and(|(least, most)| least > most))
        };
        let bytes_above = above(job.rate.min_bytes, job.rate.bytes);
        let iops_above = above(job.rate.min_iops, job.rate.iops);
        if both || both_least {
            let names: &[&str] = if both { &["rate_iops", "rate"] } else { &["rate_iops_min", "rate_min"] };
            let help = "leave one of them out";
            self.say(Severity::Error, names, "rate and rate_iops are mutually exclusive", help);
        }
        for (least, is_above) in [("rate_min", bytes_above), ("rate_iops_min", iops_above)] {
            if is_above {
                let message = format!("{least} exceeds the rate that the job is held to");
                self.say(Severity::Error, &[least], &message, "");
            }
        }
    }

    fn times(&mut self) {
        let job = &mut self.built.draft.job;
        job.think.spin_ns = job.think.spin_ns.min(job.think.pause_ns);
        if job.think.io_ns > 0 && !self.built.spots.contains_key("thinktime_blocks") {
            job.think.blocks = u64::MAX;
        }
        if job.time_based && job.runtime_ns == 0 {
            job.time_based = false;
            let message = "time_based has no effect without runtime";
            self.say(Severity::Warning, &["time_based"], message, "add `runtime=`");
        }
        self.latency_search();
        self.steady_state();
    }

    fn latency_search(&mut self) {
        let search = self.built.draft.job.latency_search;
        if search.target_ns > 0 && search.window_ns == 0 {
            let message = "latency_target needs a window over which each depth is judged";
            let help = "add `latency_window=`, for instance 200ms; fio ends such a job after one I/O";
            self.say(Severity::Error, &["latency_target"], message, help);
        }
    }

    fn steady_state(&mut self) {
        let steady = &mut self.built.draft.job.steady;
        let off = steady.duration_ns == 0;
        steady.interval_ns = if steady.interval_ns == 0 { 1_000_000_000 } else { steady.interval_ns };
        let others = ["steadystate", "steadystate_ramp_time", "steadystate_check_interval"];
        if let Some(name) = others.into_iter().find(|name| off && self.given(name)) {
            let message = format!("{name} has no effect without steadystate_duration");
            self.say(Severity::Warning, &[name], &message, "add `steadystate_duration=`");
        }
    }

    fn depths(&mut self) {
        let job = &mut self.built.draft.job;
        let depth = job.depth;
        let clamp = |n: u32| if n == 0 { depth } else { n.min(depth) };
        job.depth_low = job.depth_low.map(clamp);
        job.batch_submit = job.batch_submit.map(clamp);
        job.batch_complete_min = job.batch_complete_min.map(|n| n.min(depth));
        let min = job.batch_complete_min;
        job.batch_complete_max = job.batch_complete_max.map(|max| max.max(min.unwrap_or(1)));
    }

    fn sizes(&mut self) {
        let job = &mut self.built.draft.job;
        // What generators of job files write for "all there is".
        job.size = job.size.filter(|size| *size != Size::Bytes(0));
        let (smallest, _) = job.block_limits();
        let size = job.size;
        if let Some(Size::Bytes(size)) = size
            && size < smallest
        {
            let message = format!("a size of {size} bytes is smaller than the block size, {smallest} bytes");
            let help = if size < 1024 { "sizes without a unit are bytes" } else { "" };
            self.say(Severity::Error, &["size", "bs"], &message, help);
        }
        if size == Some(Size::Percent(0)) {
            self.say(Severity::Error, &["size"], "0 percent is no size", "");
        }
    }

    fn direction(&mut self, readonly: bool) {
        let job = &mut self.built.draft.job;
        let w = job.workload;
        if w.reads {
            // What is read must be there first.
            job.overwrite = true;
        }
        // Nobody wants pages read that are dropped at once; fio does the same.
        job.invalidate &= !job.pre_read;
        if job.pre_read && job.direct {
            let message = "pre_read fills the page cache, which direct=1 passes by";
            self.say(Severity::Error, &["pre_read"], message, "leave one of them out");
        }
        let job = &mut self.built.draft.job;
        if !job.filenames.is_empty() {
            job.files = u32::try_from(job.filenames.len()).unwrap_or(u32::MAX);
        }
        if readonly && (w.writes || w.trims) && !self.built.draft.job.replay.on() {
            let message = "this job writes or trims, and --readonly forbids it";
            self.say(Severity::Error, &["rw"], message, "");
        } else if readonly && reading_changes(&self.built.draft.job.engine) {
            let engine = &self.built.draft.job.engine;
            let message = format!("ioengine={engine} changes what is there, and --readonly forbids it");
            self.say(Severity::Error, &["ioengine"], &message, "");
        }
        let agrees = w.reads && w.writes || self.built.draft.job.mix_read_percent == if w.reads { 100 } else { 0 };
        let mix = ["rwmixread", "rwmixwrite"].into_iter().find(|name| self.given(name));
        if let Some(name) = mix.filter(|_| !agrees) {
            let message = format!("{name} has no effect: the job does not mix reads and writes");
            self.say(Severity::Warning, &[name], &message, "mixed jobs have `rw=rw` or `rw=randrw`");
        }
    }

    /// Data that compresses or repeats so much in one write alone would repeat fully in the next.
    fn buffers(&mut self) {
        let refill_given = self.given("refill_buffers");
        let buffers = &mut self.built.draft.job.buffers;
        let shaped = buffers.compress_percent > 0 || buffers.dedupe_percent.is_some();
        buffers.refill |= shaped && !refill_given;
    }

    fn seeds(&mut self) {
        let draft = &mut self.built.draft;
        draft.job.seed = match (draft.rand_seed, draft.rand_repeat) {
            (Some(seed), _) => Seed::Fixed(seed),
            (None, true) => Seed::Repeat,
            (None, false) => Seed::Fresh,
        };
    }

    /// What `verify` asks for and brings with it.
    fn checks(&mut self) {
        let refill_given = self.given("refill_buffers");
        let job = &mut self.built.draft.job;
        if job.verify.method == VerifyMethod::None && job.verify.pattern.is_some() {
            job.verify.method = VerifyMethod::PatternHeader;
        }
        if !job.verify.on() {
            return;
        }
        // Each write has data of its own, or a block that was left as it was could not be told from a new one.
        job.buffers.zero = false;
        job.buffers.refill |= !refill_given;
        let block_bytes = smallest_unit(job);
        let interval_bytes = gcd(job.verify.interval_bytes.unwrap_or(block_bytes), block_bytes);
        job.verify.interval_bytes = Some(interval_bytes);
        let method = job.verify.method;
        let (writes, ends_by_time) = (job.workload.writes, job.time_based && job.verify.backlog == 0);
        let needed_bytes = if method.has_header() {
            Verify::HEADER_BYTES as u64 + job.verify.header_offset_bytes.max(method.sum_bytes() as u64)
        } else {
            0
        };
        if method.has_pattern() && job.verify.pattern.is_none() {
            let message = "this way of checking needs a pattern";
            self.say(Severity::Error, &["verify"], message, "add `verify_pattern=`");
        } else if needed_bytes > interval_bytes {
            let message =
                format!("{interval_bytes} bytes under one header have no room for it: it takes {needed_bytes}");
            let help = "larger blocks, a larger verify_interval or a shorter checksum have room";
            self.say(Severity::Error, &["verify_interval", "verify_offset", "bs"], &message, help);
        } else if writes && ends_by_time {
            let message = "time_based ends this job before anything is read back";
            self.say(Severity::Warning, &["verify"], message, "add `verify_backlog=`, or leave time_based out");
        }
    }
}

/// The largest size of which every block of the direction that is checked is a multiple (but for the ends of
/// unaligned ones).
fn smallest_unit(job: &Job) -> u64 {
    let [read, write, _] = job.block_sizes();
    let sizes = if job.workload.writes { write } else { read };
    if !job.workload.writes && matches!(sizes, BlockSizes::Range { unaligned: true, .. }) {
        // Blocks are read back as they were written. Those that only read have nothing to tell where one began.
        return 1;
    }
    let sequence = job.sequence_sizes().map_or(0, |sizes| unit_of(&sizes));
    gcd(unit_of(&sizes), sequence)
}

/// The same of these sizes.
fn unit_of(sizes: &BlockSizes) -> u64 {
    match sizes {
        BlockSizes::One(bytes) => *bytes,
        BlockSizes::Range { min, max, .. } => gcd(*min, *max),
        BlockSizes::Split(shares) => shares.iter().fold(0, |unit, share| gcd(unit, share.bytes)),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
