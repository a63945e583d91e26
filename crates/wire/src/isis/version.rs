//! Which of the two formats a message has (ISIS streaming readout, section 4).

use super::HEADER_WORDS_V2;

/// Bits of word 1 that are ones in every message of version 1.
const ONES_OF_V1: u32 = 0x0FFF_FFFF;

/// Words that a header of version 2 can have; with 255, word 1 would look like that of version 1.
const HEADERS_OF_V2: std::ops::RangeInclusive<u32> = HEADER_WORDS_V2 as u32..=254;

/// Which of the two wire formats a message has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// Fixed header of 16 words; documented until July 2026.
    #[default]
    V1,
    /// Header of any length, events that the header describes; documented since then.
    V2,
}

impl Version {
    /// The version of a message by its word 1, none if it is neither.
    #[inline]
    pub(super) fn of(word_1: u32) -> Option<Self> {
        if word_1 & ONES_OF_V1 == ONES_OF_V1 {
            Some(Self::V1)
        } else if word_1 >> 24 == 0xFF && HEADERS_OF_V2.contains(&(word_1 & 0xFF)) {
            Some(Self::V2)
        } else {
            None
        }
    }
}
