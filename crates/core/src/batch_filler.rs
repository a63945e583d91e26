//! Events from elsewhere than a detector (files, messages) into batches, each with the pulse that it belongs to.

use crate::event::{Event, EventBatch};
use crate::frame::Frame;

/// Fills a batch, and hands it on each time that it is full. A pulse that goes on is named again in the next one.
pub struct BatchFiller<'a> {
    batch: &'a mut EventBatch,
    pulse_ns: Option<u64>,
    /// What is known of that pulse.
    frame: Option<Frame>,
    hand_on: &'a mut dyn FnMut(&EventBatch),
}

impl std::fmt::Debug for BatchFiller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchFiller").field("pulse_ns", &self.pulse_ns).finish_non_exhaustive()
    }
}

impl<'a> BatchFiller<'a> {
    /// Fills `batch`, which is emptied first.
    pub fn new(batch: &'a mut EventBatch, hand_on: &'a mut dyn FnMut(&EventBatch)) -> Self {
        batch.clear();
        Self { batch, pulse_ns: None, frame: None, hand_on }
    }

    /// Begins the pulse that started at `time_ns`: the events from here on belong to it.
    pub fn begin_pulse(&mut self, time_ns: u64) {
        self.begin(time_ns, None);
    }

    /// Begins the pulse that started at `time_ns`, of which this is known.
    pub fn begin_frame(&mut self, time_ns: u64, frame: Frame) {
        self.begin(time_ns, Some(frame));
    }

    fn begin(&mut self, time_ns: u64, frame: Option<Frame>) {
        (self.pulse_ns, self.frame) = (Some(time_ns), frame);
        if !self.name_pulse(time_ns) {
            self.flush();
        }
    }

    fn name_pulse(&mut self, time_ns: u64) -> bool {
        match self.frame {
            Some(frame) => self.batch.begin_frame(time_ns, frame),
            None => self.batch.begin_pulse(time_ns),
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if !self.batch.push(event) {
            self.flush();
            // An empty batch has room for one.
            let _ = self.batch.push(event);
        }
    }

    /// Hands on what there is.
    pub fn flush(&mut self) {
        if !self.batch.is_blank() {
            (self.hand_on)(self.batch);
            self.batch.clear();
        }
        if let Some(time_ns) = self.pulse_ns {
            let _ = self.name_pulse(time_ns);
        }
    }

    /// Hands on what there is; the next event belongs to the pulse that is begun then.
    pub fn finish(mut self) {
        self.pulse_ns = None;
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_is_lost_between_batches_and_each_batch_names_its_pulse() {
        let mut handed: Vec<(Option<u64>, Vec<u64>)> = Vec::new();
        let mut batches = 0;
        let mut hand_on = |batch: &EventBatch| {
            batches += 1;
            handed.extend(batch.by_pulse().map(|(pulse, range)| (pulse, batch.times_ns()[range].to_vec())));
        };
        let mut batch = EventBatch::new(3);
        let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
        filler.begin_pulse(100);
        (100..105).for_each(|time_ns| filler.push(Event { time_ns, pixel_id: 1 }));
        // More pulses than a batch of this size has room for.
        (200..240).for_each(|pulse| filler.begin_pulse(pulse));
        filler.push(Event { time_ns: 240, pixel_id: 1 });
        filler.finish();
        let times: Vec<u64> = handed.iter().flat_map(|(_, times)| times.clone()).collect();
        assert_eq!(times, [100, 101, 102, 103, 104, 240]);
        assert_eq!(handed[..2], [(Some(100), vec![100, 101, 102]), (Some(100), vec![103, 104])]);
        assert_eq!(handed.last(), Some(&(Some(239), vec![240])));
        let mut pulses: Vec<u64> = handed.iter().filter_map(|(pulse, _)| *pulse).collect();
        pulses.dedup();
        assert_eq!(pulses, [100].into_iter().chain(200..240).collect::<Vec<_>>());
        assert!(batches >= 4, "{batches}");
    }
}
