//! Options of `sim`, the seeded model of a device.

use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, TimeUnit, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Engine, summary, doc).engines(&["sim"]).status(Status::Ours)
}

const COUNT: Kind = Kind::Bytes { min: 0, max: u64::MAX };

const ZONES: Kind = Kind::Int { min: 0, max: super::MAX32 };

/// More than this many standard deviations of the logarithm, in thousandths, is no device.
const WIDEST_MILLI: u32 = 5_000;

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "sim_latency",
        Kind::Time(TimeUnit::Microseconds),
        "fixed part of the service time",
        "Each I/O takes this, \
        plus its length by `sim_bandwidth`, times a random factor.",
    )
    .default("80us")
    .access(plain!(Nanos, job.engine_options.sim.base_ns)),
    row("sim_bandwidth", COUNT, "bandwidth of one channel", "Bytes per second; 0 is without limit.")
        .default("2000000000")
        .access(plain!(Bytes, job.engine_options.sim.bytes_per_second)),
    row(
        "sim_sigma",
        Kind::Floats { most: 1, above: -0.001, max: 5.0 },
        "spread of the service time",
        "Standard \
        deviation of the natural logarithm of the factor; 0 is none.",
    )
    .default("0.150")
    .access((
        |d, v| {
            if let Value::Floats(list) = v {
                let milli = list.values.first().map_or(0.0, |s| (s * 1000.0).round());
                d.job.engine_options.sim.sigma_milli = (milli as u32).min(WIDEST_MILLI);
            }
        },
        |d| {
            let values = vec![f64::from(d.job.engine_options.sim.sigma_milli) / 1000.0];
            Some(Value::Floats(crate::job::Percentiles { values, precision: 3 }))
        },
    )),
    row("sim_channels", Kind::Int { min: 1, max: 65_536 }, "I/Os served at once", "The others queue.")
        .default("8")
        .access(int!(job.engine_options.sim.channels)),
    row("sim_stall_every", COUNT, "one I/O in so many stalls", "0 is never.")
        .default("0")
        .access(plain!(Bytes, job.engine_options.sim.stall_every)),
    row("sim_stall", Kind::Time(TimeUnit::Microseconds), "length of a stall", "With `sim_stall_every`.")
        .default("0s")
        .access(plain!(Nanos, job.engine_options.sim.stall_ns)),
    row(
        "sim_submit",
        Kind::Time(TimeUnit::Microseconds),
        "time of a submit call for each of its requests",
        "Above some microseconds the device blocks those who submit, as do engines that carry out an I/O in the call.",
    )
    .default("0s")
    .access(plain!(Nanos, job.engine_options.sim.submit_ns)),
    row("sim_error_every", COUNT, "one I/O in so many fails", "With EIO; 0 is never.")
        .default("0")
        .access(plain!(Bytes, job.engine_options.sim.error_every)),
    row(
        "sim_zone_size",
        COUNT,
        "bytes of a zone",
        "The device is a zoned one, for `zonemode=zbd`; 0 is without zones.",
    )
    .default("0")
    .access(plain!(Bytes, job.engine_options.sim.zones.size_bytes)),
    row("sim_zone_capacity", COUNT, "bytes of a zone that can be written", "0 is all of them.")
        .default("0")
        .access(plain!(Bytes, job.engine_options.sim.zones.capacity_bytes)),
    row("sim_conventional_zones", ZONES, "conventional zones at its start", "The others take writes in sequence only.")
        .default("0")
        .access(int!(job.engine_options.sim.zones.conventional)),
    row("sim_max_open_zones", ZONES, "zones that may be open", "A write that opens one more fails; 0 is any number.")
        .default("0")
        .access(int!(job.engine_options.sim.zones.max_open)),
    row("sim_max_active_zones", ZONES, "zones that may hold data and have room", "0 is any number.")
        .default("0")
        .access(int!(job.engine_options.sim.zones.max_active)),
];
