//! Records without a header (EFU formats of 2018, section 3.1).

use super::Rejection;

/// Bytes of a record.
pub(super) const RECORD: usize = 8;

/// One measurement of one channel, as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Number of the digitizer, 0..=255.
    pub digitizer: u8,
    /// Channel, 0..=63 on a V1740D; the field holds 0..=255.
    pub channel: u8,
    /// Amplitude, 0..=65535.
    pub adc: u16,
    /// Ticks of the digitizer's clock, 32 bits.
    pub time: u32,
}

impl Record {
    /// The record with which a sender says that the run is over: all bits are set.
    pub const END_OF_RUN: Self = Self { digitizer: 0xFF, channel: 0xFF, adc: 0xFFFF, time: 0xFFFF_FFFF };

    /// Whether this is [`END_OF_RUN`](Self::END_OF_RUN) and not a measurement.
    #[inline]
    pub fn is_end_of_run(&self) -> bool {
        *self == Self::END_OF_RUN
    }
}

/// A checked packet of records.
#[derive(Clone, Copy, Debug)]
pub struct RecordPacket<'a> {
    body: &'a [u8],
}

impl<'a> RecordPacket<'a> {
    /// Checks a packet: at least one record, and nothing but whole records.
    ///
    /// # Errors
    /// [`Rejection::Empty`] or [`Rejection::RaggedLength`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Rejection> {
        if bytes.is_empty() {
            return Err(Rejection::Empty);
        }
        if !bytes.len().is_multiple_of(RECORD) {
            return Err(Rejection::RaggedLength);
        }
        Ok(Self { body: bytes })
    }

    /// Number of records, an end of run included.
    pub fn len(&self) -> usize {
        self.body.len() / RECORD
    }

    /// Never true for a parsed packet; for completeness.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The records in order, an end of run included.
    #[inline]
    pub fn records(&self) -> Records<'a> {
        Records { chunks: self.body.chunks_exact(RECORD) }
    }
}

/// The records of a packet, in order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    chunks: std::slice::ChunksExact<'a, u8>,
}

impl Iterator for Records<'_> {
    type Item = Record;

    #[inline(always)]
    fn next(&mut self) -> Option<Record> {
        let bytes = self.chunks.next()?;
        Some(Record {
            digitizer: bytes[0],
            channel: bytes[1],
            adc: u16::from_le_bytes([bytes[2], bytes[3]]),
            time: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl ExactSizeIterator for Records<'_> {}
