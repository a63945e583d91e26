//! The header of a packet and all checks (EFU formats of 2018, sections 1.1 and 1.2).

use super::{MultiEvent, Rejection, SingleEvent, TriggerTimes};

/// Bytes of the header.
pub(super) const HEADER: usize = 10;
/// Packet type of trigger times.
pub(super) const TRIGGER_TIMES: u8 = 0xD6;
/// Packet type of amplitudes of one channel.
pub(super) const SINGLE_EVENT: u8 = 0xD5;
/// Packet type of amplitudes of many events.
pub(super) const MULTI_EVENT: u8 = 0xD4;

/// What every packet begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of the system (module) that sent it, 0..=31.
    pub system: u8,
    /// The two bits before the packet count, which mean nothing to event formation.
    pub sequence_flag: u8,
    /// Number of the packet, 14 bits.
    pub packet_count: u16,
    /// Time of the header in ticks of the board, 32 bits.
    pub time: u32,
}

/// Who sent a packet and as which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the system, 0..=31.
    pub system: u8,
    /// Number of the packet, [`PACKET_COUNT_BITS`](super::PACKET_COUNT_BITS) wide.
    pub packet_count: u16,
    /// Time of its header, [`HEADER_TIME_BITS`](super::HEADER_TIME_BITS) wide.
    pub time: u32,
}

/// What a packet carries behind its header.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Type 0xD6.
    TriggerTimes(TriggerTimes<'a>),
    /// Type 0xD5.
    SingleEvent(SingleEvent<'a>),
    /// Type 0xD4.
    MultiEvent(MultiEvent<'a>),
}

/// A checked packet.
#[derive(Clone, Copy, Debug)]
pub struct SondePacket<'a> {
    /// System, number and time.
    pub header: Header,
    /// The readouts.
    pub content: Content<'a>,
}

impl<'a> SondePacket<'a> {
    /// System and number of the packet, also if it is then rejected for its length, type or content.
    #[inline]
    pub fn numbering(bytes: &[u8]) -> Option<Numbering> {
        let (raw, _) = RawHeader::take(bytes).ok()?;
        let Header { system, packet_count, time, .. } = raw.header;
        Some(Numbering { system, packet_count, time })
    }

    /// Checks a packet, in the order of section 1.2.
    ///
    /// # Errors
    /// The reason why the packet is of no use.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Rejection> {
        let (raw, content) = RawHeader::take(bytes)?;
        if usize::from(raw.length) != content.len() {
            return Err(Rejection::WrongLength);
        }
        let content = match raw.packet_type {
            TRIGGER_TIMES => Content::TriggerTimes(TriggerTimes::parse(content)?),
            SINGLE_EVENT => Content::SingleEvent(SingleEvent::parse(content)?),
            MULTI_EVENT => Content::MultiEvent(MultiEvent::parse(content)?),
            other => return Err(Rejection::UnknownType(other)),
        };
        Ok(Self { header: raw.header, content })
    }
}

/// A header whose length and type have not been looked at.
struct RawHeader {
    header: Header,
    packet_type: u8,
    length: u16,
}

impl RawHeader {
    /// The header and what follows it, at least one byte.
    #[inline]
    fn take(bytes: &[u8]) -> Result<(Self, &[u8]), Rejection> {
        let Some((head, content)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(Rejection::TooShort);
        };
        if content.is_empty() {
            return Err(Rejection::TooShort);
        }
        let [id, packet_type, count_high, count_low, t3, t2, t1, t0, length_high, length_low] = *head;
        let version = id >> 5;
        if version != 0 {
            return Err(Rejection::WrongVersion(version));
        }
        let header = Header {
            system: id & 0x1F,
            sequence_flag: count_high >> 6,
            packet_count: u16::from_be_bytes([count_high & 0x3F, count_low]),
            time: u32::from_be_bytes([t3, t2, t1, t0]),
        };
        Ok((Self { header, packet_type, length: u16::from_be_bytes([length_high, length_low]) }, content))
    }
}
