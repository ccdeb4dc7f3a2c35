//! The ioctls of `linux/blkzoned.h`. Sectors are of 512 bytes whatever the device's own are.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{Zone, ZoneCommand, ZoneCondition, ZoneKind};

const SECTOR_BYTES: u64 = 512;
/// Zones in one report.
const REPORTED: usize = 1024;

/// `_IOWR(0x12, 130, struct blk_zone_report)`.
const BLKREPORTZONE: libc::c_ulong = 0xc010_1282;
/// `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: libc::c_ulong = 0x4010_1283;
/// `_IOR(0x12, 132, __u32)`.
const BLKGETZONESZ: libc::c_ulong = 0x8004_1284;
/// `_IOR(0x12, 133, __u32)`.
const BLKGETNRZONES: libc::c_ulong = 0x8004_1285;
/// `_IOW(0x12, 134, struct blk_zone_range)`.
const BLKOPENZONE: libc::c_ulong = 0x4010_1286;
/// `_IOW(0x12, 135, struct blk_zone_range)`.
const BLKCLOSEZONE: libc::c_ulong = 0x4010_1287;
/// `_IOW(0x12, 136, struct blk_zone_range)`.
const BLKFINISHZONE: libc::c_ulong = 0x4010_1288;

/// `BLK_ZONE_REP_CAPACITY`: the capacities are filled in (Linux 5.9).
const HAS_CAPACITY: u32 = 1;

/// `struct blk_zone`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawZone {
    start: u64,
    len: u64,
    wp: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset: u8,
    reserved: [u8; 4],
    capacity: u64,
    more: [u8; 24],
}

/// `struct blk_zone_report` with its flexible array.
#[repr(C)]
struct Report {
    sector: u64,
    zones: u32,
    flags: u32,
    list: [RawZone; REPORTED],
}

/// `struct blk_zone_range`.
#[repr(C)]
struct Range {
    sector: u64,
    sectors: u64,
}

const _: () = assert!(size_of::<RawZone>() == 64 && size_of::<Range>() == 16);
const _: () = assert!(size_of::<Report>() == 16 + 64 * REPORTED);

fn answer(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn report(device: BorrowedFd<'_>, start: u64) -> io::Result<Vec<Zone>> {
    let mut report = Box::new(Report {
        sector: start / SECTOR_BYTES,
        zones: REPORTED as u32,
        flags: 0,
        list: [RawZone::default(); REPORTED],
    });
    // SAFETY: the kernel writes the header and at most `zones` entries behind it; there is room for so many.
    answer(unsafe { libc::ioctl(device.as_raw_fd(), BLKREPORTZONE as _, &raw mut *report) })?;
    let count = (report.zones as usize).min(REPORTED);
    let known = report.flags & HAS_CAPACITY != 0;
    report.list[..count].iter().map(|raw| zone(raw, known)).collect()
}

fn zone(raw: &RawZone, capacity_known: bool) -> io::Result<Zone> {
    let unknown = || io::Error::from_raw_os_error(libc::EPROTO);
    Ok(Zone {
        start: raw.start * SECTOR_BYTES,
        len: raw.len * SECTOR_BYTES,
        capacity: if capacity_known { raw.capacity } else { raw.len } * SECTOR_BYTES,
        write_pointer: raw.wp.saturating_mul(SECTOR_BYTES),
        kind: match raw.kind {
            1 => ZoneKind::Conventional,
            2 => ZoneKind::SequentialRequired,
            3 => ZoneKind::SequentialPreferred,
            _ => return Err(unknown()),
        },
        condition: match raw.condition {
            0x0 => ZoneCondition::NoWritePointer,
            0x1 => ZoneCondition::Empty,
            0x2 => ZoneCondition::ImplicitlyOpen,
            0x3 => ZoneCondition::ExplicitlyOpen,
            0x4 => ZoneCondition::Closed,
            0xd => ZoneCondition::ReadOnly,
            0xe => ZoneCondition::Full,
            0xf => ZoneCondition::Offline,
            _ => return Err(unknown()),
        },
    })
}

pub(super) fn command(device: BorrowedFd<'_>, command: ZoneCommand, start: u64, len: u64) -> io::Result<()> {
    let range = Range { sector: start / SECTOR_BYTES, sectors: len / SECTOR_BYTES };
    let request = match command {
        ZoneCommand::Reset => BLKRESETZONE,
        ZoneCommand::Open => BLKOPENZONE,
        ZoneCommand::Close => BLKCLOSEZONE,
        ZoneCommand::Finish => BLKFINISHZONE,
    };
    // SAFETY: the kernel reads one range.
    answer(unsafe { libc::ioctl(device.as_raw_fd(), request as _, &raw const range) })
}

pub(super) fn geometry(device: BorrowedFd<'_>) -> io::Result<(u64, u32)> {
    let (mut sectors, mut zones) = (0_u32, 0_u32);
    // SAFETY: each writes one u32.
    unsafe {
        answer(libc::ioctl(device.as_raw_fd(), BLKGETZONESZ as _, &raw mut sectors))?;
        answer(libc::ioctl(device.as_raw_fd(), BLKGETNRZONES as _, &raw mut zones))?;
    }
    Ok((u64::from(sectors) * SECTOR_BYTES, zones))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_the_kernel_writes_it() {
        let raw = RawZone { start: 8, len: 8, wp: 10, kind: 2, condition: 4, capacity: 6, ..RawZone::default() };
        let seen = zone(&raw, true).expect("a zone");
        assert_eq!((seen.start, seen.len, seen.capacity, seen.write_pointer), (4096, 4096, 3072, 5120));
        assert_eq!((seen.kind, seen.condition), (ZoneKind::SequentialRequired, ZoneCondition::Closed));
        assert_eq!(zone(&raw, false).expect("a zone").capacity, 4096, "an older kernel tells no capacity");
        assert!(zone(&RawZone { kind: 9, ..raw }, true).is_err());
        assert!(zone(&RawZone { condition: 9, ..raw }, true).is_err());
        // A zone without a write pointer may have any number there.
        let none = zone(&RawZone { wp: u64::MAX, kind: 1, condition: 0, ..raw }, true).expect("a zone");
        assert_eq!(none.kind, ZoneKind::Conventional);
    }
}
