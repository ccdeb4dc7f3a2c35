//! Commands to a SCSI disk, as bytes (SBC-4), and what its answers mean.

use iostrata_spec::{ScsiOptions, ScsiWrite};

use crate::api::Op;

/// "Force unit access" of a read or write.
const FUA: u8 = 0x08;
/// A block with which all are written does not come with the command.
const NO_DATA_OUT: u8 = 0x01;

/// Bytes that a disk has, and those of one of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u32,
}

/// Where the data of a command go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    None,
    /// So many bytes to the memory.
    In(u32),
    /// So many bytes to the disk.
    Out(u32),
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    bytes: [u8; 16],
    len: usize,
    pub(crate) data: Data,
}

impl Command {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn ten(code: u8, flags: u8, first: u32, count: u16, data: Data) -> Command {
        let mut bytes = [0; 16];
        (bytes[0], bytes[1]) = (code, flags);
        bytes[2..6].copy_from_slice(&first.to_be_bytes());
        bytes[7..9].copy_from_slice(&count.to_be_bytes());
        Command { bytes, len: 10, data }
    }

    fn sixteen(code: u8, flags: u8, first: u64, count: u32, data: Data) -> Command {
        let mut bytes = [0; 16];
        (bytes[0], bytes[1]) = (code, flags);
        bytes[2..10].copy_from_slice(&first.to_be_bytes());
        bytes[10..14].copy_from_slice(&count.to_be_bytes());
        Command { bytes, len: 16, data }
    }

    /// The short form where place and length have room in it, as in fio.
    fn blocks(codes: [u8; 2], flags: u8, first: u64, count: u32, data: Data) -> Command {
        match (u32::try_from(first), u16::try_from(count)) {
            (Ok(first), Ok(count)) => Command::ten(codes[0], flags, first, count, data),
            _ => Command::sixteen(codes[1], flags, first, count, data),
        }
    }

    /// `READ CAPACITY(16)`; its answer is 32 bytes.
    pub(crate) fn capacity() -> Command {
        Command::sixteen(0x9e, 0x10, 0, 32, Data::In(32))
    }

    /// `SYNCHRONIZE CACHE(10)` of the whole disk.
    pub(crate) fn flush() -> Command {
        Command::ten(0x35, 0, 0, 0, Data::None)
    }

    /// `UNMAP` of what [`unmap_list`] says.
    pub(crate) fn unmap() -> Command {
        Command::ten(0x42, 0, 0, UNMAP_BYTES as u16, Data::Out(UNMAP_BYTES as u32))
    }

    /// A read or write of `count` blocks from `first` on.
    pub(crate) fn transfer(op: Op, options: &ScsiOptions, first: u64, count: u32, block_bytes: u32) -> Command {
        let all = count * block_bytes;
        let write_flags = if options.write_fua { FUA } else { 0 };
        if op == Op::Read {
            let flags = if options.read_fua { FUA } else { 0 };
            return Command::blocks([0x28, 0x88], flags, first, count, Data::In(all));
        }
        match options.write {
            ScsiWrite::Write => Command::blocks([0x2a, 0x8a], write_flags, first, count, Data::Out(all)),
            ScsiWrite::WriteAndVerify => Command::blocks([0x2e, 0x8e], 0, first, count, Data::Out(all)),
            ScsiWrite::Same => Command::blocks([0x41, 0x93], 0, first, count, Data::Out(block_bytes)),
            ScsiWrite::SameNoData => Command::sixteen(0x93, NO_DATA_OUT, first, count, Data::None),
            ScsiWrite::VerifyMedium => Command::blocks([0x2f, 0x8f], 0, first, count, Data::None),
            ScsiWrite::VerifyData => Command::blocks([0x2f, 0x8f], 0x02, first, count, Data::Out(all)),
            ScsiWrite::VerifyBlock => Command::blocks([0x2f, 0x8f], 0x06, first, count, Data::Out(block_bytes)),
            ScsiWrite::Stream => {
                // The stream and the length share what is the length elsewhere.
                let stream_and_count = u32::from(options.stream) << 16 | (count & 0xffff);
                Command::sixteen(0x9a, write_flags, first, stream_and_count, Data::Out(all))
            }
        }
    }
}

/// Bytes of the list of an `UNMAP` of one range.
pub(crate) const UNMAP_BYTES: usize = 24;

/// The list of an `UNMAP` of one range.
pub(crate) fn unmap_list(first: u64, count: u32) -> [u8; UNMAP_BYTES] {
    let mut list = [0; UNMAP_BYTES];
    // What follows this field, and what follows the head.
    list[..2].copy_from_slice(&(UNMAP_BYTES as u16 - 2).to_be_bytes());
    list[2..4].copy_from_slice(&(UNMAP_BYTES as u16 - 8).to_be_bytes());
    list[8..16].copy_from_slice(&first.to_be_bytes());
    list[16..20].copy_from_slice(&count.to_be_bytes());
    list
}

/// What `READ CAPACITY(16)` answered.
pub(crate) fn capacity(answer: &[u8; 32]) -> Capacity {
    let last = u64::from_be_bytes(answer[..8].try_into().expect("eight bytes"));
    let block_bytes = u32::from_be_bytes(answer[8..12].try_into().expect("four bytes"));
    Capacity { blocks: last.saturating_add(1), block_bytes }
}

/// What a disk says of a command that it did not carry out: key, and additional code.
pub(crate) fn sense(bytes: &[u8]) -> Option<(u8, u8)> {
    match bytes.first()? & 0x7f {
        0x70 | 0x71 => Some((bytes.get(2)? & 0x0f, *bytes.get(12)?)),
        0x72 | 0x73 => Some((bytes.get(1)? & 0x0f, *bytes.get(2)?)),
        _ => None,
    }
}

/// The errno for it.
pub(crate) fn errno(sense: Option<(u8, u8)>) -> i32 {
    match sense {
        // Illegal request: a command that it does not know, a place behind its end, anything else.
        Some((0x05, 0x20)) => libc::EOPNOTSUPP,
        Some((0x05, 0x21)) => libc::ENXIO,
        Some((0x05, _)) => libc::EINVAL,
        Some((0x07, _)) => libc::EROFS,
        Some((0x0e, _)) => libc::EILSEQ,
        _ => libc::EIO,
    }
}

/// Whether the disk only says that something has happened to it since: the command may be sent again.
pub(crate) fn is_attention(sense: Option<(u8, u8)>) -> bool {
    matches!(sense, Some((0x06, _)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(write: ScsiWrite) -> ScsiOptions {
        ScsiOptions { write, ..ScsiOptions::default() }
    }

    #[test]
    fn each_command_has_its_bytes() {
        let plain = options(ScsiWrite::Write);
        let fua = ScsiOptions { read_fua: true, write_fua: true, ..plain.clone() };
        // As `strace` shows them of fio 3.33, but for the length of the short ones.
        let cases = [
            (Op::Read, plain.clone(), "28 00 00 00 00 10 00 00 10 00", Data::In(8192)),
            (Op::Read, fua.clone(), "28 08 00 00 00 10 00 00 10 00", Data::In(8192)),
            (Op::Write, plain, "2a 00 00 00 00 10 00 00 10 00", Data::Out(8192)),
            (Op::Write, fua, "2a 08 00 00 00 10 00 00 10 00", Data::Out(8192)),
            (Op::Write, options(ScsiWrite::WriteAndVerify), "2e 00 00 00 00 10 00 00 10 00", Data::Out(8192)),
            (Op::Write, options(ScsiWrite::Same), "41 00 00 00 00 10 00 00 10 00", Data::Out(512)),
            (Op::Write, options(ScsiWrite::SameNoData), "93 01 00 00 00 00 00 00 00 10 00 00 00 10 00 00", Data::None),
            (Op::Write, options(ScsiWrite::VerifyMedium), "2f 00 00 00 00 10 00 00 10 00", Data::None),
            (Op::Write, options(ScsiWrite::VerifyData), "2f 02 00 00 00 10 00 00 10 00", Data::Out(8192)),
            (Op::Write, options(ScsiWrite::VerifyBlock), "2f 06 00 00 00 10 00 00 10 00", Data::Out(512)),
            (
                Op::Write,
                ScsiOptions { stream: 0x0203, ..options(ScsiWrite::Stream) },
                "9a 00 00 00 00 00 00 00 00 10 02 03 00 10 00 00",
                Data::Out(8192),
            ),
        ];
        for (op, options, bytes, data) in cases {
            let command = Command::transfer(op, &options, 16, 16, 512);
            let shown: Vec<String> = command.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((shown.join(" ").as_str(), command.data), (bytes, data), "{options:?}");
        }
    }

    #[test]
    fn places_and_lengths_beyond_the_short_form_take_the_long_one() {
        let command = |first, count| Command::transfer(Op::Read, &ScsiOptions::default(), first, count, 512);
        assert_eq!(command(u64::from(u32::MAX), 0xffff).bytes().len(), 10);
        let far = command(1 << 32, 1);
        assert_eq!(far.bytes(), [0x88, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(command(0, 0x10000).bytes(), [0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn lists_answers_and_sense_are_read_and_written() {
        let list = unmap_list(0x0102_0304_0506_0708, 0x090a_0b0c);
        assert_eq!(list[..8], [0, 22, 0, 16, 0, 0, 0, 0]);
        assert_eq!(list[8..20], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(Command::unmap().bytes(), [0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0]);
        assert_eq!(Command::flush().bytes()[0], 0x35);
        let mut answer = [0; 32];
        (answer[5], answer[6], answer[7], answer[10]) = (1, 0xff, 0xff, 2);
        assert_eq!(capacity(&answer), Capacity { blocks: 0x2_0000, block_bytes: 512 });
        let mut fixed = [0; 18];
        (fixed[0], fixed[2], fixed[12]) = (0x70, 0x05, 0x20);
        assert_eq!((sense(&fixed), errno(sense(&fixed))), (Some((5, 0x20)), libc::EOPNOTSUPP));
        let descriptor = [0x72, 0x0e, 0x1d, 0, 0, 0, 0, 0];
        assert_eq!((sense(&descriptor), errno(sense(&descriptor))), (Some((0x0e, 0x1d)), libc::EILSEQ));
        assert!(is_attention(sense(&[0x72, 0x06, 0x29])) && !is_attention(sense(&descriptor)));
        assert_eq!((sense(&[]), sense(&[0x70, 0]), sense(&[1, 2, 3])), (None, None, None));
        let errnos = [(5, 0x21), (5, 0x24), (7, 0x27), (3, 0x11)].map(|both| errno(Some(both)));
        assert_eq!(errnos, [libc::ENXIO, libc::EINVAL, libc::EROFS, libc::EIO]);
    }
}
