//! What lies on a device: file systems, partition tables, members of volumes, encrypted containers, swap.
//!
//! A reader of our own for the well-known magics, given bytes; the names are those that `blkid` prints as `TYPE` and
//! `PTTYPE`. Formats are described at each row of [`magic`] and in [`special`], [`member`] and [`table`].

mod extent;
mod magic;
mod member;
mod special;
mod table;

use std::fmt;
use std::io;

pub use extent::Medium;
pub(crate) use extent::{Extent, FileMedium};

/// What sort of thing a signature announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// A file system.
    FileSystem,
    /// Swap space, or a hibernated memory image.
    Swap,
    /// A partition table.
    PartitionTable,
    /// One part of a larger volume: LVM, md, ZFS, bcache, …
    Member,
    /// An encrypted container.
    Encrypted,
}

/// One thing found on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What sort of thing.
    pub kind: SignatureKind,
    /// Its name as `blkid` prints it: `ext4`, `LVM2_member`, `gpt`, …
    pub name: &'static str,
    /// The name a person gave it.
    pub label: Option<String>,
    /// Its identifier as `blkid` prints it.
    pub uuid: Option<String>,
    /// The entries of a partition table.
    pub partitions: Vec<PartitionEntry>,
}

impl Signature {
    pub(crate) fn new(kind: SignatureKind, name: &'static str) -> Self {
        Self { kind, name, label: None, uuid: None, partitions: Vec::new() }
    }

    /// The name under which this content may be given up: `NAME-UUID`.
    ///
    /// It names what would be lost, not the node: a disk that got another letter, or other content since, is not meant
    /// by a permission given before. `None` for content without a UUID; see [`content_identity`].
    pub fn identity(&self) -> Option<String> {
        self.uuid.as_ref().map(|uuid| identifier(&format!("{}-{uuid}", self.name)))
    }
}

/// One entry of a partition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionEntry {
    /// Its number, from 1.
    pub number: u32,
    /// First byte on the disk.
    pub start_bytes: u64,
    /// Length, bytes.
    pub size_bytes: u64,
    /// Its name in the table (GPT).
    pub label: Option<String>,
    /// What the table says it is for, where that is a well-known type.
    pub purpose: Option<&'static str>,
    /// What is in it.
    pub contents: Vec<Signature>,
}

/// Reads what lies on a medium; partitions are looked into one level deep.
///
/// # Errors
/// The medium cannot be read.
pub fn signatures(medium: &dyn Medium) -> io::Result<Vec<Signature>> {
    let whole = Extent::whole(medium);
    let mut found = contents(&whole)?;
    let boot_sector_taken = found.iter().any(|s| s.kind == SignatureKind::FileSystem && special::uses_boot_sector(s));
    let mut tables = table::read(&whole, boot_sector_taken)?;
    for entry in tables.iter_mut().flat_map(|table| &mut table.partitions) {
        entry.contents = contents(&whole.part(entry.start_bytes, entry.size_bytes))?;
    }
    tables.append(&mut found);
    Ok(tables)
}

/// All but partition tables.
fn contents(extent: &Extent) -> io::Result<Vec<Signature>> {
    let mut found = magic::read(extent)?;
    found.extend(special::read(extent)?);
    found.extend(member::read(extent)?);
    Ok(found)
}

/// The name under which everything found on a device may be given up.
///
/// That is the first signature's [`Signature::identity`]; content without any UUID is named by a digest (FNV-1a, 64
/// bits) of its description and the device's size.
pub fn content_identity(found: &[Signature], size_bytes: u64) -> String {
    found.iter().find_map(Signature::identity).unwrap_or_else(|| {
        let text = format!("{size_bytes} {}", describe(found));
        let digest = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let name = found.first().map_or("content", |s| s.name);
        identifier(&format!("{name}-{digest:016x}"))
    })
}

/// Makes a text fit for a comma-separated list on a command line.
pub(crate) fn identifier(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "-_.:".contains(c) { c } else { '_' };
    text.trim().chars().map(fit).collect()
}

/// Everything found, in one phrase.
pub(crate) fn describe(found: &[Signature]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.kind {
            SignatureKind::FileSystem => " file system",
            SignatureKind::PartitionTable => " partition table",
            SignatureKind::Encrypted => " encrypted container",
            SignatureKind::Swap if self.name == "swap" => " space",
            SignatureKind::Swap => " (a hibernated system)",
            SignatureKind::Member => "",
        };
        write!(f, "{}{noun}", self.name)?;
        if let Some(label) = &self.label {
            write!(f, " \"{label}\"")?;
        }
        if let Some(uuid) = &self.uuid {
            write!(f, " (UUID {uuid})")?;
        }
        if self.kind == SignatureKind::PartitionTable {
            write!(f, " with {}", count(self.partitions.len()))?;
            let parts: Vec<String> = self.partitions.iter().take(SHOWN).map(ToString::to_string).collect();
            if !parts.is_empty() {
                write!(f, " [{}", parts.join("; "))?;
                let more = self.partitions.len() - parts.len();
                if more > 0 { write!(f, "; and {more} more]") } else { f.write_str("]") }?;
            }
        }
        Ok(())
    }
}

/// How many partitions a sentence lists.
const SHOWN: usize = 8;

fn count(partitions: usize) -> String {
    match partitions {
        0 => "no partitions".into(),
        1 => "1 partition".into(),
        n => format!("{n} partitions"),
    }
}

impl fmt::Display for PartitionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.number, human_bytes(self.size_bytes))?;
        if let Some(label) = &self.label {
            write!(f, " \"{label}\"")?;
        }
        if let Some(purpose) = self.purpose {
            write!(f, " {purpose}")?;
        }
        if self.contents.is_empty() { Ok(()) } else { write!(f, ", {}", describe(&self.contents)) }
    }
}

/// Bytes with one decimal and a power-of-two unit.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    if unit == 0 {
        return format!("{bytes} B");
    }
    let tenths = (u128::from(bytes) * 10) >> (10 * unit);
    if tenths.is_multiple_of(10) {
        format!("{} {}", tenths / 10, UNITS[unit])
    } else {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

#[cfg(test)]
mod tests;
