//! The bytes of one UDP payload to time markers and readouts.
//!
//! EFU formats of 2018, sections 4.1 (VMM2), 4.2 (VMM3) and 4.3 (VMM3a). The capacities of the reference
//! (1125 and 1500 hits) are not modelled: no packet that fits into one datagram reaches them.

use super::settings::{Convention, Format, Settings};

/// Frame counter of a packet that only ends a frame (sections 4.1 and 4.2).
const END_OF_FRAME: u32 = 0xfafa_fafa;

/// One decoded packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Number of the FEC that sent it.
    pub(crate) fec: u16,
    /// Markers and readouts in their order in the packet.
    pub(crate) items: Vec<Item>,
    /// VMM2: the trigger time stamp of all its readouts, in units of the trigger resolution. VMM3: unused, 0.
    pub(crate) trigger_stamp: u32,
}

/// One entry of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A time marker of one VMM with its 42-bit stamp, in marker periods (section 4.2).
    Marker {
        /// Number of the VMM that the marker belongs to.
        vmm: u8,
        /// The whole stamp.
        stamp: u64,
    },
    /// A hit word.
    Readout(Readout),
}

/// The fields of one hit word (sections 4.1 and 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Readout {
    /// Number of the VMM.
    pub(crate) vmm: u8,
    /// Channel, 0 to 63.
    pub(crate) channel: u8,
    /// Bunch crossing counter, 12 bits, Gray code already resolved.
    pub(crate) bunch_crossing: u16,
    /// Time-to-digital converter, 8 bits.
    pub(crate) tdc: u8,
    /// Charge, 10 bits.
    pub(crate) adc: u16,
    /// The chip's own flag for a charge above its threshold.
    pub(crate) over_threshold: bool,
    /// VMM3: trigger offset, 5 bits as sent. VMM2: 0.
    pub(crate) trigger_offset: u8,
}

/// Decodes one payload; `None` if the reference would not take anything from it.
pub(crate) fn decode(payload: &[u8], settings: &Settings) -> Option<Packet> {
    match settings.format {
        Format::Vmm2 => decode_vmm2(payload, settings),
        Format::Vmm3 => decode_vmm3(payload, settings),
    }
}

/// A VMM2 packet: 12 bytes of header, then hits of 8 bytes (section 4.1).
fn decode_vmm2(payload: &[u8], settings: &Settings) -> Option<Packet> {
    let (header, body) = payload.split_at_checked(12)?;
    let data_id = big_endian(&header[4..8]);
    if big_endian(&header[0..4]) == END_OF_FRAME || data_id & 0xffff_ff00 != settings.data_id {
        return None;
    }
    if body.is_empty() || body.len() % 8 != 0 {
        return None;
    }
    let vmm = (data_id & 0xf) as u8;
    let items = body.chunks_exact(8).map(|hit| Item::Readout(readout_vmm2(vmm, hit))).collect();
    Some(Packet { fec: 1, items, trigger_stamp: big_endian(&header[8..12]) })
}

/// One VMM2 hit: two big-endian words, each with its 32 bits in reverse order (section 4.1).
fn readout_vmm2(vmm: u8, bytes: &[u8]) -> Readout {
    let first = big_endian(&bytes[0..4]).reverse_bits();
    let second = big_endian(&bytes[4..8]).reverse_bits();
    let gray = bits(first, 15, 10) | (bits(first, 5, 0) << 6);
    Readout {
        vmm,
        channel: bits(second, 7, 2) as u8,
        bunch_crossing: binary_of_gray(gray as u16),
        tdc: (bits(first, 23, 18) | (bits(first, 9, 8) << 6)) as u8,
        adc: (bits(first, 31, 24) | (bits(first, 17, 16) << 8)) as u16,
        over_threshold: bits(second, 1, 1) == 1,
        trigger_offset: 0,
    }
}

/// A VMM3 packet: 16 bytes of header, then markers and hits of 6 bytes (sections 4.2 and 4.3).
fn decode_vmm3(payload: &[u8], settings: &Settings) -> Option<Packet> {
    let (header, body) = payload.split_at_checked(16)?;
    let data_id = big_endian(&header[4..8]);
    if big_endian(&header[0..4]) == END_OF_FRAME || data_id & 0xffff_ff00 != settings.data_id {
        return None;
    }
    if body.is_empty() || body.len() % 6 != 0 {
        return None;
    }
    let fec = match settings.convention {
        Convention::Efu2018 => (data_id & 0xff) as u16 + 1,
        Convention::Vmm3aPhysical => bits(data_id, 7, 4) as u16,
    };
    let items = body.chunks_exact(6).map(item_vmm3).collect();
    Some(Packet { fec, items, trigger_stamp: 0 })
}

/// One entry of a VMM3 packet: a word of 32 and one of 16 bits, of which the top bit tells hit from marker.
fn item_vmm3(bytes: &[u8]) -> Item {
    let first = big_endian(&bytes[0..4]);
    let second = big_endian(&bytes[4..6]);
    if bits(second, 15, 15) == 0 {
        let stamp = (u64::from(first) << 10) | u64::from(bits(second, 9, 0));
        return Item::Marker { vmm: bits(second, 14, 10) as u8, stamp };
    }
    Item::Readout(Readout {
        vmm: bits(first, 26, 22) as u8,
        channel: bits(second, 13, 8) as u8,
        bunch_crossing: binary_of_gray(bits(first, 11, 0) as u16),
        tdc: bits(second, 7, 0) as u8,
        adc: bits(first, 21, 12) as u16,
        over_threshold: bits(second, 14, 14) == 1,
        trigger_offset: bits(first, 31, 27) as u8,
    })
}

/// The number that at most four bytes spell, most significant byte first.
fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| (number << 8) | u32::from(byte))
}

/// Bits `high` down to `low` of a word, at most 31 of them.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & ((1 << (high - low + 1)) - 1)
}

/// Resolves a Gray code: each binary bit is the parity of the code bits from the top down to it.
fn binary_of_gray(gray: u16) -> u16 {
    let mut binary = gray;
    let mut rest = gray >> 1;
    while rest != 0 {
        binary ^= rest;
        rest >>= 1;
    }
    binary
}
