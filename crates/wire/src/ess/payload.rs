//! What a packet carries behind its header: records of one size, all of one kind.

use super::RECORD;
use std::marker::PhantomData;

/// A payload that is not a whole number of records. Nothing of it is read, as in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaggedPayload;

/// The records of a packet, each of which is an `R` of `SIZE` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPayload<'a, R, const SIZE: usize = RECORD> {
    records: &'a [[u8; SIZE]],
    kind: PhantomData<R>,
}

impl<'a, R: From<&'a [u8; SIZE]>, const SIZE: usize> RecordPayload<'a, R, SIZE> {
    /// Checks the length of a payload. An empty one, of a heartbeat, has no readouts.
    ///
    /// # Errors
    /// If it is not a whole number of records.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<Self, RaggedPayload> {
        match Self::whole_records(payload) {
            (records, 0) => Ok(records),
            _ => Err(RaggedPayload),
        }
    }

    /// The whole records from the front, and how many bytes are left behind them.
    #[inline]
    pub(super) fn whole_records(payload: &'a [u8]) -> (Self, usize) {
        let (records, rest) = payload.as_chunks();
        (Self { records, kind: PhantomData }, rest.len())
    }

    /// Number of records, sound or not.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record at a place, sound or not; none beyond the last.
    #[inline]
    pub fn readout(&self, place: usize) -> Option<R> {
        self.records.get(place).map(R::from)
    }

    /// The records in order, those with faults too.
    #[inline]
    pub fn readouts(&self) -> impl ExactSizeIterator<Item = R> + Clone + use<'a, R, SIZE> {
        self.records.iter().map(R::from)
    }
}
