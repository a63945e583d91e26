//! Time of the ESS readout (ESS readout formats, section 1, "Time arithmetic").

use super::{LARGEST_TICK, TICKS_PER_SECOND};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// A tick is 10^9 / 88 052 500 ns, which is exactly this fraction.
const TICK_NUMERATOR: u64 = 400_000;
const TICK_DENOMINATOR: u64 = 35_221;
const _: () = assert!(NANOSECONDS_PER_SECOND * TICK_DENOMINATOR == TICK_NUMERATOR * TICKS_PER_SECOND as u64);

/// A point in time, as the readout states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EssTime {
    /// Seconds of Unix time.
    pub seconds: u32,
    /// Ticks since then, 0..=88 052 499 in a sound packet.
    pub ticks: u32,
}

impl EssTime {
    /// Ticks of the clock since 1970. Ticks above their range count as what they are.
    #[inline]
    pub fn total_ticks(self) -> u64 {
        EssClock::ESS.total_ticks(self)
    }

    /// A number that grows with the time, whatever the clock.
    #[inline]
    pub fn ordinal(self) -> u64 {
        u64::from(self.seconds) << 32 | u64::from(self.ticks)
    }

    /// Nanoseconds since 1970, cut to whole ones. Exact: the reference computes the same in floating point.
    #[inline]
    pub fn nanoseconds(self) -> u64 {
        u64::from(self.seconds) * NANOSECONDS_PER_SECOND
            + u64::from(self.ticks) * TICK_NUMERATOR / TICK_DENOMINATOR
    }

    /// The time of this many ticks since 1970. None from the year 2106 on, where the seconds do not fit.
    #[inline]
    pub fn from_total_ticks(ticks: u64) -> Option<Self> {
        let per_second = u64::from(TICKS_PER_SECOND);
        let seconds = u32::try_from(ticks / per_second).ok()?;
        Some(Self { seconds, ticks: (ticks % per_second) as u32 })
    }

    /// The time nearest to this many nanoseconds since 1970. None from the year 2106 on.
    #[inline]
    pub fn nearest(nanoseconds: u64) -> Option<Self> {
        let whole = nanoseconds / NANOSECONDS_PER_SECOND;
        let rest = nanoseconds % NANOSECONDS_PER_SECOND;
        // The last nanoseconds of a second round up to the next one.
        let ticks = (2 * rest * TICK_DENOMINATOR + TICK_NUMERATOR) / (2 * TICK_NUMERATOR);
        Self::from_total_ticks(whole * u64::from(TICKS_PER_SECOND) + ticks)
    }
}

/// The clock that time stamps count by: seconds, and ticks since the last full second.
///
/// All boards of the ESS count 88.0525 MHz, which is the default. Laboratory recordings of 2021 to 2024 have ticks up to
/// 88 886 504, of another clock (section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EssClock {
    /// Ticks in a second.
    pub ticks_per_second: u32,
    /// The largest number of ticks that a sound time stamp has.
    pub largest_tick: u32,
}

impl Default for EssClock {
    fn default() -> Self {
        Self::ESS
    }
}

impl EssClock {
    /// The clock of all boards of the ESS.
    pub const ESS: Self = Self { ticks_per_second: TICKS_PER_SECOND, largest_tick: LARGEST_TICK };

    /// Ticks of this clock since 1970. Ticks above their range count as what they are.
    #[inline]
    pub fn total_ticks(self, time: EssTime) -> u64 {
        u64::from(time.seconds) * u64::from(self.ticks_per_second) + u64::from(time.ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_cut_and_found_again() {
        let one = EssTime { seconds: 1, ticks: 1 };
        assert_eq!(one.nanoseconds(), 1_000_000_011);
        let last = EssTime { seconds: 0, ticks: TICKS_PER_SECOND - 1 };
        assert_eq!(last.nanoseconds(), 999_999_988);
        for time in [one, last, EssTime { seconds: u32::MAX, ticks: 35_221 }] {
            assert_eq!(EssTime::nearest(time.nanoseconds()), Some(time));
            assert_eq!(EssTime::from_total_ticks(time.total_ticks()), Some(time));
        }
    }

    /// The reference multiplies by the tick in floating point and cuts. Only where the product is a whole
    /// number, at multiples of the denominator, could that be one less than the exact value.
    #[test]
    fn nanoseconds_are_those_of_the_reference() {
        let tick = 1e9 / f64::from(TICKS_PER_SECOND);
        for ticks in (0..TICKS_PER_SECOND).step_by(TICK_DENOMINATOR as usize) {
            for ticks in ticks..ticks + 2 {
                let expected = (f64::from(ticks) * tick) as u64;
                assert_eq!(EssTime { seconds: 0, ticks }.nanoseconds(), expected);
            }
        }
    }

    #[test]
    fn the_end_of_a_second_is_nearest_to_the_next_one() {
        assert_eq!(EssTime::nearest(999_999_994), Some(EssTime { seconds: 0, ticks: TICKS_PER_SECOND - 1 }));
        assert_eq!(EssTime::nearest(999_999_995), Some(EssTime { seconds: 1, ticks: 0 }));
    }

    #[test]
    fn what_does_not_fit_is_none() {
        let beyond = (u64::from(u32::MAX) + 1) * NANOSECONDS_PER_SECOND;
        assert_eq!(EssTime::nearest(beyond), None);
        assert_eq!(EssTime::nearest(beyond - 1), None);
        assert!(EssTime::nearest(beyond - 10).is_some());
        assert_eq!(EssTime::nearest(u64::MAX), None);
        assert_eq!(EssTime::from_total_ticks(u64::MAX), None);
    }
}
