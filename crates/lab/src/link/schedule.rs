//! When packets are due: at an even rate, or in pulses.

use evforge_core::quantity::{Frequency, Rate};
use std::time::Duration;
use thiserror::Error;

/// Pulses: all packets of a period are due in its first part, evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulses {
    /// Pulses in a second.
    pub frequency: Frequency,
    /// The rate in a pulse over the mean rate, 1 or more: the pulse takes 1 / `peak_factor` of the period.
    pub peak_factor: f64,
}

impl Pulses {
    /// The time from one pulse to the next; the longest there is for a frequency of 0.
    pub fn period(&self) -> Duration {
        1_000_000_000_000_u64
            .checked_div(self.frequency.millihertz)
            .map_or(Duration::MAX, Duration::from_nanos)
    }

    /// How long a pulse lasts, in seconds.
    pub fn pulse_seconds(&self) -> f64 {
        1e3 / self.frequency.millihertz as f64 / self.peak_factor
    }
}

/// When each packet is due, in nanoseconds after the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    rate: Rate,
    pulses: Option<Pulses>,
}

/// Rate or pulses are impossible.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A rate of 0.
    #[error("a rate of 0 sends nothing: it must be above 0")]
    NoRate,
    /// A frequency of 0.
    #[error("pulses of 0 Hz never come: the frequency must be above 0")]
    NoFrequency,
    /// A peak factor below 1, or no number.
    #[error(
        "a peak factor of {0} is impossible: it is the rate in the pulse over the mean rate, and at least 1"
    )]
    PeakFactor(f64),
}

impl Schedule {
    /// A mean rate, evenly or in pulses.
    ///
    /// # Errors
    /// If the rate or the frequency is 0, or the peak factor below 1.
    pub fn new(rate: Rate, pulses: Option<Pulses>) -> Result<Self, ScheduleError> {
        if matches!(rate, Rate::Packets(0) | Rate::Bits(0)) {
            return Err(ScheduleError::NoRate);
        }
        if let Some(pulses) = pulses {
            if pulses.frequency.millihertz == 0 {
                return Err(ScheduleError::NoFrequency);
            }
            if !(pulses.peak_factor >= 1.0 && pulses.peak_factor.is_finite()) {
                return Err(ScheduleError::PeakFactor(pulses.peak_factor));
            }
        }
        Ok(Self { rate, pulses })
    }

    /// When the packet after `packets` packets of `bytes` payload bytes together is due. Computed from the start each time, so
    /// that nothing adds up.
    pub fn due(&self, packets: u64, bytes: u64) -> u64 {
        // The first whole nanosecond, as for the beginning of a pulse: its first packet must not be due before it.
        let even = match self.rate {
            Rate::Packets(rate) => (u128::from(packets) * 1_000_000_000).div_ceil(rate.into()),
            Rate::Bits(rate) => (u128::from(bytes) * 8_000_000_000).div_ceil(rate.into()),
        };
        let due = match self.pulses {
            None => even,
            Some(pulses) => {
                let (number, begun) = period(pulses, even);
                debug_assert!(begun <= even, "pulse {number} begins at {begun}, after {even}");
                begun + ((even - begun) as f64 / pulses.peak_factor) as u128
            }
        };
        u64::try_from(due).unwrap_or(u64::MAX)
    }

    /// Number of the pulse, from 0 on, that a packet due at this time belongs to; 0 without pulses.
    pub fn pulse(&self, due: u64) -> u64 {
        self.pulses.map_or(0, |pulses| u64::try_from(period(pulses, due.into()).0).unwrap_or(u64::MAX))
    }

    /// When the pulse with this number begins, in nanoseconds after the start; 0 without pulses.
    pub fn pulse_begins(&self, pulse: u64) -> u64 {
        self.pulses.map_or(0, |pulses| u64::try_from(begin(pulses, pulse.into())).unwrap_or(u64::MAX))
    }

    /// The pulses.
    pub fn pulses(&self) -> Option<Pulses> {
        self.pulses
    }

    /// The mean rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

/// When a pulse begins: the first whole nanosecond.
fn begin(pulses: Pulses, number: u128) -> u128 {
    (number * 1_000_000_000_000).div_ceil(pulses.frequency.millihertz.into())
}

/// Number and begin of the period that a time lies in.
fn period(pulses: Pulses, time: u128) -> (u128, u128) {
    let number = time * u128::from(pulses.frequency.millihertz) / 1_000_000_000_000;
    (number, begin(pulses, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ESS: Frequency = Frequency { millihertz: 14_000 };

    #[test]
    fn an_even_rate_does_not_drift() {
        let schedule = Schedule::new(Rate::Packets(3), None).unwrap();
        assert_eq!([0, 1, 2, 3].map(|n| schedule.due(n, 0)), [0, 333_333_334, 666_666_667, 1_000_000_000]);
        assert_eq!(schedule.due(3_000_000_000, 0), 1_000_000_000_000_000_000);
        let schedule = Schedule::new(Rate::Bits(8_000), None).unwrap();
        assert_eq!(schedule.due(7, 1500), 1_500_000_000);
    }

    #[test]
    fn a_pulse_is_shorter_than_its_period_by_the_peak_factor() {
        let pulses = Pulses { frequency: ESS, peak_factor: 50.0 };
        let schedule = Schedule::new(Rate::Packets(14_000), Some(pulses)).unwrap();
        // 1000 packets in a pulse, at 50 times the mean rate: one in 1/700 ms.
        for pulse in [0, 1, 13, 14_000] {
            let begins = (pulse * 1_000_000_000_u64).div_ceil(14);
            assert_eq!(schedule.pulse_begins(pulse), begins);
            assert_eq!(schedule.due(1000 * pulse, 0), begins);
            let last = schedule.due(1000 * pulse + 999, 0);
            assert!(last.abs_diff(begins + 999 * 1_000_000 / 700) <= 2, "{last}");
            assert_eq!((schedule.pulse(begins), schedule.pulse(last)), (pulse, pulse));
        }
    }

    #[test]
    fn impossible_schedules_are_explained() {
        let pulses = |millihertz, peak_factor| {
            let frequency = Frequency { millihertz };
            Schedule::new(Rate::Packets(1), Some(Pulses { frequency, peak_factor }))
                .map_err(|error| error.to_string())
        };
        assert!(pulses(0, 2.0).unwrap_err().contains("0 Hz"));
        for factor in [0.5, f64::NAN, f64::INFINITY] {
            assert!(pulses(14, factor).unwrap_err().contains("at least 1"));
        }
        assert!(pulses(14, 1.0).is_ok());
        assert!(Schedule::new(Rate::Bits(0), None).unwrap_err().to_string().contains("above 0"));
    }

    proptest! {
        #[test]
        fn times_never_go_back_and_stay_in_their_period(
            rate in 1..10_000_000_u64, millihertz in 1..1_000_000_u64, peak_factor in 1.0..1000.0_f64, packets in 0..1_u64 << 40,
        ) {
            let pulses = Pulses { frequency: Frequency { millihertz }, peak_factor };
            let pulsed = Schedule::new(Rate::Packets(rate), Some(pulses)).unwrap();
            let even = Schedule::new(Rate::Packets(rate), None).unwrap();
            let due = pulsed.due(packets, 0);
            prop_assert!(due <= even.due(packets, 0));
            prop_assert!(due <= pulsed.due(packets + 1, 0));
            prop_assert_eq!(pulsed.pulse(due), pulsed.pulse(even.due(packets, 0)));
        }
    }
}
