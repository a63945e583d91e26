//! json: a text in JSON.

use crate::encoder::Encoder;
use crate::generated::json as wire;
use crate::open::open;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::TextIf;
use std::fmt;

/// A text in JSON. It is not looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Json<'a> {
    /// The text.
    pub json: Option<&'a str>,
}

impl<'a> Json<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let args = wire::TextArgs { json: e.text_if(self.json) };
        let root = wire::Text::create(&mut e.builder, &args);
        e.finish(root, Schema::Json)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let table = open::<wire::Text<'a>>(Schema::Json, bytes)?;
        Ok(Self { json: table.json() })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        None
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TextIf(self.json).fmt(f)
    }
}
