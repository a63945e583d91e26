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

/// First four bytes of a header.
const MAGIC: u32 = 0x4556_4E50;
/// Version of the header.
const VERSION: u8 = 1;

/// Bytes of a header: the smallest packet.
pub const HEADER_BYTES: usize = 24;

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
