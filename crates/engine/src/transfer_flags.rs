//! Flags of `linux/fs.h` that reads and writes carry (`RWF_…`).

use iostrata_spec::EngineOptions;

/// A request is polled for.
pub(crate) const RWF_HIPRI: u32 = 0x1;
const RWF_NOWAIT: u32 = 0x8;
const RWF_ATOMIC: u32 = 0x40;
const RWF_DONTCACHE: u32 = 0x80;

/// Those of a job's reads and of its writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransferFlags {
    pub(crate) reads: u32,
    pub(crate) writes: u32,
}

impl TransferFlags {
    pub(crate) fn of(options: &EngineOptions) -> TransferFlags {
        let nowait = if options.nowait { RWF_NOWAIT } else { 0 };
        let reads = nowait | if options.uncached { RWF_DONTCACHE } else { 0 };
        TransferFlags { reads, writes: reads | if options.atomic { RWF_ATOMIC } else { 0 } }
    }

    /// Those of a request.
    #[inline]
    pub(crate) fn each(self, writes: bool) -> u32 {
        if writes { self.writes } else { self.reads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_not_atomic() {
        let options = EngineOptions { nowait: true, uncached: true, atomic: true, ..EngineOptions::default() };
        assert_eq!(TransferFlags::of(&options), TransferFlags { reads: 0x88, writes: 0xc8 });
        assert_eq!(TransferFlags::of(&EngineOptions::default()), TransferFlags::default());
    }
}
