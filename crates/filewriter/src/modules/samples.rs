//! se00 and senv: samples that come many at a time, fast ones of the sample environment.

use evforge_messages::{Array, Column, Message, Schema};
use hdf5_metno::Group;

use super::dtype::extend;
use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{Cues, log_times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Samples with the time of each.
#[derive(Debug)]
pub(super) struct Samples {
    schemas: &'static [Schema],
    value_type: ValueType,
    value: ColumnId,
    time: ColumnId,
    cues: Cues,
    scratch: Vec<u8>,
}

impl Samples {
    pub(super) fn open(
        schemas: &'static [Schema],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let value_type = settings.dtype(ValueType::I64)?;
        let chunk_rows = settings.chunk_rows(4096)?;
        let value = columns.column(group, &ColumnPlan::values("value", value_type, chunk_rows).large())?;
        let time = log_times(columns, group, chunk_rows)?;
        let cues = Cues::open(columns, group, chunk_rows)?;
        Ok(Self { schemas, value_type, value, time, cues, scratch: Vec::new() })
    }
}

/// The times of the samples of a message.
enum Times<'m> {
    Stamps(Column<'m, i64>),
    OldStamps(Column<'m, u64>),
    /// The first one and what lies between two.
    Steps(i64, f64),
}

fn read<'m>(message: &Message<'m>) -> Result<(Array<'m>, i64, Times<'m>), NotWritten> {
    match message {
        Message::Se00(samples) => {
            let first = samples.packet_timestamp;
            let times = match samples.timestamps {
                stamps if stamps.is_empty() => Times::Steps(first, samples.time_delta),
                stamps => Times::Stamps(stamps),
            };
            Ok((samples.values, first, times))
        }
        Message::Senv(samples) => {
            let first = i64::try_from(samples.packet_timestamp).unwrap_or(i64::MAX);
            let times = match samples.timestamps {
                stamps if stamps.is_empty() => Times::Steps(first, samples.time_delta),
                stamps => Times::OldStamps(stamps),
            };
            Ok((samples.values, first, times))
        }
        other => Err(NotWritten::schema(other)),
    }
}

impl Module for Samples {
    fn schemas(&self) -> &'static [Schema] {
        self.schemas
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        NotWritten::unless_of(self.schemas, message)?;
        let (values, first, times) = read(message)?;
        let stamps = match &times {
            Times::Stamps(stamps) => stamps.len(),
            Times::OldStamps(stamps) => stamps.len(),
            Times::Steps(..) => values.len(),
        };
        if stamps != values.len() {
            return Err(NotWritten::shape(format!("{stamps} times for {} values", values.len())));
        }
        if values.is_empty() {
            return Ok(());
        }
        // A cue for each message: its first sample.
        let row = columns.rows(self.value);
        self.cues.push(columns, row, first);
        extend(columns, self.value, self.value_type, values, &mut self.scratch);
        match times {
            Times::Stamps(stamps) => stamps.iter().for_each(|ns| columns.push(self.time, unsigned(ns))),
            Times::OldStamps(stamps) => columns.extend(self.time, stamps),
            Times::Steps(first, delta) => (0..stamps).for_each(|step| {
                // A step that is no number is none.
                let ns = first.saturating_add((step as f64 * delta).round() as i64);
                columns.push(self.time, unsigned(ns));
            }),
        }
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}
