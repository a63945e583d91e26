//! ep00: the state of a connection to a control system, before ep01.

use crate::check;
use crate::encoder::Encoder;
use crate::generated::ep00 as wire;
use crate::named::named;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{TextIf, Time};
use std::fmt;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ep00<'a> {
    /// Since when, nanoseconds since 1970.
    pub timestamp: u64,
    /// The state.
    pub status: Connection,
    /// The log.
    pub source_name: Option<&'a str>,
    /// Who has the connection.
    pub service_id: Option<&'a str>,
}

named! {
    /// The state of a connection.
    pub enum Connection: u16 {
        Unknown 0 "UNKNOWN", NeverConnected 1 "NEVER_CONNECTED", Connected 2 "CONNECTED", Disconnected 3 "DISCONNECTED",
        Destroyed 4 "DESTROYED",
    }
}

impl<'a> Ep00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::StateArgs {
            timestamp: self.timestamp,
            type_: wire::Connection(self.status.number()),
            source_name: e.text_if(self.source_name),
            service_id: e.text_if(self.service_id),
        };
        let root = wire::State::create(&mut e.builder, &args);
        e.finish(root, Schema::Ep00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Ep00;
        let table = open::<wire::State<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        Ok(Self {
            timestamp: table.timestamp(),
            status: Connection::read(schema, "type", table.type_().0)?,
            source_name: table.source_name(),
            service_id: table.service_id(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl fmt::Display for Ep00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", TextIf(self.source_name), Time(self.time_ns()), self.status)
    }
}
