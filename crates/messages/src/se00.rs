//! se00: samples of a channel of the sample environment.

use crate::array::Array;
use crate::check;
use crate::column::Column;
use crate::encoder::{Encoder, Member};
use crate::generated::se00 as wire;
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::samples::{Location, check_times};
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// Samples of a channel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Se00<'a> {
    /// The sampled quantity.
    pub name: &'a str,
    /// The channel of the converter.
    pub channel: i32,
    /// The first sample, nanoseconds since 1970.
    pub packet_timestamp: i64,
    /// Nanoseconds from a sample to the next.
    pub time_delta: f64,
    /// Which moment of a sample its time stamp is.
    pub timestamp_location: Location,
    /// The samples.
    pub values: Array<'a>,
    /// A time per sample. May be empty: then `time_delta` tells.
    pub timestamps: Column<'a, i64>,
    /// Counts the messages.
    pub message_counter: i64,
}

macro_rules! members {
    ($($variant:ident $table:ident $args:ident $values:ident;)+) => {
        fn read<'a>(samples: &wire::Samples<'a>) -> Option<Array<'a>> {
            $(if let Some(member) = samples.$values() {
                return Some(column(member.value()).into());
            })+
            None
        }

        fn write(encoder: &mut Encoder, values: Array<'_>) -> (wire::Values, Member) {
            match values {
                $(Array::$variant(column) => {
                    let args = wire::$args { value: encoder.column(column) };
                    let table = wire::$table::create(&mut encoder.builder, &args);
                    (wire::Values::$table, Some(table.as_union_value()))
                })+
            }
        }
    };
}

members! {
    Int8 Int8Array Int8ArrayArgs values_as_int_8_array;
    UInt8 UInt8Array UInt8ArrayArgs values_as_uint_8_array;
    Int16 Int16Array Int16ArrayArgs values_as_int_16_array;
    UInt16 UInt16Array UInt16ArrayArgs values_as_uint_16_array;
    Int32 Int32Array Int32ArrayArgs values_as_int_32_array;
    UInt32 UInt32Array UInt32ArrayArgs values_as_uint_32_array;
    Int64 Int64Array Int64ArrayArgs values_as_int_64_array;
    UInt64 UInt64Array UInt64ArrayArgs values_as_uint_64_array;
    Float64 DoubleArray DoubleArrayArgs values_as_double_array;
    Float32 FloatArray FloatArrayArgs values_as_float_array;
}

impl<'a> Se00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let (values_type, values) = write(e, self.values);
        let args = wire::SamplesArgs {
            name: e.text(self.name),
            channel: self.channel,
            packet_timestamp: self.packet_timestamp,
            time_delta: self.time_delta,
            timestamp_location: wire::Location(self.timestamp_location.number()),
            values_type,
            values,
            timestamps: e.column(self.timestamps),
            message_counter: self.message_counter,
        };
        let root = wire::Samples::create(&mut e.builder, &args);
        e.finish(root, Schema::Se00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Se00;
        let table = open::<wire::Samples<'a>>(schema, bytes)?;
        let found = table.values_type().0.into();
        let unknown = Refused::UnknownValue { schema, field: "values_type", found };
        let message = Self {
            name: table.name(),
            channel: table.channel(),
            packet_timestamp: table.packet_timestamp(),
            time_delta: table.time_delta(),
            timestamp_location: Location::read(schema, "timestamp_location", table.timestamp_location().0)?,
            values: read(&table).ok_or(unknown)?,
            timestamps: column_if(table.timestamps()),
            message_counter: table.message_counter(),
        };
        check_times(schema, message.values, message.timestamps.len())?;
        check::time(schema, "packet_timestamp", message.packet_timestamp)?;
        check::times(schema, "timestamps", message.timestamps)?;
        Ok(message)
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.packet_timestamp)
    }
}

impl fmt::Display for Se00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, time) = (Text(self.name), Time(self.time_ns()));
        write!(f, "{name} #{} {time} channel {} {}", self.message_counter, self.channel, self.values)
    }
}
