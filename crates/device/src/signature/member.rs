//! Members of larger volumes: LVM, Linux RAID, ZFS, firmware RAID.

use std::io;

use super::extent::{Extent, field, le32, text, uuid};
use super::{Signature, SignatureKind};

/// Every such membership that is there.
pub(super) fn read(extent: &Extent) -> io::Result<Vec<Signature>> {
    let found = [lvm(extent)?, md(extent)?, zfs(extent)?, firmware_raid(extent)?];
    Ok(found.into_iter().flatten().collect())
}

/// LVM2: a label in one of the first four sectors; it tells where the volume's 32-character identifier stands.
fn lvm(extent: &Extent) -> io::Result<Option<Signature>> {
    for sector in 0..4 {
        let Some(label) = extent.bytes::<512>(sector * 512)? else { break };
        if &label[..8] != b"LABELONE" || &label[24..32] != b"LVM2 001" {
            continue;
        }
        let at = le32(&label, 20) as usize;
        let letters = label.get(at..at + 32).and_then(|id| std::str::from_utf8(id).ok());
        let groups = [0..6, 6..10, 10..14, 14..18, 18..22, 22..26, 26..32];
        let uuid = letters.filter(|id| id.is_ascii()).map(|id| groups.map(|group| &id[group]).join("-"));
        return Ok(Some(Signature { uuid, ..Signature::new(SignatureKind::Member, "LVM2_member") }));
    }
    Ok(None)
}

/// Linux RAID: version 1 stands at the start (1.1), 4 KiB in (1.2) or 8 KiB before the end, rounded down to 4 KiB
/// (1.0); version 0.90 in the last whole 64 KiB.
fn md(extent: &Extent) -> io::Result<Option<Signature>> {
    const MAGIC: u32 = 0xa92b_4efc;
    let near_end = (extent.len & !4095).checked_sub(8192);
    for at in [Some(0), Some(4096), near_end].into_iter().flatten() {
        let Some(block) = extent.bytes::<64>(at)? else { continue };
        if le32(&block, 0) == MAGIC && le32(&block, 4) == 1 {
            return Ok(Some(raid(uuid(field(&block, 16)), text(&block[32..64]))));
        }
    }
    let Some(at) = (extent.len & !65_535).checked_sub(65_536) else { return Ok(None) };
    let Some(block) = extent.bytes::<64>(at)? else { return Ok(None) };
    if le32(&block, 0) != MAGIC || le32(&block, 4) != 0 {
        return Ok(None);
    }
    // The identifier's first word came first; the other three were added at the end of the section.
    let mut id = [0; 16];
    id[..4].copy_from_slice(&block[20..24]);
    id[4..].copy_from_slice(&block[52..64]);
    for word in id.chunks_exact_mut(4) {
        word.reverse();
    }
    Ok(Some(raid(uuid(id), None)))
}

fn raid(uuid: Option<String>, label: Option<String>) -> Signature {
    Signature { uuid, label, ..Signature::new(SignatureKind::Member, "linux_raid_member") }
}

/// ZFS: four labels of 256 KiB, two at the start, two at the end. Each has a packed list of names and values at 16 KiB
/// and a ring of uberblocks, 1 KiB or more apart, at 128 KiB. A list or an uberblock is enough to know it.
fn zfs(extent: &Extent) -> io::Result<Option<Signature>> {
    const LABEL: u64 = 256 << 10;
    let end = extent.len & !(LABEL - 1);
    let ends = [end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    let mut known = None;
    for at in [Some(0), Some(LABEL), ends[0], ends[1]].into_iter().flatten() {
        let Some(list) = extent.vec(at + (16 << 10), 112 << 10)? else { continue };
        let list = NameValueList(&list);
        if let Some(pool) = list.number("pool_guid") {
            let label = list.string("name");
            let uuid = Some(pool.to_string());
            return Ok(Some(Signature { uuid, label, ..Signature::new(SignatureKind::Member, "zfs_member") }));
        }
        let Some(ring) = extent.vec(at + (128 << 10), 128 << 10)? else { continue };
        let uberblock =
            |block: &[u8]| [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()].contains(&field(block, 0));
        if ring.chunks(1024).any(uberblock) {
            known = Some(Signature::new(SignatureKind::Member, "zfs_member"));
        }
    }
    Ok(known)
}

/// ZFS's packed list, in XDR: four bytes of encoding, version and flags, then pairs: encoded and decoded size, the
/// name, the value's type and count, the value. Only the outermost level is read.
struct NameValueList<'a>(&'a [u8]);

impl<'a> NameValueList<'a> {
    /// The type's number and the value's bytes.
    fn find(&self, name: &str) -> Option<(u32, &'a [u8])> {
        let be32 = |at: usize| Some(u32::from_be_bytes(self.0.get(at..at + 4)?.try_into().ok()?));
        if self.0.first() != Some(&1) {
            return None;
        }
        let mut at = 12;
        loop {
            let size = be32(at)? as usize;
            let name_len = be32(at + 8)? as usize;
            // The smallest pair: both sizes, an empty name, type and count.
            if size < 20 || name_len > size {
                return None;
            }
            let end = at.checked_add(size)?;
            let value = at + 12 + name_len.next_multiple_of(4);
            if self.0.get(at + 12..at + 12 + name_len)? == name.as_bytes() {
                return Some((be32(value)?, self.0.get(value + 8..end)?));
            }
            at = end;
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        const UINT64: u32 = 8;
        let (kind, value) = self.find(name)?;
        (kind == UINT64).then_some(u64::from_be_bytes(value.get(..8)?.try_into().ok()?))
    }

    fn string(&self, name: &str) -> Option<String> {
        const STRING: u32 = 9;
        let (kind, value) = self.find(name)?;
        let len = u32::from_be_bytes(value.get(..4)?.try_into().ok()?) as usize;
        if kind == STRING { text(value.get(4..4 + len)?) } else { None }
    }
}

/// RAID made by the computer's firmware: Intel's words in the last two sectors, or the DDF anchor in the last one.
fn firmware_raid(extent: &Extent) -> io::Result<Option<Signature>> {
    let found = |name| Some(Signature::new(SignatureKind::Member, name));
    let at_end = |distance| extent.len.checked_sub(distance).map_or(Ok(None), |at| extent.bytes::<24>(at));
    if at_end(1024)?.is_some_and(|words| words.starts_with(b"Intel Raid ISM Cfg Sig.")) {
        return Ok(found("isw_raid_member"));
    }
    Ok(at_end(512)?
        .and_then(|words| if words[..4] == [0xde, 0x11, 0xde, 0x11] { found("ddf_raid_member") } else { None }))
}
