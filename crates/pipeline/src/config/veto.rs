//! The `[pulses]` table and the `[[veto]]` entries.

use crate::veto::{Veto, VetoRange};
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::{Duration, Frequency};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

/// `[pulses]`: the source's pulses, by which events are grouped where the readout carries no pulse time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Pulses {
    frequency: Frequency,
    /// Start of a pulse on the detector's clock.
    start: Duration,
}

impl Default for Pulses {
    fn default() -> Self {
        Self { frequency: Frequency { millihertz: 14_000 }, start: Duration { picoseconds: 0 } }
    }
}

impl Pulses {
    pub(super) fn train(&self) -> Result<PulseTrain, SettingsError> {
        // Periods above 2 s do not fit into the 31 bits of an event's time of flight in nanoseconds.
        let frequency = Some(self.frequency.millihertz).filter(|&millihertz| millihertz >= 500);
        frequency
            .and_then(|millihertz| PulseTrain::from_millihertz(millihertz, self.start.picoseconds / 1000))
            .map_or_else(|| SettingsError::refuse("pulses.frequency", "must be at least 0.5Hz"), Ok)
    }
}

/// `[[veto]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VetoEntry {
    name: String,
    time: Option<[Duration; 2]>,
    time_of_flight: Option<[Duration; 2]>,
}

impl VetoEntry {
    pub(super) fn veto(&self, index: usize) -> Result<Veto, SettingsError> {
        let nanoseconds = |range: [Duration; 2]| (range[0].picoseconds / 1000, range[1].picoseconds / 1000);
        let range = match (self.time.map(nanoseconds), self.time_of_flight.map(nanoseconds)) {
            (Some((from, to)), None) => VetoRange::Time(from, to),
            (None, Some((from, to))) => VetoRange::TimeOfFlight(from, to),
            _ => {
                let problem =
                    format!("`{}` needs either time or time_of_flight, a range [from, to]", self.name);
                return SettingsError::refuse(format!("veto[{index}]"), problem);
            }
        };
        Ok(Veto { name: self.name.clone(), range })
    }
}
