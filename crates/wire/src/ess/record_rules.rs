//! Which rules of records may be relaxed (ESS readout formats, section 2 and section 2.1).

use super::time::EssClock;

/// Rules of records that may be relaxed (section 2 and section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordRules {
    /// Accept the length in bits, 160 for 20 bytes, as well as that in bytes: what some boards of 2021 to 2024 sent.
    pub length_in_bits: bool,
    /// Accept amplitudes above 1023, as the reference does for VMM3a chips that read a monitor.
    pub any_adc: bool,
    /// How many ticks a time may have.
    pub clock: EssClock,
}

impl RecordRules {
    /// Whether a record of that many bytes may state this length.
    #[inline(always)]
    pub(super) fn allows_length(self, length: u16, bytes: u16) -> bool {
        length == bytes || (self.length_in_bits && length == 8 * bytes)
    }
}
