//! VMM2 packets (EFU formats of 2018, section 4.1).

use super::{END_OF_FRAME, Numbering, Rejection, VmmReadout, gray_to_binary, word_at};

/// Bytes of the header.
pub(super) const HEADER: usize = 12;
/// Bytes of a readout.
pub(super) const READOUT: usize = 8;
/// Data id `VM2`, without the chip in its low byte.
pub(super) const DATA: u32 = 0x564D_3200;
/// Data id `VA2`: a packet without data.
pub(super) const NO_DATA: u32 = 0x5641_3200;

/// What a valid packet is.
#[derive(Clone, Copy, Debug)]
pub enum Vmm2Content<'a> {
    /// The frame is complete.
    EndOfFrame,
    /// A heartbeat without readouts.
    NoData,
    /// Readouts of one chip.
    Readouts(Vmm2Packet<'a>),
}

/// A checked packet with readouts of one chip.
#[derive(Clone, Copy, Debug)]
pub struct Vmm2Packet<'a> {
    /// Number of the packet.
    pub frame_counter: u32,
    /// The chip all readouts come from, 0..=15.
    pub chip: u8,
    /// Time of the trigger, in ticks of 3.125 ns (default), 32 bits.
    pub trigger_stamp: u32,
    body: &'a [u8],
}

impl<'a> Vmm2Packet<'a> {
    /// The number of the packet, also if it is then rejected for its length.
    pub fn numbering(bytes: &[u8]) -> Option<Numbering> {
        let frame_counter = word_at(bytes, 0)?;
        let id = word_at(bytes, 4)?;
        let known = id == NO_DATA || id & 0xFFFF_FF00 == DATA;
        (known && frame_counter != END_OF_FRAME).then(|| Numbering {
            fec: 0,
            frame_counter,
            time: word_at(bytes, 8),
        })
    }

    /// Checks a packet, in the order of section 4.1.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    pub fn parse(bytes: &'a [u8]) -> Result<Vmm2Content<'a>, Rejection> {
        let frame_counter = word_at(bytes, 0).ok_or(Rejection::TooShort)?;
        if frame_counter == END_OF_FRAME {
            return Ok(Vmm2Content::EndOfFrame);
        }
        let (Some(id), Some(trigger_stamp)) = (word_at(bytes, 4), word_at(bytes, 8)) else {
            return Err(Rejection::TooShort);
        };
        if id == NO_DATA {
            return Ok(Vmm2Content::NoData);
        }
        if id & 0xFFFF_FF00 != DATA {
            return Err(Rejection::WrongDataId(id));
        }
        let body = &bytes[HEADER..];
        if body.len() < READOUT {
            return Err(Rejection::NoReadouts);
        }
        if !body.len().is_multiple_of(READOUT) {
            return Err(Rejection::RaggedLength);
        }
        let chip = (id & 0xF) as u8;
        Ok(Vmm2Content::Readouts(Self { frame_counter, chip, trigger_stamp, body }))
    }

    /// Number of readouts.
    pub fn len(&self) -> usize {
        self.body.len() / READOUT
    }

    /// Never true for a parsed packet; for completeness.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The readouts in order.
    #[inline]
    pub fn readouts(&self) -> impl ExactSizeIterator<Item = VmmReadout> + use<'a> {
        let chip = self.chip;
        self.body.chunks_exact(READOUT).map(move |bytes| {
            let first = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let second = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            decode(chip, first.reverse_bits(), second.reverse_bits())
        })
    }
}

/// Takes the fields out of the two bit-reversed words.
#[inline(always)]
fn decode(chip: u8, first: u32, second: u32) -> VmmReadout {
    let adc = (first >> 24) | (first >> 16 & 0x3) << 8;
    let tdc = (first >> 18 & 0x3F) | (first >> 8 & 0x3) << 6;
    let gray = (first >> 10 & 0x3F) | (first & 0x3F) << 6;
    VmmReadout {
        chip,
        channel: (second >> 2 & 0x3F) as u8,
        bunch_crossing: gray_to_binary(gray as u16),
        tdc: tdc as u8,
        adc: adc as u16,
        over_threshold: second & 0x2 != 0,
        trigger_offset: 0,
    }
}
