//! da00: named arrays with axes and units.

use crate::array::{Array, Data};
use crate::check;
use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::da00 as wire;
use crate::open::open;
use crate::read::{column, texts_if};
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Text, Time};
use std::fmt;

/// Named arrays.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Da00<'a> {
    /// Whose data they are.
    pub source_name: &'a str,
    /// When they held, nanoseconds since 1970.
    pub timestamp: i64,
    /// The arrays.
    pub data: Vec<Variable<'a>>,
}

/// A named array.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Variable<'a> {
    /// Its name: `signal`, `errors`, `frame_time` …
    pub name: &'a str,
    /// The unit of its values.
    pub unit: Option<&'a str>,
    /// A name for people.
    pub label: Option<&'a str>,
    /// Where it comes from.
    pub source: Option<&'a str>,
    /// The names of its dimensions. May be left out.
    pub axes: Vec<&'a str>,
    /// The lengths of its dimensions, the slowest first. None for a single value.
    pub shape: Column<'a, i64>,
    /// The values.
    pub data: Data<'a>,
}

impl<'a> Variable<'a> {
    /// An array with a name and a unit.
    pub fn new(
        name: &'a str,
        unit: Option<&'a str>,
        axes: Vec<&'a str>,
        shape: impl Into<Column<'a, i64>>,
        data: impl Into<Data<'a>>,
    ) -> Self {
        let (shape, data) = (shape.into(), data.into());
        Self { name, unit, label: None, source: None, axes, shape, data }
    }

    /// A single value with a name and a unit: an array without dimensions, of one value.
    pub fn single(name: &'a str, unit: Option<&'a str>, data: impl Into<Data<'a>>) -> Self {
        Self::new(name, unit, Vec::new(), Column::default(), data)
    }

    /// A text with a name. It has no axes, as the Python library wants it, and is read back with the shape of its bytes.
    pub fn text(name: &'a str, text: &'a str) -> Self {
        Self::single(name, None, Data::Text(text.as_bytes()))
    }

    /// Its numbers, or none if it is a text.
    pub fn numbers(&self) -> Option<Array<'a>> {
        match self.data {
            Data::Numbers(array) => Some(array),
            Data::Text(_) => None,
        }
    }
}

/// The number of the type of texts.
const TEXT: i8 = 11;

impl<'a> Da00<'a> {
    /// The array with this name.
    pub fn variable(&self, name: &str) -> Option<&Variable<'a>> {
        self.data.iter().find(|variable| variable.name == name)
    }

    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let variables: Vec<_> = self.data.iter().map(|variable| write_variable(e, variable)).collect();
        let args = wire::DataArrayArgs {
            data: Some(e.builder.create_vector(&variables)),
            timestamp: self.timestamp,
            source_name: e.text(self.source_name),
        };
        let root = wire::DataArray::create(&mut e.builder, &args);
        e.finish(root, Schema::Da00)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Da00;
        let table = open::<wire::DataArray<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        let data = table.data().iter().map(|variable| read_variable(schema, variable));
        let data = data.collect::<Result<Vec<_>, Refused>>()?;
        Ok(Self { source_name: table.source_name(), timestamp: table.timestamp(), data })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        Some(self.source_name)
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

fn write_variable(
    e: &mut Encoder,
    variable: &Variable<'_>,
) -> flatbuffers::WIPOffset<wire::Variable<'static>> {
    let (data_type, data) = match variable.data {
        // The type that the list of numbers begins with has the number 1.
        Data::Numbers(array) => (i8::try_from(array.place_of_type() + 1).unwrap_or_default(), array.bytes(e)),
        Data::Text(bytes) => (TEXT, Some(e.builder.create_vector(bytes))),
    };
    let length = [i64::try_from(variable.data.len()).unwrap_or(i64::MAX)];
    let text = matches!(variable.data, Data::Text(_));
    let args = wire::VariableArgs {
        data,
        shape: e.column(if text && variable.shape.is_empty() { (&length).into() } else { variable.shape }),
        axes: e.texts(&variable.axes),
        data_type: wire::DataType(data_type),
        source: e.text_if(variable.source),
        label: e.text_if(variable.label),
        unit: e.text_if(variable.unit),
        name: e.text(variable.name),
    };
    wire::Variable::create(&mut e.builder, &args)
}

fn read_variable<'a>(schema: Schema, variable: wire::Variable<'a>) -> Result<Variable<'a>, Refused> {
    let found = variable.data_type().0;
    let bytes = variable.data().bytes();
    let field = || format!("data of {}", Text(variable.name()));
    let data =
        if found == TEXT { Data::Text(bytes) } else { numbers(schema, &field, i64::from(found) - 1, bytes)? };
    let shape = column(variable.shape());
    let axes = texts_if(variable.axes());
    check::shape(schema, &field(), shape.iter(), data.len()).or_else(|refused| {
        // The Python library gives a single number without axes the shape of its bytes.
        let of_bytes = axes.is_empty()
            && data.len() == 1
            && shape.first() == i64::try_from(bytes.len()).ok()
            && shape.len() == 1;
        if of_bytes { Ok(()) } else { Err(refused) }
    })?;
    check::equal_if_given(schema, ("axes", axes.len()), ("shape", shape.len()))?;
    // Every text has the shape of its bytes; one of a single byte may have come without.
    let shape = if found == TEXT && shape.is_empty() { (&[1]).into() } else { shape };
    Ok(Variable {
        name: variable.name(),
        unit: variable.unit(),
        label: variable.label(),
        source: variable.source(),
        axes,
        shape,
        data,
    })
}

/// Bytes as numbers of the type at a place of the list that da00 and ad00 have in common.
pub(crate) fn numbers<'a>(
    schema: Schema,
    field: &dyn Fn() -> String,
    place: i64,
    bytes: &'a [u8],
) -> Result<Data<'a>, Refused> {
    let array = usize::try_from(place).ok().and_then(|place| Array::of_type(place, bytes));
    match array {
        Some(Ok(array)) => Ok(Data::Numbers(array)),
        Some(Err(size)) => {
            let what = format!("has {} bytes: no whole number of values of {size} bytes", bytes.len());
            Err(Refused::Shape { schema, field: field(), what })
        }
        None => {
            // Back to the number of the schema.
            let found = if schema == Schema::Da00 { place + 1 } else { place };
            Err(Refused::UnknownValue { schema, field: "data_type", found })
        }
    }
}

impl fmt::Display for Da00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Text(self.source_name), Time(self.time_ns()))?;
        for (place, variable) in self.data.iter().enumerate() {
            write!(f, "{} {} {}", if place > 0 { "," } else { "" }, Text(variable.name), variable.data)?;
            variable.unit.map_or(Ok(()), |unit| write!(f, " {}", Text(unit)))?;
        }
        Ok(())
    }
}
