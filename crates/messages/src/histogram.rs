//! What hs00 and hs01 have in common: shapes.

use crate::check;
use crate::refused::Refused;
use crate::schema::Schema;

/// The lengths that belong together.
pub(crate) struct Lengths {
    /// Of the piece that is sent, by dimension.
    pub(crate) shape: Vec<i64>,
    /// Where the piece begins, by dimension; empty for the whole.
    pub(crate) offset: Vec<i64>,
    /// Bins and boundaries of the whole, by dimension; empty where they are not sent.
    pub(crate) dimensions: Vec<(i64, Option<usize>)>,
    /// Values.
    pub(crate) data: Option<usize>,
    /// Their errors.
    pub(crate) errors: Option<usize>,
}

impl Lengths {
    /// Checks that the piece is as large as it says and lies within the histogram.
    pub(crate) fn check(&self, schema: Schema) -> Result<(), Refused> {
        let shape = || self.shape.iter().copied();
        check::values_of_shape(schema, "data", shape())?;
        for (field, values) in [("data", self.data), ("errors", self.errors)] {
            if let Some(values) = values {
                check::shape(schema, field, shape(), values)?;
            }
        }
        let dimensions = ("current_shape", self.shape.len());
        check::equal_if_given(schema, ("offset", self.offset.len()), dimensions)?;
        check::equal_if_given(schema, ("dim_metadata", self.dimensions.len()), dimensions)?;
        for (place, (bins, boundaries)) in self.dimensions.iter().enumerate() {
            self.check_dimension(schema, place, *bins, *boundaries)?;
        }
        Ok(())
    }

    fn check_dimension(
        &self,
        schema: Schema,
        place: usize,
        bins: i64,
        boundaries: Option<usize>,
    ) -> Result<(), Refused> {
        let refuse = |what| Err(Refused::Shape { schema, field: format!("dimension {place}"), what });
        let first = self.offset.get(place).copied().unwrap_or(0);
        let length = self.shape.get(place).copied().unwrap_or(0);
        if first < 0 || bins < 0 || first.saturating_add(length) > bins {
            return refuse(format!("has {bins} bins; the piece begins at {first} and has {length}"));
        }
        match boundaries.and_then(|boundaries| i64::try_from(boundaries).ok()) {
            // Edges of bins or their centres.
            Some(boundaries) if boundaries != bins && Some(boundaries) != bins.checked_add(1) => {
                refuse(format!("has {bins} bins and {boundaries} boundaries"))
            }
            _ => Ok(()),
        }
    }
}
