//! The beginning that all records share: where a readout comes from and when it was.

use super::{EssTime, LARGEST_FEN, LARGEST_FIBRE, LENGTH, LENGTH_IN_BITS, RECORD, RecordRules};

/// What the records of all kinds begin with. Three little-endian words, which the accessors take apart: the sound ones among millions per
/// second are told from the others by a few operations on the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordWords {
    /// Bytes 0 to 7: fibre, front end, length, seconds.
    head: u64,
    /// Bytes 8 to 15: ticks and what is particular to the kind of record.
    pub(super) middle: u64,
    /// Bytes 16 to 19.
    pub(super) tail: u32,
}

impl RecordWords {
    #[inline(always)]
    pub(super) fn new(record: &[u8; RECORD]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = *record;
        Self {
            head: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            middle: u64::from_le_bytes([i, j, k, l, m, n, o, p]),
            tail: u32::from_le_bytes([q, r, s, t]),
        }
    }

    /// The optical fibre it came through, 0..=23.
    #[inline(always)]
    pub fn fibre(self) -> u8 {
        self.head as u8
    }

    /// The ring of front ends: an even fibre and the odd one after it serve one ring, 0..=11.
    #[inline(always)]
    pub fn ring(self) -> u8 {
        self.fibre() / 2
    }

    /// The front end on its ring, 0..=23.
    #[inline(always)]
    pub fn fen(self) -> u8 {
        (self.head >> 8) as u8
    }

    /// The length field: the bytes of the record, 20 or 24, or its bits where boards gave those.
    #[inline(always)]
    pub fn length(self) -> u16 {
        (self.head >> 16) as u16
    }

    /// Whether the length field is in bits, for a record of 20 bytes.
    #[inline(always)]
    pub fn length_is_in_bits(self) -> bool {
        self.length() == LENGTH_IN_BITS
    }

    /// When it was.
    #[inline(always)]
    pub fn time(self) -> EssTime {
        EssTime { seconds: (self.head >> 32) as u32, ticks: self.middle as u32 }
    }

    /// Whether fibre, front end, length and ticks of a record of 20 bytes are in range, without a branch.
    #[inline(always)]
    pub(super) fn is_addressed(self, rules: RecordRules) -> bool {
        self.is_on_a_ring()
            & rules.allows_length(self.length(), LENGTH)
            & (self.middle as u32 <= rules.clock.largest_tick)
    }

    /// Whether fibre and front end are in range, without a branch.
    #[inline(always)]
    pub(super) fn is_on_a_ring(self) -> bool {
        // Adding 127 - 23 to a byte sets its top bit from 24 on; a top bit that was set stays in the second
        // term. Neither byte carries into the other.
        const { assert!(LARGEST_FIBRE == 23 && LARGEST_FEN == 23) };
        let address = self.head as u32;
        (((address & 0x7F7F) + 0x6868) | address) & 0x8080 == 0
    }
}

/// A readout that begins as every record does: fibre, front end, length and time are read from its words.
macro_rules! is_a_record {
    ($readout:ident) => {
        impl std::ops::Deref for $readout {
            type Target = $crate::ess::RecordWords;

            #[inline(always)]
            fn deref(&self) -> &Self::Target {
                &self.words
            }
        }

        impl From<&[u8; $crate::ess::RECORD]> for $readout {
            #[inline(always)]
            fn from(record: &[u8; $crate::ess::RECORD]) -> Self {
                Self { words: $crate::ess::RecordWords::new(record) }
            }
        }
    };
}

pub(super) use is_a_record;
