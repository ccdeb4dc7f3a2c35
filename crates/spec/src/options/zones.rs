//! Zones and data placement.

use super::MAX32;
use crate::job::ZoneMode;
use crate::table::{Category, OptionSpec, Status};
use crate::value::Kind;

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Zones, summary, doc)
}

const FRACTION: Kind = Kind::Floats { most: 1, above: -1.0, max: 1.0 };

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "zonemode",
        Kind::Choice(words!["none": "no zones", "strided": "zones by number of bytes",
        "zbd": "a zoned device"]),
        "what a zone is",
        "The other options here depend on it.",
    )
    .default("none")
    .status(Status::Differs("zoned block devices (`zbd`) are refused: they are not carried out yet"))
    .access(choice!(
        job.shape.zone_mode,
        "none" => ZoneMode::None,
        "strided" => ZoneMode::Strided,
        "zbd" => ZoneMode::Zoned
    )),
    row("zonesize", Kind::Bytes { min: 0, max: u64::MAX }, "bytes used of a zone", "For strided zones.")
        .default("0")
        .access(plain!(Bytes, job.shape.zones.used_bytes)),
    row("zonecapacity", Kind::Bytes { min: 0, max: u64::MAX }, "usable bytes of a zone", "For a zoned device.")
        .default("0")
        .harmless(&["0"]),
    row("zonerange", Kind::Bytes { min: 0, max: u64::MAX }, "bytes a zone spans", "For strided zones.")
        .default("0")
        .access(plain!(Bytes, job.shape.zones.range_bytes)),
    row("zoneskip", Kind::Bytes { min: 0, max: u64::MAX }, "bytes between zones", "Left out after each.")
        .default("0")
        .access(plain!(Bytes, job.shape.zones.skip_bytes)),
    row("read_beyond_wp", Kind::Bool, "read past the write pointer", "On a zoned device.")
        .default("0")
        .harmless(&["0"]),
    row("max_open_zones", Kind::Int { min: 0, max: MAX32 }, "most zones written at a time", "By all jobs together.")
        .default("0")
        .harmless(&["0"]),
    row("job_max_open_zones", Kind::Int { min: 0, max: MAX32 }, "most zones the job writes at a time", "By each job.")
        .default("0")
        .harmless(&["0"]),
    row("ignore_zone_limits", Kind::Bool, "pass over the device's limits", "Of open and active zones.")
        .default("0")
        .harmless(&["0"]),
    row("zone_reset_threshold", FRACTION, "fraction of data above which zones are reset", "From 0 to 1."),
    row("zone_reset_frequency", FRACTION, "how often zones are reset", "From 0 to 1."),
    row("recover_zbd_write_error", Kind::Bool, "go on at the write pointer after an error", "On a zoned device.")
        .default("0")
        .harmless(&["0"]),
    row("write_zone_remainder", Kind::Bool, "fill what is left of a zone", "When less than a block is left.")
        .default("0")
        .harmless(&["0"]),
    row("fdp", Kind::Bool, "flexible data placement", "As `dataplacement=fdp`.").default("0").harmless(&["0"]),
    row(
        "dataplacement",
        Kind::Choice(words!["none": "none", "fdp": "flexible data placement",
        "streams": "streams"]),
        "how placement is told to the device",
        "NVMe only.",
    )
    .alias(&["data_placement"])
    .default("none")
    .harmless(&["none"]),
    row(
        "plid_select",
        Kind::Choice(words!["random": "any", "roundrobin": "in turn", "scheme": "by a file"]),
        "how a placement identifier is picked",
        "With `dataplacement`.",
    )
    .alias(&["fdp_pli_select"])
    .default("roundrobin"),
    row("plids", Kind::Text, "placement identifiers", "Numbers and ranges.").alias(&["fdp_pli"]),
    row("dp_scheme", Kind::Text, "file of placement by offset", "With `plid_select=scheme`."),
];
