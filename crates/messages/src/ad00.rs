//! ad00: a frame of an area detector.

use crate::array::Data;
use crate::check;
use crate::column::Column;
use crate::da00::numbers;
use crate::generated::ad00 as wire;
use crate::open::open;
use crate::read::column;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// A frame.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Ad00<'a> {
    /// The detector.
    pub source_name: &'a str,
    /// Counts the frames.
    pub id: i32,
    /// When it was taken, nanoseconds since 1970.
    pub timestamp: i64,
    /// The lengths of its dimensions.
    pub dimensions: Column<'a, i64>,
    /// The pixels.
    pub data: Data<'a>,
    /// What else is known of it.
    pub attributes: Vec<Attribute<'a>>,
}

/// Something known of a frame.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub description: Option<&'a str>,
    /// Where it comes from.
    pub source: Option<&'a str>,
    /// The values.
    pub data: Data<'a>,
}

/// The number of the type of texts. Unlike in da00 the types begin at 0.
const TEXT: i8 = 10;

fn data<'a>(
    field: &dyn Fn() -> String,
    data_type: wire::DataType,
    bytes: &'a [u8],
) -> Result<Data<'a>, Refused> {
    match data_type.0 {
        TEXT => Ok(Data::Text(bytes)),
        number => numbers(Schema::Ad00, field, number.into(), bytes),
    }
}

impl<'a> Ad00<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Ad00;
        let table = open::<wire::Frame<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        let dimensions = column(table.dimensions());
        let frame = data(&|| "data".into(), table.data_type(), table.data().bytes())?;
        check::shape(schema, "data", dimensions.iter(), frame.len())?;
        let attributes = table.attributes().into_iter().flat_map(|attributes| attributes.iter());
        let attributes = attributes.map(|attribute| {
            let field = || format!("data of {}", Text(attribute.name()));
            let data = data(&field, attribute.data_type(), attribute.data().bytes())?;
            let (description, source) = (attribute.description(), attribute.source());
            Ok(Attribute { name: attribute.name(), description, source, data })
        });
        Ok(Self {
            source_name: table.source_name(),
            id: table.id(),
            timestamp: table.timestamp(),
            dimensions,
            data: frame,
            attributes: attributes.collect::<Result<_, Refused>>()?,
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

impl fmt::Display for Ad00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} {} ", Text(self.source_name), self.id, Time(self.time_ns()))?;
        for (place, length) in self.dimensions.iter().enumerate() {
            write!(f, "{}{length}", if place > 0 { "×" } else { "" })?;
        }
        write!(f, " {}", self.data)
    }
}
