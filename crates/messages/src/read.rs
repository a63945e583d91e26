//! From the tables of flatc's code to columns and texts.

use crate::column::{Column, Element};
use flatbuffers::{ForwardsUOffset, Vector};

/// The numbers of a vector.
pub(crate) fn column<'a, T: Element>(vector: Vector<'a, T>) -> Column<'a, T> {
    Column::from_le_bytes(vector.bytes())
}

/// The numbers of a vector that may be absent: none.
pub(crate) fn column_if<'a, T: Element>(vector: Option<Vector<'a, T>>) -> Column<'a, T> {
    vector.map(column).unwrap_or_default()
}

/// Texts of a vector that may be absent: none.
pub(crate) fn texts_if<'a>(vector: Option<Vector<'a, ForwardsUOffset<&'a str>>>) -> Vec<&'a str> {
    vector.map(|texts| texts.iter().collect()).unwrap_or_default()
}
