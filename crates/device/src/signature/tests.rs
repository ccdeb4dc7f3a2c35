//! Formats whose tools are rarely at hand, byte by byte; the others are compared with `blkid` in
//! `tests/signatures.rs`.

use super::*;

const KIB: usize = 1024;

fn found(image: &[u8]) -> Vec<Signature> {
    signatures(&Bytes(image)).unwrap()
}

/// Slices are media; this makes one of a borrowed slice.
struct Bytes<'a>(&'a [u8]);

impl Medium for Bytes<'_> {
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(at, buffer)
    }
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What is found, as `NAME UUID LABEL`.
fn summary(image: &[u8]) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    found(image).into_iter().map(|s| format!("{} {} {}", s.name, or_dash(s.uuid), or_dash(s.label))).collect()
}

#[test]
fn nothing_is_found_in_zeros_noise_or_next_to_nothing() {
    assert_eq!(found(&[]), []);
    assert_eq!(found(&[0x55; 7]), []);
    assert_eq!(found(&vec![0; 2048 * KIB]), []);
    // A xorshift sequence stands for what a benchmark leaves behind.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    let noise: Vec<u8> = noise.take(256 * KIB).flat_map(u64::to_le_bytes).collect();
    assert_eq!(found(&noise), []);
}

#[test]
fn linux_raid_is_found_at_all_four_places() {
    let mut superblock = [0; 64];
    put(&mut superblock, 0, &0xa92b_4efc_u32.to_le_bytes());
    put(&mut superblock, 4, &1_u32.to_le_bytes());
    put(&mut superblock, 16, &[0xab; 16]);
    put(&mut superblock, 32, b"host:0");
    let expected = ["linux_raid_member abababab-abab-abab-abab-abababababab host:0"];
    // An odd end: version 1.0 counts back from there and rounds down to 4 KiB.
    let size = 1024 * KIB + 3 * 512;
    for at in [0, 4 * KIB, 1016 * KIB] {
        let mut image = vec![0; size];
        put(&mut image, at, &superblock);
        assert_eq!(summary(&image), expected, "at {at}");
    }
    let mut old = [0; 64];
    put(&mut old, 0, &0xa92b_4efc_u32.to_le_bytes());
    put(&mut old, 20, &0x0102_0304_u32.to_le_bytes());
    put(&mut old, 52, &0x0506_0708_u32.to_le_bytes());
    let mut image = vec![0; size];
    put(&mut image, 960 * KIB, &old);
    assert_eq!(summary(&image), ["linux_raid_member 01020304-0506-0708-0000-000000000000 -"]);
}

fn xdr_string(text: &str) -> Vec<u8> {
    let mut out = (text.len() as u32).to_be_bytes().to_vec();
    out.extend(text.as_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// One pair of ZFS's packed list.
fn pair(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    let body = [&xdr_string(name)[..], &kind.to_be_bytes(), &1_u32.to_be_bytes(), value].concat();
    [&(body.len() as u32 + 8).to_be_bytes()[..], &[0; 4], &body].concat()
}

#[test]
fn a_zfs_pool_is_found_in_any_of_its_labels_with_name_and_number() {
    let list = [
        &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..],
        &pair("version", 8, &5000_u64.to_be_bytes()),
        &pair("name", 9, &xdr_string("tank")),
        &pair("pool_guid", 8, &42_u64.to_be_bytes()),
        &[0; 8],
    ]
    .concat();
    let size = 1024 * KIB + 512;
    for label in [0, 256, 512, 768] {
        let mut image = vec![0; size];
        put(&mut image, (label + 16) * KIB, &list);
        assert_eq!(summary(&image), ["zfs_member 42 tank"], "label at {label} KiB");
    }
    let mut image = vec![0; size];
    put(&mut image, (256 + 128 + 3) * KIB, &0x00ba_b10c_u64.to_le_bytes());
    assert_eq!(summary(&image), ["zfs_member - -"], "an uberblock alone");
    // A list that promises more than there is.
    let mut image = vec![0; size];
    put(&mut image, 16 * KIB, &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff]);
    assert_eq!(found(&image), []);
}

#[test]
fn magics_stand_where_their_formats_put_them() {
    let rows: [(&str, usize, &[u8]); 12] = [
        ("bcache", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
        ("ceph_bluestore", 0, b"bluestore block device\n"),
        ("oracleasm", 32, b"ORCLDISK"),
        ("VMFS_volume_member", 1_048_576, b"\x0d\xd0\x01\xc0"),
        ("BitLocker", 3, b"-FVE-FS-"),
        ("apfs", 32, b"NXSB"),
        ("hfsplus", 1024, b"H+\0\x04"),
        ("swsuspend", 4086, b"S1SUSPEND\0"),
        ("swap", 65_526, b"SWAPSPACE2"),
        ("reiserfs", 65_588, b"ReIsEr2Fs"),
        ("isw_raid_member", 2048 * KIB - 1024, b"Intel Raid ISM Cfg Sig. 1.0"),
        ("ddf_raid_member", 2048 * KIB - 512, b"\xde\x11\xde\x11"),
    ];
    for (name, at, bytes) in rows {
        let mut image = vec![0; 2048 * KIB];
        put(&mut image, at, bytes);
        let names: Vec<_> = found(&image).iter().map(|s| s.name).collect();
        assert_eq!(names, [name]);
        // Cut off in the middle of it, there is nothing.
        assert_eq!(found(&image[..at + 2]), [], "{name} cut off");
    }
}

fn dos_entry(kind: u8, start: u32, sectors: u32) -> [u8; 16] {
    let mut entry = [0; 16];
    entry[4] = kind;
    put(&mut entry, 8, &start.to_le_bytes());
    put(&mut entry, 12, &sectors.to_le_bytes());
    entry
}

#[test]
fn logical_partitions_follow_their_chain_and_a_circle_ends() {
    let mut image = vec![0; 512 * KIB];
    put(&mut image, 440, &0xcafe_f00d_u32.to_le_bytes());
    put(&mut image, 446, &dos_entry(0x83, 8, 16));
    put(&mut image, 462, &dos_entry(0x05, 100, 500));
    put(&mut image, 100 * 512 + 446, &dos_entry(0x82, 2, 48));
    put(&mut image, 100 * 512 + 462, &dos_entry(0x05, 50, 50));
    put(&mut image, 150 * 512 + 446, &dos_entry(0x07, 3, 40));
    for sector in [0, 100, 150] {
        put(&mut image, sector * 512 + 510, &[0x55, 0xaa]);
    }
    let table = found(&image).remove(0);
    let starts: Vec<_> = table.partitions.iter().map(|p| (p.number, p.start_bytes / 512, p.purpose)).collect();
    let expected = [(1, 8, Some("Linux")), (5, 102, Some("Linux swap")), (6, 153, Some("Windows data"))];
    assert_eq!((table.uuid.as_deref(), starts), (Some("cafef00d"), expected.to_vec()));

    put(&mut image, 150 * 512 + 462, &dos_entry(0x05, 50, 50));
    assert!(found(&image)[0].partitions.len() <= 130);
}

#[test]
fn a_boot_sector_alone_is_no_partition_table() {
    let mut image = vec![0; 8 * KIB];
    put(&mut image, 510, &[0x55, 0xaa]);
    assert_eq!(found(&image), []);
    put(&mut image, 446, &[0x7f]);
    put(&mut image, 440, &[1]);
    assert_eq!(found(&image), [], "code where the entries would be");
}

#[test]
fn a_gpt_whose_first_header_is_gone_is_still_one() {
    let mut image = vec![0; 1024 * KIB];
    let last = 1024 * KIB / 512 - 1;
    let mut header = [0; 92];
    put(&mut header, 0, b"EFI PART");
    put(&mut header, 24, &(last as u64).to_le_bytes());
    put(&mut header, 56, &[0x11; 16]);
    put(&mut header, 72, &((last - 32) as u64).to_le_bytes());
    put(&mut header, 80, &128_u32.to_le_bytes());
    put(&mut header, 84, &128_u32.to_le_bytes());
    put(&mut image, last * 512, &header);
    let mut entry = [0; 128];
    put(&mut entry, 0, &[0x22; 16]);
    put(&mut entry, 32, &64_u64.to_le_bytes());
    put(&mut entry, 40, &127_u64.to_le_bytes());
    put(&mut entry, 56, b"h\0i\0");
    put(&mut image, (last - 32) * 512 + 2 * 128, &entry);
    // And a file system in the partition.
    put(&mut image, 64 * 512, b"XFSB");
    let text = describe(&found(&image));
    let uuid = "11111111-1111-1111-1111-111111111111";
    assert_eq!(text, format!("gpt partition table (UUID {uuid}) with 1 partition [3: 32 KiB \"hi\", xfs file system]"));
}

#[test]
fn a_disk_that_cannot_be_read_is_an_error() {
    struct Broken;
    impl Medium for Broken {
        fn size_bytes(&self) -> u64 {
            1 << 30
        }
        fn read_at(&self, _at: u64, _buffer: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
    assert_eq!(signatures(&Broken).unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn identities_fit_on_a_command_line() {
    let uuid = Some("a,b c\"d".to_string());
    let signature = Signature { uuid, ..Signature::new(SignatureKind::FileSystem, "ext4") };
    assert_eq!(signature.identity().unwrap(), "ext4-a_b_c_d");
    assert_eq!(human_bytes(1536), "1.5 KiB");
    assert_eq!(human_bytes(512), "512 B");
    assert_eq!(human_bytes(u64::MAX), "15.9 EiB");
}
