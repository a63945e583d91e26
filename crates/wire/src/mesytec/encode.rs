//! Encoder: triggers to datagrams.

use super::sis3153::{BEGIN, BLOCK, END, END_OF_DATA, FRAMING, HEADER, READOUT_DATA};
use super::{LARGEST_PACKET, TriggerEnd, VmmrReadout, Word};

/// Builds datagrams of the SIS3153.
#[derive(Clone, Debug, Default)]
pub struct DatagramEncoder {
    bytes: Vec<u8>,
}

impl DatagramEncoder {
    /// Begins a datagram.
    pub fn begin(&mut self, packet_id: u8, status: u8) {
        self.bytes.clear();
        self.bytes.extend([READOUT_DATA, packet_id, status]);
    }

    /// Appends a trigger with its counter (cut to 24 bits). Returns false, and leaves the datagram as it is, if
    /// it does not fit.
    pub fn push(&mut self, counter: u32, words: &[Word]) -> bool {
        let Ok(length) = u16::try_from(words.len() + FRAMING - 1) else { return false };
        if self.bytes.len() + Self::trigger_bytes(words) > LARGEST_PACKET {
            return false;
        }
        let [high, low] = length.to_be_bytes();
        self.bytes.extend([BLOCK as u8, high, low, 0]);
        self.bytes.extend((BEGIN << 24 | counter & 0xFF_FFFF).to_le_bytes());
        for word in words {
            self.bytes.extend(word.encode().to_le_bytes());
        }
        self.bytes.extend(END_OF_DATA.to_le_bytes());
        self.bytes.extend((END << 24).to_le_bytes());
        true
    }

    /// Bytes that a trigger with these words takes in a datagram.
    pub fn trigger_bytes(words: &[Word]) -> usize {
        4 * (words.len() + FRAMING)
    }

    /// The datagram so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }

    /// True before the first trigger.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= HEADER
    }
}

/// The words of a trigger as the modules send it: header, high time, time differences where they change,
/// readouts, a fill word where the number of words would be odd, end of event. The time must fit into
/// 46 bits; all readouts are those of one module.
pub fn trigger_words(module: u8, readouts: &[VmmrReadout], end: TriggerEnd) -> Vec<Word> {
    let mut words = Vec::new();
    write_trigger_words(module, readouts.iter().copied(), end, &mut words);
    words
}

/// As [`trigger_words`], appended to `words`.
pub fn write_trigger_words(
    module: u8,
    readouts: impl IntoIterator<Item = VmmrReadout>,
    end: TriggerEnd,
    words: &mut Vec<Word>,
) {
    let first = words.len();
    words.push(Word::Header { module, words: 0, external_trigger: end.external_trigger });
    words.push(Word::HighTime((end.time >> super::LOW_TIME_BITS) as u16));
    let mut difference = 0;
    for readout in readouts {
        let VmmrReadout { bus, channel, adc, time_difference, .. } = readout;
        if time_difference != difference {
            difference = time_difference;
            words.push(Word::TimeDifference { bus, difference });
        }
        words.push(Word::Readout { bus, channel, adc });
    }
    if (words.len() - first).is_multiple_of(2) {
        words.push(Word::Fill);
    }
    words.push(Word::EndOfEvent((end.time & ((1 << super::LOW_TIME_BITS) - 1)) as u32));
    let following = (words.len() - first - 1) as u16;
    if let Some(Word::Header { words, .. }) = words.get_mut(first) {
        *words = following;
    }
}
