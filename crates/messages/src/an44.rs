//! an44: events with weights.

use crate::check;
use crate::column::Column;
use crate::ev44::{check_events, pulses};
use crate::generated::an44 as wire;
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, Text, Time};
use std::fmt;
use std::ops::Range;

/// Events in columns as in ev44, each with a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct An44<'a> {
    /// Who sends them.
    pub source_name: &'a str,
    /// Counts the messages of the source.
    pub message_id: i64,
    /// Times of the pulses, nanoseconds since 1970.
    pub reference_time: Column<'a, i64>,
    /// The first event of each pulse.
    pub reference_time_index: Column<'a, i32>,
    /// Nanoseconds since the pulse.
    pub time_of_flight: Column<'a, i32>,
    /// Pixels.
    pub pixel_id: Column<'a, i32>,
    /// What each event counts. May be empty.
    pub weight: Column<'a, i16>,
}

impl<'a> An44<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::An44;
        let table = open::<wire::Events<'a>>(schema, bytes)?;
        let message = Self {
            source_name: table.source_name(),
            message_id: table.message_id(),
            reference_time: column(table.reference_time()),
            reference_time_index: column(table.reference_time_index()),
            time_of_flight: column_if(table.time_of_flight()),
            pixel_id: column_if(table.pixel_id()),
            weight: column_if(table.weight()),
        };
        let (times, index) = (message.reference_time, message.reference_time_index);
        check_events(schema, times, index, message.time_of_flight, message.pixel_id)?;
        let events = ("time_of_flight", message.time_of_flight.len());
        check::equal_if_given(schema, ("weight", message.weight.len()), events)?;
        Ok(message)
    }

    /// The pulses with the ranges of their events, in their order.
    pub fn pulses(&self) -> impl Iterator<Item = (i64, Range<usize>)> + use<'a> {
        pulses(self.reference_time, self.reference_time_index, self.time_of_flight.len())
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        self.reference_time.first().and_then(check::known)
    }
}

impl fmt::Display for An44<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, time) = (Text(self.source_name), Time(self.time_ns()));
        let events = Count(self.time_of_flight.len(), "weighted event");
        write!(
            f,
            "{source} #{} {time} {} {events}",
            self.message_id,
            Count(self.reference_time.len(), "pulse")
        )
    }
}
