//! What a job checks of its data.

use crate::job::Pattern;

/// `verify=`: what a block carries, and what it is checked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyMethod {
    /// Nothing is checked.
    #[default]
    None,
    /// MD5.
    Md5,
    /// CRC-64 (Jones).
    Crc64,
    /// CRC-32.
    Crc32,
    /// CRC-32C; also `crc32c-intel`.
    Crc32c,
    /// CRC-16 (ARC).
    Crc16,
    /// CRC-7 (as on MMC cards).
    Crc7,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// XXH32.
    Xxhash,
    /// The header only (`meta`, `hdr_only`).
    Meta,
    /// A pattern and no header.
    Pattern,
    /// A header, then a pattern.
    PatternHeader,
    /// Data is read and not looked at.
    Null,
}

impl VerifyMethod {
    /// Whether blocks carry a header.
    pub fn has_header(self) -> bool {
        !matches!(self, VerifyMethod::None | VerifyMethod::Pattern | VerifyMethod::Null)
    }

    /// Whether blocks hold `verify_pattern`.
    pub fn has_pattern(self) -> bool {
        matches!(self, VerifyMethod::Pattern | VerifyMethod::PatternHeader)
    }

    /// Bytes of the checksum that follows the header.
    pub fn sum_bytes(self) -> usize {
        match self {
            VerifyMethod::Md5 => 16,
            VerifyMethod::Crc64 => 8,
            VerifyMethod::Crc32 | VerifyMethod::Crc32c | VerifyMethod::Xxhash => 4,
            VerifyMethod::Crc16 => 2,
            VerifyMethod::Crc7 => 1,
            VerifyMethod::Sha1 => 20,
            VerifyMethod::Sha3_224 => 28,
            VerifyMethod::Sha256 | VerifyMethod::Sha3_256 => 32,
            VerifyMethod::Sha3_384 => 48,
            VerifyMethod::Sha512 | VerifyMethod::Sha3_512 => 64,
            VerifyMethod::None
            | VerifyMethod::Meta
            | VerifyMethod::Pattern
            | VerifyMethod::PatternHeader
            | VerifyMethod::Null => 0,
        }
    }
}

/// `verify_policy=`: which writes of a saved state are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// All that completed.
    #[default]
    Completed,
    /// Those that completed before the last flush began.
    Fsynced,
}

/// The checking of a job's data.
#[derive(Clone, Debug, PartialEq)]
pub struct Verify {
    /// `verify`.
    pub method: VerifyMethod,
    /// `do_verify`: read back after writing.
    pub read_back: bool,
    /// `verify_only`: the writes are not done, only checked.
    pub only: bool,
    /// `verify_policy`.
    pub policy: VerifyPolicy,
    /// `verify_interval`, bytes; the rules fill in what holds when it is not given.
    pub interval_bytes: Option<u64>,
    /// `verify_offset`, bytes.
    pub header_offset_bytes: u64,
    /// `verify_pattern`.
    pub pattern: Option<Pattern>,
    /// `verify_pattern_interval`, bytes; 0: the pattern goes on through the block.
    pub pattern_interval_bytes: u64,
    /// `verify_fatal`.
    pub fatal: bool,
    /// `verify_dump`.
    pub dump: bool,
    /// `verify_async`: threads that check.
    pub threads: u32,
    /// `verify_async_cpus`.
    pub thread_cpus: Vec<u32>,
    /// `verify_backlog`, blocks; 0: only at the end.
    pub backlog: u64,
    /// `verify_backlog_batch`, blocks; 0: as many as the backlog.
    pub backlog_batch: u32,
    /// `trim_percentage`: of a hundred blocks so many are trimmed once they were written.
    pub trim_percent: u32,
    /// `trim_verify_zero`: what was trimmed must read as zeroes.
    pub trimmed_is_zero: bool,
    /// `trim_backlog`, blocks written between two rounds of trims; 0: they are trimmed when all is written.
    pub trim_backlog: u64,
    /// `trim_backlog_batch`, blocks trimmed in a round at most; 0: as many as the backlog.
    pub trim_batch: u32,
    /// `verify_state_save`.
    pub save_state: bool,
    /// `verify_state_load`.
    pub load_state: bool,
    /// `verify_write_sequence`: the number of the write is checked.
    pub check_sequence: bool,
    /// `verify_header_seed`: the seed is checked.
    pub check_seed: bool,
}

impl Default for Verify {
    fn default() -> Self {
        Verify {
            method: VerifyMethod::None,
            read_back: true,
            only: false,
            policy: VerifyPolicy::Completed,
            interval_bytes: None,
            header_offset_bytes: 0,
            pattern: None,
            pattern_interval_bytes: 0,
            fatal: false,
            dump: false,
            threads: 0,
            thread_cpus: Vec::new(),
            backlog: 0,
            backlog_batch: 0,
            trim_percent: 0,
            trimmed_is_zero: true,
            trim_backlog: 0,
            trim_batch: 0,
            save_state: true,
            load_state: false,
            check_sequence: true,
            check_seed: true,
        }
    }
}

impl Verify {
    /// Bytes of the header that stands before the checksum.
    pub const HEADER_BYTES: usize = 48;

    /// Whether anything is checked.
    pub fn on(&self) -> bool {
        self.method != VerifyMethod::None
    }
}

impl std::fmt::Display for VerifyMethod {
    /// The word of `verify=`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            VerifyMethod::None => "0",
            VerifyMethod::Md5 => "md5",
            VerifyMethod::Crc64 => "crc64",
            VerifyMethod::Crc32 => "crc32",
            VerifyMethod::Crc32c => "crc32c",
            VerifyMethod::Crc16 => "crc16",
            VerifyMethod::Crc7 => "crc7",
            VerifyMethod::Sha1 => "sha1",
            VerifyMethod::Sha256 => "sha256",
            VerifyMethod::Sha512 => "sha512",
            VerifyMethod::Sha3_224 => "sha3-224",
            VerifyMethod::Sha3_256 => "sha3-256",
            VerifyMethod::Sha3_384 => "sha3-384",
            VerifyMethod::Sha3_512 => "sha3-512",
            VerifyMethod::Xxhash => "xxhash",
            VerifyMethod::Meta => "meta",
            VerifyMethod::Pattern => "pattern",
            VerifyMethod::PatternHeader => "pattern_hdr",
            VerifyMethod::Null => "null",
        })
    }
}
