//! All that batches carried, whatever way it was cut into batches: for tests, and for whoever compares runs.

use crate::event::{Event, EventBatch};
use crate::pulsed::{PulseOrigin, PulsedBatch};

/// A pulse with its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedPulse {
    /// Start of the pulse in nanoseconds; none for the events of a readout without pulses.
    pub time_ns: Option<u64>,
    /// Its events, in the order of their emission.
    pub events: Vec<Event>,
}

/// Events by their pulses. Two logs are equal if events and pulses are, also those without events; where one
/// batch ended and the next began leaves no trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    pulses: Vec<LoggedPulse>,
}

impl EventLog {
    /// Adds what is in a batch. A pulse that is named again goes on.
    pub fn take(&mut self, batch: &EventBatch) {
        for (time_ns, range) in batch.by_pulse() {
            if self.pulses.last().is_none_or(|pulse| pulse.time_ns != time_ns) {
                self.pulses.push(LoggedPulse { time_ns, events: Vec::new() });
            }
            if let Some(pulse) = self.pulses.last_mut() {
                pulse.events.extend(batch.iter().skip(range.start).take(range.len()));
            }
        }
    }

    /// Adds what is in a batch for outputs: with the pulses that the readout reported, and no others.
    pub fn take_pulsed(&mut self, batch: &PulsedBatch) {
        for (pulse, range) in batch.by_pulse() {
            let time_ns = (pulse.origin == PulseOrigin::Readout).then_some(pulse.time_ns);
            if time_ns.is_none() && range.is_empty() {
                continue;
            }
            if self.pulses.last().is_none_or(|pulse| pulse.time_ns != time_ns) {
                self.pulses.push(LoggedPulse { time_ns, events: Vec::new() });
            }
            if let Some(pulse) = self.pulses.last_mut() {
                pulse.events.extend(batch.iter().skip(range.start).take(range.len()));
            }
        }
    }

    /// The pulses in the order in which they were begun; events of a readout without pulses are one entry
    /// without a time.
    pub fn pulses(&self) -> &[LoggedPulse] {
        &self.pulses
    }

    /// All events, in the order of their emission.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.pulses.iter().flat_map(|pulse| pulse.events.iter().copied())
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.pulses.iter().map(|pulse| pulse.events.len()).sum()
    }

    /// True without events; there can be pulses nevertheless.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_into_batches_leaves_no_trace() {
        let event = |time_ns| Event { time_ns, pixel_id: 1 };
        let (mut whole, mut cut) = (EventLog::default(), EventLog::default());
        let mut batch = EventBatch::new(4);
        assert!(batch.begin_pulse(10) && batch.push(event(11)) && batch.push(event(12)));
        assert!(batch.begin_pulse(20));
        whole.take(&batch);
        for part in 0..2 {
            batch.clear();
            assert!(batch.begin_pulse(10) && batch.push(event(11 + part)));
            cut.take(&batch);
        }
        assert_ne!(whole, cut, "the pulse without events is missing");
        batch.clear();
        assert!(batch.begin_pulse(20));
        cut.take(&batch);
        assert_eq!(whole, cut);
        assert_eq!((whole.len(), whole.pulses().len()), (2, 2));
        assert!(whole.events().eq([event(11), event(12)]));
    }
}
