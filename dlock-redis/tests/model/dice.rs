//! Chance from a seed: the same seed is the same walk, on every machine and in every release.

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from(mixed >> 32).unwrap_or(0)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(self.word()) / f64::from(u32::MAX)
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// Less than `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word()).unwrap_or(0) % end
    }

    /// Both ends are possible.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::from(self.word()) % (high - low + 1)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
