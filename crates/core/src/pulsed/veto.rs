//! Vetoes: rules that mark events which should not be trusted, and count them, without removing any.
//!
//! A veto names a range of the detector's time (a shutter moved), or of the time of flight in every pulse (the prompt
//! pulse). Whoever analyses the data decides what to do with marked events: the mark is stored with the event in every
//! output, as one bit per veto in the order of the configuration.

use crate::quantity::TimeSpan;
use crate::settings::{RefusedValue, SettingsError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Vetoes that a configuration can have: bits of a mark.
pub const MOST_VETOES: usize = 8;

/// When a veto applies. Ranges are half open, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VetoRange {
    /// From one time to another on the detector's clock.
    Time(u64, u64),
    /// From one time of flight to another, in every pulse.
    TimeOfFlight(u64, u64),
}

/// A named rule: `[[veto]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "VetoTable")]
#[schemars(with = "VetoTable")]
pub struct Veto {
    /// What happened.
    pub name: String,
    /// When it applies.
    pub range: VetoRange,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["time"] }, { "required": ["time_of_flight"] }]))]
struct VetoTable {
    /// What it is about, for the report and the file.
    name: String,
    /// Events from one time to another on the detector's clock.
    #[schemars(extend("x-unit" = "times", "x-range" = "`[from, to]`"))]
    time: Option<[TimeSpan; 2]>,
    /// Events from one time after the start of their pulse to another, in every pulse.
    #[schemars(extend("x-unit" = "times", "x-range" = "`[from, to]`"))]
    time_of_flight: Option<[TimeSpan; 2]>,
}

impl TryFrom<VetoTable> for Veto {
    type Error = RefusedValue;

    fn try_from(table: VetoTable) -> Result<Self, RefusedValue> {
        let nanoseconds = |range: [TimeSpan; 2]| range.map(|time| time.picoseconds / 1000);
        let name = table.name;
        let (key, [from, to]) = match (table.time.map(nanoseconds), table.time_of_flight.map(nanoseconds)) {
            (Some(range), None) => ("time", range),
            (None, Some(range)) => ("time_of_flight", range),
            _ => {
                let problem = format!("`{name}` needs either time or time_of_flight, a range [from, to]");
                return Err(RefusedValue::new(problem));
            }
        };
        if from >= to {
            let problem = format!("the range of `{name}` ends before it begins");
            return Ok(SettingsError::refuse(key, problem)?);
        }
        let range = if key == "time" { VetoRange::Time(from, to) } else { VetoRange::TimeOfFlight(from, to) };
        Ok(Self { name, range })
    }
}

/// Vetoes with the number of events that each has marked.
#[derive(Clone, Debug, Default)]
pub(super) struct VetoMarks {
    vetoes: Vec<Veto>,
    counts: Vec<u64>,
}

impl VetoMarks {
    /// The first [`MOST_VETOES`] of `vetoes`; a configuration has no more.
    pub(super) fn new(mut vetoes: Vec<Veto>) -> Self {
        vetoes.truncate(MOST_VETOES);
        let counts = vec![0; vetoes.len()];
        Self { vetoes, counts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vetoes.is_empty()
    }

    /// The mark of an event, which is counted. `time_of_flight_ns` is none without a pulse, and before it.
    pub(super) fn mark(&mut self, time_ns: u64, time_of_flight_ns: Option<u64>) -> u8 {
        let mut mark = 0_u8;
        for (bit, (veto, count)) in self.vetoes.iter().zip(&mut self.counts).enumerate() {
            let applies = match veto.range {
                VetoRange::Time(from, to) => (from..to).contains(&time_ns),
                VetoRange::TimeOfFlight(from, to) => {
                    time_of_flight_ns.is_some_and(|flight| (from..to).contains(&flight))
                }
            };
            mark |= u8::from(applies) << bit;
            *count += u64::from(applies);
        }
        mark
    }

    /// The vetoes with the number of events that each has marked.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.vetoes.iter().map(|veto| veto.name.as_str()).zip(self.counts.iter().copied())
    }
}
