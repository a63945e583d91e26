//! What a packet says, as text.

use std::fmt::{Debug, Display};

/// Lines of fields with their values.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) String);

impl Fields {
    /// Appends a line.
    pub(crate) fn put(&mut self, field: impl Display, value: impl Display) {
        self.0 += &format!("{field} = {value}\n");
    }
}

/// The rejection of a decoder as text.
pub(crate) fn rejected(reason: impl Debug) -> String {
    format!("rejected: {reason:?}")
}
