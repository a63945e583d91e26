//! Trigger times, type 0xD6 (EFU formats of 2018, section 1.3): the format of production.

use super::Rejection;

/// Bytes of an entry.
const ENTRY: usize = 5;

/// One trigger of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerTime {
    /// Time in ticks of the board, 32 bits.
    pub time: u32,
    /// ASIC in bits 7..6 and channel in bits 5..0. Channels above 15 do not exist.
    pub asic_channel: u8,
}

impl TriggerTime {
    /// Number of the ASIC, 0..=3.
    pub fn asic(&self) -> u8 {
        self.asic_channel >> 6
    }

    /// Number of the channel, 0..=63, of which 0..=15 exist.
    pub fn channel(&self) -> u8 {
        self.asic_channel & 0x3F
    }
}

/// The entries of a packet, 0 to 255 of them.
#[derive(Clone, Copy, Debug)]
pub struct TriggerTimes<'a> {
    entries: &'a [[u8; ENTRY]],
}

impl<'a> TriggerTimes<'a> {
    /// Checks that there are as many entries as announced, and nothing else.
    #[inline]
    pub(super) fn parse(content: &'a [u8]) -> Result<Self, Rejection> {
        let (&count, entries) = content.split_first().ok_or(Rejection::WrongCount)?;
        let (entries, rest) = entries.as_chunks::<ENTRY>();
        if !rest.is_empty() || entries.len() != usize::from(count) {
            return Err(Rejection::WrongCount);
        }
        Ok(Self { entries })
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True for a packet without entries, which is valid.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries from `from` on; none if there are fewer.
    #[inline]
    pub fn since(&self, from: usize) -> Self {
        Self { entries: self.entries.get(from..).unwrap_or_default() }
    }

    /// The first `count` entries, or all if there are fewer.
    #[inline]
    pub fn first(&self, count: usize) -> Self {
        Self { entries: self.entries.get(..count).unwrap_or(self.entries) }
    }

    /// The entries in order.
    #[inline]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = TriggerTime> + use<'a> {
        self.entries.iter().map(|&[t3, t2, t1, t0, asic_channel]| TriggerTime {
            time: u32::from_be_bytes([t3, t2, t1, t0]),
            asic_channel,
        })
    }
}
