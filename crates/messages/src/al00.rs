//! al00: an alarm of a log.

use crate::check;
use crate::encoder::Encoder;
use crate::generated::al00 as wire;
use crate::named::named;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, TextIf, Time};
use std::fmt;

/// An alarm.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Al00<'a> {
    /// The log.
    pub source_name: Option<&'a str>,
    /// When it was raised or ended, nanoseconds since 1970.
    pub timestamp: i64,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub message: Option<&'a str>,
}

named! {
    /// How bad an alarm is.
    pub enum Severity: i16 { Ok 0 "OK", Minor 1 "MINOR", Major 2 "MAJOR", Invalid 3 "INVALID" }
}

impl<'a> Al00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::AlarmArgs {
            source_name: e.text_if(self.source_name),
            timestamp: self.timestamp,
            severity: wire::Severity(self.severity.number()),
            message: e.text_if(self.message),
        };
        let root = wire::Alarm::create(&mut e.builder, &args);
        e.finish(root, Schema::Al00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Al00;
        let table = open::<wire::Alarm<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        Ok(Self {
            source_name: table.source_name(),
            timestamp: table.timestamp(),
            severity: Severity::read(schema, "severity", table.severity().0)?,
            message: table.message(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl fmt::Display for Al00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", TextIf(self.source_name), Time(self.time_ns()), self.severity)?;
        self.message.map_or(Ok(()), |message| write!(f, " \"{}\"", Text(message)))
    }
}
