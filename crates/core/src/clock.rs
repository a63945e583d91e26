//! Clocks that wrap, extended to 64 bits.

/// Extends a counter of `bits` bits to 64 bits by the half-range rule: a step of less than half the
/// counter's range is a step forward (through the wrap if need be), any other is a step back.
///
/// The first value is taken as it is, so that times stay those of the electronics until the first wrap.
/// A step back below zero stays on the first turn (the raw value is returned).
///
/// A single wild value must not take the values after it to another turn, as one half the range away could: after a step
/// of more than 1/256 of the range, a value that is as close as that to the one before the step takes it back. So two
/// steps that are both a little less than half the range (by less than 1/512 of it) can be taken for none.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct WrappingClock {
    bits: u32,
    /// The last value, or the one before a large step that no value has confirmed yet.
    last: Option<u64>,
    /// Where the large step went.
    step: Option<u64>,
}

impl WrappingClock {
    /// A clock of `bits` bits (1 to 63).
    ///
    /// # Panics
    /// If `bits` is 0 or above 63: the width of a field is known when the program is written.
    pub fn new(bits: u32) -> Self {
        assert!((1..=63).contains(&bits), "a wrapping clock has 1 to 63 bits, not {bits}");
        Self { bits, last: None, step: None }
    }

    /// The 64-bit value of `raw`, of which only the low `bits` bits count.
    #[inline]
    pub fn extend(&mut self, raw: u64) -> u64 {
        let raw = raw & self.mask();
        let Some(last) = self.last else {
            self.last = Some(raw);
            return raw;
        };
        let (extended, is_near) = self.beside(last, raw);
        if !is_near {
            return self.extend_far(extended, raw);
        }
        self.last = Some(extended);
        self.step = None;
        extended
    }

    /// The value of `raw` after a step from `last` to `extended`, which is a large one.
    #[cold]
    fn extend_far(&mut self, extended: u64, raw: u64) -> u64 {
        let Some(step) = self.step else {
            self.step = Some(extended);
            return extended;
        };
        let (extended, is_near) = self.beside(step, raw);
        (self.last, self.step) = if is_near { (Some(extended), None) } else { (Some(step), Some(extended)) };
        extended
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1_u64 << self.bits) - 1
    }

    /// The value of `raw` that is closest to `last`, and whether it is as close as 1/256 of the range.
    #[inline]
    fn beside(&self, last: u64, raw: u64) -> (u64, bool) {
        let mask = self.mask();
        let forward = raw.wrapping_sub(last) & mask;
        if forward <= mask >> 1 {
            // Past the last turn that fits 64 bits the clock starts over: 2^(64 - bits) turns on.
            (last.checked_add(forward).unwrap_or(raw), forward <= mask >> 8)
        } else {
            let back = (mask - forward) + 1;
            (last.checked_sub(back).unwrap_or(raw), back <= mask >> 8)
        }
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

    #[test]
    fn a_single_wild_value_takes_no_other_along() {
        let start = 5_000_000_000;
        for wild in [1 << 31, (1 << 31) - 7, (1 << 31) + 7, 3 << 29, 1 << 30] {
            let mut clock = WrappingClock::new(32);
            clock.extend(start);
            let before = clock.extend(start + 1);
            clock.extend(start + wild);
            assert_eq!(clock.extend(start + 3), before + 2, "{wild}");
            assert_eq!(clock.extend(start + 4), before + 3, "{wild}");
        }
    }

    proptest! {
        #[test]
        fn steps_below_nearly_half_the_range_are_followed(bits in 2..=42_u32, start: u32,
                                                   steps in proptest::collection::vec(any::<u64>(), 1..60)) {
            let half = 1_u64 << (bits - 1);
            let mut clock = WrappingClock::new(bits);
            let mut truth = u64::from(start) & (2 * half - 1);
            prop_assert_eq!(clock.extend(truth), truth);
            for step in steps {
                truth += step % (half - (half >> 8));
                prop_assert_eq!(clock.extend(truth), truth);
            }
        }
    }
}
