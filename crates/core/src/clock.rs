//! Clocks that wrap, extended to 64 bits.

/// Extends a counter of `bits` bits to 64 bits by the half-range rule: a step of less than half the
/// counter's range is a step forward (through the wrap if need be), any other is a step back.
///
/// The first value is taken as it is, so that times stay those of the electronics until the first wrap.
/// A step back below zero stays on the first turn (the raw value is returned).
#[derive(Clone, Copy, Debug)]
pub struct WrappingClock {
    bits: u32,
    last: Option<u64>,
}

impl WrappingClock {
    /// A clock of `bits` bits (1 to 63).
    ///
    /// # Panics
    /// If `bits` is 0 or above 63: the width of a field is known when the program is written.
    pub fn new(bits: u32) -> Self {
        assert!((1..=63).contains(&bits), "a wrapping clock has 1 to 63 bits, not {bits}");
        Self { bits, last: None }
    }

    /// The 64-bit value of `raw`, of which only the low `bits` bits count.
    #[inline]
    pub fn extend(&mut self, raw: u64) -> u64 {
        let mask = (1_u64 << self.bits) - 1;
        let raw = raw & mask;
        let extended = match self.last {
            None => raw,
            Some(last) => {
                let forward = raw.wrapping_sub(last) & mask;
                if forward <= mask >> 1 {
                    // Past the last turn that fits 64 bits the clock starts over: 2^(64 - bits) turns on.
                    last.checked_add(forward).unwrap_or(raw)
                } else {
                    let back = (mask - forward) + 1;
                    last.checked_sub(back).unwrap_or(raw)
                }
            }
        };
        self.last = Some(extended);
        extended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wrap_is_a_step_forward_and_a_small_step_back_stays_one() {
        let mut clock = WrappingClock::new(8);
        assert_eq!(clock.extend(250), 250);
        assert_eq!(clock.extend(3), 259);
        assert_eq!(clock.extend(250), 250);
        assert_eq!(clock.extend(0x1_05), 261);
    }

    #[test]
    fn a_step_back_below_zero_stays_on_the_first_turn() {
        let mut clock = WrappingClock::new(8);
        assert_eq!(clock.extend(3), 3);
        assert_eq!(clock.extend(250), 250);
    }

    proptest! {
        #[test]
        fn steps_below_half_the_range_are_followed(bits in 2..=42_u32, start: u32,
                                                   steps in proptest::collection::vec(any::<u64>(), 1..60)) {
            let half = 1_u64 << (bits - 1);
            let mut clock = WrappingClock::new(bits);
            let mut truth = u64::from(start) & (2 * half - 1);
            prop_assert_eq!(clock.extend(truth), truth);
            for step in steps {
                truth += step % half;
                prop_assert_eq!(clock.extend(truth), truth);
            }
        }
    }
}
