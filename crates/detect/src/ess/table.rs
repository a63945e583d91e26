//! The `[ess]` table as it is written: what all detectors of the ESS readout have in common.
//!
//! ```toml
//! [ess]
//! type = "freia"                  # the detector type in the header: a name, or a number such as 0x48
//! output_queues = [0]             # queues that send: time waits for them
//! max_time_of_flight = "1s"
//! max_pulse_distance = "357142855ns"
//! accept = ["time_status"]        # rules of header and records that need not hold
//!
//! [ess.sorting]
//! window = "10ms"
//! ```

use super::settings::EssSettings;
use super::ticks;
use crate::settings::{Picoseconds, SettingsError, SortingSettings, pulsed};
use evforge_core::quantity::picoseconds;
use evforge_core::settings::RefusedValue;
use evforge_wire::ess::{HeaderRelaxations, HeaderRules, OUTPUT_QUEUES, RecordRules, detector_type};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EssTable {
    #[serde(rename = "type")]
    detector_type: TypeName,
    #[serde(default)]
    output_queues: Vec<u8>,
    #[serde(default = "max_time_of_flight", deserialize_with = "picoseconds")]
    max_time_of_flight: Picoseconds,
    #[serde(default = "max_pulse_distance", deserialize_with = "picoseconds")]
    max_pulse_distance: Picoseconds,
    /// Period of the source, to tell irregular pulses; "0ns" if it has none.
    #[serde(default = "pulse_period", deserialize_with = "picoseconds")]
    pulse_period: Picoseconds,
    #[serde(default)]
    accept: Vec<String>,
    /// The queue that `accept = ["output_queue"]` is about.
    odd_output_queue: Option<u8>,
    #[serde(default = "pulsed::default", with = "pulsed")]
    sorting: SortingSettings,
}

/// A type byte by name or number.
#[derive(Deserialize)]
#[serde(untagged)]
enum TypeName {
    Number(u8),
    Name(String),
}

/// Period of the ESS source, rounded.
const ESS_PERIOD: Picoseconds = 71_428_571_000;

fn max_time_of_flight() -> Picoseconds {
    1_000_000_000_000
}

fn max_pulse_distance() -> Picoseconds {
    5 * ESS_PERIOD
}

fn pulse_period() -> Picoseconds {
    ESS_PERIOD
}

/// What `accept` can name besides the rules of the header.
const LENGTH_IN_BITS: &str = "record_length_in_bits";
const ANY_ADC: &str = "any_adc";

impl<'de> Deserialize<'de> for EssSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = EssTable::deserialize(deserializer)?.settings();
        settings.map_err(|error| D::Error::custom(RefusedValue(error)))
    }
}

impl EssTable {
    fn settings(self) -> Result<EssSettings, SettingsError> {
        let detector_type = match &self.detector_type {
            TypeName::Number(number) => *number,
            TypeName::Name(name) => detector_type::named(name).map_or_else(
                || {
                    let known: Vec<_> = (0..=u8::MAX).filter_map(detector_type::name).collect();
                    let problem = format!("found `{name}`, expected a number or one of {}", known.join(", "));
                    SettingsError::refuse("type", problem)
                },
                Ok,
            )?,
        };
        let mut relaxed = HeaderRelaxations::NONE;
        let mut records = RecordRules::default();
        for name in &self.accept {
            match (name.as_str(), HeaderRelaxations::named(name)) {
                (_, Some(rule)) => relaxed = relaxed.union(rule),
                (LENGTH_IN_BITS, None) => records.length_in_bits = true,
                (ANY_ADC, None) => records.any_adc = true,
                _ => {
                    let rules = HeaderRelaxations::ALL.iter().map(|(_, name)| name);
                    let known: Vec<_> = rules.chain([LENGTH_IN_BITS, ANY_ADC]).collect();
                    let problem = format!("found `{name}`, expected one of {}", known.join(", "));
                    return SettingsError::refuse("accept", problem);
                }
            }
        }
        let any_queue = relaxed.contains(HeaderRelaxations::OUTPUT_QUEUE);
        let odd = usize::from(self.odd_output_queue.unwrap_or(u8::MAX)) >= OUTPUT_QUEUES;
        if any_queue != self.odd_output_queue.is_some() || !odd {
            let problem = format!(
                "names the one queue above {} that accept = [\"output_queue\"] is about: give both or none",
                OUTPUT_QUEUES - 1
            );
            return SettingsError::refuse("odd_output_queue", problem);
        }
        let max_pulse_distance = ticks::in_duration(self.max_pulse_distance) / ticks::UNITS_PER_TICK;
        Ok(EssSettings {
            header: HeaderRules { detector_type, max_pulse_distance, relaxed },
            records,
            odd_output_queue: self.odd_output_queue,
            output_queues: self.output_queues,
            max_time_of_flight: self.max_time_of_flight,
            pulse_period: self.pulse_period,
            sorting: self.sorting,
        })
    }
}
