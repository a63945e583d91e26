//! CAEN V1740D digitisers: the 8-byte records of August 2018 and the packets of jadaq.
//!
//! Source: EFU formats of 2018, sections 3.1 (records) and 3.2 (jadaq). Everything is little-endian.
//!
//! | | records | jadaq of June 2018 | jadaq 1.3 |
//! |---|---|---|---|
//! | header | none | 32 bytes | 32 bytes with a sequence number |
//! | digitizer | in each record | in the header | in the header |
//! | then | digitizer, channel, amplitude, time: 8 bytes | time, charge, channel: 8 bytes | *List422*: time, channel, charge: 8 bytes; *List8222*: time (64 bits), channel, charge, baseline: 14 bytes |
//!
//! [`RecordPacket::parse`] and [`JadaqPacket::parse`] check a packet; what they return iterates over its
//! content. [`JadaqPacket::numbering`] finds the sequence number even in a packet that is then rejected, so
//! that a damaged packet is not taken for a lost one. Waveforms are refused by their name.

mod encode;
mod jadaq;
mod records;

pub use encode::{JadaqEncoder, RecordEncoder};
pub use jadaq::{Element, ElementType, Elements, JadaqPacket, JadaqVersion, Numbering};
pub use records::{Record, RecordPacket, Records};

/// Largest payload on a link with 9000-byte frames, in bytes: 1117 elements of 8 bytes behind a jadaq header.
pub const LARGEST_PACKET: usize = 8972;

/// Largest packet of records that the receiver of 2018 had room for, in bytes: 200 records. Larger ones are
/// read, but not made.
pub const LARGEST_RECORD_PACKET: usize = 1600;

/// Channels of one digitizer.
pub const CHANNELS: usize = 64;

/// Width of the sequence number of jadaq 1.3 in bits.
pub const SEQUENCE_BITS: u32 = 32;

/// Width of the time of a record and of a jadaq element (all but List8222, which has 64) in bits.
pub const TIME_BITS: u32 = 32;

/// Why a packet is rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No record at all. The reference of 2018 reads one from beyond the packet.
    Empty,
    /// Too short for the header of jadaq.
    TooShort,
    /// The version in the header is not the one that is expected. Holds what was found.
    WrongVersion(u16),
    /// Elements that carry a waveform, which nothing here can use. Holds the type.
    Waveform(u16),
    /// A type of elements that does not exist. Holds what was found.
    UnknownElementType(u16),
    /// The bytes are not a whole number of records, or not as many elements as the header says.
    RaggedLength,
}
