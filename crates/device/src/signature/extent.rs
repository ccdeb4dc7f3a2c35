//! Reading a few bytes here and there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Something with bytes that can be read at any place.
pub trait Medium {
    /// How many bytes there are.
    fn size_bytes(&self) -> u64;
    /// Fills `buffer` from `at`.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl Medium for [u8] {
    fn size_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An open device or image of known size.
pub(crate) struct FileMedium {
    pub(crate) file: File,
    pub(crate) size_bytes: u64,
}

impl Medium for FileMedium {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }
}

/// A stretch of a medium. What lies outside reads as `None`.
pub(crate) struct Extent<'a> {
    medium: &'a dyn Medium,
    start: u64,
    pub(crate) len: u64,
}

impl<'a> Extent<'a> {
    pub(crate) fn whole(medium: &'a dyn Medium) -> Self {
        Self { medium, start: 0, len: medium.size_bytes() }
    }

    /// A stretch of this one, cut at its end.
    pub(crate) fn part(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len);
        Self { medium: self.medium, start: self.start + start, len: len.min(self.len - start) }
    }

    pub(crate) fn bytes<const N: usize>(&self, at: u64) -> io::Result<Option<[u8; N]>> {
        let mut buffer = [0; N];
        Ok(self.fill(at, &mut buffer)?.then_some(buffer))
    }

    pub(crate) fn vec(&self, at: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; len];
        Ok(self.fill(at, &mut buffer)?.then_some(buffer))
    }

    fn fill(&self, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
        let inside = at.checked_add(buffer.len() as u64).is_some_and(|end| end <= self.len);
        if inside {
            self.medium.read_at(self.start + at, buffer)?;
        }
        Ok(inside)
    }
}

/// The little-endian number at `at` of `bytes`; the caller has checked the length.
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

/// Like [`le32`], 64 bits.
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

/// `N` bytes at `at`; zeros where `bytes` ends early.
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    let from = bytes.get(at..).unwrap_or_default();
    let n = from.len().min(N);
    out[..n].copy_from_slice(&from[..n]);
    out
}

/// Sixteen raw bytes as `8-4-4-4-12` hex digits; `None` if all are zero.
pub(crate) fn uuid(bytes: [u8; 16]) -> Option<String> {
    if bytes == [0; 16] {
        return None;
    }
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// Like [`uuid`] for the mixed byte order of GUIDs: the first three fields are little-endian.
pub(crate) fn guid(mut bytes: [u8; 16]) -> Option<String> {
    bytes[0..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    uuid(bytes)
}

/// A label: up to the first NUL, without blanks at the end; `None` if nothing is left. Control characters become `?`.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    printable(&String::from_utf8_lossy(&bytes[..end]))
}

/// Like [`text`] for little-endian UTF-16.
pub(crate) fn text_utf16(bytes: &[u8]) -> Option<String> {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let units: Vec<u16> = units.take_while(|&unit| unit != 0).collect();
    printable(&String::from_utf16_lossy(&units))
}

fn printable(text: &str) -> Option<String> {
    let text: String = text.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    (!text.is_empty()).then_some(text)
}
