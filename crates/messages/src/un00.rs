//! un00: the unit of a log (ISIS).

use crate::check;
use crate::encoder::Encoder;
use crate::generated::un00 as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// The unit of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Un00<'a> {
    /// The log.
    pub source_name: &'a str,
    /// Since when, nanoseconds since 1970.
    pub timestamp: i64,
    /// The unit; none if the log has none.
    pub units: Option<&'a str>,
}

impl<'a> Un00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let (source_name, units) = (e.text(self.source_name), e.text_if(self.units));
        let args = wire::UnitsArgs { source_name, timestamp: self.timestamp, units };
        let root = wire::Units::create(&mut e.builder, &args);
        e.finish(root, Schema::Un00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Un00;
        let table = open::<wire::Units<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        Ok(Self { source_name: table.source_name(), timestamp: table.timestamp(), units: table.units() })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl fmt::Display for Un00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", Text(self.source_name), Time(self.time_ns()))?;
        Text(self.units.unwrap_or("no unit")).fmt(f)
    }
}
