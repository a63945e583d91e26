//! Events as the file writer of the ESS writes them: the columns of messages behind each other, in the order of pulses.

use std::ops::Range;

use evforge_messages::{Column, Ev42, Ev44, Message, Schema};
use evforge_stream::nexus::{EVENTS_LATE, EVENTS_LATE_NOTE};
use evforge_stream::storage::dataset::class;
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};

use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{Cues, EVENT_ROWS, MOST_SLOW_ROWS, attribute, times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ScalarId, ValueType};

/// Events of a message, whatever its schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events<'m> {
    pub(super) source: &'m str,
    pub(super) message_id: i64,
    /// Pulses, and the first event of each. A message of ev42 has one.
    times: Times<'m>,
    /// The number of its first event in the message.
    pub(super) begin: usize,
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
                begin: 0,
                offsets: *time_of_flight,
                pixels: *pixel_id,
            },
            Message::Ev42(Ev42 {
                source_name, message_id, pulse_time, time_of_flight, detector_id, ..
            }) => Self {
                source: source_name.unwrap_or_default(),
                message_id: message_id.cast_signed(),
                times: Times::One(i64::try_from(*pulse_time).unwrap_or(i64::MAX)),
                begin: 0,
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
        let (many, begin) = (many.into_iter().flatten(), self.begin);
        let first = move |first| usize::try_from(first).unwrap_or(0).saturating_sub(begin);
        one.into_iter().chain(many.map(move |(time, number)| (time, first(number))))
    }

    /// How many pulses there are.
    pub(super) fn pulse_count(&self) -> usize {
        match self.times {
            Times::One(_) => 1,
            Times::Many(times, _) => times.len(),
        }
    }

    /// The events of some of the pulses.
    pub(super) fn part(&self, pulses: Range<usize>) -> Self {
        let pulses = pulses.start..pulses.end.min(self.pulse_count());
        let Times::Many(times, index) = self.times else { return *self };
        let first = |pulse: usize| match index.get(pulse) {
            Some(first) if pulse > 0 => usize::try_from(first).unwrap_or(0).saturating_sub(self.begin),
            Some(_) => 0,
            None => self.offsets.len(),
        };
        let events = first(pulses.start)..first(pulses.end);
        Self {
            times: Times::Many(
                times.range(pulses.clone()).unwrap_or_default(),
                index.range(pulses).unwrap_or_default(),
            ),
            begin: self.begin + events.start,
            offsets: self.offsets.range(events.clone()).unwrap_or_default(),
            pixels: self.pixels.range(events).unwrap_or_default(),
            ..*self
        }
    }

    /// Cut where pulses that are earlier than the newest one begin or end: the parts, and whether they are late.
    pub(super) fn by_order(self, newest: &mut Option<i64>) -> Vec<(Self, bool)> {
        let mut cuts: Vec<(usize, bool)> = Vec::new();
        for (pulse, (time, _)) in self.pulses().enumerate() {
            let is_late = newest.is_some_and(|newest| time < newest);
            if !is_late {
                *newest = Some(time);
            }
            if cuts.last().is_none_or(|(_, before)| *before != is_late) {
                cuts.push((pulse, is_late));
            }
        }
        match cuts[..] {
            // Nearly always.
            [] => vec![(self, false)],
            [(_, is_late)] => vec![(self, is_late)],
            _ => {
                let ends = cuts.iter().skip(1).map(|(pulse, _)| *pulse).chain([usize::MAX]);
                cuts.iter().zip(ends).map(|((from, is_late), to)| (self.part(*from..to), *is_late)).collect()
            }
        }
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

/// The start of each pulse of a message of events, nanoseconds since 1970; none of other messages, and of those that no module writes.
pub fn pulse_times(message: &Message<'_>) -> Option<Vec<i64>> {
    Some(Events::of(message).ok()?.pulses().map(|(time, _)| time).collect())
}

/// The arrays of events with their pulses.
#[derive(Debug)]
pub(super) struct EventArrays {
    pub(super) event_id: ColumnId,
    pub(super) event_time_offset: ColumnId,
    event_time_zero: ColumnId,
    event_index: ColumnId,
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
        Ok(Self { event_id, event_time_offset, event_time_zero, event_index })
    }

    /// Events in them.
    pub(super) fn events(&self, columns: &Columns) -> u64 {
        columns.rows(self.event_time_offset)
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

/// The group, in that of a module, of events whose pulse is earlier than the newest one before them.
#[derive(Debug)]
pub(super) struct LateEvents {
    pub(super) arrays: EventArrays,
    total_counts: ScalarId,
}

impl LateEvents {
    /// Rows of a chunk: nearly always there are none.
    pub(super) const CHUNK_ROWS: usize = 4096;

    /// None in a file that a version before has begun.
    pub(super) fn open(columns: &mut Columns, of: &Group, origin: &str) -> hdf5_metno::Result<Option<Self>> {
        let group = if of.link_exists(EVENTS_LATE) {
            of.group(EVENTS_LATE)?
        } else if columns.is_reopened() && !columns.is_counting() {
            return Ok(None);
        } else {
            let group = class(of, EVENTS_LATE, "NXcollection")?;
            set_attribute(&group, "note", EVENTS_LATE_NOTE)?;
            group
        };
        let arrays = EventArrays::open(columns, &group, Self::CHUNK_ROWS, origin)?;
        let total_counts = total_counts(columns, &group)?;
        Ok(Some(Self { arrays, total_counts }))
    }

    /// Says how many there are.
    pub(super) fn before_commit(late: Option<&Self>, events: u64, columns: &mut Columns) {
        if let Some(late) = late {
            columns.set(late.total_counts, events);
        }
    }
}

/// The number of events of a group.
pub(super) fn total_counts(columns: &mut Columns, group: &Group) -> hdf5_metno::Result<ScalarId> {
    let id = columns.scalar(group, "total_counts", 0_u64)?;
    if let Some(dataset) = columns.scalar_dataset(id).filter(|_| !columns.is_reopened()) {
        set_attribute(dataset, "units", "counts")?;
    }
    Ok(id)
}

/// Events behind each other, a record for each reference time, nothing of messages without events.
#[derive(Debug)]
pub(super) struct ReferenceEvents {
    schemas: &'static [Schema],
    arrays: EventArrays,
    late: Option<LateEvents>,
    cues: Cues,
    cue_interval: u64,
    state: State,
}

/// What is kept over a restart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    events: u64,
    last_cue: u64,
    /// The newest pulse.
    newest_ns: Option<i64>,
    events_late: u64,
}

impl ReferenceEvents {
    pub(super) fn open(
        schemas: &'static [Schema],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(EVENT_ROWS)?;
        let cue_interval = settings.cue_interval(100_000_000)?;
        let arrays = EventArrays::open(columns, group, chunk_rows, "start")?;
        let cues = Cues::open(columns, group, chunk_rows)?;
        let late = LateEvents::open(columns, group, "start")?;
        let state = State { events: arrays.events(columns), ..State::default() };
        Ok(Self { schemas, arrays, late, cues, cue_interval, state })
    }

    fn write_events(&mut self, events: &Events<'_>, is_late: bool, columns: &mut Columns) {
        let (arrays, count) = match &self.late {
            Some(late) if is_late => (&late.arrays, &mut self.state.events_late),
            _ => (&self.arrays, &mut self.state.events),
        };
        let mut last_pulse = 0;
        for (time, first) in events.pulses() {
            arrays.begin(columns, time, *count + first as u64);
            last_pulse = time;
        }
        arrays.extend(columns, events.offsets, events.pixels());
        *count += events.offsets.len() as u64;
        if self.state.events > self.state.last_cue.saturating_add(self.cue_interval) {
            self.state.last_cue = self.state.events - 1;
            let last_offset = events.offsets.last().unwrap_or(0);
            self.cues.push(columns, self.state.last_cue, last_pulse.saturating_add(last_offset.into()));
        }
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
        self.write_pulses(message, 0..usize::MAX, columns)
    }

    fn write_pulses(
        &mut self,
        message: &Message<'_>,
        pulses: Range<usize>,
        columns: &mut Columns,
    ) -> Result<(), NotWritten> {
        NotWritten::unless_of(self.schemas, message)?;
        let events = Events::of(message)?;
        if !events.offsets.is_empty() {
            for (part, is_late) in events.part(pulses).by_order(&mut self.state.newest_ns) {
                self.write_events(&part, is_late, columns);
            }
        }
        Ok(())
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        LateEvents::before_commit(self.late.as_ref(), self.state.events_late, columns);
    }

    fn close(&mut self, columns: &mut Columns) {
        self.before_commit(columns);
    }

    fn events(&self) -> u64 {
        self.state.events + self.state.events_late
    }

    fn events_late(&self) -> u64 {
        self.state.events_late
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
