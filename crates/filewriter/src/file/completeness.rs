//! What the file says of its own completeness: a row for each source, and one for each gap.
//!
//! The columns are in `completeness`, `completeness/gaps` and `completeness/topics` of our own group. Their rows are written with the last
//! commit.

use super::columns::{ColumnId, ColumnPlan, Columns};
use super::value_type::ValueType;
use evforge_stream::storage::dataset::{class, mark_as_time};
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::{Group, Result};
use serde::{Deserialize, Serialize};

/// Rooms for names.
const NAME_ROOM: usize = 128;
const PATH_ROOM: usize = 256;
const MODULE_ROOM: usize = 16;
const CHANGE_ROOM: usize = 512;
const CHUNK_ROWS: usize = 8;

/// What is said of a source of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// Its name.
    pub source: String,
    /// Its topic.
    pub topic: String,
    /// The module.
    pub module: String,
    /// Where the module writes.
    pub path: String,
    /// Messages by what became of them, in the order of [`SOURCE_COUNTS`].
    pub counts: [u64; SOURCE_COUNTS.len()],
    /// Times of the first and of the last message written, nanoseconds since 1970; -1 if there is none.
    pub times: [i64; 2],
    /// Numbers of the first and of the last message; -1 if they have none.
    pub ids: [i64; 2],
}

/// What is counted for each source, with a sentence.
pub const SOURCE_COUNTS: [(&str, &str); 15] = [
    ("messages_read", "Messages of this source for this module."),
    ("messages_written", "Those whose rows are here."),
    ("messages_before_start", "Left out: data from before the start of the run."),
    (
        "messages_superseded",
        "Left out: from before the start, and a newer value from before the start is here.",
    ),
    ("messages_after_stop", "Left out: data from after the end of the run."),
    ("messages_repeated", "Left out: the time of the message before."),
    ("messages_duplicated", "Left out: the same number and the same bytes as a message before."),
    ("messages_not_written", "Left out: a value, a shape or a size that the module does not write."),
    ("messages_unordered", "Written, with data from before those of the message before."),
    ("messages_missing", "Numbers between the first and the last that have not come."),
    ("messages_late", "Messages whose number had been missing."),
    ("producer_restarts", "How often the source began to count again."),
    ("events", "Events written."),
    (
        "pulses_missed_at_end",
        "Pulses that other sources of the topic had after the last message of this one.",
    ),
    (
        "messages_held",
        "0, unless the writer was ended early: a value from before the start that is not here.",
    ),
];

/// What is said of a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRow {
    /// The row of its source.
    pub source: i32,
    /// Times of the last message before and of the first one behind; the end of the run where there is none.
    pub times: [i64; 2],
    /// Numbers of these messages; -1 where there is none.
    pub ids: [i64; 2],
    /// Messages that are missing; -1 where nobody knows.
    pub messages: i64,
    /// Pulses that other sources of the topic had meanwhile; -1 where that was not counted.
    pub pulses: i64,
}

/// The columns.
#[derive(Debug)]
pub struct Completeness {
    names: [ColumnId; 4],
    counts: Vec<ColumnId>,
    times: [ColumnId; 2],
    ids: [ColumnId; 2],
    gap_source: ColumnId,
    gap_times: [ColumnId; 2],
    gap_numbers: [ColumnId; 4],
    change: ColumnId,
}

impl Completeness {
    /// Makes, or opens, the columns.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn open(own: &Group, columns: &mut Columns) -> Result<Self> {
        let group = sub_group(own, "completeness", columns)?;
        let gaps = sub_group(&group, "gaps", columns)?;
        let text = |columns: &mut Columns, name: &str, room: usize| {
            columns.column(&group, &ColumnPlan::values(name, ValueType::Text(room), CHUNK_ROWS))
        };
        let names = [
            text(columns, "source", NAME_ROOM)?,
            text(columns, "topic", NAME_ROOM)?,
            text(columns, "module", MODULE_ROOM)?,
            text(columns, "path", PATH_ROOM)?,
        ];
        let mut counts = Vec::with_capacity(SOURCE_COUNTS.len());
        for (name, help) in SOURCE_COUNTS {
            let id = number(&group, name, columns)?;
            describe(id, help, columns)?;
            counts.push(id);
        }
        let times = [time(&group, "first_time", columns)?, time(&group, "last_time", columns)?];
        let ids = [number(&group, "first_message_id", columns)?, number(&group, "last_message_id", columns)?];
        let gap_source = columns.column(&gaps, &ColumnPlan::values("source", ValueType::I32, CHUNK_ROWS))?;
        describe(gap_source, "The row of the source in the group above.", columns)?;
        let gap_times = [time(&gaps, "from_time", columns)?, time(&gaps, "to_time", columns)?];
        let mut gap_numbers = [gap_source; 4];
        for (id, (name, help)) in gap_numbers.iter_mut().zip([
            ("after_message_id", "The number of the message before; -1 where messages have none."),
            ("before_message_id", "The number of the message behind; -1 where none came."),
            ("messages_missing", "Numbers between the two; -1 where nobody knows."),
            (
                "pulses_missed",
                "Pulses that other sources of the topic had meanwhile; -1 where that was not counted.",
            ),
        ]) {
            *id = number(&gaps, name, columns)?;
            describe(*id, help, columns)?;
        }
        let topics = sub_group(&group, "topics", columns)?;
        let change = columns
            .column(&topics, &ColumnPlan::values("change", ValueType::Text(CHANGE_ROOM), CHUNK_ROWS))?;
        describe(change, "What happened to topics while they were read.", columns)?;
        Ok(Self { names, counts, times, ids, gap_source, gap_times, gap_numbers, change })
    }

    /// Says it of a source.
    pub fn push_source(&self, row: &SourceRow, columns: &mut Columns) {
        let texts = [
            (&row.source, NAME_ROOM),
            (&row.topic, NAME_ROOM),
            (&row.module, MODULE_ROOM),
            (&row.path, PATH_ROOM),
        ];
        for (id, (text, room)) in self.names.into_iter().zip(texts) {
            columns.push_text(id, text, room);
        }
        for (id, count) in self.counts.iter().zip(row.counts) {
            columns.push(*id, whole(count));
        }
        for (id, value) in self.times.into_iter().chain(self.ids).zip(row.times.into_iter().chain(row.ids)) {
            columns.push(id, value);
        }
    }

    /// Says it of a gap.
    pub fn push_gap(&self, row: &GapRow, columns: &mut Columns) {
        columns.push(self.gap_source, row.source);
        for (id, value) in self.gap_times.into_iter().zip(row.times) {
            columns.push(id, value);
        }
        let numbers = [row.ids[0], row.ids[1], row.messages, row.pulses];
        for (id, value) in self.gap_numbers.into_iter().zip(numbers) {
            columns.push(id, value);
        }
    }

    /// Says what happened to a topic.
    pub fn push_change(&self, change: &str, columns: &mut Columns) {
        columns.push_text(self.change, change, CHANGE_ROOM);
    }
}

fn sub_group(parent: &Group, name: &str, columns: &Columns) -> Result<Group> {
    if columns.is_reopened() { parent.group(name) } else { class(parent, name, "NXcollection") }
}

fn number(group: &Group, name: &str, columns: &mut Columns) -> Result<ColumnId> {
    columns.column(group, &ColumnPlan::values(name, ValueType::I64, CHUNK_ROWS))
}

fn time(group: &Group, name: &str, columns: &mut Columns) -> Result<ColumnId> {
    let id = number(group, name, columns)?;
    match columns.dataset(id) {
        Some(dataset) if !columns.is_reopened() => mark_as_time(dataset, "start")?,
        _ => {}
    }
    Ok(id)
}

fn describe(id: ColumnId, help: &str, columns: &Columns) -> Result<()> {
    match columns.dataset(id) {
        Some(dataset) if !columns.is_reopened() => set_attribute(dataset, "description", help),
        _ => Ok(()),
    }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
