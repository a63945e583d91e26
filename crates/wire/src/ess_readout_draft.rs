//! The generic readout packet that the ESS drafted in 2018 (EFU formats of 2018, section 5.1).
//!
//! No detector sent it, and the formats of today are others; this module recognises it. All words are
//! little-endian: type, word count, sequence number and a reserved word of 16 bits each, then the 16-bit words
//! of the content, then padding to a multiple of 64 bytes whose last four bytes are a checksum.

/// Bytes of the header.
const HEADER: usize = 8;
/// Bytes of the checksum.
const CHECKSUM: usize = 4;
/// The content is padded to multiples of so many bytes.
const BLOCK: usize = 64;
/// Longest packet in bytes.
const LONGEST: usize = 8960;
/// The only value of the checksum that was ever defined: none. Like the reference, the check does not look
/// at it.
const NO_CHECKSUM: [u8; CHECKSUM] = [0xFF; CHECKSUM];

/// Why a packet is rejected. The number is what the reference returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Shorter than 64 or longer than 8960 bytes (-2).
    WrongSize,
    /// Not a multiple of 64 bytes (-3).
    NotPadded,
    /// More words than the packet has room for (-4).
    TooManyWords,
}

/// A checked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadoutPacket<'a> {
    /// What the content is.
    pub readout_type: u16,
    /// Number of the packet.
    pub sequence_number: u16,
    /// No meaning.
    pub reserved: u16,
    words: &'a [[u8; 2]],
}

impl<'a> ReadoutPacket<'a> {
    /// Checks a packet, in the order of section 5.1.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Rejection> {
        if !(BLOCK..=LONGEST).contains(&bytes.len()) {
            return Err(Rejection::WrongSize);
        }
        if !bytes.len().is_multiple_of(BLOCK) {
            return Err(Rejection::NotPadded);
        }
        let Some((&[t0, t1, w0, w1, s0, s1, r0, r1], rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(Rejection::WrongSize);
        };
        let room = rest.split_last_chunk::<CHECKSUM>().map_or(rest, |(room, _)| room);
        let words = usize::from(u16::from_le_bytes([w0, w1]));
        let words = room.as_chunks().0.get(..words).ok_or(Rejection::TooManyWords)?;
        Ok(Self {
            readout_type: u16::from_le_bytes([t0, t1]),
            sequence_number: u16::from_le_bytes([s0, s1]),
            reserved: u16::from_le_bytes([r0, r1]),
            words,
        })
    }

    /// The content in words of 16 bits.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u16> + use<'a> {
        self.words.iter().map(|&word| u16::from_le_bytes(word))
    }
}

/// Makes a packet, or none if the words do not fit.
pub fn encode(readout_type: u16, sequence_number: u16, words: &[u16]) -> Option<Vec<u8>> {
    let length = (HEADER + 2 * words.len() + CHECKSUM).next_multiple_of(BLOCK);
    if length > LONGEST {
        return None;
    }
    let head = [readout_type, words.len() as u16, sequence_number, 0];
    let mut bytes: Vec<u8> = head.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(length - CHECKSUM, 0);
    bytes.extend(NO_CHECKSUM);
    Some(bytes)
}
