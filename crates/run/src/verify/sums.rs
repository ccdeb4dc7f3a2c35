//! Checksums of blocks, byte for byte as fio stores them behind its header.

use std::sync::LazyLock;

use crc_fast::{CrcAlgorithm, CrcParams, checksum as crc, checksum_with_params};
use iostrata_spec::VerifyMethod;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

/// The longest checksum.
pub(super) const MOST_BYTES: usize = 64;

/// A checksum, and how many bytes of it there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    bytes: [u8; MOST_BYTES],
    len: usize,
}

impl Sum {
    fn of(value: &[u8]) -> Self {
        let mut bytes = [0; MOST_BYTES];
        bytes[..value.len()].copy_from_slice(value);
        Sum { bytes, len: value.len() }
    }

    /// The bytes as they are stored.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// CRC-32 of the polynomial 0x04c11db7, not reflected, from 0 and not inverted.
static CRC32: LazyLock<CrcParams> =
    LazyLock::new(|| CrcParams::new("CRC-32/zero", 32, 0x04c1_1db7, 0, false, 0, 0x89a1_897f));

/// CRC-64 of Jones's polynomial, reflected, from 0 and not inverted.
static CRC64: LazyLock<CrcParams> =
    LazyLock::new(|| CrcParams::new("CRC-64/Jones", 64, 0xad93_d235_94c9_35a9, 0, true, 0, 0xe9c6_d914_c4b8_d9ca));

/// CRC-7 of MMC cards (x^7 + x^3 + 1), a byte at a time.
static CRC7: LazyLock<[u8; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        (0..8).fold(byte as u8, |crc, _| if crc & 0x80 != 0 { (crc << 1) ^ 0x12 } else { crc << 1 })
    })
});

/// The checksum of `data` as it is stored behind a header; empty for methods without one.
pub fn checksum(method: VerifyMethod, data: &[u8]) -> Vec<u8> {
    sum(method, data).bytes().to_vec()
}

/// The checksum of `data`; empty for methods without one.
pub(super) fn sum(method: VerifyMethod, data: &[u8]) -> Sum {
    match method {
        VerifyMethod::Md5 => Sum::of(&Md5::digest(data)),
        VerifyMethod::Crc64 => Sum::of(&checksum_with_params(*CRC64, data).to_le_bytes()),
        VerifyMethod::Crc32 => Sum::of(&(checksum_with_params(*CRC32, data) as u32).to_le_bytes()),
        // fio leaves out the inversion at the end.
        VerifyMethod::Crc32c => Sum::of(&(!crc32c(data)).to_le_bytes()),
        VerifyMethod::Crc16 => Sum::of(&(crc(CrcAlgorithm::Crc16Arc, data) as u16).to_le_bytes()),
        VerifyMethod::Crc7 => Sum::of(&[data.iter().fold(0, |crc, byte| CRC7[usize::from(crc ^ byte)]) >> 1]),
        VerifyMethod::Sha1 => sha1(data),
        VerifyMethod::Sha256 => Sum::of(&Sha256::digest(data)),
        VerifyMethod::Sha512 => Sum::of(&Sha512::digest(data)),
        VerifyMethod::Sha3_224 => Sum::of(&Sha3_224::digest(data)),
        VerifyMethod::Sha3_256 => Sum::of(&Sha3_256::digest(data)),
        VerifyMethod::Sha3_384 => Sum::of(&Sha3_384::digest(data)),
        VerifyMethod::Sha3_512 => Sum::of(&Sha3_512::digest(data)),
        VerifyMethod::Xxhash => Sum::of(&xxhash_rust::xxh32::xxh32(data, XXHASH_SEED).to_le_bytes()),
        VerifyMethod::None
        | VerifyMethod::Meta
        | VerifyMethod::Pattern
        | VerifyMethod::PatternHeader
        | VerifyMethod::Null => Sum::of(&[]),
    }
}

/// The seed that fio gives XXH32.
const XXHASH_SEED: u32 = 1;

/// CRC-32C as everywhere (iSCSI).
pub(super) fn crc32c(data: &[u8]) -> u32 {
    crc(CrcAlgorithm::Crc32Iscsi, data) as u32
}

/// SHA-1 as five little-endian words, which is how fio stores it.
fn sha1(data: &[u8]) -> Sum {
    let mut words = Sha1::digest(data);
    words.as_mut_slice().chunks_exact_mut(4).for_each(<[u8]>::reverse);
    Sum::of(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the standards for "123456789" or "abc", in the order of their bytes here.
    #[test]
    fn sums_are_those_of_the_standards() {
        let digits: &[u8] = b"123456789";
        let cases: [(VerifyMethod, &[u8], &str); 12] = [
            (VerifyMethod::Md5, b"abc", "900150983cd24fb0d6963f7d28e17f72"),
            (VerifyMethod::Crc64, digits, "cad9b8c414d9c6e9"),
            (VerifyMethod::Crc32, digits, "7f89a189"),
            (VerifyMethod::Crc32c, digits, "7c6df91c"),
            (VerifyMethod::Crc16, digits, "3dbb"),
            (VerifyMethod::Crc7, digits, "75"),
            (VerifyMethod::Sha1, b"abc", "363e99a96a81064771253eba6cc250789dd8d09c"),
            (VerifyMethod::Sha256, b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                VerifyMethod::Sha512,
                b"abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (VerifyMethod::Sha3_224, b"abc", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
            (VerifyMethod::Sha3_256, b"abc", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
            (VerifyMethod::Meta, b"abc", ""),
        ];
        for (method, data, expected) in cases {
            assert_eq!(sum(method, data).to_string(), expected.replace(char::is_whitespace, ""), "{method:?}");
            assert_eq!(sum(method, data).bytes().len(), method.sum_bytes(), "{method:?}");
        }
    }
}
