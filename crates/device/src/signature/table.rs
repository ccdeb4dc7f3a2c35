//! Partition tables: GPT and DOS.

use std::io;

use super::extent::{Extent, field, guid, le32, le64, text_utf16};
use super::{PartitionEntry, Signature, SignatureKind};

/// The tables on a disk. A GPT hides the DOS table that protects it; `boot_sector_taken` says that the first sector
/// belongs to a file system, whose code must not be taken for DOS entries.
pub(super) fn read(disk: &Extent, boot_sector_taken: bool) -> io::Result<Vec<Signature>> {
    if let Some(table) = gpt(disk)? {
        return Ok(vec![table]);
    }
    if boot_sector_taken { Ok(Vec::new()) } else { Ok(dos(disk)?.into_iter().collect()) }
}

fn table(name: &'static str, uuid: Option<String>, partitions: Vec<PartitionEntry>) -> Signature {
    Signature { uuid, partitions, ..Signature::new(SignatureKind::PartitionTable, name) }
}

/// GPT: a header in the second sector and another in the last one; sectors of 512 or 4096 bytes. If the first is gone
/// the second still tells what there was.
fn gpt(disk: &Extent) -> io::Result<Option<Signature>> {
    for sector_bytes in [512, 4096] {
        let last = (disk.len / sector_bytes).saturating_sub(1);
        for place in [1, last] {
            let Some(header) = disk.bytes::<92>(place * sector_bytes)? else { continue };
            if &header[..8] == b"EFI PART" && le64(&header, 24) == place {
                let partitions = gpt_entries(disk, &header, sector_bytes)?;
                return Ok(Some(table("gpt", guid(field(&header, 56)), partitions)));
            }
        }
    }
    Ok(None)
}

fn gpt_entries(disk: &Extent, header: &[u8], sector_bytes: u64) -> io::Result<Vec<PartitionEntry>> {
    // The standard asks for 128 entries of 128 bytes at least; no tool makes more than 1024, or longer than 4096 bytes.
    let (count, len) = (le32(header, 80).min(1024), le32(header, 84));
    let mut found = Vec::new();
    let Some(start) = le64(header, 72).checked_mul(sector_bytes) else { return Ok(found) };
    if !(128..=4096).contains(&len) {
        return Ok(found);
    }
    for index in 0..count {
        let at = start.saturating_add(u64::from(index) * u64::from(len));
        let Some(entry) = disk.bytes::<128>(at)? else { break };
        let Some(kind) = guid(field(&entry, 0)) else { continue };
        let (first, last) = (le64(&entry, 32), le64(&entry, 40));
        let sectors = last.saturating_sub(first).saturating_add(1);
        found.push(PartitionEntry {
            number: index + 1,
            start_bytes: first.saturating_mul(sector_bytes),
            size_bytes: sectors.saturating_mul(sector_bytes),
            label: text_utf16(&entry[56..128]),
            purpose: gpt_purpose(&kind),
            contents: Vec::new(),
        });
    }
    Ok(found)
}

fn gpt_purpose(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "c12a7328-f81f-11d2-ba4b-00a0c93ec93b" => "EFI system",
        "21686148-6449-6e6f-744e-656564454649" => "BIOS boot",
        "0fc63daf-8483-4772-8e79-3d69d8477de4" => "Linux",
        "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f" => "Linux swap",
        "e6d6d379-f507-44c2-a23c-238f2a3df928" => "Linux LVM",
        "a19d880f-05fc-4d3b-a006-743f0f84911e" => "Linux RAID",
        "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7" => "Windows data",
        "e3c9e316-0b5c-4db8-817d-f92df00215ae" => "Windows reserved",
        "de94bba4-06d1-4d40-a16a-bfd50179d6ac" => "Windows recovery",
        "6a898cc3-1dd2-11b2-99a6-080020736631" => "ZFS",
        "7c3457ef-0000-11aa-aa11-00306543ecac" => "APFS",
        "48465300-0000-11aa-aa11-00306543ecac" => "HFS+",
        _ => return None,
    })
}

/// How many logical partitions a chain may have before it is taken for a circle.
const MAX_LOGICAL: u32 = 128;

/// DOS: four entries in the first sector, which ends in 55 AA; an extended partition starts a chain of sectors of the
/// same shape, each with one logical partition and a link to the next.
fn dos(disk: &Extent) -> io::Result<Option<Signature>> {
    let Some(sector) = disk.bytes::<512>(0)? else { return Ok(None) };
    if sector[510..] != [0x55, 0xaa] || !dos_entries(&sector).all(|entry| matches!(entry.flag, 0 | 0x80)) {
        return Ok(None);
    }
    let id = le32(&sector, 440);
    let mut found = Vec::new();
    for (entry, number) in dos_entries(&sector).zip(1..) {
        if entry.is_extended() {
            logical(disk, u64::from(entry.start), &mut found)?;
        } else if entry.sectors != 0 {
            found.push(entry.partition(number, 0));
        }
    }
    // Code of a boot loader alone, or a sector that by chance ends in 55 AA, is no table.
    if id == 0 && found.is_empty() {
        return Ok(None);
    }
    found.sort_by_key(|partition| partition.number);
    Ok(Some(table("dos", (id != 0).then(|| format!("{id:08x}")), found)))
}

fn logical(disk: &Extent, extended: u64, found: &mut Vec<PartitionEntry>) -> io::Result<()> {
    let mut at = extended;
    for number in 5..5 + MAX_LOGICAL {
        let Some(sector) = disk.bytes::<512>(at * 512)? else { break };
        if sector[510..] != [0x55, 0xaa] {
            break;
        }
        let mut entries = dos_entries(&sector);
        let (Some(own), Some(link)) = (entries.next(), entries.next()) else { break };
        if own.sectors != 0 {
            found.push(own.partition(number, at));
        }
        if !link.is_extended() || link.start == 0 {
            break;
        }
        at = extended + u64::from(link.start);
    }
    Ok(())
}

struct DosEntry {
    flag: u8,
    kind: u8,
    start: u32,
    sectors: u32,
}

fn dos_entries(sector: &[u8; 512]) -> impl Iterator<Item = DosEntry> + '_ {
    sector[446..510].chunks_exact(16).map(|entry| DosEntry {
        flag: entry[0],
        kind: entry[4],
        start: le32(entry, 8),
        sectors: le32(entry, 12),
    })
}

impl DosEntry {
    fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85) && self.sectors != 0
    }

    /// The partition this entry names; its start counts from sector `base`.
    fn partition(&self, number: u32, base: u64) -> PartitionEntry {
        PartitionEntry {
            number,
            start_bytes: (base + u64::from(self.start)) * 512,
            size_bytes: u64::from(self.sectors) * 512,
            label: None,
            purpose: dos_purpose(self.kind),
            contents: Vec::new(),
        }
    }
}

fn dos_purpose(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x01 | 0x04 | 0x06 | 0x0b | 0x0c | 0x0e => "FAT",
        0x07 => "Windows data",
        0x82 => "Linux swap",
        0x83 => "Linux",
        0x8e => "Linux LVM",
        0xee => "GPT protection",
        0xef => "EFI system",
        0xfd => "Linux RAID",
        _ => return None,
    })
}
