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
use evforge_core::quantity::{Frequency, InPicoseconds, SomeInPicoseconds};
use evforge_core::settings::RefusedValue;
use evforge_wire::ess::{
    EssClock, HeaderRelaxations, HeaderRules, OUTPUT_QUEUES, RecordRules, TICKS_PER_SECOND, detector_type,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The keys.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EssTable {
    /// The type in the header of every packet, by name or number. It is independent of the detector: a Multi-Grid at LET sends `0x30`, which
    /// is that of LOKI.
    #[serde(rename = "type")]
    detector_type: TypeName,
    /// Output queues that are known to send: time waits for each of them from the beginning. Others are used as well, and waited for from
    /// their first packet on. In the first `source_lag` of the data time stays open for all, so that the beginning of none is late.
    #[serde(default)]
    #[schemars(inner(range(max = OUTPUT_QUEUES - 1)))]
    output_queues: Vec<u8>,
    /// An event further after its pulse has none: it is handed out with its time and without a time of flight, and counted
    /// (`time_of_flight_too_long`).
    #[serde(default = "max_time_of_flight", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0, at most 2147483647 ns"))]
    max_time_of_flight: Picoseconds,
    /// A packet whose pulse is further from the previous one is discarded. Without it: five periods of 14 Hz.
    #[serde(default = "max_pulse_distance", with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above 0"))]
    max_pulse_distance: Picoseconds,
    /// Pulses whose distance is not this one within 1 % are counted (`pulses_irregular`); `"0ns"`: none. If the pulses have another period, a
    /// hint says which.
    #[serde(default, with = "SomeInPicoseconds")]
    #[schemars(extend("x-default" = "found from the pulses"))]
    pulse_period: Option<Picoseconds>,
    /// The clock that times are counted by. Boards in laboratories have others.
    #[schemars(extend("x-range" = "whole hertz, 1 MHz to 1 GHz", "x-default" = "88.0525 MHz"))]
    clock: Option<Frequency>,
    /// Largest number of ticks since the last full second, in headers and records.
    #[schemars(extend("x-default" = "one tick less than a second"))]
    max_fraction: Option<u32>,
    /// Rules that need not hold; see below.
    #[serde(default)]
    #[schemars(extend("items" = { "enum": acceptable() }))]
    accept: Vec<String>,
    /// The queue that `accept = ["output_queue"]` is about.
    #[schemars(range(min = OUTPUT_QUEUES))]
    odd_output_queue: Option<u8>,
    /// Time order and memory, as `[gdgem.sorting]`.
    #[serde(default = "pulsed::default", with = "pulsed")]
    sorting: SortingSettings,
}

/// A type as it is written: by name or number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum TypeName {
    /// The byte.
    Number(u8),
    /// A name of [`detector_type`].
    Name(String),
}

evforge_core::written_as! {
    TypeName: |_generator| schemars::json_schema!({
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 255 },
            { "enum": detector_type::NAMES.map(|(_, name)| name) },
        ],
        "x-range": "a name such as `\"freia\"`, or 0 to 255",
    });
    EssSettings: |generator| EssTable::json_schema(generator);
}

/// Period of the ESS source, rounded.
const ESS_PERIOD: Picoseconds = 71_428_571_000;

fn max_time_of_flight() -> Picoseconds {
    1_000_000_000_000
}

fn max_pulse_distance() -> Picoseconds {
    5 * ESS_PERIOD
}

/// What `accept` can name besides the rules of the header.
const LENGTH_IN_BITS: &str = "record_length_in_bits";
const ANY_ADC: &str = "any_adc";

fn acceptable() -> Vec<&'static str> {
    HeaderRelaxations::ALL.iter().map(|(_, name)| name).chain([LENGTH_IN_BITS, ANY_ADC]).collect()
}

impl<'de> Deserialize<'de> for EssSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = EssTable::deserialize(deserializer)?.settings();
        settings.map_err(|error| D::Error::custom(RefusedValue(error)))
    }
}

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A type byte by name or number.
///
/// # Errors
/// If there is no detector of this name.
pub fn type_byte(name: &TypeName) -> Result<u8, SettingsError> {
    match name {
        TypeName::Number(number) => Ok(*number),
        TypeName::Name(name) => detector_type::named(name).map_or_else(
            || {
                let known: Vec<_> = (0..=u8::MAX).filter_map(detector_type::name).collect();
                let problem = format!("found `{name}`, expected a number or one of {}", known.join(", "));
                SettingsError::refuse("type", problem)
            },
            Ok,
        ),
    }
}

impl EssTable {
    fn clock(&self) -> Result<EssClock, SettingsError> {
        let Some(clock) = self.clock else {
            let largest_tick = self.max_fraction.unwrap_or(EssClock::ESS.largest_tick);
            return Ok(EssClock { largest_tick, ..EssClock::ESS });
        };
        let hertz = u32::try_from(clock.millihertz / 1000).ok().filter(|_| clock.millihertz % 1000 == 0);
        let Some(ticks_per_second) = hertz.filter(|&hertz| hertz > 0) else {
            return SettingsError::refuse("clock", "must be a whole number of hertz, such as 88.0525MHz");
        };
        Ok(EssClock { ticks_per_second, largest_tick: self.max_fraction.unwrap_or(ticks_per_second - 1) })
    }

    fn settings(self) -> Result<EssSettings, SettingsError> {
        let detector_type = type_byte(&self.detector_type)?;
        let mut relaxed = HeaderRelaxations::NONE;
        let mut records = RecordRules::default();
        for name in &self.accept {
            match (name.as_str(), HeaderRelaxations::named(name)) {
                (_, Some(rule)) => relaxed = relaxed.union(rule),
                // Boards that do the one do the other.
                (LENGTH_IN_BITS, None) => {
                    records.length_in_bits = true;
                    relaxed = relaxed.union(HeaderRelaxations::LENGTH);
                }
                (ANY_ADC, None) => records.any_adc = true,
                _ => {
                    let problem = format!("found `{name}`, expected one of {}", acceptable().join(", "));
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
        let clock = self.clock()?;
        records.clock = clock;
        let max_pulse_distance = if clock.ticks_per_second == TICKS_PER_SECOND {
            ticks::in_duration(self.max_pulse_distance) / ticks::UNITS_PER_TICK
        } else {
            let ticks = u128::from(self.max_pulse_distance) * u128::from(clock.ticks_per_second)
                / PICOSECONDS_PER_SECOND;
            u64::try_from(ticks).unwrap_or(u64::MAX)
        };
        Ok(EssSettings {
            header: HeaderRules { relaxed, clock, ..HeaderRules::strict(detector_type, max_pulse_distance) },
            records,
            odd_output_queue: self.odd_output_queue,
            output_queues: self.output_queues,
            max_time_of_flight: self.max_time_of_flight,
            pulse_period: self.pulse_period,
            sorting: self.sorting,
        })
    }
}
