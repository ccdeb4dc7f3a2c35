//! Where on the flash data goes: hints for its placement, and what brings a device into steady state.

/// `dataplacement=`: how the device is told which data belongs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacementMeans {
    /// It is not told.
    #[default]
    None,
    /// NVMe's flexible data placement.
    Fdp,
    /// Streams: data of one life.
    Streams,
}

/// `plid_select=`: which identifier comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacementSelect {
    /// Any.
    Random,
    /// One after the other.
    #[default]
    RoundRobin,
    /// By the offset, as a file says.
    Scheme,
}

/// `dataplacement` and its kin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// `dataplacement`, `fdp`.
    pub means: PlacementMeans,
    /// `plid_select`.
    pub select: PlacementSelect,
    /// `plids`; empty: all that there are.
    pub ids: Vec<u16>,
    /// `dp_scheme`.
    pub scheme: Option<String>,
}

/// `sprandom` and its kin: one pass of writes after which an SSD is as after writing at random for long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precondition {
    /// `sprandom`.
    pub on: bool,
    /// `spr_num_regions`: parts of the pass.
    pub regions: u32,
    /// `spr_op`: flash beyond what the device shows, as a share of that.
    pub over_provisioning: f64,
    /// `spr_cs`: the device's cache, bytes.
    pub cache_bytes: u64,
}

impl Default for Precondition {
    fn default() -> Self {
        Precondition { on: false, regions: 100, over_provisioning: 0.15, cache_bytes: 0 }
    }
}
