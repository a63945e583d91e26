//! ev44: events of one or several pulses.

use crate::check;
use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::ev44 as wire;
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, Text, Time};
use std::fmt;
use std::ops::Range;

/// Events in columns, with the pulses that they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Ev44<'a> {
    /// Who sends them: a detector, a panel or a bank.
    pub source_name: &'a str,
    /// Counts the messages of the source.
    pub message_id: i64,
    /// Times of the pulses, nanoseconds since 1970.
    pub reference_time: Column<'a, i64>,
    /// The first event of each pulse.
    pub reference_time_index: Column<'a, i32>,
    /// Nanoseconds since the pulse.
    pub time_of_flight: Column<'a, i32>,
    /// Pixels, from 1 on. May be empty where the source has none.
    pub pixel_id: Column<'a, i32>,
}

impl<'a> Ev44<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        if self.encode_behind_head(encoder) {
            return encoder.heads.message();
        }
        self.build(encoder)
    }

    /// Writes the message behind the head of its source. False on machines on which numbers have to be turned.
    fn encode_behind_head(&self, encoder: &mut Encoder) -> bool {
        if !encoder.heads.begin(self.source_name, self.message_id) {
            // A number of 0 would be left out.
            let empty = Ev44 { source_name: self.source_name, message_id: 1, ..Self::default() };
            empty.build(encoder);
            let Encoder { builder, heads } = encoder;
            if !heads.keep(self.source_name, builder.finished_data())
                || !heads.begin(self.source_name, self.message_id)
            {
                return false;
            }
        }
        let heads = &mut encoder.heads;
        heads.column(0, self.reference_time)
            && heads.column(1, self.reference_time_index)
            && heads.column(2, self.time_of_flight)
            && heads.column(3, self.pixel_id)
    }

    fn build<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::EventsArgs {
            pixel_id: e.column(self.pixel_id),
            time_of_flight: e.column(self.time_of_flight),
            reference_time_index: e.column(self.reference_time_index),
            reference_time: e.column(self.reference_time),
            message_id: self.message_id,
            source_name: e.text(self.source_name),
        };
        let root = wire::Events::create(&mut e.builder, &args);
        e.finish(root, Schema::Ev44)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Ev44;
        let table = open::<wire::Events<'a>>(schema, bytes)?;
        let message = Self {
            source_name: table.source_name(),
            message_id: table.message_id(),
            reference_time: column(table.reference_time()),
            reference_time_index: column(table.reference_time_index()),
            time_of_flight: column_if(table.time_of_flight()),
            pixel_id: column_if(table.pixel_id()),
        };
        check_events(
            schema,
            message.reference_time,
            message.reference_time_index,
            message.time_of_flight,
            message.pixel_id,
        )?;
        Ok(message)
    }

    /// The pulses with the ranges of their events, in their order.
    pub fn pulses(&self) -> impl Iterator<Item = (i64, Range<usize>)> + use<'a> {
        pulses(self.reference_time, self.reference_time_index, self.time_of_flight.len())
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.time_of_flight.len()
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        self.reference_time.first().and_then(check::known)
    }
}

/// What holds in ev44, and in an44.
pub(crate) fn check_events(
    schema: Schema,
    reference_time: Column<'_, i64>,
    reference_time_index: Column<'_, i32>,
    time_of_flight: Column<'_, i32>,
    pixel_id: Column<'_, i32>,
) -> Result<(), Refused> {
    let events = time_of_flight.len();
    let pulses = ("reference_time", reference_time.len());
    check::equal_lengths(schema, ("reference_time_index", reference_time_index.len()), pulses)?;
    check::equal_if_given(schema, ("pixel_id", pixel_id.len()), ("time_of_flight", events))?;
    check::index(schema, "reference_time_index", reference_time_index, events)?;
    check::times(schema, "reference_time", reference_time)
}

/// Pulses with the ranges of their events.
pub(crate) fn pulses<'a>(
    times: Column<'a, i64>,
    index: Column<'a, i32>,
    events: usize,
) -> impl Iterator<Item = (i64, Range<usize>)> + use<'a> {
    let place = move |pulse| index.get(pulse).map_or(events, |first| usize::try_from(first).unwrap_or(0));
    times.iter().enumerate().map(move |(pulse, time)| (time, place(pulse)..place(pulse + 1)))
}

impl fmt::Display for Ev44<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, time) = (Text(self.source_name), Time(self.time_ns()));
        let (pulses, events) = (Count(self.reference_time.len(), "pulse"), Count(self.events(), "event"));
        write!(f, "{source} #{} {time} {pulses} {events}", self.message_id)
    }
}
