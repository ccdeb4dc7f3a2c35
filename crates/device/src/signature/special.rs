//! File systems and swap whose recognition takes more than one byte string.

use std::io;

use super::extent::{Extent, field, le32, text, uuid};
use super::{Signature, SignatureKind};

/// Every such format that is there.
pub(super) fn read(extent: &Extent) -> io::Result<Vec<Signature>> {
    let found = [ext(extent)?, fat(extent)?, windows(extent)?, iso9660(extent)?, swap(extent)?];
    Ok(found.into_iter().flatten().collect())
}

/// Whether this file system starts with a boot sector, whose last two bytes look like those of a DOS partition table.
pub(super) fn uses_boot_sector(signature: &Signature) -> bool {
    matches!(signature.name, "vfat" | "ntfs" | "exfat" | "BitLocker" | "ReFS")
}

/// ext2, ext3, ext4: the superblock at 1024. Which of the three is a matter of features: ext3 has a journal, ext4 has
/// any feature that the ext3 driver does not know.
fn ext(extent: &Extent) -> io::Result<Option<Signature>> {
    const MAGIC: [u8; 2] = [0x53, 0xef];
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    // Incompatible: file type, recovery, meta groups. Read-only: sparse superblocks, large files, b-tree folders.
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
    let Some(block) = extent.bytes::<256>(1024)? else { return Ok(None) };
    let (inodes, blocks, log_block_size) = (le32(&block, 0), le32(&block, 4), le32(&block, 24));
    if block[56..58] != MAGIC || blocks == 0 || log_block_size > 6 {
        return Ok(None);
    }
    let (compatible, incompatible, read_only) = (le32(&block, 92), le32(&block, 96), le32(&block, 100));
    let name = if incompatible & JOURNAL_DEVICE != 0 {
        "jbd"
    } else if inodes == 0 {
        return Ok(None);
    } else if incompatible & !EXT3_INCOMPATIBLE != 0 || read_only & !EXT3_READ_ONLY != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    let kind = if name == "jbd" { SignatureKind::Member } else { SignatureKind::FileSystem };
    Ok(Some(Signature { uuid: uuid(field(&block, 104)), label: text(&block[120..136]), ..Signature::new(kind, name) }))
}

/// FAT12, FAT16, FAT32: a boot sector with the type's name in it and a sane sector size.
fn fat(extent: &Extent) -> io::Result<Option<Signature>> {
    let Some(sector) = extent.bytes::<512>(0)? else { return Ok(None) };
    let sector_bytes = u16::from_le_bytes(field(&sector, 11));
    let sane = matches!(sector[0], 0xeb | 0xe9) && matches!(sector_bytes, 512 | 1024 | 2048 | 4096);
    // Serial number and label stand before the name: at different places in the two layouts.
    let serial = if !sane {
        return Ok(None);
    } else if &sector[82..90] == b"FAT32   " {
        67
    } else if [&b"FAT12   "[..], b"FAT16   ", b"FAT     "].contains(&&sector[54..62]) {
        39
    } else {
        return Ok(None);
    };
    let label = text(&sector[serial + 4..serial + 15]).filter(|label| label != "NO NAME");
    Ok(Some(Signature {
        uuid: short_serial(&sector, serial),
        label,
        ..Signature::new(SignatureKind::FileSystem, "vfat")
    }))
}

/// A volume serial number of 32 bits, the way Windows and `blkid` write it.
fn short_serial(sector: &[u8], at: usize) -> Option<String> {
    let serial = le32(sector, at);
    (serial != 0).then(|| format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff))
}

/// NTFS and exFAT: their name at byte 3 of the boot sector.
fn windows(extent: &Extent) -> io::Result<Option<Signature>> {
    let Some(sector) = extent.bytes::<512>(0)? else { return Ok(None) };
    let (name, uuid) = match &sector[3..11] {
        b"NTFS    " => {
            let serial = u64::from_le_bytes(field(&sector, 72));
            ("ntfs", (serial != 0).then(|| format!("{serial:016X}")))
        }
        b"EXFAT   " => ("exfat", short_serial(&sector, 100)),
        _ => return Ok(None),
    };
    Ok(Some(Signature { uuid, ..Signature::new(SignatureKind::FileSystem, name) }))
}

/// ISO 9660: the primary volume descriptor at sector 16. Its identifier is the date of the last change or, if that is
/// not given, of creation.
fn iso9660(extent: &Extent) -> io::Result<Option<Signature>> {
    let Some(descriptor) = extent.vec(32_768, 2048)?.filter(|d| &d[1..6] == b"CD001") else { return Ok(None) };
    let date = |at: usize| {
        let digits = std::str::from_utf8(&descriptor[at..at + 16]).ok()?;
        let given = digits.bytes().all(|b| b.is_ascii_digit()) && digits.bytes().any(|b| b != b'0');
        let parts = [0..4, 4..6, 6..8, 8..10, 10..12, 12..14, 14..16];
        given.then(|| parts.map(|part| &digits[part]).join("-"))
    };
    Ok(Some(Signature {
        uuid: date(830).or_else(|| date(813)),
        label: text(&descriptor[40..72]),
        ..Signature::new(SignatureKind::FileSystem, "iso9660")
    }))
}

/// Swap: ten characters at the end of the first page, whatever the size of a page was. A system that went to sleep into
/// its swap space leaves another word there.
fn swap(extent: &Extent) -> io::Result<Option<Signature>> {
    for page in [4096, 8192, 16_384, 32_768, 65_536] {
        let Some(word) = extent.bytes::<10>(page - 10)? else { break };
        let name = match &word {
            b"SWAPSPACE2" | b"SWAP-SPACE" => "swap",
            b"LINHIB0001" => "swsuspend",
            word if [&b"S1SUSPEND"[..], b"S2SUSPEND", b"ULSUSPEND"].contains(&&word[..9]) => "swsuspend",
            _ => continue,
        };
        let Some(header) = extent.bytes::<64>(1024)? else { break };
        return Ok(Some(Signature {
            uuid: uuid(field(&header, 12)),
            label: text(&header[28..44]),
            ..Signature::new(SignatureKind::Swap, name)
        }));
    }
    Ok(None)
}
