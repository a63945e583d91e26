//! Encoder: frames to datagrams. Values wider than their field are cut to it.

use super::header::PAUSED;
use super::{
    BitOrder, HEADER_WORDS_V1, HEADER_WORDS_V2, HEADER_WORDS_V2_BOARD, Header, Kind, LARGEST_DATAGRAM,
    LARGEST_MESSAGE_WORDS, MARKER, Version, WORD, event, gps_words,
};

/// Builds datagrams of one message or more.
///
/// The length in the header goes along with each event: what [`IsisEncoder::datagram`] shows is whole at any time. The checksum is
/// 0: its algorithm has not been published.
#[derive(Clone, Debug)]
pub struct IsisEncoder {
    bytes: Vec<u8>,
    largest_datagram: usize,
    bit_order: BitOrder,
    /// The message that takes events: its version and where it begins.
    open: Option<(Version, usize)>,
}

impl Default for IsisEncoder {
    fn default() -> Self {
        Self::new(LARGEST_DATAGRAM, BitOrder::default())
    }
}

impl IsisEncoder {
    /// An encoder of datagrams of at most this many bytes; 65 507 are the most that UDP has.
    pub fn new(largest_datagram: usize, bit_order: BitOrder) -> Self {
        Self {
            bytes: Vec::with_capacity(largest_datagram.min(65_507)),
            largest_datagram,
            bit_order,
            open: None,
        }
    }

    /// Begins a message of the version and kind in the header. Returns false, and leaves the datagram as it is, if there is no room
    /// for the header, or if the time is not between 2000 and 2255.
    pub fn begin(&mut self, header: &Header) -> bool {
        let Some(time) = gps_words(header.gps_ns) else { return false };
        let time = [(time >> 32) as u32, time as u32];
        let begin = self.bytes.len();
        match header.version {
            Version::V1 => self.append(&words_v1(header, time)),
            Version::V2 => self.append_v2(header, time),
        }
        if self.bytes.len() > self.largest_datagram {
            self.bytes.truncate(begin);
            return false;
        }
        self.open = Some((header.version, begin));
        self.write_length();
        true
    }

    /// Appends an event to the message. Returns false, and leaves the datagram as it is, if the message has as many words as its
    /// length can tell, if the datagram is full, or if no message has begun.
    pub fn push_event(&mut self, first: u32, second: u32) -> bool {
        let Some((_, begin)) = self.open else { return false };
        let pair = event::bytes(first, second);
        let length = self.bytes.len() + pair.len();
        if length > self.largest_datagram || length - begin > LARGEST_MESSAGE_WORDS * WORD {
            return false;
        }
        self.bytes.extend(pair);
        self.write_length();
        true
    }

    /// Ends the message and appends bytes that belong to none, as many of them as there is room for.
    pub fn pad(&mut self, padding: &[u8]) {
        self.open = None;
        let room = self.largest_datagram.saturating_sub(self.bytes.len());
        self.bytes.extend(&padding[..padding.len().min(room)]);
    }

    /// The datagram so far.
    pub fn datagram(&self) -> &[u8] {
        &self.bytes
    }

    /// The datagram, and an empty one begins.
    pub fn finish(&mut self) -> Vec<u8> {
        self.open = None;
        let empty = Vec::with_capacity(self.bytes.capacity());
        std::mem::replace(&mut self.bytes, empty)
    }

    fn append(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.bytes.extend(word.to_be_bytes()));
    }

    fn append_v2(&mut self, header: &Header, [high, low]: [u32; 2]) {
        let order = self.bit_order;
        let header_words = if header.board.is_some() { HEADER_WORDS_V2_BOARD } else { HEADER_WORDS_V2 };
        let kind = match header.kind {
            Kind::NeutronData | Kind::SampleEnvironment => 0,
            Kind::Veto => 2,
            Kind::EndOfRun => 1,
        };
        let flags = kind | if header.is_paused { PAUSED } else { 0 };
        let word_9 = order.flags(header.vetoes);
        self.append(&[
            MARKER,
            0xFF00_0100 | header_words as u32,
            order.flags(flags) | order.place(u32::from(header.pcb), 16, 16),
            high,
            low,
            header.frame,
            order.place(u32::from(header.period), 0, 16) | order.place(u32::from(header.repeat), 16, 16),
            header.events_in_frame,
            order.place(u32::from(header.protons), 0, 8),
            word_9,
            header.next_frame_address,
            header.streamed_frame,
            header.frame_sync_delay,
        ]);
        if let Some(board) = header.board {
            self.bytes.extend([
                board.address,
                board.channel_bits,
                board.diagnostic_bits,
                board.position_bits,
            ]);
            self.append(&[board.detector_id_offset]);
        }
        self.append(&[0]);
    }

    /// Brings the length in the header of the open message up to date.
    fn write_length(&mut self) {
        let Some((version, begin)) = self.open else { return };
        let message = &mut self.bytes[begin..];
        let words = (message.len() / WORD) as u32;
        let (at, word) = match version {
            Version::V1 => (13, words),
            Version::V2 => {
                let protons = self.bit_order.place(self.bit_order.field(word(message, 8), 0, 8), 0, 8);
                (8, protons | self.bit_order.place(words, 16, 12))
            }
        };
        message[WORD * at..WORD * (at + 1)].copy_from_slice(&word.to_be_bytes());
    }
}

/// A word of a message that has it.
fn word(message: &[u8], index: usize) -> u32 {
    message.as_chunks::<WORD>().0.get(index).map_or(0, |word| u32::from_be_bytes(*word))
}

/// The header of version 1, without its length.
fn words_v1(header: &Header, [high, low]: [u32; 2]) -> [u32; HEADER_WORDS_V1] {
    [
        MARKER,
        header.kind.word_v1(),
        0,
        header.frame,
        high,
        low,
        u32::from(header.period) << 16,
        header.events_in_frame,
        u32::from(header.protons) << 24,
        header.vetoes << 16 | u32::from(header.repeat) & 0xFF,
        header.next_frame_address,
        header.next_frame_address / 8,
        header.streamed_frame,
        0,
        0,
        0,
    ]
}
