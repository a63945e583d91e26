//! Times of samples: ticks of the converter's clock, to nanoseconds when something leaves.

use crate::ess::TimeUnit;
use evforge_core::quantity::Frequency;
use evforge_wire::adc_readout::{FRACTIONS_PER_SECOND, RawTime};

/// Nanoseconds in this many ticks: 10^9 to 44 026 250, in lowest terms.
const NANOSECONDS: u64 = 800_000;
/// Ticks in that many nanoseconds.
const TICKS: u64 = 35_221;

/// A moment in ticks of the converter's clock since the zero of its seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, get_size2::GetSize)]
pub struct SampleTime {
    ticks: u64,
}

impl SampleTime {
    /// This many ticks after the zero of the seconds.
    pub fn of_ticks(ticks: u64) -> Self {
        Self { ticks }
    }

    /// Ticks since the zero of the seconds.
    pub fn ticks(self) -> u64 {
        self.ticks
    }

    /// The moment that the electronics mean.
    pub fn of(time: RawTime) -> Self {
        let seconds = u64::from(time.seconds) * u64::from(FRACTIONS_PER_SECOND);
        Self { ticks: seconds + u64::from(time.fraction) }
    }

    /// This many ticks later.
    pub fn later(self, ticks: u64) -> Self {
        Self { ticks: self.ticks.saturating_add(ticks) }
    }

    /// This many ticks earlier, but not before zero.
    pub fn earlier(self, ticks: u64) -> Self {
        Self { ticks: self.ticks.saturating_sub(ticks) }
    }

    /// Nanoseconds since the zero of the seconds, rounded to the nearest one within a second.
    pub fn nanoseconds(self) -> u64 {
        let (seconds, fraction) =
            (self.ticks / u64::from(FRACTIONS_PER_SECOND), self.ticks % u64::from(FRACTIONS_PER_SECOND));
        seconds.saturating_mul(1_000_000_000).saturating_add((fraction * NANOSECONDS + TICKS / 2) / TICKS)
    }
}

/// How many ticks lie in a duration in picoseconds, rounded down, but at least one.
pub fn ticks_in(picoseconds: u64) -> u64 {
    let ticks = u128::from(picoseconds) * u128::from(TICKS) / (u128::from(NANOSECONDS) * 1000);
    u64::try_from(ticks).unwrap_or(u64::MAX).max(1)
}

/// Ticks in a period of this frequency, rounded down, but at least one.
pub fn ticks_in_period(frequency: Frequency) -> u64 {
    (u64::from(FRACTIONS_PER_SECOND) * 1000 / frequency.millihertz.max(1)).max(1)
}

/// Ticks as the unit of times.
#[derive(Debug, get_size2::GetSize)]
pub enum SampleTicks {}

impl TimeUnit for SampleTicks {
    #[inline]
    fn nanoseconds(ticks: u64) -> u64 {
        SampleTime::of_ticks(ticks).nanoseconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_periods_are_whole_ticks() {
        // A tick is 22.714 ns.
        assert_eq!(
            (ticks_in(0), ticks_in(22_714), ticks_in(22_714 * 2), ticks_in(1_000_000_000_000)),
            (1, 1, 2, 44_026_250)
        );
        let period = |millihertz| ticks_in_period(Frequency { millihertz });
        assert_eq!((period(14_000), period(1000), period(u64::MAX)), (3_144_732, 44_026_250, 1));
    }

    /// Section 5: `seconds * 1e9 + llround(fraction / 44026250 * 1e9)`.
    #[test]
    fn section_5_nanoseconds_as_the_reference_rounds_them() {
        for (seconds, fraction) in
            [(0, 0), (0, 1), (1, 22), (0x8000_0000, 19), (7, 44_026_249), (u32::MAX, 12_345_678)]
        {
            let rounded = (f64::from(fraction) / 44_026_250.0 * 1e9).round() as u64;
            let expected = u64::from(seconds) * 1_000_000_000 + rounded;
            assert_eq!(SampleTime::of(RawTime { seconds, fraction }).nanoseconds(), expected);
        }
    }

    #[test]
    fn section_5_offsets_go_over_the_end_of_a_second() {
        let time = SampleTime::of(RawTime { seconds: 3, fraction: FRACTIONS_PER_SECOND - 1 });
        assert_eq!(time.later(1).nanoseconds(), 4_000_000_000);
        assert_eq!(time.later(1).earlier(1), time);
        assert_eq!(SampleTime::default().earlier(1).nanoseconds(), 0);
    }
}
