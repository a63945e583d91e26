//! A closed frame on its way out.

use super::decode::{EventKey, unpack};
use super::key_sort::KeySort;
use evforge_core::event::EventBatch;
use evforge_core::frame::Frame;

/// The events of the frame that was closed last, until they have been handed on.
#[derive(Debug, get_size2::GetSize)]
pub struct Outlet {
    keys: Vec<EventKey>,
    next: usize,
    sort: KeySort,
    /// Start of the frame in nanoseconds, and what is known of it; none between frames.
    frame: Option<(u64, Frame)>,
    /// True once the batch at hand knows of the frame.
    is_named: bool,
}

impl Outlet {
    /// For frames of at most so many events.
    pub fn new(most: usize) -> Self {
        Self {
            keys: Vec::with_capacity(most),
            next: 0,
            sort: KeySort::new(most),
            frame: None,
            is_named: false,
        }
    }

    /// Events that have not been handed on.
    pub fn held(&self) -> usize {
        self.keys.len() - self.next
    }

    /// Takes a frame between two others; `take` appends its events.
    pub fn begin(&mut self, reference_ns: u64, frame: Frame, take: impl FnOnce(&mut Vec<EventKey>)) {
        self.keys.clear();
        take(&mut self.keys);
        self.sort.sort(&mut self.keys);
        (self.next, self.frame, self.is_named) = (0, Some((reference_ns, frame)), false);
    }

    /// Hands on what is left of the frame. Returns how many events went, and whether that was all; otherwise the batch is full.
    pub fn hand_on(&mut self, events: &mut EventBatch) -> (u64, bool) {
        let Some((reference_ns, frame)) = self.frame else { return (0, true) };
        if !self.is_named {
            // A batch of which every place is taken gets the frame in the next one.
            if events.is_full() || !events.begin_frame(reference_ns, frame) {
                return (0, false);
            }
            self.is_named = true;
        }
        let keys = &self.keys[self.next..];
        let before = events.len();
        events.append(keys.len(), |times, ids| {
            for ((key, time), id) in keys.iter().zip(&mut *times).zip(ids) {
                let (time_ns, of_event) = unpack(*key);
                (*time, *id) = (reference_ns.saturating_add(u64::from(time_ns)), of_event);
            }
            times.len()
        });
        let handed_on = events.len() - before;
        self.next += handed_on;
        let is_all = self.next == self.keys.len();
        if is_all {
            self.frame = None;
        } else {
            self.is_named = false;
        }
        (handed_on as u64, is_all)
    }
}
