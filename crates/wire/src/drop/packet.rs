//! One packet: its header checked, its payload borrowed; and the header written.

use super::DropLayout;

/// First two bytes of a header of layout `P1`.
const MAGIC: [u8; 2] = [0xD7, 0x09];
/// Version of layout `P1`.
const VERSION: u8 = 1;

/// What the header of layout `P1` says; other layouts have the identifier only.
///
/// | offset | type, big-endian | field |
/// |---|---|---|
/// | 0 | u16 | 0xD709 |
/// | 2 | u8 | version, 1 |
/// | 3 | u8 | bit 0: first packet of a block, bit 1: last one, bit 2: the payload is a test pattern |
/// | 4 | u16 | number of the stream; 0 where the UDP port says it |
/// | 6 | u16 | bytes of payload that follow |
/// | 8 | u64 | identifier |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropHeader {
    /// Number of the packet in its stream, modulo 2^width.
    pub identifier: u64,
    /// Number of the stream; 0 where the UDP port says it, and in other layouts than `P1`.
    pub stream: u16,
    /// First packet of a block of data.
    pub first_of_block: bool,
    /// Last packet of a block of data, which may be shorter.
    pub last_of_block: bool,
    /// The payload is a test pattern.
    pub is_pattern: bool,
}

/// Why a packet is rejected as a whole, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It ends before its header does.
    TooShort,
    /// Layout `P1`: it does not begin with 0xD709.
    WrongMagic(u16),
    /// Layout `P1`: a version other than 1.
    WrongVersion(u8),
    /// Layout `P1`: it ends before the payload that the header announces does.
    CutPayload {
        /// Bytes announced.
        announced: u16,
        /// Bytes there.
        found: usize,
    },
}

/// A checked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropPacket<'a> {
    /// Identifier and flags.
    pub header: DropHeader,
    /// The payload.
    pub payload: &'a [u8],
    /// Bytes behind the payload that layout `P1` announced: filling up to a least length.
    pub padding: usize,
}

impl<'a> DropPacket<'a> {
    /// Checks a packet of this layout.
    ///
    /// # Errors
    /// The reason why the packet is of no use. [`DropLayout::identifier`] may still find its identifier.
    #[inline]
    pub fn parse(layout: &DropLayout, bytes: &'a [u8]) -> Result<Self, Rejection> {
        let (Some(identifier), Some((head, rest))) =
            (layout.identifier(bytes), bytes.split_at_checked(layout.header))
        else {
            return Err(Rejection::TooShort);
        };
        if !layout.is_p1 {
            let header = DropHeader { identifier, ..DropHeader::default() };
            return Ok(Self { header, payload: rest, padding: 0 });
        }
        let &[magic0, magic1, version, flags, stream1, stream0, length1, length0, ..] = head else {
            return Err(Rejection::TooShort);
        };
        if [magic0, magic1] != MAGIC {
            return Err(Rejection::WrongMagic(u16::from_be_bytes([magic0, magic1])));
        }
        if version != VERSION {
            return Err(Rejection::WrongVersion(version));
        }
        let announced = u16::from_be_bytes([length1, length0]);
        let Some((payload, padding)) = rest.split_at_checked(usize::from(announced)) else {
            return Err(Rejection::CutPayload { announced, found: rest.len() });
        };
        let header = DropHeader {
            identifier,
            stream: u16::from_be_bytes([stream1, stream0]),
            first_of_block: flags & 1 != 0,
            last_of_block: flags & 2 != 0,
            is_pattern: flags & 4 != 0,
        };
        Ok(Self { header, payload, padding: padding.len() })
    }
}

impl DropHeader {
    /// Writes this header, for a payload of `payload` bytes, to the front of `packet`; returns how many bytes it
    /// has, or none if `packet` is shorter than the header or the payload longer than 65 535 bytes. Bytes of the
    /// header that a layout does not describe become 0; an identifier wider than its field is cut.
    #[inline]
    pub fn write(&self, layout: &DropLayout, payload: usize, packet: &mut [u8]) -> Option<usize> {
        let length = u16::try_from(payload).ok()?;
        let head = packet.get_mut(..layout.header)?;
        head.fill(0);
        if layout.is_p1 {
            let flags = u8::from(self.first_of_block)
                | u8::from(self.last_of_block) << 1
                | u8::from(self.is_pattern) << 2;
            let [stream1, stream0] = self.stream.to_be_bytes();
            let [length1, length0] = length.to_be_bytes();
            let fields = [MAGIC[0], MAGIC[1], VERSION, flags, stream1, stream0, length1, length0];
            head.get_mut(..8)?.copy_from_slice(&fields);
        }
        layout.put_identifier(self.identifier, head);
        Some(layout.header)
    }
}
