//! Messages that are of no use.

use super::Version;

/// Why a message is rejected, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The datagram ends within the header. Holds the bytes that are there, the marker included.
    HeaderCut(usize),
    /// Word 1 is that of neither version. Holds the word.
    MalformedWord1(u32),
    /// The length in the header is less than the header has. Version 1 has 16 words; version 2 says how many, at least 14.
    LengthTooShort {
        /// The length of the message in words.
        words: u16,
        /// The least that it can be.
        least: u16,
    },
    /// The length in the header goes beyond the end of the datagram.
    LengthBeyondDatagram {
        /// The length of the message in words.
        words: u16,
        /// The bytes that are there.
        bytes: usize,
    },
    /// A version that is not expected ([`Format`](super::Format)). Holds what was found.
    WrongVersion(Version),
    /// Version 1: a type of message that does not exist, or two at once. Holds word 1.
    UnknownType(u32),
    /// A time that does not exist: day 0, hour 24 and so on. Holds both words.
    InvalidTime(u64),
    /// An odd number of words behind the header. Holds the number.
    HalfEvent(usize),
    /// Version 2: the parts of the second word of an event have more than 32 bits together. Holds how many.
    WidthsTooLarge(u16),
}

impl Fault {
    /// True if it cannot be known where the message ends: whatever follows it in the datagram is lost as well.
    #[inline]
    pub const fn ends_datagram(self) -> bool {
        match self {
            Self::HeaderCut(_)
            | Self::MalformedWord1(_)
            | Self::LengthTooShort { .. }
            | Self::LengthBeyondDatagram { .. } => true,
            Self::WrongVersion(_)
            | Self::UnknownType(_)
            | Self::InvalidTime(_)
            | Self::HalfEvent(_)
            | Self::WidthsTooLarge(_) => false,
        }
    }
}
