//! f144 and f142: values of a log, which change now and then.

use evforge_messages::f142::{AlarmStatus, Value as OldValue};
use evforge_messages::f144::Value;
use evforge_messages::{F142, Message, Scalar, Schema};
use evforge_stream::storage::text::set_attribute;
use hdf5_metno::Group;
use serde::{Deserialize, Serialize};

use super::alarm::TextAlarms;
use super::dtype::as_type;
use super::module::{Module, ModuleError, NotWritten, WindowRule, restored, saved};
use super::places::{Cues, log_times, unsigned};
use super::settings::Settings;
use crate::file::{ColumnId, ColumnPlan, Columns, ScalarId, ValueType};

/// Values of a log.
#[derive(Debug)]
pub(super) struct Log {
    schemas: &'static [Schema],
    value_type: ValueType,
    value: ColumnId,
    time: ColumnId,
    cues: Cues,
    cue_interval: u64,
    /// Of f142, whose messages have an alarm.
    alarms: Option<TextAlarms>,
    statistics: Option<[ScalarId; 3]>,
    state: State,
}

/// What is kept over a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    rows: u64,
    last_cue: u64,
    /// Bits of the numbers: decimals would not give the same ones again.
    minimum: Option<u64>,
    maximum: Option<u64>,
    sum: u64,
    /// Values that are numbers.
    numbers: u64,
    /// The type of the first message, if it is another one.
    converted: Option<String>,
}

impl Log {
    pub(super) fn open(
        schemas: &'static [Schema],
        settings: &Settings<'_>,
        group: &Group,
        columns: &mut Columns,
    ) -> Result<Self, ModuleError> {
        let value_type = settings.dtype(ValueType::F64)?;
        let unit = settings.text(&["value_units", "units", "unit"])?.unwrap_or_default();
        // One of the file writer of the ESS, which does not use it either: arrays are no longer written.
        settings.value(&["array_size"]);
        // Of the modules that come with this one.
        for key in ["enable_alarm_info", "enable_epics_con_info"] {
            settings.flag(key, true)?;
        }
        let chunk_rows = settings.chunk_rows(1024)?;
        let cue_interval = settings.cue_interval(u64::from(u32::MAX))?;
        let with_statistics = settings.flag("meta_data", true)?;
        let value = columns.column(group, &ColumnPlan::values("value", value_type, chunk_rows))?;
        // Also without one, as the file writer of the ESS: a reader then knows that there is none.
        if let Some(dataset) = columns.dataset(value).filter(|_| !columns.is_reopened()) {
            set_attribute(dataset, "units", unit)?;
        }
        let time = log_times(columns, group, chunk_rows)?;
        let cues = Cues::open(columns, group, chunk_rows)?;
        let alarms = if schemas.contains(&Schema::F142) {
            Some(TextAlarms::open(columns, group, chunk_rows)?)
        } else {
            None
        };
        let statistics = if with_statistics { Some(open_statistics(columns, group, unit)?) } else { None };
        let state = State { rows: columns.rows(value), ..State::default() };
        Ok(Self { schemas, value_type, value, time, cues, cue_interval, alarms, statistics, state })
    }

    fn write_value(&mut self, columns: &mut Columns, value: Scalar, ns: i64) {
        columns.append(self.value, as_type(value, self.value_type).as_slice());
        columns.push(self.time, unsigned(ns));
        let State { rows, last_cue, minimum, maximum, sum, numbers, converted } = &mut self.state;
        if *rows == 0 && value.type_name() != self.value_type.name() {
            *converted = Some(value.type_name().to_owned());
        }
        *rows += 1;
        if *rows - *last_cue >= self.cue_interval {
            *last_cue = *rows;
            self.cues.push(columns, *rows - 1, ns);
        }
        let number = value.to_f64();
        if !number.is_nan() {
            let before = |bits: Option<u64>| bits.map_or(number, f64::from_bits);
            *minimum = Some(before(*minimum).min(number).to_bits());
            *maximum = Some(before(*maximum).max(number).to_bits());
            *sum = (f64::from_bits(*sum) + number).to_bits();
            *numbers += 1;
        }
    }
}

fn open_statistics(columns: &mut Columns, group: &Group, unit: &str) -> hdf5_metno::Result<[ScalarId; 3]> {
    let mut one = |name| -> hdf5_metno::Result<ScalarId> {
        let id = columns.scalar(group, name, f64::NAN)?;
        if let Some(dataset) = columns.scalar_dataset(id).filter(|_| !columns.is_reopened()) {
            set_attribute(dataset, "units", unit)?;
        }
        Ok(id)
    };
    Ok([one("minimum_value")?, one("maximum_value")?, one("average_value")?])
}

/// The value of a message of either schema, its time, and the message if it has an alarm.
fn read<'m, 'a>(message: &'m Message<'a>) -> Result<(Scalar, i64, Option<&'m F142<'a>>), NotWritten> {
    match message {
        Message::F144(log) => match log.value {
            Value::Scalar(value) => Ok((value, log.timestamp, None)),
            Value::Array(values) => Err(array(values.type_name(), values.len())),
        },
        Message::F142(log) => {
            let time = i64::try_from(log.timestamp).unwrap_or(i64::MAX);
            match &log.value {
                OldValue::Scalar(value) => Ok((*value, time, Some(log))),
                OldValue::Array(values) => Err(array(values.type_name(), values.len())),
                OldValue::Text(_) | OldValue::Texts(_) => {
                    Err(NotWritten::kind("text where a number is expected"))
                }
            }
        }
        other => Err(NotWritten::schema(other)),
    }
}

fn array(type_name: &str, length: usize) -> NotWritten {
    NotWritten::kind(format!(
        "an array of {length} values of type {type_name} where a single value is expected"
    ))
}

impl Module for Log {
    fn schemas(&self) -> &'static [Schema] {
        self.schemas
    }

    fn rule(&self) -> WindowRule {
        WindowRule::LOG
    }

    fn write(&mut self, message: &Message<'_>, columns: &mut Columns) -> Result<(), NotWritten> {
        NotWritten::unless_of(self.schemas, message)?;
        let (value, ns, alarm) = read(message)?;
        self.write_value(columns, value, ns);
        if let (Some(alarms), Some(log)) = (&self.alarms, alarm)
            && log.status != AlarmStatus::NoChange
        {
            alarms.push(columns, ns, log.status, log.severity);
        }
        Ok(())
    }

    fn close(&mut self, columns: &mut Columns) {
        let Some([minimum, maximum, average]) = self.statistics else { return };
        let number = |bits: Option<u64>| bits.map_or(f64::NAN, f64::from_bits);
        columns.set(minimum, number(self.state.minimum));
        columns.set(maximum, number(self.state.maximum));
        let sum = f64::from_bits(self.state.sum);
        columns
            .set(average, if self.state.numbers == 0 { f64::NAN } else { sum / self.state.numbers as f64 });
    }

    fn notes(&self) -> Vec<String> {
        let converted = self.state.converted.iter();
        converted
            .map(|found| format!("values come as {found} and are converted to {}", self.value_type.name()))
            .collect()
    }

    fn save(&self, into: &mut Vec<u8>) {
        // Of thousands of logs most have said nothing yet.
        if self.state.rows == 0 { saved(&(), into) } else { saved(&self.state, into) }
    }

    fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        if !state.is_null() {
            self.state = restored(state)?;
        }
        Ok(())
    }
}
