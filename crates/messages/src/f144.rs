//! f144: a value of a log.

use crate::array::{Array, Scalar};
use crate::check;
use crate::encoder::Encoder;
use crate::generated::f144 as wire;
use crate::log_values::log_values;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// A value of a log.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct F144<'a> {
    /// The log.
    pub source_name: &'a str,
    /// When it had the value, nanoseconds since 1970.
    pub timestamp: i64,
    /// The value.
    pub value: Value<'a>,
}

/// A value of a log.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// A number.
    Scalar(Scalar),
    /// Numbers.
    Array(Array<'a>),
}

log_values!();

impl<'a> F144<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let (value_type, value) = match self.value {
            Value::Scalar(scalar) => write_scalar(e, scalar),
            Value::Array(array) => write_array(e, array),
        };
        let source_name = e.text(self.source_name);
        let args = wire::LogArgs { source_name, timestamp: self.timestamp, value_type, value };
        let root = wire::Log::create(&mut e.builder, &args);
        e.finish(root, Schema::F144)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::F144;
        let table = open::<wire::Log<'a>>(schema, bytes)?;
        let scalar = read_scalar(&table).map(Value::Scalar);
        let unknown =
            Refused::UnknownValue { schema, field: "value_type", found: table.value_type().0.into() };
        let value = scalar.or_else(|| read_array(&table).map(Value::Array)).ok_or(unknown)?;
        check::time(schema, "timestamp", table.timestamp())?;
        Ok(Self { source_name: table.source_name(), timestamp: table.timestamp(), value })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl<T: Into<Scalar>> From<T> for Value<'_> {
    fn from(value: T) -> Self {
        Value::Scalar(value.into())
    }
}

impl<'a> From<Array<'a>> for Value<'a> {
    fn from(values: Array<'a>) -> Self {
        Value::Array(values)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Scalar(value) => value.fmt(f),
            Value::Array(values) => values.fmt(f),
        }
    }
}

impl fmt::Display for F144<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", Text(self.source_name), Time(self.time_ns()), self.value)
    }
}
