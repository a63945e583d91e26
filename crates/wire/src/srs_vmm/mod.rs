//! SRS front-end cards (FEC) with VMM chips: VMM2, VMM3 in the layout of 2018, and VMM3a.
//!
//! Source: EFU formats of 2018, sections 4.1 (VMM2), 4.2 (VMM3) and 4.3 (VMM3a). All words are big-endian.
//!
//! | | VMM2 | VMM3 (2018) and VMM3a |
//! |---|---|---|
//! | header | frame counter, data id, trigger stamp: 12 bytes | frame counter, data id, send stamp, overflow: 16 bytes |
//! | data id | `VM2` + chip | `VM2` + FEC, or `VM3` + FEC × 16 |
//! | then | 8 bytes per readout | 6 bytes per readout or time marker |
//! | time base | trigger stamp of the packet, 32 bits | marker of the chip, 42 bits, valid until the next one |
//!
//! In triggered mode of VMM3a markers have other meanings: [`TriggerMarker`].
//!
//! [`Vmm2Packet::parse`] and [`Vmm3Packet::parse`] check a packet; what they return iterates over its
//! content. [`Numbering`] finds the sequence number even in a packet that is then rejected, so that a
//! damaged packet is not taken for a lost one.

mod encode;
mod triggered;
mod vmm2;
mod vmm3;

pub use encode::{Vmm2Encoder, Vmm3Encoder};
pub use triggered::{EVENT_COUNTER_BITS, RELATIVE_TIME_LIMIT, TriggerMarker};
pub use vmm2::{Vmm2Content, Vmm2Packet};
pub use vmm3::{Vmm3Packet, Vmm3Variant, Word, Words};

/// Frame counter of a packet that ends a frame and carries nothing (sections 4.1, 4.2).
pub const END_OF_FRAME: u32 = 0xFAFA_FAFA;

/// Largest payload on a link with 9000-byte frames, in bytes.
pub const LARGEST_PACKET: usize = 8972;

/// Width of the frame counter in bits.
pub const FRAME_COUNTER_BITS: u32 = 32;

/// Width of the time stamp in a header in bits.
pub const HEADER_TIME_BITS: u32 = 32;

/// Channels of one VMM chip.
pub const CHANNELS: usize = 64;

/// Largest amplitude: 10 bits.
pub const LARGEST_ADC: u16 = 1023;

/// Number of bunch crossings after which a chip's counter starts over: 12 bits.
pub const BUNCH_CROSSINGS: u16 = 4096;

/// One measurement of one channel, as the chip sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmmReadout {
    /// Number of the chip on its FEC: 0..=15 (VMM2), 0..=31 (VMM3, of which 0..=15 exist).
    pub chip: u8,
    /// Channel, 0..=63.
    pub channel: u8,
    /// Bunch crossing, 0..=4095; Gray-coded on the wire.
    pub bunch_crossing: u16,
    /// Fine time within the bunch crossing, 0..=255.
    pub tdc: u8,
    /// Amplitude, 0..=1023.
    pub adc: u16,
    /// Whether this channel itself crossed its threshold (else it was read as a neighbour).
    pub over_threshold: bool,
    /// VMM3 only: turns of the bunch-crossing counter since the marker, the raw 5 bits. 0 for VMM2.
    pub trigger_offset: u8,
}

/// A time stamp of the FEC for one of its chips, valid for that chip's following readouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeMarker {
    /// The chip, 0..=31. Chips above 15 do not exist: such markers belong to the triggered mode
    /// ([`TriggerMarker`]).
    pub chip: u8,
    /// Ticks of the FEC's clock, 42 bits.
    pub stamp: u64,
}

/// Width of a marker's stamp in bits.
pub const MARKER_BITS: u32 = 42;

/// Why a packet is rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too short for its header.
    TooShort,
    /// A packet that ends a frame, where the format has none (VMM3).
    EndOfFrame,
    /// The data id is that of another format or of none. Holds what was found.
    WrongDataId(u32),
    /// An impossible FEC number (VMM3a: 0).
    NoSuchFec,
    /// A header and no readout behind it.
    NoReadouts,
    /// The bytes behind the header are not a whole number of readouts.
    RaggedLength,
}

/// Who sent a packet and as which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the FEC (0 only for VMM2, which does not carry it).
    pub fec: u16,
    /// Frame counter, [`FRAME_COUNTER_BITS`] wide.
    pub frame_counter: u32,
    /// Time stamp of the header, [`HEADER_TIME_BITS`] wide: of the trigger in VMM2, of sending in VMM3; none if the packet ends before.
    pub time: Option<u32>,
}

/// Gray code to binary, 12 bits.
#[inline]
fn gray_to_binary(gray: u16) -> u16 {
    let mut binary = gray ^ (gray >> 8);
    binary ^= binary >> 4;
    binary ^= binary >> 2;
    binary ^ (binary >> 1)
}

/// Binary to Gray code.
fn binary_to_gray(binary: u16) -> u16 {
    binary ^ (binary >> 1)
}

/// The big-endian word at `offset`, or none if the packet ends before.
fn word_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..offset + 4)?;
    Some(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_code_is_inverse_over_all_twelve_bits() {
        for value in 0..4096 {
            assert_eq!(gray_to_binary(binary_to_gray(value)), value);
            let step = binary_to_gray(value) ^ binary_to_gray((value + 1) % 4096);
            assert_eq!(step.count_ones(), 1, "one bit changes from {value} on");
        }
    }
}
