//! vc00: which vetoes are in use, and their names (ISIS).

use crate::check;
use crate::encoder::Encoder;
use crate::generated::vc00 as wire;
use crate::open::open;
use crate::read::texts_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::Time;
use std::fmt;

/// Which vetoes are in use.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Vc00<'a> {
    /// Since when, nanoseconds since 1970.
    pub timestamp: i64,
    /// Those in use, by their bits.
    pub vetoes: u32,
    /// The names of the bits, the lowest first. ISIS's library insists on 32; any number of them is read.
    pub veto_names: Vec<&'a str>,
}

impl<'a> Vc00<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let veto_names = e.texts(&self.veto_names);
        let args = wire::VetoesArgs { timestamp: self.timestamp, vetoes: self.vetoes, veto_names };
        let root = wire::Vetoes::create(&mut e.builder, &args);
        e.finish(root, Schema::Vc00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Vc00;
        let table = open::<wire::Vetoes<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        let veto_names = texts_if(table.veto_names());
        Ok(Self { timestamp: table.timestamp(), vetoes: table.vetoes(), veto_names })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        None
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl fmt::Display for Vc00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vetoes {:#x} of {} names", Time(self.time_ns()), self.vetoes, self.veto_names.len())
    }
}
