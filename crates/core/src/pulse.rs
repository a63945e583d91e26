//! Pulses of the neutron source and time of flight.
//!
//! Time of flight counts from the pulse. Where the readout carries no pulse time, events are grouped by a
//! configured period: pulse *n* begins at `offset + n * period`. The period is kept as a fraction, because
//! 14 Hz (ESS) is not a whole number of nanoseconds.

use crate::quantity::{Frequency, TimeSpan};
use crate::settings::{RefusedValue, SettingsError};
use serde::Deserialize;

/// A train of pulses with a constant period of `period_numerator / period_denominator` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Pulses")]
pub struct PulseTrain {
    period_numerator: u64,
    period_denominator: u64,
    offset_ns: u64,
}

/// The table `[pulses]`: the source's pulses, by which events are grouped where the readout carries no pulse time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Pulses {
    frequency: Frequency,
    /// Start of a pulse on the detector's clock.
    start: TimeSpan,
}

impl Default for Pulses {
    fn default() -> Self {
        Self { frequency: Frequency { millihertz: 14_000 }, start: TimeSpan { picoseconds: 0 } }
    }
}

impl TryFrom<Pulses> for PulseTrain {
    type Error = RefusedValue;

    fn try_from(pulses: Pulses) -> Result<Self, RefusedValue> {
        // Periods above 2 s do not fit into the 31 bits of an event's time of flight in nanoseconds.
        let frequency = Some(pulses.frequency.millihertz).filter(|&millihertz| millihertz >= 500);
        let train = frequency
            .and_then(|millihertz| Self::from_millihertz(millihertz, pulses.start.picoseconds / 1000));
        Ok(train.map_or_else(|| SettingsError::refuse("frequency", "must be at least 0.5Hz"), Ok)?)
    }
}

impl Default for PulseTrain {
    fn default() -> Self {
        Self::ess()
    }
}

/// An instant as seen from the source: which pulse, and how long after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulseTime {
    /// Number of the pulse, counted from the train's offset.
    pub pulse: u64,
    /// Start of that pulse in nanoseconds, rounded up to the first whole nanosecond that belongs to it.
    pub start_ns: u64,
    /// Nanoseconds since `start_ns`.
    pub time_of_flight_ns: u64,
}

impl PulseTrain {
    /// A train of `millihertz / 1000` pulses per second whose pulse 0 starts at `offset_ns`.
    /// None for a frequency of 0.
    pub fn from_millihertz(millihertz: u64, offset_ns: u64) -> Option<Self> {
        (millihertz > 0).then_some(Self {
            period_numerator: 1_000_000_000_000,
            period_denominator: millihertz,
            offset_ns,
        })
    }

    /// The ESS source: 14 pulses per second.
    pub fn ess() -> Self {
        Self { period_numerator: 1_000_000_000_000, period_denominator: 14_000, offset_ns: 0 }
    }

    /// The European XFEL: 10 trains per second.
    pub fn european_xfel() -> Self {
        Self { period_numerator: 1_000_000_000_000, period_denominator: 10_000, offset_ns: 0 }
    }

    /// Start of pulse `pulse` in nanoseconds (rounded up), or none if it lies past the end of 64 bits.
    pub fn start_ns(&self, pulse: u64) -> Option<u64> {
        let after = (u128::from(pulse) * u128::from(self.period_numerator))
            .div_ceil(u128::from(self.period_denominator));
        u64::try_from(after).ok()?.checked_add(self.offset_ns)
    }

    /// The pulse that `time_ns` belongs to, or none before pulse 0.
    pub fn locate(&self, time_ns: u64) -> Option<PulseTime> {
        let since = time_ns.checked_sub(self.offset_ns)?;
        // Pulse n owns the nanoseconds t with start(n) <= t < start(n + 1).
        let pulse =
            u128::from(since) * u128::from(self.period_denominator) / u128::from(self.period_numerator);
        let pulse = u64::try_from(pulse).ok()?;
        let start_ns = self.start_ns(pulse)?;
        Some(PulseTime { pulse, start_ns, time_of_flight_ns: time_ns - start_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ess_train_does_not_drift() {
        let train = PulseTrain::ess();
        assert_eq!(train.start_ns(14), Some(1_000_000_000));
        assert_eq!(train.start_ns(1), Some(71_428_572));
        let second_million = train.locate(1_000_000_000_000_000).unwrap();
        assert_eq!((second_million.pulse, second_million.time_of_flight_ns), (14_000_000, 0));
    }

    #[test]
    fn before_the_first_pulse_there_is_none() {
        let train = PulseTrain::from_millihertz(14_000, 500).unwrap();
        assert_eq!(train.locate(499), None);
        assert_eq!(train.locate(500).unwrap().pulse, 0);
        assert_eq!(PulseTrain::from_millihertz(0, 0), None);
    }

    proptest! {
        #[test]
        fn an_instant_lies_in_its_own_pulse(time: u64, millihertz in 1..100_000_u64) {
            let train = PulseTrain::from_millihertz(millihertz, 0).unwrap();
            if let Some(at) = train.locate(time) {
                prop_assert_eq!(at.start_ns + at.time_of_flight_ns, time);
                prop_assert!(train.start_ns(at.pulse + 1).is_none_or(|next| next > time));
            }
        }
    }
}
