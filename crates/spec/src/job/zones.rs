//! Zones of a file or a device.

use super::Size;

/// `zonemode=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneMode {
    /// No zones.
    #[default]
    None,
    /// Zones by number of bytes: a part of each stretch of the file is used, then the next one's.
    Strided,
    /// The zones of a zoned block device, or their model on anything else.
    Zoned,
}

/// How zones lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// `zonesize`. Strided: bytes moved in a zone before the next. Zoned: bytes of a zone; 0 leaves it to the device.
    pub size_bytes: u64,
    /// `zonerange`: bytes that a strided zone spans; 0 stands for those that are used.
    pub range_bytes: u64,
    /// `zoneskip`. Strided: bytes between zones. Zoned: what a sequence leaves out after each zone.
    pub skip: Size,
}

impl Default for Zones {
    fn default() -> Self {
        Zones { size_bytes: 0, range_bytes: 0, skip: Size::Bytes(0) }
    }
}

/// `zonemode=zbd`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Zoned {
    /// `zonecapacity`: bytes of a zone that can be used, where the device does not tell; 0: all of them.
    pub capacity_bytes: u64,
    /// `read_beyond_wp`: reads are not held to what was written.
    pub read_beyond: bool,
    /// `max_open_zones`: zones that all jobs together have open for writing; 0: as many as the device takes.
    pub max_open: u32,
    /// `job_max_open_zones`: zones that each job has open; 0: no limit of its own.
    pub job_max_open: u32,
    /// `ignore_zone_limits`: what the device says about open and active zones is passed over.
    pub ignore_limits: bool,
    /// `zone_reset_threshold`: from this share of data on zones are reset before their time.
    pub reset_threshold: Option<f64>,
    /// `zone_reset_frequency`: so many resets for each write then.
    pub reset_frequency: Option<f64>,
    /// `recover_zbd_write_error`: a write that failed is made again where the device's write pointer is.
    pub recover: bool,
    /// `write_zone_remainder`: what is left of a zone is written, though less than a block.
    pub write_remainder: bool,
}
