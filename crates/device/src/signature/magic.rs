//! The formats that a fixed byte string at a fixed place gives away.

use std::io;

use super::extent::{self, Extent};
use super::{Signature, SignatureKind};

/// One format.
struct Magic {
    name: &'static str,
    kind: SignatureKind,
    /// Where the byte string stands.
    at: u64,
    bytes: &'static [u8],
    uuid: Option<Field>,
    label: Option<Field>,
}

/// Where and how a text is written.
#[derive(Clone, Copy)]
enum Field {
    /// Sixteen raw bytes at this place.
    Raw(u64),
    /// Characters: place and length.
    Text(u64, usize),
    /// UTF-16, little-endian: place and length in bytes.
    Utf16(u64, usize),
}

use Field::{Raw, Text, Utf16};
use SignatureKind::{Encrypted, FileSystem, Member, PartitionTable};

const fn row(name: &'static str, kind: SignatureKind, at: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, kind, at, bytes, uuid: None, label: None }
}

const fn with(magic: Magic, uuid: Option<Field>, label: Option<Field>) -> Magic {
    Magic { uuid, label, ..magic }
}

/// Every row's numbers are byte offsets from the start of the device or partition.
const MAGICS: &[Magic] = &[
    with(row("xfs", FileSystem, 0, b"XFSB"), Some(Raw(32)), Some(Text(108, 12))),
    row("xfs_external_log", Member, 0, &[0xfe, 0xed, 0xba, 0xbe]),
    with(row("btrfs", FileSystem, 65_600, b"_BHRfS_M"), Some(Raw(65_568)), Some(Text(65_835, 256))),
    with(row("f2fs", FileSystem, 1024, &[0x10, 0x20, 0xf5, 0xf2]), Some(Raw(1132)), Some(Utf16(1148, 1024))),
    with(row("erofs", FileSystem, 1024, &[0xe2, 0xe1, 0xf5, 0xe0]), Some(Raw(1072)), Some(Text(1088, 16))),
    with(row("jfs", FileSystem, 32_768, b"JFS1"), Some(Raw(32_904)), Some(Text(32_920, 16))),
    with(row("nilfs2", FileSystem, 1024, b"\x02\0\0\0\0\x0044"), Some(Raw(1176)), Some(Text(1192, 80))),
    with(row("reiserfs", FileSystem, 65_588, b"ReIsErFs"), Some(Raw(65_620)), Some(Text(65_636, 16))),
    with(row("reiserfs", FileSystem, 65_588, b"ReIsEr2Fs"), Some(Raw(65_620)), Some(Text(65_636, 16))),
    with(row("reiserfs", FileSystem, 65_588, b"ReIsEr3Fs"), Some(Raw(65_620)), Some(Text(65_636, 16))),
    row("squashfs", FileSystem, 0, b"hsqs"),
    row("cramfs", FileSystem, 0, &[0x45, 0x3d, 0xcd, 0x28]),
    row("romfs", FileSystem, 0, b"-rom1fs-"),
    row("zonefs", FileSystem, 0, b"SFOZ"),
    row("udf", FileSystem, 34_817, b"NSR02"),
    row("udf", FileSystem, 34_817, b"NSR03"),
    with(row("apfs", FileSystem, 32, b"NXSB"), Some(Raw(72)), None),
    row("hfsplus", FileSystem, 1024, b"H+\0\x04"),
    row("hfsplus", FileSystem, 1024, b"HX\0\x05"),
    row("gfs2", FileSystem, 65_536, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    row("ocfs2", FileSystem, 1024, b"OCFSV2"),
    row("ocfs2", FileSystem, 2048, b"OCFSV2"),
    row("ocfs2", FileSystem, 4096, b"OCFSV2"),
    row("ocfs2", FileSystem, 8192, b"OCFSV2"),
    row("ReFS", FileSystem, 3, b"ReFS\0\0\0\0"),
    row("VMFS_volume_member", Member, 1_048_576, &[0x0d, 0xd0, 0x01, 0xc0]),
    with(
        row("bcachefs", FileSystem, 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
        Some(Raw(4152)),
        Some(Text(4168, 32)),
    ),
    // bcachefs took over bcache's place and, in its early days, its magic; either way there is something to lose.
    with(
        row("bcache", Member, 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
        Some(Raw(4136)),
        None,
    ),
    with(row("ceph_bluestore", Member, 0, b"bluestore block device\n"), Some(Text(23, 36)), None),
    row("oracleasm", Member, 32, b"ORCLDISK"),
    row("stratis", Member, 516, b"!Stra0tis\x86\xff\x02^Arh"),
    row("vdo", Member, 0, b"dmvdo001"),
    row("DM_integrity", Member, 0, b"integrt\0"),
    with(row("DM_verity_hash", Member, 0, b"verity\0\0"), Some(Raw(16)), None),
    row("DM_snapshot_cow", Member, 0, b"SnAp"),
    with(row("crypto_LUKS", Encrypted, 0, b"LUKS\xba\xbe\0\x01"), Some(Text(168, 40)), None),
    with(row("crypto_LUKS", Encrypted, 0, b"LUKS\xba\xbe\0\x02"), Some(Text(168, 40)), Some(Text(24, 48))),
    row("BitLocker", Encrypted, 3, b"-FVE-FS-"),
    row("mac", PartitionTable, 512, b"PM\0\0"),
    row("bsd", PartitionTable, 512, &[0x57, 0x45, 0x56, 0x82]),
];

/// Every format of the table that is there.
pub(super) fn read(extent: &Extent) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for magic in MAGICS {
        if extent.vec(magic.at, magic.bytes.len())?.as_deref() == Some(magic.bytes) {
            let uuid = magic.uuid.map_or(Ok(None), |field| text(extent, field))?;
            let label = magic.label.map_or(Ok(None), |field| text(extent, field))?;
            found.push(Signature { uuid, label, ..Signature::new(magic.kind, magic.name) });
        }
    }
    Ok(found)
}

fn text(extent: &Extent, field: Field) -> io::Result<Option<String>> {
    Ok(match field {
        Raw(at) => extent.bytes(at)?.and_then(extent::uuid),
        Text(at, len) => extent.vec(at, len)?.and_then(|bytes| extent::text(&bytes)),
        Utf16(at, len) => extent.vec(at, len)?.and_then(|bytes| extent::text_utf16(&bytes)),
    })
}
