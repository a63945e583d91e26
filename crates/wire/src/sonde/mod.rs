//! SoNDe modules with IDEAS ROSMAP boards.
//!
//! Source: EFU formats of 2018, section 1 (Readout and Control Packet Protocol of IDEAS). All words are
//! big-endian. A packet is a header of 10 bytes and a content of the length that the header announces:
//!
//! | type | content | in use |
//! |---|---|---|
//! | 0xD6 | [`TriggerTimes`]: time and channel of each trigger | production |
//! | 0xD5 | [`SingleEvent`]: amplitudes of one channel | tests of a module |
//! | 0xD4 | [`MultiEvent`]: amplitudes of many events | tests of a module |
//!
//! [`SondePacket::parse`] checks a packet; what it returns iterates without further checks. The packets are
//! numbered, and [`SondePacket::numbering`] finds the number even in a packet that is then rejected, so that a
//! damaged packet is not taken for a lost one.

mod amplitudes;
mod encode;
mod packet;
mod trigger_times;

pub use amplitudes::{AmplitudeEvent, AmplitudeSample, MultiEvent, SingleEvent};
pub use encode::SondeEncoder;
pub use packet::{Content, Header, Numbering, SondePacket};
pub use trigger_times::{TriggerTime, TriggerTimes};

/// Width of the packet count in bits (section 1.1).
pub const PACKET_COUNT_BITS: u32 = 14;

/// Width of the time in a header in bits (section 1.1).
pub const HEADER_TIME_BITS: u32 = 32;

/// ASICs of one module (section 1.6).
pub const ASICS: usize = 4;

/// Channels of one ASIC (section 1.6); their numbers travel in six bits.
pub const CHANNELS: usize = 16;

/// Largest number of entries of a trigger-time packet (section 1.3).
pub const LARGEST_ENTRY_COUNT: usize = 255;

/// Largest payload on a link with 9000-byte frames, in bytes.
pub const LARGEST_PACKET: usize = 8972;

/// Why a packet is rejected as a whole, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too short for the header and one byte of content. The reference returns EBADSIZE.
    TooShort,
    /// A version that is not 0. The reference returns EHEADER.
    WrongVersion(u8),
    /// The length in the header is not that of the datagram. The reference returns EHEADER.
    WrongLength,
    /// No type of readout; types of the control protocol come here as well. The reference returns EUNSUPP.
    UnknownType(u8),
    /// Type 0xD4 with a content shorter than one event with one sample. The reference returns EBADSIZE.
    NoRoomForAnEvent,
    /// The content does not hold as many entries, events or samples as it says. The reference returns
    /// EHEADER.
    WrongCount,
}
