//! Numbered packets: what `evforge send` sends to measure a link and a receiver.
//!
//! The header is a choice of this project; no other program knows it. All numbers are big-endian:
//!
//! | offset | type | field |
//! |---|---|---|
//! | 0 | u32 | 0x45564E50 ("EVNP") |
//! | 4 | u8 | version, 1 |
//! | 5 | u8 | 0; not looked at |
//! | 6 | u16 | number of the flow in its sender |
//! | 8 | u64 | number of the packet in its flow, from 0 |
//! | 16 | u64 | when it was given to the kernel, in nanoseconds since the Unix epoch on the sender's clock |
//!
//! What follows fills the packet up to its size and means nothing.
//!
//! [`NumberedLayout::Udptx`] is that of `udptx`, the generator published with the EFU: a u32 at offset 0, in the order of the
//! sender's processor (little-endian on x86), 1 for the first packet, and 0 after 4294967295. What follows is not looked at.

use std::fmt;
use std::str::FromStr;

/// First four bytes of a header.
const MAGIC: u32 = 0x4556_4E50;
/// Version of the header.
const VERSION: u8 = 1;

/// Bytes of a header: the smallest packet.
pub const HEADER_BYTES: usize = 24;

/// Bytes of a packet of `udptx` that mean something.
const UDPTX_BYTES: usize = 4;

/// Where packets have their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberedLayout {
    /// The header of this project.
    #[default]
    Evforge,
    /// A u32 at offset 0, little-endian, from 1 on: the generator `udptx` of the EFU. Such packets have no magic number, no flow and
    /// no time, so that packets of another protocol cannot be told from them.
    Udptx,
}

impl NumberedLayout {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Evforge, Self::Udptx];

    /// Its name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evforge => "evforge",
            Self::Udptx => "udptx",
        }
    }

    /// Bytes of the smallest packet.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Evforge => HEADER_BYTES,
            Self::Udptx => UDPTX_BYTES,
        }
    }

    /// Bits of a number, after which it begins again at 0.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Evforge => u64::BITS,
            Self::Udptx => u32::BITS,
        }
    }

    /// The number of the first packet.
    pub const fn first_number(self) -> u64 {
        match self {
            Self::Evforge => 0,
            Self::Udptx => 1,
        }
    }

    /// True if packets say when they were sent.
    pub const fn has_time(self) -> bool {
        matches!(self, Self::Evforge)
    }

    /// Reads the header at the front of a packet. With [`Udptx`](Self::Udptx) flow and time are 0.
    ///
    /// # Errors
    /// The reason why the packet is none.
    #[inline]
    pub fn parse(self, bytes: &[u8]) -> Result<NumberedHeader, Rejection> {
        match self {
            Self::Evforge => NumberedHeader::parse(bytes),
            Self::Udptx => {
                let number = bytes.first_chunk().ok_or(Rejection::TooShort)?;
                Ok(NumberedHeader { number: u32::from_le_bytes(*number).into(), ..NumberedHeader::default() })
            }
        }
    }

    /// Writes a header to the front of a packet, as far as there is room; the rest of `place` is left as it is.
    #[inline]
    pub fn write(self, header: &NumberedHeader, place: &mut [u8]) {
        let (evforge, udptx) = (header.bytes(), (header.number as u32).to_le_bytes());
        let bytes: &[u8] = match self {
            Self::Evforge => &evforge,
            Self::Udptx => &udptx,
        };
        place.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    }
}

impl fmt::Display for NumberedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NumberedLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|layout| layout.name() == text);
        found.ok_or_else(|| format!("`{text}` is no layout of numbered packets: expected evforge or udptx"))
    }
}

/// The header of a numbered packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberedHeader {
    /// Number of the flow in its sender.
    pub flow: u16,
    /// Number of the packet in its flow.
    pub number: u64,
    /// When it was given to the kernel, in nanoseconds since the Unix epoch on the sender's clock.
    pub sent_ns: u64,
}

/// Why a packet is no numbered packet, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It ends before its header does.
    TooShort,
    /// It does not begin with 0x45564E50.
    WrongMagic(u32),
    /// A version other than 1.
    WrongVersion(u8),
}

impl NumberedHeader {
    /// Reads the header at the front of a packet.
    ///
    /// # Errors
    /// The reason why the packet is none.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Rejection::TooShort);
        };
        let (first, sent) = head.split_at(16);
        let (first, number) = first.split_at(8);
        let &[m3, m2, m1, m0, version, _, flow1, flow0] = first else {
            return Err(Rejection::TooShort);
        };
        let magic = u32::from_be_bytes([m3, m2, m1, m0]);
        if magic != MAGIC {
            return Err(Rejection::WrongMagic(magic));
        }
        if version != VERSION {
            return Err(Rejection::WrongVersion(version));
        }
        let wide = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        Ok(Self { flow: u16::from_be_bytes([flow1, flow0]), number: wide(number), sent_ns: wide(sent) })
    }

    /// The header as bytes.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut head = [0; HEADER_BYTES];
        head[..4].copy_from_slice(&MAGIC.to_be_bytes());
        head[4] = VERSION;
        head[6..8].copy_from_slice(&self.flow.to_be_bytes());
        head[8..16].copy_from_slice(&self.number.to_be_bytes());
        head[16..].copy_from_slice(&self.sent_ns.to_be_bytes());
        head
    }
}
