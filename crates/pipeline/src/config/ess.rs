//! The `[ess]` table: what all detectors of today's ESS readout have in common.
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

use super::sorting::Sorting;
use evforge_core::quantity::Duration;
use evforge_detect::ess::EssSettings;
use evforge_detect::ess::ticks;
use evforge_detect::settings::SettingsError;
use evforge_wire::ess::{HeaderRelaxations, HeaderRules, OUTPUT_QUEUES, RecordRules, detector_type};
use serde::Deserialize;

/// `[ess]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EssSection {
    #[serde(rename = "type")]
    detector_type: TypeName,
    #[serde(default)]
    output_queues: Vec<u8>,
    #[serde(default = "EssSection::max_time_of_flight")]
    max_time_of_flight: Duration,
    #[serde(default = "EssSection::max_pulse_distance")]
    max_pulse_distance: Duration,
    /// Period of the source, to tell irregular pulses; "0ns" if it has none.
    #[serde(default = "EssSection::pulse_period")]
    pulse_period: Duration,
    #[serde(default)]
    accept: Vec<String>,
    /// The queue that `accept = ["output_queue"]` is about.
    odd_output_queue: Option<u8>,
    #[serde(default)]
    sorting: Sorting,
}

/// A type byte by name or number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum TypeName {
    Number(u8),
    Name(String),
}

/// Period of the ESS source in picoseconds, rounded.
const ESS_PERIOD: u64 = 71_428_571_000;

/// What `accept` can name beside the rules of the header.
const LENGTH_IN_BITS: &str = "record_length_in_bits";
const ANY_ADC: &str = "any_adc";

impl EssSection {
    fn max_time_of_flight() -> Duration {
        Duration { picoseconds: 1_000_000_000_000 }
    }

    fn max_pulse_distance() -> Duration {
        Duration { picoseconds: 5 * ESS_PERIOD }
    }

    fn pulse_period() -> Duration {
        Duration { picoseconds: ESS_PERIOD }
    }

    /// The settings, checked; keys begin with `ess.`.
    pub(super) fn settings(&self) -> Result<EssSettings, SettingsError> {
        let settings = self.unchecked()?;
        settings.check()?;
        Ok(settings)
    }

    fn unchecked(&self) -> Result<EssSettings, SettingsError> {
        let detector_type = match &self.detector_type {
            TypeName::Number(number) => *number,
            TypeName::Name(name) => detector_type::named(name).map_or_else(
                || {
                    let known: Vec<_> = (0..=u8::MAX).filter_map(detector_type::name).collect();
                    let problem = format!("found `{name}`, expected a number or one of {}", known.join(", "));
                    SettingsError::refuse("ess.type", problem)
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
                    return SettingsError::refuse("ess.accept", problem);
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
            return SettingsError::refuse("ess.odd_output_queue", problem);
        }
        Ok(EssSettings {
            header: HeaderRules {
                detector_type,
                max_pulse_distance: ticks::in_duration(self.max_pulse_distance.picoseconds)
                    / ticks::UNITS_PER_TICK,
                relaxed,
            },
            records,
            odd_output_queue: self.odd_output_queue,
            output_queues: self.output_queues.clone(),
            max_time_of_flight: self.max_time_of_flight.picoseconds,
            pulse_period: self.pulse_period.picoseconds,
            sorting: self.sorting.pulsed_settings(),
        })
    }
}
