//! The bytes that are written.

mod shaper;

use iostrata_os::fill::{FillState, fill_random, fill_zero};
use iostrata_spec::job::Buffers;

use self::shaper::Shaper;

/// Pieces that scrambling makes unlike: the smallest unit in which a device looks for equal data.
const PIECE_BYTES: usize = 512;

/// Where in a piece the time is written, two words of 8 bytes.
const TIME_PLACE: usize = 48;

#[derive(Clone, Debug)]
enum Kind {
    /// Zeros, always.
    Zero,
    /// These bytes again and again, from the first in each buffer.
    Pattern(Vec<u8>),
    /// Random data of the start, again and again.
    Fixed,
    /// Random data of the start, with a few words of each piece changed for each write.
    Scramble,
    /// New random data for each write.
    Refill,
    /// Data that compresses or repeats as asked, made at the start.
    ShapedOnce(Box<Shaper>),
    /// Data that compresses or repeats as asked, new for each write.
    Shaped(Box<Shaper>),
}

/// What the contents of buffers depend on beside the options.
#[derive(Clone, Copy, Debug)]
pub struct BufferFacts {
    /// The worker's seed ([`Streams::buffers`](crate::generate::Streams::buffers)).
    pub seed: u64,
    /// A seed that all workers of the run have in common.
    pub common_seed: u64,
    /// The smallest write, bytes: the unit in which data repeats.
    pub block_bytes: u64,
    /// Bytes that the job moves.
    pub job_bytes: u64,
}

/// Makes the contents of one worker's buffers.
#[derive(Clone, Debug)]
pub struct BufferMaker {
    kind: Kind,
    state: FillState,
}

impl BufferMaker {
    /// By the job's options; the same facts give the same data.
    ///
    /// Where options exclude each other fio's order holds: what compresses goes before `buffer_pattern`, which goes
    /// before what repeats, before `zero_buffers`, before `refill_buffers`, before `scramble_buffers`.
    pub fn new(buffers: &Buffers, facts: &BufferFacts) -> Self {
        let shaped = buffers.compress_percent > 0 || buffers.dedupe_percent.is_some();
        let kind = match (&buffers.pattern, buffers) {
            (Some(pattern), b) if b.compress_percent == 0 => Kind::Pattern(pattern.bytes.clone()),
            (_, b) if shaped && b.refill => Kind::Shaped(Box::new(Shaper::new(b, facts))),
            (_, b) if shaped => Kind::ShapedOnce(Box::new(Shaper::new(b, facts))),
            (_, Buffers { zero: true, .. }) => Kind::Zero,
            (_, Buffers { refill: true, .. }) => Kind::Refill,
            (_, Buffers { scramble: true, .. }) => Kind::Scramble,
            _ => Kind::Fixed,
        };
        BufferMaker { kind, state: FillState::new(facts.seed) }
    }

    /// Fills a slot once, before the first I/O.
    pub fn prepare(&mut self, bytes: &mut [u8]) {
        match &mut self.kind {
            Kind::Zero => fill_zero(bytes),
            Kind::Pattern(pattern) => fill_pattern(bytes, pattern),
            Kind::ShapedOnce(shaper) => shaper.fill(bytes),
            Kind::Fixed | Kind::Scramble | Kind::Refill | Kind::Shaped(_) => fill_random(bytes, &mut self.state),
        }
    }

    /// Whether [`BufferMaker::for_write`] does anything; a loop may ask once instead of for each I/O.
    #[inline]
    pub fn needs_work_per_io(&self) -> bool {
        matches!(self.kind, Kind::Scramble | Kind::Refill | Kind::Shaped(_))
    }

    /// Makes the bytes of one write, to `offset` of its file, at `now_ns` of the run's clock.
    #[inline]
    pub fn for_write(&mut self, bytes: &mut [u8], offset: u64, now_ns: u64) {
        match &mut self.kind {
            Kind::Zero | Kind::Fixed | Kind::Pattern(_) | Kind::ShapedOnce(_) => {}
            Kind::Scramble => scramble(bytes, offset, now_ns),
            Kind::Refill => fill_random(bytes, &mut self.state),
            Kind::Shaped(shaper) => shaper.fill(bytes),
        }
    }
}

/// Repeats `pattern` from its first byte; zeroes if it is empty.
fn fill_pattern(bytes: &mut [u8], pattern: &[u8]) {
    if pattern.is_empty() {
        return fill_zero(bytes);
    }
    for piece in bytes.chunks_mut(pattern.len()) {
        piece.copy_from_slice(&pattern[..piece.len()]);
    }
}

/// Stamps each whole piece of 512 bytes: its offset in the file at the begin of one of its eight lines of 64 bytes (the
/// same line in all pieces of a write, picked by time and offset), and seconds and nanoseconds at bytes 48 to 63. So no
/// two pieces of a file are equal, nor two writes of one piece. All words are little-endian.
#[inline]
fn scramble(bytes: &mut [u8], offset: u64, now_ns: u64) {
    let line = ((now_ns ^ (offset / PIECE_BYTES as u64)) & 7) as usize * 64;
    let seconds = (now_ns / 1_000_000_000).to_le_bytes();
    let nanoseconds = (now_ns % 1_000_000_000).to_le_bytes();
    let mut piece_offset = offset;
    // Of a length that is known, so that no place in a piece has to be checked.
    let (pieces, _) = bytes.as_chunks_mut::<PIECE_BYTES>();
    for piece in pieces {
        piece[line..line + 8].copy_from_slice(&piece_offset.to_le_bytes());
        piece[TIME_PLACE..TIME_PLACE + 8].copy_from_slice(&seconds);
        piece[TIME_PLACE + 8..TIME_PLACE + 16].copy_from_slice(&nanoseconds);
        piece_offset = piece_offset.wrapping_add(PIECE_BYTES as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use iostrata_spec::job::Pattern;

    use super::*;

    fn facts(seed: u64) -> BufferFacts {
        BufferFacts { seed, common_seed: 1, block_bytes: 4096, job_bytes: 1 << 20 }
    }

    fn maker(zero: bool, refill: bool, scramble: bool) -> BufferMaker {
        BufferMaker::new(&Buffers { zero, refill, scramble, ..Buffers::default() }, &facts(11))
    }

    /// What `writes` writes of 4 KiB put on the disk, each from the same slot.
    fn written(maker: &mut BufferMaker, writes: &[(u64, u64)]) -> Vec<Vec<u8>> {
        let mut slot = vec![0xaa; 4096];
        maker.prepare(&mut slot);
        let write = |&(offset, now_ns): &(u64, u64)| {
            maker.for_write(&mut slot, offset, now_ns);
            slot.clone()
        };
        writes.iter().map(write).collect()
    }

    fn pieces(writes: &[Vec<u8>]) -> HashSet<&[u8]> {
        writes.iter().flat_map(|bytes| bytes.chunks(512)).collect()
    }

    #[test]
    fn by_default_no_two_pieces_are_equal_nor_two_writes_of_one_piece() {
        let mut maker = maker(false, false, true);
        assert!(maker.needs_work_per_io());
        // 64 places at one moment, then one place at 64 moments.
        let places = (0..64).map(|n| (n * 4096, 5_000_000_123));
        let moments = (0..64).map(|n| (0, 6_999_999_990 + n));
        let writes = written(&mut maker, &places.chain(moments).collect::<Vec<_>>());
        assert_eq!(pieces(&writes).len(), 128 * 8);
    }

    #[test]
    fn scrambling_writes_offset_and_time_and_leaves_the_rest() {
        let mut maker = maker(false, false, true);
        let mut before = vec![0; 1100];
        maker.prepare(&mut before);
        let mut after = before.clone();
        let (offset, now_ns) = (8192 + 1024, 3_000_000_007);
        maker.for_write(&mut after, offset, now_ns);
        for piece in 0..2 {
            let word = |place: usize| {
                let at = piece * 512 + place;
                u64::from_le_bytes(after[at..at + 8].try_into().unwrap())
            };
            assert_eq!((word(48), word(56)), (3, 7));
            assert!((0..8).any(|line| word(line * 64) == offset + piece as u64 * 512));
        }
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!(changed <= 2 * 24, "{changed} bytes changed");
        assert_eq!(before[1024..], after[1024..], "no whole piece at the end");
    }

    #[test]
    fn refill_makes_new_data_each_time_and_the_same_in_the_next_run() {
        let mut first = maker(false, true, true);
        assert!(first.needs_work_per_io());
        let writes = written(&mut first, &[(0, 0); 100]);
        assert_eq!(pieces(&writes).len(), 800);
        assert_eq!(written(&mut maker(false, true, true), &[(0, 0); 100]), writes);
    }

    #[test]
    fn without_scrambling_the_first_data_stays() {
        let mut maker = maker(false, false, false);
        assert!(!maker.needs_work_per_io());
        let writes = written(&mut maker, &[(0, 0), (4096, 1)]);
        assert_eq!(writes[0], writes[1]);
        assert_eq!(pieces(&writes).len(), 8, "random, not a pattern");
    }

    #[test]
    fn zero_buffers_stay_zero_whatever_else_is_asked() {
        let mut maker = maker(true, true, true);
        assert!(!maker.needs_work_per_io());
        assert!(written(&mut maker, &[(4096, 99)]).concat().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn workers_write_different_data() {
        let buffers = Buffers { scramble: false, ..Buffers::default() };
        let mut slots = [[0u8; 512]; 2];
        for (seed, slot) in slots.iter_mut().enumerate() {
            BufferMaker::new(&buffers, &facts(seed as u64)).prepare(slot);
        }
        assert_ne!(slots[0], slots[1]);
    }

    #[test]
    fn a_pattern_begins_anew_in_each_buffer_and_stays() {
        let pattern = Pattern { bytes: b"abc".to_vec(), offsets: Vec::new() };
        let asked = Buffers { pattern: Some(pattern), refill: true, zero: true, ..Buffers::default() };
        let mut maker = BufferMaker::new(&asked, &facts(11));
        assert!(!maker.needs_work_per_io());
        let writes = written(&mut maker, &[(0, 0), (4096, 1)]);
        assert_eq!((&writes[0][..7], &writes[0][4092..]), (&b"abcabca"[..], &b"abca"[..]));
        assert_eq!(writes[0], writes[1]);
    }

    #[test]
    fn what_compresses_without_refill_is_made_once() {
        let asked = Buffers { compress_percent: 50, refill: false, ..Buffers::default() };
        let mut maker = BufferMaker::new(&asked, &facts(11));
        assert!(!maker.needs_work_per_io());
        let writes = written(&mut maker, &[(0, 0), (4096, 1)]);
        assert_eq!(writes[0], writes[1]);
        assert!(writes[0].chunks(512).all(|chunk| chunk[256..] == [0; 256] && chunk[..256] != [0; 256]));
    }
}
