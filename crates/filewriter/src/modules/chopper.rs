//! tdct: when a chopper passed its mark. The number that counts the messages is not written, as by the file writer of the ESS.

use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{Cues, log_times};
use super::settings::Settings;
use crate::file::{ColumnId, Columns};

/// Time stamps of a chopper.
#[derive(Debug)]
pub(super) struct ChopperTimes {
    time: ColumnId,
    cues: Cues,
}

impl ChopperTimes {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(4096)?;
        // Of the modules that come with this one.
        for key in ["enable_alarm_info", "enable_epics_con_info"] {
            settings.flag(key, true)?;
        }
        let time = log_times(columns, group, chunk_rows)?;
        Ok(Self { time, cues: Cues::open(columns, group, chunk_rows)? })
    }
}

impl Module for ChopperTimes {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Tdct]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Tdct(stamps) = message else { return Err(NotWritten::schema(message)) };
        // A cue for each message: its first time stamp.
        if let Some(first) = stamps.timestamps.first() {
            let row = columns.rows(self.time);
            self.cues.push(columns, row, i64::try_from(first).unwrap_or(i64::MAX));
            columns.extend(self.time, stamps.timestamps);
        }
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}
