//! VMM3 packets of 2018 and VMM3a packets (EFU formats of 2018, sections 4.2 and 4.3).

use super::{END_OF_FRAME, Numbering, Rejection, TimeMarker, VmmReadout, gray_to_binary, word_at};

/// Bytes of the header.
pub(super) const HEADER: usize = 16;
/// Bytes of a readout or marker.
pub(super) const WORD: usize = 6;
/// Data id of the layout of 2018, without the FEC in its low byte.
pub(super) const DATA_2018: u32 = 0x564D_3200;
/// Data id of VMM3a, without the FEC in bits 7..4 of its low byte.
pub(super) const DATA_3A: u32 = 0x564D_3300;

/// Which of the two formats that share this layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vmm3Variant {
    /// Data id `VM2`, low byte = FEC number less one (section 4.2).
    Of2018,
    /// Data id `VM3`, bits 7..4 of the low byte = FEC number, which is never 0 (section 4.3).
    Vmm3a,
}

impl Vmm3Variant {
    /// The FEC number in a data id.
    fn fec(self, id: u32) -> Result<u16, Rejection> {
        match self {
            Vmm3Variant::Of2018 if id & 0xFFFF_FF00 == DATA_2018 => Ok((id & 0xFF) as u16 + 1),
            Vmm3Variant::Vmm3a if id & 0xFFFF_FF00 == DATA_3A => match (id >> 4 & 0xF) as u16 {
                0 => Err(Rejection::NoSuchFec),
                fec => Ok(fec),
            },
            _ => Err(Rejection::WrongDataId(id)),
        }
    }
}

/// A checked packet with readouts and markers of one FEC.
#[derive(Clone, Copy, Debug)]
pub struct Vmm3Packet<'a> {
    /// Number of the packet, counted per FEC.
    pub frame_counter: u32,
    /// The FEC: 1..=256 in the layout of 2018, 1..=15 for VMM3a.
    pub fec: u16,
    /// When the FEC sent the packet, in ticks of its clock (25 ns in 2018), 32 bits.
    pub send_stamp: u32,
    /// One bit per chip whose trigger offset overflowed.
    pub offset_overflow: u32,
    body: &'a [u8],
}

/// What a 6-byte word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A measurement.
    Readout(VmmReadout),
    /// A time stamp for one chip.
    Marker(TimeMarker),
}

impl Word {
    /// The readout, if it is one.
    pub fn readout(self) -> Option<VmmReadout> {
        match self {
            Word::Readout(readout) => Some(readout),
            Word::Marker(_) => None,
        }
    }
}

/// The words of a packet, in order.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    chunks: std::slice::ChunksExact<'a, u8>,
}

impl Words<'_> {
    /// Bytes that have not been decoded yet.
    pub fn remaining_bytes(&self) -> usize {
        self.chunks.len() * WORD
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    #[inline(always)]
    fn next(&mut self) -> Option<Word> {
        let bytes = self.chunks.next()?;
        let first = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let second = u16::from_be_bytes([bytes[4], bytes[5]]);
        Some(decode(first, second))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl ExactSizeIterator for Words<'_> {}

impl<'a> Vmm3Packet<'a> {
    /// FEC and number of the packet, also if it is then rejected for its length.
    pub fn numbering(bytes: &[u8], variant: Vmm3Variant) -> Option<Numbering> {
        let frame_counter = word_at(bytes, 0)?;
        let fec = variant.fec(word_at(bytes, 4)?).ok()?;
        (frame_counter != END_OF_FRAME).then(|| Numbering { fec, frame_counter, time: word_at(bytes, 8) })
    }

    /// Checks a packet, in the order of section 4.2.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    pub fn parse(bytes: &'a [u8], variant: Vmm3Variant) -> Result<Self, Rejection> {
        let frame_counter = word_at(bytes, 0).ok_or(Rejection::TooShort)?;
        if frame_counter == END_OF_FRAME {
            return Err(Rejection::EndOfFrame);
        }
        let (Some(id), Some(send_stamp), Some(offset_overflow)) =
            (word_at(bytes, 4), word_at(bytes, 8), word_at(bytes, 12))
        else {
            return Err(Rejection::TooShort);
        };
        let body = &bytes[HEADER..];
        if body.len() < WORD {
            return Err(Rejection::NoReadouts);
        }
        let fec = variant.fec(id)?;
        if !body.len().is_multiple_of(WORD) {
            return Err(Rejection::RaggedLength);
        }
        Ok(Self { frame_counter, fec, send_stamp, offset_overflow, body })
    }

    /// Number of words: readouts and markers.
    pub fn len(&self) -> usize {
        self.body.len() / WORD
    }

    /// Never true for a parsed packet; for completeness.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Readouts and markers in order.
    #[inline]
    pub fn words(&self) -> Words<'a> {
        Words { chunks: self.body.chunks_exact(WORD) }
    }
}

/// Takes the fields out of the 32-bit and the 16-bit part of a word.
#[inline(always)]
fn decode(first: u32, second: u16) -> Word {
    if second & 0x8000 != 0 {
        Word::Readout(VmmReadout {
            chip: (first >> 22 & 0x1F) as u8,
            channel: (second >> 8 & 0x3F) as u8,
            bunch_crossing: gray_to_binary((first & 0xFFF) as u16),
            tdc: second as u8,
            adc: (first >> 12 & 0x3FF) as u16,
            over_threshold: second & 0x4000 != 0,
            trigger_offset: (first >> 27) as u8,
        })
    } else {
        Word::Marker(TimeMarker {
            chip: (second >> 10 & 0x1F) as u8,
            stamp: u64::from(first) << 10 | u64::from(second & 0x3FF),
        })
    }
}
