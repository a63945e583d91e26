//! One datagram: a piece of a train, and the trailer that says which.

/// Bytes of a train in each datagram but the last, unless configured otherwise: with the trailer 8 KiB.
pub const DATA_BYTES: usize = 8184;
/// First packet of a train.
const FIRST: u32 = 1 << 31;
/// Last packet of a train.
const LAST: u32 = 1 << 30;

/// The last 8 bytes of a datagram.
///
/// | offset from the end | type, little-endian | field |
/// |---|---|---|
/// | 8 | u32 | number of the frame |
/// | 4 | u32 | bit 31: first packet; bit 30: last packet; bits 29 to 0: number of the packet, from 0 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTrailer {
    /// Number of the frame, which is one train; it starts anywhere, and is not the train's number ([`TrainHeader::train`](super::TrainHeader)).
    pub frame: u32,
    /// Number of the packet in its frame, from 0; 30 bits.
    pub packet: u32,
    /// It begins a train.
    pub is_first: bool,
    /// It ends a train.
    pub is_last: bool,
}

impl PacketTrailer {
    /// Bytes of it.
    pub const BYTES: usize = 8;
    /// Largest number of a packet.
    pub const LARGEST_PACKET: u32 = LAST - 1;

    /// Its bytes; bits of `packet` above the 30th are cut off.
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut word = self.packet & Self::LARGEST_PACKET;
        if self.is_first {
            word |= FIRST;
        }
        if self.is_last {
            word |= LAST;
        }
        let ([a, b, c, d], [e, f, g, h]) = (self.frame.to_le_bytes(), word.to_le_bytes());
        [a, b, c, d, e, f, g, h]
    }
}

/// Why a datagram is rejected as a whole, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketRejection {
    /// It has fewer bytes than a trailer.
    TooShort,
    /// A trailer, and no data before it.
    Empty,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainPacket<'a> {
    /// Which piece of which train it is.
    pub trailer: PacketTrailer,
    /// The piece.
    pub data: &'a [u8],
}

impl<'a> TrainPacket<'a> {
    /// Reads a datagram. Any trailer is possible; whether it fits its train, the assembly checks.
    ///
    /// # Errors
    /// The reason why it is of no use.
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Self, PacketRejection> {
        let Some((data, [a, b, c, d, e, f, g, h])) = datagram.split_last_chunk::<{ PacketTrailer::BYTES }>()
        else {
            return Err(PacketRejection::TooShort);
        };
        if data.is_empty() {
            return Err(PacketRejection::Empty);
        }
        let (frame, word) = (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h]));
        let trailer = PacketTrailer {
            frame,
            packet: word & PacketTrailer::LARGEST_PACKET,
            is_first: word & FIRST != 0,
            is_last: word & LAST != 0,
        };
        Ok(Self { trailer, data })
    }
}
