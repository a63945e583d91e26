//! What se00 and senv have in common.

use crate::array::Array;
use crate::check;
use crate::named::named;
use crate::refused::Refused;
use crate::schema::Schema;

named! {
    /// Which moment of a sample its time stamp is.
    pub enum Location: i8 { Unknown 0 "unknown", Start 1 "start", Middle 2 "middle", End 3 "end" }
}

/// Each sample has a time, or none has.
pub(crate) fn check_times(schema: Schema, values: Array<'_>, timestamps: usize) -> Result<(), Refused> {
    check::equal_if_given(schema, ("timestamps", timestamps), ("values", values.len()))
}
