//! ep01: whether a control system is connected to what it reads.

use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{times, unsigned};
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

const CHUNK_ROWS: usize = 1024;

/// States of a connection.
#[derive(Debug)]
pub(super) struct Connections {
    status: ColumnId,
    time: ColumnId,
}

impl Connections {
    pub(super) fn open(group: &Group, columns: &mut Columns) -> Result<Self, ModuleError> {
        let status = ColumnPlan::values("connection_status", ValueType::I16, CHUNK_ROWS);
        let status = columns.column(group, &status)?;
        let time = ColumnPlan::values("connection_status_time", ValueType::U64, CHUNK_ROWS);
        Ok(Self { status, time: times(columns, group, &time, "start")? })
    }
}

impl Module for Connections {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Ep01]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Ep01(state) = message else { return Err(NotWritten::schema(message)) };
        columns.push(self.status, state.status.number());
        columns.push(self.time, unsigned(state.timestamp));
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}
