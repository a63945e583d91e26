//! The length of a tick of the electronics' clock, as an exact fraction.

use crate::settings::{Picoseconds, SettingsError};

/// Converts ticks to nanoseconds when an event leaves: the only rounding of a time, always down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct TickLength {
    /// Nanoseconds in `ticks << shift` ticks, in lowest terms.
    nanoseconds: u64,
    /// Odd: 1 for most clocks, which then need no division.
    ticks: u64,
    shift: u32,
}

impl TickLength {
    /// Times stay in ticks.
    pub const RAW: Self = Self { nanoseconds: 1, ticks: 1, shift: 0 };

    /// A tick of this many picoseconds.
    ///
    /// # Errors
    /// Under `key`, if it is zero or longer than 1 ms.
    pub fn of(picoseconds: Picoseconds, key: &str) -> Result<Self, SettingsError> {
        if picoseconds == 0 || picoseconds > 1_000_000_000 {
            let problem = "must lie above 0 and at most at 1ms".into();
            return Err(SettingsError { key: key.into(), problem });
        }
        let divisor = greatest_common_divisor(picoseconds, 1000);
        let ticks = 1000 / divisor;
        let shift = ticks.trailing_zeros();
        Ok(Self { nanoseconds: picoseconds / divisor, ticks: ticks >> shift, shift })
    }

    /// A tick of which `ticks` are `nanoseconds` nanoseconds. Neither may be zero.
    pub const fn ratio(nanoseconds: u64, ticks: u64) -> Self {
        let shift = ticks.trailing_zeros();
        Self { nanoseconds, ticks: ticks >> shift, shift }
    }

    /// The time of `ticks` ticks in nanoseconds.
    #[inline]
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        match ticks.checked_mul(self.nanoseconds) {
            Some(product) if self.ticks == 1 => product >> self.shift,
            Some(product) => (product >> self.shift) / self.ticks,
            None => self.slowly(ticks),
        }
    }

    /// Nanoseconds in a tick, if that is a whole number: conversion is then a multiplication.
    pub fn whole_nanoseconds(self) -> Option<u64> {
        (self.ticks == 1 && self.shift == 0).then_some(self.nanoseconds)
    }

    #[cold]
    fn slowly(self, ticks: u64) -> u64 {
        let exact =
            ((u128::from(ticks) * u128::from(self.nanoseconds)) >> self.shift) / u128::from(self.ticks);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }

    /// How many whole ticks lie in a duration; at least 1 for any duration above zero.
    pub fn ticks_in(self, duration: Picoseconds) -> u64 {
        if duration == 0 {
            return 0;
        }
        let ticks = u128::from(self.ticks) << self.shift;
        let exact = u128::from(duration) * ticks / (u128::from(self.nanoseconds) * 1000);
        u64::try_from(exact).unwrap_or(u64::MAX).max(1)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clock_of_16_megahertz_is_exact() {
        let tick = TickLength::of(62_500, "tick").unwrap();
        assert_eq!(
            [0, 1, 2, 3, 16_000_000].map(|ticks| tick.nanoseconds(ticks)),
            [0, 62, 125, 187, 1_000_000_000]
        );
        assert_eq!((tick.ticks_in(1_000_000), tick.ticks_in(1), TickLength::RAW.nanoseconds(7)), (16, 1, 7));
        assert!(TickLength::of(0, "tick").is_err());
        assert_eq!(tick.whole_nanoseconds(), None);
        assert_eq!(TickLength::of(8_000, "tick").map(TickLength::whole_nanoseconds), Ok(Some(8)));
    }

    proptest! {
        #[test]
        fn nanoseconds_are_rounded_down_whatever_the_numbers(ticks: u64, picoseconds in 1..=1_000_000_000_u64) {
            let exact = u128::from(ticks) * u128::from(picoseconds) / 1000;
            let tick = TickLength::of(picoseconds, "tick").unwrap();
            prop_assert_eq!(u128::from(tick.nanoseconds(ticks)), exact.min(u128::from(u64::MAX)));
        }
    }
}
