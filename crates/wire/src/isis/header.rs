//! What a message says before its events (ISIS streaming readout, sections 2 and 3).

use super::{
    DETECTOR_BOARDS, Fault, HEADER_WORDS_V1, HEADER_WORDS_V2, HEADER_WORDS_V2_BOARD, MARKER, Rules, Version,
    WORD, gps_nanoseconds,
};

/// What a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Events of a frame, or a frame without any.
    #[default]
    NeutronData,
    /// A frame that was vetoed by the hardware; normally it has no events.
    Veto,
    /// Sample environment; version 1 only.
    SampleEnvironment,
    /// The run has ended.
    EndOfRun,
}

impl Kind {
    /// Word 1 of version 1: the bit of the type is 0, all others are 1.
    pub(super) const fn word_v1(self) -> u32 {
        match self {
            Self::NeutronData => 0xFFFF_FFFF,
            Self::Veto => 0xBFFF_FFFF,
            Self::SampleEnvironment => 0xDFFF_FFFF,
            Self::EndOfRun => 0x7FFF_FFFF,
        }
    }

    /// Version 1: exactly one of the four words. Two types at once are as unknown as none that is known: the program that receives
    /// these messages at ISIS refuses them as well.
    #[inline]
    fn of_v1(word_1: u32) -> Result<Self, Fault> {
        [Self::NeutronData, Self::Veto, Self::SampleEnvironment, Self::EndOfRun]
            .into_iter()
            .find(|kind| kind.word_v1() == word_1)
            .ok_or(Fault::UnknownType(word_1))
    }

    /// Version 2: bit 0 of word 2, else bit 1.
    #[inline]
    const fn of_v2(flags: u32) -> Self {
        match flags & 3 {
            0 => Self::NeutronData,
            2 => Self::Veto,
            _ => Self::EndOfRun,
        }
    }
}

/// How a version 2 board describes its events: words 13 and 14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BoardParameters {
    /// Width of the position in bits.
    pub position_bits: u8,
    /// Width of the diagnostic data in bits, for instance a pulse height.
    pub diagnostic_bits: u8,
    /// Width of the channel in bits.
    pub channel_bits: u8,
    /// Address of the board.
    pub address: u8,
    /// Pixel of channel 0, position 0.
    pub detector_id_offset: u32,
}

impl BoardParameters {
    /// Bits of the second word of an event that have a meaning; more than 32 do not fit.
    pub const fn bits(&self) -> u16 {
        self.position_bits as u16 + self.diagnostic_bits as u16 + self.channel_bits as u16
    }
}

/// What a message says of its frame, in either version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The wire format.
    pub version: Version,
    /// What the message is.
    pub kind: Kind,
    /// Time of the frame in nanoseconds since 1970, as if it were UTC ([`gps_nanoseconds`]).
    pub gps_ns: u64,
    /// Number of the frame.
    pub frame: u32,
    /// Period, from 0.
    pub period: u16,
    /// Frame repeat number; version 1 has 8 bits.
    pub repeat: u16,
    /// Events of the whole frame, which may be spread over messages.
    pub events_in_frame: u32,
    /// Protons per pulse, in units of [`MICROAMPERE_HOURS_PER_UNIT`](super::MICROAMPERE_HOURS_PER_UNIT).
    pub protons: u8,
    /// Vetoes. Version 1: 16 bits, as the two bytes have them. Version 2: veto n is bit n, whatever the order of bits on the wire.
    pub vetoes: u32,
    /// Number of the frame among those that were sent.
    pub streamed_frame: u32,
    /// How much later than the time-of-flight pulse the frame began, unit not stated; 0 in version 1.
    pub frame_sync_delay: u32,
    /// Where the next frame is in the memory of the board, in bytes.
    pub next_frame_address: u32,
    /// Number of the printed circuit board, for instance 3877; 0 in version 1.
    pub pcb: u16,
    /// Whether it is a pause frame; version 2 only.
    pub is_paused: bool,
    /// How the board describes its events: version 2 boards of [`DETECTOR_BOARDS`] only.
    pub board: Option<BoardParameters>,
}

/// Flags of word 2 of version 2.
pub(super) const PAUSED: u32 = 1 << 2;

/// Lengths of a message, which are looked at before anything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub version: Version,
    pub header_words: usize,
    pub message_words: usize,
}

impl Extent {
    /// Version and lengths of the message that these bytes begin with, which is inside them. They begin with the marker.
    #[inline]
    pub(super) fn of(bytes: &[u8], rules: Rules) -> Result<Self, Fault> {
        let (words, _) = bytes.as_chunks::<WORD>();
        let cut = Fault::HeaderCut(bytes.len());
        let word_1 = word(words, 1).ok_or(cut)?;
        let version = Version::of(word_1).ok_or(Fault::MalformedWord1(word_1))?;
        let (header_words, length) = match version {
            Version::V1 => (HEADER_WORDS_V1, word(words, 13).ok_or(cut)? & 0xFFF),
            Version::V2 => {
                let word_8 = word(words, 8).ok_or(cut)?;
                ((word_1 & 0xFF) as usize, rules.bit_order.field(word_8, 16, 12))
            }
        };
        let (words, least) = (length as u16, header_words as u16);
        if words < least {
            return Err(Fault::LengthTooShort { words, least });
        }
        if usize::from(words) * WORD > bytes.len() {
            return Err(Fault::LengthBeyondDatagram { words, bytes: bytes.len() });
        }
        Ok(Self { version, header_words, message_words: usize::from(words) })
    }
}

impl Header {
    /// Reads the words of a header, as many as it has.
    #[inline]
    pub(super) fn of(version: Version, header: &[[u8; WORD]], rules: Rules) -> Result<Self, Fault> {
        match version {
            Version::V1 => Self::of_v1(header),
            Version::V2 => Self::of_v2(header, rules),
        }
    }

    #[inline]
    fn of_v1(header: &[[u8; WORD]]) -> Result<Self, Fault> {
        let Some(words) = header.first_chunk::<HEADER_WORDS_V1>() else {
            return Err(Fault::HeaderCut(WORD * header.len()));
        };
        let word = |index: usize| u32::from_be_bytes(words[index]);
        let kind = Kind::of_v1(word(1))?;
        let gps_ns = time(word(4), word(5))?;
        Ok(Self {
            version: Version::V1,
            kind,
            gps_ns,
            frame: word(3),
            period: (word(6) >> 16) as u16,
            repeat: u16::from(words[9][3]),
            events_in_frame: word(7),
            protons: words[8][0],
            vetoes: word(9) >> 16,
            streamed_frame: word(12),
            frame_sync_delay: 0,
            next_frame_address: word(10),
            pcb: 0,
            is_paused: false,
            board: None,
        })
    }

    #[inline]
    fn of_v2(header: &[[u8; WORD]], rules: Rules) -> Result<Self, Fault> {
        let Some(words) = header.first_chunk::<HEADER_WORDS_V2>() else {
            return Err(Fault::HeaderCut(WORD * header.len()));
        };
        let order = rules.bit_order;
        let word = |index: usize| u32::from_be_bytes(words[index]);
        let flags = order.flags(word(2));
        let pcb = order.field(word(2), 16, 16) as u16;
        let gps_ns = time(word(3), word(4))?;
        let board = board_parameters(header, pcb);
        if let Some(board) = board
            && board.bits() > 32
        {
            return Err(Fault::WidthsTooLarge(board.bits()));
        }
        Ok(Self {
            version: Version::V2,
            kind: Kind::of_v2(flags),
            gps_ns,
            frame: word(5),
            period: order.field(word(6), 0, 16) as u16,
            repeat: order.field(word(6), 16, 16) as u16,
            events_in_frame: word(7),
            protons: order.field(word(8), 0, 8) as u8,
            vetoes: order.flags(word(9)),
            streamed_frame: word(11),
            frame_sync_delay: word(12),
            next_frame_address: word(10),
            pcb,
            is_paused: flags & PAUSED != 0,
            board,
        })
    }
}

/// Words 13 and 14 of a board that has them.
#[inline]
pub(super) fn board_parameters(header: &[[u8; WORD]], pcb: u16) -> Option<BoardParameters> {
    if header.len() < HEADER_WORDS_V2_BOARD || !DETECTOR_BOARDS.contains(&pcb) {
        return None;
    }
    let [address, channel_bits, diagnostic_bits, position_bits] = header[13];
    let detector_id_offset = u32::from_be_bytes(header[14]);
    Some(BoardParameters { position_bits, diagnostic_bits, channel_bits, address, detector_id_offset })
}

#[inline]
fn time(first: u32, second: u32) -> Result<u64, Fault> {
    let words = u64::from(first) << 32 | u64::from(second);
    gps_nanoseconds(words).ok_or(Fault::InvalidTime(words))
}

/// A word of a message, none beyond its end.
#[inline]
pub(super) fn word(words: &[[u8; WORD]], index: usize) -> Option<u32> {
    words.get(index).map(|word| u32::from_be_bytes(*word))
}

/// Whether these bytes begin with the marker of a message.
#[inline]
pub(super) fn begins_message(bytes: &[u8]) -> bool {
    bytes.first_chunk::<WORD>() == Some(&MARKER.to_be_bytes())
}
