//! The header that stands before a block's checksum, in the layout of fio 3.42; that of 3.33 is read too.
//!
//! Little-endian, 48 bytes: magic (2), version (1), type (1), length of the interval (4), seed (8), offset (8), seconds
//! and nanoseconds of the write (4 each), number of the write (8), thread (2), nothing (2), CRC-32C of all before (4).
//! The older one has 40: magic (2), type (2), length (4), seed (8), offset (8), seconds and nanoseconds (4 each),
//! thread (2), the low half of the number (2), the CRC (4).

use iostrata_spec::{Verify, VerifyMethod};

use super::sums::crc32c;

/// The first two bytes of every header, as a number.
const MAGIC: u16 = 0xacca;
/// What tells the layout of 3.42.
const VERSION: u8 = 0x81;
/// Length of the older layout.
const OLD_BYTES: usize = 40;
/// Length of the layout that is written.
const NEW_BYTES: usize = Verify::HEADER_BYTES;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// How the block is checked; `None`: by something we do not know.
    pub(super) method: Option<VerifyMethod>,
    /// Bytes of the interval.
    pub(super) len: u32,
    /// The seed of its data.
    pub(super) seed: u64,
    /// Its place in the file.
    pub(super) offset: u64,
    /// When it was written, nanoseconds of the writer's clock.
    pub(super) time_ns: u64,
    /// The number of the write.
    pub(super) number: u64,
    /// Bits of the number that the header has room for.
    pub(super) number_mask: u64,
    /// The worker's number, from 1.
    pub(super) thread: u16,
    /// Length of the header itself.
    pub(super) bytes: usize,
}

/// Why there is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHeader {
    /// Other bytes stand where the magic should be.
    Magic(u16),
    /// It was damaged: the sum in it, and the sum of it.
    Sum(u32, u32),
}

const TYPES: &[(u8, VerifyMethod)] = &[
    (1, VerifyMethod::Meta),
    (2, VerifyMethod::Md5),
    (3, VerifyMethod::Crc64),
    (4, VerifyMethod::Crc32),
    (5, VerifyMethod::Crc32c),
    (6, VerifyMethod::Crc32c),
    (7, VerifyMethod::Crc16),
    (8, VerifyMethod::Crc7),
    (9, VerifyMethod::Sha256),
    (10, VerifyMethod::Sha512),
    (11, VerifyMethod::Sha3_224),
    (12, VerifyMethod::Sha3_256),
    (13, VerifyMethod::Sha3_384),
    (14, VerifyMethod::Sha3_512),
    (15, VerifyMethod::Xxhash),
    (16, VerifyMethod::Sha1),
    (17, VerifyMethod::PatternHeader),
];

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

impl Header {
    /// Writes it to the first bytes of `out`.
    pub(super) fn write(&self, out: &mut [u8]) {
        let kind = TYPES.iter().find(|(_, method)| Some(*method) == self.method).map_or(0, |(kind, _)| *kind);
        out[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        out[2] = VERSION;
        out[3] = kind;
        out[4..8].copy_from_slice(&self.len.to_le_bytes());
        out[8..16].copy_from_slice(&self.seed.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..28].copy_from_slice(&((self.time_ns / 1_000_000_000) as u32).to_le_bytes());
        out[28..32].copy_from_slice(&((self.time_ns % 1_000_000_000) as u32).to_le_bytes());
        out[32..40].copy_from_slice(&self.number.to_le_bytes());
        out[40..42].copy_from_slice(&self.thread.to_le_bytes());
        out[42..44].fill(0);
        let crc = crc32c_raw(&out[..NEW_BYTES - 4]);
        out[NEW_BYTES - 4..NEW_BYTES].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads the header at the beginning of `bytes`, which hold an interval.
    pub(super) fn read(bytes: &[u8]) -> Result<Header, NoHeader> {
        let magic = if bytes.len() < NEW_BYTES { 0 } else { u16_at(bytes, 0) };
        if magic != MAGIC {
            return Err(NoHeader::Magic(magic));
        }
        let new = bytes[2] == VERSION;
        let (len, kind) = if new { (NEW_BYTES, bytes[3]) } else { (OLD_BYTES, bytes[2]) };
        let (said, found) = (u32_at(bytes, len - 4), crc32c_raw(&bytes[..len - 4]));
        if said != found {
            return Err(NoHeader::Sum(said, found));
        }
        let (number, number_mask, thread) = if new {
            (u64_at(bytes, 32), u64::MAX, u16_at(bytes, 40))
        } else {
            (u16_at(bytes, 34).into(), u64::from(u16::MAX), u16_at(bytes, 32))
        };
        Ok(Header {
            method: TYPES.iter().find(|(number, _)| *number == kind).map(|(_, method)| *method),
            len: u32_at(bytes, 4),
            seed: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            time_ns: u64::from(u32_at(bytes, 24)) * 1_000_000_000 + u64::from(u32_at(bytes, 28)),
            number,
            number_mask,
            thread,
            bytes: len,
        })
    }
}

/// As fio has it: not inverted at the end.
fn crc32c_raw(bytes: &[u8]) -> u32 {
    !crc32c(bytes)
}

/// Moves the header from the beginning of its interval to `offset`; what stood there comes to the beginning.
pub(super) fn move_header(interval: &mut [u8], header_bytes: usize, offset: usize) {
    if offset >= header_bytes {
        let (front, back) = interval.split_at_mut(offset);
        front[..header_bytes].swap_with_slice(&mut back[..header_bytes]);
    } else {
        interval[..offset + header_bytes].rotate_right(offset);
    }
}

/// Moves the header back to the beginning.
pub(super) fn move_header_back(interval: &mut [u8], header_bytes: usize, offset: usize) {
    if offset >= header_bytes {
        move_header(interval, header_bytes, offset);
    } else {
        interval[..offset + header_bytes].rotate_left(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn headers_of_both_versions_of_fio_are_read_and_the_newer_is_written_the_same() {
        let new = bytes(
            "caac 8105 0010 0000 3c54 09c5 01cc a400 0000 0000 0000 0000 0000 0000 19a0 1508 \
             0000 0000 0000 0000 0100 2e68 3ba0 b6ab",
        );
        let header = Header::read(&new).unwrap();
        assert_eq!((header.method, header.len, header.offset), (Some(VerifyMethod::Crc32c), 4096, 0));
        assert_eq!((header.thread, header.number, header.bytes), (1, 0, 48));
        let mut again = vec![0; 48];
        header.write(&mut again);
        // Its two bytes of nothing may hold anything; the sum is over them.
        assert_eq!(again[..42], new[..42]);
        assert_eq!(Header::read(&again), Ok(header));

        let mut old = bytes(
            "caac 0500 0010 0000 3c54 09c5 01cc a400 0000 0000 0000 0000 589f 8a06 0000 0000 \
             0100 0000 0000 0000 0000 0000 0000 0000",
        );
        let crc = crc32c_raw(&old[..36]).to_le_bytes();
        old[36..40].copy_from_slice(&crc);
        let header = Header::read(&old).unwrap();
        assert_eq!((header.method, header.len, header.bytes), (Some(VerifyMethod::Crc32c), 4096, 40));
    }

    #[test]
    fn a_changed_bit_anywhere_in_a_header_is_seen() {
        let header = Header {
            method: Some(VerifyMethod::Md5),
            len: 512,
            seed: 7,
            offset: 1 << 40,
            time_ns: 5_000_000_006,
            number: 9,
            number_mask: u64::MAX,
            thread: 3,
            bytes: 48,
        };
        let mut whole = [0; 512];
        header.write(&mut whole);
        assert_eq!(Header::read(&whole), Ok(header));
        for bit in 0..48 * 8 {
            let mut changed = whole;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Header::read(&changed).ok(), Some(header), "bit {bit}");
        }
    }

    #[test]
    fn a_header_that_was_moved_comes_back() {
        for offset in [0, 1, 47, 48, 50, 300, 464] {
            let start: Vec<u8> = (0..512).map(|n| (n % 251) as u8).collect();
            let mut moved = start.clone();
            move_header(&mut moved, 48, offset);
            assert_eq!(moved[offset..offset + 48], start[..48], "offset {offset}");
            move_header_back(&mut moved, 48, offset);
            assert_eq!(moved, start, "offset {offset}");
        }
    }
}
