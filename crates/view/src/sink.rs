//! The sink that a pipeline feeds.

use crate::accumulator::{Accumulator, InputState};
use crate::spectrum::{FlightClock, SpectrumBins};
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};
use std::sync::Arc;

/// Counts events for the pictures of a [`LiveView`](crate::LiveView). Never fails and never waits for a
/// browser; it goes on counting after the view has been shut down.
#[derive(Debug)]
pub struct LiveSink {
    counts: Arc<Accumulator>,
    clock: FlightClock,
    bins: SpectrumBins,
    name: String,
}

impl LiveSink {
    pub(crate) fn new(
        counts: Arc<Accumulator>,
        clock: FlightClock,
        bins: SpectrumBins,
        name: String,
    ) -> Self {
        Self { counts, clock, bins, name }
    }

    /// Shows counts that are kept elsewhere instead of counting events: those of all pixels, the first one first, and how
    /// many there are in all. The picture is made anew when there are more of them.
    pub fn set_counts(&mut self, counts: impl Iterator<Item = u64>, all: u64) {
        self.counts.set_pixels(counts, all);
    }
}

impl EventSink for LiveSink {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        let mut rest = events.iter();
        for (pulse, range) in events.by_pulse() {
            for event in rest.by_ref().take(range.len()) {
                self.counts.count_pixel(event.pixel_id);
                let flight = match pulse {
                    Some(start) => event.time_ns.checked_sub(start),
                    None => self.clock.time_of_flight_ns(event.time_ns),
                };
                self.counts.count_bin(flight.map(|ns| ns / self.bins.width_ns));
            }
        }
        self.counts.count_events(events.len() as u64);
        Ok(())
    }

    fn observe(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        self.counts.set_ledger(ledger);
        Ok(())
    }

    fn finish(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        self.counts.set_ledger(ledger);
        self.counts.set_input(InputState::Ended);
        Ok(())
    }

    fn abandon(&mut self) -> Option<String> {
        self.counts.set_input(InputState::Failed);
        Some("the page shows the events up to there".into())
    }
}
