//! Events in columns: the unit that leaves a detector pipeline and travels to every sink.
//!
//! FlatBuffers messages and HDF5 datasets want one array per quantity, so that is what a batch is; writing
//! it out is a copy of columns.

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

/// Events in columns, in the order (time, pixel, source) in which the detector emits them.
///
/// The capacity is fixed at creation; filling and clearing never allocate.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EventBatch {
    times_ns: Vec<u64>,
    pixel_ids: Vec<PixelId>,
    /// Empty, or a mark for each event.
    marks: Vec<u8>,
    capacity: usize,
}

impl EventBatch {
    /// An empty batch for at most `capacity` events (at least 1).
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            times_ns: Vec::with_capacity(capacity),
            pixel_ids: Vec::with_capacity(capacity),
            marks: Vec::with_capacity(capacity),
            capacity,
        }
    }

    /// Appends an event. Returns false, and changes nothing, if the batch is full.
    #[must_use]
    pub fn push(&mut self, event: Event) -> bool {
        if self.is_full() {
            return false;
        }
        self.times_ns.push(event.time_ns);
        self.pixel_ids.push(event.pixel_id);
        true
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// True without events.
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// True if no further event fits.
    pub fn is_full(&self) -> bool {
        self.times_ns.len() == self.capacity
    }

    /// How many events fit in all.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Forgets all events and keeps the memory.
    pub fn clear(&mut self) {
        self.times_ns.clear();
        self.pixel_ids.clear();
        self.marks.clear();
    }

    /// Column of times in nanoseconds.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// Column of pixel ids, as long as [`EventBatch::times_ns`].
    pub fn pixel_ids(&self) -> &[PixelId] {
        &self.pixel_ids
    }

    /// Marks every event: `mark_of` is given its time. For the stage behind the detector.
    pub fn mark(&mut self, mark_of: impl FnMut(u64) -> u8) {
        self.marks.clear();
        self.marks.extend(self.times_ns.iter().copied().map(mark_of));
    }

    /// Column of marks, one bit per veto: empty if there are no vetoes, else as long as
    /// [`EventBatch::times_ns`].
    pub fn marks(&self) -> &[u8] {
        &self.marks
    }

    /// The events one by one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.times_ns.iter().zip(&self.pixel_ids).map(|(&time_ns, &pixel_id)| Event { time_ns, pixel_id })
    }

    /// Memory this batch holds whatever its content, in bytes.
    pub fn memory_bound(&self) -> usize {
        self.capacity * (size_of::<u64>() + size_of::<PixelId>() + size_of::<u8>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
