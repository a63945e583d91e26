//! Packets of jadaq, the program that reads the digitizers out (EFU formats of 2018, section 3.2).

use super::Rejection;

/// Bytes of the header.
pub(super) const HEADER: usize = 32;
/// The version field of jadaq 1.3.
pub(super) const VERSION_1_3: u16 = 0x0301;
/// The bit of an element type that says that a waveform follows.
const WITH_WAVEFORM: u16 = 0x100;
/// The element type that is a waveform and nothing else.
const STANDARD_WAVEFORM: u16 = 3;

/// Which of the two layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JadaqVersion {
    /// June 2018: no sequence number, elements of 8 bytes whatever their type says. The version field was
    /// not defined then (0x0001 was seen); only that of 1.3 is refused.
    OfJune2018,
    /// 1.3, from September 2018 on.
    V1_3,
}

/// What an element consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// June 2018: time (32 bits), charge, channel.
    OfJune2018,
    /// 1.3, type 1: time (32 bits), channel, charge.
    List422,
    /// 1.3, type 2: time (64 bits), channel, charge, baseline.
    List8222,
}

impl ElementType {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::OfJune2018 | Self::List422 => 8,
            Self::List8222 => 14,
        }
    }

    /// The type that a header of `version` means by `number`.
    fn of(version: JadaqVersion, number: u16) -> Result<Self, Rejection> {
        match (version, number) {
            (JadaqVersion::OfJune2018, _) => Ok(Self::OfJune2018),
            (JadaqVersion::V1_3, 1) => Ok(Self::List422),
            (JadaqVersion::V1_3, 2) => Ok(Self::List8222),
            (JadaqVersion::V1_3, STANDARD_WAVEFORM) => Err(Rejection::Waveform(number)),
            (JadaqVersion::V1_3, _) if number & WITH_WAVEFORM != 0 => Err(Rejection::Waveform(number)),
            (JadaqVersion::V1_3, _) => Err(Rejection::UnknownElementType(number)),
        }
    }
}

/// One measurement of one channel, as the digitizer sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Ticks of the digitizer's clock: 32 bits, 64 in List8222.
    pub time: u64,
    /// Channel, 0..=63 on a V1740D; the field holds 0..=65535.
    pub channel: u16,
    /// Amplitude, 0..=65535.
    pub charge: u16,
    /// Level without a signal, 0..=65535; 0 unless List8222.
    pub baseline: u16,
}

/// Who sent a packet and as which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the digitizer.
    pub digitizer: u32,
    /// Sequence number, [`SEQUENCE_BITS`](super::SEQUENCE_BITS) wide.
    pub sequence: u32,
    /// When the packet was made, in milliseconds since 1970.
    pub global_time: u64,
}

/// A checked packet with elements of one digitizer.
#[derive(Clone, Copy, Debug)]
pub struct JadaqPacket<'a> {
    /// Number of the run.
    pub run: u64,
    /// When the packet was made, by the clock of the PC, in milliseconds since 1970.
    pub global_time: u64,
    /// Number of the digitizer.
    pub digitizer: u32,
    /// Sequence number, counted per digitizer; 0 in June 2018.
    pub sequence: u32,
    /// The version field.
    pub version: u16,
    /// What the elements consist of.
    pub element_type: ElementType,
    body: &'a [u8],
}

impl<'a> JadaqPacket<'a> {
    /// Digitizer and number of a packet of jadaq 1.3, also if it is then rejected for its elements. Packets
    /// of June 2018 have no number.
    pub fn numbering(bytes: &[u8], version: JadaqVersion) -> Option<Numbering> {
        let (header, _) = bytes.split_first_chunk::<HEADER>()?;
        let numbered = version == JadaqVersion::V1_3 && u16_at(header, 24) == VERSION_1_3;
        numbered.then(|| Numbering {
            digitizer: u32_at(header, 16),
            sequence: u32_at(header, 26),
            global_time: u64_at(header, 8),
        })
    }

    /// Checks a packet, in the order of section 3.2: length of the header, version, type, length.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    pub fn parse(bytes: &'a [u8], expected: JadaqVersion) -> Result<Self, Rejection> {
        let (header, body) = bytes.split_first_chunk::<HEADER>().ok_or(Rejection::TooShort)?;
        let version = u16_at(header, 24);
        if (version == VERSION_1_3) != (expected == JadaqVersion::V1_3) {
            return Err(Rejection::WrongVersion(version));
        }
        let element_type = ElementType::of(expected, u16_at(header, 20))?;
        if body.len() != usize::from(u16_at(header, 22)) * element_type.size() {
            return Err(Rejection::RaggedLength);
        }
        Ok(Self {
            run: u64_at(header, 0),
            global_time: u64_at(header, 8),
            digitizer: u32_at(header, 16),
            sequence: if expected == JadaqVersion::V1_3 { u32_at(header, 26) } else { 0 },
            version,
            element_type,
            body,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.body.len() / self.element_type.size()
    }

    /// Whether the packet is a header and nothing else, which is allowed.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The elements in order.
    #[inline]
    pub fn elements(&self) -> Elements<'a> {
        let size = self.element_type.size();
        Elements { element_type: self.element_type, chunks: self.body.chunks_exact(size) }
    }
}

/// The elements of a packet, in order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    element_type: ElementType,
    chunks: std::slice::ChunksExact<'a, u8>,
}

impl Iterator for Elements<'_> {
    type Item = Element;

    #[inline(always)]
    fn next(&mut self) -> Option<Element> {
        let bytes = self.chunks.next()?;
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let short_time = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Some(match self.element_type {
            ElementType::OfJune2018 => {
                Element { time: u64::from(short_time), charge: word(4), channel: word(6), baseline: 0 }
            }
            ElementType::List422 => {
                Element { time: u64::from(short_time), channel: word(4), charge: word(6), baseline: 0 }
            }
            ElementType::List8222 => {
                let high = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
                let time = u64::from(high) << 32 | u64::from(short_time);
                Element { time, channel: word(8), charge: word(10), baseline: word(12) }
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// The 16-bit field at `at` of a header.
fn u16_at(header: &[u8; HEADER], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

/// The 32-bit field at `at` of a header.
fn u32_at(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from(u16_at(header, at + 2)) << 16 | u32::from(u16_at(header, at))
}

/// The 64-bit field at `at` of a header.
fn u64_at(header: &[u8; HEADER], at: usize) -> u64 {
    u64::from(u32_at(header, at + 4)) << 32 | u64::from(u32_at(header, at))
}
