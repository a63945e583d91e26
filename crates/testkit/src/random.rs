//! Numbers that look random, the same for the same seed, and how often a soak draws a moment.

/// Gives numbers (SplitMix64).
#[derive(Debug)]
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// By `EVFORGE_SEED`, or by the clock without it.
    ///
    /// # Panics
    /// If the variable is no number.
    pub fn of_environment() -> Self {
        let by_clock = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            u64::from(now.expect("a clock that is right").subsec_nanos())
        };
        let seed = std::env::var("EVFORGE_SEED").ok().map(|seed| seed.parse().expect("a number"));
        let seed = seed.unwrap_or_else(by_clock);
        Self { seed, state: seed }
    }

    /// By `EVFORGE_SEED`, or by this seed without it.
    ///
    /// # Panics
    /// If the variable is no number.
    pub fn of_environment_or(seed: u64) -> Self {
        let seed = std::env::var("EVFORGE_SEED").map_or(seed, |seed| seed.parse().expect("a number"));
        Self { seed, state: seed }
    }

    /// What they are made from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below this.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How many moments are tried: `EVFORGE_SOAK`, or this many without it.
///
/// # Panics
/// If the variable is no number.
pub fn moments(usual: u64) -> u64 {
    std::env::var("EVFORGE_SOAK").map_or(usual, |moments| moments.parse().expect("a number"))
}
