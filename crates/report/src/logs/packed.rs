//! Compressed logs (`.log.fz`): zlib streams one after the other, of records as fio 3.33 keeps them. Found by looking
//! at what it writes: time in milliseconds, value, direction with flags, priority, length, and where the flag says so
//! the offset; little-endian, 32 or 40 bytes.

use std::io::{self, Read, Write};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use thiserror::Error;

use super::{Entry, LogStyle};

/// In the word of the direction: the record has an offset.
const HAS_OFFSET: u32 = 1 << 31;
/// In the word of the direction: the whole priority is to be shown.
const SHOWS_PRIORITY: u32 = 1 << 30;
const SHORT_BYTES: usize = 32;
const LONG_BYTES: usize = 40;
/// How hard to compress: 1 to 9.
const LEVEL: u8 = 6;
/// Bytes read and written at once.
const BLOCK: usize = 64 << 10;

/// Gathers records and compresses them piece by piece.
#[derive(Debug)]
pub struct Packer {
    piece_bytes: usize,
    records: Vec<u8>,
    written: bool,
}

impl Packer {
    /// One that compresses so many bytes of records together.
    pub fn new(piece_bytes: usize) -> Packer {
        Packer { piece_bytes: piece_bytes.max(LONG_BYTES), records: Vec::new(), written: false }
    }

    /// Takes an entry; gives a stream when there is enough for one.
    pub fn add(&mut self, entry: &Entry, style: &LogStyle) -> Option<Vec<u8>> {
        let value = if style.largest && !style.mean { entry.largest } else { entry.value };
        let flags = if style.offset { HAS_OFFSET } else { 0 } | if style.prio { SHOWS_PRIORITY } else { 0 };
        self.records.extend((entry.time_ms + style.base_ms).to_le_bytes());
        self.records.extend(value.to_le_bytes());
        self.records.extend((u32::from(entry.direction) | flags).to_le_bytes());
        self.records.extend(u32::from(entry.priority(style)).to_le_bytes());
        self.records.extend(entry.bytes.to_le_bytes());
        if style.offset {
            self.records.extend(entry.offset.to_le_bytes());
        }
        let full = self.records.len() + LONG_BYTES > self.piece_bytes;
        full.then(|| self.stream())
    }

    /// What is left; an empty stream where there was nothing at all, for an empty file is no compressed log.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        (!self.records.is_empty() || !self.written).then(|| self.stream())
    }

    fn stream(&mut self) -> Vec<u8> {
        let stream = compress_to_vec_zlib(&self.records, LEVEL);
        self.records.clear();
        self.written = true;
        stream
    }
}

/// Why a compressed log cannot be read.
#[derive(Debug, Error)]
pub enum UnpackError {
    /// Reading it, or writing its lines, failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No compressed log, or one that was damaged.
    #[error("this is no compressed log, or it is damaged ({0} lines could be read)")]
    Damaged(u64),
    /// The end is missing.
    #[error("the end of this log is missing ({0} lines could be read)")]
    CutShort(u64),
    /// There is nothing in it.
    #[error("this file is empty, and no compressed log")]
    Empty,
}

/// Writes the lines of a compressed log. Memory stays the same whatever its length.
///
/// # Errors
///
/// Those of the reader and the writer; a file that is no whole log. The lines before the fault are written.
pub fn unpack(input: &mut dyn Read, output: &mut dyn Write) -> Result<(), UnpackError> {
    let mut packed = vec![0; BLOCK];
    let mut plain = vec![0; BLOCK];
    let mut state = InflateState::new_boxed(DataFormat::Zlib);
    let mut lines = Lines { rest: Vec::new(), count: 0, output };
    let (mut empty, mut within) = (true, false);
    loop {
        let filled = input.read(&mut packed)?;
        if filled == 0 {
            let whole = !within && lines.rest.is_empty();
            return if empty {
                Err(UnpackError::Empty)
            } else if whole {
                Ok(())
            } else {
                Err(UnpackError::CutShort(lines.count))
            };
        }
        empty = false;
        let mut left = &packed[..filled];
        // Output may be held back though all input is taken.
        let mut more = true;
        while !left.is_empty() || (within && more) {
            let step = inflate(&mut state, left, &mut plain, MZFlush::None);
            left = &left[step.bytes_consumed..];
            more = step.bytes_written == plain.len();
            within = true;
            lines.take(&plain[..step.bytes_written])?;
            match step.status {
                Ok(MZStatus::StreamEnd) => {
                    within = false;
                    state.reset(DataFormat::Zlib);
                }
                Ok(_) | Err(MZError::Buf) => {}
                Err(_) => return Err(UnpackError::Damaged(lines.count)),
            }
        }
    }
}

/// Records on their way to lines; one may begin in one block and end in the next.
struct Lines<'a> {
    rest: Vec<u8>,
    count: u64,
    output: &'a mut dyn Write,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.rest.extend(bytes);
        let mut at = 0;
        let mut text = String::new();
        while let Some((entry, style, bytes)) = record(&self.rest[at..]) {
            text.push_str(&entry.line(&style));
            self.count += 1;
            at += bytes;
        }
        self.rest.drain(..at);
        self.output.write_all(text.as_bytes())
    }
}

/// The first record, how it is shown, and its length; `None` where its end is missing.
fn record(bytes: &[u8]) -> Option<(Entry, LogStyle, usize)> {
    let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let half = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let flags = half(16)?;
    let (offset, prio) = (flags & HAS_OFFSET != 0, flags & SHOWS_PRIORITY != 0);
    let value = word(8)?;
    let entry = Entry {
        time_ms: word(0)?,
        value,
        largest: value,
        direction: flags as u8,
        bytes: word(24)?,
        offset: if offset { word(32)? } else { 0 },
        issued_ns: 0,
        priority: 0,
    };
    let style = LogStyle { offset, prio, priority: half(20)? as u16, mean: true, ..LogStyle::default() };
    Some((entry, style, if offset { LONG_BYTES } else { SHORT_BYTES }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> Entry {
        Entry {
            time_ms: number,
            value: number * 7,
            largest: number * 9,
            direction: (number % 3) as u8,
            bytes: 4096,
            offset: number << 12,
            issued_ns: 0,
            priority: 0,
        }
    }

    fn packed(entries: u64, piece_bytes: usize, style: &LogStyle) -> Vec<u8> {
        let mut packer = Packer::new(piece_bytes);
        let mut bytes: Vec<u8> =
            (0..entries).filter_map(|number| packer.add(&entry(number), style)).flatten().collect();
        bytes.extend(packer.finish().unwrap_or_default());
        bytes
    }

    /// Whatever the pieces and the columns, the lines come back that a plain log would have had.
    #[test]
    fn what_is_unpacked_are_the_lines_of_a_plain_log() {
        let columns = [(false, false), (true, false), (false, true), (true, true)];
        for ((offset, prio), (entries, piece)) in columns.into_iter().zip([(9_000, 1024), (1, 4096), (0, 64), (100, 1)])
        {
            let style = LogStyle { offset, prio, priority: 0x2003, mean: true, base_ms: 5, ..LogStyle::default() };
            let mut lines = Vec::new();
            unpack(&mut packed(entries, piece, &style).as_slice(), &mut lines).unwrap();
            let expected: String = (0..entries).map(|number| entry(number).line(&style)).collect();
            assert_eq!(String::from_utf8(lines).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_whole_log_is_told_apart() {
        let whole = packed(5_000, 1 << 20, &LogStyle::default());
        let read = |bytes: &[u8]| unpack(&mut &*bytes, &mut Vec::new());
        assert!(matches!(read(b""), Err(UnpackError::Empty)));
        assert!(matches!(read(b"no log at all"), Err(UnpackError::Damaged(0))));
        assert!(matches!(read(&whole[..whole.len() / 2]), Err(UnpackError::CutShort(_))));
        assert!(read(&whole).is_ok());
    }
}
