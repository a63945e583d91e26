//! ar51: a packet of readout as it was received.

use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::ar51 as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, Text};
use std::fmt;

/// A packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Ar51<'a> {
    /// Who received it.
    pub source_name: &'a str,
    /// Counts the messages of the source.
    pub message_id: i64,
    /// The payload of a UDP datagram.
    pub raw_data: &'a [u8],
}

impl<'a> Ar51<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::RawReadoutArgs {
            raw_data: e.column(Column::from(self.raw_data)),
            message_id: self.message_id,
            source_name: e.text(self.source_name),
        };
        let root = wire::RawReadout::create(&mut e.builder, &args);
        e.finish(root, Schema::Ar51)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let table = open::<wire::RawReadout<'a>>(Schema::Ar51, bytes)?;
        let raw_data = table.raw_data().map(|bytes| bytes.bytes()).unwrap_or_default();
        Ok(Self { source_name: table.source_name(), message_id: table.message_id(), raw_data })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

impl fmt::Display for Ar51<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} {}:", Text(self.source_name), self.message_id, Count(self.raw_data.len(), "byte"))?;
        self.raw_data.iter().take(16).try_for_each(|byte| write!(f, " {byte:02x}"))?;
        f.write_str(if self.raw_data.len() > 16 { " …" } else { "" })
    }
}
