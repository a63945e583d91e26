//! A batch of events with their pulses, as outputs get it.

use super::calendar::Calendar;
use crate::event::{Event, PixelId};
use crate::frame::Frame;
use std::ops::Range;

/// Where the reference time of events comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PulseOrigin {
    /// The readout reported the pulse.
    Readout,
    /// A pulse of the configured train.
    Train,
    /// No pulse: the events lie before the first one of the train. The reference time is that of the first of them.
    None,
}

/// A pulse, or another reference time, and where its events begin in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Its start in nanoseconds on the detector's clock.
    pub time_ns: u64,
    /// The same since 1970-01-01T00:00:00Z; none if it, or an event up to 2.147 s after it, cannot be expressed so.
    pub unix_ns: Option<u64>,
    /// Where it comes from.
    pub origin: PulseOrigin,
    /// Index of its first event; its events end where the next pulse of the batch begins.
    pub first_event: usize,
}

impl Pulse {
    /// True if `other` is the same pulse: one that is named again right after itself goes on.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.time_ns, self.origin) == (other.time_ns, other.origin)
    }
}

/// The time of an event since its pulse, in nanoseconds: 0 or more, or one of the constants.
#[derive(Clone, Copy, Debug)]
pub struct TimeOffset;

impl TimeOffset {
    /// The event is earlier than its pulse.
    pub const BEFORE: i32 = -1;
    /// The event is later than 31 bits can say.
    pub const TOO_LONG: i32 = -2;

    /// The offset of an event at `time_ns` from a pulse at `pulse_ns`.
    #[inline]
    pub(super) fn of(time_ns: u64, pulse_ns: u64) -> i32 {
        match time_ns.checked_sub(pulse_ns) {
            Some(since) => i32::try_from(since).unwrap_or(Self::TOO_LONG),
            None => Self::BEFORE,
        }
    }
}

/// Bytes for sharing a batch (two counts) and for its place in a queue (a pointer, and as much room to grow).
const SHARING: usize = 4 * size_of::<usize>();

/// Events in columns, in the order (time, pixel, source) in which the detector emitted them, each with its pulse.
///
/// Every event belongs to a pulse of the batch, pulses without events are there as well, and a pulse that goes on from one
/// batch to the next is named again at the beginning of the next. So each batch can be read alone.
///
/// Its columns are as long as their content: what a batch holds in memory is what it says ([`PulsedBatch::memory`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PulsedBatch {
    pub(super) times_ns: Vec<u64>,
    pub(super) pixel_ids: Vec<PixelId>,
    pub(super) offsets_ns: Vec<i32>,
    pub(super) marks: Vec<u8>,
    pub(super) pulses: Vec<Pulse>,
    pub(super) frames: Vec<Frame>,
    pub(super) calendar: Calendar,
    pub(super) pulses_begun: u64,
    pub(super) arrival_ns: Option<u64>,
}

impl PulsedBatch {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// True without events; there can be pulses nevertheless.
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Column of times in nanoseconds on the detector's clock.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// Column of pixel ids.
    pub fn pixel_ids(&self) -> &[PixelId] {
        &self.pixel_ids
    }

    /// Column of times since the pulse ([`TimeOffset`]). A time of flight, unless the origin of the pulse is
    /// [`PulseOrigin::None`].
    pub fn offsets_ns(&self) -> &[i32] {
        &self.offsets_ns
    }

    /// Column of marks, one bit per veto: empty if there are no vetoes.
    pub fn marks(&self) -> &[u8] {
        &self.marks
    }

    /// The pulses, in the order in which they were begun.
    pub fn pulses(&self) -> &[Pulse] {
        &self.pulses
    }

    /// What the readout says of each of the [`pulses`](Self::pulses), as long as they; empty if it says no more than their times.
    /// A pulse that goes on from the batch before is named again with the same.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The frame of the pulse of this number in [`pulses`](Self::pulses); none if the readout tells no frames.
    pub fn frame(&self, pulse: usize) -> Option<&Frame> {
        self.frames.get(pulse)
    }

    /// Pulses of this batch that were not named by the one before it.
    pub fn pulses_begun(&self) -> u64 {
        self.pulses_begun
    }

    /// How the detector's clock relates to the calendar: the same in all batches of a run.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Arrival of the packets of its earliest event, in nanoseconds since 1970, if that is measured.
    pub fn arrival_ns(&self) -> Option<u64> {
        self.arrival_ns
    }

    /// The events of each pulse: the pulse and the indices of its events.
    pub fn by_pulse(&self) -> impl Iterator<Item = (&Pulse, Range<usize>)> + '_ {
        let ends = self.pulses.iter().skip(1).map(|pulse| pulse.first_event).chain([self.len()]);
        self.pulses.iter().zip(ends).map(|(pulse, end)| (pulse, pulse.first_event..end))
    }

    /// The events one by one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.times_ns.iter().zip(&self.pixel_ids).map(|(&time_ns, &pixel_id)| Event { time_ns, pixel_id })
    }

    /// Bytes that this batch holds in memory, shared as it is and with its place in a queue.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + SHARING
            + self.times_ns.capacity() * size_of::<u64>()
            + self.pixel_ids.capacity() * size_of::<PixelId>()
            + self.offsets_ns.capacity() * size_of::<i32>()
            + self.marks.capacity()
            + self.pulses.capacity() * size_of::<Pulse>()
            + self.frames.capacity() * size_of::<Frame>()
    }
}
