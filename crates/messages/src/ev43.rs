//! ev43: events of several pulses, before ev44.

use crate::check;
use crate::column::Column;
use crate::generated::ev43 as wire;
use crate::open::open;
use crate::read::column_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, TextIf, Time};
use std::fmt;

/// Events in columns, with the pulses that they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Ev43<'a> {
    /// Who sends them.
    pub source_name: Option<&'a str>,
    /// Counts the messages of the source.
    pub message_id: u64,
    /// Times of the pulses, nanoseconds since 1970.
    pub pulse_time: Column<'a, u64>,
    /// The first event of each pulse.
    pub pulse_index: Column<'a, u32>,
    /// Nanoseconds since the pulse.
    pub time_of_flight: Column<'a, u32>,
    /// Pixels.
    pub detector_id: Column<'a, u32>,
}

impl<'a> Ev43<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Ev43;
        let table = open::<wire::Events<'a>>(schema, bytes)?;
        let message = Self {
            source_name: table.source_name(),
            message_id: table.message_id(),
            pulse_time: column_if(table.pulse_time()),
            pulse_index: column_if(table.pulse_index()),
            time_of_flight: column_if(table.time_of_flight()),
            detector_id: column_if(table.detector_id()),
        };
        let events = message.time_of_flight.len();
        let pulses = ("pulse_time", message.pulse_time.len());
        check::equal_lengths(schema, ("pulse_index", message.pulse_index.len()), pulses)?;
        check::equal_if_given(
            schema,
            ("detector_id", message.detector_id.len()),
            ("time_of_flight", events),
        )?;
        check::index(schema, "pulse_index", message.pulse_index, events)?;
        check::times(schema, "pulse_time", message.pulse_time)?;
        Ok(message)
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        self.pulse_time.first().and_then(check::known)
    }
}

impl fmt::Display for Ev43<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, time) = (TextIf(self.source_name), Time(self.time_ns()));
        let (pulses, events) =
            (Count(self.pulse_time.len(), "pulse"), Count(self.time_of_flight.len(), "event"));
        write!(f, "{source} #{} {time} {pulses} {events}", self.message_id)
    }
}
