//! What is done at once instead of jobs: a compressed log inflated, and small measurements of the machine itself, in
//! fio's layout.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

use anyhow::{Context as _, anyhow};
use iostrata_os::clock::{FastClock, monotonic_ns};
use iostrata_os::thread;
use iostrata_report::logs::packed::unpack;
use iostrata_report::text;
use iostrata_result::CpuIdleness;
use iostrata_spec::{Copying, Service, VerifyMethod};

use crate::output::{StdoutWriter, print};

/// How long each thing is measured.
const MEASURED_NS: u64 = 100_000_000;
/// Bytes that are summed at once.
const SUMMED_BYTES: usize = 128 << 10;
/// Lengths that are copied, as fio has them.
const COPIED_BYTES: [usize; 11] = [8, 16, 96, 128, 256, 512, 2048, 8192, 131_072, 262_144, 524_288];

/// Does it; the exit code.
pub(crate) fn serve(service: &Service) -> anyhow::Result<u8> {
    match service {
        Service::InflateLog(path) => inflate(path),
        Service::Checksums(methods) => methods.iter().try_for_each(|method| checksum(*method)).map(|()| 0),
        Service::Copies(ways) => ways.iter().try_for_each(|way| copies(*way)).map(|()| 0),
        Service::ClockTest => clock_test(),
        Service::Calibrate => calibrate(),
    }
}

fn inflate(path: &Path) -> anyhow::Result<u8> {
    let about = || format!("--inflate-log={}", path.display());
    let file = File::open(path).with_context(about)?;
    unpack(&mut BufReader::new(file), &mut StdoutWriter).with_context(about)?;
    Ok(0)
}

/// Repeats `work`, which does so many bytes, and says how many MiB a second that are.
fn mib_per_second(bytes: usize, mut work: impl FnMut()) -> f64 {
    // Caches, tables that are made once, the CPU's clock rate.
    work();
    let (start_ns, mut times, mut batch) = (monotonic_ns(), 0_u64, 1_u64);
    loop {
        (0..batch).for_each(|_| work());
        times += batch;
        let elapsed_ns = monotonic_ns() - start_ns;
        if elapsed_ns >= MEASURED_NS {
            return times as f64 * bytes as f64 * 1e9 / elapsed_ns as f64 / f64::from(1 << 20);
        }
        // The clock must cost next to nothing beside the work.
        batch = if elapsed_ns < MEASURED_NS / 100 { batch * 2 } else { batch };
    }
}

fn checksum(method: VerifyMethod) -> anyhow::Result<()> {
    let data: Vec<u8> = (0..SUMMED_BYTES).map(|index| ((index * 167) >> 3) as u8).collect();
    let rate = mib_per_second(data.len(), || {
        black_box(iostrata_run::checksum(method, black_box(&data)));
    });
    let name = method.checksum_word().unwrap_or_default();
    let tabs = if name.len() < 7 { "\t\t" } else { "\t" };
    print(&format!("{name}:{tabs}{rate:>9.2} MiB/sec\n"))
}

fn copies(way: Copying) -> anyhow::Result<()> {
    print(&format!("{}\n", way.word()))?;
    let longest = COPIED_BYTES[COPIED_BYTES.len() - 1];
    // Source and target in one piece of memory: memmove may be given both.
    let mut memory: Vec<u8> = (0..2 * longest).map(|index| index as u8).collect();
    COPIED_BYTES.into_iter().try_for_each(|bytes| {
        let rate = mib_per_second(bytes, || copy(way, black_box(&mut memory), longest, bytes));
        print(&format!("\t{bytes} bytes:\t{rate:>9.2} MiB/sec\n"))
    })
}

/// Copies from the front to `target`.
fn copy(way: Copying, memory: &mut [u8], target: usize, bytes: usize) {
    /// Below this the hybrid way is the loop.
    const SHORT_BYTES: usize = 64;
    match way {
        Copying::Memmove => memory.copy_within(..bytes, target),
        Copying::Hybrid if bytes < SHORT_BYTES => by_words(memory, target, bytes),
        Copying::Simple => by_words(memory, target, bytes),
        Copying::Memcpy | Copying::Hybrid => {
            let (from, to) = memory.split_at_mut(target);
            to[..bytes].copy_from_slice(&from[..bytes]);
        }
    }
}

/// All lengths are whole words.
fn by_words(memory: &mut [u8], target: usize, bytes: usize) {
    let (from, to) = memory.split_at_mut(target);
    for (to, from) in to[..bytes].chunks_exact_mut(8).zip(from[..bytes].chunks_exact(8)) {
        // Else the compiler makes a memcpy of the loop.
        to.copy_from_slice(black_box(from));
    }
}

/// Reads the clock on all CPUs at once and looks whether any of them sees time go back.
fn clock_test() -> anyhow::Result<u8> {
    let clock = FastClock::detect();
    let cpus = thread::allowed_cpus();
    let reliable = if clock.name() == "tsc" { "yes" } else { "no" };
    print(&format!(
        "cs: reliable_tsc: {reliable}\ncs: clock {}, rate from {}, error of a stamp at most {} ns, of the rate {} ppb\n\
         cs: Testing {} CPUs\n",
        clock.name(),
        clock.rate_source(),
        clock.error_ns(),
        clock.rate_error_ppb(),
        cpus.len()
    ))?;
    let (begin, newest) = (Barrier::new(cpus.len()), AtomicU64::new(0));
    let seen = std::thread::scope(|scope| {
        let readers: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                scope.spawn({
                    let (begin, newest) = (&begin, &newest);
                    move || read_clock(clock, cpu, begin, newest)
                })
            })
            .collect();
        let ended = readers.into_iter().map(|reader| reader.join().map_err(|_| anyhow!("a reader of the clock ended")));
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let allowed_ns = u64::from(clock.error_ns());
    let mut text = String::new();
    let mut passed = true;
    for (cpu, (pinned, reads, back_ns)) in cpus.iter().zip(seen) {
        pinned.with_context(|| format!("running on CPU {cpu}"))?;
        passed &= back_ns <= allowed_ns;
        let _ = writeln!(text, "cs: cpu {cpu:>2}: {reads} clocks seen, largest step back {back_ns} ns");
    }
    let _ = writeln!(text, "cs: drift {} ns", clock.drift_ns());
    text.push_str(if passed { "cs: Pass!\n" } else { "cs: Failed: time goes back from one CPU to another\n" });
    print(&text)?;
    Ok(u8::from(!passed))
}

/// Whether the thread got its CPU, how many stamps it took, and by how much the worst lay before one taken earlier.
fn read_clock(clock: FastClock, cpu: u32, begin: &Barrier, newest: &AtomicU64) -> (std::io::Result<()>, u64, u64) {
    let pinned = thread::pin_current(&[cpu]);
    begin.wait();
    let end_ns = monotonic_ns() + MEASURED_NS;
    let (mut reads, mut back_ns) = (0, 0);
    while clock.now_ns() < end_ns {
        // What was there before the stamp was taken must not be later than the stamp. The CPU may read its counter
        // before the memory that stands in front of it; the system's own clock waits for that.
        let before = newest.load(Acquire);
        monotonic_ns();
        let stamp = clock.now_ns();
        back_ns = back_ns.max(before.saturating_sub(stamp));
        newest.fetch_max(stamp, AcqRel);
        reads += 1;
    }
    (pinned, reads, back_ns)
}

fn calibrate() -> anyhow::Result<u8> {
    let units_ns = iostrata_run::unit_work_ns().context("measuring a unit of work")?;
    let counts = CpuIdleness { units_ns, ..CpuIdleness::default() };
    print(&format!("CPU idleness:\n{}", text::unit_work(&counts)))?;
    Ok(0)
}
