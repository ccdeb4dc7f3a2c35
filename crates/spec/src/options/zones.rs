//! Zones and data placement.

use crate::job::{PlacementMeans, PlacementSelect, ZoneMode};
use crate::table::{Category, OptionSpec, Status};
use crate::value::{Kind, Value};

const fn row(name: &'static str, kind: Kind, summary: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, kind, Category::Zones, summary, doc)
}

/// As many as fio keeps account of.
const MOST_OPEN: Kind = Kind::Int { min: 0, max: 4096 };

const FRACTION: Kind = Kind::Floats { most: 1, above: -1.0, max: 1.0 };

pub(super) static OPTIONS: &[OptionSpec] = &[
    row(
        "zonemode",
        Kind::Choice(words!["none": "no zones", "strided": "zones by number of bytes",
        "zbd": "the zones of a zoned device"]),
        "what a zone is",
        "The other options here depend on it.\n\n\
        With `zbd` each zone is written from its start to its end at its write pointer: a random offset only picks the \
        zone. A zone that is full is reset before it is written again. Reads are held to what was written. A trim is \
        the reset of a whole zone. Jobs on one device share its zones. A zoned block device tells its zones itself; \
        on a plain device or a file `zonesize` makes a model of them, empty at the start, whose resets cost nothing.",
    )
    .default("none")
    .status(Status::Differs("where less than a block is left of a zone a sequence goes on in the next zone"))
    .access(choice!(
        job.shape.zone_mode,
        "none" => ZoneMode::None,
        "strided" => ZoneMode::Strided,
        "zbd" => ZoneMode::Zoned
    )),
    row(
        "zonesize",
        Kind::Bytes { min: 0, max: u64::MAX },
        "bytes of a zone",
        "Strided: so many are moved in a zone before the next. `zbd`: the size of a zone; a zoned device tells \
        its own.",
    )
    .default("0")
    .access(plain!(Bytes, job.shape.zones.size_bytes)),
    row(
        "zonecapacity",
        Kind::Bytes { min: 0, max: u64::MAX },
        "usable bytes of a zone",
        "With `zbd`, where the device is no zoned one; the whole zone unless given.",
    )
    .default("0")
    .access(plain!(Bytes, job.shape.zoned.capacity_bytes)),
    row("zonerange", Kind::Bytes { min: 0, max: u64::MAX }, "bytes a zone spans", "For strided zones.")
        .default("0")
        .access(plain!(Bytes, job.shape.zones.range_bytes)),
    row(
        "zoneskip",
        Kind::Zones,
        "bytes between zones",
        "Left out after each; with `zbd` by sequences only, and of whole zones.",
    )
    .default("0")
    .access(plain!(Share, job.shape.zones.skip)),
    row(
        "read_beyond_wp",
        Kind::Bool,
        "read past the write pointer",
        "With `zbd`: a device answers such reads without looking at its medium, so they are left out unless this is \
        given.",
    )
    .default("0")
    .access(plain!(Flag, job.shape.zoned.read_beyond)),
    row(
        "max_open_zones",
        MOST_OPEN,
        "most zones written at a time",
        "By all jobs together, with `zbd`. 0 is what the device takes. Where no more may be opened, a random write \
        goes to a zone that is open.",
    )
    .default("0")
    .access(int!(job.shape.zoned.max_open)),
    row("job_max_open_zones", MOST_OPEN, "most zones the job writes at a time", "As `max_open_zones`, by each job.")
        .default("0")
        .access(int!(job.shape.zoned.job_max_open)),
    row(
        "ignore_zone_limits",
        Kind::Bool,
        "pass over the device's limits",
        "`max_open_zones` may be more than the device says that it takes.",
    )
    .default("0")
    .access(plain!(Flag, job.shape.zoned.ignore_limits)),
    row(
        "zone_reset_threshold",
        FRACTION,
        "share of data above which zones are reset",
        "From 0 to 1, of the bytes under test; see `zone_reset_frequency`.",
    )
    .access(fraction!(job.shape.zoned.reset_threshold)),
    row(
        "zone_reset_frequency",
        FRACTION,
        "how often zones are reset",
        "From 0 to 1: above the threshold one write in 1/frequency resets its zone first.",
    )
    .access(fraction!(job.shape.zoned.reset_frequency)),
    row(
        "recover_zbd_write_error",
        Kind::Bool,
        "go on at the write pointer after an error",
        "A write that failed is made again where the device says that its zone's write pointer is.",
    )
    .default("0")
    .status(Status::Differs("each zone has one write in flight then, so that it is known which one failed"))
    .access(plain!(Flag, job.shape.zoned.recover)),
    row(
        "write_zone_remainder",
        Kind::Bool,
        "fill what is left of a zone",
        "When less than a block is left, a shorter one is written; else the zone is finished as it is.",
    )
    .default("0")
    .access(plain!(Flag, job.shape.zoned.write_remainder)),
    row("fdp", Kind::Bool, "flexible data placement", "As `dataplacement=fdp`.").default("0").access((
        |d, v| {
            let placement = &mut d.job.shape.placement;
            match v {
                Value::Flag(true) => placement.means = PlacementMeans::Fdp,
                Value::Flag(false) if placement.means == PlacementMeans::Fdp => placement.means = PlacementMeans::None,
                _ => {}
            }
        },
        |d| Some(Value::Flag(d.job.shape.placement.means == PlacementMeans::Fdp)),
    )),
    row(
        "dataplacement",
        Kind::Choice(words!["none": "none", "fdp": "flexible data placement",
        "streams": "streams"]),
        "how placement is told to the device",
        "`streams` marks each write by how long its data will live, through the file's write hint: there are four \
        streams, 1 (short) to 4 (extreme), and 0 for none. `fdp`, a matter of `io_uring_cmd`, is not carried out yet.",
    )
    .alias(&["data_placement"])
    .default("none")
    .status(Status::Differs("streams are write hints of the file, one I/O goes down in each call"))
    .access(choice!(
        job.shape.placement.means,
        "none" => PlacementMeans::None,
        "fdp" => PlacementMeans::Fdp,
        "streams" => PlacementMeans::Streams
    )),
    row(
        "plid_select",
        Kind::Choice(words!["random": "any", "roundrobin": "in turn", "scheme": "by a file"]),
        "how a placement identifier is picked",
        "With `dataplacement`, for each write.",
    )
    .alias(&["fdp_pli_select"])
    .default("roundrobin")
    .access(choice!(
        job.shape.placement.select,
        "random" => PlacementSelect::Random,
        "roundrobin" => PlacementSelect::RoundRobin,
        "scheme" => PlacementSelect::Scheme
    )),
    row("plids", Kind::Text, "placement identifiers", "Numbers and ranges such as `1,3-4`; all unless given.")
        .alias(&["fdp_pli"])
        .access(plain!(some Text, texts.placement_ids)),
    row(
        "dp_scheme",
        Kind::Text,
        "file of placement by offset",
        "With `plid_select=scheme`. Each line is `start, end, index`: writes from offset `start` to before `end` take \
        identifier number `index` of `plids`, from 0; the first line that fits holds, and without one none is given.",
    )
    .access(plain!(some Text, job.shape.placement.scheme)),
];
