//! Random numbers that are the same on every machine, bit for bit.
//!
//! The logarithm and exponential of the standard library may differ between platforms and releases in the last bit;
//! those here use only operations that IEEE 754 defines exactly.

/// A SplitMix64 stream (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
    /// The second of a pair of normal deviates.
    spare: Option<f64>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random { state: seed, spare: None }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `bound`; the bias of at most `bound` / 2^64 does not matter here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// From -1 to below 1, in steps of 2^-52.
    fn symmetric(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A standard normal deviate, by Marsaglia's polar method.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.symmetric(), self.symmetric());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * ln(square) / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// A factor whose natural logarithm is normal with mean 0 and standard deviation `sigma`; draws nothing for 0.
    pub(crate) fn log_normal(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 { 1.0 } else { exp(self.normal() * sigma) }
    }
}

/// Natural logarithm of a normal positive number: `e·ln 2 + 2·artanh((m - 1)/(m + 1))`, the mantissa `m` in [1, 2).
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // The ratio is below 1/3, so the terms shrink ninefold: 16 of them reach the last bit.
    let series = (0..16).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * ratio * series
}

/// Exponential: `2^k · e^r`, `r` within half of ln 2. Held between e^-700 and e^700, where a double ends.
fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let power = (x / std::f64::consts::LN_2).round();
    let rest = x - power * std::f64::consts::LN_2;
    // 0.35^14 / 14! is below the last bit.
    let series = (1..=14).rev().fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    series * f64::from_bits(((power as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_exponential_agree_with_the_standard_library() {
        for step in 1..4000 {
            let x = f64::from(step) * 0.013;
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "ln({x})");
            let y = x - 26.0;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-13, "exp({y})");
        }
        assert!(exp(1e9).is_finite() && exp(-1e9) > 0.0);
    }

    #[test]
    fn splitmix_gives_its_published_first_numbers() {
        let mut random = Random::new(1234567);
        assert_eq!([random.next(), random.next()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn the_normal_deviate_has_mean_0_and_deviation_1() {
        let mut random = Random::new(7);
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / count;
        let beyond_two = draws.iter().filter(|draw| draw.abs() > 2.0).count() as f64 / count;
        assert!(mean.abs() < 0.03, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
        assert!((beyond_two - 0.0455).abs() < 0.01, "beyond two deviations {beyond_two}");
    }
}
