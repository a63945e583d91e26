//! Pulses of the neutron source and time of flight.
//!
//! Time of flight counts from the pulse. Where the readout carries no pulse time, events are grouped by a
//! configured period: pulse *n* begins at `offset + n * period`. The period is kept as a fraction, because
//! 14 Hz (ESS) is not a whole number of nanoseconds. Where the signal of the source, or of a chopper, arrives on a channel of the
//! readout ([`PulseChannel`]), the pulses are those that are found there.

use crate::quantity::{Frequency, TimeSpan};
use crate::settings::{RefusedValue, SettingsError};
use schemars::JsonSchema;
use serde::Deserialize;

/// A train of pulses with a constant period of `period_numerator / period_denominator` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulseTrain {
    period_numerator: u64,
    period_denominator: u64,
    offset_ns: u64,
}

/// The pulses of the source as a configuration describes them: the table `[pulses]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Pulses")]
#[schemars(with = "Pulses")]
pub struct PulseSource {
    /// The train, by which events are grouped where nothing reports the pulses.
    pub train: PulseTrain,
    /// The channel of the readout on which a signal arrives with each pulse, if there is one.
    pub channel: Option<PulseChannel>,
}

/// A channel of the readout on which the signal of the source, or of a chopper, arrives with each pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PulseChannel {
    /// The channel, numbered as those of the detector.
    pub channel: u16,
    /// The sample, in steps of the converter, from which on a signal is a pulse.
    pub threshold: u16,
    /// How often pulses come: those closer than half a period are one, and longer distances mean that some are missing.
    pub frequency: Frequency,
    /// An event that is later than this after the latest pulse has none, in picoseconds: above 0 and at most 2.147 s.
    pub max_time_of_flight: u64,
}

/// The longest time of flight that files and messages can express, in picoseconds.
const LONGEST_TIME_OF_FLIGHT: u64 = i32::MAX as u64 * 1000;

/// The table `[pulses]` as it is written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("dependentRequired" = { "channel": ["threshold", "frequency"], "threshold": ["channel"], "max_time_of_flight": ["channel"] }))]
struct Pulses {
    /// Pulses per second; exact to the millihertz.
    #[schemars(extend("x-range" = "at least 0.5 Hz", "x-default" = "14 Hz"))]
    frequency: Option<Frequency>,
    /// Start of a pulse on the detector's clock.
    #[schemars(extend("x-default" = "0"))]
    start: Option<TimeSpan>,
    /// The signal of the source, or of a chopper, arrives on this channel with each pulse: these are the pulses then.
    #[schemars(extend("x-range" = "a channel of `[adc_readout]`, from 0"))]
    channel: Option<u16>,
    /// With `channel`: a run of samples with one that reaches this is a pulse, which begins at the first such sample.
    #[schemars(range(min = 1), extend("x-unit" = "ADC counts", "x-default" = "–"))]
    threshold: Option<u16>,
    /// With `channel`: later after the latest pulse an event has none, and no time of flight.
    #[schemars(extend("x-range" = "1 ns to 2.147 s", "x-default" = "1 s"))]
    max_time_of_flight: Option<TimeSpan>,
}

impl Pulses {
    fn train(&self) -> Result<PulseTrain, SettingsError> {
        // Periods above 2 s do not fit into the 31 bits of an event's time of flight in nanoseconds.
        let millihertz = self.frequency.map_or(ESS_MILLIHERTZ, |frequency| frequency.millihertz);
        let start_ns = self.start.map_or(0, |start| start.picoseconds / 1000);
        let train = Some(millihertz)
            .filter(|&millihertz| millihertz >= 500)
            .and_then(|millihertz| PulseTrain::from_millihertz(millihertz, start_ns));
        train.map_or_else(|| SettingsError::refuse("frequency", "must be at least 0.5Hz"), Ok)
    }

    fn channel(&self) -> Result<Option<PulseChannel>, SettingsError> {
        let Some(channel) = self.channel else {
            let given = [
                ("threshold", self.threshold.is_some()),
                ("max_time_of_flight", self.max_time_of_flight.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => {
                    let problem =
                        "is of the channel on which pulses arrive: give `channel` too, or leave it out";
                    SettingsError::refuse(key, problem)
                }
                None => Ok(None),
            };
        };
        let Some(threshold) = self.threshold.filter(|&threshold| threshold > 0) else {
            let problem = "is needed with `channel`: the sample, above 0, from which on a signal is a pulse";
            return SettingsError::refuse("threshold", problem);
        };
        let Some(frequency) = self.frequency else {
            let problem = "is needed with `channel`: by it doubled and missing pulses are found";
            return SettingsError::refuse("frequency", problem);
        };
        if self.start.is_some() {
            let problem = "has no effect on pulses that arrive on a channel: leave it out";
            return SettingsError::refuse("start", problem);
        }
        let max_time_of_flight = self.max_time_of_flight.map_or(1_000_000_000_000, |time| time.picoseconds);
        if !(1000..=LONGEST_TIME_OF_FLIGHT).contains(&max_time_of_flight) {
            let problem = "must lie from 1ns to 2147483647ns";
            return SettingsError::refuse("max_time_of_flight", problem);
        }
        Ok(Some(PulseChannel { channel, threshold, frequency, max_time_of_flight }))
    }
}

impl TryFrom<Pulses> for PulseSource {
    type Error = RefusedValue;

    fn try_from(pulses: Pulses) -> Result<Self, RefusedValue> {
        Ok(Self { train: pulses.train()?, channel: pulses.channel()? })
    }
}

/// The pulses of the ESS.
const ESS_MILLIHERTZ: u64 = 14_000;

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
        Self { period_numerator: 1_000_000_000_000, period_denominator: ESS_MILLIHERTZ, offset_ns: 0 }
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
