//! The `[pulses]` table and the `[[veto]]` entries.

use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{MOST_VETOES, Veto, VetoRange};
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

/// Checks a list of vetoes.
///
/// # Errors
/// Under `veto[n].key`, the first that is impossible.
pub(super) fn check(vetoes: &[Veto]) -> Result<(), SettingsError> {
    if vetoes.len() > MOST_VETOES {
        return SettingsError::refuse("veto", format!("{} vetoes, at most {MOST_VETOES}", vetoes.len()));
    }
    for (index, veto) in vetoes.iter().enumerate() {
        let (key, from, to) = match veto.range {
            VetoRange::Time(from, to) => ("time", from, to),
            VetoRange::TimeOfFlight(from, to) => ("time_of_flight", from, to),
        };
        if from >= to {
            let problem = format!("the range of `{}` ends before it begins", veto.name);
            return SettingsError::refuse(format!("veto[{index}].{key}"), problem);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_ends_before_it_begins_is_refused() {
        let veto = Veto { name: "odd".into(), range: VetoRange::Time(5, 5) };
        assert_eq!(check(&[veto]).unwrap_err().key, "veto[0].time");
    }
}
