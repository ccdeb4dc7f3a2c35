//! Patterns in blocks.

use iostrata_spec::job::Pattern;

/// Fills a block that begins at `offset` of its file. The pattern begins anew every `interval_bytes`, with the offset
/// of that place in it; 0: it goes on through the whole block, with the block's offset.
pub(super) fn fill(pattern: &Pattern, block: &mut [u8], offset: u64, interval_bytes: usize) {
    let unit_bytes = if interval_bytes == 0 { block.len().max(1) } else { interval_bytes };
    let mut unit_offset = offset;
    for unit in block.chunks_mut(unit_bytes) {
        fill_unit(pattern, unit, unit_offset);
        unit_offset += unit_bytes as u64;
    }
}

fn fill_unit(pattern: &Pattern, unit: &mut [u8], offset: u64) {
    let period = pattern.bytes.len().min(unit.len());
    unit[..period].copy_from_slice(&pattern.bytes[..period]);
    for &at in &pattern.offsets {
        let value = offset.to_le_bytes();
        let end = (at + Pattern::OFFSET_BYTES).min(period);
        if at < end {
            unit[at..end].copy_from_slice(&value[..end - at]);
        }
    }
    // What is filled doubles until all is.
    let mut filled = period;
    while filled < unit.len() {
        let more = filled.min(unit.len() - filled);
        unit.copy_within(..more, filled);
        filled += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern() -> Pattern {
        let mut bytes = b"abc".to_vec();
        bytes.extend([0; 8]);
        Pattern { bytes, offsets: vec![3] }
    }

    #[test]
    fn the_pattern_repeats_through_the_block_with_the_offset_of_the_block() {
        let mut block = [0xff; 30];
        fill(&pattern(), &mut block, 0x0201, 0);
        let period = b"abc\x01\x02\0\0\0\0\0\0";
        assert_eq!(block[..11], *period);
        assert_eq!(block[11..22], *period);
        assert_eq!(block[22..], period[..8]);
    }

    #[test]
    fn it_begins_anew_at_each_interval_with_the_offset_of_that_place() {
        let mut block = [0xff; 40];
        fill(&pattern(), &mut block, 0x100, 16);
        assert_eq!(block[..16], *b"abc\0\x01\0\0\0\0\0\0abc\0\x01");
        assert_eq!(block[16..32], *b"abc\x10\x01\0\0\0\0\0\0abc\x10\x01");
        assert_eq!(block[32..], *b"abc\x20\x01\0\0\0");
    }

    #[test]
    fn a_block_shorter_than_the_pattern_has_its_beginning() {
        let mut block = [0xff; 5];
        fill(&pattern(), &mut block, 0x0201, 0);
        assert_eq!(block, *b"abc\x01\x02");
    }
}
