//! The unit of time: an eighth of a tick of the ESS clock.
//!
//! Time stamps of the readout are whole ticks of 88.0525 MHz (11.36 ns). The fine time of a VMM is finer; it is
//! kept to an eighth of a tick (1.42 ns). Without a fine time all times are exact. 2^62 of these units are more
//! than the 32 bits of seconds can say, so no time overflows.

use crate::settings::Picoseconds;
use crate::tick::TickLength;
use evforge_wire::ess::{EssClock, EssTime, TICKS_PER_SECOND};

/// Units in a tick.
pub const UNITS_PER_TICK: u64 = 8;

/// Units in a second.
pub const UNITS_PER_SECOND: u64 = TICKS_PER_SECOND as u64 * UNITS_PER_TICK;

/// A tick is 400000 / 35221 ns, a unit an eighth of that.
const NANOSECONDS: u64 = 50_000;
const UNITS: u64 = 35_221;

/// The length of a unit.
pub const UNIT: TickLength = TickLength::ratio(NANOSECONDS, UNITS);

/// The time of a time stamp that counts by this clock: exact with the clock of the ESS, else rounded down to a unit.
#[inline]
pub fn of(time: EssTime, clock: EssClock) -> u64 {
    if clock.ticks_per_second == TICKS_PER_SECOND {
        return time.total_ticks() * UNITS_PER_TICK;
    }
    // 32 bits times 30 bits; a clock has ticks.
    let fraction = u64::from(time.ticks) * UNITS_PER_SECOND / u64::from(clock.ticks_per_second.max(1));
    u64::from(time.seconds) * UNITS_PER_SECOND + fraction
}

/// Whole nanoseconds, rounded down: seconds × 10^9 and, for whole ticks, what the reference makes of the rest.
#[inline]
pub fn nanoseconds(units: u64) -> u64 {
    let (seconds, rest) = (units / UNITS_PER_SECOND, units % UNITS_PER_SECOND);
    seconds * 1_000_000_000 + rest * NANOSECONDS / UNITS
}

/// How many units lie in a duration, rounded down; at least 1 for any duration above zero.
pub fn in_duration(duration: Picoseconds) -> u64 {
    if duration == 0 {
        return 0;
    }
    let exact = u128::from(duration) * u128::from(UNITS) / (u128::from(NANOSECONDS) * 1000);
    u64::try_from(exact).unwrap_or(u64::MAX).max(1)
}

/// A signed span in femtoseconds, rounded to the nearest unit.
pub fn nearest(femtoseconds: i128) -> i64 {
    let unit = i128::from(NANOSECONDS) * 1_000_000;
    let doubled = 2 * femtoseconds * i128::from(UNITS) + unit;
    i64::try_from(doubled.div_euclid(2 * unit)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// ESS readout formats, section 1, "Time arithmetic".
        #[test]
        fn section_1_whole_ticks_are_the_nanoseconds_of_the_time_stamp(seconds: u32, ticks in 0..TICKS_PER_SECOND) {
            let time = EssTime { seconds, ticks };
            prop_assert!(of(time, EssClock::ESS) < 1 << 62);
            prop_assert_eq!(nanoseconds(of(time, EssClock::ESS)), time.nanoseconds());
        }

        /// Section 7: boards with another clock. Rounded down to an eighth of 11.36 ns.
        #[test]
        fn section_7_ticks_of_another_clock_are_fractions_of_a_second(seconds: u32, ticks in 0..=88_886_504_u32) {
            let clock = EssClock { ticks_per_second: 88_888_889, largest_tick: 88_886_504 };
            let exact = f64::from(ticks) / 88_888_889.0 * 1e9;
            let found = nanoseconds(of(EssTime { seconds, ticks }, clock)) - u64::from(seconds) * 1_000_000_000;
            prop_assert!((-2.5..0.001).contains(&(found as f64 - exact)), "{found} for {exact}");
        }
    }

    #[test]
    fn durations_are_whole_units() {
        assert_eq!((in_duration(0), in_duration(1)), (0, 1));
        assert_eq!(in_duration(1_000_000_000_000), UNITS_PER_SECOND);
        assert_eq!(in_duration(500_000), 352);
        // 34.08 ns are 24.007 units, -25.92 ns are -18.26.
        assert_eq!((nearest(34_080_000), nearest(-25_920_000), nearest(0)), (24, -18, 0));
    }
}
