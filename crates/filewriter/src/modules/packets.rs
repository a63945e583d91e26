//! ar51: raw packets, their bytes behind each other. evforge's own module.

use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{MOST_SLOW_ROWS, attribute};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Packets: `data` has the bytes of all of them, `data_index` the first byte of each, `message_id` their numbers.
#[derive(Debug)]
pub(super) struct Packets {
    data: ColumnId,
    index: ColumnId,
    message_id: ColumnId,
}

impl Packets {
    pub(super) fn open(
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let chunk_rows = settings.chunk_rows(1 << 20)?;
        let slow = chunk_rows.min(MOST_SLOW_ROWS);
        let data = columns.column(group, &ColumnPlan::values("data", ValueType::U8, chunk_rows).large())?;
        attribute(columns, data, "long_name", "payloads of UDP datagrams, one behind the other")?;
        let index = columns.column(group, &ColumnPlan::values("data_index", ValueType::I64, slow))?;
        attribute(columns, index, "long_name", "first byte of each payload")?;
        let message_id = columns.column(group, &ColumnPlan::values("message_id", ValueType::I64, slow))?;
        Ok(Self { data, index, message_id })
    }
}

impl Module for Packets {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Ar51]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::EVENTS
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Ar51(packet) = message else { return Err(NotWritten::schema(message)) };
        let first = columns.rows(self.data);
        columns.push(self.index, i64::try_from(first).unwrap_or(i64::MAX));
        columns.push(self.message_id, packet.message_id);
        columns.append(self.data, packet.raw_data);
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}
