//! Events as the file writer of the ESS writes them: the columns of messages behind each other.

use evforge_messages::{Column, Ev42, Ev44, Message, Schema};
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};

use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{Cues, MOST_SLOW_ROWS, attribute, times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Events of a message, whatever its schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events<'m> {
    pub(super) source: &'m str,
    pub(super) message_id: i64,
    /// Pulses, and the first event of each. A message of ev42 has one.
    times: Times<'m>,
    pub(super) offsets: Column<'m, i32>,
    /// As many as events.
    pixels: Column<'m, i32>,
}

#[derive(Clone, Copy, Debug)]
enum Times<'m> {
    One(i64),
    Many(Column<'m, i64>, Column<'m, i32>),
}

impl<'m> Events<'m> {
    /// The events of a message.
    pub(super) fn of(message: &Message<'m>) -> Result<Self, NotWritten> {
        let events = match message {
            Message::Ev44(Ev44 {
                source_name,
                message_id,
                reference_time,
                reference_time_index,
                time_of_flight,
                pixel_id,
            }) => Self {
                source: source_name,
                message_id: *message_id,
                times: Times::Many(*reference_time, *reference_time_index),
                offsets: *time_of_flight,
                pixels: *pixel_id,
            },
            Message::Ev42(Ev42 {
                source_name, message_id, pulse_time, time_of_flight, detector_id, ..
            }) => Self {
                source: source_name.unwrap_or_default(),
                message_id: message_id.cast_signed(),
                times: Times::One(i64::try_from(*pulse_time).unwrap_or(i64::MAX)),
                offsets: same_bits(*time_of_flight),
                pixels: same_bits(*detector_id),
            },
            other => return Err(NotWritten::schema(other)),
        };
        events.checked()
    }

    /// What decoding has checked, for messages that come from elsewhere.
    fn checked(self) -> Result<Self, NotWritten> {
        let events = self.offsets.len();
        if !self.pixels.is_empty() && self.pixels.len() != events {
            return Err(NotWritten::shape(format!("{} pixels for {events} events", self.pixels.len())));
        }
        if let Times::Many(times, index) = self.times {
            let mut before = 0;
            let is_sound = times.len() == index.len()
                && (index.first() == Some(0) || (index.is_empty() && events == 0))
                && index.iter().all(|first| {
                    let is_next =
                        first >= before && usize::try_from(first).is_ok_and(|first| first <= events);
                    before = first;
                    is_next
                });
            if !is_sound {
                return Err(NotWritten::shape("an index of pulses that is not that of its events"));
            }
        }
        Ok(self)
    }

    /// Pulses with the number of their first event.
    pub(super) fn pulses(&self) -> impl Iterator<Item = (i64, usize)> + use<'m> {
        let (one, many) = match self.times {
            Times::One(time) => (Some((time, 0)), None),
            Times::Many(times, index) => (None, Some(times.iter().zip(index))),
        };
        let many = many.into_iter().flatten();
        one.into_iter().chain(many.map(|(time, first)| (time, usize::try_from(first).unwrap_or(0))))
    }

    /// The pixel of each event; none if the source has no pixels.
    pub(super) fn pixels(&self) -> Option<Column<'m, i32>> {
        (self.pixels.len() == self.offsets.len()).then_some(self.pixels)
    }
}

/// Times and pixels of ev42 are unsigned, and signed in files: the same bits.
fn same_bits(column: Column<'_, u32>) -> Column<'_, i32> {
    match column.as_slice() {
        Some(values) => Column::from(values),
        None => column.le_bytes().map(Column::from_le_bytes).unwrap_or_default(),
    }
}

/// The arrays of a group of class NXevent_data.
#[derive(Debug)]
pub(super) struct EventArrays {
    pub(super) event_id: ColumnId,
    pub(super) event_time_offset: ColumnId,
    pub(super) event_time_zero: ColumnId,
    pub(super) event_index: ColumnId,
    pub(super) cues: Cues,
}

impl EventArrays {
    /// `origin` is the attribute of `event_time_zero` with the epoch.
    pub(super) fn open(
        columns: &mut Columns,
        group: &Group,
        chunk_rows: usize,
        origin: &str,
    ) -> hdf5_metno::Result<Self> {
        let values = |name| ColumnPlan::values(name, ValueType::I32, chunk_rows).large();
        let pulses = chunk_rows.min(MOST_SLOW_ROWS);
        let event_id = columns.column(group, &values("event_id"))?;
        let event_time_offset = columns.column(group, &values("event_time_offset"))?;
        attribute(columns, event_time_offset, "units", "ns")?;
        let zero = ColumnPlan::values("event_time_zero", ValueType::U64, pulses);
        let event_time_zero = times(columns, group, &zero, origin)?;
        let index = ColumnPlan::values("event_index", ValueType::I64, pulses);
        let event_index = columns.column(group, &index)?;
        let cues = Cues::open(columns, group, chunk_rows)?;
        Ok(Self { event_id, event_time_offset, event_time_zero, event_index, cues })
    }

    /// Begins the record of a pulse whose first event has this number.
    pub(super) fn begin(&self, columns: &mut Columns, ns: i64, first_event: u64) {
        columns.push(self.event_time_zero, unsigned(ns));
        columns.push(self.event_index, i64::try_from(first_event).unwrap_or(i64::MAX));
    }

    /// Appends events; those without pixel get 0, which is no pixel.
    pub(super) fn extend(
        &self,
        columns: &mut Columns,
        offsets: Column<'_, i32>,
        pixels: Option<Column<'_, i32>>,
    ) {
        columns.extend(self.event_time_offset, offsets);
        match pixels {
            Some(pixels) => columns.extend(self.event_id, pixels),
            None => columns.repeat(self.event_id, 0_i32, offsets.len()),
        }
    }
}

/// Events behind each other, a record for each reference time, nothing of messages without events.
#[derive(Debug)]
pub(super) struct ReferenceEvents {
    schemas: &'static [Schema],
    arrays: EventArrays,
    cue_interval: u64,
    state: State,
}

/// What is kept over a restart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    events: u64,
    last_cue: u64,
}

impl ReferenceEvents {
    pub(super) fn open(
        schemas: &'static [Schema],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(1 << 20)?;
        let cue_interval = settings.cue_interval(100_000_000)?;
        let arrays = EventArrays::open(columns, group, chunk_rows, "start")?;
        let state = State { events: columns.rows(arrays.event_time_offset), last_cue: 0 };
        Ok(Self { schemas, arrays, cue_interval, state })
    }
}

impl Module for ReferenceEvents {
    fn schemas(&self) -> &'static [Schema] {
        self.schemas
    }

    fn rule(&self) -> WindowRule {
        WindowRule::EVENTS
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        NotWritten::unless_of(self.schemas, message)?;
        let events = Events::of(message)?;
        let Some(last_offset) = events.offsets.last() else { return Ok(()) };
        let mut last_pulse = 0;
        for (time, first) in events.pulses() {
            self.arrays.begin(columns, time, self.state.events + first as u64);
            last_pulse = time;
        }
        self.arrays.extend(columns, events.offsets, events.pixels());
        self.state.events += events.offsets.len() as u64;
        if self.state.events > self.state.last_cue.saturating_add(self.cue_interval) {
            self.state.last_cue = self.state.events - 1;
            let last = last_pulse.saturating_add(last_offset.into());
            self.arrays.cues.push(columns, self.state.last_cue, last);
        }
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}

    fn events(&self) -> u64 {
        self.state.events
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
