//! The events that a run has written: CSV with the columns `time_ns` and `pixel_id`, and any others.

use crate::columns::{self, ColumnError};
use evforge_core::event::Event;
use std::io::BufRead;

/// Reads the events of a file.
///
/// # Errors
/// The first line that is not what it should be.
pub fn read(reader: impl BufRead) -> Result<Vec<Event>, ColumnError> {
    columns::read(reader, ["time_ns", "pixel_id"], "a file of events of evforge", |[time_ns, pixel_id]| {
        Some(Event { time_ns: time_ns.parse().ok()?, pixel_id: pixel_id.parse().ok()? })
    })
}
