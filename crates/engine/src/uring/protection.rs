//! Protection information: eight bytes beside each block, a check of the data (T10 DIF), a tag of the application's and
//! the block's number. With `pi_act=0` they are made and checked here.

/// What is wanted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// The check of the data is looked at.
    pub(super) guard: bool,
    /// The application's tag is looked at.
    pub(super) application_checked: bool,
    /// The block's number is looked at.
    pub(super) reference: bool,
    /// The application's tag, and which of its bits count.
    pub(super) application: u16,
    pub(super) mask: u16,
}

/// Bytes of protection information.
pub(super) const BYTES: usize = 8;

/// Generator polynomial of the check: x^16 + x^15 + x^11 + x^9 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1 (T10 SBC).
const POLYNOMIAL: u16 = 0x8bb7;

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            rest = if rest & 0x8000 == 0 { rest << 1 } else { rest << 1 ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// The check of these bytes, behind those that gave `before`.
fn guard(before: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(before, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

/// Makes the protection information of a block: of its data, and the metadata before it.
pub(super) fn make(tags: &Tags, data: &[u8], before: &[u8], block: u64, place: &mut [u8]) {
    place[..2].copy_from_slice(&guard(guard(0, data), before).to_be_bytes());
    place[2..4].copy_from_slice(&tags.application.to_be_bytes());
    place[4..8].copy_from_slice(&(block as u32).to_be_bytes());
}

/// Whether a block's protection information is right, as far as that is asked.
pub(super) fn holds(tags: &Tags, data: &[u8], before: &[u8], block: u64, place: &[u8]) -> bool {
    let half = |at: usize| u16::from_be_bytes([place[at], place[at + 1]]);
    // All ones: the block was never written, and says nothing.
    if half(2) == u16::MAX {
        return true;
    }
    let reference = u32::from_be_bytes([place[4], place[5], place[6], place[7]]);
    (!tags.guard || half(0) == guard(guard(0, data), before))
        && (!tags.application_checked || half(2) & tags.mask == tags.application & tags.mask)
        && (!tags.reference || reference == block as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_that_of_t10() {
        // The check value of CRC-16/T10-DIF in the catalogue of parametrised CRC algorithms.
        assert_eq!(guard(0, b"123456789"), 0xd0db);
        assert_eq!(guard(guard(0, b"1234"), b"56789"), 0xd0db);
    }

    #[test]
    fn what_changed_is_found_where_it_is_asked_for() {
        let tags = Tags { guard: true, application_checked: true, reference: true, application: 0x1234, mask: 0xff00 };
        let (mut data, mut place) = ([7u8; 512], [0; BYTES]);
        make(&tags, &data, &[1, 2], 0x1_0000_0005, &mut place);
        assert!(holds(&tags, &data, &[1, 2], 5, &place), "the lower half of the number counts");
        assert!(!holds(&tags, &data, &[1, 3], 5, &place) && !holds(&tags, &data, &[1, 2], 6, &place));
        assert!(holds(&Tags { application: 0x12ff, ..tags }, &data, &[1, 2], 5, &place), "masked");
        assert!(!holds(&Tags { application: 0x1334, ..tags }, &data, &[1, 2], 5, &place));
        data[9] = 8;
        assert!(!holds(&tags, &data, &[1, 2], 5, &place));
        assert!(holds(&Tags { guard: false, ..tags }, &data, &[1, 2], 5, &place));
        assert!(holds(&tags, &data, &[1, 2], 9, &[0xff; BYTES]), "never written");
    }
}
