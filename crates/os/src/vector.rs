//! Vector units that a processor may have: the program runs on all, and is fast where there is one.

/// Which vector unit there is; asked once, where a worker begins.
#[derive(Clone, Copy, Debug)]
pub struct VectorUnit {
    /// Set only where the CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl VectorUnit {
    /// That of this processor.
    pub fn detect() -> VectorUnit {
        VectorUnit {
            #[cfg(target_arch = "x86_64")]
            avx2: std::arch::is_x86_feature_detected!("avx2"),
        }
    }

    /// None at all, whatever the processor has.
    pub fn none() -> VectorUnit {
        VectorUnit {
            #[cfg(target_arch = "x86_64")]
            avx2: false,
        }
    }

    /// Whether there is one beyond what every processor of this architecture has.
    #[inline]
    pub fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.avx2;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Runs `work`, compiled for this unit. Only what is inlined into `work` is: loops over arrays of plain integers.
    #[inline]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: the flag is only set where the CPU has AVX2.
            return unsafe { run_avx2(work) };
        }
        work()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_gives_the_same_whatever_runs_it() {
        let work = || (0..64u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7).fold(0, |a, b| a ^ b);
        assert_eq!(VectorUnit::detect().run(work), VectorUnit::none().run(work));
        assert!(!VectorUnit::none().is_wide());
    }
}
