//! Events as `evforge run --nexus` writes them (`"layout": "evforge"`): a record for every pulse, also for one without events; a
//! pulse that goes on in the next message is one record.
//!
//! Several sources may come into one group: a pulse that more than one of them has is one record, if they come in the order of pulses.

use std::ops::{Range, RangeInclusive};

use evforge_messages::{Column, Message, Schema};
use evforge_stream::nexus::EVENTS_LATE;
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event_vetoes::{Vetoes, WaitingMarks};
use super::events::{EventArrays, Events, LateEvents, total_counts};
use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{Cues, EVENT_ROWS, attribute};
use super::settings::{Settings, wrong};
use crate::file::{ColumnId, ColumnPlan, Columns, ScalarId, ValueType};

/// Events with all their pulses.
#[derive(Debug)]
pub(super) struct OwnEvents {
    schemas: &'static [Schema],
    arrays: EventArrays,
    cues: Cues,
    late: Option<LateEvents>,
    total_counts: ScalarId,
    /// Only events of these pixels; none for all.
    pixels: Option<RangeInclusive<i32>>,
    vetoes: Option<Vetoes>,
    /// Marks of events, and of late ones.
    marks: [Option<ColumnId>; 2],
    state: State,
    kept: Kept,
}

/// What is kept over a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    events: u64,
    /// The pulse whose record was begun last.
    pulse: Option<OpenPulse>,
    events_late: u64,
    /// The same of late events.
    late_ns: Option<i64>,
    /// Marks whose events are to come with the next message of their source.
    marks: WaitingMarks,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenPulse {
    ns: i64,
    first_event: u64,
    has_cue: bool,
}

/// Events of some pixels of a message; the memory is kept from message to message.
#[derive(Debug, Default)]
struct Kept {
    pixels: Vec<i32>,
    offsets: Vec<i32>,
    marks: Vec<u8>,
}

impl OwnEvents {
    /// `schemas` are those of the events, and of the events and da00.
    pub(super) fn open(
        schemas: [&'static [Schema]; 2],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(EVENT_ROWS)?;
        // Cues are those of commits.
        settings.value(&["cue_interval"]);
        let pixels = settings.value(&["pixels"]).map(|(key, value)| pixels(key, value)).transpose()?;
        let names = settings.texts("vetoes")?.unwrap_or_default();
        let vetoes = if names.is_empty() { None } else { Some(Vetoes::new(names)?) };
        let arrays = EventArrays::open(columns, group, chunk_rows, "offset")?;
        let cues = Cues::open(columns, group, chunk_rows)?;
        let of_events =
            vetoes.as_ref().map(|vetoes| marks(columns, group, chunk_rows, vetoes)).transpose()?;
        let total_counts = total_counts(columns, group)?;
        let late = LateEvents::open(columns, group, "offset")?;
        let of_late = match (&vetoes, &late) {
            (Some(vetoes), Some(_)) => {
                Some(marks(columns, &group.group(EVENTS_LATE)?, LateEvents::CHUNK_ROWS, vetoes)?)
            }
            _ => None,
        };
        let schemas = schemas[usize::from(vetoes.is_some())];
        let state = State { events: arrays.events(columns), ..State::default() };
        let (marks, kept) = ([of_events, of_late], Kept::default());
        Ok(Self { schemas, arrays, cues, late, total_counts, pixels, vetoes, marks, state, kept })
    }

    /// Writes the events of a part of a message, which has as many marks, if any.
    fn write_events(
        &mut self,
        events: &Events<'_>,
        marks: Option<&[u8]>,
        is_late: bool,
        columns: &mut Columns,
    ) {
        let is_late = is_late && self.late.is_some();
        self.kept.clear();
        let count = events.offsets.len();
        let mut pulses = events.pulses().peekable();
        while let Some((ns, first)) = pulses.next() {
            let kept = match &self.pixels {
                None => first as u64,
                Some(_) => self.kept.offsets.len() as u64,
            };
            self.begin(ns, kept, is_late, columns);
            if let Some(wanted) = &self.pixels {
                let end = pulses.peek().map_or(count, |(_, next)| *next);
                self.kept.take(events, marks, first..end, wanted);
            }
        }
        let (pixels, offsets, marks) = match &self.pixels {
            None => (events.pixels(), events.offsets, marks),
            Some(_) => {
                let Kept { pixels, offsets, marks: kept } = &self.kept;
                (Some(Column::from(pixels)), Column::from(offsets), marks.map(|_| &kept[..]))
            }
        };
        let (arrays, count) = match &self.late {
            Some(late) if is_late => (&late.arrays, &mut self.state.events_late),
            _ => (&self.arrays, &mut self.state.events),
        };
        arrays.extend(columns, offsets, pixels);
        *count += offsets.len() as u64;
        if let Some(column) = self.marks[usize::from(is_late)] {
            match marks {
                Some(marks) => columns.append(column, marks),
                None => columns.repeat(column, 0_u8, offsets.len()),
            }
        }
    }

    /// Begins the record of a pulse, unless it is the one that was begun last and goes on. `before` are events of its message before it.
    fn begin(&mut self, ns: i64, before: u64, is_late: bool, columns: &mut Columns) {
        let State { events, pulse, events_late, late_ns, .. } = &mut self.state;
        match &self.late {
            Some(late) if is_late => {
                if late_ns.replace(ns) != Some(ns) {
                    late.arrays.begin(columns, ns, *events_late + before);
                }
            }
            _ => {
                if pulse.is_none_or(|open| open.ns != ns) {
                    let first_event = *events + before;
                    *pulse = Some(OpenPulse { ns, first_event, has_cue: false });
                    self.arrays.begin(columns, ns, first_event);
                }
            }
        }
    }
}

/// The column of marks, which says what its bits are.
fn marks(
    columns: &mut Columns,
    group: &Group,
    chunk_rows: usize,
    vetoes: &Vetoes,
) -> Result<ColumnId, ModuleError> {
    let plan = ColumnPlan::values("event_veto", ValueType::U8, chunk_rows).large();
    let column = columns.column(group, &plan)?;
    attribute(columns, column, "bits", &vetoes.names())?;
    Ok(column)
}

impl Kept {
    fn clear(&mut self) {
        self.pixels.clear();
        self.offsets.clear();
        self.marks.clear();
    }

    /// Takes the events of a range that have one of the wanted pixels.
    fn take(
        &mut self,
        events: &Events<'_>,
        marks: Option<&[u8]>,
        range: std::ops::Range<usize>,
        wanted: &RangeInclusive<i32>,
    ) {
        let pixels = events.pixels().and_then(|pixels| pixels.range(range.clone()));
        let (Some(pixels), Some(offsets)) = (pixels, events.offsets.range(range.clone())) else { return };
        let marks = marks.and_then(|marks| marks.get(range)).unwrap_or_default();
        let marks = marks.iter().copied().chain(std::iter::repeat(0));
        for ((pixel, offset), mark) in pixels.iter().zip(offsets).zip(marks) {
            if wanted.contains(&pixel) {
                self.pixels.push(pixel);
                self.offsets.push(offset);
                self.marks.push(mark);
            }
        }
    }
}

/// The first and the last pixel.
fn pixels(key: &str, value: &Value) -> Result<RangeInclusive<i32>, ModuleError> {
    let pixel = |value: &Value| value.as_i64().and_then(|pixel| i32::try_from(pixel).ok());
    let ends = value.as_array().and_then(|ends| match &ends[..] {
        [first, last] => Some((pixel(first)?, pixel(last)?)),
        _ => None,
    });
    match ends {
        Some((first, last)) if 0 <= first && first <= last => Ok(first..=last),
        _ => Err(wrong(key, value, "a list with the first and the last pixel")),
    }
}

impl Module for OwnEvents {
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
        if let (Message::Da00(array), Some(vetoes)) = (message, &self.vetoes) {
            // Whatever it says: those before it belong to no message that is still to come.
            self.state.marks.take(array.source_name);
            self.state.marks.put(vetoes.marks(array)?);
            return Ok(());
        }
        let events = Events::of(message)?;
        let marks = self.state.marks.take(events.source);
        let is_last = pulses.end >= events.pulse_count();
        let marks = marks.filter(|marks| marks.belong_to(events.message_id, events.offsets.len()));
        let mut newest = self.state.pulse.map(|pulse| pulse.ns);
        for (part, is_late) in events.part(pulses).by_order(&mut newest) {
            let of_part = part.begin..part.begin + part.offsets.len();
            let marks = marks.as_ref().and_then(|marks| marks.bytes().get(of_part));
            self.write_events(&part, marks, is_late, columns);
        }
        if let Some(marks) = marks.filter(|_| !is_last) {
            self.state.marks.put(marks);
        }
        Ok(())
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        if let Some(open) = self.state.pulse.as_mut().filter(|open| !open.has_cue) {
            open.has_cue = true;
            self.cues.push(columns, open.first_event, open.ns);
        }
        columns.set(self.total_counts, self.state.events);
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

    fn restore(&mut self, state: Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
