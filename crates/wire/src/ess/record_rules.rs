//! Which rules of records may be relaxed (ESS readout formats, section 2 and section 2.1).

use super::time::EssClock;
use super::{LENGTH, LENGTH_IN_BITS};

/// Rules of records that may be relaxed (section 2 and section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordRules {
    /// Accept 160, the length in bits, as well as the length of 20 bytes: what some boards of 2021 to 2024 sent.
    pub length_in_bits: bool,
    /// Accept amplitudes above 1023, as the reference does for VMM3a chips that read a monitor.
    pub any_adc: bool,
    /// How many ticks a time may have.
    pub clock: EssClock,
}

impl RecordRules {
    /// Whether a record may state this length.
    #[inline(always)]
    pub(super) fn allows_length(self, length: u16) -> bool {
        length == LENGTH || (self.length_in_bits && length == LENGTH_IN_BITS)
    }
}
