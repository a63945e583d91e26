//! hs01: a histogram.

use crate::check;
use crate::column::Column;
use crate::encoder::{Encoder, Member};
use crate::generated::hs01 as wire;
use crate::histogram::Lengths;
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{self, TextIf, Time};
use std::fmt;

/// A histogram, or a piece of one.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Hs01<'a> {
    /// Whose data they are.
    pub source: Option<&'a str>,
    /// When they held, nanoseconds since 1970.
    pub timestamp: i64,
    /// The dimensions of the whole. May be left out after they have been sent once.
    pub dim_metadata: Vec<Dimension<'a>>,
    /// When the dimensions were sent last.
    pub last_metadata_timestamp: i64,
    /// The shape of the piece, the slowest dimension first.
    pub current_shape: Column<'a, i32>,
    /// Where the piece begins; empty for the whole.
    pub offset: Column<'a, i32>,
    /// The counts.
    pub data: Option<Counts<'a>>,
    /// Their errors.
    pub errors: Option<Counts<'a>>,
    /// Whatever the sender has to say.
    pub info: Option<&'a str>,
}

/// A dimension of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Dimension<'a> {
    /// Its bins.
    pub length: i32,
    /// The unit of their boundaries.
    pub unit: Option<&'a str>,
    /// Its name.
    pub label: Option<&'a str>,
    /// The boundaries, one more than bins.
    pub bin_boundaries: Option<Counts<'a>>,
}

/// Numbers of one of the types of hs01.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", content = "values", rename_all = "lowercase")]
pub enum Counts<'a> {
    /// `int32`
    Int32(Column<'a, i32>),
    /// `int64`
    Int64(Column<'a, i64>),
    /// `float64`
    Float64(Column<'a, f64>),
    /// `float32`
    Float32(Column<'a, f32>),
}

impl Counts<'_> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        match self {
            Counts::Int32(column) => column.len(),
            Counts::Int64(column) => column.len(),
            Counts::Float64(column) => column.len(),
            Counts::Float32(column) => column.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counts::Int32(column) => write!(f, "int32[{}] {}", column.len(), show::Values(*column)),
            Counts::Int64(column) => write!(f, "int64[{}] {}", column.len(), show::Values(*column)),
            Counts::Float64(column) => write!(f, "float64[{}] {}", column.len(), show::Values(*column)),
            Counts::Float32(column) => write!(f, "float32[{}] {}", column.len(), show::Values(*column)),
        }
    }
}

fn write(e: &mut Encoder, counts: Option<Counts<'_>>) -> (wire::Array, Member) {
    macro_rules! write {
        ($table:ident $args:ident $column:ident) => {{
            let args = wire::$args { value: e.column($column) };
            (wire::Array::$table, Some(wire::$table::create(&mut e.builder, &args).as_union_value()))
        }};
    }
    match counts {
        None => (wire::Array::NONE, None),
        Some(Counts::Int32(column)) => write!(ArrayInt ArrayIntArgs column),
        Some(Counts::Int64(column)) => write!(ArrayLong ArrayLongArgs column),
        Some(Counts::Float64(column)) => write!(ArrayDouble ArrayDoubleArgs column),
        Some(Counts::Float32(column)) => write!(ArrayFloat ArrayFloatArgs column),
    }
}

/// The member of a union, with the functions that flatc has made for it.
macro_rules! read {
    ($table:expr, $field:literal, $tag:ident, $int:ident, $long:ident, $double:ident, $float:ident) => {{
        let table = $table;
        match table.$tag() {
            wire::Array::NONE => Ok(None),
            tag => table
                .$int()
                .map(|array| Counts::Int32(column_if(array.value())))
                .or_else(|| table.$long().map(|array| Counts::Int64(column_if(array.value()))))
                .or_else(|| table.$double().map(|array| Counts::Float64(column_if(array.value()))))
                .or_else(|| table.$float().map(|array| Counts::Float32(column_if(array.value()))))
                .map(Some)
                .ok_or(Refused::UnknownValue { schema: Schema::Hs01, field: $field, found: tag.0.into() }),
        }
    }};
}

impl<'a> Hs01<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let mut dimensions = Vec::with_capacity(self.dim_metadata.len());
        for dimension in &self.dim_metadata {
            let (bin_boundaries_type, bin_boundaries) = write(e, dimension.bin_boundaries);
            let (unit, label) = (e.text_if(dimension.unit), e.text_if(dimension.label));
            let length = dimension.length;
            let args = wire::DimensionArgs { length, unit, label, bin_boundaries_type, bin_boundaries };
            dimensions.push(wire::Dimension::create(&mut e.builder, &args));
        }
        let (data_type, data) = write(e, self.data);
        let (errors_type, errors) = write(e, self.errors);
        let args = wire::HistogramArgs {
            source: e.text_if(self.source),
            timestamp: self.timestamp,
            dim_metadata: Some(e.builder.create_vector(&dimensions)),
            last_metadata_timestamp: self.last_metadata_timestamp,
            current_shape: e.column(self.current_shape),
            offset: e.column(self.offset),
            data_type,
            data,
            errors_type,
            errors,
            info: e.text_if(self.info),
        };
        let root = wire::Histogram::create(&mut e.builder, &args);
        e.finish(root, Schema::Hs01)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Hs01;
        let table = open::<wire::Histogram<'a>>(schema, bytes)?;
        check::time(schema, "timestamp", table.timestamp())?;
        check::time(schema, "last_metadata_timestamp", table.last_metadata_timestamp())?;
        let dimensions = table.dim_metadata().into_iter().flat_map(|dimensions| dimensions.iter());
        let message = Self {
            source: table.source(),
            timestamp: table.timestamp(),
            dim_metadata: dimensions.map(|dimension| read_dimension(&dimension)).collect::<Result<_, _>>()?,
            last_metadata_timestamp: table.last_metadata_timestamp(),
            current_shape: column(table.current_shape()),
            offset: column_if(table.offset()),
            data: read!(
                &table,
                "data_type",
                data_type,
                data_as_array_int,
                data_as_array_long,
                data_as_array_double,
                data_as_array_float
            )?,
            errors: read!(
                &table,
                "errors_type",
                errors_type,
                errors_as_array_int,
                errors_as_array_long,
                errors_as_array_double,
                errors_as_array_float
            )?,
            info: table.info(),
        };
        message.lengths().check(schema)?;
        Ok(message)
    }

    fn lengths(&self) -> Lengths {
        let boundaries =
            |dimension: &Dimension<'_>| dimension.bin_boundaries.map(|boundaries| boundaries.len());
        let dimensions = self.dim_metadata.iter();
        Lengths {
            shape: self.current_shape.iter().map(i64::from).collect(),
            offset: self.offset.iter().map(i64::from).collect(),
            dimensions: dimensions
                .map(|dimension| (dimension.length.into(), boundaries(dimension)))
                .collect(),
            data: self.data.map(|data| data.len()),
            errors: self.errors.map(|errors| errors.len()),
        }
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.timestamp)
    }
}

fn read_dimension<'a>(dimension: &wire::Dimension<'a>) -> Result<Dimension<'a>, Refused> {
    let bin_boundaries = read!(
        dimension,
        "bin_boundaries_type",
        bin_boundaries_type,
        bin_boundaries_as_array_int,
        bin_boundaries_as_array_long,
        bin_boundaries_as_array_double,
        bin_boundaries_as_array_float
    )?;
    let (length, unit, label) = (dimension.length(), dimension.unit(), dimension.label());
    Ok(Dimension { length, unit, label, bin_boundaries })
}

impl fmt::Display for Hs01<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", TextIf(self.source), Time(self.time_ns()))?;
        match self.data {
            Some(data) => write!(f, " {data}"),
            None => f.write_str(" no counts"),
        }
    }
}
