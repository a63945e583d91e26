//! Readouts that a file from a debugging session can hold (`evforge dump`), with what is needed to read them.

use crate::gdgem::GdGemSettings;
use crate::multiblade::MultiBladeSettings;

/// The readouts of a detector, as a dump has them.
#[derive(Clone, Copy, Debug)]
pub enum DumpedReadouts<'a> {
    /// Hits of VMMs behind SRS.
    Srs(&'a GdGemSettings),
    /// Readouts of CAEN digitisers.
    Caen(&'a MultiBladeSettings),
    /// Hits of VMMR modules.
    Vmmr {
        /// The upper half of their time is counted, and not sent.
        spoof_high_time: bool,
    },
}
