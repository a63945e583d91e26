//! Events in columns: the unit that leaves a detector. What outputs get of it is in [`pulsed`](crate::pulsed).

use crate::frame::Frame;
use std::ops::Range;

/// A detector pixel, counted from 1. 0 means "no pixel".
pub type PixelId = u32;

/// One neutron: when and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// Nanoseconds on the detector's clock (raw ticks where the configuration of the detector says so).
    pub time_ns: u64,
    /// The pixel, 1-based.
    pub pixel_id: PixelId,
}

/// A pulse of the source, as the readout reported it, and where its events begin in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PulseStart {
    /// Start of the pulse: nanoseconds on the clock of the events. None where events begin that belong to no pulse.
    pub time_ns: Option<u64>,
    /// Index of its first event; its events end where the next pulse of the batch begins.
    pub first_event: usize,
}

/// Events in columns, in the order (time, pixel, source) in which the detector emits them.
///
/// Where the readout carries the times of the source's pulses, the batch carries them too: events then belong to a
/// pulse unless none is known, pulses without events are there as well, and a pulse that goes on from one batch to the
/// next is named again at the beginning of the next. A batch without pulses comes from a readout without them. Where the
/// readout says more of a pulse than its time, it is a [`Frame`].
///
/// The capacity is fixed at creation; filling and clearing never allocate, but for the first frame of all, unless there is
/// memory for it already ([`EventBatch::reserve_frames`]).
#[derive(Debug, Default, get_size2::GetSize)]
pub struct EventBatch {
    /// As long as the capacity from the beginning, as is the other column.
    times_ns: Vec<u64>,
    pixel_ids: Vec<PixelId>,
    pulses: Vec<PulseStart>,
    /// What is known of each pulse: empty, or as long as `pulses`.
    frames: Vec<Frame>,
    used: usize,
}

/// Pulses that any batch has room for; one for many events has room for as many pulses as events.
const SMALLEST_PULSE_CAPACITY: usize = 16;

impl EventBatch {
    /// An empty batch for at most `capacity` events (at least 1).
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            times_ns: vec![0; capacity],
            pixel_ids: vec![0; capacity],
            pulses: Vec::with_capacity(Self::pulse_capacity(capacity)),
            frames: Vec::new(),
            used: 0,
        }
    }

    /// Appends an event. Returns false, and changes nothing, if the batch is full.
    #[inline]
    #[must_use]
    pub fn push(&mut self, event: Event) -> bool {
        let (Some(time_ns), Some(pixel_id)) =
            (self.times_ns.get_mut(self.used), self.pixel_ids.get_mut(self.used))
        else {
            return false;
        };
        (*time_ns, *pixel_id) = (event.time_ns, event.pixel_id);
        self.used += 1;
        true
    }

    /// Pulses that a batch for `capacity` events has room for.
    fn pulse_capacity(capacity: usize) -> usize {
        capacity.max(SMALLEST_PULSE_CAPACITY)
    }

    /// Begins the pulse that started at `time_ns`: the events appended from here on belong to it. Returns false,
    /// and changes nothing, if there is no room for a pulse: then the batch is full.
    #[must_use]
    pub fn begin_pulse(&mut self, time_ns: u64) -> bool {
        self.begin(Some(time_ns), None)
    }

    /// Begins the pulse that started at `time_ns`, of which the readout says this. Returns false, and changes nothing, if there
    /// is no room for a pulse: then the batch is full.
    #[must_use]
    pub fn begin_frame(&mut self, time_ns: u64, frame: Frame) -> bool {
        self.reserve_frames();
        self.begin(Some(time_ns), Some(frame))
    }

    /// Takes the memory for what is known of pulses, unless it has it already.
    pub fn reserve_frames(&mut self) {
        let free = Self::pulse_capacity(self.capacity()) - self.frames.len();
        self.frames.reserve_exact(free);
    }

    /// Ends the pulse: the events appended from here on belong to none. Returns false, and changes nothing, if there is
    /// no room for that: then the batch is full.
    #[must_use]
    pub fn end_pulse(&mut self) -> bool {
        self.begin(None, None)
    }

    fn begin(&mut self, time_ns: Option<u64>, frame: Option<Frame>) -> bool {
        let has_room = self.pulses.len() < Self::pulse_capacity(self.capacity());
        if has_room {
            if frame.is_some() || !self.frames.is_empty() {
                // Of pulses before the first frame nothing is known.
                self.frames.resize(self.pulses.len(), Frame::default());
                self.frames.push(frame.unwrap_or_default());
            }
            self.pulses.push(PulseStart { time_ns, first_event: self.used });
        }
        has_room
    }

    /// The pulses that the readout reported, in the order in which they were begun; empty if it tells none.
    pub fn pulses(&self) -> &[PulseStart] {
        &self.pulses
    }

    /// What the readout says of each of the [`pulses`](Self::pulses), as long as they; empty if it says no more than their times.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The events of each pulse: the start of the pulse and the indices of its events. Events that belong to no
    /// pulse have no start; they are all there is in a batch without pulses.
    pub fn by_pulse(&self) -> impl Iterator<Item = (Option<u64>, Range<usize>)> + '_ {
        self.by_frame().map(|(start, _, events)| (start, events))
    }

    /// As [`by_pulse`](Self::by_pulse), with what the readout says of the pulse; none if it tells no frames.
    pub fn by_frame(&self) -> impl Iterator<Item = (Option<u64>, Option<Frame>, Range<usize>)> + '_ {
        let unknown = (!self.frames.is_empty()).then(Frame::default);
        let frames = std::iter::once(unknown)
            .chain((0..self.pulses.len()).map(|pulse| self.frames.get(pulse).copied()));
        let ends = self.pulses.iter().map(|pulse| pulse.first_event).chain([self.used]);
        let starts = std::iter::once(None).chain(self.pulses.iter().map(|pulse| Some(*pulse)));
        let ranges = starts.zip(ends).zip(frames).map(|((start, end), frame)| match start {
            None => (None, frame, 0..end),
            Some(pulse) => (pulse.time_ns, frame, pulse.first_event..end),
        });
        ranges.filter(|(start, _, events)| start.is_some() || !events.is_empty())
    }

    /// Appends many events at once: `write` gets the first `most` places of both columns that are free (fewer
    /// if there are not as many) and returns how many of them, from the first on, it has filled.
    #[inline]
    pub fn append(&mut self, most: usize, write: impl FnOnce(&mut [u64], &mut [PixelId]) -> usize) {
        let free = self.capacity() - self.used;
        let places = self.used..self.used + most.min(free);
        let written = write(&mut self.times_ns[places.clone()], &mut self.pixel_ids[places.clone()]);
        self.used += written.min(places.len());
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.used
    }

    /// True without events; there can be pulses nevertheless.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// True with neither events nor pulses: there is nothing to hand on.
    pub fn is_blank(&self) -> bool {
        self.used == 0 && self.pulses.is_empty()
    }

    /// True if no further event fits.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == self.capacity()
    }

    /// How many events fit in all.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.times_ns.len()
    }

    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.pulses.clear();
        self.frames.clear();
    }

    /// Column of times in nanoseconds.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns[..self.used]
    }

    /// Column of pixel ids, as long as [`EventBatch::times_ns`].
    pub fn pixel_ids(&self) -> &[PixelId] {
        &self.pixel_ids[..self.used]
    }

    /// The events one by one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.times_ns().iter().zip(self.pixel_ids()).map(|(&time_ns, &pixel_id)| Event { time_ns, pixel_id })
    }
}

impl PartialEq for EventBatch {
    /// Equal if events, pulses, what is known of them and capacity are.
    fn eq(&self, other: &Self) -> bool {
        let same_pulses = self.pulses == other.pulses && self.frames == other.frames;
        self.capacity() == other.capacity() && same_pulses && self.iter().eq(other.iter())
    }
}

impl Eq for EventBatch {}

#[cfg(test)]
mod tests {
    use super::*;
    use get_size2::GetSize as _;

    #[test]
    fn a_full_batch_refuses_and_keeps_what_it_has() {
        let mut batch = EventBatch::new(2);
        let events = [Event { time_ns: 7, pixel_id: 1 }, Event { time_ns: 8, pixel_id: 2 }];
        assert!(batch.push(events[0]) && batch.push(events[1]));
        assert!(batch.is_full() && !batch.push(events[0]));
        assert_eq!(batch.iter().collect::<Vec<_>>(), events);
        batch.clear();
        assert!(batch.is_empty() && batch.capacity() == 2);
    }

    #[test]
    fn events_belong_to_the_pulse_that_was_begun_last() {
        let mut batch = EventBatch::new(2);
        let event = |time_ns| Event { time_ns, pixel_id: 1 };
        assert!(batch.push(event(3)));
        assert_eq!(batch.by_pulse().collect::<Vec<_>>(), [(None, 0..1)]);
        assert!(batch.begin_pulse(10) && batch.begin_pulse(20) && batch.push(event(25)));
        assert!(batch.begin_pulse(30));
        let groups: Vec<_> = batch.by_pulse().collect();
        assert_eq!(groups, [(None, 0..1), (Some(10), 1..1), (Some(20), 1..2), (Some(30), 2..2)]);
        while batch.begin_pulse(40) {}
        assert_eq!(batch.pulses().len(), SMALLEST_PULSE_CAPACITY);
        batch.clear();
        assert!(batch.is_blank() && batch.begin_pulse(40) && batch.is_empty() && !batch.is_blank());
        assert_eq!(batch.by_pulse().collect::<Vec<_>>(), [(Some(40), 0..0)]);
    }

    #[test]
    fn what_is_known_of_pulses_is_as_long_as_they_are() {
        let mut batch = EventBatch::new(4);
        batch.reserve_frames();
        let memory = batch.get_heap_size();
        let frame = Frame { period: Some(3), ..Frame::default() };
        assert!(batch.begin_pulse(10) && batch.frames().is_empty());
        assert!(batch.begin_frame(20, frame) && batch.begin_pulse(30) && batch.end_pulse());
        let unknown = Frame::default();
        assert_eq!(batch.frames(), [unknown, frame, unknown, unknown]);
        while batch.begin_frame(40, frame) {}
        assert_eq!((batch.frames().len(), batch.get_heap_size()), (SMALLEST_PULSE_CAPACITY, memory));
        batch.clear();
        assert!(batch.frames().is_empty());
    }

    #[test]
    fn many_events_are_appended_as_far_as_there_is_room() {
        let mut batch = EventBatch::new(5);
        assert!(batch.push(Event { time_ns: 1, pixel_id: 1 }));
        let mut offered = Vec::new();
        for most in [2, 9, 1] {
            batch.append(most, |times, pixels| {
                times.fill(most as u64);
                pixels.fill(7);
                offered.push((times.len(), pixels.len()));
                // One place stays free; who claims more than there are gets no more.
                if most == 2 { 1 } else { 100 }
            });
        }
        assert_eq!(offered, [(2, 2), (3, 3), (0, 0)]);
        assert_eq!(batch.times_ns(), [1, 2, 9, 9, 9]);
        assert_eq!(batch.pixel_ids(), [1, 7, 7, 7, 7]);
        assert!(batch.is_full());
    }
}
