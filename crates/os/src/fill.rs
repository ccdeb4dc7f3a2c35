//! Filling buffers in hot loops.
//!
//! The random fill is xorshift128+ (Vigna, "Further scramblings of Marsaglia's xorshift generators", 2014) in eight
//! independent lanes side by side, so that a vector unit advances them together: bytes that no compressor shortens and
//! no deduplication finds twice. It is no source of secrets.

/// Lanes of the generator; eight 64-bit words are one cache line.
const LANES: usize = 8;
/// Bytes that one step of all lanes gives.
const STEP_BYTES: usize = LANES * 8;

/// Where a random fill stands. The same seed gives the same bytes on every machine.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct FillState {
    first: [u64; LANES],
    second: [u64; LANES],
    /// Set only where the CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl FillState {
    /// A generator whose lanes are seeded from `seed` by SplitMix64, which never gives a lane two zeros.
    pub fn new(seed: u64) -> FillState {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        FillState {
            first: std::array::from_fn(|_| next()),
            second: std::array::from_fn(|_| next()),
            #[cfg(target_arch = "x86_64")]
            avx2: std::arch::is_x86_feature_detected!("avx2"),
        }
    }

    /// Advances all lanes by one and returns what they give.
    #[inline(always)]
    fn step(&mut self) -> [u8; STEP_BYTES] {
        let mut words = [0u64; LANES];
        for (lane, word) in words.iter_mut().enumerate() {
            let (mut x, y) = (self.first[lane], self.second[lane]);
            x ^= x << 23;
            x ^= y ^ (x >> 18) ^ (y >> 5);
            self.first[lane] = y;
            self.second[lane] = x;
            *word = x.wrapping_add(y).to_le();
        }
        let mut bytes = [0u8; STEP_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// Fills `buffer` with the generator's next bytes. A call uses up whole steps of 64 bytes: a buffer is the same
/// whatever the length of the one after it, but not the same in two halves as in one call unless each is a multiple.
pub fn fill_random(buffer: &mut [u8], state: &mut FillState) {
    #[cfg(target_arch = "x86_64")]
    if state.avx2 {
        // SAFETY: the flag is only set where the CPU has AVX2.
        unsafe { fill_avx2(buffer, state) };
        return;
    }
    fill_lanes(buffer, state);
}

/// Fills `buffer` with zeros.
pub fn fill_zero(buffer: &mut [u8]) {
    buffer.fill(0);
}

/// The same code as [`fill_lanes`], compiled for four 64-bit lanes per instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(buffer: &mut [u8], state: &mut FillState) {
    fill_lanes(buffer, state);
}

#[inline(always)]
fn fill_lanes(buffer: &mut [u8], state: &mut FillState) {
    // A copy, so that the lanes can stay in registers.
    let mut lanes = state.clone();
    let mut steps = buffer.chunks_exact_mut(STEP_BYTES);
    for step in &mut steps {
        step.copy_from_slice(&lanes.step());
    }
    let rest = steps.into_remainder();
    if !rest.is_empty() {
        rest.copy_from_slice(&lanes.step()[..rest.len()]);
    }
    *state = lanes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_these_bytes_on_every_machine() {
        let mut bytes = [0u8; 100];
        fill_random(&mut bytes, &mut FillState::new(42));
        // Lane 0 by hand: the first and ninth output of SplitMix64(42), then one step of xorshift128+.
        let (mut x, y) = (0xbdd7_3226_2feb_6e95_u64, FillState::new(42).second[0]);
        x ^= x << 23;
        x ^= y ^ (x >> 18) ^ (y >> 5);
        assert_eq!(bytes[..8], x.wrapping_add(y).to_le_bytes());
    }

    #[test]
    fn the_plain_and_the_vector_path_agree_at_every_length() {
        for len in (0..300).chain([4096, 4097, 131_072]) {
            let (mut fast, mut plain) = (vec![0; len], vec![0; len]);
            let (mut fast_state, mut plain_state) = (FillState::new(7), FillState::new(7));
            for _ in 0..3 {
                fill_random(&mut fast, &mut fast_state);
                fill_lanes(&mut plain, &mut plain_state);
                assert!(fast == plain, "{len} bytes differ");
            }
        }
    }

    #[test]
    fn every_byte_is_used_and_no_block_comes_twice() {
        let mut bytes = vec![0u8; 1 << 20];
        fill_random(&mut bytes, &mut FillState::new(0));
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|&byte| counts[byte as usize] += 1);
        // 4096 expected; 6 standard deviations of a binomial count are 384. The seed is fixed: no luck involved.
        assert!(counts.iter().all(|count| count.abs_diff(4096) < 384), "{counts:?}");
        let blocks: std::collections::HashSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(blocks.len(), 2048);
    }

    #[test]
    fn zero_fill_leaves_nothing() {
        let mut bytes = [9u8; 33];
        fill_zero(&mut bytes);
        assert_eq!(bytes, [0; 33]);
    }
}
