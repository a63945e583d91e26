//! The streaming readout of ISIS: control boards and detector modules that tell each frame in messages of big-endian words.
//!
//! Source: ISIS streaming readout, sections 2 (version 1), 3 (version 2), 4 (which of them a message has) and 5 (time). Bits are
//! numbered from the least significant one, 0. A datagram has one message or more, back to back, and perhaps padding:
//!
//! | | version 1, until July 2026 | version 2, since then |
//! |---|---|---|
//! | header | 16 words | 14 words and the parameters of the board |
//! | kind of message | word 1, bits that are 0 | word 2, bits that are 1 |
//! | time (GPS) | words 4 and 5 | words 3 and 4 |
//! | length of the message | word 13 | word 8 |
//! | event | two words, whose meaning the type of the board gives ([`event::v1`]) | two words, which the header describes ([`event::v2`]) |
//!
//! | file | question |
//! |---|---|
//! | `walk` | Where do the messages of a datagram begin and end ([`Messages`])? |
//! | `header` | What does a message say before its events ([`Header`])? |
//! | `gps` | Which time do two words mean? |
//! | `event` | What do the two words of an event mean? |
//! | `rules` | What may a sender do ([`Rules`])? |
//! | `version` | Which of the two formats does a message have ([`Version`])? |
//! | `fault` | Why is a message rejected ([`Fault`])? |
//! | `encode` | How is a datagram made ([`IsisEncoder`])? |
//!
//! A message is checked once. Its events are pairs of words and are handed out as they are: which time and which pixel they mean
//! is for the caller, who knows the board.

mod encode;
pub mod event;
mod fault;
mod gps;
mod header;
mod rules;
mod walk;

pub use encode::IsisEncoder;
pub use fault::Fault;
pub use gps::{gps_nanoseconds, gps_words};
pub use header::{BoardParameters, Header, Kind};
pub use rules::{BitOrder, Format, Rules};
pub use walk::{Message, Messages, Numbering, numbering};

/// What every message begins with: word 0.
pub const MARKER: u32 = 0xFFFF_FFFF;

/// The longest message in words: its length has 12 bits.
pub const LARGEST_MESSAGE_WORDS: usize = 0xFFF;

/// Words of the header of version 1, and thereby of its shortest message.
pub const HEADER_WORDS_V1: usize = 16;

/// Words of the shortest header of version 2: that of a board without parameters.
pub const HEADER_WORDS_V2: usize = 14;

/// Words of the header of a version 2 board that describes its events.
pub const HEADER_WORDS_V2_BOARD: usize = 16;

/// The numbers of the printed circuit boards that describe their events in version 2: MADC, LVDS, WLSF.
pub const DETECTOR_BOARDS: [u16; 3] = [3544, 3634, 3877];

/// Largest payload on a link with 9000-byte frames, in bytes: what the receiving program of ISIS has room for.
pub const LARGEST_DATAGRAM: usize = 8972;

/// Proton charge of one unit of [`Header::protons`] in µAh.
pub const MICROAMPERE_HOURS_PER_UNIT: f64 = 1.738e-6;

/// Bytes of a word.
const WORD: usize = 4;

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
