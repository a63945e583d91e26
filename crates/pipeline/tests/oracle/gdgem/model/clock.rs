//! Stamps of limited width to a time that does not wrap.
//!
//! Rule `full_time`: the stamps of EFU formats of 2018, sections 4.1 (32 bits) and 4.2 (42 bits), in 64 bits.

/// Extends the stamps of one source by the half-range rule.
///
/// The step from the previous stamp is the shorter way round: up to just below half of the range it is
/// forward, otherwise backward.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedClock {
    /// Width of the raw stamps in bits, below 64.
    bits: u32,
    /// The previous extended value; none before the first stamp.
    last: Option<u64>,
}

impl ExtendedClock {
    /// A clock for raw stamps of `bits` bits that has not seen a stamp yet.
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, last: None }
    }

    /// The extended value of the next raw stamp.
    ///
    /// The first stamp is taken as it is, and so is one that a step back would put below 0.
    pub(crate) fn extend(&mut self, raw: u64) -> u64 {
        let extended = match self.last {
            None => raw,
            Some(last) => self.follow(last, raw),
        };
        self.last = Some(extended);
        extended
    }

    /// The extended value of `raw` after the extended value `last`.
    fn follow(&self, last: u64, raw: u64) -> u64 {
        let range = 1u64 << self.bits;
        let step = raw.wrapping_sub(last) % range;
        if step < range / 2 { last + step } else { last.checked_sub(range - step).unwrap_or(raw) }
    }
}
