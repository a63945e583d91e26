//! pu00: what ISIS sends of a pulse. It holds for all events of the partition up to the next pu00.

use crate::check;
use crate::encoder::Encoder;
use crate::generated::pu00 as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// What is known of a pulse besides its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Pu00<'a> {
    /// Who sends it.
    pub source_name: &'a str,
    /// Counts the messages of the source, those with events included.
    pub message_id: i64,
    /// The pulse, nanoseconds since 1970.
    pub reference_time: i64,
    /// Vetoes by their bits.
    pub vetos: Option<u32>,
    /// From 0 on.
    pub period_number: Option<u32>,
    /// Of the pulse, in µAh.
    pub proton_charge: Option<f32>,
}

impl<'a> Pu00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::PulseArgs {
            source_name: e.text(self.source_name),
            message_id: self.message_id,
            reference_time: self.reference_time,
            vetos: self.vetos,
            period_number: self.period_number,
            proton_charge: self.proton_charge,
        };
        let root = wire::Pulse::create(&mut e.builder, &args);
        e.finish(root, Schema::Pu00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Pu00;
        let table = open::<wire::Pulse<'a>>(schema, bytes)?;
        check::time(schema, "reference_time", table.reference_time())?;
        Ok(Self {
            source_name: table.source_name(),
            message_id: table.message_id(),
            reference_time: table.reference_time(),
            vetos: table.vetos(),
            period_number: table.period_number(),
            proton_charge: table.proton_charge(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.reference_time)
    }
}

impl fmt::Display for Pu00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} {}", Text(self.source_name), self.message_id, Time(self.time_ns()))?;
        self.vetos.map_or(Ok(()), |vetoes| write!(f, " vetoes {vetoes:#x}"))?;
        self.period_number.map_or(Ok(()), |period| write!(f, " period {period}"))?;
        self.proton_charge.map_or(Ok(()), |charge| write!(f, " {charge} µAh"))
    }
}
