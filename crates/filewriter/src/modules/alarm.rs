//! al00, and the alarms of f142: what a control system thinks of a value.

use evforge_messages::f142::{AlarmSeverity, AlarmStatus};
use evforge_messages::{Message, Schema};
use hdf5_metno::Group;

use super::module::{Module, ModuleError, NotWritten, WindowRule};
use super::places::{times, unsigned};
use crate::file::{ColumnId, ColumnPlan, Columns, ValueType};

/// Bytes that a message of al00 may have; longer ones are cut.
const MESSAGE_ROOM: usize = 200;
/// Bytes for the names of f142: the longest has 12.
const NAME_ROOM: usize = 32;
const CHUNK_ROWS: usize = 1024;

/// Alarms of al00.
#[derive(Debug)]
pub(super) struct Alarms {
    message: ColumnId,
    time: ColumnId,
    severity: ColumnId,
}

impl Alarms {
    pub(super) fn open(group: &Group, columns: &mut Columns) -> Result<Self, ModuleError> {
        let text = ValueType::Text(MESSAGE_ROOM);
        let message = columns.column(group, &ColumnPlan::values("alarm_message", text, CHUNK_ROWS))?;
        let time = ColumnPlan::values("alarm_time", ValueType::U64, CHUNK_ROWS);
        let time = times(columns, group, &time, "start")?;
        let severity = ColumnPlan::values("alarm_severity", ValueType::I16, CHUNK_ROWS);
        Ok(Self { message, time, severity: columns.column(group, &severity)? })
    }
}

impl Module for Alarms {
    fn schemas(&self) -> &'static [Schema] {
        &[Schema::Al00]
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        let Message::Al00(alarm) = message else { return Err(NotWritten::schema(message)) };
        let text = alarm.message.filter(|text| !text.is_empty()).unwrap_or("NO ALARM MESSAGE");
        columns.push_text(self.message, text, MESSAGE_ROOM);
        columns.push(self.time, unsigned(alarm.timestamp));
        columns.push(self.severity, alarm.severity.number());
        Ok(())
    }

    fn close(&mut self, _columns: &mut Columns) {}
}

/// The alarms of f142: a row for each message that says one, with the names of the control system.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextAlarms {
    status: ColumnId,
    severity: ColumnId,
    time: ColumnId,
}

impl TextAlarms {
    pub(super) fn open(columns: &mut Columns, group: &Group, chunk_rows: usize) -> hdf5_metno::Result<Self> {
        let name = |name| ColumnPlan::values(name, ValueType::Text(NAME_ROOM), chunk_rows);
        let status = columns.column(group, &name("alarm_status"))?;
        let severity = columns.column(group, &name("alarm_severity"))?;
        let time = ColumnPlan::values("alarm_time", ValueType::U64, chunk_rows);
        Ok(Self { status, severity, time: times(columns, group, &time, "start")? })
    }

    pub(super) fn push(&self, columns: &mut Columns, ns: i64, status: AlarmStatus, severity: AlarmSeverity) {
        columns.push_text(self.status, status.name(), NAME_ROOM);
        columns.push_text(self.severity, severity.name(), NAME_ROOM);
        columns.push(self.time, unsigned(ns));
    }
}
