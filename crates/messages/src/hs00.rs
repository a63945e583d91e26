//! hs00: a histogram, before hs01.

use crate::array::Array;
use crate::check;
use crate::column::Column;
use crate::generated::hs00 as wire;
use crate::histogram::Lengths;
use crate::open::open;
use crate::read::{column, column_if};
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{TextIf, Time};
use std::fmt;

/// A histogram, or a piece of one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Hs00<'a> {
    /// Whose data they are.
    pub source: Option<&'a str>,
    /// When they held, nanoseconds since 1970.
    pub timestamp: u64,
    /// The dimensions of the whole.
    pub dim_metadata: Vec<Dimension<'a>>,
    /// When the dimensions were sent last.
    pub last_metadata_timestamp: u64,
    /// The shape of the piece, the slowest dimension first.
    pub current_shape: Column<'a, u32>,
    /// Where the piece begins; empty for the whole.
    pub offset: Column<'a, u32>,
    /// The counts.
    pub data: Option<Array<'a>>,
    /// Their errors.
    pub errors: Option<Array<'a>>,
    /// Whatever the sender has to say.
    pub info: Option<&'a str>,
}

/// A dimension of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Dimension<'a> {
    /// Its bins.
    pub length: u32,
    /// The unit of their boundaries.
    pub unit: Option<&'a str>,
    /// Its name.
    pub label: Option<&'a str>,
    /// The boundaries, one more than bins.
    pub bin_boundaries: Option<Array<'a>>,
}

/// The member of a union, with the functions that flatc has made for it.
macro_rules! read {
    ($table:expr, $field:literal, $tag:ident, $($member:ident),+) => {{
        let table = $table;
        let mut array = None;
        $(if let Some(member) = table.$member() {
            array = Some(column_if(member.value()).into());
        })+
        match table.$tag() {
            tag if array.is_none() && tag != wire::Array::NONE => {
                Err(Refused::UnknownValue { schema: Schema::Hs00, field: $field, found: tag.0.into() })
            }
            _ => Ok(array),
        }
    }};
}

impl<'a> Hs00<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Hs00;
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
                data_as_array_uint,
                data_as_array_ulong,
                data_as_array_double,
                data_as_array_float
            )?,
            errors: read!(
                &table,
                "errors_type",
                errors_type,
                errors_as_array_uint,
                errors_as_array_ulong,
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
        bin_boundaries_as_array_uint,
        bin_boundaries_as_array_ulong,
        bin_boundaries_as_array_double,
        bin_boundaries_as_array_float
    )?;
    let (length, unit, label) = (dimension.length(), dimension.unit(), dimension.label());
    Ok(Dimension { length, unit, label, bin_boundaries })
}

impl fmt::Display for Hs00<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", TextIf(self.source), Time(self.time_ns()))?;
        match self.data {
            Some(data) => write!(f, " {data}"),
            None => f.write_str(" no counts"),
        }
    }
}
