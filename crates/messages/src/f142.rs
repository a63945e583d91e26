//! f142: a value of a log with its alarm, before f144. Texts as values are of the Python library's making; they are read and
//! written too.

use crate::array::{Array, Scalar};
use crate::check;
use crate::encoder::Encoder;
use crate::generated::f142 as wire;
use crate::log_values::log_values;
use crate::named::named;
use crate::open::open;
use crate::read::texts_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, Text, TextIf, Time};
use std::fmt;

/// A value of a log with its alarm.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct F142<'a> {
    /// The log.
    pub source_name: Option<&'a str>,
    /// The value.
    pub value: Value<'a>,
    /// When it had the value, nanoseconds since 1970.
    pub timestamp: u64,
    /// What the control system says of it.
    pub status: AlarmStatus,
    /// How bad that is.
    pub severity: AlarmSeverity,
}

/// A value of a log.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// A number.
    Scalar(Scalar),
    /// Numbers.
    Array(Array<'a>),
    /// A text.
    Text(&'a str),
    /// Texts.
    Texts(Vec<&'a str>),
}

named! {
    /// What the control system says of a value.
    pub enum AlarmStatus: u16 {
        NoAlarm 0 "NO_ALARM", Read 1 "READ", Write 2 "WRITE", HiHi 3 "HIHI", High 4 "HIGH", LoLo 5 "LOLO", Low 6 "LOW",
        State 7 "STATE", Cos 8 "COS", Comm 9 "COMM", Timed 10 "TIMED", HwLimit 11 "HWLIMIT", Calc 12 "CALC",
        Scan 13 "SCAN", Link 14 "LINK", Soft 15 "SOFT", BadSub 16 "BAD_SUB", Udf 17 "UDF", Disable 18 "DISABLE",
        Simm 19 "SIMM", ReadAccess 20 "READ_ACCESS", WriteAccess 21 "WRITE_ACCESS", NoChange 22 "NO_CHANGE",
    }
}

named! {
    /// How bad an alarm is. The numbers are not in the order of EPICS.
    pub enum AlarmSeverity: u16 { Minor 0 "MINOR", Major 1 "MAJOR", NoAlarm 2 "NO_ALARM", Invalid 3 "INVALID", NoChange 4 "NO_CHANGE" }
}

log_values!();

impl<'a> F142<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let (value_type, value) = match &self.value {
            Value::Scalar(scalar) => write_scalar(e, *scalar),
            Value::Array(array) => write_array(e, *array),
            Value::Text(text) => {
                let args = wire::StringArgs { value: e.text(text) };
                let table = wire::String::create(&mut e.builder, &args);
                (wire::Value::String, Some(table.as_union_value()))
            }
            Value::Texts(texts) => {
                let args = wire::ArrayStringArgs { value: e.texts(texts) };
                let table = wire::ArrayString::create(&mut e.builder, &args);
                (wire::Value::ArrayString, Some(table.as_union_value()))
            }
        };
        let args = wire::LogArgs {
            source_name: e.text_if(self.source_name),
            value_type,
            value,
            timestamp: self.timestamp,
            status: wire::AlarmStatus(self.status.number()),
            severity: wire::AlarmSeverity(self.severity.number()),
        };
        let root = wire::Log::create(&mut e.builder, &args);
        e.finish(root, Schema::F142)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::F142;
        let table = open::<wire::Log<'a>>(schema, bytes)?;
        let message = Self {
            source_name: table.source_name(),
            value: value(schema, &table)?,
            timestamp: table.timestamp(),
            status: AlarmStatus::read(schema, "status", table.status().0)?,
            severity: AlarmSeverity::read(schema, "severity", table.severity().0)?,
        };
        check::time(schema, "timestamp", message.timestamp)?;
        Ok(message)
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

fn value<'a>(schema: Schema, table: &wire::Log<'a>) -> Result<Value<'a>, Refused> {
    if let Some(scalar) = read_scalar(table) {
        return Ok(Value::Scalar(scalar));
    }
    if let Some(array) = read_array(table) {
        return Ok(Value::Array(array));
    }
    if let Some(text) = table.value_as_string() {
        return Ok(Value::Text(text.value().unwrap_or_default()));
    }
    if let Some(texts) = table.value_as_array_string() {
        return Ok(Value::Texts(texts_if(texts.value())));
    }
    match table.value_type() {
        wire::Value::NONE => Err(Refused::Absent { schema, field: "value".into() }),
        found => Err(Refused::UnknownValue { schema, field: "value_type", found: found.0.into() }),
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Scalar(value) => value.fmt(f),
            Value::Array(values) => values.fmt(f),
            Value::Text(text) => write!(f, "\"{}\"", Text(text)),
            Value::Texts(texts) => Count(texts.len(), "text").fmt(f),
        }
    }
}

impl fmt::Display for F142<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", TextIf(self.source_name), Time(self.time_ns()), self.value)?;
        if (self.status, self.severity) == (AlarmStatus::NoChange, AlarmSeverity::NoChange) {
            return Ok(());
        }
        write!(f, " {} {}", self.status, self.severity)
    }
}
