//! What the groups of several modules have in common: attributes, columns of times, cues.

use evforge_stream::storage::dataset::mark_as_time;
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::{Group, Result};

use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};
use crate::structure::StreamModule;

/// Rows at most in a chunk of arrays that have one row for many of another, or that grow slowly. A chunk takes its whole place from
/// its first row on: a minute of pulses needs no 128 KiB.
pub(super) const MOST_SLOW_ROWS: usize = 256;

/// Events in a chunk, unless the structure says something else: a short run must not take megabytes for a few thousand of them.
pub(super) const EVENT_ROWS: usize = 8 << 10;

/// Says whose values are in the group of a module. What the structure says itself stays as it is.
pub(super) fn describe(group: &Group, module: &StreamModule, columns: &Columns) -> Result<()> {
    if columns.is_reopened() {
        return Ok(());
    }
    for (name, text) in [
        ("NX_class", module.nexus_class()),
        ("topic", &module.topic),
        ("source", &module.sources.join("\n")),
        ("writer_module", module.kind.name()),
    ] {
        if group.attr(name).is_err() {
            set_attribute(group, name, text)?;
        }
    }
    Ok(())
}

/// A column of times, in nanoseconds since 1970; `origin` is the name of the attribute that says so.
pub(super) fn times(
    columns: &mut Columns,
    group: &Group,
    plan: &ColumnPlan<'_>,
    origin: &str,
) -> Result<ColumnId> {
    let id = columns.column(group, plan)?;
    if !columns.is_reopened()
        && let Some(dataset) = columns.dataset(id)
    {
        mark_as_time(dataset, origin)?;
    }
    Ok(id)
}

/// The column `time` of a log.
pub(super) fn log_times(columns: &mut Columns, group: &Group, chunk_rows: usize) -> Result<ColumnId> {
    times(columns, group, &ColumnPlan::values("time", ValueType::U64, chunk_rows), "start")
}

/// Gives the dataset of a column an attribute, unless it has it from before a restart, or the text is empty.
pub(super) fn attribute(columns: &Columns, id: ColumnId, name: &str, text: &str) -> Result<()> {
    match columns.dataset(id) {
        Some(dataset) if !columns.is_reopened() && !text.is_empty() => set_attribute(dataset, name, text),
        _ => Ok(()),
    }
}

/// A time of a message as the files have it; what is before 1970 is 0, which no message has after the checks.
pub(super) fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

/// The arrays by which a reader finds a time without reading all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cues {
    index: ColumnId,
    time: ColumnId,
}

impl Cues {
    pub(super) fn open(columns: &mut Columns, group: &Group, chunk_rows: usize) -> Result<Self> {
        let rows = chunk_rows.min(MOST_SLOW_ROWS);
        let index = columns.column(group, &ColumnPlan::values("cue_index", ValueType::I64, rows))?;
        let time = ColumnPlan::values("cue_timestamp_zero", ValueType::I64, rows);
        Ok(Self { index, time: times(columns, group, &time, "start")? })
    }

    /// Says that the row with this number belongs to this time.
    pub(super) fn push(&self, columns: &mut Columns, row: u64, ns: i64) {
        columns.push(self.index, i64::try_from(row).unwrap_or(i64::MAX));
        columns.push(self.time, ns);
    }
}

/// Rows of a chunk that is to have so many values: at least one, and no more than a mebibyte where rows are shorter than that.
pub(super) fn chunk_of_rows(chunk_values: usize, row: &[usize], of: ValueType) -> usize {
    const BYTES: usize = 1 << 20;
    let values: usize = row.iter().product::<usize>().max(1);
    (chunk_values / values).min(BYTES / (values * of.size().max(1))).max(1)
}
