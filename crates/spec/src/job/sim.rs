//! The model of a device that the `sim` engine is.

/// The seeded device of the `sim` engine: service time of one I/O is `base + len · per_byte`, times a log-normal
/// factor; `channels` I/Os are served at once, the others queue.
#[derive(Clone, Debug, PartialEq)]
pub struct SimLaw {
    /// Fixed part of the service time, nanoseconds.
    pub base_ns: u64,
    /// Bandwidth of one channel, bytes per second; 0 = infinite.
    pub bytes_per_second: u64,
    /// Standard deviation of the natural logarithm of the factor, in thousandths (0 = none).
    pub sigma_milli: u32,
    /// I/Os served at once.
    pub channels: u32,
    /// One I/O in this many stalls for `stall_ns` (0 = never).
    pub stall_every: u64,
    /// Length of a stall, nanoseconds.
    pub stall_ns: u64,
    /// One I/O in this many fails with `EIO` (0 = never).
    pub error_every: u64,
    /// A submit call takes this long for each of its requests, nanoseconds.
    pub submit_ns: u64,
    /// The zones that it has.
    pub zones: SimZones,
}

/// The zones of the `sim` engine's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimZones {
    /// Bytes of a zone; 0: the device has none.
    pub size_bytes: u64,
    /// Bytes of a zone that can be written; 0: all.
    pub capacity_bytes: u64,
    /// So many zones at the start are conventional, the others take writes at their write pointer only.
    pub conventional: u32,
    /// Zones that may be open at a time; 0: any number.
    pub max_open: u32,
    /// Zones that may be open, or closed with data and room; 0: any number.
    pub max_active: u32,
}

impl Default for SimLaw {
    fn default() -> Self {
        SimLaw {
            base_ns: 80_000,
            bytes_per_second: 2_000_000_000,
            sigma_milli: 150,
            channels: 8,
            stall_every: 0,
            stall_ns: 0,
            error_every: 0,
            submit_ns: 0,
            zones: SimZones::default(),
        }
    }
}
