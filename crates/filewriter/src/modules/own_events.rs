//! Events as `evforge run --nexus` writes them (`"layout": "evforge"`): a record for every pulse, also for one without events; a
//! pulse that goes on in the next message is one record.
//!
//! Several sources may come into one group. Their messages follow each other as they come: where the source changes, a new
//! record begins, also for the same pulse.

use std::ops::RangeInclusive;

use evforge_messages::{Column, Message, Schema};
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event_vetoes::{Marks, Vetoes, WaitingMarks};
use super::events::{EventArrays, Events};
use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::settings::{Settings, wrong};
use crate::file::{ColumnId, ColumnPlan, Columns, ScalarId, ValueType};

/// Events with all their pulses.
#[derive(Debug)]
pub(super) struct OwnEvents {
    schemas: &'static [Schema],
    arrays: EventArrays,
    total_counts: ScalarId,
    /// Only events of these pixels; none for all.
    pixels: Option<RangeInclusive<i32>>,
    vetoes: Option<(ColumnId, Vetoes)>,
    state: State,
    kept: Kept,
}

/// What is kept over a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    events: u64,
    /// The pulse whose record was begun last.
    pulse: Option<OpenPulse>,
    /// Marks whose events are to come with the next message of their source.
    marks: WaitingMarks,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenPulse {
    source: String,
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
        let chunk_rows = settings.chunk_rows(1 << 20)?;
        // Cues are those of commits.
        settings.value(&["cue_interval"]);
        let pixels = settings.value(&["pixels"]).map(|(key, value)| pixels(key, value)).transpose()?;
        let names = settings.texts("vetoes")?.unwrap_or_default();
        let vetoes = if names.is_empty() { None } else { Some(Vetoes::new(names)?) };
        let arrays = EventArrays::open(columns, group, chunk_rows, "offset")?;
        let vetoes = match vetoes {
            None => None,
            Some(vetoes) => {
                let plan = ColumnPlan::values("event_veto", ValueType::U8, chunk_rows).large();
                let column = columns.column(group, &plan)?;
                super::places::attribute(columns, column, "bits", &vetoes.names())?;
                Some((column, vetoes))
            }
        };
        let total_counts = columns.scalar(group, "total_counts", 0_u64)?;
        if let Some(dataset) = columns.scalar_dataset(total_counts).filter(|_| !columns.is_reopened()) {
            set_attribute(dataset, "units", "counts")?;
        }
        let schemas = schemas[usize::from(vetoes.is_some())];
        let state = State { events: columns.rows(arrays.event_time_offset), ..State::default() };
        Ok(Self { schemas, arrays, total_counts, pixels, vetoes, state, kept: Kept::default() })
    }

    fn write_events(&mut self, events: &Events<'_>, marks: Option<&[u8]>, columns: &mut Columns) {
        self.kept.clear();
        let count = events.offsets.len();
        let mut pulses = events.pulses().peekable();
        while let Some((ns, first)) = pulses.next() {
            let kept = match &self.pixels {
                None => first as u64,
                Some(_) => self.kept.offsets.len() as u64,
            };
            self.begin(events.source, ns, self.state.events + kept, columns);
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
        self.arrays.extend(columns, offsets, pixels);
        if let Some((column, _)) = &self.vetoes {
            match marks {
                Some(marks) => columns.append(*column, marks),
                None => columns.repeat(*column, 0_u8, offsets.len()),
            }
        }
        self.state.events += offsets.len() as u64;
    }

    /// Begins the record of a pulse, unless it is the one that was begun last and goes on.
    fn begin(&mut self, source: &str, ns: i64, first_event: u64, columns: &mut Columns) {
        match &mut self.state.pulse {
            Some(open) if open.ns == ns && open.source == source => return,
            Some(open) => {
                if open.source != source {
                    source.clone_into(&mut open.source);
                }
                (open.ns, open.first_event, open.has_cue) = (ns, first_event, false);
            }
            none => {
                *none = Some(OpenPulse { source: source.to_owned(), ns, first_event, has_cue: false });
            }
        }
        self.arrays.begin(columns, ns, first_event);
    }
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
        NotWritten::unless_of(self.schemas, message)?;
        if let (Message::Da00(array), Some((_, vetoes))) = (message, &self.vetoes) {
            // Whatever it says: those before it belong to no message that is still to come.
            self.state.marks.take(array.source_name);
            self.state.marks.put(vetoes.marks(array)?);
            return Ok(());
        }
        let events = Events::of(message)?;
        let marks = self.state.marks.take(events.source);
        let marks = marks.filter(|marks| marks.belong_to(events.message_id, events.offsets.len()));
        self.write_events(&events, marks.as_ref().map(Marks::bytes), columns);
        Ok(())
    }

    fn before_commit(&mut self, columns: &mut Columns) {
        if let Some(open) = self.state.pulse.as_mut().filter(|open| !open.has_cue) {
            open.has_cue = true;
            self.arrays.cues.push(columns, open.first_event, open.ns);
        }
        columns.set(self.total_counts, self.state.events);
    }

    fn close(&mut self, columns: &mut Columns) {
        self.before_commit(columns);
    }

    fn events(&self) -> u64 {
        self.state.events
    }

    fn save(&self, into: &mut Vec<u8>) {
        saved(&self.state, into);
    }

    fn restore(&mut self, state: Value) -> Result<(), String> {
        self.state = restored(state)?;
        Ok(())
    }
}
