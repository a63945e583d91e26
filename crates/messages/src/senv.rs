//! senv: samples of a channel of the sample environment, before se00. One identifier, two layouts: where a message of 2018 has
//! a vector, a later one has a union, and the fields behind it are elsewhere.

use crate::array::Array;
use crate::check;
use crate::column::Column;
use crate::generated::{senv as wire, senv_2018 as wire_2018};
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::samples::{Location, check_times};
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// Samples of a channel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Senv<'a> {
    /// Where its values are.
    pub layout: Layout,
    /// The sampled quantity.
    pub name: &'a str,
    /// The channel of the converter.
    pub channel: i32,
    /// The first sample, nanoseconds since 1970.
    pub packet_timestamp: u64,
    /// Nanoseconds from a sample to the next.
    pub time_delta: f64,
    /// Which moment of a sample its time stamp is.
    pub timestamp_location: Location,
    /// The samples.
    pub values: Array<'a>,
    /// A time per sample. May be empty: then `time_delta` tells.
    pub timestamps: Column<'a, u64>,
    /// Counts the messages.
    pub message_counter: u64,
}

/// Where a message has its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// In a vector, as in 2018.
    Vector,
    /// In a union, as later.
    Union,
}

macro_rules! read {
    ($samples:expr, $($values:ident)+) => {{
        let mut array: Option<Array<'a>> = None;
        $(if let Some(member) = $samples.$values() {
            array = Some(column(member.value()).into());
        })+
        array
    }};
}

impl<'a> Senv<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        // The verification of the one layout fails for the other: a tag is not an offset.
        let message = Self::later(bytes).or_else(|refused| Self::of_2018(bytes).map_err(|_| refused))?;
        check_times(Schema::Senv, message.values, message.timestamps.len())?;
        check::time(Schema::Senv, "packet_timestamp", message.packet_timestamp)?;
        check::times(Schema::Senv, "timestamps", message.timestamps)?;
        Ok(message)
    }

    fn later(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Senv;
        let table = open::<wire::Samples<'a>>(schema, bytes)?;
        let found = table.values_type().0.into();
        let values = read!(
            table,
            values_as_int_8_array values_as_uint_8_array values_as_int_16_array values_as_uint_16_array
            values_as_int_32_array values_as_uint_32_array values_as_int_64_array values_as_uint_64_array
        );
        Ok(Self {
            layout: Layout::Union,
            name: table.name(),
            channel: table.channel(),
            packet_timestamp: table.packet_timestamp(),
            time_delta: table.time_delta(),
            timestamp_location: Location::read(schema, "timestamp_location", table.timestamp_location().0)?,
            values: values.ok_or(Refused::UnknownValue { schema, field: "values_type", found })?,
            timestamps: column_if(table.timestamps()),
            message_counter: table.message_counter(),
        })
    }

    fn of_2018(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Senv;
        let table = open::<wire_2018::Samples<'a>>(schema, bytes)?;
        Ok(Self {
            layout: Layout::Vector,
            name: table.name(),
            channel: table.channel(),
            packet_timestamp: table.packet_timestamp(),
            time_delta: table.time_delta(),
            timestamp_location: Location::read(schema, "timestamp_location", table.timestamp_location().0)?,
            values: column(table.values()).into(),
            timestamps: column_if(table.timestamps()),
            message_counter: table.message_counter(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.packet_timestamp)
    }
}

impl fmt::Display for Senv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, time) = (Text(self.name), Time(self.time_ns()));
        write!(f, "{name} #{} {time} channel {} {}", self.message_counter, self.channel, self.values)
    }
}
