//! Records of the kernel's block traces: `struct blk_io_trace` of its `linux/blktrace_api.h`.

use std::io::{self, Read, Write};

use iostrata_engine::Op;
use iostrata_os::file::DeviceNumber;

/// `BLK_IO_TRACE_MAGIC` with `BLK_IO_TRACE_VERSION`.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Size of a record without what follows it.
const RECORD_BYTES: usize = 48;
const SECTOR_BYTES: u64 = 512;

/// Bits of the category, in the upper half of the action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASS_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// The lower half of the action when a request enters the queue.
const QUEUED: u32 = 1;

/// One record, with the bytes that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    bytes: [u8; RECORD_BYTES],
    tail: Vec<u8>,
    /// It comes from a machine whose numbers run the other way.
    swapped: bool,
}

/// Whether a file that begins so is a block trace.
pub(super) fn is_trace(head: [u8; 4]) -> bool {
    let magic = u32::from_ne_bytes(head);
    [magic, magic.swap_bytes()].iter().any(|magic| magic & 0xffff_ff00 == MAGIC)
}

/// How reading a record ended.
#[derive(Debug)]
pub(super) enum Reading {
    /// With a record.
    Record(Record),
    /// At the end, which may be within a record: a trace whose writer was ended.
    End,
    /// Something else is there.
    NoRecord,
    /// In another version of the format.
    OtherVersion(u32),
}

impl Record {
    pub(super) fn read(input: &mut impl Read) -> io::Result<Reading> {
        let mut record = Record { bytes: [0; RECORD_BYTES], tail: Vec::new(), swapped: false };
        if !filled(input, &mut record.bytes)? {
            return Ok(Reading::End);
        }
        record.swapped = record.word(0).swap_bytes() & 0xffff_ff00 == MAGIC;
        let magic = record.word(0);
        if magic & 0xffff_ff00 != MAGIC {
            return Ok(Reading::NoRecord);
        }
        if magic & 0xff != VERSION {
            return Ok(Reading::OtherVersion(magic & 0xff));
        }
        record.tail.resize(usize::from(record.half(46)), 0);
        let whole = filled(input, &mut record.tail)?;
        Ok(if whole { Reading::Record(record) } else { Reading::End })
    }

    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        output.write_all(&self.bytes)?;
        output.write_all(&self.tail)
    }

    fn half(&self, at: usize) -> u16 {
        let number = u16::from_ne_bytes([self.bytes[at], self.bytes[at + 1]]);
        if self.swapped { number.swap_bytes() } else { number }
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = &self.bytes;
        let number = u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.swapped { number.swap_bytes() } else { number }
    }

    fn long(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.word(at)), u64::from(self.word(at + 4)));
        let first_is_high = cfg!(target_endian = "big") != self.swapped;
        if first_is_high { first << 32 | second } else { second << 32 | first }
    }

    /// When, nanoseconds.
    pub(super) fn at_ns(&self) -> u64 {
        self.long(8)
    }

    /// Gives it another time.
    pub(super) fn set_at_ns(&mut self, at_ns: u64) {
        let at_ns = if self.swapped { at_ns.swap_bytes() } else { at_ns };
        self.bytes[8..16].copy_from_slice(&at_ns.to_ne_bytes());
    }

    /// Byte offset on the device.
    pub(super) fn offset(&self) -> u64 {
        self.long(16).saturating_mul(SECTOR_BYTES)
    }

    /// Length.
    pub(super) fn bytes(&self) -> u32 {
        self.word(24)
    }

    /// The device.
    pub(super) fn device(&self) -> DeviceNumber {
        let number = self.word(36);
        DeviceNumber { major: number >> 20, minor: number & 0xf_ffff }
    }

    fn category(&self) -> u32 {
        self.word(28) >> 16
    }

    /// A message to whoever reads the trace; no event of a device.
    pub(super) fn is_message(&self) -> bool {
        self.category() & NOTIFY != 0
    }

    /// What the system was asked to do; `None` for other events, such as the request's completion.
    pub(super) fn request(&self) -> Option<Op> {
        let category = self.category();
        if self.word(28) & 0xffff != QUEUED || category & (NOTIFY | PASS_THROUGH) != 0 {
            return None;
        }
        match self.bytes() {
            0 => (category & FLUSH != 0).then_some(Op::Sync),
            _ if category & DISCARD != 0 => Some(Op::Trim),
            _ if category & WRITE != 0 => Some(Op::Write),
            _ => Some(Op::Read),
        }
    }
}

/// Fills the buffer; false if the input ends before.
pub(super) fn filled(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const QUEUE: u32 = 1 << 4;
    const READ: u32 = 1;

    /// A record as a machine of either kind writes it.
    pub(in super::super) fn record(at_ns: u64, sector: u64, len: u32, category: u32, big: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut word = |number: u32| bytes.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
        let halves = |number: u64| {
            let (high, low) = ((number >> 32) as u32, number as u32);
            if big { [high, low] } else { [low, high] }
        };
        word(MAGIC | VERSION);
        word(1);
        halves(at_ns).into_iter().chain(halves(sector)).for_each(&mut word);
        let tail: [u8; 3] = *b"abc";
        let (cpu, device) = (1, 7 << 20 | 3);
        [len, (QUEUE | category) << 16 | QUEUED, 4711, device, cpu].into_iter().for_each(&mut word);
        word(if big { 3 } else { 3 << 16 });
        bytes.extend(tail);
        bytes
    }

    #[test]
    fn a_record_is_read_whichever_way_its_numbers_run() {
        for big in [false, true] {
            let bytes = record(5_000_000_000_000, 10_000_000_000, 4096, WRITE, big);
            assert!(is_trace([bytes[0], bytes[1], bytes[2], bytes[3]]));
            let Ok(Reading::Record(mut record)) = Record::read(&mut &bytes[..]) else { panic!("no record") };
            assert_eq!((record.at_ns(), record.offset(), record.bytes()), (5_000_000_000_000, 5_120_000_000_000, 4096));
            assert_eq!(record.device(), DeviceNumber { major: 7, minor: 3 });
            assert_eq!(record.request(), Some(Op::Write));
            record.set_at_ns(1 << 40 | 7);
            assert_eq!(record.at_ns(), 1 << 40 | 7);
            let mut written = Vec::new();
            record.write(&mut written).unwrap();
            assert_eq!((written.len(), &written[48..]), (51, &b"abc"[..]));
        }
    }

    #[test]
    fn only_requests_that_enter_the_queue_are_replayed() {
        let op = |len, category| match Record::read(&mut &record(0, 0, len, category, false)[..]) {
            Ok(Reading::Record(record)) => record.request(),
            _ => panic!("no record"),
        };
        assert_eq!(op(512, READ), Some(Op::Read));
        assert_eq!(op(512, WRITE | DISCARD), Some(Op::Trim));
        assert_eq!(op(0, WRITE | FLUSH), Some(Op::Sync));
        assert_eq!(op(512, WRITE | FLUSH), Some(Op::Write));
        assert_eq!(op(0, NOTIFY), None);
        assert_eq!(op(512, READ | PASS_THROUGH), None);
    }

    #[test]
    fn a_trace_that_was_cut_off_ends_there_and_another_format_is_known() {
        let bytes = record(0, 0, 512, READ, false);
        for cut in [0, 20, 48, 50] {
            assert!(matches!(Record::read(&mut &bytes[..cut]), Ok(Reading::End)), "{cut}");
        }
        assert!(matches!(Record::read(&mut &[7_u8; 60][..]), Ok(Reading::NoRecord)));
        let mut newer = bytes;
        newer[0] = 8;
        assert!(matches!(Record::read(&mut &newer[..]), Ok(Reading::OtherVersion(8))));
    }
}
