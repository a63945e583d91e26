//! tdct: times at which a chopper passed its zero.

use crate::check;
use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::tdct as wire;
use crate::open::open;
use crate::read::column;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, Text, Time};
use std::fmt;

/// Times of a chopper.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Tdct<'a> {
    /// The chopper.
    pub name: &'a str,
    /// Nanoseconds since 1970.
    pub timestamps: Column<'a, u64>,
    /// Counts the messages.
    pub sequence_counter: u64,
}

impl<'a> Tdct<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::StampsArgs {
            timestamps: e.column(self.timestamps),
            sequence_counter: self.sequence_counter,
            name: e.text(self.name),
        };
        let root = wire::Stamps::create(&mut e.builder, &args);
        e.finish(root, Schema::Tdct)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Tdct;
        let table = open::<wire::Stamps<'a>>(schema, bytes)?;
        let timestamps = column(table.timestamps());
        check::times(schema, "timestamps", timestamps)?;
        Ok(Self { name: table.name(), timestamps, sequence_counter: table.sequence_counter() })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        self.timestamps.first().and_then(check::known)
    }
}

impl fmt::Display for Tdct<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, time, times) =
            (Text(self.name), Time(self.time_ns()), Count(self.timestamps.len(), "time"));
        write!(f, "{name} #{} {time} {times}", self.sequence_counter)
    }
}
